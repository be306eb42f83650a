// SPDX-License-Identifier: Apache-2.0
//! Canaries of Parquet files. The corrections need footers, so they are in the engine, where
//! `tests/it/bounds.rs` and `tests/it/orders.rs` show what is right; here is what is wrong.

use std::{fs::File, sync::Arc};

use datafusion::{
    arrow::array::{ArrayRef, Int64Array, RecordBatch},
    parquet::{
        arrow::ArrowWriter,
        file::{metadata::SortingColumn, properties::WriterProperties},
    },
    prelude::SessionContext,
};
use nearscan_corrections::Correction;

use crate::session::{plain, plain_rows};

/// Creates the table `t` of a file.
async fn create_table(context: &SessionContext, path: &str) {
    let sql = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'");
    plain_rows(context, &sql).await;
}

#[tokio::test]
async fn max_of_float_column_ignores_nan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let context = plain();
    let rows = "SELECT * FROM (VALUES (1.0), ('nan'::DOUBLE)) AS t(x)";
    plain_rows(&context, &format!("COPY ({rows}) TO '{path}'")).await;
    create_table(&context, &path).await;
    let found = plain_rows(&context, "SELECT max(x) FROM t").await;
    let correction = Correction::RemoveUnsoundStatistics;
    assert_ne!(found, "NaN", "DataFusion is right by itself: remove the correction '{correction}'");
    assert_eq!(found, "1.0");
}

#[tokio::test]
async fn bloom_filter_of_minus_zero_has_no_zero() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let context = plain();
    plain_rows(
        &context,
        &format!(
            "COPY (SELECT * FROM (VALUES (-1.0), (-0.0::DOUBLE), (1.0)) AS t(x)) TO '{path}' \
             OPTIONS ('format.bloom_filter_on_write' 'true')"
        ),
    )
    .await;
    create_table(&context, &path).await;
    let found = plain_rows(&context, "SELECT count(*) FROM t WHERE x = 0.0").await;
    let correction = Correction::RemoveUnsoundStatistics;
    assert_ne!(
        found, "1",
        "DataFusion is right by itself: remove Bloom filters from the correction '{correction}'"
    );
    assert_eq!(found, "0");
}

#[tokio::test]
async fn order_of_the_first_row_group_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let batch = |keys: Vec<i64>| {
        let keys: ArrayRef = Arc::new(Int64Array::from(keys));
        RecordBatch::try_from_iter([("k", keys)]).unwrap()
    };
    let by_k = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let properties = WriterProperties::builder().set_sorting_columns(Some(vec![by_k])).build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(vec![]).schema(), Some(properties)).unwrap();
    for keys in [vec![5, 9], vec![0, 4]] {
        writer.write(&batch(keys)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let context = plain();
    create_table(&context, &path).await;
    let found = plain_rows(&context, "SELECT k FROM t ORDER BY k").await;
    let correction = Correction::VerifyFileOrdering;
    assert_ne!(
        found, "0, 4, 5, 9",
        "DataFusion is right by itself: remove the correction '{correction}'"
    );
    assert_eq!(found, "5, 9, 0, 4");
}
