// SPDX-License-Identifier: Apache-2.0
//! PRIMARY KEY and UNIQUE, which rows are not checked against.

use std::fs;

use nearscan::Engine;
use rstest::rstest;

use crate::support::{engine, failure, rows_of, text};

/// Tables that say of `k` what their rows do not hold.
async fn with_tables() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    fs::write(&path, "1,2\n1,3\n").unwrap();
    let engine = engine().await;
    for sql in [
        "CREATE TABLE key (k INT PRIMARY KEY, v INT)",
        "CREATE TABLE only (k INT UNIQUE, v INT)",
        "CREATE TABLE pair (k INT, v INT, PRIMARY KEY (k))",
        "CREATE TABLE made (k INT, v INT, PRIMARY KEY (k)) AS VALUES (1, 2), (1, 3)",
        &format!(
            "CREATE EXTERNAL TABLE files (k INT, v INT, PRIMARY KEY (k)) STORED AS CSV \
             LOCATION '{}' OPTIONS ('format.has_header' 'false')",
            path.display()
        ),
    ] {
        text(&engine, sql).await;
    }
    for table in ["key", "only", "pair"] {
        text(&engine, &format!("INSERT INTO {table} VALUES (1, 2), (1, 3)")).await;
    }
    (dir, engine)
}

#[rstest]
#[case::distinct("SELECT DISTINCT k FROM t", "1")]
#[case::grouped("SELECT k, count(*) FROM t GROUP BY k", "1 2")]
#[case::grouped_by_both("SELECT k, v FROM t GROUP BY k, v ORDER BY v", "1 2, 1 3")]
#[case::of_one("SELECT k FROM t GROUP BY k, v", "1, 1")]
#[case::sorted("SELECT k, v FROM t ORDER BY k, v DESC", "1 3, 1 2")]
#[tokio::test]
async fn primary_key_constraints_are_ignored(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("key", "only", "pair", "made", "files")] table: &str,
) {
    let (_dir, engine) = with_tables().await;
    let sql = sql.replace("FROM t", &format!("FROM {table}"));
    assert_eq!(rows_of(&engine, &sql).await.join(", "), expected);
}

#[rstest]
#[case::to_a_group(
    "SELECT k, v FROM key GROUP BY k",
    "error: column 'key.v' is neither grouped nor aggregated\n  \
     detail: PRIMARY KEY and UNIQUE are not enforced, so a key of a table does not determine its \
     other columns\n  \
     hint: add key.v to GROUP BY, or use first_value(key.v)"
)]
#[case::that_are_none("CREATE TABLE n (k INT, PRIMARY KEY (other))", "other")]
#[tokio::test]
async fn primary_key_does_not_determine_other_columns(#[case] sql: &str, #[case] part: &str) {
    let (_dir, engine) = with_tables().await;
    let error = failure(&engine, sql).await;
    assert!(error.contains(part), "{error}");
}
