// SPDX-License-Identifier: Apache-2.0
//! Reads the dictionary of a chunk.

use std::sync::OnceLock;

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::{Chunk, Encoding, PhysicalType, Status};

use crate::{
    decode::{entries::StoredEntries, numbers::PageNumbers, reading, strings::PageStrings},
    entry_views::EntryViews,
    simd::by_level,
    values::{NumberValues, Numbers, Strings},
};

/// The entries of a dictionary.
///
/// An entry that no row refers to may be invalid, so the error of an entry is recorded, and
/// reported only if a row refers to it.
#[derive(Debug)]
pub(crate) struct Dictionary {
    entries: Entries,
    /// `[entries]`, what is wrong with each; `None` when nothing is.
    faults: Option<Vec<Status>>,
    len: usize,
    /// Made when they are first asked for.
    views: OnceLock<EntryViews>,
}

#[derive(Debug)]
enum Entries {
    Numbers(Numbers),
    /// Many numbers, decoded when all of them are asked for.
    Stored {
        entries: StoredEntries,
        decoded: OnceLock<Numbers>,
    },
    Strings(Strings),
}

impl Dictionary {
    /// Reads `len` plain entries.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn read(chunk: &Chunk, bytes: Bytes, len: usize) -> Result<Self, Status> {
        if chunk.physical_type == PhysicalType::ByteArray {
            let mut strings = PageStrings::new(bytes);
            let mut views = Vec::new();
            strings.read(len, 0, &mut views)?;
            let buffers = vec![strings.bytes().clone()];
            let entries = Entries::Strings(Strings { buffers, views, validity: None });
            return Ok(Self { entries, faults: None, len, views: OnceLock::new() });
        }
        if let Some(entries) = StoredEntries::open(chunk, &bytes, len) {
            let entries = Entries::Stored { entries, decoded: OnceLock::new() };
            return Ok(Self { entries, faults: None, len, views: OnceLock::new() });
        }
        let mut numbers = PageNumbers::open(chunk, Encoding::Plain, bytes, || Ok(len))?;
        let mut values = Vec::new();
        let mut faults = None;
        let all = numbers.clone().read(len, &mut values);
        if all.and_then(|()| reading::apply(&mut values, chunk)).is_err() {
            values.clear();
            faults = Some(read_each(chunk, &mut numbers, len, &mut values)?);
        }
        let values = reading::widen(values, chunk);
        let entries = Entries::Numbers(Numbers { values, validity: None });
        Ok(Self { entries, faults, len, views: OnceLock::new() })
    }

    /// The number of entries.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the entries are numbers.
    pub(crate) const fn has_numbers(&self) -> bool {
        matches!(self.entries, Entries::Numbers(_) | Entries::Stored { .. })
    }

    /// All entries, when they are numbers.
    pub(crate) fn numbers(&self) -> Option<&Numbers> {
        match &self.entries {
            Entries::Numbers(numbers) => Some(numbers),
            Entries::Stored { entries, decoded } => {
                Some(decoded.get_or_init(|| self.all_of(entries)))
            }
            Entries::Strings(_) => None,
        }
    }

    fn all_of(&self, entries: &StoredEntries) -> Numbers {
        let all = (0..=u32::MAX).take(self.len).collect::<Vec<_>>();
        Numbers::narrow(entries.look_up(&all), None)
    }

    /// A copy of all entries, when they are numbers. Many are not kept decoded for that.
    pub(crate) fn to_numbers(&self) -> Option<Numbers> {
        match &self.entries {
            Entries::Numbers(numbers) => Some(numbers.clone()),
            Entries::Stored { entries, .. } => Some(self.all_of(entries)),
            Entries::Strings(_) => None,
        }
    }

    /// Whether some entries cannot be read.
    pub(crate) const fn has_faults(&self) -> bool {
        self.faults.is_some()
    }

    /// The numbers of entries with these codes; none when the entries are byte strings.
    pub(crate) fn look_up(&self, codes: &[u32]) -> Option<NumberValues> {
        match &self.entries {
            Entries::Numbers(numbers) => Some(numbers.values.look_up(codes)),
            Entries::Stored { entries, .. } => Some(NumberValues::Narrow(entries.look_up(codes))),
            Entries::Strings(_) => None,
        }
    }

    /// The entries, when they are byte strings.
    pub(crate) const fn strings(&self) -> Option<&Strings> {
        match &self.entries {
            Entries::Strings(strings) => Some(strings),
            Entries::Numbers(_) | Entries::Stored { .. } => None,
        }
    }

    /// The entries as Arrow views, when they are byte strings.
    pub(crate) fn entry_views(&self) -> Option<&EntryViews> {
        let strings = self.strings()?;
        Some(self.views.get_or_init(|| EntryViews::of(strings)))
    }

    /// Checks that every code is of an entry that can be read.
    ///
    /// # Errors
    /// [`Status::Corrupt`] for a code without an entry, else what is wrong with the entry.
    pub(crate) fn check(&self, codes: &[u32]) -> Result<(), Status> {
        let most = highest(codes);
        if !codes.is_empty() && most as usize >= self.len {
            return Err(Status::Corrupt);
        }
        match &self.faults {
            None => Ok(()),
            Some(faults) => codes.iter().try_for_each(|code| match faults[*code as usize] {
                Status::Ok => Ok(()),
                fault => Err(fault),
            }),
        }
    }

    /// The numbers of entries with these codes, as a page that is not coded would store them.
    pub(crate) fn stored(&self, codes: &[u32]) -> Vec<i64> {
        match self.look_up(codes) {
            Some(NumberValues::Narrow(values)) => values,
            // Without a sign: the low half is what was stored.
            Some(NumberValues::Wide(values)) => {
                let low = |value: i128| {
                    let [low @ .., _, _, _, _, _, _, _, _] = value.to_le_bytes();
                    i64::from_le_bytes(low)
                };
                values.into_iter().map(low).collect()
            }
            None => Vec::new(),
        }
    }

    /// For each entry whether it is in a bitmap, 0 or 1, as a table to look codes up in.
    pub(crate) fn table(holds: &BooleanBuffer) -> Vec<u8> {
        /// Bit `i` of byte `i`.
        const DIAGONAL: u64 = 0x8040_2010_0804_0201;
        const ONES: u64 = 0x0101_0101_0101_0101;
        let bytes_of = |bits: u8| {
            // In byte `i` the bit `i`, which is then moved to bit 0.
            let spread = (u64::from(bits) * ONES) & DIAGONAL;
            (((spread + 0x7f * ONES) >> 7) & ONES).to_le_bytes()
        };
        let chunks = holds.bit_chunks();
        let mut table = Vec::with_capacity(holds.len() + 64);
        for word in chunks.iter_padded() {
            word.to_le_bytes().iter().for_each(|bits| table.extend_from_slice(&bytes_of(*bits)));
        }
        table.truncate(holds.len());
        table
    }
}

