// SPDX-License-Identifier: Apache-2.0
//! Pages as newer and older writers make them: differences, split streams, runs of truth values,
//! version 2, levels without a length, dictionaries that are given up for one of those.

use nearscan_command::{Aggregate, Codec, Fragment, Function, Op, Program, ReadAs, Step};

use super::{aggregate, col, lit, select_all, states};
use crate::{
    case::Case,
    data::{ColumnData, Presence, Table, Values},
    pages::{
        ChunkLayout, Delta, Direct, Flag, HeaderStyle, Levels, PageVersion, Runs, Tail, ValueLayout,
    },
    random::Random,
};

/// Rows of every stored type, an eighth of them NULL where the layout has levels.
fn table(rows: usize, layout: &ChunkLayout) -> Table {
    let mut random = Random::new(rows as u64 + 5);
    let share = if layout.presence == Presence::Optional { 8 } else { 0 };
    let words: Vec<Option<i64>> = (0..rows)
        .map(|row| {
            let jump = if row % 100 < 30 { 0 } else { random.around_zero(900) };
            let null = share > 0 && random.one_in(share);
            (!null).then_some(jump)
        })
        .collect();
    fn each<T>(words: &[Option<i64>], value: impl Fn(i64) -> T) -> Vec<Option<T>> {
        words.iter().map(|word| word.map(&value)).collect()
    }
    let narrow = |word: i64| i32::try_from(word).unwrap_or(0);
    let columns = vec![
        Values::Int64(each(&words, |word| word << 33)),
        Values::Int32(each(&words, narrow)),
        Values::Boolean(each(&words, |word| word > 0)),
        Values::Float(each(&words, |word| narrow(word) as f32 / 4.0)),
        Values::Double(each(&words, |word| f64::from(narrow(word)) * 1e9)),
        Values::Fixed { length: 11, values: each(&words, |word| i128::from(word) << 40) },
        Values::Narrow {
            rule: ReadAs::Unsigned,
            bits: 10,
            values: each(&words, |word| narrow(word.abs())),
        },
        Values::Bytes(each(&words, |word| format!("text {}", word % 50).into_bytes())),
    ];
    let with = |values| ColumnData { values, layout: layout.clone() };
    Table { columns: columns.into_iter().map(with).collect(), rows }
}

/// All columns of some rows, and sums of all rows.
fn two_ways(name: &str, table: &Table) -> Vec<Case> {
    let all = select_all(table);
    let some = Fragment {
        predicate: Program::new([Step::compare(Op::Less, col(1), lit(0))]),
        literals: vec![100],
        ..all.clone()
    };
    let mut slots: Vec<Aggregate> =
        (0..7).map(|column| aggregate(Function::Sum, col(column))).collect();
    slots.extend([aggregate(Function::Count, col(7)), aggregate(Function::Min, col(3))]);
    let sums = Fragment { output: states(&[], slots), ..all };
    vec![
        Case::new(format!("{name}, rows"), table.clone(), some),
        Case::new(format!("{name}, sums"), table.clone(), sums),
    ]
}

/// The ways to encode values without a dictionary that are not the plain one.
fn directs() -> Vec<Direct> {
    let delta =
        |block, miniblocks, tail| Direct::Delta(Delta { block, miniblocks, width_min: 0, tail });
    vec![
        Direct::Rle(Runs::Mixed),
        Direct::Rle(Runs::Packed),
        Direct::Rle(Runs::Repeated),
        delta(128, 4, Tail::Padded),
        delta(128, 4, Tail::Cut),
        delta(256, 8, Tail::Cut),
        delta(128, 1, Tail::Padded),
        delta(1024, 32, Tail::Padded),
        delta(4096, 128, Tail::Cut),
        Direct::Split,
    ]
}

pub(super) fn direct() -> Vec<Case> {
    let mut cases = Vec::new();
    for direct in directs() {
        for rows in [0, 1, 2, 8, 9, 33, 64, 129, 130, 3000] {
            for (presence, pages) in
                [(Presence::Required, vec![]), (Presence::Optional, vec![700, 0, 3, 64])]
            {
                let layout = ChunkLayout { direct, presence, ..ChunkLayout::plain() };
                let table = table(rows, &layout.paged(&pages));
                cases.extend(two_ways(&format!("{direct:?}, {rows} rows, {presence:?}"), &table));
            }
        }
    }
    cases.extend(widths());
    cases.extend(given_up());
    for rows in [100, 2048] {
        let layout = ChunkLayout { direct: Direct::Split, ..ChunkLayout::plain() };
        for (name, is_null) in
            [("all", (|_| true) as fn(usize) -> bool), ("long runs", |row| row / 9 % 2 == 0)]
        {
            for direct in [Direct::Split, Direct::Delta(Delta::COMMON), Direct::Rle(Runs::Mixed)] {
                let layout = ChunkLayout { direct, ..layout.clone() }.paged(&[61]);
                let of = |row: usize| (!is_null(row)).then_some(row);
                let numbers = (0..rows).map(|row| of(row).map(|row| row as u64 * 77)).collect();
                let truths = (0..rows).map(|row| of(row).map(|row| row % 5 < 2)).collect();
                let with = |values| ColumnData { values, layout: layout.clone() };
                let table = Table::new(vec![
                    with(Values::Unsigned64(numbers)),
                    with(Values::Boolean(truths)),
                ]);
                let name = format!("{direct:?}, {rows} rows, nulls: {name}");
                cases.push(Case::new(name, table.clone(), select_all(&table)));
            }
        }
    }
    cases
}

