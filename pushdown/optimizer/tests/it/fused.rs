// SPDX-License-Identifier: Apache-2.0
//! Tests the fused scan of the host: what it replaces, and that the rows stay the same.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    physical_plan::{
        ExecutionPlan, collect, execute_stream, execution_plan::reset_plan_states,
        metrics::MetricsSet,
    },
};
use futures::StreamExt;
use nearscan_optimizer::{FusedScanExec, ScanChoice};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use rstest::rstest;

use crate::{
    bench::{Bench, Facts, plan_of, shown, texts},
    files,
};

/// Without drives.
pub(crate) fn bench() -> Bench {
    Bench::new().set("nearscan.pushdown.mode", "off")
}

/// Runs a statement with the fused scan, and compares its rows with those of DataFusion.
pub(crate) async fn check(bench: &Bench, sql: &str) -> Arc<dyn ExecutionPlan> {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let expected = bench.expected(sql).await;
    assert!(!expected.is_empty(), "a test without rows tests nothing");
    assert_eq!(texts(&batches), expected, "{sql}\n{}", shown(&plan));
    plan
}

/// The sum of a metric over the fused scans of a plan.
pub(crate) fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let mut sum = 0;
    plan.apply(|node| {
        if let Some(exec) = node.downcast_ref::<FusedScanExec>() {
            // The sum by name knows no counts of rows.
            let sum_of = |metrics: MetricsSet| metrics.sum(|it| it.value().name() == name);
            let value = exec.metrics().and_then(sum_of);
            sum += value.map_or(0, |value| value.as_usize());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    sum
}

#[rstest]
#[case::rows("SELECT * EXCEPT (l_tags, l_wide) FROM lineitem ORDER BY l_orderkey, l_linenumber")]
#[case::no_column("SELECT 1 FROM lineitem WHERE l_tax < 0.02")]
#[case::filtered("SELECT l_comment, l_tax FROM lineitem WHERE l_quantity < 4 ORDER BY 1, 2")]
#[case::computed("SELECT l_tax * 2 AS t, l_shipdate + 3 FROM lineitem ORDER BY 1, 2")]
#[case::not_in_a_fragment(
    "SELECT l_orderkey FROM lineitem WHERE l_comment ILIKE '%NUMBER 3%' AND l_tax > 0 ORDER BY 1"
)]
#[case::aggregate("SELECT count(*), sum(l_tax), max(l_comment) FROM lineitem WHERE l_tax < 0.05")]
#[case::grouped(
    "SELECT l_returnflag, avg(l_quantity) FROM lineitem WHERE l_shipdate < DATE '1998-01-01' \
     GROUP BY l_returnflag ORDER BY 1"
)]
#[case::grouped_by_many("SELECT l_orderkey, count(*) FROM lineitem GROUP BY 1 ORDER BY 1")]
#[case::joined(
    "SELECT o_custkey, sum(l_tax) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     WHERE o_custkey < 20 GROUP BY 1 ORDER BY 1"
)]
#[case::first("SELECT l_orderkey, l_extendedprice FROM lineitem ORDER BY 2 DESC, 1 LIMIT 5")]
#[tokio::test]
async fn rows_are_those_of_datafusion(
    #[case] sql: &str,
    #[values("1", "2", "3")] partitions: &str,
    #[values("8192", "5")] batch_rows: &str,
) {
    let bench = bench()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.execution.batch_size", batch_rows);
    let plan = check(&bench, sql).await;
    let shown = shown(&plan);
    assert!(shown.contains("FusedScanExec") && !shown.contains("DataSourceExec"), "{shown}");
    assert_eq!(metric(&plan, "row_groups_datafusion"), 0);
}

/// DataFusion itself divides by zero here.
#[tokio::test]
async fn condition_that_can_fail_sees_rows_that_those_before_it_keep() {
    let sql =
        "SELECT count(*) FROM lineitem WHERE l_linenumber <> 1 AND 7 / (l_linenumber - 1) > 2";
    let bench = bench();
    let session = bench.fused().await;
    let rows = session.sql(sql).await.unwrap().collect().await.unwrap();
    // Of 4,000 rows, numbered from 1 to 7 in turn, those with 2 and 3.
    assert_eq!(texts(&rows), ["1144"]);
}

