// SPDX-License-Identifier: Apache-2.0
//! Holds numbers and byte strings: those of a batch, or the entries of a dictionary.

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::Width;

use crate::simd::by_level;

/// Numbers; what is in null rows does not matter.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    pub(crate) values: NumberValues,
    /// `None` when no row is null.
    pub(crate) validity: Option<BooleanBuffer>,
}

/// The storage of numbers: as narrow as the values of this batch allow.
#[derive(Debug, Clone)]
pub(crate) enum NumberValues {
    /// Each fits in 64 bits.
    Narrow(Vec<i64>),
    /// Some do not.
    Wide(Vec<i128>),
}

/// Byte strings: places in pages and dictionaries, nothing is copied.
#[derive(Debug, Clone)]
pub(crate) struct Strings {
    /// Pages and dictionaries.
    pub(crate) buffers: Vec<Bytes>,
    pub(crate) views: Vec<View>,
    pub(crate) validity: Option<BooleanBuffer>,
}

/// The place of a byte string; a null row has [`View::default`], which may be in no buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct View {
    pub(crate) buffer: u32,
    pub(crate) start: u32,
    pub(crate) length: u32,
}

impl Strings {
    /// The bytes of `row`; of a null row, none.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let View { buffer, start, length } = self.views[row];
        match self.buffers.get(buffer as usize) {
            Some(bytes) => &bytes[start as usize..][..length as usize],
            None => &[],
        }
    }

    /// The first eight bytes of `row` as a little-endian number; those behind its end are any.
    #[inline]
    pub(crate) fn head(&self, row: usize) -> u64 {
        let View { buffer, start, .. } = self.views[row];
        self.buffers.get(buffer as usize).map_or(0, |bytes| head(&bytes[start as usize..]))
    }

    /// The bytes of `row`, in number.
    #[inline]
    pub(crate) fn length(&self, row: usize) -> usize {
        self.views[row].length as usize
    }
}

/// The first eight bytes as a little-endian number; if there are fewer, zeros behind them.
#[inline]
pub(crate) fn head(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(head) => u64::from_le_bytes(*head),
        None => bytes.iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte)),
    }
}

impl Numbers {
    pub(crate) const fn narrow(values: Vec<i64>, validity: Option<BooleanBuffer>) -> Self {
        Self { values: NumberValues::Narrow(values), validity }
    }

    /// The value of `row`, `None` for NULL.
    pub(crate) fn get(&self, row: usize) -> Option<i128> {
        is_set(self.validity.as_ref(), row).then(|| match &self.values {
            NumberValues::Narrow(values) => i128::from(values[row]),
            NumberValues::Wide(values) => values[row],
        })
    }

    /// Whether every number that is not NULL fits `width`.
    pub(crate) fn fit(&self, width: Width) -> bool {
        match (&self.values, width) {
            (NumberValues::Narrow(_), Width::W64) | (_, Width::W128) => true,
            (NumberValues::Narrow(values), Width::W32) if all_fit_32(values) => true,
            // Those that do not fit may all be in null rows.
            (values, width) => {
                (0..values.len()).all(|row| self.get(row).is_none_or(|value| width.fits(value)))
            }
        }
    }
}

by_level! {
    fn all_fit_32[](values: &[i64]) -> bool {
        values.iter().fold(true, |fit, value| fit & i32::try_from(*value).is_ok())
    }
}

impl NumberValues {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    /// As narrow as `values` allow.
    pub(crate) fn of(values: Vec<i128>) -> Self {
        let narrow: Option<Vec<i64>> =
            values.iter().map(|value| i64::try_from(*value).ok()).collect();
        narrow.map_or(Self::Wide(values), Self::Narrow)
    }

    /// The values at `codes`, each of which is there.
    pub(crate) fn look_up(&self, codes: &[u32]) -> Self {
        match self {
            Self::Narrow(values) => Self::Narrow(look_up(values, codes)),
            Self::Wide(values) => Self::Wide(look_up(values, codes)),
        }
    }
}

by_level! {
    /// The entries at `codes`, each of which is there.
    pub(crate) fn look_up[T: Copy](entries: &[T], codes: &[u32]) -> Vec<T> {
        codes.iter().map(|code| entries[*code as usize]).collect()
    }
}

/// Whether `row` is in the bitmap; `None` means all rows.
pub(crate) fn is_set(validity: Option<&BooleanBuffer>, row: usize) -> bool {
    validity.is_none_or(|validity| validity.value(row))
}

/// The rows that are in both; `None` means all rows.
pub(crate) fn intersect(
    a: Option<&BooleanBuffer>,
    b: Option<&BooleanBuffer>,
) -> Option<BooleanBuffer> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a & b),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_each_level;

    #[test]
    fn entries_are_looked_up_alike_at_each_level() {
        let entries: Vec<i64> = (0..300).map(|entry| entry * entry).collect();
        let codes: Vec<u32> = (0..100).map(|row| row * 37 % 300).collect();
        let expected: Vec<i64> = codes.iter().map(|code| i64::from(code * code)).collect();
        for found in at_each_level(|| look_up(&entries, &codes)) {
            assert_eq!(found, expected);
        }
        let sizes: Vec<i64> = vec![i64::from(i32::MIN); 70];
        for found in at_each_level(|| (all_fit_32(&sizes), all_fit_32(&[1 << 40; 70]))) {
            assert_eq!(found, (true, false));
        }
    }
}
