// SPDX-License-Identifier: Apache-2.0
//! Tests tables of other shapes: no rows, several files, columns that some files lack, partitions.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use rstest::rstest;

use crate::{bench::Bench, files};

/// A column of numbers.
type Numbers<'a> = (&'a str, &'a [Option<i64>]);

/// A bench with a table of the given files.
fn table_of(files: &[&[Numbers<'_>]]) -> Bench {
    let bench = Bench::new();
    let folder = bench.path("t");
    std::fs::create_dir_all(&folder).unwrap();
    for (at, columns) in files.iter().enumerate() {
        let array = |numbers: &&[Option<i64>]| -> ArrayRef {
            Arc::new(numbers.iter().copied().collect::<Int64Array>())
        };
        let columns = columns.iter().map(|(name, numbers)| (*name, array(numbers), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        files::write(&folder.join(format!("{at}.parquet")), &batch, files::usual());
    }
    bench.sql(format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, v BIGINT) STORED AS PARQUET LOCATION '{}/'",
        folder.display()
    ))
}

const SUM: &str = "SELECT count(*), sum(v), min(k) FROM t WHERE k > 1";

#[tokio::test]
async fn file_without_rows_has_no_units() {
    let bench = table_of(&[&[("k", &[]), ("v", &[])]]);
    let run = bench.check(SUM).await;
    assert_eq!(run.rows, ["0 | NULL | NULL"]);
    assert_eq!(run.metric("units_drive"), 0);
}

#[tokio::test]
async fn units_of_several_files_are_distinguished() {
    let [one, two, three] = [Some(1), Some(2), Some(3)];
    let bench = table_of(&[
        &[("k", &[one, two]), ("v", &[one, None])],
        &[("v", &[three, two, None]), ("k", &[three, None, two])],
        &[("k", &[None]), ("v", &[one])],
    ]);
    let run = bench.check(SUM).await;
    assert_eq!(run.rows, ["3 | 3 | 2"]);
    // The third file has no k above 1.
    assert_eq!(run.metric("units_drive"), 2);
    bench.check("SELECT k, v FROM t WHERE v IS NOT NULL ORDER BY 1, 2").await;
}

#[rstest]
#[tokio::test]
async fn file_without_column_is_read_by_host(#[values("1", "2")] partitions: &str) {
    let numbers = [Some(5), Some(7)];
    let bench = table_of(&[&[("k", &numbers), ("v", &numbers)], &[("k", &numbers)]])
        .set("datafusion.execution.target_partitions", partitions);
    let (count, kept) = bench.units_kept(SUM).await;
    assert_eq!(count, 1);
    assert!(kept.to_string().starts_with("kept=type (column v is missing in "), "{kept}");
    for sql in [
        SUM,
        "SELECT v, k FROM t WHERE k > 5 ORDER BY 1",
        "SELECT v, count(*) FROM t GROUP BY v ORDER BY 1",
    ] {
        let run = bench.check(sql).await;
        assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (1, 1), "of {sql}");
        assert_eq!(run.pushbacks(), []);
    }
    let placed: Vec<_> =
        bench.context.log.entries().into_iter().map(|it| (it.placed_on, it.reason)).collect();
    assert_eq!(placed.len(), 6);
    assert!(placed.contains(&("cpu".to_owned(), "type".to_owned())), "{placed:?}");
    // What is in all files can move.
    bench.check("SELECT sum(k) FROM t WHERE k > 1").await;
}

#[rstest]
#[case::not_read("SELECT sum(o_custkey) FROM parts WHERE part = 1", 1)]
#[case::of_all_parts("SELECT max(o_orderkey), count(*) FROM parts WHERE o_custkey = 7", 2)]
#[tokio::test]
async fn partition_columns_may_choose_files(#[case] sql: &str, #[case] units: usize) {
    let bench = files::with_partitions(Bench::new());
    assert_eq!(bench.check(sql).await.metric("units_drive"), units);
}

/// A partition column is the same for all rows of a unit; the host adds it.
#[rstest]
#[case::group("SELECT part, count(*), sum(o_orderkey) FROM parts GROUP BY part ORDER BY part")]
#[case::groups(
    "SELECT o_custkey, part, max(o_orderdate) FROM parts WHERE o_custkey < 9 \
     GROUP BY part, o_custkey ORDER BY 1, 2"
)]
#[case::a_group_without_rows(
    "SELECT part, count(*) FROM parts WHERE o_orderkey % 7 = 1 AND o_custkey > 48 AND o_orderkey < 200 \
     GROUP BY part ORDER BY 1"
)]
#[case::no_group_at_all("SELECT part, count(*) FROM parts WHERE o_custkey + 1 < 0 GROUP BY part")]
#[case::distinct("SELECT DISTINCT part FROM parts WHERE o_custkey = 7 ORDER BY 1")]
#[case::rows("SELECT part, o_orderkey, o_orderdate FROM parts WHERE o_custkey = 7 ORDER BY 1, 2")]
#[case::nothing_else("SELECT part FROM parts WHERE o_custkey = 7 ORDER BY 1")]
#[case::top("SELECT part, o_orderkey FROM parts ORDER BY o_orderkey DESC, part LIMIT 5")]
#[tokio::test]
async fn columns_of_folders_are_added_by_the_host(
    #[case] sql: &str,
    #[values("false", "true")] verify: &str,
) {
    let bench = files::with_partitions(Bench::new()).set("nearscan.pushdown.verify", verify);
    let run = bench.run(sql).await.unwrap();
    assert_eq!(run.rows, bench.expected(sql).await);
    assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (2, 0));
}

