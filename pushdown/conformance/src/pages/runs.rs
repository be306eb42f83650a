// SPDX-License-Identifier: Apache-2.0
//! Encodes Parquet's hybrid of runs and bit-packed groups: definition levels and dictionary
//! indexes.

use super::varint::varint;

/// Which of the two kinds are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Only runs, even of one value.
    Repeated,
    /// Only bit-packed groups, all in one.
    Packed,
    /// Only bit-packed groups, each with its own header.
    PackedSingly,
    /// Runs where at least eight values are equal, else groups: what writers do.
    Mixed,
}

impl Runs {
    pub(crate) const ALL: [Self; 4] =
        [Self::Repeated, Self::Packed, Self::PackedSingly, Self::Mixed];
}

/// Encodes values of `width` bits.
pub fn encode_runs(values: &[u64], width: u8, runs: Runs) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = values;
    match runs {
        Runs::Packed => packed(&mut out, values, width),
        Runs::PackedSingly => values.chunks(8).for_each(|group| packed(&mut out, group, width)),
        Runs::Repeated => {
            while !rest.is_empty() {
                rest = repeated(&mut out, rest, width);
            }
        }
        Runs::Mixed => {
            while !rest.is_empty() {
                if run_length(rest) >= 8 {
                    rest = repeated(&mut out, rest, width);
                    continue;
                }
                // Groups until the next run; a group that is not the last one is whole.
                let mut groups = 1;
                while rest.len() > groups * 8 && run_length(&rest[groups * 8..]) < 8 {
                    groups += 1;
                }
                let (group, behind) = rest.split_at(rest.len().min(groups * 8));
                packed(&mut out, group, width);
                rest = behind;
            }
        }
    }
    out
}

fn run_length(values: &[u64]) -> usize {
    values.iter().take_while(|value| **value == values[0]).count()
}

fn repeated<'a>(out: &mut Vec<u8>, values: &'a [u64], width: u8) -> &'a [u64] {
    let length = run_length(values);
    varint(out, (length as u64) << 1);
    let bytes = usize::from(width.div_ceil(8));
    out.extend_from_slice(&values[0].to_le_bytes()[..bytes]);
    &values[length..]
}

fn packed(out: &mut Vec<u8>, values: &[u64], width: u8) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint(out, (groups as u64) << 1 | 1);
    let mut bits = 0u128;
    let mut count = 0;
    for index in 0..groups * 8 {
        bits |= u128::from(values.get(index).copied().unwrap_or(0)) << count;
        count += u32::from(width);
        while count >= 8 {
            out.push((bits & 0xff) as u8);
            bits >>= 8;
            count -= 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_parquet_documentation_are_encoded() {
        // 0 to 7 in three bits each.
        let values: Vec<u64> = (0..8).collect();
        assert_eq!(encode_runs(&values, 3, Runs::Packed), [3, 0x88, 0xc6, 0xfa]);
    }

    #[test]
    fn runs_and_groups_alternate() {
        let mut values = vec![1; 20];
        values.extend([0, 1, 0, 1, 0, 1, 0, 1]);
        values.extend([0; 8]);
        values.push(1);
        assert_eq!(encode_runs(&values, 1, Runs::Mixed), [40, 1, 3, 0xaa, 16, 0, 3, 1]);
        assert_eq!(encode_runs(&[0, 0, 0], 0, Runs::Repeated), [6]);
        assert_eq!(encode_runs(&[5; 300], 11, Runs::Mixed), [0xd8, 0x04, 5, 0]);
    }
}
