// SPDX-License-Identifier: Apache-2.0
//! Key filters: bitmaps and Bloom filters, on columns of every type, alone and beside all else.

use nearscan_command::{
    Aggregate, Fragment, Function, Key, KeyBits, KeyFilter, Op, Operand, Output, Program,
    RowColumn, Step, Top, ValueKind, Width, limits,
};

use super::{aggregate, col, column, lit, over, plain, select_all, states, types};
use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
};

/// The numbers of `first` to `last` of which `is_key` holds.
fn bitmap(first: i64, last: i64, is_key: impl Fn(i64) -> bool) -> KeyBits {
    KeyBits::bitmap(first, last, (first..=last).filter(|key| is_key(*key))).expect("a short range")
}

const fn filter(column: u16, keys: KeyBits) -> KeyFilter {
    KeyFilter { column, keys }
}

fn named(name: &str, table: &Table, fragment: Fragment) -> Case {
    Case::new(name, table.clone(), fragment)
}

/// All columns of the rows that filters pass.
fn filtered(table: &Table, key_filters: Vec<KeyFilter>) -> Fragment {
    Fragment { key_filters, ..select_all(table) }
}

/// Numbers in a dictionary, with NULLs; plain ones in no order; a string.
fn table() -> Table {
    let count = 2500;
    Table::new(vec![
        column(Values::Int64((0..count).map(|n| (n % 13 != 5).then_some(n * 31 % 700)).collect())),
        plain(Values::Int64((0..count).map(|n| Some((n * 7919 % 2003 - 1000) << 20)).collect())),
        column(Values::strings((0..2500).map(|n| ["", "a", "bb"][n % 3]))),
    ])
}

fn bitmaps(at: &Table) -> Vec<Case> {
    let even = |key| key % 2 == 0;
    vec![
        named("a bitmap", at, filtered(at, vec![filter(0, bitmap(0, 699, even))])),
        named(
            "a bitmap over some of the values",
            at,
            filtered(at, vec![filter(0, bitmap(100, 411, even))]),
        ),
        named(
            "a bitmap over no value",
            at,
            filtered(at, vec![filter(0, bitmap(5000, 5063, even))]),
        ),
        named(
            "a bitmap without keys",
            at,
            filtered(at, vec![filter(0, bitmap(-9, 999, |_| false))]),
        ),
        named("a bitmap of one number", at, filtered(at, vec![filter(0, bitmap(31, 31, even))])),
        named("a bitmap of all", at, filtered(at, vec![filter(0, bitmap(0, 699, |_| true))])),
    ]
}

fn bloom_filters(at: &Table) -> Vec<Case> {
    let some = |blocks, step: usize| KeyBits::bloom(blocks, (0..700).step_by(step));
    let most = limits::KEY_BITS_BYTES_MAX as usize / 32;
    let wide = KeyBits::bloom(60, (0..2003).filter(|n| n % 5 == 0).map(|n| (n - 1000) << 20));
    let mut cases: Vec<Case> = [1, 2, 3, 40, most]
        .into_iter()
        .map(|blocks| {
            let fragment = filtered(at, vec![filter(0, some(blocks, 3))]);
            named(&format!("a Bloom filter of {blocks} blocks"), at, fragment)
        })
        .collect();
    let full = KeyBits::Bloom { least: 100, greatest: 300, words: vec![u64::MAX; 4].into() };
    cases.extend([
        named(
            "a Bloom filter without keys",
            at,
            filtered(at, vec![filter(0, KeyBits::bloom(1, []))]),
        ),
        named("a Bloom filter that is full", at, filtered(at, vec![filter(0, full)])),
        named("a Bloom filter of large keys", at, filtered(at, vec![filter(1, wide.clone())])),
        named(
            "several on several columns",
            at,
            filtered(
                at,
                vec![
                    filter(0, some(40, 2)),
                    filter(1, wide),
                    filter(0, bitmap(0, 600, |key| key % 3 != 0)),
                    filter(1, bitmap(0, 1 << 19, |_| false)),
                ],
            ),
        ),
    ]);
    cases
}

