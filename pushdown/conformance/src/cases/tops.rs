// SPDX-License-Identifier: Apache-2.0
//! Rows that can be among the first: ties, NULLs, both directions, few rows and many.

use nearscan_command::{Fragment, Op, Operand, Output, Program, RowColumn, Step, Top, Width};

use super::{col, column, lit, over, plain, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

/// A name, and the number of each row, if it has one.
type Numbers = (&'static str, fn(i64) -> Option<i64>);

const NUMBERS: [Numbers; 8] = [
    ("mixed ones", |n| Some(n * 7919 % 2003 - 1000)),
    ("many ties", |n| Some(n * 7919 % 2003 % 5)),
    ("equal ones", |_| Some(-4)),
    ("rising ones", Some),
    ("falling ones", |n| Some(-n)),
    ("some NULLs", |n| (n % 3 != 1).then_some(n * 7919 % 401)),
    ("NULLs alone", |_| None),
    ("extremes", |n| match n % 5 {
        0 => Some(i64::MIN),
        1 => Some(i64::MAX),
        2 => Some(i64::MIN + 1),
        3 => Some(i64::MAX - 1),
        _ => Some(0),
    }),
];

fn ordered(table: &Table, top: Top) -> Fragment {
    let shown = [(col(0), Width::W64), (col(1), Width::W64)];
    let columns = shown.map(|(operand, width)| RowColumn { operand, width }).into();
    Fragment { output: Output::Rows { columns, limit: None, top: Some(top) }, ..over(table) }
}

const COUNTS: [u32; 4] = [1, 2, 10, 128];

pub(super) fn tops() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, number) in NUMBERS {
        for rows in [1300, 100, 1, 0] {
            let table = Table::new(vec![
                column(Values::Int64((0..rows).map(number).collect())),
                plain(Values::integers(0..rows)),
            ]);
            for (descending, nulls_first) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let counts = if rows < 100 { &COUNTS[1..2] } else { &COUNTS[..] };
                for count in counts {
                    let top = Top { operand: col(0), descending, nulls_first, count: *count };
                    let order = if descending { "greatest" } else { "least" };
                    let nulls = if nulls_first { "first" } else { "last" };
                    let name = format!("the {order} {count} of {rows}, {name}, NULLs {nulls}");
                    cases.push(Case::new(name, table.clone(), ordered(&table, top)));
                }
            }
        }
    }
    cases.extend(of_steps());
    cases
}

/// Tops by what was computed, of filtered rows, and beside overflows.
fn of_steps() -> Vec<Case> {
    let table = Table::new(vec![
        column(Values::integers((0..1500).map(|n| (n * 7919 % 2003 - 1000) << 40))),
        plain(Values::Int64((0..1500).map(|n| (n % 17 != 16).then_some(n % 91 - 45)).collect())),
    ]);
    let top =
        |operand, descending| Top { operand, descending, nulls_first: !descending, count: 12 };
    let product = Step::arithmetic(Op::Multiply, Width::W128, col(0), step(0));
    let wide = Program::new([Step::arithmetic(Op::Multiply, Width::W128, col(1), lit(0)), product]);
    let mut cases = Vec::new();
    for descending in [false, true] {
        let fragment = Fragment {
            projection: wide.clone(),
            literals: vec![1 << 60],
            ..ordered(&table, top(step(1), descending))
        };
        let name = format!("a top of products, {descending}");
        cases.push(Case::new(name, table.clone(), fragment));
        let kept = Fragment {
            predicate: Program::new([Step::compare(Op::Less, col(1), lit(0))]),
            literals: vec![-20],
            ..ordered(&table, top(col(0), descending))
        };
        cases.push(Case::new(format!("a top of kept rows, {descending}"), table.clone(), kept));
    }
    let hidden = Output::Rows { columns: vec![], limit: None, top: Some(top(col(0), true)) };
    let hidden = Fragment { output: hidden, ..over(&table) };
    cases.push(Case::new("a top without columns", table.clone(), hidden));
    let constant = Fragment {
        projection: Program::new([Step::select(Width::W64, Operand::Null, lit(0), lit(0))]),
        literals: vec![5],
        ..ordered(&table, top(step(0), true))
    };
    cases.push(Case::new("a top of a constant", table, constant));
    // A row that is left out is too wide for its column.
    let late = Table::new(vec![
        plain(Values::integers((0..300).map(|n| if n == 250 { 1 << 40 } else { n }))),
        plain(Values::integers(0..300)),
    ]);
    let narrow = [RowColumn { operand: col(0), width: Width::W32 }].into();
    let output = Output::Rows { columns: narrow, limit: None, top: Some(top(col(0), false)) };
    let narrow = Fragment { output, ..over(&late) };
    cases.push(Case::new("a row left out of a top overflows", late, narrow));
    cases
}
