// SPDX-License-Identifier: Apache-2.0
//! Tests aggregates that become states of a drive: the input and the output plan.

use insta::assert_snapshot;

use crate::bench::Bench;

const COUNT_AND_AVG: &str = "SELECT count(*), avg(l_quantity) FROM lineitem WHERE l_quantity < 24";

#[tokio::test]
async fn partial_aggregate_becomes_states() {
    assert_snapshot!(Bench::new().decided(COUNT_AND_AVG).await, @r"
    input:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
              FilterExec: l_quantity@0 < 24.00
                DataSourceExec: file_groups={2 groups}, projection=[l_quantity], predicate=l_quantity@3 < 24.00
    output:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            PushdownExec: drive=fake, table=lineitem, columns=[l_quantity], filter=l_quantity < 24.00, aggregates=[count(*), count(l_quantity), sum(l_quantity)], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn single_aggregate_becomes_a_final_one_over_states() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    assert_snapshot!(bench.decided(COUNT_AND_AVG).await, @r"
    input:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Single, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          FilterExec: l_quantity@0 < 24.00
            DataSourceExec: file_groups={1 group}, projection=[l_quantity], predicate=l_quantity@3 < 24.00
    output:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          PushdownExec: drive=fake, table=lineitem, columns=[l_quantity], filter=l_quantity < 24.00, aggregates=[count(*), count(l_quantity), sum(l_quantity)], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn groups_are_merged_above_a_hash_repartition() {
    let sql = "SELECT l_returnflag, sum(l_quantity), min(l_shipdate) FROM lineitem \
               WHERE l_shipdate >= DATE '1993-01-01' GROUP BY l_returnflag";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      AggregateExec: mode=FinalPartitioned, gby=[l_returnflag@0 as l_returnflag], aggr=[sum(lineitem.l_quantity), min(lineitem.l_shipdate)]
        RepartitionExec: partitioning=Hash([l_returnflag@0], 2), input_partitions=2
          AggregateExec: mode=Partial, gby=[l_returnflag@1 as l_returnflag], aggr=[sum(lineitem.l_quantity), min(lineitem.l_shipdate)]
            FilterExec: l_shipdate@2 >= 1993-01-01
              DataSourceExec: file_groups={2 groups}, projection=[l_quantity, l_returnflag, l_shipdate], predicate=l_shipdate@9 >= 1993-01-01
    output:
      AggregateExec: mode=FinalPartitioned, gby=[l_returnflag@0 as l_returnflag], aggr=[sum(lineitem.l_quantity), min(lineitem.l_shipdate)]
        RepartitionExec: partitioning=Hash([l_returnflag@0], 2), input_partitions=2
          PushdownExec: drive=fake, table=lineitem, columns=[l_shipdate, l_returnflag, l_quantity], filter=l_shipdate >= 1993-01-01, aggregates=[sum(l_quantity), min(l_shipdate)], group_by=[l_returnflag], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn common_subexpressions_are_inlined() {
    let sql = "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
               sum(l_extendedprice * (1 - l_discount)), \
               sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
               avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) \
               FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' \
               GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      SortPreservingMergeExec: [l_returnflag@0 ASC NULLS LAST, l_linestatus@1 ASC NULLS LAST]
        ProjectionExec: expr=[l_returnflag@0 as l_returnflag, l_linestatus@1 as l_linestatus, sum(lineitem.l_quantity)@2 as sum(lineitem.l_quantity), sum(lineitem.l_extendedprice)@3 as sum(lineitem.l_extendedprice), sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount)@4 as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount), sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax)@5 as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax), avg(lineitem.l_quantity)@6 as avg(lineitem.l_quantity), avg(lineitem.l_extendedprice)@7 as avg(lineitem.l_extendedprice), avg(lineitem.l_discount)@8 as avg(lineitem.l_discount), count(Int64(1))@9 as count(*)]
          SortExec: expr=[l_returnflag@0 ASC NULLS LAST, l_linestatus@1 ASC NULLS LAST], preserve_partitioning=[true]
            AggregateExec: mode=FinalPartitioned, gby=[l_returnflag@0 as l_returnflag, l_linestatus@1 as l_linestatus], aggr=[sum(lineitem.l_quantity), sum(lineitem.l_extendedprice), sum(__common_expr_1) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount), sum(__common_expr_1 * 1 + lineitem.l_tax) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax), avg(lineitem.l_quantity), avg(lineitem.l_extendedprice), avg(lineitem.l_discount), count(Int64(1))]
              RepartitionExec: partitioning=Hash([l_returnflag@0, l_linestatus@1], 2), input_partitions=2
                AggregateExec: mode=Partial, gby=[l_returnflag@5 as l_returnflag, l_linestatus@6 as l_linestatus], aggr=[sum(lineitem.l_quantity), sum(lineitem.l_extendedprice), sum(__common_expr_1) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount), sum(__common_expr_1 * 1 + lineitem.l_tax) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax), avg(lineitem.l_quantity), avg(lineitem.l_extendedprice), avg(lineitem.l_discount), count(Int64(1))]
                  ProjectionExec: expr=[l_extendedprice@0 * (1 - l_discount@1) as __common_expr_1, l_quantity@2 as l_quantity, l_extendedprice@0 as l_extendedprice, l_discount@1 as l_discount, l_tax@3 as l_tax, l_returnflag@4 as l_returnflag, l_linestatus@5 as l_linestatus]
                    FilterExec: l_shipdate@6 <= 1998-09-02, projection=[l_extendedprice@1, l_discount@2, l_quantity@0, l_tax@3, l_returnflag@4, l_linestatus@5]
                      DataSourceExec: file_groups={2 groups}, projection=[l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate], predicate=l_shipdate@9 <= 1998-09-02
    output:
      SortPreservingMergeExec: [l_returnflag@0 ASC NULLS LAST, l_linestatus@1 ASC NULLS LAST]
        ProjectionExec: expr=[l_returnflag@0 as l_returnflag, l_linestatus@1 as l_linestatus, sum(lineitem.l_quantity)@2 as sum(lineitem.l_quantity), sum(lineitem.l_extendedprice)@3 as sum(lineitem.l_extendedprice), sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount)@4 as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount), sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax)@5 as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax), avg(lineitem.l_quantity)@6 as avg(lineitem.l_quantity), avg(lineitem.l_extendedprice)@7 as avg(lineitem.l_extendedprice), avg(lineitem.l_discount)@8 as avg(lineitem.l_discount), count(Int64(1))@9 as count(*)]
          SortExec: expr=[l_returnflag@0 ASC NULLS LAST, l_linestatus@1 ASC NULLS LAST], preserve_partitioning=[true]
            AggregateExec: mode=FinalPartitioned, gby=[l_returnflag@0 as l_returnflag, l_linestatus@1 as l_linestatus], aggr=[sum(lineitem.l_quantity), sum(lineitem.l_extendedprice), sum(__common_expr_1) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount), sum(__common_expr_1 * 1 + lineitem.l_tax) as sum(lineitem.l_extendedprice * Int64(1) - lineitem.l_discount * Int64(1) + lineitem.l_tax), avg(lineitem.l_quantity), avg(lineitem.l_extendedprice), avg(lineitem.l_discount), count(Int64(1))]
              RepartitionExec: partitioning=Hash([l_returnflag@0, l_linestatus@1], 2), input_partitions=2
                PushdownExec: drive=fake, table=lineitem, columns=[l_shipdate, l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax], filter=l_shipdate <= 1998-09-02, aggregates=[sum(l_quantity), sum(l_extendedprice), sum((l_extendedprice * ((1 * 100) - l_discount))), sum(((l_extendedprice * ((1 * 100) - l_discount)) * ((1 * 100) + l_tax))), count(l_quantity), count(l_extendedprice), count(l_discount), sum(l_discount), count(*)], group_by=[l_returnflag, l_linestatus], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn round_robin_repartition_is_seen_through() {
    let bench = Bench::new().set("datafusion.optimizer.repartition_file_min_size", "100000000");
    assert_snapshot!(bench.decided(COUNT_AND_AVG).await, @r"
    input:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
              FilterExec: l_quantity@0 < 24.00
                RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1
                  DataSourceExec: file_groups={1 group}, projection=[l_quantity], predicate=l_quantity@3 < 24.00
    output:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            PushdownExec: drive=fake, table=lineitem, columns=[l_quantity], filter=l_quantity < 24.00, aggregates=[count(*), count(l_quantity), sum(l_quantity)], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn predicate_of_a_filtering_scan_becomes_the_filter() {
    let bench = Bench::new().set("datafusion.execution.parquet.pushdown_filters", "true");
    assert_snapshot!(bench.decided(COUNT_AND_AVG).await, @r"
    input:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
              DataSourceExec: file_groups={2 groups}, projection=[l_quantity], predicate=l_quantity@3 < 24.00
    output:
      ProjectionExec: expr=[count(Int64(1))@0 as count(*), avg(lineitem.l_quantity)@1 as avg(lineitem.l_quantity)]
        AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1)), avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            PushdownExec: drive=fake, table=lineitem, columns=[l_quantity], filter=l_quantity < 24.00, aggregates=[count(*), count(l_quantity), sum(l_quantity)], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn filter_clause_moves_with_its_slot() {
    let sql = "SELECT count(*) FILTER (WHERE l_returnflag = 'R'), \
               sum(l_tax) FILTER (WHERE l_quantity < 9 OR l_code IS NULL) FROM lineitem";
    assert_snapshot!(Bench::new().decided(sql).await, @r#"
    input:
      ProjectionExec: expr=[count(Int64(1)) FILTER (WHERE lineitem.l_returnflag = Utf8("R"))@0 as count(*) FILTER (WHERE lineitem.l_returnflag = Utf8("R")), sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)@1 as sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)]
        AggregateExec: mode=Single, gby=[], aggr=[count(1) FILTER (WHERE lineitem.l_returnflag = Utf8View("R")) as count(Int64(1)) FILTER (WHERE lineitem.l_returnflag = Utf8("R")), sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Decimal128(9.00,15,2) OR lineitem.l_code IS NULL) as sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)]
          DataSourceExec: file_groups={1 group}, projection=[l_quantity, l_tax, l_returnflag, l_code]
    output:
      ProjectionExec: expr=[count(Int64(1)) FILTER (WHERE lineitem.l_returnflag = Utf8("R"))@0 as count(*) FILTER (WHERE lineitem.l_returnflag = Utf8("R")), sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)@1 as sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)]
        AggregateExec: mode=Final, gby=[], aggr=[count(1) FILTER (WHERE lineitem.l_returnflag = Utf8View("R")) as count(Int64(1)) FILTER (WHERE lineitem.l_returnflag = Utf8("R")), sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Decimal128(9.00,15,2) OR lineitem.l_code IS NULL) as sum(lineitem.l_tax) FILTER (WHERE lineitem.l_quantity < Int64(9) OR lineitem.l_code IS NULL)]
          PushdownExec: drive=fake, table=lineitem, columns=[l_returnflag, l_quantity, l_code, l_tax], aggregates=[count(*) FILTER (WHERE (l_returnflag = 'R')), sum(l_tax) FILTER (WHERE ((l_quantity < 900) OR (l_code IS NULL)))], units=4
    candidates:
      lineitem: drive=fake
    "#);
}

