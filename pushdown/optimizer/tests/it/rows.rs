// SPDX-License-Identifier: Apache-2.0
//! Tests filters and projections that become rows of a drive.

use insta::assert_snapshot;
use nearscan_command::BlockForm;
use nearscan_drive::Capabilities;
use rstest::rstest;

use crate::{
    bench::{Bench, shown},
    drive::Fake,
    merges,
};

const ROWS: &str = "SELECT l_orderkey, l_shipdate, l_extendedprice, l_shipmode, l_comment \
                    FROM lineitem WHERE l_quantity < 20";

fn forms(bench: &Bench) -> Vec<BlockForm> {
    bench.drive.commands().iter().map(|command| command.form).collect()
}

#[rstest]
#[case::that_writes_them(true, BlockForm::Compact)]
#[case::that_does_not(false, BlockForm::Plain)]
#[tokio::test]
async fn rows_are_compact_from_a_drive(#[case] compact_results: bool, #[case] form: BlockForm) {
    let capabilities = Capabilities { compact_results, ..Capabilities::of_scan_kernel() };
    let bench = Bench::with_drive(Fake::new(capabilities))
        .set("datafusion.execution.target_partitions", "1");
    let run = bench.check(ROWS).await;
    assert_eq!((forms(&bench), run.pushbacks()), (vec![form; 4], vec![]));
}

#[tokio::test]
async fn states_are_plain() {
    let bench = Bench::new();
    bench.check("SELECT l_shipmode, sum(l_quantity) FROM lineitem GROUP BY 1 ORDER BY 1").await;
    assert!(!forms(&bench).is_empty());
    assert!(forms(&bench).iter().all(|form| *form == BlockForm::Plain));
}

#[tokio::test]
async fn scans_that_are_merged_are_plain() {
    let capabilities = Capabilities { merge_inputs_max: 16, ..Capabilities::of_scan_kernel() };
    let bench = merges::two_tables(Bench::with_drive(Fake::new(capabilities)));
    let run = bench.check(merges::UNION).await;
    assert!(run.pushbacks().is_empty());
    assert!(!forms(&bench).is_empty());
    assert!(forms(&bench).iter().all(|form| *form == BlockForm::Plain));
}

#[tokio::test]
async fn filter_with_its_embedded_projection() {
    let sql = "SELECT l_orderkey, l_shipmode FROM lineitem WHERE l_quantity < 5";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      FilterExec: l_quantity@1 < 5.00, projection=[l_orderkey@0, l_shipmode@2]
        DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_quantity, l_shipmode], predicate=l_quantity@3 < 5.00
    output:
      PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_orderkey, l_shipmode], filter=l_quantity < 5.00, units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn arithmetic_absorbed_by_the_scan() {
    let sql = "SELECT l_orderkey + 1, l_extendedprice * l_discount FROM lineitem";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      DataSourceExec: file_groups={1 group}, projection=[l_orderkey@0 + 1 as lineitem.l_orderkey + Int64(1), l_extendedprice@4 * l_discount@5 as lineitem.l_extendedprice * lineitem.l_discount]
    output:
      PushdownExec: drive=fake, table=lineitem, columns=[l_orderkey, l_extendedprice, l_discount], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn arithmetic_above_a_filter() {
    let sql = "SELECT l_extendedprice * (1 - l_discount) FROM lineitem \
               WHERE (l_shipmode = 'MAIL' OR l_tax > 0.05) AND l_commitdate < l_receiptdate";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      ProjectionExec: expr=[l_extendedprice@0 * (1 - l_discount@1) as lineitem.l_extendedprice * Int64(1) - lineitem.l_discount]
        FilterExec: (l_shipmode@5 = MAIL OR l_tax@2 > 0.05) AND l_receiptdate@4 > l_commitdate@3, projection=[l_extendedprice@0, l_discount@1]
          DataSourceExec: file_groups={2 groups}, projection=[l_extendedprice, l_discount, l_tax, l_commitdate, l_receiptdate, l_shipmode], predicate=(l_shipmode@12 = MAIL OR l_tax@6 > 0.05) AND l_receiptdate@11 > l_commitdate@10
    output:
      PushdownExec: drive=fake, table=lineitem, columns=[l_shipmode, l_tax, l_receiptdate, l_commitdate, l_extendedprice, l_discount], filter=(l_shipmode = MAIL OR l_tax > 0.05) AND l_receiptdate > l_commitdate, units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn limit_above_filter_is_its_fetch() {
    let sql = "SELECT l_orderkey FROM lineitem WHERE l_quantity < 5 LIMIT 7";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      CoalescePartitionsExec: fetch=7
        FilterExec: l_quantity@1 < 5.00, projection=[l_orderkey@0], fetch=7
          DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_quantity], predicate=l_quantity@3 < 5.00
    output:
      CoalescePartitionsExec: fetch=7
        PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_orderkey], filter=l_quantity < 5.00, fetch=7, units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn conjuncts_without_a_counterpart_stay_above() {
    let sql = "SELECT l_orderkey FROM lineitem \
               WHERE l_quantity < 5 AND l_comment ILIKE '%9' AND l_returnflag = 'A' LIMIT 3";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      CoalescePartitionsExec: fetch=3
        FilterExec: l_quantity@1 < 5.00 AND l_returnflag@2 = A AND l_comment@3 ILIKE %9, projection=[l_orderkey@0], fetch=3
          DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_quantity, l_returnflag, l_comment], predicate=l_quantity@3 < 5.00 AND l_returnflag@7 = A AND l_comment@13 ILIKE %9
    output:
      CoalescePartitionsExec: fetch=3
        FilterExec: l_comment@3 ILIKE %9, projection=[l_orderkey@0], fetch=3
          PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_returnflag, l_orderkey, l_comment], filter=l_quantity < 5.00 AND l_returnflag = A, units=4
    candidates:
      lineitem: drive=fake, above it kept=expression (l_comment@13 ILIKE %9)
    ");
}

