// SPDX-License-Identifier: Apache-2.0
//! Steps: every operation over every kind of operand.

use nearscan_command::{Fragment, Op, Operand, Program, Step, Width};

use super::{col, column, lit, over, plain, project, rows, select_all, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

const ARITHMETIC: [Op; 3] = [Op::Add, Op::Subtract, Op::Multiply];
const WIDTHS: [Width; 3] = [Width::W32, Width::W64, Width::W128];
const COMPARISONS: [Op; 6] =
    [Op::Equal, Op::NotEqual, Op::Less, Op::LessOrEqual, Op::Greater, Op::GreaterOrEqual];

/// Numbers at and beside every edge that a width has.
pub(super) const EDGES: [i64; 19] = [
    0,
    1,
    -1,
    2,
    -2,
    46_341,
    -46_341,
    i32::MAX as i64,
    i32::MIN as i64,
    i32::MAX as i64 + 1,
    i32::MIN as i64 - 1,
    3_037_000_500,
    -3_037_000_500,
    1 << 32,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
    1 << 62,
];

fn exact(op: Op, a: i64, b: i64) -> i128 {
    let (a, b) = (i128::from(a), i128::from(b));
    match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        _ => a * b,
    }
}

fn pairs() -> Vec<(i64, i64)> {
    EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))).collect()
}

/// Two columns with these pairs, and one row of each combination with NULL.
fn two_columns(pairs: &[(i64, i64)]) -> Table {
    let null = [(None, Some(i64::MAX)), (Some(i64::MIN), None), (None, None)];
    let pairs = pairs.iter().map(|(a, b)| (Some(*a), Some(*b))).chain(null);
    let (a, b) = pairs.unzip();
    Table::new(vec![plain(Values::Int64(a)), column(Values::Int64(b))])
}

pub(super) fn arithmetic() -> Vec<Case> {
    let mut cases = Vec::new();
    for op in ARITHMETIC {
        for width in WIDTHS {
            let fits = |(a, b): &(i64, i64)| width.fits(exact(op, *a, *b));
            let (fitting, beyond): (Vec<_>, Vec<_>) = pairs().into_iter().partition(fits);
            let steps = vec![Step::arithmetic(op, width, col(0), col(1))];
            let table = two_columns(&fitting);
            let fragment = project(over(&table), steps.clone());
            cases.push(Case::new(format!("arithmetic {op:?} {width:?}"), table, fragment));
            // A few of the pairs that overflow, each behind rows that do not.
            for pair in beyond.iter().step_by(beyond.len() / 6 + 1) {
                let table = two_columns(&[(0, 0), (1, 1), *pair]);
                let fragment = project(over(&table), steps.clone());
                let name = format!("overflow {op:?} {width:?} {pair:?}");
                cases.push(Case::new(name, table, fragment));
            }
        }
    }
    cases.extend(beyond_128_bits());
    cases
}

/// Literals take arithmetic to the edge of 128 bits.
fn beyond_128_bits() -> Vec<Case> {
    let table = two_columns(&[(1, -1)]);
    let literals = vec![i128::MAX, i128::MIN, 1 << 126, 1 << 64, i128::MAX - 1];
    let make = |name: &str, op, a, b| {
        let steps = vec![Step::arithmetic(op, Width::W128, a, b)];
        let fragment = Fragment { literals: literals.clone(), ..project(over(&table), steps) };
        Case::new(format!("128 bits: {name}"), table.clone(), fragment)
    };
    vec![
        make("largest plus one", Op::Add, lit(0), col(0)),
        make("largest minus one", Op::Add, lit(0), col(1)),
        make("one below the largest plus one", Op::Add, col(0), lit(4)),
        make("least minus one", Op::Subtract, lit(1), col(0)),
        make("least plus one", Op::Subtract, lit(1), col(1)),
        make("least times minus one", Op::Multiply, lit(1), col(1)),
        make("least times one", Op::Multiply, col(0), lit(1)),
        make("2^126 twice", Op::Add, lit(2), lit(2)),
        make("2^64 squared", Op::Multiply, lit(3), lit(3)),
        make("2^126 and 2^64", Op::Add, lit(2), lit(3)),
    ]
}

