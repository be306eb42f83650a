// SPDX-License-Identifier: Apache-2.0
//! Ways to write the same values: sizes, encodings, compression, NULLs.

use nearscan_command::{
    Aggregate, Codec, Encoding, Fragment, Function, Op, Operand, Program, Status, Step, Width,
};

use super::{aggregate, col, lit, over, select_all, states};
use crate::{
    case::Case,
    data::{ColumnData, Presence, Table, Values},
    pages::{ChunkLayout, HeaderStyle, Levels, Runs, ValueLayout, snappy::Style},
    random::Random,
};

/// Rows of every type, a tenth of them NULL.
fn mixed(rows: usize, layout: &ChunkLayout) -> Table {
    let mut random = Random::new(rows as u64);
    let is_nullable = layout.presence == Presence::Optional;
    let some = |random: &mut Random| !(is_nullable && random.one_in(10));
    let int64 = (0..rows).map(|_| random.around_zero(2000));
    let int64: Vec<i64> = int64.collect();
    let int64 = int64.into_iter().map(|n| some(&mut random).then_some(n)).collect();
    let int32: Vec<i64> = (0..rows).map(|_| random.around_zero(100)).collect();
    let int32 =
        int32.into_iter().map(|n| i32::try_from(n).ok().filter(|_| some(&mut random))).collect();
    let texts: Vec<i64> = (0..rows).map(|_| random.around_zero(60)).collect();
    let texts =
        texts.into_iter().map(|n| some(&mut random).then(|| format!("text {n}").into_bytes()));
    let texts = texts.collect();
    let with = |values| ColumnData { values, layout: layout.clone() };
    Table {
        columns: vec![
            with(Values::Int64(int64)),
            with(Values::Int32(int32)),
            with(Values::Bytes(texts)),
        ],
        rows,
    }
}

/// The rows themselves, some of them, and sums.
fn three_ways(name: &str, table: &Table) -> Vec<Case> {
    let all = select_all(table);
    let some = Fragment {
        predicate: Program::new([
            Step::compare(Op::Greater, col(0), lit(0)),
            Step::compare(Op::Less, col(1), lit(0)),
            Step::compare(Op::And, Operand::Step(0), Operand::Step(1)),
        ]),
        literals: vec![10],
        ..all.clone()
    };
    let slots = vec![
        aggregate(Function::Sum, col(0)),
        aggregate(Function::Max, col(1)),
        aggregate(Function::Count, col(2)),
        Aggregate::count_rows(),
    ];
    let sums = Fragment { output: states(&[], slots), ..some.clone() };
    vec![
        Case::new(format!("{name}, all rows"), table.clone(), all),
        Case::new(format!("{name}, some rows"), table.clone(), some),
        Case::new(format!("{name}, sums"), table.clone(), sums),
    ]
}

pub(super) fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    for rows in [0, 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 20_000] {
        for (name, layout) in [
            ("common", ChunkLayout::common()),
            ("plain", ChunkLayout::plain()),
            ("common, required", ChunkLayout::common().required()),
            ("common, several pages", ChunkLayout::common().paged(&[777, 1, 3000])),
        ] {
            let table = mixed(rows, &layout);
            cases.extend(three_ways(&format!("{rows} rows, {name}"), &table));
        }
    }
    // Pages of one column end where those of the others do not.
    let mut table = mixed(5000, &ChunkLayout::common());
    for (column, page_rows) in table.columns.iter_mut().zip([[7, 993], [1, 2047], [1000, 24]]) {
        column.layout.page_rows = page_rows.to_vec();
    }
    cases.extend(three_ways("pages that end at different rows", &table));
    let table = mixed(300, &ChunkLayout::common().paged(&[1]));
    cases.extend(three_ways("pages of one row", &table));
    let table = mixed(300, &ChunkLayout::plain().paged(&[0, 100, 0, 0]));
    cases.extend(three_ways("empty plain pages", &table));
    let table = mixed(300, &ChunkLayout::common().paged(&[0, 100, 0, 0]));
    cases.extend(three_ways("empty dictionary pages", &table));
    cases
}