/// The ends of 64 bits, and numbers without a sign that they do not hold.
fn extremes() -> Vec<Case> {
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let unsigned = [0, 1, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    let table = Table::new(vec![
        plain(Values::Int64((0..350).map(|n| Some(ends[n % 7])).collect())),
        plain(Values::Unsigned64((0..350).map(|n| Some(unsigned[n * 3 % 7])).collect())),
        column(Values::Unsigned64((0..350).map(|n| Some(unsigned[n * 5 % 7])).collect())),
    ]);
    let least = bitmap(i64::MIN, i64::MIN + 63, |key| key == i64::MIN);
    let greatest = bitmap(i64::MAX - 63, i64::MAX, |key| key == i64::MAX);
    let bloom = KeyBits::bloom(8, [i64::MIN, -1, i64::MAX - 1]);
    let some = KeyBits::bloom(8, [-2, 0, i64::MAX]);
    [
        ("at the least number", filter(0, least.clone())),
        ("at the greatest number", filter(0, greatest.clone())),
        ("of the ends", filter(0, bloom)),
        ("of numbers without a sign", filter(1, some.clone())),
        ("of a dictionary without a sign", filter(2, some)),
        ("over numbers without a sign", filter(1, greatest)),
        ("below numbers without a sign", filter(2, least)),
    ]
    .into_iter()
    .map(|(name, one)| named(name, &table, filtered(&table, vec![one])))
    .collect()
}

/// Together with a predicate, aggregates, groups, limits and tops.
fn beside(at: &Table) -> Vec<Case> {
    let key_filters = vec![filter(0, bitmap(0, 500, |key| key % 5 == 0))];
    let base = Fragment { key_filters, ..select_all(at) };
    let below = Program::new([Step::compare(Op::Less, col(1), lit(0))]);
    let kept = Fragment { predicate: below, literals: vec![1 << 24], ..base.clone() };
    let slots = vec![Aggregate::count_rows(), aggregate(Function::Sum, col(1))];
    let sums = Fragment { output: states(&[], slots.clone()), ..kept.clone() };
    let groups = Fragment { output: states(&[2], slots.clone()), ..base.clone() };
    let ranged = Output::States { keys: vec![Key::range(col(0), 0, 700)], aggregates: slots };
    let columns: Vec<RowColumn> = vec![RowColumn { operand: col(0), width: Width::W64 }];
    let top = Top { operand: col(1), descending: true, nulls_first: false, count: 10 };
    let rows = |limit, top| Output::Rows { columns: columns.clone(), limit, top };
    let product = Step::arithmetic(Op::Multiply, Width::W32, col(1), col(1));
    let over_all = [product, Step::compare(Op::Greater, Operand::Step(0), lit(0))];
    let none = vec![filter(0, bitmap(0, 699, |_| false)), filter(1, KeyBits::bloom(1, []))];
    vec![
        named("beside a predicate", at, kept.clone()),
        named("beside a predicate and sums", at, sums),
        named("beside groups", at, groups),
        named("on a group key by range", at, Fragment { output: ranged, ..base.clone() }),
        named("beside a limit", at, Fragment { output: rows(Some(77), None), ..kept.clone() }),
        named("before a limit", at, Fragment { output: rows(Some(77), None), ..base.clone() }),
        named("before a top", at, Fragment { output: rows(None, Some(top)), ..kept }),
        named(
            "of rows without columns",
            at,
            Fragment { key_filters: base.key_filters, ..over(at) },
        ),
        // The predicate overflows in rows that no filter passes.
        named(
            "after a predicate that overflows",
            at,
            Fragment {
                predicate: Program::new(over_all),
                literals: vec![0],
                key_filters: none.clone(),
                ..select_all(at)
            },
        ),
        // What is projected of rows that no filter passes does not overflow.
        named(
            "before a projection that would overflow",
            at,
            Fragment { projection: Program::new([product]), key_filters: none, ..select_all(at) },
        ),
    ]
}

/// A filter of half of the values of each type.
fn of_types() -> Vec<Case> {
    let keys_of = |data: &ColumnData| {
        let values = (0..data.values.len()).step_by(2).map(|row| data.values.value(row));
        let number = |value| match value {
            nearscan_command::Value::Number(number) => i64::try_from(number).ok(),
            nearscan_command::Value::Null | nearscan_command::Value::Bytes(_) => None,
        };
        values.filter_map(number).collect::<Vec<_>>()
    };
    let mut cases = Vec::new();
    for case in types::readings() {
        let table = case.table;
        for (index, data) in (0..).zip(&table.columns) {
            if data.values.physical_type().kind() != ValueKind::Integer {
                continue;
            }
            let keys = keys_of(data);
            let bloom = KeyBits::bloom(keys.len() / 8 + 1, keys.iter().copied());
            let name = format!("{}, column {index}", case.name);
            cases.push(named(&name, &table, filtered(&table, vec![filter(index, bloom)])));
        }
    }
    cases
}

pub(super) fn filters() -> Vec<Case> {
    let at = table();
    let none = Table::new(vec![plain(Values::Int64(vec![]))]);
    let empty = filtered(&none, vec![filter(0, KeyBits::bloom(2, [1]))]);
    let mut cases =
        [bitmaps(&at), bloom_filters(&at), extremes(), beside(&at), of_types()].concat();
    cases.push(named("of no rows", &none, empty));
    cases
}
