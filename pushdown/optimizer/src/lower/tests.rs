// SPDX-License-Identifier: Apache-2.0
//! Tables of expressions: SQL, as DataFusion plans it, and the steps it becomes, or why it is kept.
//!
//! A step is shown as `#n: step`, numbers unscaled; the last one is the verdict.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::DFSchema;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::prelude::SessionContext;
use nearscan_command::{Fragment, Op, Operand, Output, Program, Step, TestOp, Width};
use rstest::rstest;

use crate::decision::KeepReason;
use crate::lower::builder::Target;
use crate::lower::expr::lower_truth;
use crate::lower::rows::lower_rows;
use crate::lower::{FragmentBuilder, Lowered};

/// Columns of the files: integers, a date, decimals of two scales, strings, what no drive reads.
fn schema() -> Schema {
    let column = |(name, data_type): (&str, DataType)| Field::new(name, data_type, true);
    let columns = [
        ("i", DataType::Int32),
        ("k", DataType::Int64),
        ("d", DataType::Date32),
        ("p", DataType::Decimal128(15, 2)),
        ("q", DataType::Decimal128(12, 4)),
        ("s", DataType::Utf8View),
        ("t", DataType::Utf8),
        ("f", DataType::Float64),
        ("b", DataType::Boolean),
        ("u", DataType::UInt64),
        ("part", DataType::Int64),
    ];
    Schema::new(columns.map(column).to_vec())
}

/// The last column is in the names of folders only.
const FILE_COLUMNS: usize = 10;

fn planned(sql: &str) -> Arc<dyn PhysicalExpr> {
    let schema = Arc::new(DFSchema::try_from(schema()).unwrap());
    let session = SessionContext::new();
    let expr = session.parse_sql_expr(sql, &schema).unwrap();
    let context = SimplifyContext::builder().with_schema(Arc::clone(&schema)).build();
    let simplifier = ExprSimplifier::new(context);
    let expr = simplifier.simplify(simplifier.coerce(expr, &schema).unwrap()).unwrap();
    session.create_physical_expr(expr, &schema).unwrap()
}

fn predicate(sql: &str) -> Lowered<Fragment> {
    let schema = schema();
    let mut builder = FragmentBuilder::new(&schema, FILE_COLUMNS);
    for conjunct in crate::scan::split(&planned(sql)) {
        let verdict = lower_truth(&mut builder, Target::Predicate, conjunct.as_ref())?;
        builder.keep_where(verdict);
    }
    builder.rows(vec![], None)
}

fn projection(sql: &str) -> Lowered<Fragment> {
    let schema = schema();
    let mut builder = FragmentBuilder::new(&schema, FILE_COLUMNS);
    let columns = lower_rows(&mut builder, &[planned(sql)])?;
    builder.rows(columns, None)
}

fn shown(fragment: &Fragment, program: &Program) -> String {
    let steps = program.steps.iter().enumerate();
    let steps = steps.map(|(at, step)| format!("#{at}: {}", shown_step(fragment, step)));
    steps.collect::<Vec<_>>().join(", ")
}

fn shown_step(fragment: &Fragment, step: &Step) -> String {
    let [a, b, c] = [step.a, step.b, step.c].map(|operand| shown_operand(fragment, operand));
    let width = match step.width {
        Width::Bool => "",
        Width::W32 => " (32)",
        Width::W64 => " (64)",
        Width::W128 => " (128)",
        Width::Bytes => " (bytes)",
    };
    let sign = match step.op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Equal => "=",
        Op::NotEqual => "<>",
        Op::Less => "<",
        Op::LessOrEqual => "<=",
        Op::Greater => ">",
        Op::GreaterOrEqual => ">=",
        Op::And => "and",
        Op::Or => "or",
        Op::Between => return format!("{a} between {b} and {c}"),
        Op::In => return format!("{a} in {b}..{c}"),
        Op::IsNull => return format!("{a} is null"),
        Op::IsNotNull => return format!("{a} is not null"),
        Op::Not => return format!("not {a}"),
        Op::Test => return a,
    };
    format!("{a} {sign} {b}{width}")
}