pub(super) fn encodings() -> Vec<Case> {
    let mut cases = Vec::new();
    for label in [Encoding::RleDictionary, Encoding::PlainDictionary] {
        for runs in Runs::ALL {
            let values = ValueLayout::Dictionary {
                label,
                index_runs: runs,
                unused_entries: 2,
                width_min: 0,
                pages_max: usize::MAX,
            };
            let layout =
                ChunkLayout { values, levels: Levels::Hybrid(runs), ..ChunkLayout::common() };
            let table = mixed(2000, &layout.paged(&[333]));
            cases.extend(three_ways(&format!("{label:?} with {runs:?}"), &table));
        }
    }
    for width_min in 0..=20 {
        let values = ValueLayout::Dictionary {
            label: Encoding::RleDictionary,
            index_runs: if width_min % 2 == 0 { Runs::Mixed } else { Runs::Packed },
            unused_entries: 0,
            width_min,
            pages_max: usize::MAX,
        };
        let layout = ChunkLayout { values, ..ChunkLayout::plain() };
        // Equal values need indexes of no bits at all.
        let table = Table::new(vec![
            ColumnData { values: Values::integers(vec![42; 600]), layout: layout.clone() },
            ColumnData {
                values: Values::Int32((0..600).map(|n| (n % 9 != 0).then_some(n % 2)).collect()),
                layout: layout.clone(),
            },
            ColumnData { values: Values::strings(["x", "y", "x"].repeat(200)), layout },
        ]);
        cases.extend(three_ways(&format!("indexes of {width_min} bits"), &table));
    }
    for pages_max in [0, 1, 3] {
        let values = ValueLayout::Dictionary {
            label: Encoding::RleDictionary,
            index_runs: Runs::Mixed,
            unused_entries: 0,
            width_min: 0,
            pages_max,
        };
        let layout = ChunkLayout { values, ..ChunkLayout::common() }.paged(&[500]);
        let name = format!("dictionary given up after {pages_max} pages");
        cases.extend(three_ways(&name, &mixed(2200, &layout)));
    }
    cases.extend(large_dictionaries());
    for header in [HeaderStyle::Bare, HeaderStyle::Checksum, HeaderStyle::UnknownFields] {
        let layout = ChunkLayout { header, ..ChunkLayout::common() };
        let table = mixed(1500, &layout.paged(&[600]));
        cases.extend(three_ways(&format!("headers with {header:?}"), &table));
    }
    let indexed = ChunkLayout { index_pages: true, ..ChunkLayout::common() }.paged(&[400]);
    cases.extend(three_ways("an index page", &mixed(1500, &indexed)));
    cases
}

/// More entries than fit on chip.
fn large_dictionaries() -> Vec<Case> {
    let mut cases = Vec::new();
    for entries in [4095, 4096, 4097, 9000] {
        let count = 12_000i64;
        let scattered = move |n: i64| n * 7919 % entries;
        let layout = ChunkLayout::common().paged(&[5000]);
        let with = |values| ColumnData { values, layout: layout.clone() };
        let int32 = (0..count).map(|n| i32::try_from(scattered(n) - 2000).ok());
        let texts = (0..count).map(|n| Some(format!("{}", scattered(n)).into_bytes()));
        let table = Table::new(vec![
            with(Values::integers((0..count).map(|n| scattered(n) << 35))),
            with(Values::Int32(int32.collect())),
            with(Values::Bytes(texts.collect())),
        ]);
        cases.extend(three_ways(&format!("{entries} dictionary entries"), &table));
    }
    cases
}