#[tokio::test]
async fn aggregate_is_computed_in_the_scan() {
    let sql = "SELECT l_returnflag, sum(l_tax) FROM lineitem WHERE l_tax < 0.05 GROUP BY 1";
    let bench = bench();
    let session = bench.fused().await;
    let shown = shown(&plan_of(&session, sql).await);
    let expected = "FusedScanExec: table=lineitem, columns=[l_tax, l_returnflag], \
                    filter=l_tax < 0.05, aggregates=[sum(l_tax)], group_by=[l_returnflag], \
                    row_groups=";
    assert!(shown.contains(expected), "{shown}");
    assert!(!shown.contains("mode=Partial"), "{shown}");
}

/// DataFusion adds them in a fixed order in a single partition only.
#[rstest]
#[case::one("1", false)]
#[case::several("2", true)]
#[tokio::test]
async fn floats_are_added_in_the_scan_if_it_has_several_partitions(
    #[case] partitions: &str,
    #[case] is_fused: bool,
) {
    let bench = bench().set("datafusion.execution.target_partitions", partitions);
    let sql = "SELECT l_returnflag, sum(l_weight), avg(l_weight), avg(l_code) FROM lineitem \
               WHERE l_shipdate >= DATE '1993-01-01' GROUP BY 1 ORDER BY 1";
    let shown = shown(&check(&bench, sql).await);
    let aggregates = "aggregates=[sum(l_weight), count(l_weight), count(l_code), sum(l_code)]";
    assert_eq!(shown.contains(aggregates), is_fused, "{shown}");
}

/// Every fourth order of `lineitem` is in `orders`, with customers from 0 to 49.
#[rstest]
#[case::inner(
    "lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey < 3",
    "[l_orderkey]"
)]
#[case::semi(
    "lineitem WHERE l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_custkey < 3)",
    "[l_orderkey]"
)]
#[case::dates(
    "lineitem JOIN orders ON l_shipdate = o_orderdate WHERE o_custkey < 3",
    "[l_shipdate]"
)]
#[case::two_keys(
    "lineitem JOIN orders ON l_orderkey = o_orderkey AND l_shipdate = o_orderdate - 1 \
     WHERE o_custkey < 30",
    "[l_orderkey"
)]
#[case::below_another_join(
    "orders AS c JOIN (lineitem JOIN orders ON l_orderkey = o_orderkey AND o_custkey < 3) \
     ON c.o_orderkey = l_orderkey",
    "[l_orderkey, l_orderkey]"
)]
#[tokio::test]
async fn join_keys_drop_rows_without_a_partner(
    #[case] from: &str,
    #[case] keys: &str,
    #[values("1", "3")] partitions: &str,
) {
    let bench = bench().set("datafusion.execution.target_partitions", partitions);
    let plan = check(&bench, &format!("SELECT count(l_comment), sum(l_tax) FROM {from}")).await;
    let shown = shown(&plan);
    assert!(shown.contains(&format!("join_keys={keys}")), "{shown}");
    let (read, kept) = (metric(&plan, "rows_in"), metric(&plan, "output_rows"));
    assert!(kept * 2 < read, "{kept} of {read} rows are kept");
}

#[rstest]
#[case::left("SELECT count(*), count(o_custkey) FROM lineitem LEFT JOIN orders")]
#[case::full("SELECT count(*), count(o_custkey) FROM lineitem FULL JOIN orders")]
#[tokio::test]
async fn scan_has_no_keys_of_a_join_that_preserves_its_rows(#[case] select: &str) {
    let sql = format!("{select} ON l_orderkey = o_orderkey AND o_custkey < 3");
    let shown = shown(&check(&bench(), &sql).await);
    let scan = shown.lines().find(|line| line.contains("table=lineitem")).unwrap();
    assert!(!scan.contains("join_keys"), "{shown}");
}