fn shown_operand(fragment: &Fragment, operand: Operand) -> String {
    match operand {
        Operand::Column(at) => fragment.columns[usize::from(at)].name.clone(),
        Operand::Step(at) => format!("#{at}"),
        Operand::Literal(at) => fragment.literals[usize::from(at)].to_string(),
        Operand::Test(at) => {
            let test = &fragment.tests[usize::from(at)];
            let texts: Vec<_> =
                test.strings.iter().map(|text| String::from_utf8_lossy(text)).collect();
            let sign = match test.op {
                TestOp::In => "in",
                TestOp::Less => "<",
                TestOp::LessOrEqual => "<=",
                TestOp::Greater => ">",
                TestOp::GreaterOrEqual => ">=",
            };
            format!(
                "{} {sign} '{}'",
                fragment.columns[usize::from(test.column)].name,
                texts.join("|")
            )
        }
        Operand::Null => "null".to_owned(),
        Operand::None => String::new(),
    }
}

#[rstest]
#[case::integers("k < 5", "#0: k < 5")]
#[case::literal_first("5 < k", "#0: k > 5")]
#[case::dates("d >= DATE '1994-01-01'", "#0: d >= 8766")]
#[case::two_columns("d < DATE '1970-01-02' AND k = i", "#0: d < 1, #1: k = i, #2: #0 and #1")]
#[case::between("k BETWEEN 1 AND 3", "#0: k >= 1, #1: k <= 3, #2: #0 and #1")]
#[case::widening_is_free("i + 1 > 5", "#0: i + 1 (64), #1: #0 > 5")]
#[case::arithmetic_in_32_bits("i * CAST(3 AS INT) = CAST(6 AS INT)", "#0: i * 3 (32), #1: #0 = 6")]
#[case::decimal_literals_are_scaled("p > 1.5", "#0: p > 150")]
#[case::decimals_of_two_scales("p = q", "#0: p * 100 (128), #1: #0 = q")]
#[case::sums_of_two_scales("p + q > 0", "#0: p * 100 (128), #1: #0 + q (128), #2: #1 > 0")]
#[case::products_add_their_scales("p * q >= 1", "#0: p * q (128), #1: #0 >= 1000000")]
#[case::an_integer_among_decimals("p > k", "#0: k * 100 (128), #1: p > #0")]
#[case::equal_steps_are_shared(
    "(k + 1 > 3 OR i = 2) AND (k + 1 > 3 OR d IS NULL)",
    "#0: k + 1 (64), #1: #0 > 3, #2: i = 2, #3: #1 or #2, #4: d is null, #5: #1 or #4, #6: #3 \
     and #5"
)]
#[case::negation("NOT (k > 5 AND i = 2)", "#0: k <= 5, #1: i <> 2, #2: #0 or #1")]
#[case::negation_that_stays("(k > 5) IS NULL", "#0: k > 5, #1: #0 is null")]
#[case::null_tests(
    "s IS NULL AND k IS NOT NULL AND k + i IS NULL",
    "#0: s is null, #1: k is not null, #2: k + i (64), #3: #2 is null, #4: #0 and #1, #5: #4 and #3"
)]
#[case::a_list("k IN (7, 8, 9, 4)", "#0: k in 7..4")]
#[case::a_list_with_null("k IN (7, NULL, 8, 9, 4)", "#0: k in 7..4, #1: #0 or null")]
#[case::not_in_a_list("k NOT IN (7, 8, 9, 4)", "#0: k in 7..4, #1: not #0")]
#[case::not_in_a_list_with_null(
    "k NOT IN (7, NULL, 8, 9, 4)",
    "#0: k in 7..4, #1: #0 or null, #2: not #1"
)]
#[case::a_list_of_decimals("p IN (1.5, 2, 2.25, 3)", "#0: p in 150..300")]
#[case::strings("s = 'x'", "#0: s in 'x'")]
#[case::other_strings("s <> 'x'", "#0: s in 'x', #1: not #0")]
#[case::string_order("s >= 'x' AND t < 'y'", "#0: s >= 'x', #1: t < 'y', #2: #0 and #1")]
#[case::mirrored_string_order("'x' < s AND 'y' >= t", "#0: s > 'x', #1: t <= 'y', #2: #0 and #1")]
#[case::a_list_of_strings("s IN ('x', 'y', 'z', '')", "#0: s in 'x|y|z|'")]
#[case::not_in_a_list_of_strings(
    "s NOT IN ('x', NULL, 'y', 'z')",
    "#0: s in 'x|y|z', #1: #0 or null, #2: not #1"
)]
#[case::tests_are_ordered_by_column(
    "s = 'a' AND t = 'b' AND s > 'c'",
    "#0: s in 'a', #1: t in 'b', #2: s > 'c', #3: #0 and #1, #4: #3 and #2"
)]
#[case::equal_tests_are_shared(
    "(s = 'a' OR k = 1) AND (s = 'a' OR k = 2)",
    "#0: s in 'a', #1: k = 1, #2: #0 or #1, #3: k = 2, #4: #0 or #3, #5: #2 and #4"
)]
#[case::null_is_a_verdict("k > NULL", "#0: null and null")]
fn predicates(#[case] sql: &str, #[case] steps: &str) {
    let fragment = predicate(sql).unwrap();
    assert_eq!(shown(&fragment, &fragment.predicate), steps);
    let columns: Vec<u16> = fragment.tests.iter().map(|test| test.column).collect();
    assert!(columns.is_sorted(), "{columns:?}");
}