pub(super) fn compression() -> Vec<Case> {
    let mut cases = Vec::new();
    for codec in [Codec::Uncompressed, Codec::Snappy, Codec::Lz4Raw] {
        for packing in [Style::Common, Style::Literals, Style::Forms] {
            for (name, layout) in
                [("dictionary", ChunkLayout::common()), ("plain", ChunkLayout::plain())]
            {
                let layout = ChunkLayout { codec, packing, ..layout };
                let table = mixed(4000, &layout.paged(&[1500]));
                cases.extend(three_ways(&format!("{codec:?} {packing:?} {name}"), &table));
            }
        }
    }
    // Runs of one byte: copies that overlap what they make.
    for codec in [Codec::Snappy, Codec::Lz4Raw] {
        let layout = ChunkLayout { codec, ..ChunkLayout::plain() };
        let zeros = Values::integers(vec![0; 9000]);
        let periodic = Values::integers((0..9000).map(|n| n % 3));
        let with = |values| ColumnData { values, layout: layout.clone() };
        let table = Table::new(vec![with(zeros), with(periodic)]);
        let name = format!("{codec:?} copies that overlap");
        cases.push(Case::new(name, table.clone(), select_all(&table)));
    }
    // 64,000 bytes that repeat: as far back as LZ4 reaches.
    let mut random = Random::new(4);
    let once: Vec<i64> = (0..8000).map(|_| random.word().cast_signed()).collect();
    let layout = ChunkLayout { codec: Codec::Lz4Raw, ..ChunkLayout::plain() };
    let values = Values::integers(once.iter().copied().chain(once.iter().copied()));
    let table = Table::new(vec![ColumnData { values, layout }]);
    cases.push(Case::new("LZ4 copies from far back", table.clone(), select_all(&table)));
    // 96 kB that repeat: copies from further back than common writers reach.
    let mut random = Random::new(3);
    let once: Vec<i64> = (0..12_000).map(|_| random.word().cast_signed()).collect();
    let far = ChunkLayout { codec: Codec::Snappy, packing: Style::Far, ..ChunkLayout::plain() };
    let values = Values::integers(once.iter().copied().chain(once.iter().copied()));
    let table = Table::new(vec![ColumnData { values, layout: far }]);
    let fragment = Fragment {
        output: states(&[], vec![Aggregate::new(Function::Sum, col(0), Width::W128)]),
        ..over(&table)
    };
    cases.push(Case::new("copies from far back", table, fragment).or(Status::SnappyDistance));
    cases
}

/// A name, and which rows are null.
type Pattern = (&'static str, fn(i32) -> bool);

pub(super) fn nulls() -> Vec<Case> {
    let mut cases = Vec::new();
    let patterns: [Pattern; 7] = [
        ("none", |_| false),
        ("all", |_| true),
        ("every other", |n| n % 2 == 0),
        ("the first", |n| n == 0),
        ("the last", |n| n == 1999),
        ("a page", |n| (300..600).contains(&n)),
        ("long runs", |n| n / 100 % 2 == 1),
    ];
    for (name, is_null) in patterns {
        for (layout_name, layout) in [
            ("plain", ChunkLayout::plain()),
            ("dictionary", ChunkLayout::common()),
            (
                "bit-packed levels",
                ChunkLayout { levels: Levels::Hybrid(Runs::Packed), ..ChunkLayout::common() },
            ),
            (
                "runs of levels",
                ChunkLayout { levels: Levels::Hybrid(Runs::Repeated), ..ChunkLayout::plain() },
            ),
        ] {
            let layout = layout.paged(&[300]);
            let with = |values| ColumnData { values, layout: layout.clone() };
            let valid = |n: &i32| !is_null(*n);
            let int64 = (0..2000).map(|n| Some(n).filter(valid).map(|n| i64::from(n % 70)));
            let int32 = (0..2000).map(|n| Some(n).filter(valid).map(|n| n % 9));
            let texts =
                (0..2000).map(|n| Some(n).filter(valid).map(|n| (n % 80).to_string().into_bytes()));
            let table = Table::new(vec![
                with(Values::Int64(int64.collect())),
                with(Values::Int32(int32.collect())),
                with(Values::Bytes(texts.collect())),
            ]);
            cases.extend(three_ways(&format!("nulls: {name}, {layout_name}"), &table));
        }
    }
    cases
}
