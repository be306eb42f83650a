// SPDX-License-Identifier: Apache-2.0
//! Formats aggregate slots for EXPLAIN, with unscaled numbers, as the drive computes them.

use nearscan_command::{
    Aggregate, Fragment, Function, Op, Operand, Step, StringTest, TestOp, Top, pattern,
};

/// A slot, with its filter if it has one.
pub(crate) fn aggregate(fragment: &Fragment, slot: &Aggregate) -> String {
    let operand = || operand(fragment, slot.operand);
    let shown = match slot.function {
        Function::CountRows => "count(*)".to_owned(),
        Function::Count => format!("count({})", operand()),
        Function::Sum | Function::SumFloat => format!("sum({})", operand()),
        Function::Min => format!("min({})", operand()),
        Function::Max => format!("max({})", operand()),
    };
    match slot.filter {
        Operand::None => shown,
        filter => format!("{shown} FILTER (WHERE {})", self::operand(fragment, filter)),
    }
}

/// Formats the order and count of a top.
pub(crate) fn top(fragment: &Fragment, top: &Top) -> String {
    let order = if top.descending { "DESC" } else { "ASC" };
    let nulls = if top.nulls_first { "FIRST" } else { "LAST" };
    format!("{} of {} {order} NULLS {nulls}", top.count, operand(fragment, top.operand))
}

/// An operand of the projection.
pub(crate) fn operand(fragment: &Fragment, operand: Operand) -> String {
    let shown = match operand {
        Operand::Column(index) => column(fragment, index),
        Operand::Literal(index) => {
            fragment.literals.get(usize::from(index)).map(ToString::to_string)
        }
        Operand::Step(index) => {
            fragment.projection.steps.get(usize::from(index)).map(|of| step(fragment, of))
        }
        Operand::Test(index) => {
            fragment.tests.get(usize::from(index)).map(|of| string_test(fragment, of))
        }
        Operand::Null | Operand::None => Some("NULL".to_owned()),
    };
    shown.unwrap_or_else(|| "?".to_owned())
}

fn column(fragment: &Fragment, index: u16) -> Option<String> {
    fragment.columns.get(usize::from(index)).map(|column| column.name.clone())
}

fn step(fragment: &Fragment, step: &Step) -> String {
    let a = operand(fragment, step.a);
    let infix = |sign: &str| format!("({a} {sign} {})", operand(fragment, step.b));
    match step.op {
        Op::Add => infix("+"),
        Op::Subtract => infix("-"),
        Op::Multiply => infix("*"),
        Op::Divide => infix("/"),
        Op::DivideRound => format!("round{}", infix("/")),
        Op::DivideFloor => format!("floor{}", infix("/")),
        Op::Remainder => infix("%"),
        Op::Select => {
            let (b, c) = (operand(fragment, step.b), operand(fragment, step.c));
            format!("CASE WHEN {a} THEN {b} ELSE {c} END")
        }
        Op::Year => format!("year({a})"),
        Op::Month => format!("month({a})"),
        Op::Day => format!("day({a})"),
        Op::IsDistinct => infix("IS DISTINCT FROM"),
        Op::IsNotDistinct => infix("IS NOT DISTINCT FROM"),
        Op::Equal => infix("="),
        Op::NotEqual => infix("<>"),
        Op::Less => infix("<"),
        Op::LessOrEqual => infix("<="),
        Op::Greater => infix(">"),
        Op::GreaterOrEqual => infix(">="),
        Op::And => infix("AND"),
        Op::Or => infix("OR"),
        Op::Between => {
            let (b, c) = (operand(fragment, step.b), operand(fragment, step.c));
            format!("({a} BETWEEN {b} AND {c})")
        }
        Op::In => format!("({a} IN ({}))", literals(fragment, step).join(", ")),
        Op::Not => format!("(NOT {a})"),
        Op::IsNull => format!("({a} IS NULL)"),
        Op::IsNotNull => format!("({a} IS NOT NULL)"),
        Op::Test => a,
    }
}

/// The list of an IN step.
fn literals(fragment: &Fragment, step: &Step) -> Vec<String> {
    let (Operand::Literal(first), Operand::Literal(last)) = (step.b, step.c) else {
        return Vec::new();
    };
    (first..=last).map(|index| operand(fragment, Operand::Literal(index))).collect()
}

fn string_test(fragment: &Fragment, test: &StringTest) -> String {
    let column = column(fragment, test.column).unwrap_or_else(|| "?".to_owned());
    let texts: Vec<String> =
        test.strings.iter().map(|text| format!("'{}'", String::from_utf8_lossy(text))).collect();
    let texts = texts.join(", ");
    match test.op {
        TestOp::In if test.strings.len() == 1 => format!("({column} = {texts})"),
        TestOp::In => format!("({column} IN ({texts}))"),
        TestOp::Less => format!("({column} < {texts})"),
        TestOp::LessOrEqual => format!("({column} <= {texts})"),
        TestOp::Greater => format!("({column} > {texts})"),
        TestOp::GreaterOrEqual => format!("({column} >= {texts})"),
        TestOp::Like => {
            let patterns = test.strings.iter().map(|items| shown_pattern(items));
            format!("({column} LIKE '{}')", patterns.collect::<String>())
        }
    }
}

/// Formats a pattern as in SQL.
fn shown_pattern(items: &[u8]) -> String {
    let mut text = Vec::with_capacity(items.len());
    for item in items {
        match *item {
            pattern::ANY => text.push(b'%'),
            pattern::ONE => text.push(b'_'),
            sign @ (b'%' | b'_' | b'\\') => text.extend([b'\\', sign]),
            sign => text.push(sign),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