#[rstest]
#[case::division("k / 2 > 1", KeepReason::Expression, "k@1 / 2")]
#[case::modulo("k % 2 = 1", KeepReason::Expression, "k@1 % 2")]
#[case::negative("-k > 1", KeepReason::Expression, "(- k@1)")]
#[case::like("s LIKE 'x%'", KeepReason::Expression, "s@5 LIKE x%")]
#[case::strings_of_two_columns("s = t", KeepReason::Expression, "CAST(t@6 AS Utf8View)")]
#[case::a_function_of_a_string("upper(s) = 'X'", KeepReason::Expression, "upper(s@5)")]
#[case::case_when(
    "CASE WHEN k > 1 THEN i ELSE CAST(k AS INT) END > 2",
    KeepReason::Expression,
    "CASE WHEN k@1 > 1 THEN i@0 ELSE CAST(k@1 AS Int32) END"
)]
#[case::boolean_column("b", KeepReason::Expression, "b@8")]
#[case::floating_point("f > 1.5", KeepReason::Type, "Float64")]
#[case::unsigned("u > 5", KeepReason::Type, "UInt64")]
#[case::a_cast_that_may_fail("CAST(k AS INT) = i", KeepReason::Expression, "CAST(k@1 AS Int32)")]
#[case::a_cast_that_rounds(
    "CAST(p AS DECIMAL(15, 1)) = CAST(i AS DECIMAL(15, 1))",
    KeepReason::Expression,
    "CAST(p@3 AS Decimal128(15, 1))"
)]
#[case::a_cast_that_may_not_fit(
    "CAST(k AS DECIMAL(15, 2)) = 1.5",
    KeepReason::Expression,
    "CAST(k@1 AS Decimal128(15, 2))"
)]
#[case::a_date_as_a_number("CAST(d AS INT) = i", KeepReason::Expression, "CAST(d@2 AS Int32)")]
#[case::intervals(
    "d + INTERVAL '1' MONTH > DATE '1994-01-01'",
    KeepReason::Type,
    "Interval(MonthDayNano)"
)]
#[case::a_column_that_is_not_in_the_files(
    "part = 1",
    KeepReason::ScanOption,
    "column part is not in the files"
)]
fn refusals(#[case] sql: &str, #[case] reason: KeepReason, #[case] detail: &str) {
    let kept = predicate(sql).unwrap_err();
    assert_eq!((kept.reason, kept.detail.as_str()), (reason, detail));
}

#[rstest]
#[case::a_long_literal(format!("s = '{}'", "x".repeat(129)), "a string literal of 129 bytes")]
#[case::many_steps(
    (0..33).map(|at| format!("k + {at} = 7 * {at}")).collect::<Vec<_>>().join(" OR "),
    "more than 32 steps"
)]
#[case::many_literals(
    format!("k IN ({})", (0..1025).map(|at| at.to_string()).collect::<Vec<_>>().join(", ")),
    "more than 1024 literals"
)]
#[case::many_strings_of_a_column(
    format!("s IN ({})", (0..257).map(|at| format!("'{at}'")).collect::<Vec<_>>().join(", ")),
    "257 literals of a column, the limit is 256"
)]
fn limits_of_the_format(#[case] sql: String, #[case] detail: &str) {
    let kept = predicate(&sql).unwrap_err();
    assert_eq!((kept.reason, kept.detail.as_str()), (KeepReason::Expression, detail));
}