#[tokio::test]
async fn dynamic_filter_of_strings_drops_rows_in_the_scan() {
    let sql = "SELECT count(a.l_tax) FROM lineitem AS a JOIN \
               (SELECT DISTINCT l_comment FROM lineitem WHERE l_orderkey < 9) AS b \
               ON a.l_comment = b.l_comment";
    let plan = check(&bench(), sql).await;
    let shown = shown(&plan);
    assert!(shown.contains("dynamic_filter=true") && !shown.contains("join_keys"), "{shown}");
    let (read, kept) = (metric(&plan, "rows_in"), metric(&plan, "output_rows"));
    assert!(kept * 4 < read * 3, "{kept} of {read} rows are kept");
}

/// Another run may have other keys.
#[tokio::test]
async fn plan_that_was_reset_has_no_filters_of_the_run_before() {
    let sql = "SELECT count(l_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_custkey < 3";
    let bench = bench();
    let plan = check(&bench, sql).await;
    let again = reset_plan_states(plan).unwrap();
    let shown = shown(&again);
    assert!(!shown.contains("join_keys") && !shown.contains("JoinKeysExec"), "{shown}");
    assert!(!shown.contains("dynamic_filter=true"), "{shown}");
    let rows = collect(again, bench.fused().await.task_ctx()).await.unwrap();
    assert_eq!(texts(&rows), bench.expected(sql).await);
}

/// The keys of `lineitem` ascend over its four row groups.
#[rstest]
#[case::predicate("SELECT l_tax FROM lineitem WHERE l_orderkey < 50", "true", [1, 3])]
#[case::aggregate("SELECT sum(l_tax) FROM lineitem WHERE l_orderkey < 50", "true", [1, 3])]
#[case::top_k(
    "SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY 1, 2 LIMIT 5", "true", [1, 3]
)]
#[case::no_pruning("SELECT l_tax FROM lineitem WHERE l_orderkey < 50", "false", [4, 0])]
#[case::top_k_without_pruning(
    "SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY 1, 2 LIMIT 5", "false", [4, 0]
)]
#[tokio::test]
async fn statistics_rule_row_groups_out(
    #[case] sql: &str,
    #[case] setting: &str,
    #[case] counts: [usize; 2],
) {
    let bench = bench()
        .set("datafusion.execution.target_partitions", "1")
        .set("datafusion.execution.batch_size", "500")
        .set("datafusion.execution.parquet.pruning", setting);
    let plan = check(&bench, sql).await;
    let found = [metric(&plan, "row_groups"), metric(&plan, "row_groups_pruned")];
    assert_eq!(found, counts, "{}", shown(&plan));
}

#[rstest]
#[case::setting(bench().set("nearscan.scan", "datafusion"), "SELECT l_tax FROM lineitem")]
#[case::no_facts(bench().facts(Facts::Missing), "SELECT l_tax FROM lineitem")]
#[case::limit(bench(), "SELECT l_tax FROM lineitem LIMIT 3")]
#[tokio::test]
async fn scan_stays_with_datafusion(#[case] bench: Bench, #[case] sql: &str) {
    let session = bench.fused().await;
    let (plan, choices) = ScanChoice::recorded(plan_of(&session, sql)).await;
    assert!(!shown(&plan).contains("FusedScanExec"), "{}", shown(&plan));
    assert!(choices.iter().all(|choice| choice.kept.is_some()), "{choices:?}");
}

#[tokio::test]
async fn choice_names_reader_and_reason() {
    let bench = bench();
    let session = bench.fused().await;
    let (_, choices) =
        ScanChoice::recorded(plan_of(&session, "SELECT l_tax FROM lineitem LIMIT 3")).await;
    let shown: Vec<String> = choices.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["lineitem: reader=datafusion (scan_option: a limit in the scan)"]);
    let (_, choices) = ScanChoice::recorded(plan_of(&session, "SELECT l_tax FROM lineitem")).await;
    let shown: Vec<String> = choices.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["lineitem: reader=fused"]);
}

