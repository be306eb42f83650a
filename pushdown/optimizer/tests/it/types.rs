// SPDX-License-Identifier: Apache-2.0
//! Tests every type that a drive reads: filtered, grouped, aggregated, sorted and passed through,
//! against the host; and the table of functions against the offloaded operations.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use nearscan_drive::Capabilities;
use nearscan_optimizer::{Decision, functions::pushdown_functions};
use rstest::rstest;

use crate::{bench::Bench, files};

const ROWS: usize = 4000;

/// A value of a list for each row, and now and then NULL.
fn cells<T: Copy>(values: &[T], step: usize) -> Vec<Option<T>> {
    let cell = |row: usize| match row % 11 {
        3 => None,
        _ => Some(values[row * step % values.len()]),
    };
    (0..ROWS).map(cell).collect()
}

/// A column of each type, with extremes and nulls.
fn kinds() -> RecordBatch {
    let floats = [0.0, -0.0, 1.5, -1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN, 5e-324];
    let short = [0.0f32, -0.0, 0.1, -1.5, f32::NAN, f32::NEG_INFINITY, f32::MAX, 1e-45];
    let texts = ["", "a", "ab", "größe", "a%b", "zebra", "ab\u{301}"];
    let days: Vec<i32> = (0..40).map(|at| 8000 + at * 97).collect();
    let moments: Vec<i64> = (0..60).map(|at| 700_000_000_000_000 + at * 86_000_000_123).collect();
    let text = cells(&texts, 5);
    let columns: [(&str, ArrayRef); 20] = [
        ("tiny", Arc::new(Int8Array::from(cells(&[i8::MIN, -1, 0, 3, i8::MAX], 3)))),
        ("small", Arc::new(Int16Array::from(cells(&[i16::MIN, -7, 0, 300, i16::MAX], 3)))),
        ("whole", Arc::new(Int32Array::from(cells(&[i32::MIN, -5, 0, 7, i32::MAX], 2)))),
        ("big", Arc::new(Int64Array::from(cells(&[-9_000_000_000, -1, 0, 12, 1 << 40], 4)))),
        ("utiny", Arc::new(UInt8Array::from(cells(&[0, 1, 200, u8::MAX], 3)))),
        ("usmall", Arc::new(UInt16Array::from(cells(&[0, 1, 40_000, u16::MAX], 3)))),
        ("uwhole", Arc::new(UInt32Array::from(cells(&[0, 1, 3_000_000_000, u32::MAX], 3)))),
        ("ubig", Arc::new(UInt64Array::from(cells(&[0, 1, 1 << 63, u64::MAX], 3)))),
        ("price", Arc::new(Decimal128Array::from(cells(&[-12345, 0, 1, 99_999_999], 3)))),
        ("day", Arc::new(Date32Array::from(cells(&days, 7)))),
        ("milli", Arc::new(TimestampMillisecondArray::from(cells(&[-1, 0, 1_700_000_000_123], 2)))),
        ("micro", Arc::new(TimestampMicrosecondArray::from(cells(&moments, 7)))),
        ("nano", Arc::new(TimestampNanosecondArray::from(cells(&moments, 11)))),
        ("clock", Arc::new(Time64MicrosecondArray::from(cells(&[0, 1, 86_399_999_999], 2)))),
        ("flag", Arc::new(BooleanArray::from(cells(&[true, false, false], 2)))),
        ("real", Arc::new(Float32Array::from(cells(&short, 3)))),
        ("double", Arc::new(Float64Array::from(cells(&floats, 4)))),
        ("half", Arc::new(Float64Array::from(cells(&[0.5, -2.25, 1024.0, 3.0], 3)))),
        ("text", Arc::new(StringArray::from(text.clone()))),
        ("bytes", Arc::new(BinaryArray::from_iter(text.iter().map(|it| it.map(str::as_bytes))))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let mut batch = batch.unwrap();
    let price = batch.schema().index_of("price").unwrap();
    let scaled = batch.column(price).as_any().downcast_ref::<Decimal128Array>().unwrap().clone();
    let scaled: ArrayRef = Arc::new(scaled.with_precision_and_scale(15, 2).unwrap());
    let mut fields = batch.schema().fields().to_vec();
    fields[price] =
        Arc::new(arrow::datatypes::Field::new("price", scaled.data_type().clone(), true));
    let mut columns = batch.columns().to_vec();
    columns[price] = scaled;
    batch = RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns).unwrap();
    batch
}

fn bench() -> Bench {
    Bench::new().table("kinds", &kinds(), files::usual())
}

const COLUMNS: [&str; 20] = [
    "tiny", "small", "whole", "big", "utiny", "usmall", "uwhole", "ubig", "price", "day", "milli",
    "micro", "nano", "clock", "flag", "real", "double", "half", "text", "bytes",
];

/// Tests each type alone: passed through, tested for NULL, and compared with its values.
#[tokio::test]
async fn values_arrive_as_they_are() {
    let bench = bench();
    for column in COLUMNS {
        bench.check(&format!("SELECT {column} FROM kinds WHERE {column} IS NOT NULL")).await;
        bench.check(&format!("SELECT tiny AS n, {column} FROM kinds WHERE whole > 0")).await;
        bench.check(&format!("SELECT count({column}) FROM kinds WHERE big <> 0")).await;
        bench.check(&format!("SELECT count(*) FROM kinds WHERE {column} IS NULL")).await;
    }
}

#[rstest]
#[case("tiny > -1 AND small <= 300")]
#[case("utiny = 200 OR usmall > 1 OR uwhole >= 3000000000")]
#[case("ubig > 9223372036854775807")]
#[case("ubig = 18446744073709551615")]
#[case("day BETWEEN DATE '1993-01-01' AND DATE '1996-06-30'")]
#[case("milli < TIMESTAMP '2000-01-01'")]
#[case("micro >= TIMESTAMP '1992-03-07T20:26:40'")]
#[case("nano < CAST(day AS TIMESTAMP)")]
#[case("clock > arrow_cast('00:00:00', 'Time64(µs)')")]
#[case("flag")]
#[case("NOT flag OR tiny = 3")]
#[case("flag IS NOT TRUE")]
#[case("flag IS DISTINCT FROM (tiny > 0)")]
#[case("real < 0.5")]
#[case("double > -1.0")]
#[case("double = 0.0")]
#[case("double < CAST('NaN' AS DOUBLE)")]
#[case("real < double")]
#[case("text LIKE 'a%' AND text NOT LIKE '%b'")]
#[case("text LIKE 'gr__e' OR text LIKE '%\\%%'")]
#[case("starts_with(text, 'ab') OR contains(text, 'ebr')")]
#[case("substr(text, 1, 2) IN ('ab', 'b', 'ze', NULL) OR left(text, 3) <> 'abc'")]
#[case("substr(text, 3, 4) = 'br' OR substr(text, 2, 1) NOT IN ('b', 'e')")]
#[case("bytes > X'6162'")]
#[case("tiny IS DISTINCT FROM 3")]
#[case("text IS DISTINCT FROM 'a'")]
#[case("whole % 3 = 1 OR big / 4 = 3")]
#[case("big % -5 = -1")]
#[case("-big > 0 AND -big < 5")]
#[case("CASE WHEN flag THEN big ELSE -big - 1 END >= 0")]
#[case("CASE tiny WHEN 3 THEN flag WHEN 0 THEN NOT flag ELSE text = 'a' END")]
#[case("extract(month FROM day) = 2 OR extract(day FROM micro) > 15")]
#[case("extract(month FROM milli) = 12")]
#[case("CAST(price AS BIGINT) = 123 OR CAST(price AS DECIMAL(15, 1)) = 0.0")]
#[case("price > tiny")]
#[case("nullif(whole, 7) IS NULL")]
#[case("small IN (300, -7, 12, 14, 15)")]
#[tokio::test]
async fn conditions(#[case] condition: &str) {
    bench().check(&format!("SELECT tiny, big, text FROM kinds WHERE {condition}")).await;
}

#[rstest]
#[case("extract(year FROM day), extract(month FROM nano), extract(day FROM milli)")]
#[case("whole % 7, big / 3, -small")]
#[case("CASE WHEN flag THEN price ELSE 0 END, CASE WHEN tiny > 0 THEN 1 WHEN tiny < 0 THEN -1 END")]
#[case("tiny > small, flag AND tiny = 3, flag IS TRUE")]
#[case("CAST(tiny AS BIGINT) * 3, CAST(flag AS INT), CAST(real AS DOUBLE)")]
#[case("CAST(day AS TIMESTAMP), CAST(utiny AS INT) + 1")]
#[tokio::test]
async fn outputs(#[case] columns: &str) {
    let sql = format!("SELECT {columns} FROM kinds WHERE whole > -2147483648 AND usmall >= 0");
    bench().check(&sql).await;
}

#[rstest]
#[case("min(tiny), max(small), min(uwhole), max(ubig), min(price), max(day)")]
#[case("min(micro), max(nano), min(clock), max(milli), min(text), max(text), max(bytes)")]
#[case("min(real), max(real), min(double), max(double), min(half)")]
#[case("bool_and(flag), bool_or(flag), bool_or(tiny > 3), count(flag OR tiny > 0)")]
#[case("sum(tiny), sum(usmall), sum(big), avg(tiny), avg(uwhole), sum(price), avg(price)")]
#[case("sum(CASE WHEN flag THEN price ELSE 0 END), count(*) FILTER (WHERE NOT flag)")]
#[case("count(CASE WHEN tiny > 0 THEN 1 END), sum(CASE WHEN text LIKE 'a%' THEN 1 ELSE 0 END)")]
#[tokio::test]
async fn aggregates(#[case] list: &str) {
    let bench = bench();
    bench.check(&format!("SELECT {list} FROM kinds WHERE tiny IS NOT NULL")).await;
    bench.check(&format!("SELECT {list} FROM kinds WHERE whole < 8")).await;
    bench.check(&format!("SELECT {list} FROM kinds WHERE tiny > 3 AND tiny < 3")).await;
}

#[rstest]
#[case("tiny")]
#[case("flag")]
#[case("utiny, flag")]
#[case("extract(month FROM day)")]
#[case("extract(year FROM day), flag")]
#[case("extract(year FROM micro)")]
#[case("text")]
#[case("text, tiny % 4")]
#[case("CASE WHEN tiny > 0 THEN 1 WHEN tiny < 0 THEN -1 END")]
#[case("whole > 0")]
#[case("bytes, text")]
#[case("price")]
#[case("clock")]
#[tokio::test]
async fn group_keys(#[case] keys: &str) {
    let sql = format!(
        "SELECT {keys}, count(*), sum(price), min(text), max(day) FROM kinds GROUP BY {keys} \
         ORDER BY {keys}"
    );
    bench().check(&sql).await;
}

#[rstest]
#[case("big DESC, tiny, text, price, day, micro")]
#[case("day ASC NULLS FIRST, big, tiny, text, price, micro")]
#[case("half DESC NULLS LAST, big, tiny, text, price, day, micro")]
#[case("price * 2, big, tiny, text, day, micro")]
#[case("ubig DESC, flag, big, tiny, text, price, day, micro")]
#[tokio::test]
async fn first_rows(#[case] order: &str) {
    let columns = "big, tiny, text, price, day, micro";
    for count in [1, 20, 128] {
        let sql = format!("SELECT {columns} FROM kinds ORDER BY {order} LIMIT {count}");
        let run = bench().check(&sql).await;
        let kept = run.metric("rows_out");
        assert!(
            kept >= count && kept < ROWS * 3 / 4,
            "{kept} rows of {ROWS}, {count} were requested"
        );
    }
}

#[tokio::test]
async fn sums_of_floats_are_offloaded_when_the_user_lets_them() {
    let sql = "SELECT sum(half), avg(half), count(half), avg(big) FROM kinds WHERE tiny > 0";
    let bench = bench().set("nearscan.pushdown.allow_float_reorder", "true");
    bench.check(sql).await;
}

/// Every row of the table of functions, tried.
#[tokio::test]
async fn table_of_functions_matches_the_offloaded_operations() {
    let bench = bench();
    let functions = pushdown_functions(&Capabilities::of_scan_kernel());
    assert!(functions.len() > 200, "{}", functions.len());
    for row in functions {
        let column = match row.data_type {
            "TINYINT" => "tiny",
            "SMALLINT" => "small",
            "INT" => "whole",
            "BIGINT" => "big",
            "TINYINT UNSIGNED" => "utiny",
            "SMALLINT UNSIGNED" => "usmall",
            "INT UNSIGNED" => "uwhole",
            "BIGINT UNSIGNED" => "ubig",
            "DECIMAL(<=18)" => "price",
            "DATE" => "day",
            "TIMESTAMP" => "micro",
            "TIME" => "clock",
            "BOOLEAN" => "flag",
            "REAL" => "real",
            "DOUBLE" => "double",
            "VARCHAR" | "" => "text",
            other => panic!("a type without a column: {other}"),
        };
        let Some(sql) = statement(row.function, column, row.data_type) else { continue };
        let (_, _, candidates) = bench.decide(&sql).await;
        let [candidate] = candidates.as_slice() else { panic!("{sql}: {candidates:?}") };
        let is_offloaded =
            matches!(candidate.decision, Decision::Offload { .. }) && candidate.above.is_none();
        assert_eq!(is_offloaded, row.offloadable, "{row:?}\n{sql}\n{candidate}");
        let kept = match (&candidate.decision, &candidate.above) {
            (Decision::Keep(kept), _) | (Decision::Offload { .. }, Some(kept)) => {
                kept.reason.word()
            }
            _ => "",
        };
        assert_eq!(kept, row.reason, "{row:?}\n{sql}\n{candidate}");
    }
}

/// A statement that is offloaded whole if the function is; nothing for what SQL does not have.
fn statement(function: &str, column: &str, data_type: &str) -> Option<String> {
    let condition = |text: String| Some(format!("SELECT tiny FROM kinds WHERE {text}"));
    let aggregate = |text: String| Some(format!("SELECT {text} FROM kinds"));
    match function {
        // Computed in the column's own type: with a literal it would be cast to a wider one.
        "+" | "-" | "*" => match data_type {
            "DATE" | "TIMESTAMP" | "TIME" | "BOOLEAN" => None,
            _ => condition(format!("({column} {function} {column}) IS NULL")),
        },
        "/" | "%" => match data_type {
            "DATE" | "TIMESTAMP" | "TIME" | "BOOLEAN" => None,
            "INT" => condition(format!("({column} {function} CAST(3 AS INT)) IS NULL")),
            "BIGINT" => condition(format!("({column} {function} 3) IS NULL")),
            _ => condition(format!("({column} {function} {column}) IS NULL")),
        },
        "=" | "<>" | "<" | "<=" | ">" | ">=" if data_type == "VARCHAR" => {
            condition(format!("{column} {function} 'a'"))
        }
        "IN" if data_type == "VARCHAR" => condition(format!("{column} IN ('a', 'b', 'c', 'd')")),
        "LIKE" | "ILIKE" => condition(format!("{column} {function} 'a%b'")),
        "starts_with" => condition(format!("starts_with({column}, 'a')")),
        "substr" => condition(format!("substr({column}, 2, 1) = 'b'")),
        "left" => condition(format!("left({column}, 2) <> 'ab'")),
        "||" => condition(format!("{column} || 'x' = 'ax'")),
        "upper" => condition(format!("upper({column}) = 'A'")),
        // Two columns of the type, so that no literal has to be written.
        "=" | "<>" | "<" | "<=" | ">" | ">=" | "IS DISTINCT FROM" => {
            let other = format!("CASE WHEN flag THEN {column} END");
            condition(format!("{column} {function} {other}"))
        }
        "BETWEEN" => {
            let other = format!("CASE WHEN flag THEN {column} END");
            condition(format!("{column} BETWEEN {other} AND {column}"))
        }
        "CASE" => condition(format!("CASE WHEN tiny > 0 THEN {column} END IS NULL")),
        "IN" => {
            let list = match data_type {
                "DATE" => {
                    "DATE '1995-01-01', DATE '1996-01-01', DATE '1997-01-01', DATE '1998-01-01'"
                }
                "TIMESTAMP" | "TIME" | "BOOLEAN" => return None,
                _ => "1, 2, 3, 4",
            };
            let cast = arrow_name(data_type)?;
            let items: Vec<String> =
                list.split(", ").map(|item| format!("arrow_cast({item}, '{cast}')")).collect();
            condition(format!("{column} IN ({})", items.join(", ")))
        }
        "IS NULL" | "IS NOT NULL" => condition(format!("{column} {function}")),
        "extract(year)" => condition(format!("extract(year FROM {column}) % 4 = 0")),
        "extract(month)" => condition(format!("extract(month FROM {column}) = 4")),
        "extract(day)" => condition(format!("extract(day FROM {column}) = 4")),
        "count(*)" => aggregate("count(*) FILTER (WHERE tiny > 0)".to_owned()),
        "count(DISTINCT)" => aggregate("count(DISTINCT big), sum(DISTINCT small)".to_owned()),
        "sum" | "avg" if matches!(data_type, "DATE" | "TIMESTAMP" | "TIME" | "BOOLEAN") => None,
        "min" | "max" if data_type == "BOOLEAN" => None,
        // Statistics of footers would answer it without a filter.
        name => aggregate(format!("{name}({column}) FILTER (WHERE tiny > 0)")),
    }
}

/// The name of a type for a cast.
fn arrow_name(data_type: &str) -> Option<&'static str> {
    Some(match data_type {
        "TINYINT" => "Int8",
        "SMALLINT" => "Int16",
        "INT" => "Int32",
        "BIGINT" => "Int64",
        "TINYINT UNSIGNED" => "UInt8",
        "SMALLINT UNSIGNED" => "UInt16",
        "INT UNSIGNED" => "UInt32",
        "BIGINT UNSIGNED" => "UInt64",
        "DECIMAL(<=18)" => "Decimal128(15, 2)",
        "DATE" => "Date32",
        "REAL" => "Float32",
        "DOUBLE" => "Float64",
        _ => return None,
    })
}
