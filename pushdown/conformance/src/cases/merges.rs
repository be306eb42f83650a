// SPDX-License-Identifier: Apache-2.0
//! Cases of merges of several row groups: every order and width, any number of inputs, and errors.

use nearscan_command::{
    Fragment, Merge, Op, Operand, Program, SortKey, Status, Step, ValueKind, Width, limits,
};

use super::{col, column, lit, over, plain, rows, step};
use crate::{
    case::{Case, Expectation, MergeCase},
    data::{ColumnData, Table, Values},
    evaluator::{evaluate, order},
    fragments::random_case,
    random::Random,
};

/// A subject: its name, and what makes its cases when they are run.
pub(crate) type MergeGroup = (&'static str, fn() -> Vec<MergeCase>);

/// Every subject of merges.
pub(crate) const MERGE_GROUPS: &[MergeGroup] = &[
    ("merged types", types),
    ("merged inputs", inputs),
    ("merged keys", keys),
    ("merged distinct", distinct),
    ("merged sizes", sizes),
    ("merged strings", strings),
    ("merged programs", programs),
    ("merged failures", failures),
];

const fn key(column: u16) -> SortKey {
    SortKey { column, descending: false, nulls_first: false }
}

fn by(keys: &[SortKey]) -> Merge {
    Merge { keys: keys.to_vec(), distinct: false }
}

/// A fragment that returns columns of `table` in these widths.
fn select(table: &Table, widths: &[Width]) -> Fragment {
    let columns: Vec<(Operand, Width)> =
        (0..).zip(widths).map(|(index, width)| (col(index), *width)).collect();
    Fragment { output: rows(&columns), ..over(table) }
}

/// The places of the rows of `table` in the order that their output has under `merge`. Those that
/// the fragment does not keep are between the others.
fn sorted_places(table: &Table, fragment: &Fragment, merge: &Merge) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut others = Vec::new();
    for (place, row) in table.rows().into_iter().enumerate() {
        match evaluate(fragment, &[row]).rows.and_then(|mut rows| rows.pop()) {
            Some(shown) => kept.push((shown, place)),
            None => others.push(place),
        }
    }
    kept.sort_by(|a, b| order(&merge.keys, &a.0, &b.0));
    let mut kept = kept.into_iter().map(|(_, place)| place);
    let mut others = others.into_iter();
    let mut places = Vec::with_capacity(table.rows);
    while places.len() < table.rows {
        places.extend(kept.next());
        places.extend(others.next());
    }
    places
}

/// Sorts the rows of `table` and deals them out to `count` row groups by turns.
fn dealt(table: &Table, fragment: &Fragment, merge: &Merge, count: usize) -> Vec<Case> {
    let places = sorted_places(table, fragment, merge);
    let group = |index: usize| {
        // Not one by one: runs of rows that go to the same group come out one after the other.
        let is_here = |turn: usize| (turn * 7 + turn / 5) % count == index;
        let mine = places.iter().enumerate().filter(|(turn, _)| is_here(*turn));
        let mine: Vec<usize> = mine.map(|(_, place)| *place).collect();
        let columns = table.columns.iter().map(|column| ColumnData {
            values: column.values.gathered(&mine),
            layout: column.layout.clone(),
        });
        let table = Table { columns: columns.collect(), rows: mine.len() };
        Case::new(format!("input {index}"), table, fragment.clone())
    };
    (0..count).map(group).collect()
}

fn case(
    name: impl Into<String>,
    table: &Table,
    fragment: &Fragment,
    merge: Merge,
    count: usize,
) -> MergeCase {
    MergeCase::new(name, dealt(table, fragment, &merge, count), merge)
}

/// A number for each row, so that it shows where rows come from that are equal in their keys.
fn numbers(rows: i64) -> ColumnData {
    plain(Values::integers(0..rows))
}

/// Numbers in no order, each several times, some NULL.
fn mixed(row: i64) -> Option<i64> {
    (row % 11 != 3).then_some(row * 7919 % 101 - 50)
}

const ROWS: i64 = 300;

