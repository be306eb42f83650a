// SPDX-License-Identifier: Apache-2.0
//! Bounds that files state of their columns, and bounds that they lack: no row is lost by them.
//!
//! The rows of columns with NaN are in `slt/value/nan_bounds.slt`.

use std::{fs::File, sync::Arc};

use bytes::Bytes;
use nearscan::{
    arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray},
    datafusion::parquet::{
        arrow::ArrowWriter,
        file::{
            metadata::{ParquetMetaDataReader, ParquetMetaDataWriter},
            properties::WriterProperties,
            statistics::Statistics,
        },
    },
};
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, engine_with_drive, rows_of, text};

/// 1 and NaN, twice the same number and NaN, 7 and 8, in row groups of two rows and pages of one:
/// of a page of NaN nothing is stated.
fn write(folder: &TempDir) -> String {
    let path = folder.path().join("t.parquet");
    let doubles = [1.0, f64::NAN, 3.0, f64::NAN, 7.0, 8.0];
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(2))
        .set_data_page_row_count_limit(1)
        .set_write_batch_size(1)
        .build();
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..6))),
        ("x", Arc::new(Float64Array::from(doubles.to_vec()))),
        ("y", Arc::new(Float32Array::from_iter_values([2.0, f32::NAN, 2.0, 2.0, 2.0, 2.0]))),
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

#[tokio::test]
async fn bounds_of_other_columns_still_rule_row_groups_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder);
    let engine = engine().await;
    engine.register("t", &path).await.unwrap();
    let sql = "SELECT x FROM t WHERE z = 2 AND x > 0";
    let result = engine.sql(sql).await.unwrap().collect().await.unwrap();
    assert_eq!(result.profile.rows, 2);
    assert_eq!(row_groups_read(&engine, sql).await, "3 total → 1 matched");
    assert_eq!(row_groups_fused(&engine, sql).await, "1");
}

/// Returns the number of row groups of a scan by DataFusion, and how many of them its bounds could
/// not rule out.
async fn row_groups_read(engine: &nearscan::Engine, sql: &str) -> String {
    let plan = plan_by(engine, "datafusion", sql).await;
    let pruned = plan.split("row_groups_pruned_statistics=").nth(1);
    pruned.unwrap_or(&plan).split(',').next().unwrap_or(&plan).to_owned()
}

/// Returns the number of row groups that the bounds of a fused scan could not rule out.
async fn row_groups_fused(engine: &nearscan::Engine, sql: &str) -> String {
    let plan = plan_by(engine, "fused", sql).await;
    let metrics =
        plan.split("FusedScanExec").nth(1).and_then(|scan| scan.split("metrics=[").nth(1));
    let read = metrics.and_then(|metrics| metrics.split(" row_groups=").nth(1));
    read.unwrap_or(&plan).split(',').next().unwrap_or(&plan).to_owned()
}

/// Returns the plan of a query that has run with a reader.
async fn plan_by(engine: &nearscan::Engine, reader: &str, sql: &str) -> String {
    engine.set("nearscan.scan", reader).await.unwrap();
    engine.sql(sql).await.unwrap().collect().await.unwrap().profile.plan
}

#[rstest]
#[case::equal("x = 8", "1")]
#[case::equal_from_the_left("8 = x", "1")]
#[case::equal_to_no_number_of_any("x = 9", "0")]
#[case::narrower_type("y = 3", "0")]
#[case::one_of_two("x IN (1, 3)", "2")]
#[case::below_or("x = 7 OR x = 3", "2")]
#[case::beside_another_column("x = 8 AND z > 0", "1")]
#[case::beside_a_null_check("x = 8 AND x IS NOT NULL", "1")]
#[case::not_equal("x <> 8", "3 matched -> 2 fully")]
// Both bounds of the second row group are 3, and it has NaN.
#[case::not_equal_to_both_bounds("x <> 3", "3 matched -> 2 fully")]
#[case::greater("x > 8", "3")]
#[case::less("x < 1", "3")]
#[case::equal_and_greater("x = 8 AND x > 2", "3")]
#[case::equal_to_nan("x = CAST('NaN' AS DOUBLE)", "3")]
#[case::among_nan("x IN (8, CAST('NaN' AS DOUBLE))", "3")]
#[tokio::test]
async fn float_bounds_prune_row_groups_by_equality_alone(
    #[case] predicate: &str,
    #[case] read: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine().await;
    engine.register("t", &write(&folder)).await.unwrap();
    let sql = format!("SELECT id FROM t WHERE {predicate}");
    let found = row_groups_read(&engine, &sql).await;
    assert_eq!(found, format!("3 total → {read} matched"));
    let count = read.split(' ').next().unwrap_or(read);
    assert_eq!(row_groups_fused(&engine, &sql).await, count);
}