#[rstest]
#[case::longest_literal(format!("s = '{}'", "x".repeat(128)))]
#[case::most_steps(
    (1..12).map(|at| format!("k + {at} = 7 * {at}")).collect::<Vec<_>>().join(" OR ")
)]
#[case::most_literals(
    format!("k IN ({})", (0..1024).map(|at| at.to_string()).collect::<Vec<_>>().join(", "))
)]
#[case::most_tests_of_a_column(
    (0..16).map(|at| format!("s > '{at}'")).collect::<Vec<_>>().join(" OR ")
)]
fn limits_are_reached(#[case] sql: String) {
    predicate(&sql).unwrap();
}

#[rstest]
#[case::column_of_32_bits("i", "", Width::W32)]
#[case::column_of_64_bits("k", "", Width::W64)]
#[case::date("d", "", Width::W32)]
#[case::decimal_as_it_is_stored("p", "", Width::W64)]
#[case::string("s", "", Width::Bytes)]
#[case::constant("7", "", Width::W64)]
#[case::sum("k + 1", "#0: k + 1 (64)", Width::W64)]
#[case::product_of_decimals(
    "p * (1 - q)",
    "#0: 1 * 10000 (128), #1: #0 - q (128), #2: p * #1 (128)",
    Width::W128
)]
#[case::truth("k > 5 OR s = 'x'", "#0: k > 5, #1: s in 'x', #2: #0 or #1", Width::Bool)]
fn outputs(#[case] sql: &str, #[case] steps: &str, #[case] width: Width) {
    let fragment = projection(sql).unwrap();
    assert_eq!(shown(&fragment, &fragment.projection), steps);
    let Output::Rows { columns, .. } = &fragment.output else { panic!("{fragment:?}") };
    assert_eq!(columns.iter().map(|column| column.width).collect::<Vec<_>>(), [width]);
}

#[rstest]
#[case::constant_string("'x'", KeepReason::Type, "Utf8")]
#[case::floating_point("f", KeepReason::Type, "column f is Float64")]
#[case::boolean_column("b", KeepReason::Type, "column b is Boolean")]
#[case::part_of_a_date("extract(year FROM d)", KeepReason::Expression, "date_part(YEAR, d@2)")]
fn outputs_that_are_refused(#[case] sql: &str, #[case] reason: KeepReason, #[case] detail: &str) {
    let kept = projection(sql).unwrap_err();
    assert_eq!((kept.reason, kept.detail.as_str()), (reason, detail));
}

#[test]
fn the_verdict_is_the_last_step() {
    let schema = schema();
    let mut builder = FragmentBuilder::new(&schema, FILE_COLUMNS);
    let kept = lower_truth(&mut builder, Target::Predicate, planned("k > 3").as_ref()).unwrap();
    lower_truth(&mut builder, Target::Predicate, planned("i = 2").as_ref()).unwrap();
    builder.keep_where(kept);
    let fragment = builder.rows(vec![], None).unwrap();
    assert_eq!(shown(&fragment, &fragment.predicate), "#0: k > 3, #1: i = 2, #2: #0 and #0");
}

#[test]
fn narrowing_goes_on_from_the_verdict() {
    let before = predicate("t = 'b' AND s > 'c'").unwrap();
    let schema = schema();
    let mut builder = FragmentBuilder::narrowing(&before, &schema, FILE_COLUMNS);
    let more = planned("t < 'd'");
    let verdict = lower_truth(&mut builder, Target::Predicate, more.as_ref()).unwrap();
    builder.keep_where(verdict);
    let after = builder.finish(before.output.clone()).unwrap();
    let steps = "#0: t in 'b', #1: s > 'c', #2: #0 and #1, #3: t < 'd', #4: #2 and #3";
    assert_eq!(shown(&after, &after.predicate), steps);
    assert_eq!(after.columns, before.columns);
}
