// SPDX-License-Identifier: Apache-2.0
//! Implements a compressor for LZ4 blocks that can use unusual forms, and a decompressor to check
//! it.

use std::collections::HashMap;

use super::snappy::Style;

const WINDOW: usize = 65_535;
const MATCH_MIN: usize = 4;
/// A block ends with as many bytes that are not copied.
const LITERALS_LAST: usize = 5;

/// Compresses `bytes`. The styles are those of Snappy: literals alone, copies of every length
/// (each is split where its length takes one byte more), copies from as far back as there are any.
pub fn compress(bytes: &[u8], style: Style) -> Vec<u8> {
    let mut writer = Writer { out: Vec::new(), style, copies: bytes.len() };
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    let (mut at, mut pending) = (0, 0);
    let last = bytes.len().saturating_sub(LITERALS_LAST);
    while at + MATCH_MIN <= last && style != Style::Literals {
        let key = &bytes[at..at + MATCH_MIN];
        let found = seen.get(key).copied().filter(|from| at - from <= WINDOW);
        if style != Style::Far || found.is_none() {
            seen.insert(key, at);
        }
        let Some(from) = found else {
            at += 1;
            continue;
        };
        let length = (at..last).take_while(|to| bytes[*to] == bytes[from + (to - at)]).count();
        writer.copies(&bytes[pending..at], at - from, length);
        at += length;
        pending = at;
    }
    writer.sequence(&bytes[pending..], None);
    writer.out
}

struct Writer {
    out: Vec<u8>,
    style: Style,
    copies: usize,
}

impl Writer {
    /// Literals, then `length` bytes from `offset` back, in one piece or in several.
    fn copies(&mut self, literals: &[u8], offset: usize, length: usize) {
        // Where a length begins to take a byte more, and just before that.
        const PIECES: [usize; 7] = [4, 18, 19, 273, 274, 528, 529];
        let mut rest = length;
        let mut before = literals;
        while rest > 0 {
            self.copies += 1;
            let most = match self.style {
                Style::Forms => PIECES[self.copies % PIECES.len()],
                Style::Common | Style::Literals | Style::Far => usize::MAX,
            };
            // The rest must be long enough for a separate copy.
            let piece = if rest <= most || rest - most < MATCH_MIN { rest } else { most };
            self.sequence(before, Some((offset, piece)));
            before = &[];
            rest -= piece;
        }
    }

    fn sequence(&mut self, literals: &[u8], copy: Option<(usize, usize)>) {
        let above = copy.map_or(0, |(_, length)| length - MATCH_MIN);
        let nibble = |length: usize| u8::try_from(length.min(15)).unwrap_or(15);
        self.out.push(nibble(literals.len()) << 4 | nibble(above));
        self.length(literals.len());
        self.out.extend_from_slice(literals);
        if let Some((offset, _)) = copy {
            self.out.extend_from_slice(&offset.to_le_bytes()[..2]);
            self.length(above);
        }
    }

    /// Writes the part of a length that does not fit in the token.
    fn length(&mut self, length: usize) {
        let Some(mut rest) = length.checked_sub(15) else { return };
        while rest >= 255 {
            self.out.push(255);
            rest -= 255;
        }
        self.out.push(u8::try_from(rest).unwrap_or(255));
    }
}

/// Decompresses, sequence by sequence; `None` when the bytes contradict the format.
pub fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes;
    let mut out: Vec<u8> = Vec::new();
    loop {
        let (token, behind) = rest.split_first()?;
        rest = behind;
        let literals = usize::from(token >> 4) + extension(&mut rest, token >> 4)?;
        let (copied, behind) = rest.split_at_checked(literals)?;
        out.extend_from_slice(copied);
        rest = behind;
        if rest.is_empty() {
            // Only literals can end a block.
            return (token & 15 == 0).then_some(out);
        }
        let (offset, behind) = rest.split_at_checked(2)?;
        rest = behind;
        let offset = usize::from(offset[0]) | usize::from(offset[1]) << 8;
        let length = usize::from(token & 15) + extension(&mut rest, token & 15)? + MATCH_MIN;
        for _ in 0..length {
            let from = out.len().checked_sub(offset).filter(|_| offset > 0)?;
            out.push(out[from]);
        }
    }
}

fn extension(rest: &mut &[u8], nibble: u8) -> Option<usize> {
    let mut length = 0;
    let mut more = nibble == 15;
    while more {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        length += usize::from(*byte);
        more = *byte == 255;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn samples() -> Vec<Vec<u8>> {
        let mut random = Random::new(1);
        let noise = |random: &mut Random, length| -> Vec<u8> {
            (0..length).map(|_| (random.word() & 0xff) as u8).collect()
        };
        let far = noise(&mut random, 5000);
        let gap = noise(&mut random, 60_000);
        vec![
            vec![],
            vec![7],
            vec![0; 9],
            vec![0; 3000],
            b"abcabcabcabcabcabd".repeat(90),
            noise(&mut random, 15),
            noise(&mut random, 270),
            noise(&mut random, 70_000),
            [&far[..], &gap, &far].concat(),
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
    fn block_matches_the_format_description() {
        // Nine zeros: one literal, three copied that overlap, five literals at the end.
        assert_eq!(compress(&[0; 9], Style::Common), [0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(compress(&[0; 10], Style::Common), [0x10, 0, 1, 0, 0x50, 0, 0, 0, 0, 0]);
        // 15 + 255 + 14 above the four that every copy has.
        let long = compress(&[0; 1 + 4 + 15 + 255 + 14 + 5], Style::Common);
        assert_eq!(long, [0x1f, 0, 1, 0, 255, 14, 0x50, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn corrupt_stream_is_detected() {
        let packed = compress(&[0; 100], Style::Common);
        for cut in 0..packed.len() {
            assert_eq!(decompress(&packed[..cut]), None, "{cut}");
        }
        // A copy from before the start, and one from where it is.
        assert_eq!(decompress(&[0x10, 9, 2, 0, 0]), None);
        assert_eq!(decompress(&[0x10, 9, 0, 0, 0]), None);
    }
}