#[rstest]
#[case::zero("x = 0.0", "-1")]
#[case::one_of_a_list("x IN (0.0, 5.0)", "-1")]
// The filter of another column is still asked.
#[case::integer("k = 7", "")]
#[tokio::test]
async fn bloom_filters_of_floats_are_not_asked(
    #[case] predicate: &str,
    #[case] expected: &str,
    #[values("fused", "datafusion")] reader: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let columns: [(&str, ArrayRef); 2] = [
        ("x", Arc::new(Float64Array::from_iter_values([1.0, -0.0, -1.0]))),
        ("k", Arc::new(Int64Array::from_iter_values([9, -1, 8]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let engine = engine().await;
    engine.register("t", &path).await.unwrap();
    let sql = format!("SELECT k FROM t WHERE {predicate}");
    let plan = plan_by(&engine, reader, &sql).await;
    assert_eq!(rows_of(&engine, &sql).await.join(" "), expected);
    let pruned = ["row_groups_pruned_bloom_filter=1,", "bloom_filter=1 total → 0 matched"];
    let is_pruned = pruned.iter().any(|pruned| plan.contains(pruned));
    assert_eq!(is_pruned, expected.is_empty(), "{plan}");
}

/// The second of two pages begins with row 100, and the index says 150.
#[rstest]
#[case::rows("SELECT k FROM t WHERE k >= 100")]
#[case::states("SELECT count(*) FROM t WHERE k >= 100")]
#[tokio::test]
async fn page_index_with_other_rows_than_the_pages_is_an_error(
    #[case] sql: &str,
    #[values("fused", "datafusion")] reader: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .build();
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200));
    let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let mut bytes = writer.into_inner().unwrap();
    let read = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    let chunk = read.row_group(0).column(0);
    let start = usize::try_from(chunk.offset_index_offset().unwrap()).unwrap();
    let index =
        &mut bytes[start..][..usize::try_from(chunk.offset_index_length().unwrap()).unwrap()];
    // Thrift stores twice the number, in groups of seven bits.
    let places: Vec<usize> =
        (0..index.len()).filter(|at| index[*at..].starts_with(&[0xc8, 1])).collect();
    let [place] = places.try_into().unwrap();
    index[place..place + 2].copy_from_slice(&[0xac, 2]);
    std::fs::write(&path, bytes).unwrap();
    let engine = engine().await;
    engine.register("t", path.to_str().unwrap()).await.unwrap();
    engine.set("nearscan.scan", reader).await.unwrap();
    let error = match engine.sql(sql).await {
        Ok(statement) => statement.collect().await.map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    let text = format!("{error:?}");
    assert!(text.contains("declares 100 rows, and the page index 50"), "{text}");
}

#[tokio::test]
async fn statistics_are_those_of_datafusion_while_the_correction_is_off() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine().await;
    engine.register("t", &write(&folder)).await.unwrap();
    for (corrections, expected) in [("all", "NaN"), ("none", "8.0"), ("all", "NaN")] {
        let set = format!("SET nearscan.corrections = '{corrections}'");
        engine.sql(&set).await.unwrap().collect().await.unwrap();
        assert_eq!(rows_of(&engine, "SELECT max(x) FROM t").await.join(" "), expected);
    }
}

/// Two row groups of a text and a number, of which the second has long texts and the first a NULL;
/// its footer says so much less as `change` makes of it.
fn write_less(folder: &TempDir, change: fn(usize, &Statistics) -> Option<Statistics>) -> String {
    let path = folder.path().join("t.parquet").display().to_string();
    let long = |letter: &str| format!("{letter}{}", "y".repeat(8191));
    let texts = ["m".to_owned(), "n".to_owned(), long("a"), long("z")];
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..4))),
        ("s", Arc::new(StringArray::from_iter_values(texts))),
        ("k", Arc::new(Int64Array::from(vec![Some(5), None, Some(6), Some(7)]))),
    ];
    let fields = columns.map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(fields).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = Bytes::from(writer.into_inner().unwrap());
    let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    let mut builder = footer.into_builder();
    for (number, group) in builder.take_row_groups().into_iter().enumerate() {
        let chunks = group.columns().iter().map(|chunk| {
            let less = change(number, chunk.statistics().unwrap());
            let builder = chunk.clone().into_builder();
            let builder = builder.set_column_index_offset(None).set_column_index_length(None);
            less.map_or_else(|| chunk.clone(), |less| builder.set_statistics(less).build().unwrap())
        });
        let chunks = chunks.collect();
        builder = builder
            .add_row_group(group.into_builder().set_column_metadata(chunks).build().unwrap());
    }
    let footer_bytes = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap());
    let mut file = bytes[..bytes.len() - 8 - footer_bytes as usize].to_vec();
    ParquetMetaDataWriter::new(&mut file, &builder.build()).finish().unwrap();
    std::fs::write(&path, file).unwrap();
    path
}

