// SPDX-License-Identifier: Apache-2.0
//! Cases of corrupt differences, split streams and runs of truth values.

use nearscan_command::{Encoding, Encodings, PhysicalType};

use super::{
    damage::with_pages,
    damaged_pages::{integers, table, truths},
};
use crate::{
    case::{Case, Expectation},
    data::{Presence, Table, Values},
    pages::{ChunkLayout, Delta, Direct, Runs, Tail, encode_runs, number},
};

/// A page whose body is something else.
fn with_body(
    name: String,
    table: &Table,
    expectation: Expectation,
    change: impl FnOnce(&mut Vec<u8>),
) -> Case {
    with_pages(name, table, expectation, |pages| {
        let last = pages.len() - 1;
        change(&mut pages[last].body);
    })
}

/// Encodings that a footer has and a type cannot have.
pub(super) fn encodings() -> Vec<Case> {
    let mut cases = Vec::new();
    for values in [
        truths(),
        integers(Presence::Optional),
        Values::Float((0..30u8).map(|n| Some(f32::from(n))).collect()),
        Values::Double((0..30).map(|n| Some(f64::from(n))).collect()),
        Values::strings(["text"; 30]),
        Values::Fixed { length: 8, values: (0..30).map(Some).collect() },
    ] {
        let physical_type = values.physical_type();
        let table = table(values, ChunkLayout::plain());
        for (encoding, name) in Encoding::ALL {
            let fits = match encoding {
                Encoding::Plain | Encoding::PlainDictionary | Encoding::RleDictionary => true,
                Encoding::Rle => physical_type == PhysicalType::Boolean,
                Encoding::BitPacked | Encoding::DeltaLengthByteArray | Encoding::DeltaByteArray => {
                    false
                }
                Encoding::DeltaBinaryPacked => physical_type == PhysicalType::Int64,
                Encoding::ByteStreamSplit => {
                    !matches!(physical_type, PhysicalType::Boolean | PhysicalType::ByteArray)
                }
            };
            if fits {
                continue;
            }
            let name = format!("{physical_type:?} as {name}");
            let mut changed = with_pages(name, &table, Expectation::Refused, |pages| {
                for page in pages {
                    page.encoding = number(*encoding);
                }
            });
            changed.chunks[0].encodings = Encodings::ALL;
            cases.push(changed);
        }
    }
    cases
}

/// Tables of differences: of 64 and of 32 bits, with levels and without.
fn difference_tables() -> Vec<(&'static str, Table)> {
    let delta = |tail| Direct::Delta(Delta { tail, ..Delta::COMMON });
    let narrow = (0..30).map(|n| Some(n * n % 50)).collect();
    vec![
        (
            "64 bits",
            table(
                integers(Presence::Required),
                ChunkLayout { direct: delta(Tail::Padded), ..ChunkLayout::plain() }.required(),
            ),
        ),
        (
            "32 bits",
            table(
                Values::Int32(narrow),
                ChunkLayout { direct: delta(Tail::Cut), ..ChunkLayout::plain() }.required(),
            ),
        ),
    ]
}

/// Offsets of the parts of a page of differences: it has no levels and fewer than 64 values.
mod part {
    use std::ops::Range;

    pub(super) const BLOCK_VALUES: Range<usize> = 0..2;
    pub(super) const MINIBLOCKS: Range<usize> = 2..3;
    pub(super) const COUNT: Range<usize> = 3..4;
    pub(super) const FIRST: Range<usize> = 4..5;
    pub(super) const WIDTH: usize = 6;
    pub(super) const BODY: usize = 10;
}

pub(super) fn differences() -> Vec<Case> {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push((value & 0x7f) as u8);
        bytes
    };
    let mut cases = Vec::new();
    for (name, table) in difference_tables() {
        let refused = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
            with_body(format!("{name}, {what}"), &table, Expectation::Refused, change)
        };
        for values in [0, 1, 32, 127, 129, 1 << 31, 1 << 32, (1 << 32) + 128, u64::MAX] {
            cases.push(refused(&format!("blocks of {values} values"), &|body| {
                body.splice(part::BLOCK_VALUES, varint(values));
            }));
        }
        for miniblocks in [0, 3, 5, 8, 128, 129, 1 << 32, (1 << 32) + 4, u64::MAX] {
            cases.push(refused(&format!("{miniblocks} miniblocks"), &|body| {
                body.splice(part::MINIBLOCKS, varint(miniblocks));
            }));
        }
        for count in [0, 1, 7, 9, 200, 1 << 31, 1 << 32, (1 << 32) + 8, u64::MAX] {
            cases.push(refused(&format!("{count} values"), &|body| {
                body.splice(part::COUNT, varint(count));
            }));
        }
        let widest = if name == "64 bits" { 64 } else { 32 };
        for width in [widest + 1, 65, 128, 255] {
            cases.push(refused(&format!("differences of {width} bits"), &|body| {
                body[part::WIDTH] = width;
                body.extend([0; 2000]);
            }));
        }
        cases.push(refused("differences of 32 bits that are not there", &|body| {
            body[part::WIDTH] = 32;
            body.truncate(part::BODY + 4);
        }));
        for cut in 0..part::BODY {
            cases.push(refused(&format!("cut behind {cut} bytes"), &|body| body.truncate(cut)));
        }
        cases.push(refused("a first value that does not end", &|body| {
            body.splice(part::FIRST, [0xff; 11]);
        }));
        cases.push(refused("a least difference that does not end", &|body| {
            body.splice(5..6, [0xff; 11]);
        }));
        cases.push(with_body(
            format!("{name}, bytes behind the values"),
            &table,
            Expectation::NotWrong,
            |body| body.extend([0xaa; 40]),
        ));
    }
    cases
}

