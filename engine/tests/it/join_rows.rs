// SPDX-License-Identifier: Apache-2.0
//! The row `joins` of EXPLAIN: estimated rows of joins and of what they read, and in EXPLAIN
//! ANALYZE the actual ones and the errors of the estimates.

use nearscan::{
    Engine,
    arrow::{array::AsArray, compute::cast, datatypes::DataType},
};
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, engine_with_drive, text};

/// - `big`: `k` from 1 to 1000, `v` is `k % 10`;
/// - `mid`: `m` from 1 to 200, `w` is `m % 10`;
/// - `few`: `f` from 1 to 10;
/// - `skew`: `s` is 1 in 90 rows, and 2 to 11 in one each; `r` and `t` are the same;
/// - `none`: no row.
const TABLES: [(&str, &str); 5] = [
    ("big", "SELECT value AS k, value % 10 AS v FROM generate_series(1, 1000)"),
    ("mid", "SELECT value AS m, value % 10 AS w FROM generate_series(1, 200)"),
    ("few", "SELECT value AS f FROM generate_series(1, 10)"),
    (
        "skew",
        "SELECT s, s AS r, s AS t FROM (SELECT CASE WHEN value <= 90 THEN 1 \
              ELSE value - 89 END AS s FROM generate_series(1, 100))",
    ),
    ("none", "SELECT value AS n FROM generate_series(1, 10) WHERE value > 10"),
];

struct Data(TempDir);

impl Data {
    async fn write() -> Self {
        let data = Self(tempfile::tempdir().unwrap());
        let engine = engine().await;
        for (name, sql) in TABLES {
            let options = "OPTIONS ('format.compression' 'snappy')";
            let path = data.path(name);
            text(&engine, &format!("COPY ({sql}) TO '{path}' STORED AS PARQUET {options}")).await;
        }
        data
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).with_extension("parquet").display().to_string()
    }

    /// The engine with the tables.
    async fn in_engine(&self, engine: Engine) -> Engine {
        for (name, _) in TABLES {
            engine.register(name, &self.path(name)).await.unwrap();
        }
        engine
    }
}

/// The text of a row of EXPLAIN; none without that row.
async fn row(engine: &Engine, kind: &str, sql: &str) -> Option<String> {
    let result = engine.sql(sql).await.unwrap().collect().await.unwrap();
    result.batches.iter().find_map(|batch| {
        let texts = |column| cast(batch.column(column), &DataType::Utf8).unwrap();
        let (kinds, plans) = (texts(0), texts(1));
        let mut rows = kinds.as_string::<i32>().iter().zip(plans.as_string::<i32>());
        rows.find(|(found, _)| *found == Some(kind)).map(|(_, plan)| plan.unwrap().to_owned())
    })
}

/// The row `joins` of EXPLAIN ANALYZE, of which EXPLAIN has the beginning of each line.
async fn analyzed(engine: &Engine, sql: &str) -> String {
    let before = row(engine, "joins", &format!("EXPLAIN {sql}")).await.unwrap();
    let after = row(engine, "joins", &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
    for (before, after) in before.lines().zip(after.lines()) {
        assert!(after.starts_with(before), "{before}\n{after}");
    }
    let more = after.lines().skip(before.lines().count());
    assert!(more.clone().all(|line| line.starts_with("largest q-error: ")), "{before}\n{after}");
    assert!(more.count() <= 1, "{after}");
    after
}

/// Joins with their statement and their lines. Estimates of integers without NULL follow from the
/// rows and bounds in the footers: all values between the bounds are thought to be there.
#[rstest]
#[case::inner(
    "SELECT count(*) FROM big JOIN mid ON k = m",
    "
inner on m = k: estimated 200 rows, actual 200, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 200 (filtered by operators above)
largest q-error: 1.00"
)]
// 100 * 100 / 11 are estimated, and there are 90 * 90 + 10.
#[case::skewed(
    "SELECT count(*) FROM skew JOIN skew AS other ON skew.s = other.r",
    "
inner on s = r: estimated 909 rows, actual 8110, q-error 8.92
  skew: estimated 100 rows, actual 100, q-error 1.00
  skew: estimated 100 rows, actual 100 (filtered by operators above)
largest q-error: 8.92"
)]
#[case::left(
    "SELECT count(*) FROM big LEFT JOIN mid ON k = m",
    "
right on m = k: estimated 1000 rows, actual 1000, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 1000, q-error 1.00
largest q-error: 1.00"
)]
#[case::full(
    "SELECT count(*) FROM skew FULL JOIN skew AS other ON skew.s = other.r",
    "
