// SPDX-License-Identifier: Apache-2.0
//! Tests the keys of joins above scans on a drive: which commands have filters of them, and that
//! the rows are those of the host, whoever runs a unit.

use std::sync::Arc;

use datafusion::physical_plan::{collect, execution_plan::reset_plan_states};
use nearscan_command::{Command, KeyBits};
use nearscan_drive::{Capabilities, Refusal};
use rstest::rstest;

use crate::{
    bench::{Bench, Run, plan_of, shown, texts},
    drive::{Act, Fake},
};

/// Every fourth order of `lineitem` is in `orders`, with customers from 0 to 49.
const FEW: &str = "SELECT count(l_comment), sum(l_tax) FROM lineitem JOIN orders \
                   ON l_orderkey = o_orderkey WHERE o_custkey < 3";

/// The first orders by their keys: all are in the first row group of `lineitem`, which statistics
/// do not tell.
const FIRST: &str = "SELECT count(l_comment), sum(l_tax) FROM lineitem JOIN \
                     (SELECT o_orderkey AS few FROM orders ORDER BY o_orderkey LIMIT 5) \
                     ON few = l_orderkey";

/// Runs a statement with all rules, and compares its rows with those of the host.
async fn check(bench: &Bench, sql: &str) -> Run {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let expected = bench.expected(sql).await;
    assert!(!expected.is_empty(), "a test without rows tests nothing");
    assert_eq!(texts(&batches), expected, "{sql}\n{}", shown(&plan));
    Run { rows: expected, plan }
}

/// The commands over `lineitem`.
fn scans(bench: &Bench) -> Vec<Command> {
    let is_lineitem = |command: &Command| {
        command.fragment.columns.iter().any(|column| column.name.starts_with("l_"))
    };
    bench.drive.commands().into_iter().filter(is_lineitem).collect()
}

fn lineitem(run: &Run) -> String {
    let shown = shown(&run.plan);
    let line = shown.lines().find(|line| line.contains("table=lineitem,")).unwrap();
    assert!(line.contains("PushdownExec"), "{shown}");
    line.to_owned()
}

#[rstest]
#[tokio::test]
async fn keys_of_a_join_are_a_filter_of_each_command(#[values("1", "3")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let run = check(&bench, FEW).await;
    assert!(lineitem(&run).contains("join_keys=[l_orderkey]"), "{}", shown(&run.plan));
    let scans = scans(&bench);
    assert_eq!(scans.len(), 4);
    for command in &scans {
        let [filter] = command.fragment.key_filters.as_slice() else { panic!("{command:?}") };
        let column = &command.fragment.columns[usize::from(filter.column)];
        assert_eq!(column.name, "l_orderkey");
        // It is cut to the values of the row group.
        let KeyBits::Bitmap { first, last, .. } = filter.keys else { panic!("{filter:?}") };
        assert!(last - first < 1024, "{first} to {last}");
    }
    assert_eq!(run.metric("key_filters"), 4);
    let (read, sent) = (run.metric("rows_in"), run.metric("rows_out"));
    assert!(sent * 4 < read, "{sent} of {read} rows are sent");
}

#[rstest]
#[tokio::test]
async fn unit_without_a_key_is_not_sent(#[values("1", "3")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let run = check(&bench, FIRST).await;
    assert_eq!((scans(&bench).len(), run.metric("units_pruned")), (1, 3));
    let off = Bench::new()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.execution.parquet.pruning", "false");
    let run = check(&off, FIRST).await;
    assert_eq!((scans(&off).len(), run.metric("units_pruned")), (4, 0));
}

