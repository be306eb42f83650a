// SPDX-License-Identifier: Apache-2.0
//! Tests that the rule keeps the properties on which operators above rely.
//!
//! A filter `k = 7` makes `k` constant, and two columns that it equates one: sorts, windows and
//! merges above are planned with that.

use rstest::rstest;

use crate::bench::{Bench, shown};

#[rstest]
#[case::constant_in_a_sort(
    "SELECT l_linenumber, l_orderkey, l_partkey FROM lineitem WHERE l_linenumber = 5 \
     ORDER BY l_linenumber, l_orderkey, l_partkey"
)]
#[case::equal_columns_in_a_sort(
    "SELECT l_linenumber, l_partkey, l_orderkey FROM lineitem WHERE l_linenumber = l_partkey \
     ORDER BY l_linenumber, l_partkey, l_orderkey"
)]
#[case::constant_in_a_window(
    "SELECT l_orderkey, row_number() OVER (PARTITION BY l_linenumber \
     ORDER BY l_orderkey, l_partkey) FROM lineitem WHERE l_linenumber = 5 \
     ORDER BY l_orderkey, l_partkey"
)]
#[case::constant_group(
    "SELECT l_linenumber, l_returnflag, count(*) FROM lineitem WHERE l_linenumber = 5 \
     GROUP BY l_linenumber, l_returnflag ORDER BY l_linenumber, l_returnflag"
)]
#[tokio::test]
async fn constants_of_a_filter_are_known_above(
    #[case] sql: &str,
    #[values("1", "2")] partitions: &str,
    #[values("false", "true")] pushdown_filters: &str,
) {
    let bench = Bench::new()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.execution.parquet.pushdown_filters", pushdown_filters);
    bench.check(sql).await;
}

#[rstest]
#[tokio::test]
async fn constants_of_a_conjunct_that_moved_are_known_above(#[values("1", "2")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let sql = "SELECT l_linenumber, l_orderkey, l_partkey FROM lineitem \
               WHERE l_linenumber = 5 AND l_comment ILIKE '%9' \
               ORDER BY l_linenumber, l_orderkey, l_partkey";
    bench.check(sql).await;
}

/// Each partition keeps the order of its files, so an operator that merges them gets the declared
/// order.
#[tokio::test]
async fn rows_keep_the_order_that_their_table_declares() {
    let bench = Bench::new();
    let location = bench.path("lineitem.parquet").display().to_string();
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE ordered STORED AS PARQUET WITH ORDER (l_orderkey) LOCATION \
         '{location}'"
    ));
    let sql = "SELECT l_orderkey, l_comment FROM ordered WHERE l_tax < 0.02 ORDER BY l_orderkey";
    let run = bench.check(sql).await;
    let plan = shown(&run.plan);
    assert!(plan.contains("SortPreservingMergeExec") && !plan.contains("SortExec:"), "{plan}");
    bench.check("SELECT count(*), sum(l_tax) FROM ordered WHERE l_tax < 0.02").await;
}
