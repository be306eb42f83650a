// SPDX-License-Identifier: Apache-2.0
//! Tests lowering with tables of SQL expressions: the steps of each, or the reason why it is kept.
//!
//! A step is shown as `#n: step`, numbers unscaled; the last one is the verdict.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::{
    common::DFSchema, logical_expr::simplify::SimplifyContext,
    optimizer::simplify_expressions::ExprSimplifier, physical_expr::PhysicalExpr,
    prelude::SessionContext,
};
use nearscan_command::{
    Fragment, Op, Operand, Output, Program, Step, TestOp, Width, float_order, pattern,
};
use rstest::rstest;

use crate::{
    decision::KeepReason,
    lower::{FragmentBuilder, Lowered, builder::Target, rows::lower_rows},
};

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
        ("m", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("n", DataType::Int16),
        ("g", DataType::Float32),
        ("y", DataType::Binary),
        ("part", DataType::Int64),
    ];
    Schema::new(columns.map(column).to_vec())
}

/// The last column is in the names of folders only.
const FILE_COLUMNS: usize = 14;

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
        let verdict = builder.lower_truth(Target::Predicate, conjunct.as_ref())?;
        builder.keep_where(verdict);
    }
    builder.rows(vec![], None)
}

fn projection(sql: &str) -> Lowered<Fragment> {
    let schema = schema();
    let mut builder = FragmentBuilder::new(&schema, FILE_COLUMNS);
    let (columns, _) = lower_rows(&mut builder, &[planned(sql)])?;
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
        Op::Divide => "/",
        Op::DivideRound => "/~",
        Op::DivideFloor => "/_",
        Op::Remainder => "%",
        Op::IsDistinct => "is distinct from",
        Op::IsNotDistinct => "is not distinct from",
        Op::Select => return format!("if {a} then {b} else {c}{width}"),
        Op::Year => return format!("year {a}"),
        Op::Month => return format!("month {a}"),
        Op::Day => return format!("day {a}"),
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
            let sign = |item: &u8| match *item {
                pattern::ANY => b'%',
                pattern::ONE => b'_',
                sign => sign,
            };
            let text = |items: &Vec<u8>| {
                String::from_utf8_lossy(&items.iter().map(sign).collect::<Vec<u8>>()).into_owned()
            };
            let texts: Vec<_> = test.strings.iter().map(text).collect();
            let sign = match test.op {
                TestOp::In => "in",
                TestOp::Less => "<",
                TestOp::LessOrEqual => "<=",
                TestOp::Greater => ">",
                TestOp::GreaterOrEqual => ">=",
                TestOp::Like => "like",
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
#[case::between("k BETWEEN 1 AND 3", "#0: k between 1 and 3")]
#[case::bounds_that_are_left_out(
    "1 < k AND i = 2 AND k < 5",
    "#0: i = 2, #1: k between 2 and 4, #2: #1 and #0"
)]
#[case::bounds_of_two_numbers("k > 1 AND i < 5", "#0: k > 1, #1: i < 5, #2: #0 and #1")]
#[case::bounds_on_one_side(
    "k > 1 AND k > i AND k <= 7",
    "#0: k > i, #1: k between 2 and 7, #2: #1 and #0"
)]
#[case::the_narrowest_of_many_bounds(
    "k > 1 AND k >= 5 AND k < 9 AND k <> 7 AND k <= 20",
    "#0: k <> 7, #1: k between 5 and 8, #2: #1 and #0"
)]
#[case::bounds_that_no_number_meets("p > 2 AND p < 1", "#0: p between 201 and 99")]
#[case::bounds_within_a_branch(
    "k = 9 OR d >= DATE '1970-01-05' AND d < DATE '1970-01-09'",
    "#0: k = 9, #1: d between 4 and 7, #2: #0 or #1"
)]
#[case::bounds_that_are_used_elsewhere(
    "k >= 5 AND k <= 9 AND (k >= 5) IS NOT NULL",
    "#0: k >= 5, #1: #0 is not null, #2: k between 5 and 9, #3: #2 and #1"
)]
#[case::bounds_of_a_sum("k + i >= 5 AND k + i < 9", "#0: k + i (64), #1: #0 between 5 and 8")]
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
#[case::two_zeros_are_one("f >= -0.0", "#0: f = -1, #1: if #0 then 0 else f (64), #2: #1 >= 0")]
#[case::division("k / 2 > 1", "#0: k / 2 (64), #1: #0 > 1")]
#[case::modulo("k % -2 = 1", "#0: k % -2 (64), #1: #0 = 1")]
#[case::negative("-k > 1", "#0: 0 - k (64), #1: #0 > 1")]
#[case::boolean_column("b", "#0: b = 1")]
#[case::no_boolean_column("NOT b OR k = 1", "#0: b = 1, #1: not #0, #2: k = 1, #3: #1 or #2")]
#[case::is_true("(k > 5) IS TRUE", "#0: k > 5, #1: #0 is not null, #2: #1 and #0")]
#[case::is_not_false(
    "(k > 5) IS NOT FALSE",
    "#0: k > 5, #1: not #0, #2: #1 is not null, #3: #2 and #1, #4: not #3"
)]
#[case::distinct("k IS DISTINCT FROM 5", "#0: k is distinct from 5")]
#[case::not_distinct("k IS NOT DISTINCT FROM i", "#0: k is not distinct from i")]
#[case::distinct_strings(
    "s IS DISTINCT FROM 'x'",
    "#0: s in 'x', #1: #0 is not null, #2: #1 and #0, #3: not #2"
)]
#[case::unsigned("u > 5", "#0: u > 5")]
#[case::narrow("n + 1 > 5", "#0: n + 1 (64), #1: #0 > 5")]
#[case::timestamps("m < TIMESTAMP '1970-01-01T00:00:01'", "#0: m < 1000000")]
#[case::like("s LIKE 'x_y%%z\\%'", "#0: s like 'x_y%z%'")]
#[case::not_like("s NOT LIKE '%x'", "#0: s like '%x', #1: not #0")]
#[case::starts_with("starts_with(s, 'x%')", "#0: s like 'x%%'")]
#[case::first_signs("substr(s, 1, 2) = 'xy'", "#0: s like 'xy%'")]
#[case::signs_further_on("substr(s, 3, 2) <> 'xy'", "#0: s like '__xy%', #1: not #0")]
#[case::fewer_signs_than_asked_for("left(s, 3) = 'xy'", "#0: s like 'xy'")]
#[case::signs_in_a_list(
    "substr(s, 1, 2) IN ('xy', 'z')",
    "#0: s like 'xy%', #1: s like 'z', #2: #0 or #1"
)]
#[case::binary("y = X'6162'", "#0: y in 'ab'")]
#[case::case_when(
    "CASE WHEN k > 1 THEN i ELSE 7 END > 2",
    "#0: k > 1, #1: if #0 then i else 7 (64), #2: #1 > 2"
)]
#[case::case_of_a_value(
    "CASE k WHEN 1 THEN k WHEN 2 THEN 5 END = 5",
    "#0: k = 2, #1: if #0 then 5 else null (64), #2: k = 1, #3: if #2 then k else #1 (64), #4: #3 \
     = 5"
)]
#[case::part_of_a_date("extract(day FROM d) = 31", "#0: day d, #1: #0 = 31")]
#[case::part_of_a_timestamp(
    "extract(month FROM m) = 2",
    "#0: m /_ 86400000000 (64), #1: month #0, #2: #1 = 2"
)]
#[case::a_cast_that_rounds(
    "CAST(p AS DECIMAL(16, 1)) = CAST(i AS DECIMAL(16, 1))",
    "#0: p /~ 10 (128), #1: i * 10 (128), #2: #0 = #1"
)]
#[case::a_cast_that_cuts_off("CAST(p AS BIGINT) = k", "#0: p / 100 (64), #1: #0 = k")]
fn predicate_lowers_to_steps(#[case] sql: &str, #[case] steps: &str) {
    let fragment = predicate(sql).unwrap();
    assert_eq!(shown(&fragment, &fragment.predicate), steps);
    let columns: Vec<u16> = fragment.tests.iter().map(|test| test.column).collect();
    assert!(columns.is_sorted(), "{columns:?}");
}

