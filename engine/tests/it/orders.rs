// SPDX-License-Identifier: Apache-2.0
//! Orders that files declare: what the footers bear out saves a sort, and nothing else does.

use std::{fs::File, sync::Arc};

use nearscan::{
    arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray},
    datafusion::parquet::{
        arrow::ArrowWriter,
        file::{metadata::SortingColumn, properties::WriterProperties},
    },
};
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, text};

/// Keys of row groups: `1 5, 6 -` is a group of two keys and one of a key and a NULL.
fn groups_of(text: &str) -> Vec<Vec<Option<i64>>> {
    let keys = |group: &str| group.split_whitespace().map(|key| key.parse().ok()).collect();
    text.split(',').map(keys).collect()
}

/// A file of row groups with these keys, which say that they are sorted by `k` (and then by `v`).
fn write(folder: &TempDir, groups: &str, descending: bool, nulls_first: bool) -> String {
    let groups = groups_of(groups);
    let path = folder.path().join("t.parquet");
    let batch = |keys: &Vec<Option<i64>>| {
        let values = (0..keys.len()).map(|row| i64::try_from(row).unwrap());
        let texts = keys.iter().map(|key| key.map(|key| format!("{key:03}")));
        let columns: [(&str, ArrayRef); 3] = [
            ("k", Arc::new(Int64Array::from(keys.clone()))),
            ("v", Arc::new(values.collect::<Int64Array>())),
            ("s", Arc::new(texts.collect::<StringArray>())),
        ];
        let columns = columns.map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let by = |column_idx| SortingColumn { column_idx, descending, nulls_first };
    let second = SortingColumn { column_idx: 1, descending: false, nulls_first: false };
    let properties = WriterProperties::builder()
        .set_sorting_columns(Some(vec![by(0), second]))
        .set_statistics_truncate_length(Some(2))
        .build();
    let schema = batch(&groups[0]).schema();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
    for group in &groups {
        writer.write(&batch(group)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}

const ASCENDING: &str = "SELECT k FROM t ORDER BY k";
const BY_TWO: &str = "SELECT k, v FROM t ORDER BY k, v";

#[rstest]
#[case::one_group("1 5", BY_TWO, false)]
#[case::groups_that_follow("1 5, 6 9", BY_TWO, false)]
#[case::groups_that_overlap("5 9, 0 4", ASCENDING, true)]
#[case::a_key_in_two_groups("1 5, 5 9", ASCENDING, false)]
#[case::the_second_key_is_not_known("1 5, 5 9", BY_TWO, true)]
#[case::nulls_at_the_end("1 5, 6 -", ASCENDING, false)]
#[case::nulls_between("1 -, 6 7", ASCENDING, true)]
#[case::nothing_but_nulls("1 2, - -", ASCENDING, true)]
#[tokio::test]
async fn sort_is_left_out_only_where_the_row_groups_follow(
    #[case] groups: &str,
    #[case] sql: &str,
    #[case] sorts: bool,
    #[values("", "emulated:?profile=unlimited")] drive: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, groups, false, false);
    let mut builder = nearscan::Engine::builder().threads(2);
    if !drive.is_empty() {
        builder = builder.drive(drive).unwrap();
    }
    let engine = builder.build().await.unwrap();
    engine.register("t", &path).await.unwrap();
    let plan = text(&engine, &format!("EXPLAIN {sql}")).await;
    assert_eq!(plan.contains("SortExec"), sorts, "{plan}");
    let mut keys: Vec<Option<i64>> = groups_of(groups).concat();
    keys.sort_by_key(|key| (key.is_none(), *key));
    let shown = |key: Option<i64>| key.map(|key| key.to_string()).unwrap_or_default();
    let expected: Vec<String> = keys.into_iter().map(shown).collect();
    let rows = text(&engine, sql).await;
    let found: Vec<&str> =
        rows.split('\n').skip(1).map(|row| row.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(found, expected);
}

#[rstest]
#[case::descending("9 5, 4 -", true, false, "k DESC NULLS LAST", false)]
#[case::descending_overlap("9 5, 6 -", true, false, "k DESC NULLS LAST", true)]
#[case::nulls_first("- 5, 6", false, true, "k ASC NULLS FIRST", false)]
#[case::nulls_first_too_late("5, - 6", false, true, "k ASC NULLS FIRST", true)]
#[tokio::test]
async fn orders_of_other_kinds(
    #[case] groups: &str,
    #[case] descending: bool,
    #[case] nulls_first: bool,
    #[case] order: &str,
    #[case] sorts: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, groups, descending, nulls_first);
    let engine = engine().await;
    engine.register("t", &path).await.unwrap();
    let plan = text(&engine, &format!("EXPLAIN SELECT k FROM t ORDER BY {order}")).await;
    assert_eq!(plan.contains("SortExec"), sorts, "{plan}");
}

/// A declared order is not checked: that is how a known order is used without statistics.
#[tokio::test]
async fn order_that_the_user_declares_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "5 9, 0 4", false, false);
    let engine = engine().await;
    let table = format!(
        "CREATE EXTERNAL TABLE t STORED AS PARQUET WITH ORDER (k ASC NULLS LAST) LOCATION '{path}'"
    );
    text(&engine, &table).await;
    assert_eq!(text(&engine, ASCENDING).await, "k\n5\n9\n0\n4");
}