full on s = r: estimated 909 rows, actual 8110, q-error 8.92
  skew: estimated 100 rows, actual 100, q-error 1.00
  skew: estimated 100 rows, actual 100, q-error 1.00
largest q-error: 8.92"
)]
#[case::semi(
    "SELECT count(*) FROM big LEFT SEMI JOIN mid ON k = m",
    "
right semi on m = k: estimated 200 rows, actual 200, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 200 (filtered by operators above)
largest q-error: 1.00"
)]
#[case::anti(
    "SELECT count(*) FROM big LEFT ANTI JOIN mid ON k = m",
    "
right anti on m = k: estimated 800 rows, actual 800, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 1000, q-error 1.00
largest q-error: 1.00"
)]
// The 100 rows of the filter are thought to be in the range of `few`.
#[case::of_a_filter(
    "SELECT count(*) FROM big JOIN few ON k = f WHERE v = 3",
    "
inner on f = k: estimated 10 rows, actual 1, q-error 10.00
  few: estimated 10 rows, actual 10, q-error 1.00
  big, filtered: estimated 100 rows, actual 1 (filtered by operators above)
largest q-error: 10.00"
)]
#[case::of_an_aggregate(
    "SELECT count(*), sum(c) FROM (SELECT v, count(*) AS c FROM big GROUP BY v) \
     JOIN mid ON v = w",
    "
inner on w = v: estimated 200 rows, actual 200, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  aggregate of big: estimated 10 rows, actual 10 (filtered by operators above)
largest q-error: 1.00"
)]
#[case::of_a_join(
    "SELECT count(*) FROM big JOIN mid ON k = m JOIN few ON m = f",
    "
inner on f = m: estimated 10 rows, actual 10, q-error 1.00
  few: estimated 10 rows, actual 10, q-error 1.00
  inner on m = k: estimated 200 rows, actual 10 (filtered by operators above)
    mid: estimated 200 rows, actual 10 (filtered by operators above)
    big: estimated 1000 rows, actual 10 (filtered by operators above)
largest q-error: 1.00"
)]
#[case::of_nothing(
    "SELECT count(*) FROM big JOIN none ON k = n",
    "
inner on n = k: estimated 1 rows, actual 0, q-error 1.00
  none: estimated 0 rows, actual 0, q-error 1.00
  big: estimated 1000 rows, actual 0 (nothing to join with)
largest q-error: 1.00"
)]
#[case::right_of_nothing(
    "SELECT count(*) FROM big LEFT JOIN none ON k = n",
    "
right on n = k: estimated 1000 rows, actual 1000, q-error 1.00
  none: estimated 0 rows, actual 0, q-error 1.00
  big: estimated 1000 rows, actual 1000, q-error 1.00
largest q-error: 1.00"
)]
#[case::limited(
    "SELECT * FROM big JOIN mid ON v = w LIMIT 3",
    "
inner on w = v: estimated 20000 rows, actual 3 (a limit above)
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 1000 (a limit above)
largest q-error: 1.00"
)]
#[case::in_a_subquery(
    "SELECT count(*) FROM big WHERE k > (SELECT count(*) FROM mid JOIN few ON m = f)",
    "
inner on f = m: estimated 10 rows, actual 10, q-error 1.00
  few: estimated 10 rows, actual 10, q-error 1.00
  mid: estimated 200 rows, actual 10 (filtered by operators above)
largest q-error: 1.00"
)]
#[case::in_a_union(
    "SELECT k FROM big JOIN mid ON k = m UNION ALL SELECT f FROM few JOIN mid ON f = m",
    "
inner on m = k: estimated 200 rows, actual 200, q-error 1.00
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 200 (filtered by operators above)
inner on f = m: estimated 10 rows, actual 10, q-error 1.00
  few: estimated 10 rows, actual 10, q-error 1.00
  mid: estimated 200 rows, actual 10 (filtered by operators above)
largest q-error: 1.00"
)]
// Both tables have the keys of `few`, which are thought to be of one.
#[case::of_a_union(
    "SELECT count(*) FROM (SELECT k FROM big UNION ALL SELECT m FROM mid) JOIN few ON k = f",
    "
inner on f = k: estimated 12 rows, actual 20, q-error 1.67
  few: estimated 10 rows, actual 10, q-error 1.00
  Union: estimated 1200 rows, actual 20 (filtered by operators above)
largest q-error: 1.67"
)]
#[case::other_joins(
    "SELECT count(*) FROM big JOIN mid ON k < m",
    "
