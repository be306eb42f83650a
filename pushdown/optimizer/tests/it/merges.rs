// SPDX-License-Identifier: Apache-2.0
//! Tests merges of sorted rows: which of them move, that they return the rows of the host in order,
//! and their push-backs.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use nearscan_command::Status;
use nearscan_drive::{Capabilities, Failure, Refusal};
use nearscan_optimizer::KeepReason;
use parquet::file::{metadata::SortingColumn, properties::WriterPropertiesBuilder};
use rstest::rstest;

use crate::{
    bench::{Bench, shown},
    drive::{Act, Fake},
    files,
};

/// Rows of `k`, which ascends or descends and repeats, `v`, which distinguishes rows, and a text.
fn sorted(rows: i64, key: impl Fn(i64) -> Option<i64>, first: i64) -> RecordBatch {
    let keys: Int64Array = (0..rows).map(&key).collect();
    let values: Int64Array = (0..rows).map(|row| Some(first + row)).collect();
    let texts: StringArray = (0..rows).map(|row| key(row).map(|k| format!("{k:05}"))).collect();
    let floats: Float64Array = (0..rows).map(|row| key(row).map(|k| k as f64 / 4.0)).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("k", Arc::new(keys)),
        ("v", Arc::new(values)),
        ("s", Arc::new(texts)),
        ("f", Arc::new(floats)),
    ];
    let columns = columns.map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Files whose row groups have so many rows, and say that `k` ascends.
fn ascending(group_rows: usize) -> WriterPropertiesBuilder {
    let sorting = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    files::usual()
        .set_max_row_group_row_count(Some(group_rows))
        .set_sorting_columns(Some(vec![sorting]))
}

/// A bench whose drive merges so many inputs.
fn merging(merge_inputs_max: u32) -> Bench {
    let capabilities = Capabilities { merge_inputs_max, ..Capabilities::of_scan_kernel() };
    Bench::with_drive(Fake::new(capabilities))
}

/// Two tables, `a` and `b`, of the same keys and more, each sorted by `k`, of several row groups.
pub(crate) fn two_tables(bench: Bench) -> Bench {
    bench.table("a", &sorted(600, |row| Some(row / 3), 0), ascending(100)).table(
        "b",
        &sorted(500, |row| (row < 480).then_some(row / 2), 1000),
        ascending(70),
    )
}

pub(crate) const UNION: &str = "SELECT k, s FROM a UNION ALL SELECT k, s FROM b ORDER BY k";

/// The order of `k` alone is known, and rows that tie leave by their table and their place in it.
fn stable_union() -> Vec<String> {
    let mut rows: Vec<(i64, i64)> = (0..600).map(|row| (row / 3, row)).collect();
    rows.extend((0..500).map(|row| (if row < 480 { row / 2 } else { i64::MAX }, 1000 + row)));
    rows.sort_by_key(|(key, _)| *key);
    let shown = |(key, value): (i64, i64)| match key {
        i64::MAX => format!("NULL | {value}"),
        key => format!("{key} | {value}"),
    };
    rows.into_iter().map(shown).collect()
}

#[tokio::test]
async fn merge_of_more_columns_than_drive_merges_stays_on_host() {
    let capabilities = |merge_columns_max| Capabilities {
        merge_inputs_max: 16,
        merge_columns_max,
        ..Capabilities::of_scan_kernel()
    };
    let bench = |columns| two_tables(Bench::with_drive(Fake::new(capabilities(columns))));
    let (_, output, candidates) = bench(1).decide(UNION).await;
    let plan = shown(&output);
    assert!(!plan.contains("PushdownMergeExec") && plan.contains("PushdownExec"), "{plan}");
    let kept = candidates[0].above.as_ref().unwrap();
    assert_eq!(kept.reason, KeepReason::Ordering);
    assert!(kept.detail.contains("more columns than the drive merges"), "{kept:?}");
    bench(1).check(UNION).await;
    let (_, output, _) = bench(2).decide(UNION).await;
    assert!(shown(&output).contains("PushdownMergeExec"));
}

