// SPDX-License-Identifier: Apache-2.0
//! Cases of corrupt pages of version 2, levels without a length and blocks of LZ4.

use nearscan_command::Codec;

use super::damage::{headers_of, with_pages};
use crate::{
    case::{Case, Expectation},
    data::{ColumnData, Presence, Table, Values},
    pages::{
        ChunkLayout, Delta, Direct, Flag, HeaderStyle, Levels, Page, PageVersion, Runs,
        SecondVersion, lz4, snappy::Style,
    },
};

/// Thirty rows in three pages, a fifth of them NULL if there are levels.
pub(super) fn table(values: Values, layout: ChunkLayout) -> Table {
    let layout = ChunkLayout { header: HeaderStyle::Bare, ..layout.paged(&[11]) };
    Table::new(vec![ColumnData { values, layout }])
}

pub(super) fn integers(presence: Presence) -> Values {
    let some = |n: &i64| presence == Presence::Required || n % 5 != 2;
    Values::Int64((0..30).map(|n| Some(n).filter(some).map(|n| n * 1000 % 7)).collect())
}

pub(super) fn truths() -> Values {
    Values::Boolean((0..30).map(|n| (n % 5 != 2).then_some(n % 3 == 0)).collect())
}

/// A table of each kind of page that `damage` has not.
fn tables() -> Vec<(&'static str, Table)> {
    let optional = || integers(Presence::Optional);
    let second = |flag| PageVersion::Two(flag);
    let plain = ChunkLayout::plain;
    vec![
        (
            "version 2, Snappy",
            table(
                optional(),
                ChunkLayout { version: second(Flag::Absent), ..ChunkLayout::common() },
            ),
        ),
        (
            "version 2",
            table(optional(), ChunkLayout { version: second(Flag::Uncompressed), ..plain() }),
        ),
        ("LZ4", table(optional(), ChunkLayout { codec: Codec::Lz4Raw, ..ChunkLayout::common() })),
        (
            "differences",
            table(optional(), ChunkLayout { direct: Direct::Delta(Delta::COMMON), ..plain() }),
        ),
        (
            "streams",
            table(
                integers(Presence::Required),
                ChunkLayout { direct: Direct::Split, ..plain() }.required(),
            ),
        ),
        (
            "runs of truth values",
            table(truths(), ChunkLayout { direct: Direct::Rle(Runs::Mixed), ..plain() }),
        ),
        (
            "decimals",
            table(
                Values::Fixed { length: 12, values: (0..30).map(Some).collect() },
                ChunkLayout::common().required(),
            ),
        ),
    ]
}

/// Headers, and what pages of version 2 say in them alone.
pub(super) fn versions() -> Vec<Case> {
    let mut cases: Vec<Case> =
        tables().iter().flat_map(|(name, table)| headers_of(name, table)).collect();
    for codec in [Codec::Uncompressed, Codec::Snappy, Codec::Lz4Raw] {
        for (name, base) in [("plain", ChunkLayout::plain()), ("dictionary", ChunkLayout::common())]
        {
            for presence in [Presence::Required, Presence::Optional] {
                let version = PageVersion::Two(Flag::Compressed);
                let layout = ChunkLayout { version, codec, presence, ..base.clone() };
                let table = table(integers(presence), layout);
                cases.extend(second_lies(&format!("{codec:?} {name} {presence:?}"), &table));
            }
        }
    }
    // Levels that are cut, or that a footer does not know of.
    let layout = ChunkLayout { levels: Levels::BitPacked, ..ChunkLayout::plain() };
    let single = table(integers(Presence::Optional), layout);
    let name = "levels of a bit each";
    cases.push(with_pages(format!("{name}, cut"), &single, Expectation::Refused, |pages| {
        pages[2].body.truncate(1);
    }));
    cases.push(with_pages(format!("{name}, all set"), &single, Expectation::Refused, |pages| {
        pages[2].body[0] = 0xff;
    }));
    let mut unknown =
        with_pages(format!("{name}, not in the footer"), &single, Expectation::Refused, |_| {});
    unknown.chunks[0].encodings = nearscan_command::Encodings::SCAN;
    cases.push(unknown);
    cases
}

