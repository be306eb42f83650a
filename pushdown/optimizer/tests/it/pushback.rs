// SPDX-License-Identifier: Apache-2.0
//! Tests push-backs: a unit that the drive does not complete runs on the host, with every row once,
//! in order, and the reason counted.

use std::sync::Arc;

use nearscan_command::{Error, Status};
use nearscan_drive::{Capabilities, Drive, Drives, Failure, Refusal};
use nearscan_optimizer::{Decision, KeepReason, quarantine};
use rstest::rstest;

use crate::{
    bench::{Bench, Run},
    drive::{Act, Fake},
};

const ROWS: &str = "SELECT l_orderkey, l_comment, l_code FROM lineitem WHERE l_quantity < 20";
const STATES: &str =
    "SELECT count(*), sum(l_quantity), avg(l_code) FROM lineitem WHERE l_tax > 0.01";

/// One partition, so that the order of rows is that of the file.
fn one_partition() -> Bench {
    Bench::new().set("datafusion.execution.target_partitions", "1")
}

fn gone() -> String {
    "it was removed".to_owned()
}

#[rstest]
#[case::busy(Act::Refuse(Refusal::Busy), "pushback_busy")]
#[case::low_memory(Act::Refuse(Refusal::LowMemory { needed_bytes: 1 }), "pushback_low_memory")]
#[case::gone(Act::Refuse(Refusal::Gone { reason: gone() }), "pushback_fault")]
#[case::command(Act::Refuse(Refusal::Command(Error::Magic { part: "command" })), "pushback_fault")]
#[case::read(Act::Fail(Failure::Read { path: gone(), reason: gone() }), "pushback_fault")]
#[case::stale(Act::Fail(Failure::Stale { path: gone() }), "pushback_fault")]
#[case::timeout(Act::Fail(Failure::Timeout), "pushback_timeout")]
#[case::late_busy(Act::Fail(Failure::Busy), "pushback_busy")]
#[case::late_memory(Act::Fail(Failure::LowMemory { needed_bytes: 9 }), "pushback_low_memory")]
#[case::cancelled(Act::Fail(Failure::Cancelled), "pushback_fault")]
#[case::lost(Act::Fail(Failure::Gone { reason: gone() }), "pushback_fault")]
#[case::kernel(Act::Fail(Failure::Kernel { reason: gone() }), "pushback_fault")]
#[case::malformed(Act::End(Status::Malformed), "pushback_fault")]
#[case::unsupported(Act::End(Status::Unsupported), "pushback_encoding")]
#[case::stale_input(Act::End(Status::StaleInput), "pushback_fault")]
#[case::corrupt(Act::End(Status::Corrupt), "pushback_fault")]
#[case::encoding(Act::End(Status::Encoding), "pushback_encoding")]
#[case::snappy_distance(Act::End(Status::SnappyDistance), "pushback_encoding")]
#[case::group_cardinality(Act::End(Status::GroupCardinality), "pushback_group_cardinality")]
#[case::dictionary_size(Act::End(Status::DictionarySize), "pushback_dictionary_size")]
#[case::overflow(Act::End(Status::Overflow), "pushback_overflow")]
#[case::scratch_full(Act::End(Status::ScratchFull), "pushback_low_memory")]
#[case::output_full(Act::End(Status::OutputFull), "pushback_low_memory")]
#[case::cancelled_status(Act::End(Status::Cancelled), "pushback_fault")]
#[case::steps_exceeded(Act::End(Status::StepsExceeded), "pushback_timeout")]
#[case::flipped_bit_of_the_payload(Act::Flip(0), "pushback_fault")]
#[case::flipped_bit_of_the_header(Act::FlipHeader, "pushback_fault")]
#[case::a_row_too_few(Act::LoseRow, "pushback_fault")]
#[case::a_row_not_read(Act::MissRow, "pushback_fault")]
#[case::another_command(Act::Confuse, "pushback_fault")]
#[case::dropped(Act::Forget, "pushback_fault")]
#[tokio::test]
async fn failed_unit_runs_on_the_host(
    #[case] act: Act,
    #[case] counter: &str,
    #[values(ROWS, STATES)] sql: &str,
) {
    let bench = one_partition();
    bench.drive.on(1, act);
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), [(counter.to_owned(), 1)]);
    assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (3, 1));
    assert_eq!(bench.drive.row_groups(), [0, 1, 2, 3], "each unit is offered once");
    assert_eq!(bench.drive.leased_bytes(), 0);
    // What failed may have moved bytes all the same.
    assert_eq!(run.metric("media_bytes") as u64, bench.drive.traffic().media_bytes);
    assert_eq!(run.metric("link_bytes") as u64, bench.drive.traffic().link_bytes);
    assert_eq!(run.metric("rows_in"), 4000);
}

