// SPDX-License-Identifier: Apache-2.0
//! Steps beyond sums and products: quotients, CASE, parts of dates, and distinctness.

use nearscan_command::{Fragment, Op, Operand, Step, Width};

use super::{col, column, lit, over, plain, programs::EDGES, project, step};
use crate::{
    case::Case,
    data::{Table, Values},
};

const DIVISIONS: [Op; 4] = [Op::Divide, Op::DivideRound, Op::DivideFloor, Op::Remainder];

/// Divisors of every sign and size, even ones so that there are halves.
const DIVISORS: [i64; 14] = [
    1,
    -1,
    2,
    -2,
    3,
    7,
    -10,
    100,
    86_400_000_000,
    1 << 31,
    -(1 << 32),
    1 << 62,
    i64::MAX,
    i64::MIN,
];

pub(super) fn divisions() -> Vec<Case> {
    // Numbers around every multiple that rounding could confuse.
    let around = (-60..60).flat_map(|n| [n, n * 10 + 5, n * 86_400_000_000 + 43_200_000_000]);
    let values = EDGES.into_iter().chain(around).map(Some).chain([None]);
    let table = Table::new(vec![column(Values::Int64(values.collect()))]);
    let literals: Vec<i128> = DIVISORS.map(i128::from).into();
    let divisors = || (0..).zip(DIVISORS).map(|(index, _)| lit(index));
    let mut cases = Vec::new();
    for op in DIVISIONS {
        let quotients = |of| divisors().map(move |by| Step::arithmetic(op, Width::W128, of, by));
        let fragment = project(over(&table), quotients(col(0)).collect());
        let fragment = Fragment { literals: literals.clone(), ..fragment };
        cases.push(Case::new(format!("{op:?} by every divisor"), table.clone(), fragment));
        // Dividends of up to 127 bits.
        let wide = Step::arithmetic(Op::Multiply, Width::W128, col(0), col(0));
        let steps = [wide].into_iter().chain(quotients(step(0)));
        let fragment =
            Fragment { literals: literals.clone(), ..project(over(&table), steps.collect()) };
        cases.push(Case::new(format!("{op:?} of squares"), table.clone(), fragment));
        cases.extend(at_the_edge(op));
    }
    cases
}

/// Quotients that just fit a width, and those that do not.
fn at_the_edge(op: Op) -> Vec<Case> {
    let case = |name: &str, width, value: Option<i64>, literals: [i128; 2], of| {
        let table = Table::new(vec![plain(Values::Int64(vec![Some(0), value]))]);
        let steps = vec![Step::arithmetic(op, width, of, lit(0))];
        let fragment = Fragment { literals: literals.into(), ..project(over(&table), steps) };
        Case::new(format!("{op:?} of {name}"), table, fragment)
    };
    let least = i128::MIN;
    vec![
        case("the least of 64 bits by 1", Width::W64, Some(i64::MIN), [1, 0], col(0)),
        case("the least of 64 bits by -1", Width::W64, Some(i64::MIN), [-1, 0], col(0)),
        case("the least of 64 bits by -1, in 128", Width::W128, Some(i64::MIN), [-1, 0], col(0)),
        case("no number by -1", Width::W64, None, [-1, 0], col(0)),
        case("2^31 by -1, in 32 bits", Width::W32, Some(1 << 31), [-1, 0], col(0)),
        case("2^31 by 1, in 32 bits", Width::W32, Some(1 << 31), [1, 0], col(0)),
        case("the least of 128 bits by 1", Width::W128, Some(0), [1, least], lit(1)),
        case("the least of 128 bits by -1", Width::W128, Some(0), [-1, least], lit(1)),
        case("the largest of 128 bits by -1", Width::W128, Some(0), [-1, i128::MAX], lit(1)),
        case("the least of 128 bits by 2", Width::W128, Some(0), [2, least], lit(1)),
        case(
            "the least of 128 bits by that of 64",
            Width::W128,
            Some(0),
            [i64::MIN.into(), least],
            lit(1),
        ),
        case("the largest of 128 bits by 10", Width::W128, Some(0), [10, i128::MAX], lit(1)),
    ]
}

