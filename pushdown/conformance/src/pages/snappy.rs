// SPDX-License-Identifier: Apache-2.0
//! Implements a Snappy compressor that can use every form of the format, and a decompressor to
//! check it.

use std::collections::HashMap;

use super::varint::varint;

/// Which forms are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The shortest form of each element, copies of up to 64 KiB back: what compressors do.
    Common,
    /// Literals only, in pieces of very different lengths.
    Literals,
    /// Every form in turn, whether it is the shortest or not: literals with one to four bytes of
    /// length, copies with one, two and four bytes of offset, of 1 to 64 bytes, overlapping.
    Forms,
    /// Copies from as far back as there is something to copy.
    Far,
}

const WINDOW: usize = 65_535;
const MATCH_MIN: usize = 4;

/// Compresses `bytes`.
pub fn compress(bytes: &[u8], style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, bytes.len() as u64);
    // Different bodies start with different forms.
    let mut writer = Writer { out, style, literals: bytes.len(), copies: bytes.len() };
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    let (mut at, mut pending) = (0, 0);
    while at < bytes.len() {
        let start = bytes.get(at..at + MATCH_MIN).filter(|_| style != Style::Literals);
        let found = start
            .and_then(|key| seen.get(key).copied())
            .filter(|from| style == Style::Far || at - from <= WINDOW);
        if let Some(key) = start {
            // Far copies want the first place, near ones the last.
            if style == Style::Far {
                seen.entry(key).or_insert(at);
            } else {
                seen.insert(key, at);
            }
        }
        let Some(from) = found else {
            at += 1;
            continue;
        };
        let length =
            (at..bytes.len()).take_while(|to| bytes[*to] == bytes[from + (to - at)]).count();
        writer.literal(&bytes[pending..at]);
        writer.copy(at - from, length);
        at += length;
        pending = at;
    }
    writer.literal(&bytes[pending..]);
    writer.out
}

struct Writer {
    out: Vec<u8>,
    style: Style,
    literals: usize,
    copies: usize,
}

impl Writer {
    fn literal(&mut self, bytes: &[u8]) {
        const PIECES: [usize; 7] = [1, 60, 61, 256, 257, 2, 70_000];
        let mut rest = bytes;
        while !rest.is_empty() {
            self.literals += 1;
            let most = match self.style {
                Style::Literals => PIECES[self.literals % PIECES.len()],
                Style::Common | Style::Forms | Style::Far => 1 << 24,
            };
            let (piece, behind) = rest.split_at(rest.len().min(most));
            let length = piece.len() - 1;
            let needed = match length {
                0..60 => 0,
                60..0x100 => 1,
                0x100..0x1_0000 => 2,
                0x1_0000..0x100_0000 => 3,
                _ => 4,
            };
            // In turn a longer form than is needed, which is legal.
            let bytes = match self.style {
                Style::Forms => needed.max(self.literals % 5),
                Style::Common | Style::Literals | Style::Far => needed,
            };
            let tag = if bytes == 0 { length } else { 59 + bytes };
            self.out.push(byte(tag << 2));
            self.out.extend_from_slice(&length.to_le_bytes()[..bytes]);
            self.out.extend_from_slice(piece);
            rest = behind;
        }
    }

    fn copy(&mut self, offset: usize, length: usize) {
        let mut left = length;
        while left > 0 {
            self.copies += 1;
            let form = match self.style {
                Style::Forms => self.copies % 3,
                Style::Common | Style::Literals | Style::Far => usize::from(left > 11),
            };
            let is_near = offset < 1 << 11 && left >= 4;
            left -= match form {
                0 if is_near => {
                    let length = left.min(11);
                    self.out.push(byte(1 | (length - 4) << 2 | (offset >> 8) << 5));
                    self.out.push(byte(offset & 0xff));
                    length
                }
                0 | 1 if offset < 1 << 16 => {
                    let length = left.min(64);
                    self.out.push(byte(2 | (length - 1) << 2));
                    self.out.extend_from_slice(&offset.to_le_bytes()[..2]);
                    length
                }
                _ => {
                    let length = left.min(64);
                    self.out.push(byte(3 | (length - 1) << 2));
                    self.out.extend_from_slice(&offset.to_le_bytes()[..4]);
                    length
                }
            };
        }
    }
}

fn byte(value: usize) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

