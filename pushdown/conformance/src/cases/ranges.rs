// SPDX-License-Identifier: Apache-2.0
//! Group keys by range: columns and steps, alone and beside dictionaries.

use nearscan_command::{
    Aggregate, Fragment, Function, Key, Op, Operand, Output, Program, Step, Width, limits,
};

use super::{aggregate, col, column, lit, over, plain, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

fn slots() -> Vec<Aggregate> {
    vec![
        Aggregate::count_rows(),
        aggregate(Function::Sum, col(0)),
        aggregate(Function::Min, col(0)),
        aggregate(Function::Count, col(1)),
    ]
}

/// Days of some years, a small number with NULLs, a string, and a number from `first` on.
fn table(first: i64) -> Table {
    let count = 2000;
    let every = |period: i64, n: i64| n % period != period - 1;
    Table::new(vec![
        plain(Values::Int32((0..count).map(|n| i32::try_from(8000 + n * 3).ok()).collect())),
        column(Values::Int64((0..count).map(|n| every(11, n).then_some(n % 7 - 3)).collect())),
        column(Values::strings((0..2000).map(|n| ["", "a", "aa"][n % 3]))),
        plain(Values::Int64((0..count).map(|n| every(5, n).then_some(first + n % 9)).collect())),
    ])
}

/// Year, month, and the place of an odd number: NULL where there is none.
fn steps() -> Program {
    Program::new([
        Step::part(Op::Year, Width::W32, col(0)),
        Step::part(Op::Month, Width::W32, col(0)),
        Step::arithmetic(Op::Remainder, Width::W64, col(1), lit(0)),
        Step::compare(Op::Equal, step(2), lit(1)),
        Step::select(Width::W64, step(3), col(1), Operand::Null),
    ])
}

fn grouped(name: &str, table: &Table, keys: Vec<Key>) -> Case {
    let fragment = Fragment {
        projection: steps(),
        literals: vec![2, 1],
        output: Output::States { keys, aggregates: slots() },
        ..over(table)
    };
    Case::new(format!("a key by range: {name}"), table.clone(), fragment)
}

pub(super) fn keys() -> Vec<Case> {
    let at = table(100);
    let year = Key::range(step(0), 1991, 17);
    let month = Key::range(step(1), 1, 12);
    let small = Key::range(col(1), -3, 7);
    let odd = Key::range(step(4), 1, 3);
    let text = Key::column(2);
    let mut cases = vec![
        grouped("a column with NULLs", &at, vec![small]),
        grouped("a plain column", &at, vec![Key::range(col(3), 100, 9)]),
        grouped("a step", &at, vec![year]),
        grouped("a step that is NULL at times", &at, vec![odd]),
        grouped("two steps", &at, vec![year, month]),
        grouped("a range and a dictionary", &at, vec![small, text]),
        grouped("a dictionary and a step", &at, vec![text, month]),
        grouped("four keys", &at, vec![odd, text, Key::range(col(1), -10, 20), month]),
        grouped("wider than it needs", &at, vec![Key::range(col(1), -500, limits::GROUPS_MAX - 1)]),
    ];
    for (name, first) in [("the least", i64::MIN), ("the greatest", i64::MAX - 9), ("0", 0)] {
        let keys = vec![Key::range(col(3), first, 9)];
        cases.push(grouped(&format!("from {name} number"), &table(first), keys));
    }
    let none = Fragment {
        predicate: Program::new([Step::compare(Op::Greater, col(0), lit(2))]),
        literals: vec![2, 1, 1 << 40],
        ..cases[4].fragment.clone()
    };
    cases.push(Case::new("a key by range: of no rows", at.clone(), none));
    let alone = Output::States { keys: vec![small, month], aggregates: vec![] };
    let alone = Fragment { output: alone, ..cases[5].fragment.clone() };
    cases.push(Case::new("a key by range: without slots", at, alone));
    cases
}

/// Numbers outside of their range, kept and dropped, and too many groups.
pub(super) fn outside() -> Vec<Case> {
    let at = table(100);
    let ends = table(i64::MIN);
    let mut cases = vec![
        grouped("one below it", &at, vec![Key::range(col(1), -2, 6)]),
        grouped("one above it", &at, vec![Key::range(col(1), -3, 6)]),
        grouped("a year too late", &at, vec![Key::range(step(0), 1991, 10)]),
        grouped("far below it", &ends, vec![Key::range(col(3), i64::MAX - 2, 2)]),
        grouped("far above it", &table(i64::MAX - 9), vec![Key::range(col(3), i64::MIN, 9)]),
        grouped("only the second of two", &at, vec![Key::column(2), Key::range(col(1), 0, 9)]),
        grouped(
            "three that make too many groups",
            &at,
            vec![
                Key::range(step(0), 1980, 40),
                Key::range(step(1), 0, 20),
                Key::range(col(1), -4, 9),
            ],
        ),
        // 1024 groups are the most: 16 x 16 x 4, and one more is too many.
        grouped(
            "as many groups as there may be",
            &at,
            vec![Key::range(step(1), 0, 15), Key::range(col(1), -8, 15), Key::range(step(4), 1, 3)],
        ),
        grouped(
            "one more than there may be",
            &at,
            vec![Key::range(step(1), 0, 15), Key::range(col(1), -8, 16), Key::range(step(4), 1, 3)],
        ),
    ];
    // The rows outside of the range are not kept.
    let inside = Step::between(col(1), lit(2), lit(3));
    let dropped = Fragment {
        predicate: Program::new([inside]),
        literals: vec![2, 1, 0, 2],
        output: Output::States { keys: vec![Key::range(col(1), 0, 3)], aggregates: slots() },
        ..cases[0].fragment.clone()
    };
    cases.push(Case::new("a key by range: outside of it, but dropped", at.clone(), dropped));
    // A filter admits no row, but the rows are kept.
    let slot = Aggregate { filter: Operand::Null, ..Aggregate::count_rows() };
    let output = Output::States { keys: vec![Key::range(col(1), 0, 3)], aggregates: vec![slot] };
    let filtered = Fragment { output, ..cases[0].fragment.clone() };
    cases.push(Case::new("a key by range: outside of it, and filtered", at, filtered));
    cases
}
