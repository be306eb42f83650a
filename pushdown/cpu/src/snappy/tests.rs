// SPDX-License-Identifier: Apache-2.0
//! Compares the decoder with the crate `snap`, which is the oracle, on bodies of all kinds.

use nearscan_conformance::Random;
use rstest::rstest;

use super::*;

/// Bytes before and behind a buffer that must stay as they are.
const CANARY_BYTES: usize = 96;
const CANARY: u8 = 0xa5;

/// Bytes of a literal that keep what is before or behind it away from an end of the body.
const FAR: usize = 400;

/// What a body is made of.
#[derive(Debug, Clone)]
enum Element {
    /// A literal whose length is in so many bytes of its own.
    Literal(usize, Vec<u8>),
    /// A copy whose offset is in so many bytes of its own.
    Repeat { offset_bytes: usize, offset: usize, length: usize },
}

use Element::{Literal, Repeat};

/// A literal that repeats nothing.
fn plain(length: usize) -> Element {
    let length_bytes = match length {
        0..=60 => 0,
        61..=256 => 1,
        _ => 2,
    };
    Literal(length_bytes, text(length))
}

fn text(length: usize) -> Vec<u8> {
    let mut random = Random::new(length as u64);
    (0..length).map(|_| random.word().to_le_bytes()[0]).collect()
}

fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

fn push(body: &mut Vec<u8>, element: &Element) {
    match element {
        Literal(length_bytes, bytes) => {
            let last = bytes.len() - 1;
            let code = if *length_bytes == 0 { last } else { 59 + length_bytes };
            body.push(byte(code << 2));
            body.extend(&last.to_le_bytes()[..*length_bytes]);
            body.extend(bytes);
        }
        Repeat { offset_bytes, offset, length } => {
            body.push(match offset_bytes {
                1 => byte((offset >> 8) << 5 | (length - 4) << 2 | 1),
                2 => byte((length - 1) << 2 | 2),
                _ => byte((length - 1) << 2 | 3),
            });
            body.extend(&offset.to_le_bytes()[..*offset_bytes]);
        }
    }
}

fn varint(length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = length;
    while left >= 128 {
        bytes.push(byte(left & 127 | 128));
        left >>= 7;
    }
    bytes.push(byte(left));
    bytes
}

/// The body of `elements`, which are to become `length` bytes.
fn body_of(elements: &[Element], length: usize) -> Vec<u8> {
    let mut body = varint(length);
    elements.iter().for_each(|element| push(&mut body, element));
    body
}

/// How many bytes an element becomes.
fn length_of(element: &Element) -> usize {
    match element {
        Literal(_, bytes) => bytes.len(),
        Repeat { length, .. } => *length,
    }
}

/// What `elements` become, byte by byte.
fn bytes_of(elements: &[Element]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for element in elements {
        match element {
            Literal(_, literal) => bytes.extend(literal),
            Repeat { offset, length, .. } => {
                (0..*length).for_each(|_| bytes.push(bytes[bytes.len() - offset]));
            }
        }
    }
    bytes
}

/// Decompresses into a buffer of `length` bytes between canaries.
fn ours(body: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![CANARY; length + 2 * CANARY_BYTES];
    let out = &mut buffer[CANARY_BYTES..CANARY_BYTES + length];
    let result = decompress(body, out);
    let (before, behind) = (&buffer[..CANARY_BYTES], &buffer[CANARY_BYTES + length..]);
    assert!(before.iter().chain(behind).all(|byte| *byte == CANARY), "{body:?}");
    result.ok().map(|()| buffer[CANARY_BYTES..CANARY_BYTES + length].to_vec())
}

/// The same by the oracle, which accepts a buffer that is too large.
fn theirs(body: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; length];
    let written = snap::raw::Decoder::new().decompress(body, &mut out).ok()?;
    (written == length).then_some(out)
}

fn assert_agrees(body: &[u8], length: usize) {
    assert!(ours(body, length) == theirs(body, length), "{length} bytes of {body:?}");
}

/// `elements` become the right bytes, alone and behind and before a long literal.
fn assert_becomes(elements: &[Element]) {
    for (before, behind) in [(0, 0), (FAR, 0), (0, FAR), (FAR, FAR)] {
        let mut all = elements.to_vec();
        if before > 0 {
            all.insert(0, plain(before));
        }
        if behind > 0 {
            // Short ones: what a long literal is read by would hide what the shorter ones are.
            all.extend((0..behind / 40).map(|_| plain(40)));
        }
        let expected = bytes_of(&all);
        let body = body_of(&all, expected.len());
        assert_eq!(theirs(&body, expected.len()).as_ref(), Some(&expected), "the oracle");
        assert!(ours(&body, expected.len()) == Some(expected), "{all:?}");
    }
}

