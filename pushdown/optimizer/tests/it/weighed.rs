// SPDX-License-Identifier: Apache-2.0
//! Tests decisions of the cost model with given rates: merges on the drive or on the host, observed
//! commands, and the places of estimates.

use std::sync::Arc;

use datafusion::physical_plan::collect;
use nearscan_drive::{Capabilities, LoadedImage};
use nearscan_optimizer::{Candidate, Decision, KeepReason, cost::UnitEstimate};
use rstest::rstest;

use crate::{
    bench::{Bench, pushed, shown},
    drive::Fake,
    merges::{UNION, two_tables},
};

/// A drive that merges, in `auto`, on a host of these rates.
fn weighing(drive: Fake, host: Host) -> Bench {
    let bench = two_tables(Bench::with_drive(drive)).set("nearscan.pushdown.mode", "auto");
    let Host { decode_per_s, merge_rows_per_s } = host;
    let decode = decode_per_s.to_string();
    bench
        .set("nearscan.host.decode_bytes_per_s", &decode)
        .set("nearscan.host.decode_values_per_s", &decode)
        .set("nearscan.host.merge_rows_per_s", &merge_rows_per_s.to_string())
        .set("nearscan.host.result_bytes_per_s", "1000000000000")
}

#[derive(Clone, Copy)]
struct Host {
    /// Bytes a second, and values.
    decode_per_s: u64,
    merge_rows_per_s: u64,
}

/// Decodes and merges as fast as one likes.
const FAST: Host = Host { decode_per_s: 1 << 50, merge_rows_per_s: 1 << 50 };

/// Decodes slowly.
const SLOW_DECODER: Host = Host { decode_per_s: 1_000_000, ..FAST };

/// Merges slowly.
const SLOW_MERGER: Host = Host { merge_rows_per_s: 1000, ..FAST };

/// A drive that scans fast, and takes 100 ns for each row that it merges.
fn merging() -> Fake {
    let capabilities = Capabilities { merge_inputs_max: 16, ..Capabilities::of_scan_kernel() };
    Fake::new(capabilities).with_merges(|rates| rates.ns_per_row = 100.0)
}

fn is_offloaded(candidate: &Candidate) -> bool {
    matches!(candidate.decision, Decision::Offload { .. })
}

#[tokio::test]
async fn fast_host_keeps_merge_and_its_scans_go_by_their_own_estimates() {
    let bench = weighing(merging(), SLOW_DECODER);
    let (_, output, candidates) = bench.decide(UNION).await;
    let plan = shown(&output);
    assert!(plan.contains("SortPreservingMergeExec") && !plan.contains("PushdownMerge"), "{plan}");
    assert_eq!(pushed(&output).len(), 2, "{plan}");
    for candidate in &candidates {
        let kept = candidate.above.as_ref().unwrap();
        assert!(is_offloaded(candidate) && kept.reason == KeepReason::Cost, "{candidate}");
        let costs = kept.costs.unwrap();
        assert!(costs.drive_ns > costs.host_ns, "{candidate}");
        let shown = format!("above it kept=cost ({costs})");
        assert!(candidate.to_string().contains(&shown), "{candidate}");
    }
    bench.check(UNION).await;
}

#[rstest]
#[case::one_that_merges(LoadedImage { columns_max: 5, merges: true, exchange_ns: 1e12 }, true)]
#[case::one_that_scans(LoadedImage { columns_max: 7, merges: false, exchange_ns: 1e12 }, false)]
#[case::quick_exchange(LoadedImage { columns_max: 7, merges: false, exchange_ns: 1e3 }, true)]
#[tokio::test]
async fn merge_goes_to_drive_if_loading_its_image_pays(
    #[case] image: LoadedImage,
    #[case] is_merged: bool,
) {
    let drive = merging().with_scans(|rates| rates.setup_ns = 10_000.0).with_image(image);
    let bench = weighing(drive, SLOW_MERGER);
    let (_, output, _) = bench.decide(UNION).await;
    let plan = shown(&output);
    assert_eq!(plan.contains("PushdownMergeExec"), is_merged, "{plan}");
}

#[rstest]
#[case::wide_one(LoadedImage { columns_max: 7, merges: false, exchange_ns: 1e12 }, true)]
#[case::narrow_one(LoadedImage { columns_max: 1, merges: true, exchange_ns: 1e12 }, false)]
#[tokio::test]
async fn scan_goes_to_drive_if_its_image_is_loaded(
    #[case] image: LoadedImage,
    #[case] is_offloaded: bool,
) {
    let drive = merging().with_scans(|rates| rates.setup_ns = 10_000.0).with_image(image);
    let bench = weighing(drive, SLOW_DECODER);
    let (_, output, _) = bench.decide("SELECT k, s FROM a").await;
    assert_eq!(!pushed(&output).is_empty(), is_offloaded, "{}", shown(&output));
}