#[rstest]
#[tokio::test]
async fn unit_without_a_completion_runs_on_the_host(#[values(ROWS, STATES)] sql: &str) {
    let bench = one_partition().set("nearscan.pushdown.timeout", "10ms");
    bench.drive.on(2, Act::Hang);
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), [("pushback_timeout".to_owned(), 1)]);
    assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (3, 1));
    assert_eq!(bench.drive.uncancelled(), 0);
    assert!(bench.drive.leased_bytes() > 0, "buffers stay the drive's until it has stopped");
    bench.drive.stop();
    assert_eq!(bench.drive.leased_bytes(), 0);
}

#[tokio::test]
async fn lease_that_is_refused_is_low_memory() {
    let bench = one_partition();
    bench.drive.refuse_leases(2);
    let run = bench.check(ROWS).await;
    assert_eq!(run.pushbacks(), [("pushback_low_memory".to_owned(), 2)]);
    assert_eq!(bench.drive.row_groups(), [2, 3]);
}

#[tokio::test]
async fn every_unit_may_fail() {
    let bench = one_partition();
    for (row_group, act) in
        [Act::Refuse(Refusal::Busy), Act::End(Status::Encoding), Act::Flip(3), Act::Forget]
            .into_iter()
            .enumerate()
    {
        bench.drive.on(row_group, act);
    }
    let run = bench.check(ROWS).await;
    let counter = |word: &str, count| (format!("pushback_{word}"), count);
    assert_eq!(run.pushbacks(), [counter("busy", 1), counter("encoding", 1), counter("fault", 2)]);
    assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (0, 4));
}

/// A bench with a second drive to fall back on.
fn with_fallback() -> (Bench, Arc<Fake>) {
    let fallback = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let drive = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let drives = Drives::default();
    drives.attach("fake", Arc::<Fake>::clone(&drive) as _);
    let bench = Bench::with_drives(drive, drives, Some(Arc::<Fake>::clone(&fallback) as _));
    (bench.set("datafusion.execution.target_partitions", "1"), fallback)
}

#[rstest]
#[tokio::test]
async fn fallback_gets_unit_and_no_other(#[values(ROWS, STATES)] sql: &str) {
    let (bench, fallback) = with_fallback();
    bench.drive.on(1, Act::End(Status::Encoding));
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), [("pushback_encoding".to_owned(), 1)]);
    assert_eq!(fallback.row_groups(), [1]);
    assert_eq!(run.metric("media_bytes") as u64, bench.drive.traffic().media_bytes);
    assert_eq!(fallback.leased_bytes(), 0);
}

#[rstest]
#[case(Act::Refuse(Refusal::Busy))]
#[case(Act::End(Status::Overflow))]
#[case(Act::Flip(0))]
#[tokio::test]
async fn replaced_plan_runs_what_the_fallback_cannot(
    #[case] act: Act,
    #[values(ROWS, STATES)] sql: &str,
) {
    let (bench, fallback) = with_fallback();
    bench.drive.on(1, Act::Fail(Failure::Cancelled));
    fallback.on(1, act);
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), [("pushback_fault".to_owned(), 1)]);
    assert_eq!(fallback.row_groups(), [1]);
}

#[tokio::test]
async fn overflow_of_the_drive_is_tried_by_fallback() {
    let (bench, fallback) = with_fallback();
    bench.drive.on(1, Act::End(Status::Overflow));
    bench.check(STATES).await;
    assert_eq!(fallback.row_groups(), [1]);
}