fn types() -> Vec<MergeCase> {
    let mixed = || (0..ROWS).map(mixed);
    let narrow = |number: i64| i32::try_from(number).unwrap_or(0);
    let odd = [f64::NAN, -f64::NAN, f64::INFINITY, -0.0, 0.0];
    let float = |number: i64| match usize::try_from(number) {
        Ok(index) if index < odd.len() => odd[index],
        _ => narrow(number).into(),
    };
    let text = |number: i64| format!("{number}").into_bytes();
    let kinds: Vec<(&str, Values, Width)> = vec![
        ("INT64", Values::Int64(mixed().collect()), Width::W64),
        ("INT64 in 128 bits", Values::Int64(mixed().collect()), Width::W128),
        ("INT32", Values::Int32(mixed().map(|n| n.map(narrow)).collect()), Width::W32),
        ("booleans", Values::Boolean(mixed().map(|n| n.map(|n| n > 0)).collect()), Width::W64),
        ("floats", Values::Double(mixed().map(|n| n.map(float)).collect()), Width::W64),
        ("strings", Values::Bytes(mixed().map(|n| n.map(text)).collect()), Width::Bytes),
        (
            "decimals",
            Values::Fixed { length: 16, values: mixed().map(|n| n.map(i128::from)).collect() },
            Width::W64,
        ),
        (
            "greatest numbers",
            Values::Int64(
                mixed()
                    .map(|n| n.map(|n| if n < 0 { i64::MIN - n } else { i64::MAX - n }))
                    .collect(),
            ),
            Width::W64,
        ),
    ];
    let mut cases = Vec::new();
    for (name, values, width) in kinds {
        let table = Table::new(vec![column(values), numbers(ROWS)]);
        let fragment = select(&table, &[width, Width::W64]);
        for (descending, nulls_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let merge = by(&[SortKey { column: 0, descending, nulls_first }]);
            let way = if descending { "down" } else { "up" };
            let nulls = if nulls_first { "first" } else { "last" };
            let name = format!("{name}, {way}, NULLs {nulls}");
            cases.push(case(name, &table, &fragment, merge, 3));
        }
    }
    cases
}

fn inputs() -> Vec<MergeCase> {
    let table =
        Table::new(vec![column(Values::Int64((0..ROWS).map(mixed).collect())), numbers(ROWS)]);
    let fragment = select(&table, &[Width::W64, Width::W32]);
    (1..=limits::MERGE_INPUTS_MAX as usize)
        .map(|count| case(format!("{count}"), &table, &fragment, by(&[key(0)]), count))
        .collect()
}

fn keys() -> Vec<MergeCase> {
    let strings = (0..ROWS).map(|row| (row % 7 != 6).then(|| format!("{}", row % 5).into_bytes()));
    let table = Table::new(vec![
        column(Values::integers((0..ROWS).map(|row| row % 3))),
        column(Values::Bytes(strings.collect())),
        column(Values::Int64((0..ROWS).map(|row| (row % 4 != 1).then_some(row % 2)).collect())),
        numbers(ROWS),
    ]);
    let fragment = select(&table, &[Width::W64, Width::Bytes, Width::W32, Width::W128]);
    let turned = |column| SortKey { column, descending: true, nulls_first: true };
    let orders: [(&str, &[SortKey]); 6] = [
        ("number, string", &[key(0), key(1)]),
        ("string, number", &[turned(1), key(0)]),
        ("the last column", &[turned(3)]),
        ("three", &[turned(2), key(1), turned(0)]),
        ("all", &[key(0), turned(1), key(2), turned(3)]),
        ("all, the other way", &[turned(2), turned(1), key(0), key(3)]),
    ];
    orders.map(|(name, keys)| case(name, &table, &fragment, by(keys), 5)).into()
}

fn distinct() -> Vec<MergeCase> {
    let strings = (0..ROWS).map(|row| (row % 5 != 4).then(|| format!("{}", row % 4).into_bytes()));
    let table = Table::new(vec![
        column(Values::Int64((0..ROWS).map(|row| (row % 6 != 5).then_some(row % 3)).collect())),
        column(Values::Bytes(strings.collect())),
    ]);
    let unlike = Table::new(vec![numbers(ROWS)]);
    let alike = Table::new(vec![column(Values::integers((0..3000).map(|_| 7)))]);
    let nulls = Table::new(vec![column(Values::Int64(vec![None; 50]))]);
    let none = Table::new(vec![numbers(0)]);
    let both = [key(0), SortKey { column: 1, descending: true, nulls_first: true }];
    let mut cases = Vec::new();
    for count in [1, 2, 5] {
        let mut add = |name: &str, table: &Table, widths: &[Width], keys: &[SortKey]| {
            let merge = Merge { distinct: true, ..by(keys) };
            let name = format!("{name} of {count}");
            cases.push(case(name, table, &select(table, widths), merge, count));
        };
        add("two columns", &table, &[Width::W64, Width::Bytes], &both);
        add("rows that are all unlike", &unlike, &[Width::W32], &both[..1]);
        add("rows that are all alike", &alike, &[Width::W64], &both[..1]);
        add("NULLs", &nulls, &[Width::W128], &both[..1]);
        add("no rows", &none, &[Width::W64], &both[..1]);
    }
    cases
}