nested loop inner on k < m: not estimated, actual 19900
  mid: estimated 200 rows, actual 200, q-error 1.00
  big: estimated 1000 rows, actual 1000, q-error 1.00
largest q-error: 1.00"
)]
#[case::cross(
    "SELECT * FROM big, few",
    "
cross: estimated 10000 rows, actual 10000, q-error 1.00
  few: estimated 10 rows, actual 10, q-error 1.00
  big: estimated 1000 rows, actual 1000, q-error 1.00
largest q-error: 1.00"
)]
#[tokio::test]
async fn joins_have_estimated_and_actual_rows(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("off", "force")] mode: &str,
) {
    let data = Data::write().await;
    let engine = data.in_engine(engine_with_drive(mode).await).await;
    assert_eq!(analyzed(&engine, sql).await, expected.trim());
}

/// The join below has the keys of the one above, which its scans drop rows by.
#[tokio::test]
async fn more_rows_than_estimated_are_an_error_even_where_rows_are_dropped() {
    let data = Data::write().await;
    let engine = data.in_engine(engine().await).await;
    engine.set("nearscan.join_order", "datafusion").await.unwrap();
    let sql = "SELECT count(*) FROM skew JOIN skew AS other ON skew.s = other.r \
               JOIN few ON f = other.t";
    let expected = "\
inner on f = t: estimated 826 rows, actual 8109, q-error 9.81
  few: estimated 10 rows, actual 10, q-error 1.00
  inner on s = r: estimated 909 rows, actual 8109 (filtered by operators above), \
q-error at least 8.92
    skew: estimated 100 rows, actual 100, q-error 1.00
    skew: estimated 100 rows, actual 99 (filtered by operators above)
largest q-error: 9.81";
    assert_eq!(analyzed(&engine, sql).await, expected);
}

#[tokio::test]
async fn reader_and_order_of_joins_do_not_change_estimates() {
    let data = Data::write().await;
    let engine = data.in_engine(engine().await).await;
    let sql = "SELECT count(*) FROM big LEFT JOIN mid ON k = m";
    let expected = analyzed(&engine, sql).await;
    engine.set("nearscan.join_order", "datafusion").await.unwrap();
    assert_eq!(analyzed(&engine, sql).await, expected);
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    engine.set("nearscan.aggregate", "datafusion").await.unwrap();
    assert_eq!(analyzed(&engine, sql).await, expected);
}

#[tokio::test]
async fn joins_that_can_spill_have_estimated_and_actual_rows() {
    let data = Data::write().await;
    let limited = Engine::builder().threads(2).memory_limit(64 << 20).build().await.unwrap();
    let engine = data.in_engine(limited).await;
    let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
    engine.set(threshold, "0").await.unwrap();
    engine.set(&format!("{threshold}_rows"), "0").await.unwrap();
    let sql = "SELECT count(*) FROM skew JOIN (SELECT r FROM skew WHERE abs(t) > 0) AS other \
               ON skew.s = other.r";
    let plan = text(&engine, &format!("EXPLAIN {sql}")).await;
    assert!(plan.contains("GraceHashJoinExec"), "{plan}");
    // Of a condition of which nothing is known, 0.3 of the rows are left.
    let expected = "\
inner on r = s: estimated 273 rows, actual 8110, q-error 29.74
  skew, filtered: estimated 30 rows, actual 100, q-error 3.33
  skew: estimated 100 rows, actual 100 (filtered by operators above)
largest q-error: 29.74";
    assert_eq!(analyzed(&engine, sql).await, expected);
}

#[rstest]
#[case::indent("EXPLAIN", "SELECT count(*) FROM big JOIN few ON k = f", true)]
#[case::tree("EXPLAIN FORMAT TREE", "SELECT count(*) FROM big JOIN few ON k = f", true)]
#[case::logical_plan_alone("EXPLAIN FORMAT PGJSON", "SELECT f FROM big JOIN few ON k = f", false)]
#[case::no_join("EXPLAIN", "SELECT count(*) FROM big WHERE v = 3", false)]
#[case::no_join_that_ran("EXPLAIN ANALYZE", "SELECT count(*) FROM big WHERE v = 3", false)]
#[tokio::test]
async fn row_is_there_if_operators_are_shown_and_one_is_a_join(
    #[case] explain: &str,
    #[case] sql: &str,
    #[case] expected: bool,
) {
    let data = Data::write().await;
    let engine = data.in_engine(engine().await).await;
    let row = row(&engine, "joins", &format!("{explain} {sql}")).await;
    assert_eq!(row.is_some(), expected, "{row:?}");
}