#[rstest]
#[case::division_by_a_column("k / i > 1", KeepReason::Expression, "k@1 / CAST(i@0 AS Int64)")]
#[case::division_of_decimals("p / 2 > 1", KeepReason::Expression, "p@3 / 2")]
#[case::narrow_arithmetic("n * n > 1", KeepReason::Expression, "n@11 * n@11")]
#[case::ilike("s ILIKE 'x%'", KeepReason::Expression, "s@5 ILIKE x%")]
#[case::a_list_of_floats(
    "f IN (1.5, 2.5, 3.5, 4.5)",
    KeepReason::Expression,
    "f@7 IN (SET) ([1.5, 2.5, 3.5, 4.5])"
)]
#[case::float_arithmetic("f + 1 > 2", KeepReason::Expression, "f@7 + 1")]
#[case::part_of_a_week("extract(dow FROM d) = 1", KeepReason::Expression, "date_part(DOW, d@2)")]
#[case::strings_of_two_columns("s = t", KeepReason::Expression, "CAST(t@6 AS Utf8View)")]
#[case::a_function_of_a_string("upper(s) = 'X'", KeepReason::Expression, "upper(s@5)")]
#[case::case_when(
    "CASE WHEN k > 1 THEN i ELSE CAST(k AS INT) END > 2",
    KeepReason::Expression,
    "CAST(k@1 AS Int32)"
)]
#[case::a_cast_that_may_fail("CAST(k AS INT) = i", KeepReason::Expression, "CAST(k@1 AS Int32)")]
#[case::a_cast_that_rounds(
    "CAST(p AS DECIMAL(14, 1)) = CAST(i AS DECIMAL(14, 1))",
    KeepReason::Expression,
    "CAST(p@3 AS Decimal128(14, 1))"
)]
#[case::a_cast_that_may_not_fit(
    "CAST(k AS DECIMAL(15, 2)) = 1.5",
    KeepReason::Expression,
    "CAST(k@1 AS Decimal128(15, 2))"
)]
#[case::a_date_as_a_number("CAST(d AS INT) = i", KeepReason::Expression, "CAST(d@2 AS Int32)")]
#[case::unsigned_as_signed("CAST(u AS BIGINT) = k", KeepReason::Expression, "CAST(u@9 AS Int64)")]
#[case::intervals(
    "d + INTERVAL '1' MONTH > DATE '1994-01-01'",
    KeepReason::Expression,
    "d@2 + IntervalMonthDayNano { months: 1, days: 0, nanoseconds: 0 }"
)]
#[case::a_column_that_is_not_in_the_files(
    "part = 1",
    KeepReason::ScanOption,
    "column part is not in the files"
)]
fn predicate_without_counterpart_is_kept(
    #[case] sql: &str,
    #[case] reason: KeepReason,
    #[case] detail: &str,
) {
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
#[case::many_patterns_of_a_column(
    (0..9).map(|at| format!("s LIKE '%{at}%'")).collect::<Vec<_>>().join(" OR "),
    "more than 8 patterns of a column"
)]
#[case::many_strings_of_a_column(
    format!("s IN ({})", (0..257).map(|at| format!("'{at}'")).collect::<Vec<_>>().join(", ")),
    "257 literals of a column, the limit is 256"
)]
fn predicate_beyond_a_limit_of_the_format_is_kept(#[case] sql: String, #[case] detail: &str) {
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
#[case::most_patterns_of_a_column(
    (0..8).map(|at| format!("s LIKE '%{at}%'")).collect::<Vec<_>>().join(" OR ")
)]
#[case::most_tests_of_a_column(
    (0..16).map(|at| format!("s > '{at}'")).collect::<Vec<_>>().join(" OR ")
)]
fn predicate_at_a_limit_of_the_format_lowers(#[case] sql: String) {
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
#[case::floating_point("f", "", Width::W64)]
#[case::short_floating_point("g", "", Width::W64)]
#[case::boolean_column("b", "", Width::W32)]
#[case::unsigned("u", "", Width::W128)]
#[case::narrow("n", "", Width::W32)]
#[case::timestamp("m", "", Width::W64)]
#[case::binary("y", "", Width::Bytes)]
#[case::part_of_a_date("extract(year FROM d)", "#0: year d", Width::W32)]
#[case::null_if("nullif(k, 5)", "#0: k = 5, #1: if #0 then null else k (64)", Width::W64)]
fn output_lowers_to_steps(#[case] sql: &str, #[case] steps: &str, #[case] width: Width) {
    let fragment = projection(sql).unwrap();
    assert_eq!(shown(&fragment, &fragment.projection), steps);
    let Output::Rows { columns, .. } = &fragment.output else { panic!("{fragment:?}") };
    assert_eq!(columns.iter().map(|column| column.width).collect::<Vec<_>>(), [width]);
}

#[rstest]
#[case::constant_string("'x'", KeepReason::Type, "Utf8")]
#[case::sum_of_floats("f + f", KeepReason::Expression, "f@7 + f@7")]
#[case::case_of_strings("CASE WHEN k > 1 THEN s ELSE 'x' END", KeepReason::Type, "Utf8View")]
fn output_without_counterpart_is_kept(
    #[case] sql: &str,
    #[case] reason: KeepReason,
    #[case] detail: &str,
) {
    let kept = projection(sql).unwrap_err();
    assert_eq!((kept.reason, kept.detail.as_str()), (reason, detail));
}

#[rstest]
#[case("f > 1.5", 1.5)]
#[case("f < CAST('NaN' AS DOUBLE)", f64::NAN)]
#[case("f = CAST('-Infinity' AS DOUBLE)", f64::NEG_INFINITY)]
#[case("g >= CAST(0.1 AS FLOAT)", f64::from(0.1f32))]
fn float_literal_is_its_place_in_the_total_order(#[case] sql: &str, #[case] number: f64) {
    let fragment = predicate(sql).unwrap();
    assert_eq!(fragment.literals, [i128::from(float_order(number))]);
}

#[test]
fn verdict_is_the_last_step_of_a_predicate() {
    let schema = schema();
    let mut builder = FragmentBuilder::new(&schema, FILE_COLUMNS);
    let kept = builder.lower_truth(Target::Predicate, planned("k > 3").as_ref()).unwrap();
    builder.lower_truth(Target::Predicate, planned("i = 2").as_ref()).unwrap();
    builder.keep_where(kept);
    let fragment = builder.rows(vec![], None).unwrap();
    assert_eq!(shown(&fragment, &fragment.predicate), "#0: k > 3");
}

#[test]
fn narrowing_continues_from_the_verdict() {
    let before = predicate("t = 'b' AND s > 'c'").unwrap();
    let schema = schema();
    let mut builder = FragmentBuilder::narrowing(&before, &schema, FILE_COLUMNS);
    let more = planned("t < 'd'");
    let verdict = builder.lower_truth(Target::Predicate, more.as_ref()).unwrap();
    builder.keep_where(verdict);
    let after = builder.finish(before.output.clone()).unwrap();
    let steps = "#0: t in 'b', #1: s > 'c', #2: #0 and #1, #3: t < 'd', #4: #2 and #3";
    assert_eq!(shown(&after, &after.predicate), steps);
    assert_eq!(after.columns, before.columns);
}