/// Long bounds are not stated by some writers.
#[rstest]
#[case::greatest("SELECT length(max(s)) FROM t", "8192")]
#[case::least("SELECT length(min(s)) FROM t", "8192")]
#[case::above("SELECT count(*) FROM t WHERE s > 'n'", "1")]
#[case::below("SELECT id FROM t WHERE s < 'm'", "2")]
#[case::first("SELECT id FROM t ORDER BY s LIMIT 1", "2")]
#[case::not_null("SELECT count(s) FROM t", "4")]
#[tokio::test]
async fn bounds_of_some_row_groups_are_not_those_of_the_file(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("none", "off", "force")] drive: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = write_less(&folder, |group, stated| match stated {
        Statistics::ByteArray(_) if group == 1 => {
            Some(Statistics::byte_array(None, None, None, stated.null_count_opt(), false))
        }
        _ => None,
    });
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    engine.register("t", &path).await.unwrap();
    assert_eq!(text(&engine, sql).await.lines().last(), Some(expected), "{sql}");
}

#[tokio::test]
async fn row_group_without_bounds_leaves_the_others_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_less(&folder, |group, stated| match stated {
        Statistics::ByteArray(_) if group == 1 => {
            Some(Statistics::byte_array(None, None, None, stated.null_count_opt(), false))
        }
        Statistics::Int64(known) if group == 0 => {
            let (least, greatest) = (known.min_opt().copied(), known.max_opt().copied());
            Some(Statistics::int64(least, greatest, None, None, false))
        }
        _ => None,
    });
    let engine = engine().await;
    engine.register("t", &path).await.unwrap();
    for predicate in ["s > 'x'", "k > 7"] {
        let sql = format!("SELECT id FROM t WHERE {predicate}");
        assert_eq!(row_groups_read(&engine, &sql).await, "2 total → 1 matched", "{predicate}");
        assert_eq!(row_groups_fused(&engine, &sql).await, "1", "{predicate}");
    }
}

/// Old writers do not say how many NULLs there are.
#[rstest]
#[case::is_null("SELECT count(*) FROM t WHERE k IS NULL", "1")]
#[case::not_null("SELECT count(k) FROM t", "3")]
#[case::first("SELECT id FROM t ORDER BY k NULLS FIRST LIMIT 1", "1")]
#[case::least("SELECT min(k) FROM t", "5")]
#[case::no_null_in_the_second("SELECT count(*) FROM t WHERE k IS NOT NULL AND id > 1", "2")]
#[tokio::test]
async fn unknown_number_of_nulls_is_not_zero(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("none", "off", "force")] drive: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = write_less(&folder, |_, stated| match stated {
        Statistics::Int64(known) => {
            let (least, greatest) = (known.min_opt().copied(), known.max_opt().copied());
            Some(Statistics::int64(least, greatest, None, None, false))
        }
        _ => None,
    });
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    engine.register("t", &path).await.unwrap();
    assert_eq!(text(&engine, sql).await.lines().last(), Some(expected), "{sql}");
}
