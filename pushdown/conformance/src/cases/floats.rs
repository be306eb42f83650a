// SPDX-License-Identifier: Apache-2.0
//! Sums of floats: the order of the rows, infinities, what is not a number, and groups.

use nearscan_command::{Aggregate, Fragment, Function, Op, Operand, Program, Step, Width};

use super::{aggregate, col, column, lit, over, plain, states, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

fn sum(column: u16) -> Aggregate {
    Aggregate::new(Function::SumFloat, col(column), Width::W64)
}

/// A name, and the number of each row, if it has one.
type Numbers = (&'static str, fn(u32) -> Option<f64>);

const NUMBERS: [Numbers; 11] = [
    ("quarters", |n| Some(f64::from(n) / 4.0)),
    ("tenths", |n| Some(f64::from(n) / 10.0)),
    ("some NULLs", |n| (n % 3 != 1).then(|| f64::from(n) / 7.0)),
    ("NULLs alone", |_| None),
    // In another order the small ones would be lost, or would not be.
    ("large and small ones", |n| Some([1e16, 1.0, 1.0, -1e16, 0.25][n as usize % 5])),
    ("growing ones", |n| Some(f64::from(n % 300).exp2())),
    ("tiny ones", |n| Some(f64::from_bits(u64::from(n)))),
    ("zeros below zero", |_| Some(-0.0)),
    ("infinities of one sign", |n| Some(if n == 77 { f64::INFINITY } else { -1e300 })),
    ("infinities of both", |n| match n {
        100 => Some(f64::INFINITY),
        200 => Some(f64::NEG_INFINITY),
        _ => Some(1.0),
    }),
    ("what is not a number", |n| Some(if n == 300 { -f64::NAN } else { f64::from(n) })),
];

pub(super) fn sums() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, number) in NUMBERS {
        #[expect(clippy::cast_possible_truncation, reason = "as few digits as there are")]
        let narrow = |n| number(n).map(|number| number as f32);
        let table = Table::new(vec![
            column(Values::Double((0..700).map(number).collect())),
            plain(Values::Float((0..700).map(narrow).collect())),
            column(Values::Int64((0..700).map(|n| (n % 13 != 12).then_some(n % 5)).collect())),
        ]);
        let mut add = |what: &str, keys: &[u16], predicate: Vec<Step>, slots| {
            let fragment = Fragment {
                predicate: Program { steps: predicate },
                projection: Program::new([Step::compare(Op::Greater, col(2), lit(0))]),
                literals: vec![1, 100],
                output: states(keys, slots),
                ..over(&table)
            };
            let name = format!("sums of {name}, {what}");
            cases.push(Case::new(name, table.clone(), fragment));
        };
        let slots = vec![
            sum(0),
            sum(1),
            aggregate(Function::Count, col(0)),
            aggregate(Function::Min, col(0)),
            aggregate(Function::Max, col(1)),
        ];
        add("all", &[], vec![], slots.clone());
        add("by key", &[2], vec![], slots.clone());
        add("filtered", &[2], vec![], vec![Aggregate { filter: step(0), ..sum(0) }, sum(1)]);
        add("never", &[], vec![], vec![Aggregate { filter: Operand::Null, ..sum(0) }]);
        add("of kept rows", &[], vec![Step::compare(Op::Less, col(2), lit(0))], slots.clone());
        add("of no rows", &[], vec![Step::compare(Op::Greater, col(2), lit(1))], slots);
    }
    cases
}
