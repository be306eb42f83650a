// SPDX-License-Identifier: Apache-2.0
//! Tests tables whose files store a key in a narrower or another type than the table declares: the
//! bounds of row groups are those of the stored type, and no row is lost by them.

use std::sync::Arc;

use arrow::{
    array::{
        ArrayRef, AsArray, Date32Array, Decimal128Array, Int8Array, Int16Array, Int64Array,
        RecordBatch, TimestampMillisecondArray, TimestampNanosecondArray, UInt8Array, UInt16Array,
        UInt32Array, UInt64Array,
    },
    compute::{cast, take},
    datatypes::{DataType, TimeUnit},
};
use datafusion::physical_plan::collect;
use rstest::rstest;

use crate::{
    bench::{Bench, Run, plan_of, shown, texts},
    files,
};

/// Rows of a table, in four row groups.
const ROWS: i64 = 4000;

/// Each so many rows, one has a key that the other table has.
const STEP: usize = 1234;

/// Keys from `first` on, each as often as `repeated` says.
fn keys(first: i128, repeated: i64) -> impl Iterator<Item = i128> {
    (0..ROWS).map(move |row| first + i128::from(row / repeated))
}

fn to<T: TryFrom<i128>>(key: i128) -> Option<T> {
    T::try_from(key).ok()
}

/// Ascending keys as files store them, around the number from which on a signed type of as many
/// bits is negative.
fn uint32() -> ArrayRef {
    Arc::new(keys((1 << 31) - 1500, 1).map(to).collect::<UInt32Array>())
}

fn uint16() -> ArrayRef {
    Arc::new(keys((1 << 15) - 1500, 1).map(to).collect::<UInt16Array>())
}

fn uint8() -> ArrayRef {
    Arc::new(keys(0, 16).map(to).collect::<UInt8Array>())
}

fn uint64() -> ArrayRef {
    Arc::new(keys((1 << 63) - 1500, 1).map(to).collect::<UInt64Array>())
}

fn int16() -> ArrayRef {
    Arc::new(keys(-1500, 1).map(to).collect::<Int16Array>())
}

fn int8() -> ArrayRef {
    Arc::new(keys(-100, 20).map(to).collect::<Int8Array>())
}

fn date() -> ArrayRef {
    Arc::new(keys(-1500, 1).map(to).collect::<Date32Array>())
}

/// Whole days.
fn millis() -> ArrayRef {
    let moments = keys(-1500, 1).map(|key| to(key * 86_400_000));
    Arc::new(moments.collect::<TimestampMillisecondArray>())
}

/// Stored in 32 bits, in 64 bits, and as bytes.
fn decimal(precision: u8) -> ArrayRef {
    let keys: Decimal128Array = keys(-1500, 1).map(Some).collect();
    Arc::new(keys.with_precision_and_scale(precision, 2).unwrap())
}

fn table(keys: ArrayRef) -> RecordBatch {
    let rows = i64::try_from(keys.len()).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    RecordBatch::try_from_iter([("k", keys), ("v", numbers)]).unwrap()
}

/// Which files a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// One in another type than the table's.
    Other,
    /// That, and one of the same rows in the type of the table.
    Both,
}

/// The tables `stored`, of which a file has `keys` where the table has `data_type`, and `few`,
/// which has some of them in the type of the table.
fn with_tables(
    bench: Bench,
    (files, keys): (Files, &ArrayRef),
    (data_type, sql_type): (&DataType, &str),
) -> Bench {
    let as_table = cast(keys, data_type).unwrap();
    std::fs::create_dir(bench.path("stored")).unwrap();
    let write = |name: &str, keys: &ArrayRef| {
        files::write(&bench.path(name), &table(Arc::clone(keys)), files::usual());
    };
    write("stored/other.parquet", keys);
    if files == Files::Both {
        write("stored/same.parquet", &as_table);
    }
    let chosen = Int64Array::from_iter_values((0..ROWS).step_by(STEP));
    let few = take(&as_table, &chosen, None).unwrap();
    let location = bench.path("stored").display().to_string();
    bench
        .set("datafusion.execution.target_partitions", "1")
        .set("datafusion.optimizer.join_reordering", "false")
        .table("few", &table(few), files::usual())
        .sql(format!(
            "CREATE EXTERNAL TABLE stored (k {sql_type}, v BIGINT) STORED AS PARQUET \
             LOCATION '{location}/'"
        ))
}

const JOIN: &str = "SELECT stored.v FROM few JOIN stored ON few.k = stored.k ORDER BY 1";

/// The rows of the join in one file: those with one of the chosen keys.
fn partners(keys: &ArrayRef) -> Vec<String> {
    let keys = cast(keys, &DataType::Utf8).unwrap();
    let keys: Vec<Option<&str>> = keys.as_string::<i32>().iter().collect();
    let chosen: Vec<Option<&str>> = keys.iter().copied().step_by(STEP).collect();
    let rows = (0..keys.len()).filter(|row| chosen.contains(&keys[*row]));
    rows.map(|row| row.to_string()).collect()
}

/// Runs a statement with all rules, and compares its rows with those of DataFusion.
async fn check(bench: &Bench, sql: &str) -> Run {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let rows = texts(&collect(Arc::clone(&plan), session.task_ctx()).await.unwrap());
    assert_eq!(rows, bench.expected(sql).await, "{sql}\n{}", shown(&plan));
    Run { rows, plan }
}

