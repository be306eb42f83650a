// SPDX-License-Identifier: Apache-2.0
//! Comparisons of skewed columns with numbers: the rows that they leave are estimated by quantiles.

use std::{fs::File, path::Path, sync::Arc};

use nearscan::{
    Engine,
    arrow::{
        array::{ArrayRef, AsArray, Int64Array, RecordBatch},
        compute::cast,
        datatypes::{DataType, TimeUnit},
    },
    datafusion::parquet::{arrow::ArrowWriter, file::properties::WriterProperties},
};
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{rows_of, text};

const ROWS: i64 = 10_000;

/// The largest estimate over the true rows, or the other way round. Linear interpolation between
/// the bounds is wrong by 5 and more in these tests.
const Q_ERROR_MAX: f64 = 1.4;

/// A file of squares from that of `first` on, in random order or sorted, in row groups of a tenth.
fn write(path: &Path, first: i64, is_sorted: bool) {
    let squares = (0..ROWS).map(|row| if is_sorted { row } else { row * 7_919 % ROWS });
    let squares = Int64Array::from_iter_values(squares.map(|row| (first + row).pow(2) / 1_000));
    let squares: ArrayRef = Arc::new(squares);
    let of = |data_type: &DataType| cast(&squares, data_type).unwrap();
    let decimal: ArrayRef = {
        let unscaled = cast(&squares, &DataType::Decimal128(15, 0)).unwrap();
        let unscaled =
            unscaled.as_primitive::<nearscan::arrow::datatypes::Decimal128Type>().clone();
        Arc::new(unscaled.with_precision_and_scale(15, 2).unwrap())
    };
    let columns: [(&str, ArrayRef); 6] = [
        ("whole", Arc::clone(&squares)),
        ("double", of(&DataType::Float64)),
        ("decimal", decimal),
        ("date", cast(&of(&DataType::Int32), &DataType::Date32).unwrap()),
        ("time", of(&DataType::Timestamp(TimeUnit::Second, None))),
        ("k", Arc::new(Int64Array::from_iter_values(0..ROWS))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(usize::try_from(ROWS / 10).unwrap()))
        .set_dictionary_enabled(false)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A table `t` of two files, of which the second one begins where the first one ends.
async fn engine(folder: &TempDir, is_sorted: bool) -> Engine {
    for (name, first) in [("a.parquet", 0), ("b.parquet", ROWS)] {
        write(&folder.path().join(name), first, is_sorted);
    }
    let engine = Engine::builder().threads(2).build().await.unwrap();
    engine.register("t", folder.path().to_str().unwrap()).await.unwrap();
    engine
}

/// The estimated rows of the filtered table.
async fn estimated(engine: &Engine, condition: &str) -> f64 {
    let sql = format!(
        "EXPLAIN SELECT count(*) FROM t AS x JOIN t AS y ON x.k = y.k JOIN t AS z ON y.k = z.k \
         WHERE {condition}"
    );
    let shown = text(engine, &sql).await;
    let (_, rows) = shown.split_once("t, filtered: estimated ").unwrap();
    rows.split(' ').next().unwrap().parse().unwrap()
}

#[rstest]
#[case::few("x.whole < 1000")]
#[case::half_of_a_file("x.whole <= 25000")]
#[case::both_files("x.whole > 90000")]
#[case::between("x.whole BETWEEN 25000 AND 225000")]
#[case::literal_first("25000 > x.whole")]
#[case::double("x.double < 25000.5")]
#[case::decimal("x.decimal < 250.00")]
#[case::date("x.date < DATE '1970-01-01' + INTERVAL '25000 days'")]
#[case::time("x.time < TIMESTAMP '1970-01-01T06:56:40'")]
#[tokio::test]
async fn rows_that_a_comparison_leaves_are_estimated(
    #[case] condition: &str,
    #[values(false, true)] is_sorted: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder, is_sorted).await;
    let actual = rows_of(&engine, &format!("SELECT count(*) FROM t AS x WHERE {condition}")).await;
    let actual: f64 = actual[0].trim().parse().unwrap();
    let estimated = estimated(&engine, condition).await;
    let q_error = (estimated / actual).max(actual / estimated);
    assert!(q_error < Q_ERROR_MAX, "{estimated} of {actual}");
}

/// The same table, but without anything beyond the footers.
#[tokio::test]
async fn footer_alone_estimates_by_the_bounds_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder, false).await;
    engine.set("nearscan.statistics", "footer").await.unwrap();
    // A sixteenth of the range, and a quarter of the rows.
    let estimated = estimated(&engine, "x.whole < 25000").await;
    assert!((1_200.0..1_300.0).contains(&estimated), "{estimated}");
}