/// Bodies with every kind of element, short enough for all of their neighbours to be tried.
fn small_bodies() -> Vec<(Vec<u8>, usize)> {
    let copy = |offset_bytes, offset, length| Repeat { offset_bytes, offset, length };
    let numbers: Vec<u8> = (0..40_u64).flat_map(|n| (n * n * 77).to_le_bytes()).collect();
    let words = "the quick ideas sleep above the quick deposits; the final ideas sleep. ".repeat(4);
    let mixed = [
        plain(7),
        copy(1, 3, 9),
        plain(70),
        copy(2, 64, 64),
        copy(4, 90, 40),
        plain(1),
        copy(1, 1, 4),
        copy(2, 1, 64),
        plain(16),
        copy(1, 8, 8),
        plain(61),
        copy(2, 200, 17),
        plain(33),
    ];
    let mut bodies = vec![(body_of(&mixed, bytes_of(&mixed).len()), bytes_of(&mixed).len())];
    for bytes in [&numbers[..], words.as_bytes(), &[], &[1], &[0; 300]] {
        let body = snap::raw::Encoder::new().compress_vec(bytes).unwrap();
        bodies.push((body, bytes.len()));
    }
    bodies
}

#[test]
fn literals_of_every_length_and_form_are_read() {
    for length in (1..=70).chain([255, 256, 257, 1000]) {
        for length_bytes in 0..=4 {
            let fits = match length_bytes {
                0 => length <= 60,
                1 => length <= 256,
                _ => true,
            };
            if fits {
                assert_becomes(&[Literal(length_bytes, text(length)), plain(3)]);
            }
        }
    }
}

#[test]
fn copies_of_every_length_and_form_repeat_from_every_near_offset() {
    for offset in (1..=80).chain([255, 256, 300]) {
        for length in 1..=64 {
            for offset_bytes in [1, 2, 4] {
                if offset_bytes != 1 || (4..=11).contains(&length) {
                    let copy = Repeat { offset_bytes, offset, length };
                    assert_becomes(&[plain(offset), copy, plain(2)]);
                }
            }
        }
    }
}

#[test]
fn copies_behind_short_literals_repeat_from_every_near_offset() {
    for offset in (1..=72).chain([255, 256, 300]) {
        for short in 1..=4 {
            for length in [1, 4, 5, 7, 8, 9, 11, 16, 17, 32, 33, 64] {
                for offset_bytes in [1, 2, 4] {
                    if offset_bytes != 1 || (4..=11).contains(&length) {
                        // Two bytes of an offset behind two of another one take most of a word.
                        let first = Repeat { offset_bytes: 2, offset: 290, length: 4 };
                        let copy = Repeat { offset_bytes, offset, length };
                        assert_becomes(&[plain(300), first, plain(short), copy, plain(2)]);
                    }
                }
            }
        }
    }
}

#[rstest]
#[case::last_offset_of_one_byte(1, 2047)]
#[case::last_offset_of_two_bytes(2, 65_535)]
#[case::first_offset_of_four_bytes(4, 65_536)]
#[case::offset_of_three_bytes(4, 100_000)]
fn copies_repeat_from_far_offsets(#[case] offset_bytes: usize, #[case] offset: usize) {
    for length in [4, 11] {
        let start = Literal(4, text(offset));
        assert_becomes(&[start, plain(5), Repeat { offset_bytes, offset, length }, plain(2)]);
    }
}

#[test]
fn what_the_encoder_wrote_is_restored() {
    let mut random = Random::new(11);
    let words = ["carefully ", "final ", "deposits ", "sleep ", "above ", "the "];
    for round in 0..400 {
        let count = random.below(3000) + 1;
        let below = 1 << random.below(24);
        let mut bytes = Vec::new();
        while bytes.len() < count {
            match round % 6 {
                0 => bytes.extend(random.below(below).to_le_bytes()),
                1 => bytes.extend(random.pick(&words).as_bytes()),
                2 => bytes.push(random.word().to_le_bytes()[0]),
                3 => bytes.extend((round * 300 + bytes.len() / 8).to_le_bytes()),
                4 => bytes.resize(bytes.len() + random.below(200), byte(random.below(3))),
                _ => {
                    let value = round * 1000 + bytes.len();
                    bytes.extend(u32::try_from(value).unwrap().to_be_bytes());
                }
            }
        }
        let body = snap::raw::Encoder::new().compress_vec(&bytes).unwrap();
        assert_eq!(length(&body), Ok(bytes.len()));
        assert!(ours(&body, bytes.len()) == Some(bytes), "round {round}");
    }
}

#[test]
fn every_truncation_agrees_with_the_oracle() {
    for (body, length) in small_bodies() {
        assert!(ours(&body, length).is_some());
        for end in 0..body.len() {
            assert_agrees(&body[..end], length);
            assert_eq!(ours(&body[..end], length), None, "{end} of {body:?}");
        }
    }
}