/// Decompresses, element by element; `None` when the bytes contradict the format.
pub fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes;
    let mut expected = 0u64;
    let mut shift = 0;
    loop {
        let (first, behind) = rest.split_first()?;
        rest = behind;
        expected |= u64::from(first & 0x7f) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            break;
        }
        if shift > 28 {
            return None;
        }
    }
    let mut out: Vec<u8> = Vec::new();
    while let Some((tag, behind)) = rest.split_first() {
        let take = |count: usize| {
            let (bytes, behind) = behind.split_at_checked(count)?;
            let value =
                bytes.iter().rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte));
            Some((value, behind))
        };
        let high = usize::from(tag >> 2);
        let (offset, length) = match tag & 3 {
            0 => {
                let extra = (high + 1).saturating_sub(60);
                let (value, behind) = take(extra)?;
                let length = if extra == 0 { high } else { value } + 1;
                let (literal, behind) = behind.split_at_checked(length)?;
                out.extend_from_slice(literal);
                rest = behind;
                continue;
            }
            1 => {
                let (low, behind) = take(1)?;
                rest = behind;
                ((high >> 3) << 8 | low, (high & 7) + 4)
            }
            kind => {
                let (offset, behind) = take(if kind == 2 { 2 } else { 4 })?;
                rest = behind;
                (offset, high + 1)
            }
        };
        for _ in 0..length {
            let from = out.len().checked_sub(offset).filter(|_| offset > 0)?;
            out.push(out[from]);
        }
    }
    (out.len() as u64 == expected).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn samples() -> Vec<Vec<u8>> {
        let mut random = Random::new(1);
        let noise = |random: &mut Random, length| -> Vec<u8> {
            (0..length).map(|_| byte(random.below(256))).collect()
        };
        let far = noise(&mut random, 5000);
        let gap = noise(&mut random, 100_000);
        vec![
            vec![],
            vec![7],
            vec![0; 1000],
            b"abcabcabcabcabcabd".repeat(30),
            noise(&mut random, 70_000),
            [&far[..], &gap, &far].concat(),
            (0..400u32).flat_map(|n| [&far[n as usize..][..5], b"copied"].concat()).collect(),
            (0..4000u32).flat_map(|n| (n % 300).to_le_bytes()).collect(),
        ]
    }

    #[test]
    fn compression_survives_a_round_trip() {
        for style in [Style::Common, Style::Literals, Style::Forms, Style::Far] {
            for sample in samples() {
                let packed = compress(&sample, style);
                assert_eq!(decompress(&packed).as_ref(), Some(&sample), "{style:?}");
            }
        }
    }

    #[test]
    fn every_form_is_used() {
        let mut tags = [0; 64 * 4];
        for sample in samples() {
            let packed = compress(&sample, Style::Forms);
            for tag in elements(&packed) {
                tags[usize::from(tag)] += 1;
            }
        }
        assert!((0..60).any(|high| tags[high << 2] > 0), "short literal");
        for literal in 60..64 {
            assert!(tags[literal << 2] > 0, "literal {literal}");
        }
        for kind in 1..4 {
            assert!((0..64).any(|high| tags[high << 2 | kind] > 0), "copy {kind}");
        }
    }

    /// The tags of the elements.
    fn elements(packed: &[u8]) -> Vec<u8> {
        let mut at = packed.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
        let mut tags = Vec::new();
        while at < packed.len() {
            let tag = packed[at];
            tags.push(tag);
            let high = usize::from(tag >> 2);
            at += 1 + match tag & 3 {
                0 if high < 60 => high + 1,
                0 => {
                    let extra = high - 59;
                    let length = packed[at + 1..][..extra]
                        .iter()
                        .rev()
                        .fold(0usize, |value, byte| value << 8 | usize::from(*byte));
                    extra + length + 1
                }
                1 => 1,
                2 => 2,
                _ => 4,
            };
        }
        tags
    }

    #[test]
    fn corrupt_block_is_detected() {
        let packed = compress(&b"abcdabcdabcdabcd".repeat(4), Style::Common);
        assert_eq!(decompress(&packed[..packed.len() - 1]), None);
        // A copy from before the start.
        assert_eq!(decompress(&[4, 1, 9]), None);
        // A copy with offset zero.
        assert_eq!(decompress(&[5, 0, b'a', 1, 0]), None);
    }
}