pub(super) fn comparisons() -> Vec<Case> {
    let table = two_columns(&pairs());
    let literals = vec![
        0,
        i128::from(i64::MAX),
        i128::from(i64::MIN),
        i128::from(i64::MAX) + 1,
        i128::MIN,
        2,
        -1,
    ];
    let with = |steps| Fragment { literals: literals.clone(), ..project(over(&table), steps) };
    let all = |a, b| COMPARISONS.map(|op| Step::compare(op, a, b)).to_vec();
    let mut cases = Vec::new();
    let mut add = |name: String, steps| {
        cases.push(Case::new(format!("comparison: {name}"), table.clone(), with(steps)));
    };
    add("of columns".to_owned(), all(col(0), col(1)));
    add("of a column with itself".to_owned(), all(col(0), col(0)));
    for literal in 0..5 {
        add(format!("with literal {literal}"), all(col(0), lit(literal)));
        add(format!("of literal {literal} with a column"), all(lit(literal), col(1)));
    }
    add("of literals".to_owned(), all(lit(0), lit(1)));
    add("with NULL".to_owned(), all(col(0), Operand::Null));
    add("of NULL with NULL".to_owned(), all(Operand::Null, Operand::Null));
    add(
        "BETWEEN".to_owned(),
        vec![
            Step::between(col(0), lit(6), lit(5)),
            Step::between(col(0), lit(5), lit(6)),
            Step::between(col(0), col(1), lit(1)),
            Step::between(col(0), lit(2), col(1)),
            Step::between(lit(0), col(0), col(1)),
            Step::between(col(0), Operand::Null, lit(0)),
            Step::between(col(0), lit(0), Operand::Null),
            Step::between(Operand::Null, lit(0), lit(1)),
        ],
    );
    add(
        "IN".to_owned(),
        vec![
            Step::in_literals(col(0), 0, 6),
            Step::in_literals(col(0), 5, 5),
            Step::in_literals(col(1), 3, 4),
            Step::in_literals(col(1), 5, 6),
            Step::in_literals(lit(0), 0, 1),
            Step::in_literals(Operand::Null, 0, 1),
        ],
    );
    let products = vec![
        Step::arithmetic(Op::Multiply, Width::W128, col(0), col(1)),
        Step::arithmetic(Op::Multiply, Width::W128, col(1), col(1)),
        Step::compare(Op::Less, step(0), step(1)),
        Step::compare(Op::Equal, step(0), step(1)),
        Step::between(step(0), lit(2), step(1)),
        Step::in_literals(step(0), 0, 6),
        Step::compare(Op::GreaterOrEqual, step(1), lit(3)),
    ];
    add("of products wider than 64 bits".to_owned(), products);
    cases.push(long_list());
    cases
}

/// An IN list as long as it gets.
fn long_list() -> Case {
    let table = Table::new(vec![column(Values::integers((0..3000).map(|n| n * 7 % 5000)))]);
    let literals = (0..1024).map(|n| i128::from(n * 3)).collect();
    let fragment = Fragment {
        predicate: Program::new([Step::in_literals(col(0), 0, 1023)]),
        literals,
        ..select_all(&table)
    };
    Case::new("comparison: IN with 1024 literals", table, fragment)
}