/// DataFusion's filter of the same join would list them.
#[tokio::test]
async fn keys_that_are_looked_up_are_not_in_the_predicate_too() {
    let sql = "SELECT l_comment FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_custkey = 7 AND l_tax > 0.02 ORDER BY 1";
    let predicates = async |key_bits_bytes_max| {
        let capabilities = Capabilities { key_bits_bytes_max, ..Capabilities::of_scan_kernel() };
        let bench = Bench::with_drive(Fake::new(capabilities))
            .set("datafusion.execution.target_partitions", "1");
        check(&bench, sql).await;
        let steps = |command: &Command| command.fragment.predicate.steps.len();
        scans(&bench).iter().map(steps).max().unwrap()
    };
    let room = Capabilities::of_scan_kernel().key_bits_bytes_max;
    let (looked_up, listed) = (predicates(room).await, predicates(0).await);
    assert_eq!(looked_up, 1, "the condition on the tax alone");
    assert!(listed > 2, "{listed} steps");
}

/// A filter of them would drop no row, and neither do their bounds.
#[tokio::test]
async fn keys_that_all_values_are_among_have_neither_a_filter_nor_bounds() {
    let sql = "SELECT count(l_comment), sum(l_tax) FROM lineitem JOIN \
               (SELECT value AS each FROM generate_series(0, 9000) LIMIT 600) ON each = l_orderkey \
               WHERE l_tax > 0.02";
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    check(&bench, sql).await;
    let scans = scans(&bench);
    let filters = |command: &Command| command.fragment.key_filters.len();
    // The keys end in the third row group, and statistics rule the fourth out.
    assert_eq!(scans.iter().map(filters).collect::<Vec<_>>(), [0, 0, 1]);
    for Command { fragment, .. } in &scans {
        assert_eq!(fragment.predicate.steps.len(), 1, "the condition on the tax alone");
    }
}

/// A drive looks a row up once for each filter, and has room for one.
#[tokio::test]
async fn keys_of_two_joins_over_one_column_are_one_filter() {
    let sql = "SELECT count(l_comment), sum(l_tax) FROM lineitem \
               JOIN (SELECT o_orderkey AS few FROM orders ORDER BY o_custkey LIMIT 90) \
               ON l_orderkey = few \
               JOIN (SELECT o_orderkey AS others FROM orders ORDER BY o_custkey, 1 LIMIT 80) \
               ON l_orderkey = others WHERE l_tax > 0.02";
    let capabilities = Capabilities { key_bits_bytes_max: 64, ..Capabilities::of_scan_kernel() };
    let bench = Bench::with_drive(Fake::new(capabilities))
        .set("datafusion.execution.target_partitions", "1");
    let run = check(&bench, sql).await;
    let keys = "join_keys=[l_orderkey, l_orderkey]";
    assert!(lineitem(&run).contains(keys), "{}", shown(&run.plan));
    let scans = scans(&bench);
    assert_eq!(scans.len(), 4);
    for Command { fragment, .. } in &scans {
        assert_eq!(fragment.key_filters.len(), 1);
        assert_eq!(fragment.predicate.steps.len(), 1, "the condition on the tax alone");
    }
}

/// The bits do not tell that every row has one of the keys.
#[tokio::test]
async fn filter_that_drops_no_row_is_left_out_of_units_that_begin_later() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    let sql = "SELECT count(l_comment), sum(l_tax) FROM lineitem JOIN (SELECT o_custkey AS few \
               FROM orders WHERE o_orderkey < 300 GROUP BY 1) ON few = l_linenumber";
    let run = check(&bench, sql).await;
    let given = |command: &Command| command.fragment.key_filters.len();
    assert_eq!(scans(&bench).iter().map(given).collect::<Vec<_>>(), [1, 1, 1, 0]);
    assert_eq!(run.metric("key_filters"), 3);
}

#[tokio::test]
async fn drive_without_room_gets_no_filters() {
    let capabilities = Capabilities { key_bits_bytes_max: 0, ..Capabilities::of_scan_kernel() };
    let bench = Bench::with_drive(Fake::new(capabilities));
    let run = check(&bench, FEW).await;
    assert!(scans(&bench).iter().all(|command| command.fragment.key_filters.is_empty()));
    assert_eq!((run.metric("key_filters"), run.pushbacks()), (0, vec![]));
}

