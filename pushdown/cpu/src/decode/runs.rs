// SPDX-License-Identifier: Apache-2.0
//! Decodes Parquet's hybrid of runs and bit-packed groups.

use bytes::Bytes;
use nearscan_command::Status;

use super::{bitmap::BitmapBuilder, bits::unpack_codes};
use crate::header::varint;

/// Values of up to 32 bits as runs and groups.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    bytes: Bytes,
    /// The first byte that no run has taken.
    at: usize,
    width: u32,
    run: Run,
}

/// The rest of the current run.
#[derive(Debug, Clone, Copy)]
enum Run {
    Repeated { value: u32, left: usize },
    Packed { bit: usize, left: usize },
}

/// Values of one run.
enum Piece {
    Repeated { value: u32, count: usize },
    Packed { bit: usize, count: usize },
}

impl Runs {
    /// Values of `width` bits, at most 32.
    pub(crate) const fn new(bytes: Bytes, width: u32) -> Self {
        Self { bytes, at: 0, width, run: Run::Repeated { value: 0, left: 0 } }
    }

    /// Appends `count` values.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn read(&mut self, count: usize, out: &mut Vec<u32>) -> Result<(), Status> {
        let mut left = count;
        while left > 0 {
            left -= match self.piece(left)? {
                Piece::Repeated { value, count } => {
                    out.resize(out.len() + count, value);
                    count
                }
                Piece::Packed { bit, count } => {
                    unpack_codes(&self.bytes, bit, self.width, count, out);
                    count
                }
            };
        }
        Ok(())
    }

    /// Skips `count` values.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Status> {
        let mut left = count;
        while left > 0 {
            left -= match self.piece(left)? {
                Piece::Repeated { count, .. } | Piece::Packed { count, .. } => count,
            };
        }
        Ok(())
    }

    /// Appends `count` values of one bit; gives how many are 1.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer, or a run is neither of 0 nor of 1.
    pub(crate) fn read_bits(
        &mut self,
        count: usize,
        out: &mut BitmapBuilder,
    ) -> Result<usize, Status> {
        let (mut left, mut set) = (count, 0);
        while left > 0 {
            left -= match self.piece(left)? {
                Piece::Repeated { value, count } => {
                    if value > 1 {
                        return Err(Status::Corrupt);
                    }
                    out.append_n(count, value == 1);
                    set += count * value as usize;
                    count
                }
                Piece::Packed { bit, count } => {
                    set += out.append_bits(&self.bytes, bit, count);
                    count
                }
            };
        }
        Ok(set)
    }

    /// Whether the first run is of `value` and has at least `count` values.
    pub(crate) fn begins_with(&self, value: u32, count: usize) -> bool {
        let run = self.clone().next_run();
        run.is_ok_and(
            |run| matches!(run, Run::Repeated { value: of, left } if of == value && left >= count),
        )
    }

    /// Takes up to `count_max` values of one run, at least one.
    fn piece(&mut self, count_max: usize) -> Result<Piece, Status> {
        loop {
            match &mut self.run {
                Run::Repeated { value, left } if *left > 0 => {
                    let count = count_max.min(*left);
                    *left -= count;
                    return Ok(Piece::Repeated { value: *value, count });
                }
                Run::Packed { bit, left } if *left > 0 => {
                    let count = count_max.min(*left);
                    let piece = Piece::Packed { bit: *bit, count };
                    *left -= count;
                    *bit += count * self.width as usize;
                    return Ok(piece);
                }
                Run::Repeated { .. } | Run::Packed { .. } => self.run = self.next_run()?,
            }
        }
    }

    /// The next run, which may be empty; its header takes a byte at least.
    fn next_run(&mut self) -> Result<Run, Status> {
        let (head, length) = varint(&self.bytes[self.at..]).ok_or(Status::Corrupt)?;
        let start = self.at + length;
        let rest = &self.bytes[start..];
        let count = usize::try_from(head >> 1).map_err(|_| Status::Corrupt)?;
        if head & 1 == 0 {
            let bytes = self.width.div_ceil(8) as usize;
            let value = rest.get(..bytes).ok_or(Status::Corrupt)?;
            let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            self.at = start + bytes;
            return Ok(Run::Repeated { value, left: count });
        }
        let left = count.checked_mul(8).ok_or(Status::Corrupt)?;
        let bytes = count.checked_mul(self.width as usize).ok_or(Status::Corrupt)?;
        // Some writers cut the last group off after its last value.
        let left = match (rest.len() * 8).checked_div(self.width as usize) {
            Some(whole) => left.min(whole),
            None => left,
        };
        self.at = start + bytes.min(rest.len());
        Ok(Run::Packed { bit: start * 8, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], width: u32, pieces: &[usize]) -> Result<Vec<u32>, Status> {
        let mut runs = Runs::new(Bytes::copy_from_slice(bytes), width);
        let mut out = Vec::new();
        pieces.iter().try_for_each(|count| runs.read(*count, &mut out))?;
        Ok(out)
    }

    #[test]
    fn runs_and_groups_are_decoded_in_pieces_of_any_size() {
        // Ten times 5, then 0 to 7 in three bits, then a run of nothing, then twice 1.
        let bytes = [20, 5, 3, 0x88, 0xc6, 0xfa, 0, 7, 4, 1];
        let expected = [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1];
        assert_eq!(read(&bytes, 3, &[20]), Ok(expected.to_vec()));
        assert_eq!(read(&bytes, 3, &[3, 9, 0, 7, 1]), Ok(expected.to_vec()));
        assert_eq!(read(&bytes, 3, &[21]), Err(Status::Corrupt));
        assert_eq!(read(&[6], 0, &[3]), Ok(vec![0; 3]));
        assert_eq!(read(&[0x90, 3, 1, 2], 12, &[200]), Ok(vec![0x201; 200]));
    }

    #[test]
    fn last_group_may_end_after_its_last_value() {
        assert_eq!(read(&[3, 0x88, 0xc6], 3, &[5]), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(read(&[3, 0x88, 0xc6], 3, &[6]), Err(Status::Corrupt));
    }

    #[test]
    fn declared_counts_do_not_allocate() {
        // 2^62 groups of 32 bits, and a run of 2^63 - 1 without its value.
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(read(&most, 32, &[1]), Err(Status::Corrupt));
        assert_eq!(read(&[0xfe, 0xff, 0xff, 0x7f], 9, &[1]), Err(Status::Corrupt));
        assert_eq!(read(&[], 1, &[1]), Err(Status::Corrupt));
        assert_eq!(read(&[0; 50], 0, &[1]), Err(Status::Corrupt));
    }

    #[test]
    fn bits_are_counted() {
        let bits = |bytes: &[u8], pieces: &[usize]| {
            let mut runs = Runs::new(Bytes::copy_from_slice(bytes), 1);
            let mut out = BitmapBuilder::default();
            let set: Result<usize, Status> =
                pieces.iter().map(|count| runs.read_bits(*count, &mut out)).sum();
            let out = out.finish();
            set.map(|set| (set, out.iter().map(u8::from).collect::<Vec<_>>()))
        };
        // Three times 1, then 0x6c as a group.
        let bytes = [6, 1, 3, 0x6c];
        let expected = (7, vec![1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0]);
        assert_eq!(bits(&bytes, &[11]), Ok(expected.clone()));
        assert_eq!(bits(&bytes, &[2, 4, 5]), Ok(expected));
        assert_eq!(bits(&[6, 2], &[1]), Err(Status::Corrupt));
    }
}