#[tokio::test]
async fn aggregate_above_conjunct_that_stays_is_kept() {
    let sql = "SELECT count(*) FROM lineitem WHERE l_quantity < 5 AND l_comment ILIKE '%9'";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_quantity@0 < 5.00 AND l_comment@1 ILIKE %9, projection=[]
                DataSourceExec: file_groups={2 groups}, projection=[l_quantity, l_comment], predicate=l_quantity@3 < 5.00 AND l_comment@13 ILIKE %9
    output:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_comment@1 ILIKE %9, projection=[]
                PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_comment], filter=l_quantity < 5.00, units=4
    candidates:
      lineitem: drive=fake, above it kept=expression (l_comment@13 ILIKE %9)
    ");
}

#[tokio::test]
async fn projection_without_counterpart_stays_above_its_filter() {
    let sql = "SELECT upper(l_shipmode) FROM lineitem WHERE l_quantity < 5";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      ProjectionExec: expr=[upper(l_shipmode@0) as upper(lineitem.l_shipmode)]
        FilterExec: l_quantity@0 < 5.00, projection=[l_shipmode@1]
          DataSourceExec: file_groups={2 groups}, projection=[l_quantity, l_shipmode], predicate=l_quantity@3 < 5.00
    output:
      ProjectionExec: expr=[upper(l_shipmode@0) as upper(lineitem.l_shipmode)]
        PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_shipmode], filter=l_quantity < 5.00, units=4
    candidates:
      lineitem: drive=fake, above it kept=expression (upper(l_shipmode@12))
    ");
}