/// By the drive for the fallback too, or by DataFusion.
#[rstest]
#[case::refused(Act::Refuse(Refusal::Busy))]
#[case::corrupted(Act::Flip(0))]
#[tokio::test]
async fn rows_are_right_when_units_are_pushed_back(#[case] act: Act) {
    for sql in [FEW, FIRST] {
        let bench = Bench::new();
        for row_group in [0, 2] {
            bench.drive.on(row_group, act.clone());
        }
        let run = check(&bench, sql).await;
        assert!(!run.pushbacks().is_empty());
    }
}

#[tokio::test]
async fn verify_takes_rows_that_keys_drop_and_detects_others() {
    let bench = Bench::new().set("nearscan.pushdown.verify", "true");
    let run = check(&bench, FEW).await;
    assert!(run.metric("key_filters") > 0);
    bench.drive.on(1, Act::Lie);
    let session = bench.fused().await;
    let plan = plan_of(&session, FEW).await;
    let error = collect(plan, session.task_ctx()).await.unwrap_err().to_string();
    assert!(error.contains("differ in row group 1 of "), "{error}");
}

/// Whole groups are dropped, some of them by the drive and some by the join.
#[rstest]
#[case::all_on_the_drive(None)]
#[case::one_on_the_host(Some(1))]
#[tokio::test]
async fn keys_are_traced_through_group_keys_of_states(#[case] pushed_back: Option<usize>) {
    let bench = Bench::new().set("nearscan.pushdown.verify", "true");
    if let Some(row_group) = pushed_back {
        bench.drive.on(row_group, Act::Flip(0));
    }
    let sql = "SELECT k, c, s FROM (SELECT l_linenumber AS k, count(*) AS c, sum(l_tax) AS s \
               FROM lineitem GROUP BY 1) JOIN (SELECT o_custkey AS few FROM orders \
               WHERE o_custkey > 2 ORDER BY o_custkey, o_orderkey LIMIT 1) ON few = k";
    let run = check(&bench, sql).await;
    let line = lineitem(&run);
    assert!(line.contains("aggregates=") && line.contains("join_keys=[l_linenumber]"), "{line}");
    assert_eq!(run.metric("key_filters"), 4);
}

#[rstest]
#[case::left("LEFT JOIN orders ON l_orderkey = o_orderkey AND o_custkey < 3")]
#[case::full("FULL JOIN orders ON l_orderkey = o_orderkey AND o_custkey < 3")]
#[tokio::test]
async fn scan_has_no_keys_of_a_join_that_preserves_its_rows(#[case] join: &str) {
    let bench = Bench::new();
    let sql = format!("SELECT count(*), count(o_custkey), sum(l_tax) FROM lineitem {join}");
    let run = check(&bench, &sql).await;
    assert!(!lineitem(&run).contains("join_keys"), "{}", lineitem(&run));
}

#[tokio::test]
async fn scan_with_a_limit_has_no_keys() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    let sql = "SELECT count(*) FROM (SELECT l_orderkey FROM lineitem WHERE l_tax < 0.02 LIMIT 900) \
               JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey < 30";
    let run = check(&bench, sql).await;
    assert!(!lineitem(&run).contains("join_keys"), "{}", lineitem(&run));
}

/// Another run may have other keys.
#[tokio::test]
async fn plan_that_was_reset_has_no_keys_of_the_run_before() {
    let bench = Bench::new();
    let run = check(&bench, FEW).await;
    let again = reset_plan_states(run.plan).unwrap();
    assert!(!shown(&again).contains("join_keys"), "{}", shown(&again));
    let rows = collect(again, bench.fused().await.task_ctx()).await.unwrap();
    assert_eq!(texts(&rows), run.rows);
}