#[rstest]
#[case::offset("SELECT l_comment FROM lineitem WHERE l_tax < 0.02 LIMIT 5 OFFSET 70")]
#[case::nested_limits(
    "SELECT l_comment FROM (SELECT l_comment, l_code FROM lineitem WHERE l_tax < 0.02 LIMIT 90) \
     WHERE l_code > 3 LIMIT 50"
)]
#[case::recursion(
    "WITH RECURSIVE walk AS (SELECT 0 AS k UNION ALL SELECT l_orderkey + 1 FROM lineitem \
     JOIN walk ON l_orderkey = k WHERE l_linenumber = 1 AND k < 9) SELECT k FROM walk ORDER BY 1"
)]
#[case::a_table_with_itself(
    "SELECT a.l_comment FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey \
     WHERE a.l_tax = 0.01 AND b.l_tax = 0.02 ORDER BY 1"
)]
#[case::intersection(
    "SELECT l_orderkey FROM lineitem WHERE l_tax = 0.01 INTERSECT SELECT o_orderkey FROM orders \
     WHERE o_custkey > 20 ORDER BY 1"
)]
#[tokio::test]
async fn statements_of_many_shapes_give_the_same_rows(#[case] sql: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    bench.check(sql).await;
}

#[tokio::test]
async fn counting_rows_without_statistics_reads_nothing() {
    let bench = Bench::new().set("datafusion.execution.collect_statistics", "false");
    let sql = "SELECT count(*) FROM lineitem";
    let run = bench.check(sql).await;
    assert_eq!(run.rows, ["4000"]);
    assert_eq!(run.metric("units_drive"), 4);
    assert_eq!(bench.drive.traffic().media_bytes, 0);
}

/// A folder of two files of the same columns in another order, each with narrow statistics.
#[tokio::test]
async fn files_may_have_columns_in_any_order() {
    let bench = Bench::new();
    let numbers = |values: [i32; 2]| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef;
    let first = [("a", numbers([1, 2])), ("b", numbers([10, 20]))];
    let second = [("b", numbers([30, 40])), ("a", numbers([3, 4]))];
    std::fs::create_dir_all(bench.path("mixed_order")).unwrap();
    for (name, columns) in [("0.parquet", first), ("1.parquet", second)] {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        files::write(&bench.path("mixed_order").join(name), &batch, files::usual());
    }
    let location = bench.path("mixed_order");
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE mixed_order STORED AS PARQUET LOCATION '{}/'",
        location.display()
    ));
    let run = bench.check("SELECT a, b FROM mixed_order WHERE a > 2 AND b > 5").await;
    assert_eq!(run.rows.len(), 2);
}