/// `lineitem` with strings in an encoding of differences.
fn with_differences(encoding: Encoding) -> Bench {
    let properties = files::usual()
        .set_dictionary_enabled(false)
        .set_column_encoding("l_comment".into(), encoding)
        .set_column_encoding("l_shipmode".into(), encoding)
        .set_column_encoding("l_note".into(), encoding);
    bench().table("deltas", &files::lineitem(), properties)
}

#[rstest]
#[case::rows("SELECT l_comment, l_shipmode, l_note, l_tax FROM deltas ORDER BY l_comment")]
#[case::filtered("SELECT l_note, l_tax FROM deltas WHERE l_comment LIKE '%17%' ORDER BY 1, 2")]
#[case::few("SELECT l_comment, l_note FROM deltas WHERE l_orderkey % 50 = 7 ORDER BY 1")]
#[case::grouped(
    "SELECT l_shipmode, max(l_comment), count(l_note) FROM deltas GROUP BY 1 ORDER BY 1"
)]
#[tokio::test]
async fn strings_stored_by_differences_are_read_in_the_scan(
    #[case] sql: &str,
    #[values(Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY)] encoding: Encoding,
) {
    let bench = with_differences(encoding);
    let plan = check(&bench, sql).await;
    let shown = shown(&plan);
    assert!(shown.contains("FusedScanExec") && !shown.contains("DataSourceExec"), "{shown}");
    assert_eq!(metric(&plan, "row_groups"), 4);
    assert_eq!(metric(&plan, "row_groups_datafusion"), 0);
    let choices = {
        let session = bench.fused().await;
        ScanChoice::recorded(plan_of(&session, sql)).await.1
    };
    assert!(choices.iter().all(|choice| choice.row_groups_kept.is_none()), "{choices:?}");
}

/// A table of two files, one of which the fused scan cannot read.
fn half_readable() -> Bench {
    let bench = bench();
    let folder = bench.path("t");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, codec) in [("a", Compression::ZSTD(ZstdLevel::default())), ("b", Compression::LZ4)] {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let batch = RecordBatch::try_from_iter([("k", numbers)]).unwrap();
        let path = folder.join(format!("{name}.parquet"));
        files::write(&path, &batch, files::usual().set_compression(codec));
    }
    bench.sql(format!(
        "CREATE EXTERNAL TABLE t (k BIGINT) STORED AS PARQUET LOCATION '{}/'",
        folder.display()
    ))
}

#[rstest]
#[case::rows("SELECT k FROM t WHERE k > 700 ORDER BY k")]
#[case::states("SELECT count(*), sum(k) FROM t WHERE k > 700")]
#[tokio::test]
async fn row_group_that_cannot_be_read_is_read_by_datafusion(#[case] sql: &str) {
    let plan = check(&half_readable(), sql).await;
    assert!(metric(&plan, "row_groups_datafusion") > 0, "{}", shown(&plan));
    assert!(metric(&plan, "row_groups") > metric(&plan, "row_groups_datafusion"));
}

#[tokio::test]
async fn chunks_and_pages_are_charged_while_a_stream_runs() {
    // One partition, whose stream ends when it is dropped.
    let bench = bench()
        .set("datafusion.execution.batch_size", "5")
        .set("datafusion.execution.target_partitions", "1");
    let session = bench.fused().await;
    let plan = plan_of(&session, "SELECT l_comment FROM lineitem WHERE l_tax < 0.05").await;
    let mut stream = execute_stream(Arc::clone(&plan), session.task_ctx()).unwrap();
    let first = stream.next().await.unwrap().unwrap();
    let bytes = metric(&plan, "bytes_scanned");
    assert!(bytes > 0 && bench.reserved_bytes() > bytes, "{bytes}: {}", bench.reserved_bytes());
    drop((first, stream));
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn row_group_without_memory_for_its_chunks_is_read_by_datafusion() {
    let bench = bench().memory_limit(100);
    let plan = check(&bench, "SELECT count(*), sum(l_tax) FROM lineitem WHERE l_tax < 0.05").await;
    assert_eq!(metric(&plan, "row_groups_datafusion"), metric(&plan, "row_groups"));
    assert_eq!(bench.reserved_bytes(), 0);
}
