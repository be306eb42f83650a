// SPDX-License-Identifier: Apache-2.0
//! Columns of one name on both sides of a join: a filter is about the one that it names.

use rstest::rstest;

use crate::support::{engine, text};

#[rstest]
// Whether `l.c` is NULL decides, and never whether `r.c` is.
#[case(
    "SELECT r.k, l.c, r.c FROM l FULL JOIN r ON l.k = r.k WHERE r.x > 0 OR (l.c IS NOT NULL AND r.k > 0)",
    "2 5 20"
)]
#[case(
    "SELECT count(r.c) FROM l RIGHT JOIN r ON l.k = r.k WHERE r.x > 0 OR (l.c IS NOT NULL AND r.k > 0)",
    "1"
)]
#[case(
    "SELECT count(*) FROM l JOIN r ON l.k = r.k WHERE r.x > 0 OR (l.c IS NOT NULL AND r.k > 0)",
    "1"
)]
#[case(
    "SELECT count(*) FROM l LEFT JOIN r ON l.k = r.k WHERE l.c > 5 AND (r.c IS NULL OR l.k > 3)",
    "3"
)]
// A key of a semi join is called otherwise on the other side, where its name is another column's.
#[case(
    "SELECT count(*) FROM one JOIN (SELECT k, c FROM l WHERE EXISTS \
     (SELECT 1 FROM s WHERE s.k = l.c AND s.c = l.k)) m ON one.k = m.c",
    "1"
)]
#[case(
    "SELECT k FROM l WHERE EXISTS (SELECT 1 FROM s WHERE s.k = l.c AND s.c = l.k) \
     ORDER BY l.c LIMIT 1",
    "2"
)]
#[tokio::test]
async fn a_filter_stays_with_the_column_that_it_names(#[case] sql: &str, #[case] expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine().await;
    for (name, rows) in [
        ("l", "(1, NULL), (2, 5), (3, 6), (4, 7), (5, 8)) AS t(k, c)"),
        ("r", "(1, 10, 0), (2, 20, 0), (9, 30, 0)) AS t(k, c, x)"),
        ("s", "(5, 2), (6, 3), (70, 4)) AS t(k, c)"),
        ("one", "(5)) AS t(k)"),
    ] {
        let path = folder.path().join(format!("{name}.parquet")).display().to_string();
        let copy = format!("COPY (SELECT * FROM (VALUES {rows}) TO '{path}'");
        engine.sql(&copy).await.unwrap().collect().await.unwrap();
        engine.register(name, &path).await.unwrap();
    }
    assert_eq!(text(&engine, sql).await.lines().last(), Some(expected));
}