#[rstest]
#[tokio::test]
async fn sorted_union_is_merged_on_drive_and_stays_stable(
    #[values("1", "2")] partitions: &str,
    #[values("false", "true")] verify: &str,
) {
    let bench = two_tables(merging(16))
        .set("datafusion.execution.target_partitions", partitions)
        .set("nearscan.pushdown.verify", verify);
    let sql = "SELECT k, v FROM a UNION ALL SELECT k, v FROM b ORDER BY k";
    let run = bench.run(sql).await.unwrap();
    assert_eq!(run.rows, stable_union());
    let plan = shown(&run.plan);
    assert!(plan.contains("PushdownMergeExec: drive=fake, keys=[k@0 ASC NULLS LAST]"), "{plan}");
    assert!(!plan.contains("SortPreservingMergeExec"), "{plan}");
    assert_eq!(run.pushbacks(), []);
    assert_eq!(run.metric("rows_out"), 1100);
}

#[tokio::test]
async fn plans_of_merges() {
    let bench = two_tables(merging(16));
    insta::assert_snapshot!(
        bench
            .decided("SELECT k, v FROM a WHERE v < 500 UNION ALL SELECT k, v FROM b ORDER BY k")
            .await
    );
    insta::assert_snapshot!(
        bench.decided("SELECT k FROM a UNION SELECT k FROM b ORDER BY k").await
    );
}

/// Row groups that are sorted and overlap: a sort of the whole file is a merge of them.
fn overlapping(bench: Bench, groups: i64) -> Bench {
    let key = move |row: i64| Some(row % 50 * 4 + row / 50 % groups);
    bench.table("runs", &sorted(50 * groups, key, 0), ascending(50))
}

#[rstest]
#[tokio::test]
async fn sort_of_sorted_row_groups_is_merge(#[values("1", "2")] partitions: &str) {
    let bench = overlapping(merging(16), 4)
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.execution.collect_statistics", "false");
    let run = bench.check("SELECT k, s FROM runs ORDER BY k").await;
    let plan = shown(&run.plan);
    assert!(plan.contains("PushdownMergeExec") && !plan.contains("SortExec"), "{plan}");
    assert_eq!((run.metric("units_drive"), run.metric("rows_out")), (4, 200));
    let sql = "SELECT k FROM runs UNION SELECT k FROM runs WHERE v > 60 ORDER BY k";
    let plan = shown(&bench.check(sql).await.plan);
    assert!(plan.contains("distinct=true") && !plan.contains("SortExec"), "{plan}");
    // The second key is declared nowhere.
    let plan = shown(&bench.plan("SELECT k, v FROM runs ORDER BY k, v").await);
    assert!(plan.contains("SortExec") && !plan.contains("PushdownMergeExec"), "{plan}");
}

#[tokio::test]
async fn more_row_groups_than_a_drive_merges_stay_sorted_on_the_host() {
    let bench =
        overlapping(merging(16), 20).set("datafusion.execution.collect_statistics", "false");
    let sql = "SELECT k FROM runs WHERE v >= 0 ORDER BY k";
    let kept = bench.kept_above(sql).await;
    assert_eq!(
        kept.to_string(),
        "kept=ordering (more sorted row groups overlap than a drive merges at a time)"
    );
    bench.check(sql).await;
}

/// Two long files side by side are merged window by window, each unit cut where windows meet.
#[rstest]
#[case::ascending(false)]
#[case::verified(true)]
#[tokio::test]
async fn long_inputs_are_merged_in_windows(#[case] verify: bool) {
    let bench = merging(4);
    let bench =
        two_tables(bench).set("nearscan.pushdown.verify", if verify { "true" } else { "false" });
    let run = bench.check(UNION).await;
    let plan = shown(&run.plan);
    assert!(plan.contains("fan_in=4"), "{plan}");
    assert_eq!(run.pushbacks(), []);
    assert!(run.metric("units_drive") > 14, "units are read on either side of a cut");
    assert_eq!(run.metric("rows_out"), 1100);
}

#[rstest]
#[case::one_key("SELECT k FROM a UNION SELECT k FROM b ORDER BY k")]
#[case::filtered("SELECT k FROM a WHERE v % 2 = 0 UNION SELECT k FROM b WHERE v > 1100 ORDER BY k")]
#[case::of_three("SELECT k FROM a UNION SELECT k FROM b UNION SELECT k FROM a ORDER BY k")]
#[tokio::test]
async fn sorted_union_without_duplicates(
    #[case] sql: &str,
    #[values("1", "2")] partitions: &str,
    #[values(2, 16)] merge_inputs_max: u32,
) {
    let bench = merging(merge_inputs_max);
    let bench = two_tables(bench).set("datafusion.execution.target_partitions", partitions);
    let run = bench.check(sql).await;
    let plan = shown(&run.plan);
    if merge_inputs_max == 16 {
        assert!(plan.contains("PushdownMergeExec") && plan.contains("distinct=true"), "{plan}");
        assert!(!plan.contains("AggregateExec"), "{plan}");
    }
}