#[rstest]
#[case::of_a_product("SELECT l_huge * 4096 FROM lineitem WHERE l_tax > 0.01", 4)]
#[case::of_32_bits(
    "SELECT l_partkey + CAST(2147483600 AS INT) FROM lineitem WHERE l_tax > 0.01",
    4
)]
#[case::of_a_sum("SELECT sum(l_huge * 4) FROM lineitem WHERE l_tax > 0.01", 4)]
#[case::of_the_sum_of_sums("SELECT sum(l_huge) FROM lineitem WHERE l_orderkey < 4000", 4)]
#[case::of_a_comparison("SELECT count(*) FROM lineitem WHERE l_huge * 4096 > 5", 4)]
#[tokio::test]
async fn overflow_gives_what_datafusion_wraps_to(#[case] sql: &str, #[case] units: usize) {
    let bench = one_partition();
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), [("pushback_overflow".to_owned(), units)]);
    // An overflow is not a failure of the fragment.
    assert_eq!(bench.context.quarantined(), []);
}

#[rstest]
#[case::rows(ROWS)]
#[case::states("SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_tax > 0.01")]
#[case::rows_cut_off("SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 4 LIMIT 170")]
#[case::groups("SELECT l_linenumber, sum(l_tax) FROM lineitem GROUP BY l_linenumber ORDER BY 1")]
#[tokio::test]
async fn verify_detects_a_wrong_row(#[case] sql: &str) {
    let lying = one_partition();
    lying.drive.on(2, Act::Lie);
    let believed = lying.run(sql).await.unwrap();
    assert_ne!(believed.rows, lying.expected(sql).await, "the lie is one");
    let verifying = one_partition().set("nearscan.pushdown.verify", "true");
    verifying.check(sql).await;
    verifying.drive.on(2, Act::Lie);
    let error = verifying.run(sql).await.map(|run: Run| run.rows).unwrap_err().to_string();
    assert!(error.contains("drive fake and the host differ in row group 2 of "), "{error}");
}

#[tokio::test]
async fn fragment_that_fails_repeatedly_is_quarantined() {
    let bench = one_partition();
    for row_group in 0..3 {
        bench.drive.on(row_group, Act::Fail(Failure::Kernel { reason: gone() }));
    }
    assert_eq!(quarantine::FAILURES, 3);
    let run = bench.check(ROWS).await;
    let counter = |word: &str, count| (format!("pushback_{word}"), count);
    assert_eq!(run.pushbacks(), [counter("fault", 3), counter("quarantine", 1)]);
    assert_eq!(bench.drive.row_groups(), [0, 1, 2]);
    // The next statement does not plan for the drive at all.
    let (_, _, candidates) = bench.decide(ROWS).await;
    let Decision::Keep(kept) = &candidates[0].decision else { panic!("{candidates:?}") };
    assert_eq!(kept.reason, KeepReason::Quarantine);
}

#[rstest]
#[case::hangs(Act::Hang)]
#[case::times_out(Act::Fail(Failure::Timeout))]
#[case::exceeds_its_steps(Act::End(Status::StepsExceeded))]
#[tokio::test]
async fn hangs_count_towards_quarantine(#[case] act: Act) {
    let bench = one_partition().set("nearscan.pushdown.timeout", "10ms");
    for row_group in 0..4 {
        bench.drive.on(row_group, act.clone());
    }
    let run = bench.check(ROWS).await;
    assert_eq!(bench.context.quarantined().len(), 1);
    // The fourth may have been sent before the third had failed.
    assert!(run.metric("pushback_timeout") >= 3);
    assert_eq!(run.metric("pushback_timeout") + run.metric("pushback_quarantine"), 4);
    bench.drive.stop();
}

/// Makes the fragment of [`ROWS`] fail until it is in quarantine.
async fn into_quarantine(bench: &Bench) {
    for row_group in 0..3 {
        bench.drive.on(row_group, Act::Fail(Failure::Kernel { reason: gone() }));
    }
    bench.check(ROWS).await;
    assert_eq!(bench.context.quarantined().len(), 1);
}

#[tokio::test]
async fn quarantine_ends_with_probe_after_its_cooling_time() {
    let bench = one_partition();
    into_quarantine(&bench).await;
    bench.advance(quarantine::COOLING_MIN);
    assert_eq!(bench.context.quarantined(), []);
    // The first unit is the probe; what begins beside it is done on the host.
    let run = bench.check(ROWS).await;
    let counter = |word: &str, count| (format!("pushback_{word}"), count);
    assert_eq!(run.pushbacks(), [counter("fault", 1), counter("quarantine", 3)]);
    assert_eq!(bench.context.quarantined().len(), 1);
    bench.advance(quarantine::COOLING_MIN);
    assert_eq!(bench.context.quarantined().len(), 1, "it doubles");
    bench.advance(quarantine::COOLING_MIN);
    (0..3).for_each(|row_group| bench.drive.on(row_group, Act::Answer));
    let run = bench.check(ROWS).await;
    assert_eq!((run.pushbacks(), run.metric("units_drive")), (vec![], 4));
    assert_eq!(bench.context.quarantined(), []);
}

