// SPDX-License-Identifier: Apache-2.0
//! Row output: limits, widths, numbers of columns, room.

use nearscan_command::{
    Fragment, Op, Operand, Output, Program, ResultHeader, Status, Step, Width, limits,
};

use super::{col, column, lit, over, plain, rows, select_all, step};
use crate::{
    case::{Case, Expectation},
    data::{Table, Values},
};

fn numbers(count: i64) -> Table {
    Table::new(vec![
        column(Values::integers((0..count).map(|n| n * 37 % 1000))),
        plain(Values::Int32((0..count).map(|n| i32::try_from(n).ok()).collect())),
    ])
}

fn limited(fragment: Fragment, limit: u64) -> Fragment {
    let output = match fragment.output {
        Output::Rows { columns, .. } => Output::Rows { columns, limit: Some(limit), top: None },
        other @ Output::States { .. } => other,
    };
    Fragment { output, ..fragment }
}

pub(super) fn limits() -> Vec<Case> {
    let table = numbers(4000);
    let half = Fragment {
        predicate: Program::new([Step::compare(Op::Less, col(0), lit(0))]),
        literals: vec![500],
        ..select_all(&table)
    };
    let mut cases = Vec::new();
    for limit in [0, 1, 7, 1023, 1024, 1025, 2000, 3999, 4000, 1 << 40] {
        for (name, fragment) in [("all", select_all(&table)), ("half", half.clone())] {
            let fragment = limited(fragment, limit);
            cases.push(Case::new(format!("limit {limit} of {name}"), table.clone(), fragment));
        }
    }
    // What overflows after the limit may be noticed or not; what does before it must be.
    let late = Table::new(vec![plain(Values::integers(
        (0..3000).map(|n| if n == 2500 { i64::MAX } else { n }),
    ))]);
    let doubling = Fragment {
        projection: Program::new([Step::arithmetic(Op::Add, Width::W64, col(0), col(0))]),
        output: rows(&[(step(0), Width::W64)]),
        ..over(&late)
    };
    for limit in [10, 2500, 2501] {
        let fragment = limited(doubling.clone(), limit);
        cases.push(Case::new(format!("limit {limit} before an overflow"), late.clone(), fragment));
    }
    cases
}

pub(super) fn shapes() -> Vec<Case> {
    let mut cases = Vec::new();
    let table = numbers(2500);
    let wide = rows(&[
        (col(0), Width::W32),
        (col(0), Width::W64),
        (col(0), Width::W128),
        (col(1), Width::W128),
        (lit(0), Width::W32),
        (lit(1), Width::W128),
        (Operand::Null, Width::W32),
        (Operand::Null, Width::Bool),
        (Operand::Null, Width::Bytes),
        (step(0), Width::Bool),
        (step(1), Width::W128),
    ]);
    let fragment = Fragment {
        projection: Program::new([
            Step::compare(Op::Greater, col(0), lit(2)),
            Step::arithmetic(Op::Multiply, Width::W128, col(0), lit(1)),
        ]),
        literals: vec![-1, i128::MIN / 1000, 500],
        output: wide,
        ..over(&table)
    };
    cases.push(Case::new("rows of every width", table.clone(), fragment));
    for (name, literal, width) in [
        ("32", i128::from(i32::MAX) + 1, Width::W32),
        ("-32", i128::from(i32::MIN) - 1, Width::W32),
        ("64", i128::from(i64::MAX) + 1, Width::W64),
        ("-64", i128::from(i64::MIN) - 1, Width::W64),
    ] {
        let fragment =
            Fragment { literals: vec![literal], output: rows(&[(lit(0), width)]), ..over(&table) };
        cases.push(Case::new(format!("output beyond {name} bits"), table.clone(), fragment));
    }
    let odd = Table::new(vec![plain(Values::integers([1, 1 << 40, 2]))]);
    let narrow = Fragment { output: rows(&[(col(0), Width::W32)]), ..over(&odd) };
    cases.push(Case::new("a column too wide for its output", odd.clone(), narrow.clone()));
    let dropped = Fragment {
        predicate: Program::new([Step::compare(Op::Less, col(0), lit(0))]),
        literals: vec![100],
        ..narrow
    };
    cases.push(Case::new("a dropped row too wide for its output", odd, dropped));
    cases.push(Case::new("rows without columns", table.clone(), over(&table)));
    let none = Table { columns: vec![], rows: 1500 };
    cases.push(Case::new("a unit without columns", none.clone(), over(&none)));
    cases.push(sixteen());
    // The largest rows, and too little room for them.
    let all = select_all(&table);
    let mut full = Case::new("no room for the result", table, all);
    full.bytes_max = Some(ResultHeader::BYTES + 4096);
    cases.push(full.or(Status::OutputFull).expecting(Expectation::Refused));
    cases
}

/// As many columns as there are lanes, as many outputs as there may be.
fn sixteen() -> Case {
    let columns = (0..i64::from(limits::COLUMNS_MAX))
        .map(|index| column(Values::integers((0..1100).map(|n| (n * (index + 1)) % 97))))
        .collect();
    let table = Table::new(columns);
    let outputs: Vec<(Operand, Width)> =
        (0..20).map(|index| (col(15 - index % 16), Width::W64)).collect();
    let fragment = Fragment { output: rows(&outputs), ..over(&table) };
    Case::new("16 columns in, 20 out", table, fragment)
}