/// Differences of every width, both as few bits as they need and more.
fn widths() -> Vec<Case> {
    let mut cases = Vec::new();
    for width in 0..=64 {
        let shape = Delta { width_min: width, ..Delta::COMMON };
        let layout = ChunkLayout { direct: Direct::Delta(shape), ..ChunkLayout::plain() };
        let padded = Table::new(vec![ColumnData {
            values: Values::integers((0..200).map(|n| n * n % 7)),
            layout,
        }]);
        let name = format!("differences in {width} bits");
        cases.push(Case::new(name, padded.clone(), select_all(&padded)));
        // Steps that alternate between none and the largest of as many bits.
        let layout = ChunkLayout { direct: Direct::Delta(Delta::COMMON), ..ChunkLayout::plain() };
        let step = u64::MAX.checked_shr(64 - u32::from(width)).unwrap_or(0);
        let wide = |n: i64| (step.wrapping_mul(n.cast_unsigned() / 2)).cast_signed();
        let narrow_step = u32::try_from(step & u64::from(u32::MAX)).unwrap_or(0);
        let narrow = |n: i32| narrow_step.wrapping_mul(n.cast_unsigned() / 2).cast_signed();
        let with = |values| ColumnData { values, layout: layout.clone() };
        let mut columns = vec![with(Values::integers((0..200).map(wide)))];
        if width <= 32 {
            columns.push(with(Values::Int32((0..200).map(|n| Some(narrow(n))).collect())));
        }
        let table = Table::new(columns);
        let name = format!("differences of {width} bits");
        cases.push(Case::new(name, table.clone(), select_all(&table)));
    }
    cases
}

/// Dictionaries that the writer gave up after some pages.
fn given_up() -> Vec<Case> {
    let mut cases = Vec::new();
    for direct in [Direct::Plain, Direct::Delta(Delta::COMMON), Direct::Split] {
        for (unused_entries, pages_max) in [(0, 0), (0, 1), (3, 2), (5000, 1)] {
            let values = ValueLayout::Dictionary {
                label: nearscan_command::Encoding::RleDictionary,
                index_runs: Runs::Mixed,
                unused_entries,
                width_min: 0,
                pages_max,
            };
            let layout = ChunkLayout { values, direct, ..ChunkLayout::common() }.paged(&[300, 299]);
            let mut table = table(1700, &layout);
            // A dictionary of truth values never exceeds the memory of the chip.
            table.columns[2].layout.values = ValueLayout::Plain;
            let name = format!("{unused_entries} entries too many, {direct:?} after {pages_max}");
            cases.extend(two_ways(&name, &table));
        }
    }
    cases
}

pub(super) fn versions() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, rows: usize, layout: &ChunkLayout| {
        cases.extend(two_ways(&name, &table(rows, layout)));
    };
    for flag in Flag::ALL {
        for codec in [Codec::Uncompressed, Codec::Snappy, Codec::Lz4Raw] {
            for direct in [Direct::Plain, Direct::Delta(Delta::COMMON), Direct::Split] {
                let version = PageVersion::Two(flag);
                let layout = ChunkLayout { version, codec, direct, ..ChunkLayout::plain() };
                let name = format!("version 2, {flag:?}, {codec:?}, {direct:?}");
                add(name.clone(), 1300, &layout.clone().paged(&[500, 0, 7]));
                add(format!("{name}, required"), 100, &layout.required());
            }
            let version = PageVersion::Two(flag);
            let layout = ChunkLayout { version, codec, ..ChunkLayout::common() };
            add(format!("version 2, {flag:?}, {codec:?}, dictionary"), 900, &layout.paged(&[400]));
        }
    }
    for version in [PageVersion::One, PageVersion::Two(Flag::Compressed)] {
        for header in HeaderStyle::ALL {
            let layout = ChunkLayout { version, header, ..ChunkLayout::common() };
            add(format!("{version:?}, headers with {header:?}"), 300, &layout.paged(&[101]));
        }
        for runs in Runs::ALL {
            let levels = Levels::Hybrid(runs);
            let layout = ChunkLayout { version, levels, ..ChunkLayout::common() };
            add(format!("{version:?}, levels as {runs:?}"), 700, &layout.paged(&[300, 5]));
        }
    }
    for rows in [0, 1, 7, 8, 9, 800] {
        for base in [ChunkLayout::common(), ChunkLayout::plain()] {
            let layout = ChunkLayout { levels: Levels::BitPacked, ..base };
            let name = format!("levels of a bit each, {rows} rows, {:?}", layout.codec);
            add(name, rows, &layout.paged(&[300, 0, 5]));
        }
    }
    cases
}