#[rstest]
#[case::float("SELECT f FROM ordered_f UNION SELECT f FROM ordered_f ORDER BY f")]
#[tokio::test]
async fn distinct_floats_stay_on_the_host(#[case] sql: &str) {
    let bench = two_tables(merging(16));
    let location = bench.path("a.parquet").display().to_string();
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE ordered_f STORED AS PARQUET WITH ORDER (f) LOCATION '{location}'"
    ));
    let run = bench.check(sql).await;
    assert!(!shown(&run.plan).contains("distinct=true"), "{}", shown(&run.plan));
    let sql = "SELECT f FROM ordered_f UNION ALL SELECT f FROM ordered_f ORDER BY f";
    let run = bench.check(sql).await;
    assert!(shown(&run.plan).contains("PushdownMergeExec"), "{}", shown(&run.plan));
}

/// Orders that the user declares: descending, NULLs at either end, several keys, strings.
#[rstest]
#[case::descending("k DESC NULLS LAST", 0)]
#[case::descending_nulls_first("k DESC NULLS FIRST", 1)]
#[case::nulls_first("k ASC NULLS FIRST", 2)]
#[case::strings("s ASC NULLS LAST", 3)]
#[case::two_keys("k ASC NULLS LAST, v ASC NULLS LAST", 3)]
#[case::three_keys("k ASC NULLS LAST, s ASC NULLS LAST, v ASC NULLS LAST", 3)]
#[tokio::test]
async fn orders_of_all_kinds(
    #[case] order: &str,
    #[case] shape: usize,
    #[values("1", "3")] partitions: &str,
) {
    let key = move |row: i64| match shape {
        0 => (row < 190).then_some(500 - row),
        1 => (row >= 10).then_some(500 - row),
        2 => (row >= 10).then_some(row / 2),
        _ => (row < 190).then_some(row / 2),
    };
    let bench = merging(16).set("datafusion.execution.target_partitions", partitions);
    std::fs::create_dir_all(bench.path("parts")).unwrap();
    for part in 0..3 {
        let path = bench.path(&format!("parts/{part}.parquet"));
        let group = files::usual().set_max_row_group_row_count(Some(64));
        files::write(&path, &sorted(200, key, part * 1000), group);
    }
    let location = bench.path("parts").display().to_string();
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE parts STORED AS PARQUET WITH ORDER ({order}) LOCATION '{location}/'"
    ));
    let columns = if order.contains('v') { "k, v" } else { "k, s" };
    let sql = format!("SELECT {columns} FROM parts ORDER BY {order}");
    let run = bench.check(&sql).await;
    if partitions == "3" {
        assert!(shown(&run.plan).contains("PushdownMergeExec"), "{}", shown(&run.plan));
        assert_eq!(run.pushbacks(), []);
    }
}

#[rstest]
#[case::busy(Act::Refuse(Refusal::Busy), "pushback_busy")]
#[case::lost(Act::Fail(Failure::Timeout), "pushback_timeout")]
#[case::not_sorted(Act::End(Status::NotSorted), "pushback_fault")]
#[case::overflow(Act::End(Status::Overflow), "pushback_overflow")]
#[case::output_full(Act::End(Status::OutputFull), "pushback_low_memory")]
#[case::flipped_bit(Act::Flip(0), "pushback_fault")]
#[case::a_row_not_read(Act::MissRow, "pushback_fault")]
#[case::another_command(Act::Confuse, "pushback_fault")]
#[case::dropped(Act::Forget, "pushback_fault")]
#[tokio::test]
async fn failed_merge_runs_on_the_host(
    #[case] act: Act,
    #[case] counter: &str,
    #[values("UNION ALL", "UNION")] union: &str,
) {
    let bench = two_tables(merging(16));
    bench.drive.on_merges(act);
    let sql = format!("SELECT k FROM a {union} SELECT k FROM b ORDER BY k");
    let run = bench.check(&sql).await;
    // One of twelve units, and one of the two that have NULLs at their end.
    assert_eq!(run.pushbacks(), [(counter.to_owned(), 2)], "{}", shown(&run.plan));
    // Each unit still runs on the drive by itself.
    assert_eq!(run.metric("units_drive"), 14);
    assert_eq!(bench.drive.leased_bytes(), 0);
    assert_eq!(run.metric("media_bytes") as u64, bench.drive.traffic().media_bytes);
    assert_eq!(run.metric("link_bytes") as u64, bench.drive.traffic().link_bytes);
}