#[tokio::test]
async fn slow_host_gives_merge_to_drive_with_its_scans() {
    let drive = merging().with_scans(|rates| rates.setup_ns = 10_000.0);
    let bench = weighing(drive, SLOW_MERGER);
    let (_, output, candidates) = bench.decide(UNION).await;
    let plan = shown(&output);
    assert!(plan.contains("PushdownMergeExec") && !plan.contains("SortPreserving"), "{plan}");
    assert_eq!(candidates.len(), 2);
    for candidate in &candidates {
        let merge = candidate.merge.unwrap();
        assert!(is_offloaded(candidate) && merge.drive_ns < merge.host_ns, "{candidate}");
        assert_eq!(candidate.above, None);
        // By itself each of them would have stayed.
        let own = candidate.costs.unwrap();
        assert!(own.drive_ns > own.host_ns, "{candidate}");
        let shown = format!("merged there: {merge}");
        assert!(candidate.to_string().ends_with(&shown), "{candidate}");
    }
    let run = bench.check(UNION).await;
    assert_eq!(run.pushbacks(), []);
}

#[rstest]
#[case::sort_of_sorted_row_groups("SELECT k, s FROM a ORDER BY k")]
#[case::without_duplicates("SELECT k FROM a UNION SELECT k FROM b ORDER BY k")]
#[tokio::test]
async fn other_merges_are_weighed_too(#[case] sql: &str) {
    let collected = |bench: Bench| bench.set("datafusion.execution.collect_statistics", "false");
    let run = collected(weighing(merging(), SLOW_MERGER)).check(sql).await;
    assert!(shown(&run.plan).contains("PushdownMergeExec"), "{}", shown(&run.plan));
    let bench = collected(weighing(merging(), SLOW_DECODER));
    let (_, output, candidates) = bench.decide(sql).await;
    assert!(!shown(&output).contains("PushdownMergeExec"), "{}", shown(&output));
    let is_for_cost = |candidate: &Candidate| {
        candidate.above.as_ref().is_some_and(|kept| kept.reason == KeepReason::Cost)
    };
    assert!(candidates.iter().all(is_for_cost), "{candidates:?}");
    bench.check(sql).await;
}

/// The host merges ten million rows a second on a core, as the drive does, and scans faster.
#[tokio::test]
async fn merge_that_idle_host_keeps_leaves_it_when_it_is_busy() {
    let host = Host { merge_rows_per_s: 20_000_000, ..FAST };
    let bench = weighing(merging(), host);
    let merges = async || {
        let (_, output, _) = bench.decide(UNION).await;
        shown(&output).contains("PushdownMergeExec")
    };
    assert!(!merges().await);
    let others: Vec<_> = (0..19).map(|_| bench.context.begin_query()).collect();
    assert_eq!(bench.context.running_queries(), 19);
    assert!(merges().await);
    drop(others);
    assert_eq!(bench.context.running_queries(), 0);
    assert!(!merges().await);
}

#[tokio::test]
async fn drive_of_unknown_speed_is_not_used_until_it_has_run_something() {
    let sql = "SELECT sum(v) FROM a WHERE v >= 0";
    let bench = weighing(merging().without_rates(), SLOW_DECODER);
    let kept = bench.kept(sql).await;
    assert_eq!(kept.to_string(), "kept=cost (the drive's speed is not known yet)");
    let (_, output, candidates) = bench.decide(UNION).await;
    assert_eq!((pushed(&output).len(), candidates.len()), (0, 2));
    let drive = merging().without_merge_rates();
    let bench = weighing(drive, SLOW_MERGER);
    let kept = bench.decide(UNION).await.2[0].above.clone().unwrap();
    assert_eq!(kept.to_string(), "kept=cost (the drive's speed is not known yet)");
}

#[tokio::test]
async fn observed_commands_refine_the_rates_of_a_drive() {
    let sql = "SELECT sum(v) FROM a WHERE v >= 0";
    let slow = merging().with_scans(|rates| rates.setup_ns = 1e12);
    let bench = weighing(slow, SLOW_DECODER);
    assert_eq!(bench.kept(sql).await.reason, KeepReason::Cost);
    let force = bench.set("nearscan.pushdown.mode", "force");
    // Six row groups: not enough the first time.
    force.run(sql).await.unwrap();
    let auto = force.set("nearscan.pushdown.mode", "auto");
    assert_eq!(auto.kept(sql).await.reason, KeepReason::Cost);
    let force = auto.set("nearscan.pushdown.mode", "force");
    force.run(sql).await.unwrap();
    let auto = force.set("nearscan.pushdown.mode", "auto");
    let (_, output, candidates) = auto.decide(sql).await;
    assert_eq!(pushed(&output).len(), 1, "{candidates:?}");
}

#[tokio::test]
async fn same_commands_lead_to_same_decisions() {
    let sql = "SELECT sum(v) FROM a WHERE v >= 0";
    let mut estimates = Vec::new();
    for partitions in ["1", "2", "2"] {
        let slow = merging().with_scans(|rates| rates.setup_ns = 1e12);
        let bench = weighing(slow, SLOW_DECODER)
            .set("nearscan.pushdown.mode", "force")
            .set("datafusion.execution.target_partitions", partitions);
        for _ in 0..4 {
            bench.run(sql).await.unwrap();
        }
        let bench = bench
            .set("nearscan.pushdown.mode", "auto")
            .set("datafusion.execution.target_partitions", "2");
        estimates.push(bench.decide(sql).await.2[0].costs.unwrap());
    }
    assert_eq!(estimates[0], estimates[1]);
    assert_eq!(estimates[1], estimates[2]);
}