#[tokio::test]
async fn integers_whose_sum_is_exact_in_floating_point_are_averaged() {
    let sql = "SELECT avg(l_orderkey), avg(l_linenumber), count(l_code) FROM lineitem";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      AggregateExec: mode=Single, gby=[], aggr=[avg(lineitem.l_orderkey), avg(lineitem.l_linenumber), count(lineitem.l_code)]
        DataSourceExec: file_groups={1 group}, projection=[l_orderkey, l_linenumber, l_code]
    output:
      AggregateExec: mode=Final, gby=[], aggr=[avg(lineitem.l_orderkey), avg(lineitem.l_linenumber), count(lineitem.l_code)]
        PushdownExec: drive=fake, table=lineitem, columns=[l_orderkey, l_linenumber, l_code], aggregates=[count(l_orderkey), sum(l_orderkey), count(l_linenumber), sum(l_linenumber), count(l_code)], units=4
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn row_groups_pruned_by_statistics_are_not_units() {
    let sql = "SELECT sum(l_quantity) FROM lineitem WHERE l_orderkey BETWEEN 300 AND 700";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      AggregateExec: mode=Final, gby=[], aggr=[sum(lineitem.l_quantity)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[sum(lineitem.l_quantity)]
            FilterExec: l_orderkey@0 >= 300 AND l_orderkey@0 <= 700, projection=[l_quantity@1]
              DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_quantity], predicate=l_orderkey@0 >= 300 AND l_orderkey@0 <= 700
    output:
      AggregateExec: mode=Final, gby=[], aggr=[sum(lineitem.l_quantity)]
        CoalescePartitionsExec
          PushdownExec: drive=fake, table=lineitem, columns=[l_orderkey, l_quantity], filter=l_orderkey >= 300 AND l_orderkey <= 700, aggregates=[sum(l_quantity)], units=2
    candidates:
      lineitem: drive=fake
    ");
}

#[tokio::test]
async fn every_branch_of_a_union_is_its_own_fragment() {
    let sql = "SELECT sum(k) FROM (SELECT l_orderkey AS k FROM lineitem WHERE l_tax > 0.02 \
               UNION ALL SELECT o_orderkey FROM orders WHERE o_custkey = 7)";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      AggregateExec: mode=Final, gby=[], aggr=[sum(k)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[sum(k)]
            UnionExec
              ProjectionExec: expr=[l_orderkey@0 as k]
                FilterExec: l_tax@1 > 0.02, projection=[l_orderkey@0]
                  DataSourceExec: file_groups={2 groups}, projection=[l_orderkey, l_tax], predicate=l_tax@6 > 0.02
              ProjectionExec: expr=[o_orderkey@0 as k]
                FilterExec: o_custkey@1 = 7, projection=[o_orderkey@0]
                  DataSourceExec: file_groups={2 groups}, projection=[o_orderkey, o_custkey], predicate=o_custkey@1 = 7
    output:
      AggregateExec: mode=Final, gby=[], aggr=[sum(k)]
        CoalescePartitionsExec
          AggregateExec: mode=Partial, gby=[], aggr=[sum(k)]
            UnionExec
              PushdownExec: drive=fake, table=lineitem, columns=[l_tax, l_orderkey], filter=l_tax > 0.02, units=4
              PushdownExec: drive=fake, table=orders, columns=[o_custkey, o_orderkey], filter=o_custkey = 7, units=2
    candidates:
      lineitem: drive=fake
      orders: drive=fake
    ");
}

#[tokio::test]
async fn aggregate_in_scalar_subquery_is_offloaded_and_its_user_is_not() {
    let sql = "SELECT count(*) FROM lineitem \
               WHERE l_quantity > (SELECT avg(l_quantity) FROM lineitem WHERE l_tax > 0.02)";
    assert_snapshot!(Bench::new().decided(sql).await, @r"
    input:
      ScalarSubqueryExec: subqueries=1
        ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
          AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
            CoalescePartitionsExec
              AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
                FilterExec: CAST(l_quantity@0 AS Decimal128(19, 6)) > scalar_subquery(<pending>), projection=[]
                  DataSourceExec: file_groups={2 groups}, projection=[l_quantity], predicate=CAST(l_quantity@3 AS Decimal128(19, 6)) > scalar_subquery(<pending>)
        AggregateExec: mode=Final, gby=[], aggr=[avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[avg(lineitem.l_quantity)]
              FilterExec: l_tax@1 > 0.02, projection=[l_quantity@0]
                DataSourceExec: file_groups={2 groups}, projection=[l_quantity, l_tax], predicate=l_tax@6 > 0.02
    output:
      ScalarSubqueryExec: subqueries=1
        ProjectionExec: expr=[count(Int64(1))@0 as count(*)]
          AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]
            CoalescePartitionsExec
              AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]
                FilterExec: CAST(l_quantity@0 AS Decimal128(19, 6)) > scalar_subquery(<pending>), projection=[]
                  DataSourceExec: file_groups={2 groups}, projection=[l_quantity], predicate=CAST(l_quantity@3 AS Decimal128(19, 6)) > scalar_subquery(<pending>)
        AggregateExec: mode=Final, gby=[], aggr=[avg(lineitem.l_quantity)]
          CoalescePartitionsExec
            PushdownExec: drive=fake, table=lineitem, columns=[l_tax, l_quantity], filter=l_tax > 0.02, aggregates=[count(l_quantity), sum(l_quantity)], units=4
    candidates:
      lineitem: kept=expression (scalar_subquery(<pending>))
      lineitem: drive=fake
    ");
}
