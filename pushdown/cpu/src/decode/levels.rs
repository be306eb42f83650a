// SPDX-License-Identifier: Apache-2.0
//! Decodes definition levels of a flat column: a bit for each row, 1 where it is not null.

use bytes::Bytes;
use nearscan_command::Status;

use super::{bitmap::BitmapBuilder, runs::Runs};

/// The levels of a page.
#[derive(Debug, Clone)]
pub(crate) enum Levels {
    /// There are no levels: no row is null.
    Required,
    /// All say that no row is null.
    Present,
    /// As runs and groups.
    Runs(Runs),
    /// A bit each, from the lowest bit of a byte on.
    Packed { bytes: Bytes, bit: usize },
}

impl Levels {
    /// Levels of `rows` rows as runs and groups.
    pub(crate) fn runs(bytes: Bytes, rows: usize) -> Self {
        let runs = Runs::new(bytes, 1);
        // As most writers have it of a page without nulls.
        match runs.begins_with(1, rows) {
            true => Self::Present,
            false => Self::Runs(runs),
        }
    }

    /// Levels of old writers, who began with the highest bit of a byte.
    pub(crate) fn packed(bytes: &[u8]) -> Self {
        let turned: Vec<u8> = bytes.iter().map(|byte| byte.reverse_bits()).collect();
        Self::Packed { bytes: Bytes::from(turned), bit: 0 }
    }

    /// Skips the levels of `rows` rows; gives how many of them are not null.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer levels.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<usize, Status> {
        match self {
            Self::Required | Self::Present => Ok(rows),
            Self::Runs(_) | Self::Packed { .. } => self.read(rows, &mut BitmapBuilder::default()),
        }
    }

    /// Appends the levels of `rows` rows; gives how many rows are not null.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer levels.
    pub(crate) fn read(&mut self, rows: usize, out: &mut BitmapBuilder) -> Result<usize, Status> {
        match self {
            Self::Required => Ok(rows),
            Self::Present => {
                out.append_n(rows, true);
                Ok(rows)
            }
            Self::Runs(runs) => runs.read_bits(rows, out),
            Self::Packed { bytes, bit } => {
                if *bit + rows > bytes.len() * 8 {
                    return Err(Status::Corrupt);
                }
                let set = out.append_bits(bytes, *bit, rows);
                *bit += rows;
                Ok(set)
            }
        }
    }

    /// The number of rows among the next `rows` that are not null.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer levels.
    pub(crate) fn count(&self, rows: usize) -> Result<usize, Status> {
        if matches!(self, Self::Required | Self::Present) {
            return Ok(rows);
        }
        let mut ahead = self.clone();
        let mut bits = BitmapBuilder::default();
        let (mut left, mut set) = (rows, 0);
        while left > 0 {
            // In pieces, because a run may declare more rows than fit in memory.
            let piece = left.min(COUNT_ROWS);
            set += ahead.read(piece, &mut bits)?;
            bits.clear();
            left -= piece;
        }
        Ok(set)
    }
}

/// Rows that are counted at once.
const COUNT_ROWS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut levels: Levels, pieces: &[usize]) -> Result<(usize, Vec<bool>), Status> {
        let mut out = BitmapBuilder::default();
        let set: Result<usize, Status> =
            pieces.iter().map(|rows| levels.read(*rows, &mut out)).sum();
        let out = out.finish();
        set.map(|set| (set, out.iter().collect()))
    }

    #[test]
    fn old_levels_begin_with_the_highest_bit() {
        let expected = [true, false, true, true, false, false, false, true, false, true];
        let levels = Levels::packed(&[0b1011_0001, 0b0100_0000]);
        assert_eq!(levels.count(10), Ok(5));
        assert_eq!(read(levels.clone(), &[10]), Ok((5, expected.to_vec())));
        assert_eq!(read(levels.clone(), &[3, 7]), Ok((5, expected.to_vec())));
        assert_eq!(read(levels, &[17]), Err(Status::Corrupt));
    }

    #[test]
    fn single_run_of_rows_that_are_there_needs_no_decoding() {
        let of = |bytes: &'static [u8], rows| Levels::runs(Bytes::from_static(bytes), rows);
        assert!(matches!(of(&[20, 1], 10), Levels::Present));
        assert!(matches!(of(&[20, 1, 8, 0], 9), Levels::Present));
        assert_eq!(read(of(&[20, 1], 10), &[3, 7]), Ok((10, vec![true; 10])));
        // Too short, of nulls, of groups, and of a level that there is not.
        for bytes in [&[18, 1][..], &[20, 0], &[5, 0xff, 0xff], &[20, 2], &[]] {
            assert!(matches!(of(bytes, 10), Levels::Runs(_)), "{bytes:?}");
        }
    }

    #[test]
    fn levels_are_counted_without_being_taken() {
        // 200,000 rows that are there, then 8 that are not.
        let levels = Levels::runs(Bytes::from_static(&[0x80, 0xb5, 0x18, 1, 3, 0]), 200_008);
        assert_eq!(levels.count(200_008), Ok(200_000));
        assert_eq!(levels.count(200_009), Err(Status::Corrupt));
        assert_eq!(read(levels, &[3]), Ok((3, vec![true; 3])));
        assert_eq!(Levels::Required.count(5), Ok(5));
    }
}