fn sizes() -> Vec<MergeCase> {
    let mut cases = Vec::new();
    for rows in [0, 1, 2, 63, 64, 1024, 1025, 9000] {
        let table =
            Table::new(vec![column(Values::Int64((0..rows).map(mixed).collect())), numbers(rows)]);
        let fragment = select(&table, &[Width::W64, Width::W64]);
        cases.push(case(format!("{rows} rows"), &table, &fragment, by(&[key(0)]), 4));
        // One group is much larger than the others, which may be empty.
        let merge = by(&[key(1)]);
        let mut groups = dealt(&table, &fragment, &merge, 1);
        groups.extend(dealt(&Table::new(vec![numbers(3), numbers(3)]), &fragment, &merge, 3));
        cases.push(MergeCase::new(format!("{rows} rows and few"), groups, merge));
    }
    cases
}

fn strings() -> Vec<MergeCase> {
    // Around the prefix that kernels hold on chip, and ends that are zero bytes.
    let mut texts: Vec<Vec<u8>> =
        vec![vec![], vec![0], vec![0, 0], vec![0x7f], vec![0x80], vec![0xff; 3]];
    for length in [1, 7, 8, 9, 120, 127, 128, 129, 136, 137, 300, 5000] {
        for end in [&b""[..], b"\0", b"a", b"\xff"] {
            texts.push([&vec![b'y'; length], end].concat());
        }
    }
    let rows = texts.len() * 3;
    let values = (0..rows).map(|row| Some(texts[row * 5 % texts.len()].clone())).collect();
    let count = i64::try_from(rows).unwrap_or(0);
    let table = Table::new(vec![plain(Values::Bytes(values)), numbers(count)]);
    let fragment = select(&table, &[Width::Bytes, Width::W64]);
    let mut cases = Vec::new();
    for descending in [false, true] {
        let first = SortKey { column: 0, descending, nulls_first: false };
        for inputs in [1, 4, 16] {
            let name = format!("{inputs} inputs, {descending}");
            cases.push(case(name, &table, &fragment, by(&[first]), inputs));
        }
        let alone = select(&table, &[Width::Bytes]);
        let merge = Merge { distinct: true, ..by(&[first]) };
        cases.push(case(format!("distinct, {descending}"), &table, &alone, merge, 6));
    }
    cases
}

/// Orders by what was computed, over rows that were filtered.
fn programs() -> Vec<MergeCase> {
    let table =
        Table::new(vec![column(Values::Int64((0..ROWS).map(mixed).collect())), numbers(ROWS)]);
    let product = Step::arithmetic(Op::Multiply, Width::W128, col(0), lit(0));
    let fragment = Fragment {
        predicate: Program::new([Step::compare(Op::Greater, col(1), lit(1))]),
        projection: Program::new([product, Step::compare(Op::Less, col(0), lit(2))]),
        literals: vec![-(1 << 70), 40, 3],
        output: rows(&[
            (step(0), Width::W128),
            (step(1), Width::Bool),
            (col(1), Width::W32),
            (Operand::Null, Width::W64),
        ]),
        ..over(&table)
    };
    let mut cases = Vec::new();
    for (name, keys) in [
        ("products", &[key(0)][..]),
        ("truth values", &[SortKey { column: 1, descending: true, nulls_first: true }, key(2)]),
        ("NULLs, then numbers", &[key(3), key(2)]),
    ] {
        cases.push(case(name, &table, &fragment, by(keys), 4));
    }
    let merge = by(&[key(2)]);
    let none = Fragment { literals: vec![1, i128::from(ROWS), 3], ..fragment };
    cases.push(case("no row is kept", &table, &none, merge, 3));
    cases
}

