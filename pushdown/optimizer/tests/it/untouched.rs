// SPDX-License-Identifier: Apache-2.0
//! Tests plans that must not change: the output is the input, and candidates have the reason.

use std::sync::Arc;

use insta::assert_snapshot;
use nearscan_drive::{Capabilities, Drives};

use crate::{
    bench::{Bench, Facts, shown},
    drive::Fake,
    files,
};

/// The plan and its candidates, once it is known to have stayed as it was.
async fn untouched(bench: &Bench, sql: &str) -> String {
    let (input, output, candidates) = bench.decide(sql).await;
    assert!(Arc::ptr_eq(&input, &output), "the plan has changed:\n{}", shown(&output));
    let lines: String = candidates.iter().map(|candidate| format!("  {candidate}\n")).collect();
    format!("plan:\n{}candidates:\n{lines}", shown(&input))
}

#[tokio::test]
async fn query_answered_by_footers_has_no_scan() {
    let sql = "SELECT count(*), min(l_orderkey), max(l_orderkey) FROM lineitem";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      ProjectionExec: expr=[4000 as count(*), 0 as min(lineitem.l_orderkey), 999 as max(lineitem.l_orderkey)]
        PlaceholderRowExec
    candidates:
    ");
}

#[tokio::test]
async fn sum_of_floating_point_depends_on_its_order() {
    let sql = "SELECT sum(l_weight) FROM lineitem";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      AggregateExec: mode=Single, gby=[], aggr=[sum(lineitem.l_weight)]
        DataSourceExec: file_groups={1 group}, projection=[l_weight]
    candidates:
      lineitem: kept=float_order (sum(lineitem.l_weight))
    ");
}

#[tokio::test]
async fn ilike_has_no_counterpart() {
    let sql = "SELECT count(*) FROM lineitem WHERE l_comment ILIKE '%7'";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_comment@0 ILIKE %7, projection=[]
                DataSourceExec: file_groups={2 groups}, projection=[l_comment], predicate=l_comment@13 ILIKE %7
    candidates:
      lineitem: kept=expression (l_comment@13 ILIKE %7)
    ");
}

