// SPDX-License-Identifier: Apache-2.0
//! Aggregate slots: every function over every pattern of NULLs, filters, and sums at their edges.

use nearscan_command::{Aggregate, Fragment, Function, Op, Operand, Program, Step, Width};

use super::{aggregate, col, column, lit, over, plain, states, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

fn every_function(operand: Operand) -> Vec<Aggregate> {
    vec![
        Aggregate::count_rows(),
        aggregate(Function::Count, operand),
        aggregate(Function::Sum, operand),
        aggregate(Function::Min, operand),
        aggregate(Function::Max, operand),
    ]
}

/// A name, and which rows are not null.
type Pattern = (&'static str, fn(i64) -> bool);

pub(super) fn functions() -> Vec<Case> {
    let mut cases = Vec::new();
    let patterns: [Pattern; 4] = [
        ("no nulls", |_| true),
        ("some nulls", |n| n % 3 != 1),
        ("all nulls", |_| false),
        ("one value", |n| n == 1234),
    ];
    for (name, is_valid) in patterns {
        let values = |scale: i64| {
            (0..2000).map(|n| is_valid(n).then_some((n * 7919 % 2003 - 1000) * scale)).collect()
        };
        let narrow = (0..2000).map(|n| is_valid(n).then_some(-5)).collect();
        let texts = (0..2000).map(|n| is_valid(n).then(|| n.to_string().into_bytes())).collect();
        let table = Table::new(vec![
            column(Values::Int64(values(1))),
            plain(Values::Int64(values(1 << 50))),
            column(Values::Int32(narrow)),
            column(Values::Bytes(texts)),
        ]);
        let mut add = |what: &str, predicate: Vec<Step>, aggregates: Vec<Aggregate>| {
            let fragment = Fragment {
                predicate: Program { steps: predicate },
                projection: Program::new([
                    Step::arithmetic(Op::Multiply, Width::W128, col(1), col(0)),
                    Step::compare(Op::Greater, col(0), lit(0)),
                ]),
                literals: vec![100, 5000],
                output: states(&[], aggregates),
                ..over(&table)
            };
            cases.push(Case::new(format!("aggregates, {name}, {what}"), table.clone(), fragment));
        };
        for (what, operand) in [
            ("of a column", col(0)),
            ("of a wide column", col(1)),
            ("of INT32", col(2)),
            ("of a product", step(0)),
            ("of a literal", lit(0)),
            ("of NULL", Operand::Null),
        ] {
            add(what, vec![], every_function(operand));
        }
        let counts = [col(3), step(1), lit(0)].map(|of| aggregate(Function::Count, of));
        add("counts of strings and truths", vec![], counts.to_vec());
        let filtered = every_function(col(0))
            .into_iter()
            .map(|slot| Aggregate { filter: step(1), ..slot })
            .chain([Aggregate { filter: Operand::Null, ..aggregate(Function::Sum, col(0)) }])
            .collect();
        add("filtered", vec![], filtered);
        let some = vec![Step::compare(Op::Less, col(0), lit(0))];
        add("of kept rows", some, every_function(col(1)));
        let nothing = vec![Step::compare(Op::Greater, col(0), lit(1))];
        add("of no rows", nothing, every_function(col(0)));
        add("none at all", vec![], vec![]);
        let most = (0..16).map(|index| every_function(col(index % 3))[usize::from(index % 5)]);
        let most = most.map(|slot| match slot.function {
            Function::CountRows => Aggregate::count_rows(),
            _ => slot,
        });
        add("16 slots", vec![], most.collect());
    }
    cases
}

/// Sums and extremes against each width.
pub(super) fn overflow() -> Vec<Case> {
    let (max, min) = (i64::MAX, i64::MIN);
    let case = |name: &str, values: Vec<i64>, aggregates: Vec<Aggregate>, literals: Vec<i128>| {
        let table = Table::new(vec![column(Values::integers(values))]);
        let wide = Step::arithmetic(Op::Multiply, Width::W128, col(0), lit(0));
        let fragment = Fragment {
            projection: Program::new([wide]),
            literals,
            output: states(&[], aggregates),
            ..over(&table)
        };
        Case::new(format!("overflow of a slot: {name}"), table, fragment)
    };
    let of = |function, operand, width| vec![Aggregate::new(function, operand, width)];
    let sum = |width| of(Function::Sum, col(0), width);
    let large = 1i128 << 63;
    let i32_max = i64::from(i32::MAX);
    vec![
        case("sum is the largest of 32 bits", vec![i32_max - 1, 1], sum(Width::W32), vec![1]),
        case("sum is above 32 bits", vec![i32_max, 1], sum(Width::W32), vec![1]),
        case("sum is below 32 bits", vec![-i32_max, -2], sum(Width::W32), vec![1]),
        case("sum leaves 32 bits and returns", vec![i32_max, 9, -9], sum(Width::W32), vec![1]),
        case("sum is the largest of 64 bits", vec![max - 1, 1], sum(Width::W64), vec![1]),
        case("sum is above 64 bits", vec![max, 1], sum(Width::W64), vec![1]),
        case("sum is below 64 bits", vec![min, -1], sum(Width::W64), vec![1]),
        case("sum leaves 64 bits and returns", vec![max, max, min, min], sum(Width::W64), vec![1]),
        case("sum is above 64 bits, in 128", vec![max; 100], sum(Width::W128), vec![1]),
        case(
            "sum of products is within 128 bits",
            vec![max],
            of(Function::Sum, step(0), Width::W128),
            vec![large],
        ),
        case(
            "sum of products is above 128 bits",
            vec![max; 3],
            of(Function::Sum, step(0), Width::W128),
            vec![large],
        ),
        case(
            "sum of products is below 128 bits",
            vec![min, min, min],
            of(Function::Sum, step(0), Width::W128),
            vec![large],
        ),
        case(
            "sum of products leaves 128 bits and returns",
            vec![max, max, max, min, min, min],
            of(Function::Sum, step(0), Width::W128),
            vec![large],
        ),
        case(
            "sum of literals is above 128 bits",
            vec![1, 2],
            of(Function::Sum, lit(0), Width::W128),
            // The product of the projection stays within its width.
            vec![i128::MAX / 2 + 1],
        ),
        case(
            "minimum is below 32 bits",
            vec![min, 5],
            of(Function::Min, col(0), Width::W32),
            vec![1],
        ),
        case(
            "only a value that is not the minimum is above 32 bits",
            vec![max, 5],
            of(Function::Min, col(0), Width::W32),
            vec![1],
        ),
        case(
            "maximum is above 32 bits",
            vec![max, 5],
            of(Function::Max, col(0), Width::W32),
            vec![1],
        ),
        case(
            "only a value that is not the maximum is below 32 bits",
            vec![min, 5],
            of(Function::Max, col(0), Width::W32),
            vec![1],
        ),
        case(
            "maximum of products is above 64 bits",
            vec![1, 2],
            of(Function::Max, step(0), Width::W64),
            vec![large],
        ),
        case(
            "extremes of products",
            vec![max, min, 0],
            vec![aggregate(Function::Min, step(0)), aggregate(Function::Max, step(0))],
            vec![large],
        ),
    ]
}