by_level! {
    /// The highest code; 0 if there is none.
    fn highest[](codes: &[u32]) -> u32 {
        codes.iter().fold(0, |most, code| most.max(*code))
    }
}

/// Reads entries one by one; gives what is wrong with each.
fn read_each(
    chunk: &Chunk,
    numbers: &mut PageNumbers,
    len: usize,
    values: &mut Vec<i64>,
) -> Result<Vec<Status>, Status> {
    let mut faults = Vec::new();
    for index in 0..len {
        let mut fault = Status::Ok;
        match numbers.read(1, values) {
            Ok(()) => {
                if let Err(status) = reading::apply(&mut values[index..], chunk) {
                    fault = status;
                }
            }
            Err(Status::Overflow) => {
                values.push(0);
                fault = Status::Overflow;
            }
            Err(status) => return Err(status),
        }
        faults.push(fault);
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_a_one_for_each_bit() {
        for (start, len) in [(0, 0), (0, 8), (3, 61), (5, 64), (0, 200), (63, 130)] {
            let bits = BooleanBuffer::collect_bool(start + len, |bit| bit * bit % 7 < 3);
            let bits = bits.slice(start, len);
            let expected: Vec<u8> = bits.iter().map(u8::from).collect();
            assert_eq!(Dictionary::table(&bits), expected, "{len} from {start}");
        }
    }
}