/// Fields that only headers of version 2 have.
fn second_lies(name: &str, table: &Table) -> Vec<Case> {
    let changed = |what: &str, expectation, change: fn(&mut SecondVersion)| {
        with_pages(format!("{name}, {what}"), table, expectation, |pages: &mut Vec<Page>| {
            if let Some(page) = pages.last_mut() {
                change(&mut page.second);
            }
        })
    };
    let refused =
        |what: &str, change: fn(&mut SecondVersion)| changed(what, Expectation::Refused, change);
    let mut cases = vec![
        refused("a null more than there is", |second| second.null_count += 1),
        refused("a null fewer than there is", |second| second.null_count -= 1),
        refused("2^31 - 1 nulls", |second| second.null_count = (1 << 31) - 1),
        refused("a row more than values", |second| second.row_count += 1),
        refused("a row fewer than values", |second| second.row_count -= 1),
        refused("-1 rows", |second| second.row_count = -1),
        refused("a byte of levels more than there is", |second| second.level_bytes += 1),
        refused("a byte of levels fewer than there is", |second| second.level_bytes -= 1),
        refused("2^31 - 1 bytes of levels", |second| second.level_bytes = (1 << 31) - 1),
        refused("-1 bytes of levels", |second| second.level_bytes = -1),
        refused("a byte of repetition levels", |second| second.repetition_bytes = 1),
        refused("-1 bytes of repetition levels", |second| second.repetition_bytes = -1),
        changed("compressed in secret", Expectation::NotWrong, |second| {
            second.flag = Flag::Uncompressed;
        }),
    ];
    // The body is as it was; only the header says something else.
    let flag = |what: &str, flag| {
        with_pages(format!("{name}, {what}"), table, Expectation::NotWrong, |pages| {
            for page in pages {
                let values = page.body[page.levels..].to_vec();
                page.compressed = Some(values);
                page.second.flag = flag;
            }
        })
    };
    cases.push(flag("said to be compressed", Flag::Compressed));
    cases.push(flag("not said to be uncompressed", Flag::Absent));
    cases
}

/// The outcome of a page's body.
type Change<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

fn pack(body: &[u8]) -> Vec<u8> {
    lz4::compress(body, Style::Common)
}

/// LZ4 that contradicts its format.
pub(super) fn lz4_blocks() -> Vec<Case> {
    let layout = ChunkLayout { codec: Codec::Lz4Raw, ..ChunkLayout::plain() };
    let table = table(Values::integers([7; 30]), layout);
    let changed = |what: &str, expectation, change: Change<'_>| {
        with_pages(what.to_owned(), &table, expectation, |pages| {
            let page = &mut pages[1];
            page.compressed = Some(change(&page.body));
        })
    };
    let mut cases = cut_blocks(&|what, change| changed(what, Expectation::Refused, change));
    cases.extend(wrong_literals(&changed));
    cases
}

/// Blocks that end too early, and copies that are not what they were.
fn cut_blocks(refused: &dyn Fn(&str, Change<'_>) -> Case) -> Vec<Case> {
    // The first sequence has its offset behind a token and fewer than 15 literals.
    let edited = |body: &[u8], edit: &dyn Fn(&mut Vec<u8>, usize)| {
        let mut packed = pack(body);
        let at = 1 + usize::from(packed[0] >> 4);
        edit(&mut packed, at);
        packed
    };
    vec![
        refused("nothing", &|_| vec![]),
        refused("only a token", &|body| pack(body)[..1].to_vec()),
        refused("cut by a byte", &|body| {
            let mut packed = pack(body);
            packed.pop();
            packed
        }),
        refused("cut behind the first copy", &|body| {
            edited(body, &|packed, at| packed.truncate(at + 3))
        }),
        refused("cut within an offset", &|body| {
            edited(body, &|packed, at| packed.truncate(at + 1))
        }),
        refused("a copy from where it is", &|body| edited(body, &|packed, at| packed[at] = 0)),
        refused("a copy from before the start", &|body| {
            edited(body, &|packed, at| packed[at + 1] = 0xff)
        }),
        refused("a copy that is too long", &|body| edited(body, &|packed, at| packed[at + 2] += 1)),
        refused("a copy that is too short", &|body| {
            edited(body, &|packed, at| packed[at + 2] -= 1)
        }),
        refused("a length that does not end", &|_| [&[0xf0][..], &[0xff; 200]].concat()),
        refused("a length of megabytes", &|_| {
            [&[0x1f, 7, 1, 0][..], &vec![0xff; 100_000], &[0]].concat()
        }),
        refused("bytes behind the end", &|body| [pack(body), vec![0, 0, 0, 0]].concat()),
        refused("an empty sequence behind the end", &|body| [pack(body), vec![0]].concat()),
    ]
}

/// Blocks of nothing but literals.
fn wrong_literals(changed: &dyn Fn(&str, Expectation, Change<'_>) -> Case) -> Vec<Case> {
    let refused = |what: &str, change: Change<'_>| changed(what, Expectation::Refused, change);
    let literals = |count: usize| {
        let mut block = vec![0xf0];
        block.extend(std::iter::repeat_n(0xff, (count - 15) / 255));
        block.push(u8::try_from((count - 15) % 255).unwrap_or(0));
        block
    };
    vec![
        refused("literals that are not there", &|body| {
            [literals(body.len()), body[..body.len() - 1].to_vec()].concat()
        }),
        refused("a literal too many", &|body| {
            [literals(body.len() + 1), body.to_vec(), vec![0]].concat()
        }),
        refused("a literal too few", &|body| {
            [literals(body.len() - 1), body[..body.len() - 1].to_vec()].concat()
        }),
        refused("not compressed at all", &|body| [&[0xf0, 0x80][..], body].concat()),
        changed("only literals", Expectation::NotWrong, &|body| {
            [literals(body.len()), body.to_vec()].concat()
        }),
        changed("a copy to come in the last token", Expectation::NotWrong, &|body| {
            let mut block = literals(body.len());
            block[0] = 0xf5;
            [block, body.to_vec()].concat()
        }),
    ]
}