#[tokio::test]
async fn estimates_are_shown_beside_actual_times() {
    let sql = "SELECT sum(v) FROM a WHERE v >= 0";
    let bench = weighing(merging(), SLOW_DECODER);
    let costs = bench.decide(sql).await.2[0].costs.unwrap();
    let run = bench.check(sql).await;
    let expected = UnitEstimate::of(&costs);
    assert_eq!(run.metric("drive_time_estimated") as u64, expected.drive_ns);
    assert_eq!(run.metric("host_time_estimated") as u64, expected.host_ns);
    assert!(run.metric("drive_time_modelled") > 0);
    let entries = bench.context.log.entries();
    assert_eq!(entries.len(), 6);
    for entry in entries {
        let estimate = entry.estimate.unwrap();
        // One of six is less than all of them.
        assert!(0 < estimate.host_ns && estimate.host_ns < expected.host_ns);
        assert!(0 < estimate.drive_ns && estimate.drive_ns <= estimate.host_ns);
        assert_eq!(estimate.snapshot, costs.snapshot);
    }
    let bench = weighing(merging(), SLOW_MERGER);
    let merge = UnitEstimate::of(&bench.decide(UNION).await.2[0].merge.unwrap());
    let run = bench.check(UNION).await;
    assert_eq!(run.metric("drive_time_estimated") as u64, merge.drive_ns);
    assert!(bench.context.log.entries().iter().all(|entry| entry.estimate.is_some()));
    let force = bench.set("nearscan.pushdown.mode", "force");
    let run = force.check(UNION).await;
    assert_eq!(run.metric("drive_time_estimated"), 0, "the cost model was not used");
    assert_eq!(force.context.log.entries().last().unwrap().estimate, None);
}

#[rstest]
#[case::scan("SELECT sum(v) FROM a WHERE v >= 0", SLOW_DECODER)]
#[case::merge(UNION, SLOW_MERGER)]
#[tokio::test]
async fn estimates_are_serialised_with_a_plan(#[case] sql: &str, #[case] host: Host) {
    let bench = weighing(merging(), host);
    let session = bench.pushing().await;
    let sent = crate::bench::plan_of(&session, sql).await;
    let arrived = crate::codec::travelled(&sent, &session);
    collect(Arc::clone(&arrived), session.task_ctx()).await.unwrap();
    let run = crate::bench::Run { rows: Vec::new(), plan: arrived };
    assert!(run.metric("drive_time_estimated") > 0 && run.metric("host_time_estimated") > 0);
    let entries = bench.context.log.entries();
    assert!(!entries.is_empty() && entries.iter().all(|entry| entry.estimate.is_some()));
}

/// `v` ascends from 0 to 599, as the footers say.
#[rstest]
#[case::a_tenth("v < 60", 0.1)]
#[case::most("v >= 60", 0.9)]
#[tokio::test]
async fn selectivity_is_estimated_from_the_footers(#[case] filter: &str, #[case] share: f64) {
    let slow_link = merging().with_link_bytes_per_s(1e6);
    let bench = weighing(slow_link, Host { decode_per_s: 1000, ..FAST });
    let all = bench.decide("SELECT k, v FROM a").await.2[0].costs.unwrap();
    let some =
        bench.decide(&format!("SELECT k, v FROM a WHERE {filter}")).await.2[0].costs.unwrap();
    // Row groups that the footers rule out are not read, and the others keep their share.
    let found = some.drive_ns / all.drive_ns;
    assert!((found - share).abs() < 0.15, "{found}");
}

/// Rows without a partner are not sent by a drive that looks the keys of the join up.
#[tokio::test]
async fn scan_below_an_inner_join_is_estimated_to_send_less_than_below_an_outer_one() {
    let few = "(SELECT k FROM a WHERE k = 7) AS few ON few.k = b.k";
    let sent_ns = async |join: &str| {
        let sql = format!("SELECT b.s FROM b {join} {few}");
        let estimated = async |ns_per_link_byte: f64| {
            let drive = merging().with_scans(|rates| rates.ns_per_link_byte = ns_per_link_byte);
            let (_, _, candidates) = weighing(drive, SLOW_DECODER).decide(&sql).await;
            let of_b = candidates.iter().find(|candidate| candidate.table == "b").unwrap();
            of_b.costs.unwrap().drive_ns
        };
        estimated(1000.0).await - estimated(0.0).await
    };
    let (inner, outer) = (sent_ns("JOIN").await, sent_ns("LEFT JOIN").await);
    // Six units have a header each, whatever they send.
    assert!(inner < outer * 0.7, "{inner} ns, {outer} ns");
}
