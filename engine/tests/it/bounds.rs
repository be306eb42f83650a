// SPDX-License-Identifier: Apache-2.0
//! NaN, of which the bounds that a file states do not tell: no row of it is lost.

use std::{fs::File, sync::Arc};

use nearscan::{
    arrow::array::{
        ArrayRef, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    },
    datafusion::parquet::{arrow::ArrowWriter, file::properties::WriterProperties},
};
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, engine_with_drive, text};

/// Row groups and pages of so many rows.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// Two and one: of a page of NaN nothing is stated.
    TwoAndOne,
    /// Six and two: a page of a number and NaN states the number.
    SixAndTwo,
}

/// 1 and NaN, twice the same number and NaN, 7 and 8.
fn write(folder: &TempDir, layout: Layout) -> String {
    let (group_rows, page_rows) = match layout {
        Layout::TwoAndOne => (2, 1),
        Layout::SixAndTwo => (6, 2),
    };
    let path = folder.path().join("t.parquet");
    let doubles = [1.0, f64::NAN, 3.0, f64::NAN, 7.0, 8.0];
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .build();
    let codes = Int32Array::from_iter_values(0..6);
    let coded = DictionaryArray::new(codes, Arc::new(Float64Array::from(doubles.to_vec())));
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..6))),
        ("x", Arc::new(Float64Array::from(doubles.to_vec()))),
        ("y", Arc::new(Float32Array::from_iter_values([2.0, f32::NAN, 2.0, 2.0, 2.0, 2.0]))),
        ("coded", Arc::new(coded)),
        // Without NaN, to see that rows are still left out.
        ("z", Arc::new(Int64Array::from(vec![1, 1, 2, 2, 3, 3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties))
            .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}

#[rstest]
#[case::greater("SELECT id FROM t WHERE x > 5 ORDER BY id", "1 3 4 5")]
#[case::not_less("SELECT id FROM t WHERE NOT (x <= 5) ORDER BY id", "1 3 4 5")]
#[case::equal("SELECT id FROM t WHERE x = CAST('NaN' AS DOUBLE) ORDER BY id", "1 3")]
#[case::not_equal("SELECT id FROM t WHERE x <> 3 AND z = 2 ORDER BY id", "3")]
#[case::between(
    "SELECT id FROM t WHERE x BETWEEN 6 AND CAST('NaN' AS DOUBLE) ORDER BY id",
    "1 3 4 5"
)]
#[case::all_but_nan_the_same("SELECT count(*) FROM t WHERE y = 2", "5")]
#[case::all_but_nan_the_same_shown("SELECT y FROM t WHERE id < 3 ORDER BY id", "2.0 NaN 2.0")]
#[case::greatest("SELECT max(x) FROM t", "NaN")]
#[case::least("SELECT min(x) FROM t", "1.0")]
#[case::count("SELECT count(x) FROM t", "6")]
#[case::coded("SELECT id FROM t WHERE coded > 5 ORDER BY id", "1 3 4 5")]
#[case::greatest_coded("SELECT max(coded) FROM t", "NaN")]
#[tokio::test]
async fn no_row_with_nan_is_lost(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("none", "off", "force")] drive: &str,
    #[values(Layout::TwoAndOne, Layout::SixAndTwo)] layout: Layout,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, layout);
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    engine.register("t", &path).await.unwrap();
    // With footers as they were read for the schema, with their indexes, and as a scan reads them.
    for cached in ["50M", "0"] {
        let limit = format!("SET datafusion.runtime.metadata_cache_limit = '{cached}'");
        engine.sql(&limit).await.unwrap().collect().await.unwrap();
        let found = text(&engine, sql).await;
        let rows: Vec<&str> = found.lines().skip(1).collect();
        assert_eq!(rows.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn bounds_of_other_columns_still_rule_row_groups_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, Layout::TwoAndOne);
    let engine = engine().await;
    engine.register("t", &path).await.unwrap();
    let query = engine.sql("SELECT x FROM t WHERE z = 2 AND x > 0").await.unwrap();
    let result = query.collect().await.unwrap();
    assert_eq!(result.profile.rows, 2);
    let plan = &result.profile.plan;
    assert!(plan.contains("row_groups_pruned_statistics=3 total → 1 matched"), "{plan}");
}