/// Last whether joins collect keys of the type of the table.
#[rstest]
#[case::uint32_in_bigint(uint32(), DataType::Int64, "BIGINT", true)]
#[case::uint16_in_bigint(uint16(), DataType::Int64, "BIGINT", true)]
#[case::uint16_in_int(uint16(), DataType::Int32, "INT", true)]
#[case::uint8_in_bigint(uint8(), DataType::Int64, "BIGINT", true)]
#[case::uint8_in_smallint(uint8(), DataType::Int16, "SMALLINT", true)]
#[case::uint32_in_unsigned_bigint(uint32(), DataType::UInt64, "BIGINT UNSIGNED", false)]
#[case::uint64(uint64(), DataType::UInt64, "BIGINT UNSIGNED", false)]
#[case::uint64_in_decimal(uint64(), DataType::Decimal128(20, 0), "DECIMAL(20, 0)", false)]
#[case::int16_in_bigint(int16(), DataType::Int64, "BIGINT", true)]
#[case::int8_in_int(int8(), DataType::Int32, "INT", true)]
#[case::date(date(), DataType::Date32, "DATE", true)]
#[case::date_in_timestamp(
    date(),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    "TIMESTAMP",
    false
)]
#[case::millis_in_timestamp(
    millis(),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    "TIMESTAMP",
    false
)]
#[case::millis_in_date(millis(), DataType::Date32, "DATE", true)]
#[case::decimal_in_32_bits(decimal(9), DataType::Decimal128(9, 2), "DECIMAL(9, 2)", false)]
#[case::decimal_in_64_bits(decimal(18), DataType::Decimal128(18, 2), "DECIMAL(18, 2)", false)]
#[case::decimal_in_bytes(decimal(30), DataType::Decimal128(30, 2), "DECIMAL(30, 2)", false)]
#[case::decimal_of_other_scale(decimal(9), DataType::Decimal128(12, 4), "DECIMAL(12, 4)", false)]
#[tokio::test]
async fn rows_of_a_key_are_found_when_a_file_stores_it_in_another_type(
    #[case] keys: ArrayRef,
    #[case] data_type: DataType,
    #[case] sql_type: &str,
    #[case] is_linked: bool,
    #[values(Files::Other, Files::Both)] files: Files,
    #[values("off", "force")] pushdown: &str,
) {
    let bench = Bench::new().set("nearscan.pushdown.mode", pushdown);
    let bench = with_tables(bench, (files, &keys), (&data_type, sql_type));
    let run = check(&bench, JOIN).await;
    let mut expected = partners(&cast(&keys, &data_type).unwrap());
    if files == Files::Both {
        expected = expected.into_iter().flat_map(|row| [row.clone(), row]).collect();
    }
    let mut rows = run.rows.clone();
    rows.sort_by_key(|row| row.parse::<i64>().unwrap());
    assert_eq!(rows, expected, "{}", shown(&run.plan));
    let shown = shown(&run.plan);
    let is_read_here = !shown.contains("DataSourceExec");
    assert_eq!(shown.contains("join_keys=[k]"), is_linked && is_read_here, "{shown}");
    let text = cast(&cast(&keys, &data_type).unwrap(), &DataType::Utf8).unwrap();
    let (text, row) = (text.as_string::<i32>(), 3 * STEP);
    let sql = format!(
        "SELECT v FROM stored WHERE k = CAST('{}' AS {sql_type}) ORDER BY 1",
        text.value(row)
    );
    let run = check(&bench, &sql).await;
    let row = i64::try_from(row).unwrap();
    assert!(run.rows.contains(&row.to_string()), "{sql}");
    for sql in [
        "SELECT k, v FROM stored ORDER BY k, v",
        "SELECT k, count(*), sum(v) FROM stored GROUP BY k ORDER BY k",
        "SELECT min(k), max(k), count(*) FROM stored WHERE v > 10",
    ] {
        check(&bench, sql).await;
    }
}

/// Without a zone they are what a clock of the table's zone showed.
#[rstest]
#[case::without_zone(None, "1970-01-01T00:01:00+02:00")]
#[case::of_utc(Some("UTC"), "1970-01-01T02:01:00+02:00")]
#[tokio::test]
async fn timestamps_of_files_without_a_zone_are_of_the_zone_of_the_table(
    #[case] stored: Option<&str>,
    #[case] first: &str,
    #[values("off", "force")] pushdown: &str,
) {
    let minutes = keys(0, 1).map(|key| to(key * 60_000_000_000));
    let minutes = minutes.collect::<TimestampNanosecondArray>().with_timezone_opt(stored);
    let data_type = DataType::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into()));
    let bench = Bench::new()
        .set("nearscan.pushdown.mode", pushdown)
        .set("datafusion.execution.time_zone", "+02:00");
    let sql_type = "TIMESTAMP WITH TIME ZONE";
    let keys: ArrayRef = Arc::new(minutes);
    let bench = with_tables(bench, (Files::Other, &keys), (&data_type, sql_type));
    let run = check(&bench, "SELECT k FROM stored WHERE v > 0 ORDER BY v").await;
    assert_eq!(run.rows[0], first, "{}", shown(&run.plan));
    let is_read_here = !shown(&run.plan).contains("DataSourceExec");
    assert_eq!(is_read_here, stored.is_some(), "{}", shown(&run.plan));
}