pub(super) fn selections() -> Vec<Case> {
    // Every condition with every pair of branches, null ones among them.
    let truths = [Some(0), Some(1), None];
    let branches = [Some(7), Some(-(1 << 40)), None];
    let mut columns: [Vec<Option<i64>>; 3] = Default::default();
    for truth in truths {
        for b in branches {
            for c in branches {
                columns[0].push(truth);
                columns[1].push(b);
                columns[2].push(c.map(|c| c + 1));
            }
        }
    }
    let table = Table::new(columns.map(|values| plain(Values::Int64(values))).into());
    let condition = Step::compare(Op::Equal, col(0), lit(0));
    let with = |name: &str, selects: Vec<Step>| {
        let steps = [condition].into_iter().chain(selects).collect();
        let fragment = Fragment { literals: vec![1, 5, 1 << 40], ..project(over(&table), steps) };
        Case::new(format!("CASE {name}"), table.clone(), fragment)
    };
    let select = |width, b, c| Step::select(width, step(0), b, c);
    vec![
        with(
            "of columns, literals and NULL",
            vec![
                select(Width::W64, col(1), col(2)),
                select(Width::W128, lit(1), col(2)),
                select(Width::W32, lit(1), Operand::Null),
                select(Width::W64, Operand::Null, col(1)),
                select(Width::W64, Operand::Null, Operand::Null),
                Step::select(Width::W64, Operand::Null, col(1), lit(1)),
                Step::arithmetic(Op::Add, Width::W64, step(1), step(2)),
                Step::compare(Op::Less, step(3), lit(2)),
                Step::select(Width::W64, step(8), step(1), step(5)),
            ],
        ),
        // Both branches count, taken or not.
        with("with a first branch too wide", vec![select(Width::W32, col(1), lit(1))]),
        with("with a second branch too wide", vec![select(Width::W32, lit(1), col(2))]),
        with("of a literal too wide that is never taken", {
            let never = Step::compare(Op::And, step(0), step(1));
            let not = Step::unary(Op::Not, step(0));
            vec![not, never, Step::select(Width::W32, step(2), lit(2), lit(1))]
        }),
    ]
}

const PARTS: [Op; 3] = [Op::Year, Op::Month, Op::Day];

pub(super) fn dates() -> Vec<Case> {
    let parts = |width| PARTS.map(|op| Step::part(op, width, col(0))).to_vec();
    let of = |name: &str, days: Vec<Option<i64>>, width| {
        let table = Table::new(vec![column(Values::Int64(days))]);
        let fragment = project(over(&table), parts(width));
        Case::new(format!("dates: {name}"), table, fragment)
    };
    let some = |days: std::ops::Range<i64>| days.map(Some).collect::<Vec<_>>();
    let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    // 1 January of years around which leap years come and do not come.
    let new_years = [-719_528, -354_285, -25_567, 0, 10_957, 47_482, 157_054, 2_932_897];
    let leaps = new_years.into_iter().flat_map(|day| some(day - 310..day + 70));
    let every = (0..2500).map(|n| Some(-40_000_000 + n * 32_003));
    vec![
        of("the days of five years", some(10_592..12_500), Width::W32),
        of("before 1970", some(-1500..2), Width::W32),
        of("the turns of centuries", leaps.collect(), Width::W64),
        of("of a hundred thousand years", every.chain([None]).collect(), Width::W128),
        of("the first and the last", vec![Some(least), Some(most), None], Width::W32),
        of("a day too late", vec![Some(0), Some(most + 1)], Width::W64),
        of("a day too early", vec![Some(0), Some(least - 1)], Width::W64),
        of("far too late", vec![Some(i64::MAX)], Width::W64),
        of("none", vec![None; 20], Width::W32),
    ]
}

pub(super) fn distinct() -> Vec<Case> {
    let some = [Some(0), Some(-1), Some(i64::MAX), None];
    let a = some.into_iter().flat_map(|a| [a; 4]).collect();
    let table =
        Table::new(vec![plain(Values::Int64(a)), column(Values::Int64([some; 4].concat()))]);
    let both = |a, b| [Op::IsDistinct, Op::IsNotDistinct].map(|op| Step::compare(op, a, b));
    let mut steps = vec![
        Step::arithmetic(Op::Multiply, Width::W128, col(0), lit(1)),
        Step::arithmetic(Op::Multiply, Width::W128, col(1), lit(1)),
    ];
    for (a, b) in [
        (col(0), col(1)),
        (col(0), lit(0)),
        (col(0), Operand::Null),
        (Operand::Null, Operand::Null),
        (step(0), step(1)),
        (step(0), col(1)),
    ] {
        steps.extend(both(a, b));
    }
    let literals = vec![-1, 1 << 64];
    let shown = Fragment { literals: literals.clone(), ..project(over(&table), steps) };
    let mut cases = vec![Case::new("distinct: shown", table.clone(), shown)];
    for op in [Op::IsDistinct, Op::IsNotDistinct] {
        let kept = Fragment {
            predicate: nearscan_command::Program::new([Step::compare(op, col(0), col(1))]),
            literals: literals.clone(),
            ..super::select_all(&table)
        };
        cases.push(Case::new(format!("distinct: {op:?} as the verdict"), table.clone(), kept));
    }
    cases
}