pub(super) fn logic() -> Vec<Case> {
    // Every pair of false, true and NULL.
    let truth = [Some(0), Some(1), None];
    let a = truth.iter().flat_map(|a| [*a; 3]).collect();
    let b = [truth; 3].concat().into_iter().map(|b| b.map(i64::from)).collect();
    let table = Table::new(vec![plain(Values::Int32(a)), column(Values::Int64(b))]);
    let made = |op, a, b| {
        vec![
            Step::compare(Op::Equal, col(0), lit(0)),
            Step::compare(Op::Equal, col(1), lit(0)),
            Step { op, width: Width::Bool, a, b, c: Operand::None },
        ]
    };
    let none = Operand::None;
    let variants = [
        ("AND", made(Op::And, step(0), step(1))),
        ("OR", made(Op::Or, step(0), step(1))),
        ("NOT", made(Op::Not, step(0), none)),
        ("IS NULL", made(Op::IsNull, step(0), none)),
        ("IS NOT NULL", made(Op::IsNotNull, step(1), none)),
        ("AND NULL", made(Op::And, step(0), Operand::Null)),
        ("OR NULL", made(Op::Or, Operand::Null, step(1))),
        ("NOT NULL", made(Op::Not, Operand::Null, none)),
        ("NULL IS NULL", made(Op::IsNull, Operand::Null, none)),
        ("NULL IS NOT NULL", made(Op::IsNotNull, Operand::Null, none)),
        ("literal IS NULL", made(Op::IsNull, lit(0), none)),
        ("column IS NULL", made(Op::IsNull, col(0), none)),
        ("column IS NOT NULL", made(Op::IsNotNull, col(1), none)),
    ];
    let mut cases = Vec::new();
    for (name, steps) in variants {
        let shown = Fragment { literals: vec![1], ..project(over(&table), steps.clone()) };
        cases.push(Case::new(format!("logic: {name}"), table.clone(), shown));
        let kept = Fragment {
            literals: vec![1],
            predicate: Program { steps: steps.clone() },
            ..select_all(&table)
        };
        cases.push(Case::new(format!("verdict: {name}"), table.clone(), kept));
        // NOT of NULL is not true either.
        let mut negated = steps;
        negated.push(Step::unary(Op::Not, step(2)));
        let kept = Fragment {
            literals: vec![1],
            predicate: Program { steps: negated },
            ..select_all(&table)
        };
        cases.push(Case::new(format!("negated verdict: {name}"), table.clone(), kept));
    }
    cases
}

/// Which steps are evaluated for which rows.
pub(super) fn evaluation() -> Vec<Case> {
    let table = two_columns(&[(5, 1), (i64::MAX, 2), (7, 3)]);
    let doubled = Step::arithmetic(Op::Add, Width::W64, col(0), col(0));
    let small = Step::compare(Op::Less, col(0), lit(0));
    let base = Fragment { literals: vec![100, 10], ..select_all(&table) };
    let case = |name: &str, predicate: Vec<Step>, projection: Vec<Step>| {
        let fragment = Fragment {
            predicate: Program { steps: predicate },
            projection: Program { steps: projection },
            ..base.clone()
        };
        Case::new(format!("evaluation: {name}"), table.clone(), fragment)
    };
    let guarded = vec![doubled, small];
    let chain: Vec<Step> = (0..32)
        .map(|index| match index {
            0 => Step::arithmetic(Op::Add, Width::W128, col(1), lit(1)),
            _ => Step::arithmetic(Op::Add, Width::W128, step(index - 1), col(1)),
        })
        .collect();
    let mut last = chain.clone();
    last.truncate(31);
    last.push(Step::compare(Op::Less, step(30), lit(0)));
    vec![
        case("a projection does not see dropped rows", vec![small], vec![doubled]),
        case("a predicate sees every row, whatever its verdict", guarded, vec![]),
        case("a projection that nothing uses overflows", vec![], vec![doubled]),
        case("32 steps of projection", vec![], chain),
        case("32 steps of predicate", last, vec![]),
        Case::new(
            "evaluation: the last of 32 steps comes back",
            table.clone(),
            Fragment {
                projection: Program {
                    steps: (0..32)
                        .map(|_| Step::arithmetic(Op::Subtract, Width::W128, col(0), col(1)))
                        .collect(),
                },
                output: rows(&[(step(31), Width::W128), (step(0), Width::W128)]),
                ..over(&table)
            },
        ),
    ]
}