fn failures() -> Vec<MergeCase> {
    let table = Table::new(vec![numbers(ROWS), column(Values::integers((0..ROWS).map(|n| n % 9)))]);
    let fragment = select(&table, &[Width::W32, Width::W64]);
    let merge = by(&[key(0)]);
    let good = || dealt(&table, &fragment, &merge, 4);
    let with = |name: &str, change: fn(&mut Vec<Case>)| {
        let mut groups = good();
        change(&mut groups);
        MergeCase::new(name, groups, merge.clone())
    };
    let mut cases = vec![
        with("one scan is damaged", |groups| {
            let bytes = &mut groups[2].chunks[0].bytes;
            bytes.truncate(bytes.len() / 2);
            groups[2].expectation = Expectation::Refused;
        }),
        with("all scans are damaged", |groups| {
            for group in groups {
                let bytes = &mut group.chunks[1].bytes;
                bytes.truncate(bytes.len() / 2);
                group.expectation = Expectation::Refused;
            }
        }),
        with("one scan has no room", |groups| {
            groups[3].bytes_max = Some(512);
            groups[3].expectation = Expectation::Refused;
        }),
        with("an input is turned round", |groups| {
            let places: Vec<usize> = (0..groups[1].table.rows).rev().collect();
            groups[1] = reordered(&groups[1], &places);
        }),
        with("two rows are swapped", |groups| {
            let mut places: Vec<usize> = (0..groups[0].table.rows).collect();
            let last = places.len() - 1;
            places.swap(last, last - 1);
            groups[0] = reordered(&groups[0], &places);
        }),
    ];
    // A number does not fit the column that it is for, in one input and in an unsorted one.
    let late = |row: i64| if row == ROWS - 1 { 1 << 40 } else { row };
    let wide = Table::new(vec![plain(Values::integers((0..ROWS).map(late))), numbers(ROWS)]);
    let groups = |count| {
        let mut groups = dealt(&table, &fragment, &merge, count);
        groups.push(Case::new("overflow", wide.clone(), select(&wide, &[Width::W32, Width::W64])));
        groups
    };
    cases.push(MergeCase::new("one scan overflows", groups(2), merge.clone()));
    let mut unsorted = groups(2);
    let places: Vec<usize> = (0..unsorted[0].table.rows).rev().collect();
    unsorted[0] = reordered(&unsorted[0], &places);
    cases.push(MergeCase::new("an overflow and a wrong order", unsorted, merge.clone()));
    let mut full = MergeCase::new("no room for all rows", good(), merge.clone());
    full.bytes_max = Some(2048);
    full.must_end_with = Some(Status::OutputFull);
    cases.push(full);
    let mut header = MergeCase::new("room for a header", good(), merge);
    header.bytes_max = Some(256);
    header.must_end_with = Some(Status::OutputFull);
    cases.push(header);
    cases
}

/// A merge of a random case's rows, in any order; `seed` is part of its name.
pub(crate) fn random_merge(random: &mut Random, seed: u64) -> MergeCase {
    let Case { table, fragment, .. } = random_case(random, seed);
    let widths: Vec<Width> = table
        .columns
        .iter()
        .map(|column| match column.values.physical_type().kind() {
            ValueKind::Bytes => Width::Bytes,
            ValueKind::Integer => random.pick(&[Width::W64, Width::W128]),
        })
        .collect();
    let fragment = Fragment { output: select(&table, &widths).output, ..fragment };
    let first = random.below(widths.len());
    let key_count = 1 + random.below(widths.len().min(limits::MERGE_KEYS_MAX as usize));
    let keys = (0..key_count).map(|index| SortKey {
        column: u16::try_from((first + index) % widths.len()).unwrap_or(0),
        descending: random.one_in(2),
        nulls_first: random.one_in(2),
    });
    let keys: Vec<SortKey> = keys.collect();
    let distinct = keys.len() == widths.len() && random.one_in(2);
    let count = 1 + random.below(limits::MERGE_INPUTS_MAX as usize);
    case(format!("seed {seed}"), &table, &fragment, Merge { keys, distinct }, count)
}

/// The same case with its rows in another order.
fn reordered(case: &Case, places: &[usize]) -> Case {
    let columns = case.table.columns.iter().map(|column| ColumnData {
        values: column.values.gathered(places),
        layout: column.layout.clone(),
    });
    let table = Table { columns: columns.collect(), rows: places.len() };
    Case::new(case.name.clone(), table, case.fragment.clone())
}