/// The number of distinct rows is unknown, like that of groups.
#[tokio::test]
async fn merge_that_loses_a_row_runs_on_the_host() {
    let bench = two_tables(merging(16));
    bench.drive.on_merges(Act::LoseRow);
    let run = bench.check(UNION).await;
    assert_eq!(run.pushbacks(), [("pushback_fault".to_owned(), 2)]);
}

#[tokio::test]
async fn verify_detects_a_wrong_merge() {
    let bench = two_tables(merging(16)).set("nearscan.pushdown.verify", "true");
    bench.drive.on_merges(Act::Lie);
    let error = bench.run(UNION).await.err().expect("it is wrong");
    assert!(error.to_string().contains("differ in a merge of"), "{error}");
}

/// With failures everywhere, cuts included, each row leaves once.
#[tokio::test]
async fn windows_that_are_pushed_back_lose_no_row() {
    let bench = merging(3);
    let bench = two_tables(bench);
    bench.drive.on_merges(Act::Fail(Failure::Timeout));
    for row_group in 0..8 {
        bench.drive.on(row_group, Act::End(Status::Encoding));
    }
    bench.check(UNION).await;
}

/// Each window is cut elsewhere, and it is the same merge: of long inputs as of short ones, it is
/// the third failure that ends it, and planning knows.
#[rstest]
#[case::several_windows(4)]
#[case::as_few_as_can_be(16)]
#[tokio::test]
async fn merge_that_fails_in_row_is_quarantined(#[case] merge_inputs_max: u32) {
    let bench = two_tables(merging(merge_inputs_max));
    bench.drive.on_merges(Act::Fail(Failure::Timeout));
    let mut timeouts = 0;
    while bench.context.quarantined().is_empty() {
        let run = bench.check(UNION).await;
        assert!(shown(&run.plan).contains("PushdownMergeExec"), "{}", shown(&run.plan));
        timeouts += run.metric("pushback_timeout");
        assert!(timeouts <= 3, "{:?}", run.pushbacks());
    }
    assert_eq!(timeouts, 3);
    let (_, output, candidates) = bench.decide(UNION).await;
    assert!(!shown(&output).contains("PushdownMergeExec"), "{}", shown(&output));
    for candidate in &candidates {
        let above = candidate.above.as_ref().map(|kept| kept.reason);
        assert_eq!(above, Some(KeepReason::Quarantine), "{candidate}");
    }
    // Its scans have not failed, and neither has another merge.
    let run = bench.check(UNION).await;
    assert_eq!(run.pushbacks(), []);
    assert!(run.metric("units_drive") > 0);
    for other in [
        "SELECT k FROM a UNION SELECT k FROM b ORDER BY k",
        "SELECT k, s FROM a WHERE v > 9 UNION ALL SELECT k, s FROM b ORDER BY k",
    ] {
        assert!(shown(&bench.plan(other).await).contains("PushdownMergeExec"));
    }
}

#[tokio::test]
async fn drive_that_does_not_merge_leaves_it_to_host() {
    let bench = two_tables(merging(0));
    let run = bench.check(UNION).await;
    assert!(!shown(&run.plan).contains("PushdownMergeExec"), "{}", shown(&run.plan));
}

/// A merge under a join and under a limit.
#[rstest]
#[case::limit(
    "SELECT k FROM (SELECT k, v FROM a UNION ALL SELECT k, v FROM b) WHERE v % 3 > 0 \
     ORDER BY k LIMIT 77"
)]
#[case::aggregate_in_order(
    "SELECT k, count(*), max(v) FROM (SELECT k, v FROM a UNION ALL SELECT k, v FROM b) \
     GROUP BY k ORDER BY k"
)]
#[case::window(
    "SELECT k, count(*) OVER (ORDER BY k) FROM (SELECT k FROM a UNION ALL SELECT k FROM b) \
     ORDER BY k"
)]
#[case::join(
    "SELECT x.k, l_linenumber FROM (SELECT k FROM a UNION SELECT k FROM b ORDER BY k) x \
     JOIN lineitem ON l_orderkey = x.k WHERE l_tax = 0.01 ORDER BY 1, 2"
)]
#[tokio::test]
async fn merge_keeps_the_properties_for_operators_above(
    #[case] sql: &str,
    #[values("1", "2")] partitions: &str,
) {
    let bench = two_tables(merging(16)).set("datafusion.execution.target_partitions", partitions);
    bench.check(sql).await;
}
