// SPDX-License-Identifier: Apache-2.0
//! Clauses that the planner would read over.

use rstest::rstest;

use crate::support::{check, engine, text};

const TABLE: &str = "CREATE TABLE t AS SELECT 1 AS a, 2 AS b";

#[rstest]
#[case::ilike("SELECT * ILIKE 'a%' FROM t", "ILIKE")]
#[case::ilike_of_a_table("SELECT t.* ILIKE 'a%' FROM t", "ILIKE")]
#[case::prewhere("SELECT a FROM t PREWHERE a = 2", "PREWHERE")]
#[case::connect_by("SELECT a FROM t START WITH a = 2 CONNECT BY a = 3", "CONNECT BY")]
#[case::rollup("SELECT sum(a) FROM t GROUP BY b WITH ROLLUP", "GROUP BY .. WITH")]
#[case::totals("SELECT sum(a) FROM t GROUP BY ALL WITH TOTALS", "GROUP BY .. WITH")]
#[case::sample("SELECT a FROM t TABLESAMPLE BERNOULLI (0)", "TABLESAMPLE")]
#[case::sample_of_rows("SELECT a FROM (SELECT * FROM t) TABLESAMPLE (0)", "TABLESAMPLE")]
#[case::partition("SELECT a FROM t PARTITION (p0)", "PARTITION")]
#[case::ordinality("SELECT * FROM t WITH ORDINALITY", "WITH ORDINALITY")]
#[case::settings("SELECT a FROM t SETTINGS max_rows = 0", "SETTINGS")]
#[case::format("SELECT a FROM t FORMAT JSON", "FORMAT")]
#[case::xml("SELECT a FROM t FOR XML AUTO", "FOR XML")]
#[case::below("SELECT * FROM t WHERE a IN (SELECT a FROM t PREWHERE a = 2)", "PREWHERE")]
#[case::in_a_view("CREATE VIEW v AS SELECT a FROM t PREWHERE a = 2", "PREWHERE")]
#[case::generated("CREATE TABLE n (a INT, b INT GENERATED ALWAYS AS (a + 1))", "GENERATED")]
#[case::identity("CREATE TABLE n (a INT IDENTITY(1, 1))", "IDENTITY")]
#[case::numbered("CREATE TABLE n (a INT AUTO_INCREMENT)", "AUTO_INCREMENT")]
#[case::collation("CREATE TABLE n (a TEXT COLLATE nocase)", "COLLATE")]
#[case::of_files(
    "CREATE EXTERNAL TABLE n (a INT, b INT AS (a + 1)) STORED AS CSV LOCATION 'n.csv'",
    "GENERATED"
)]
#[tokio::test]
async fn are_refused(#[case] sql: &str, #[case] clause: &str) {
    let engine = engine().await;
    text(&engine, TABLE).await;
    check(&engine, sql, Err(clause)).await;
}

#[rstest]
#[case::alone("FROM t", "a b\n1 2")]
#[case::below("SELECT b FROM (FROM t)", "b\n2")]
#[case::before_select("FROM t SELECT b", "b\n2")]
#[case::with_a_pipe("FROM t |> WHERE a = 2", "a b")]
#[tokio::test]
async fn from_has_all_columns(#[case] sql: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(&engine, TABLE).await;
    assert_eq!(text(&engine, sql).await, expected);
}