#[tokio::test]
async fn aggregate_that_stays_leaves_its_filter_to_drive() {
    let sql = "SELECT approx_distinct(l_partkey) FROM lineitem WHERE l_quantity < 5";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      AggregateExec: mode=Final, gby=[], aggr=[approx_distinct(lineitem.l_partkey)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[approx_distinct(lineitem.l_partkey)]
            FilterExec: l_quantity@1 < 5.00, projection=[l_partkey@0]
              DataSourceExec: file_groups={2 groups}, projection=[l_partkey, l_quantity], predicate=l_quantity@3 < 5.00
    output:
      AggregateExec: mode=Final, gby=[], aggr=[approx_distinct(lineitem.l_partkey)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[approx_distinct(lineitem.l_partkey)]
            PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_partkey], filter=l_quantity < 5.00, units=4
    candidates:
      lineitem: drive=fake, above it kept=function (approx_distinct(lineitem.l_partkey))
    ");
}

#[tokio::test]
async fn scan_that_filters_needs_no_filter_above() {
    let bench = Bench::new().set("datafusion.execution.parquet.pushdown_filters", "true");
    let sql = "SELECT l_orderkey FROM lineitem WHERE l_quantity < 5";
    assert_snapshot!(bench.decided(sql).await, @r"
    input:
      DataSourceExec: file_groups={2 groups}, projection=[l_orderkey], predicate=l_quantity@3 < 5.00
    output:
      PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_orderkey], filter=l_quantity < 5.00, units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn scan_alone_is_offloaded_when_nothing_above_was_kept() {
    let sql = "SELECT l_orderkey FROM lineitem ORDER BY l_orderkey";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      SortExec: expr=[l_orderkey@0 ASC NULLS LAST], preserve_partitioning=[false]
        DataSourceExec: file_groups={1 group}, projection=[l_orderkey], sort_order_for_reorder=[l_orderkey@0 ASC NULLS LAST]
    output:
      SortExec: expr=[l_orderkey@0 ASC NULLS LAST], preserve_partitioning=[false]
        PushdownExec: drive=fake, table=lineitem, columns=[l_orderkey], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn join_pushes_its_dynamic_filter_to_the_operator() {
    let sql = "SELECT o_custkey, l_quantity FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_custkey = 7 AND l_tax > 0.02";
    let bench = Bench::new();
    assert_snapshot!(bench.decided(sql).await, @r"
    input:
      HashJoinExec: mode=CollectLeft, join_type=Inner, on=[(o_orderkey@0, l_orderkey@0)], projection=[o_custkey@1, l_quantity@3]
        CoalescePartitionsExec
          FilterExec: o_custkey@1 = 7
            DataSourceExec: file_groups={2 groups}, projection=[o_orderkey, o_custkey], predicate=o_custkey@1 = 7
        FilterExec: l_tax@2 > 0.02, projection=[l_orderkey@0, l_quantity@1]
          DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_quantity, l_tax], predicate=l_tax@6 > 0.02
    output:
      HashJoinExec: mode=CollectLeft, join_type=Inner, on=[(o_orderkey@0, l_orderkey@0)], projection=[o_custkey@1, l_quantity@3]
        CoalescePartitionsExec
          PushdownExec: drive=fake, table=orders, columns=[o_custkey, o_orderkey], filter=o_custkey = 7, units=2
        PushdownExec: drive=fake, table=lineitem, columns=[l_tax, l_orderkey, l_quantity], filter=l_tax > 0.02, units=4
    candidates:
      orders: drive=fake
      lineitem: drive=fake
    ");
    assert_snapshot!(shown(&bench.plan(sql).await), @r"
    HashJoinExec: mode=CollectLeft, join_type=Inner, on=[(o_orderkey@0, l_orderkey@0)], projection=[o_custkey@1, l_quantity@3]
      CoalescePartitionsExec
        PushdownExec: drive=fake, table=orders, columns=[o_custkey, o_orderkey], filter=o_custkey = 7, units=2
      PushdownExec: drive=fake, table=lineitem, columns=[l_tax, l_orderkey, l_quantity], filter=l_tax > 0.02, units=4, dynamic_filter=true
    ");
}

#[tokio::test]
async fn top_k_pushes_its_dynamic_filter_to_the_operator() {
    let sql = "SELECT l_orderkey, l_tax FROM lineitem WHERE l_quantity < 20 \
               ORDER BY l_orderkey DESC LIMIT 3";
    assert_snapshot!(shown(&Bench::new().plan(sql).await), @r"
    SortPreservingMergeExec: [l_orderkey@0 DESC], fetch=3
      SortExec: TopK(fetch=3), expr=[l_orderkey@0 DESC], preserve_partitioning=[true]
        PushdownExec: drive=fake, table=lineitem, columns=[l_quantity, l_orderkey, l_tax], filter=l_quantity < 20.00, top=3 of l_orderkey DESC NULLS FIRST, units=4, dynamic_filter=true
    ");
}

#[tokio::test]
async fn filter_above_a_limit_stays() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    let sql = "SELECT l_comment FROM (SELECT l_comment, l_code FROM lineitem \
               WHERE l_tax < 0.02 LIMIT 90) WHERE l_code > 3 LIMIT 50";
    assert_snapshot!(bench.decided(sql).await, @r"
    input:
      FilterExec: l_code@1 > 3, projection=[l_comment@0], fetch=50
        FilterExec: l_tax@0 < 0.02, projection=[l_comment@1, l_code@2], fetch=90
          DataSourceExec: file_groups={1 group}, projection=[l_tax, l_comment, l_code], predicate=l_tax@6 < 0.02
    output:
      FilterExec: l_code@1 > 3, projection=[l_comment@0], fetch=50
        PushdownExec: drive=fake, table=lineitem, columns=[l_tax, l_comment, l_code], filter=l_tax < 0.02, fetch=90, units=4
    candidates:
      lineitem: drive=fake
    ");
}