#[tokio::test]
async fn ilike_has_no_counterpart_above_a_round_robin_either() {
    let bench = Bench::new().set("datafusion.optimizer.repartition_file_min_size", "100000000");
    let sql = "SELECT count(*) FROM lineitem WHERE l_comment ILIKE '%7'";
    assert_snapshot!(untouched(&bench, sql).await, @r"
    plan:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_comment@0 ILIKE %7, projection=[]
                RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1
                  DataSourceExec: file_groups={1 group}, projection=[l_comment], predicate=l_comment@13 ILIKE %7
    candidates:
      lineitem: kept=expression (l_comment@13 ILIKE %7)
    ");
}

#[tokio::test]
async fn nested_column() {
    let sql = "SELECT l_tags FROM lineitem WHERE l_tax < 0.02";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      FilterExec: l_tax@0 < 0.02, projection=[l_tags@1]
        DataSourceExec: file_groups={2 groups}, projection=[l_tax, l_tags], predicate=l_tax@6 < 0.02
    candidates:
      lineitem: kept=nested (column l_tags)
    ");
}

#[tokio::test]
async fn grouping_sets() {
    let sql = "SELECT l_returnflag, sum(l_tax) FROM lineitem GROUP BY ROLLUP (l_returnflag)";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      ProjectionExec: expr=[l_returnflag@0 as l_returnflag, sum(lineitem.l_tax)@2 as sum(lineitem.l_tax)]
        AggregateExec: mode=FinalPartitioned, gby=[l_returnflag@0 as l_returnflag, __grouping_id@1 as __grouping_id], aggr=[sum(lineitem.l_tax)]
          RepartitionExec: partitioning=Hash([l_returnflag@0, __grouping_id@1], 2), input_partitions=1
            AggregateExec: mode=Partial, gby=[(NULL as l_returnflag), (l_returnflag@1 as l_returnflag)], aggr=[sum(lineitem.l_tax)]
              PropertyBarrierExec
                DataSourceExec: file_groups={1 group}, projection=[l_tax, l_returnflag]
    candidates:
      lineitem: kept=function (grouping sets)
    ");
}

#[tokio::test]
async fn distinct_aggregates_of_one_partition() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    let sql = "SELECT count(DISTINCT l_partkey), count(DISTINCT l_tax) FROM lineitem";
    assert_snapshot!(untouched(&bench, sql).await, @r"
    plan:
      AggregateExec: mode=Single, gby=[], aggr=[count(DISTINCT lineitem.l_partkey), count(DISTINCT lineitem.l_tax)]
        DataSourceExec: file_groups={1 group}, projection=[l_partkey, l_tax]
    candidates:
      lineitem: kept=function (DISTINCT of count(DISTINCT lineitem.l_partkey))
    ");
}

#[tokio::test]
async fn ordered_aggregate() {
    let sql = "SELECT first_value(l_tax ORDER BY l_shipdate) FROM lineitem";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      AggregateExec: mode=Single, gby=[], aggr=[first_value(lineitem.l_tax) ORDER BY [lineitem.l_shipdate ASC NULLS LAST]]
        DataSourceExec: file_groups={1 group}, projection=[l_tax, l_shipdate]
    candidates:
      lineitem: kept=ordering (first_value(lineitem.l_tax) ORDER BY [lineitem.l_shipdate ASC NULLS LAST])
    ");
}

#[tokio::test]
async fn limit_in_scan() {
    let sql = "SELECT l_orderkey FROM lineitem LIMIT 7";
    assert_snapshot!(untouched(&Bench::new(), sql).await, @r"
    plan:
      DataSourceExec: file_groups={1 group}, projection=[l_orderkey], limit=7
    candidates:
      lineitem: kept=scan_option (a limit in the scan)
    ");
}

#[tokio::test]
async fn mode_off() {
    let bench = Bench::new().set("nearscan.pushdown.mode", "off");
    let sql = "SELECT count(*) FROM lineitem WHERE l_tax < 0.02";
    assert_snapshot!(untouched(&bench, sql).await, @r"
    plan:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_tax@0 < 0.02, projection=[]
                DataSourceExec: file_groups={2 groups}, projection=[l_tax], predicate=l_tax@6 < 0.02
    candidates:
      lineitem: kept=mode_off
    ");
}

#[tokio::test]
async fn no_drive() {
    let drive = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let bench = Bench::with_drives(drive, Drives::default(), None);
    let sql = "SELECT count(*) FROM lineitem WHERE l_tax < 0.02";
    assert_snapshot!(untouched(&bench, sql).await, @r"
    plan:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
              FilterExec: l_tax@0 < 0.02, projection=[]
                DataSourceExec: file_groups={2 groups}, projection=[l_tax], predicate=l_tax@6 < 0.02
    candidates:
      lineitem: kept=no_drive
    ");
}

#[tokio::test]
async fn no_facts() {
    let bench = Bench::new().facts(Facts::Missing);
    let sql = "SELECT sum(l_tax) FROM lineitem, orders WHERE l_orderkey = o_orderkey";
    let text = untouched(&bench, sql).await.replace(bench.folder.path().to_str().unwrap(), "");
    let folder = bench.folder.path().to_str().unwrap().trim_start_matches('/').to_owned();
    assert_snapshot!(text.replace(&folder, "FOLDER"), @r"
    plan:
      AggregateExec: mode=Final, gby=[], aggr=[sum(lineitem.l_tax)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[sum(lineitem.l_tax)]
            RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1
              HashJoinExec: mode=CollectLeft, join_type=Inner, on=[(o_orderkey@0, l_orderkey@0)], projection=[l_tax@2]
                DataSourceExec: file_groups={1 group}, projection=[o_orderkey]
                DataSourceExec: file_groups={1 group}, projection=[l_orderkey, l_tax]
    candidates:
      orders: kept=no_facts (FOLDER/orders.parquet)
      lineitem: kept=no_facts (FOLDER/lineitem.parquet)
    ");
}

#[tokio::test]
async fn partition_column_that_is_referenced() {
    let bench = files::with_partitions(Bench::new());
    let sql = "SELECT sum(o_custkey * part) FROM parts";
    assert_snapshot!(untouched(&bench, sql).await, @r"
    plan:
      AggregateExec: mode=Final, gby=[], aggr=[sum(parts.o_custkey * parts.part)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[sum(parts.o_custkey * parts.part)]
            DataSourceExec: file_groups={2 groups}, projection=[o_custkey, part]
    candidates:
      parts: kept=scan_option (column part is not in the files)
    ");
}