#[test]
fn every_change_of_one_byte_agrees_with_the_oracle() {
    for (mut body, length) in small_bodies() {
        for at in 0..body.len() {
            let right = body[at];
            for wrong in 0..=u8::MAX {
                body[at] = wrong;
                assert_agrees(&body, length);
            }
            body[at] = right;
        }
    }
}

#[rstest]
#[case::offset_of_zero(&[plain(9), Repeat { offset_bytes: 2, offset: 0, length: 4 }], 13)]
#[case::offset_before_the_start(&[plain(9), Repeat { offset_bytes: 2, offset: 10, length: 4 }], 13)]
#[case::copy_without_a_start(&[Repeat { offset_bytes: 1, offset: 1, length: 4 }], 4)]
#[case::copy_beyond_the_end(&[plain(9), Repeat { offset_bytes: 2, offset: 9, length: 5 }], 13)]
#[case::literal_beyond_the_end(&[plain(9), plain(5)], 13)]
#[case::too_few_bytes(&[plain(9), plain(3)], 13)]
fn wrong_elements_are_corrupt(#[case] elements: &[Element], #[case] length: usize) {
    assert_eq!(ours(&body_of(elements, length), length), None);
    // Far from both ends, where elements are not checked one by one.
    let mut all: Vec<Element> = elements.to_vec();
    all.extend((0..20).map(|_| plain(40)));
    let body = body_of(&all, length + 800);
    assert_agrees(&body, length + 800);
    assert_eq!(ours(&body, length + 800), None);
}

#[test]
fn elements_beyond_a_near_end_are_corrupt_and_write_nothing_behind_it() {
    let copy = |offset, length| Repeat { offset_bytes: 2, offset, length };
    let last_elements = [
        vec![plain(60)],
        vec![plain(3), copy(80, 64)],
        vec![plain(3), copy(80, 16)],
        vec![plain(3), copy(7, 64)],
        vec![plain(3), copy(20, 64)],
        vec![plain(3), Repeat { offset_bytes: 1, offset: 8, length: 11 }],
        vec![copy(5, 64)],
    ];
    for elements in &last_elements {
        for start in [9, 100] {
            // The body goes on, so that only the end of the output is near.
            let mut all = vec![plain(start), plain(20)];
            all.extend_from_slice(elements);
            all.extend((0..4).map(|_| plain(50)));
            let end = all.iter().map(length_of).sum();
            for length in start..end {
                let body = body_of(&all, length);
                assert_agrees(&body, length);
                assert_eq!(ours(&body, length), None, "{length} bytes of {all:?}");
            }
        }
    }
}

#[test]
fn length_is_that_of_the_preamble() {
    let ends = |bytes: &[u8]| (length(bytes), snap::raw::decompress_len(bytes).ok());
    assert_eq!(length(&[0]), Ok(0));
    assert_eq!(length(&[0x80, 1, 9]), Ok(128));
    assert_eq!(length(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(0xffff_ffff));
    for wrong in [&[0xff, 0xff, 0xff, 0xff, 0x1f][..], &[0x80; 5], &[0x80], &[0xff; 9]] {
        assert_eq!(ends(wrong), (Err(Status::Corrupt), None), "{wrong:?}");
    }
    assert_eq!(length(&[]), Err(Status::Corrupt));
}

#[test]
fn buffer_of_another_length_is_corrupt() {
    let bytes = text(500);
    let body = snap::raw::Encoder::new().compress_vec(&bytes).unwrap();
    for length in [0, 1, 499, 501, 1000] {
        assert_eq!(ours(&body, length), None, "{length}");
    }
}

#[test]
fn random_bodies_agree_with_the_oracle() {
    let mut random = Random::new(5);
    for _ in 0..3000 {
        let mut elements = vec![plain(1 + random.below(300))];
        for _ in 0..random.below(60) {
            let so_far = bytes_of(&elements).len();
            elements.push(match random.below(3) {
                0 if random.one_in(2) => plain(1 + random.below(5)),
                0 => plain(1 + random.below(80)),
                1 => {
                    let offset = 1 + random.below(so_far.min(2047));
                    Repeat { offset_bytes: 1, offset, length: 4 + random.below(8) }
                }
                _ => {
                    let offset = 1 + random.below(so_far.min(40));
                    Repeat { offset_bytes: 2, offset, length: 1 + random.below(64) }
                }
            });
        }
        let bytes = bytes_of(&elements);
        let mut body = body_of(&elements, bytes.len());
        assert!(ours(&body, bytes.len()) == Some(bytes.clone()), "{elements:?}");
        let at = random.below(body.len());
        body[at] = random.word().to_le_bytes()[0];
        assert_agrees(&body, bytes.len());
    }
}