pub(super) fn streams() -> Vec<Case> {
    let mut cases = Vec::new();
    let decimals = |length| Values::Fixed { length, values: (0..30).map(Some).collect() };
    for (name, values) in [
        ("64 bits", integers(Presence::Required)),
        ("3 bytes", decimals(3)),
        ("16 bytes", decimals(16)),
    ] {
        for presence in [Presence::Required, Presence::Optional] {
            let layout = ChunkLayout { direct: Direct::Split, presence, ..ChunkLayout::plain() };
            let table = table(values.clone(), layout);
            let name = format!("{name} {presence:?}");
            let refused = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
                with_body(format!("{name}, {what}"), &table, Expectation::Refused, change)
            };
            cases.extend([
                refused("nothing", &Vec::clear),
                refused("a byte fewer", &|body| {
                    body.pop();
                }),
                refused("a byte more", &|body| body.push(0)),
                refused("three bytes fewer", &|body| body.truncate(body.len() - 3)),
                // As many bytes as a whole number of values has, whatever their width.
                refused("values more", &|body| body.extend([0; 48])),
                refused("a page of values more", &|body| body.extend([0; 48 * 100])),
            ]);
            cases.push(with_pages(
                format!("{name}, 2^31 - 1 bytes"),
                &table,
                Expectation::NotWrong,
                |pages| pages[1].uncompressed_size = Some((1 << 31) - 1),
            ));
        }
    }
    cases
}

pub(super) fn truth_values() -> Vec<Case> {
    let mut cases = Vec::new();
    let all = || Values::Boolean((0..30).map(|n| Some(n % 3 == 0)).collect());
    let layout = ChunkLayout { direct: Direct::Rle(Runs::Packed), ..ChunkLayout::plain() };
    let runs = table(all(), layout.required());
    let refused = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
        with_body(format!("runs, {what}"), &runs, Expectation::Refused, change)
    };
    cases.extend([
        refused("nothing", &Vec::clear),
        refused("half a length", &|body| body.truncate(2)),
        refused("only a length", &|body| body.truncate(4)),
        refused("a length one too large", &|body| body[0] += 1),
        refused("a length one too small", &|body| body[0] -= 1),
        refused("a length of 4 GiB", &|body| body[..4].fill(0xff)),
        refused("cut by a byte", &|body| {
            body.pop();
            body[0] -= 1;
        }),
        refused("a truth value of 2", &|body| {
            body.splice(.., [2, 0, 0, 0, 8 << 1, 2]);
        }),
        refused("indexes of two bits", &|body| {
            let encoded = encode_runs(&[3; 8], 2, Runs::Repeated);
            body.splice(4.., encoded);
            body[0] = u8::try_from(body.len() - 4).unwrap_or(0);
        }),
    ]);
    let plain = table(all(), ChunkLayout::plain().required());
    let plain_body = |what: &str, expectation, change: &dyn Fn(&mut Vec<u8>)| {
        with_body(format!("plain, {what}"), &plain, expectation, change)
    };
    cases.extend([
        plain_body("nothing", Expectation::Refused, &Vec::clear),
        plain_body("bytes behind the values", Expectation::NotWrong, &|body| body.push(0xff)),
    ]);
    let dictionary = table(truths(), ChunkLayout::common());
    cases.push(with_pages(
        "a dictionary with a byte more".to_owned(),
        &dictionary,
        Expectation::NotWrong,
        |pages| pages[0].body.push(0),
    ));
    cases.push(with_pages(
        "a dictionary with nine entries in a byte".to_owned(),
        &dictionary,
        Expectation::Refused,
        |pages| pages[0].value_count = 9,
    ));
    cases
}