#[tokio::test]
async fn quarantine_ends_when_the_drive_restarts() {
    let bench = one_partition();
    into_quarantine(&bench).await;
    bench.drive.reset().unwrap();
    assert_eq!(bench.context.quarantined(), []);
    (0..3).for_each(|row_group| bench.drive.on(row_group, Act::Answer));
    let run = bench.check(ROWS).await;
    assert_eq!((run.pushbacks(), run.metric("units_drive")), (vec![], 4));
}

/// A drive whose process dies of a fragment is another drive each time, and still the fragment is
/// known.
#[tokio::test]
async fn fragment_that_kills_its_drive_is_quarantined() {
    let bench = one_partition();
    let counter = |word: &str, count| (format!("pushback_{word}"), count);
    let of_all_units = [counter("fault", 4)];
    let of_one = [counter("fault", 1), counter("quarantine", 3)];
    (0..4).for_each(|group| bench.drive.on(group, Act::Fail(Failure::Gone { reason: gone() })));
    for _ in 1..quarantine::FAILURES {
        assert_eq!(bench.check(ROWS).await.pushbacks(), of_all_units);
        bench.drive.reset().unwrap();
    }
    // The third time is enough. The next epoch has one probe, which kills the drive once more.
    for _ in 0..2 {
        assert_eq!(bench.context.quarantined(), []);
        assert_eq!(bench.check(ROWS).await.pushbacks(), of_one);
        assert_eq!(bench.context.quarantined().len(), 1);
        bench.drive.reset().unwrap();
    }
    let offered = bench.drive.row_groups().len();
    assert_eq!(bench.kept(ROWS).await.reason, KeepReason::Quarantine);
    let rows = bench.run(ROWS).await.unwrap().rows;
    assert_eq!((rows, bench.drive.row_groups().len()), (bench.expected(ROWS).await, offered));
    // Once the drive can do it, one probe is enough.
    bench.advance(2 * quarantine::COOLING_MIN);
    (0..4).for_each(|group| bench.drive.on(group, Act::Answer));
    bench.check(ROWS).await;
    assert_eq!(bench.check(ROWS).await.metric("units_drive"), 4);
}

/// A reset fails everything in flight, also fragments that did not cause it.
#[tokio::test]
async fn blamed_fragment_is_cleared_by_its_success() {
    let bench = one_partition();
    for _ in 0..3 * quarantine::FAILURES {
        bench.drive.on(1, Act::Fail(Failure::Gone { reason: gone() }));
        let run = bench.check(ROWS).await;
        assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (3, 1));
        assert_eq!(bench.context.quarantined(), []);
        bench.drive.reset().unwrap();
    }
}

#[tokio::test]
async fn failures_with_a_success_between_are_not_in_a_row() {
    let bench = one_partition();
    for row_group in [0, 1, 3] {
        bench.drive.on(row_group, Act::Fail(Failure::Kernel { reason: gone() }));
    }
    let run = bench.check(ROWS).await;
    assert_eq!(run.pushbacks(), [("pushback_fault".to_owned(), 3)]);
    assert_eq!(bench.context.quarantined(), []);
}

#[tokio::test]
async fn drive_that_has_lost_the_file_gets_no_commands() {
    let bench = one_partition();
    let session = bench.pushing().await;
    let plan = crate::bench::plan_of(&session, ROWS).await;
    bench.drive.lose_files();
    let task = session.task_ctx();
    let batches = datafusion::physical_plan::collect(Arc::clone(&plan), task).await.unwrap();
    assert_eq!(crate::bench::texts(&batches), bench.expected(ROWS).await);
    let run = Run { rows: Vec::new(), plan };
    assert_eq!(run.pushbacks(), [("pushback_fault".to_owned(), 4)]);
    assert_eq!(bench.drive.row_groups(), Vec::<usize>::new());
}
