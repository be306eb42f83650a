// SPDX-License-Identifier: Apache-2.0
//! Tests streams: their order, their end, leaks when they are dropped, and the memory that they
//! charge to the query's pool.

use std::sync::Arc;

use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, texts},
    drive::Act,
};

const ROWS: &str = "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 20";

fn one_partition() -> Bench {
    Bench::new().set("datafusion.execution.target_partitions", "1")
}

#[tokio::test]
async fn rows_of_units_are_in_order_whatever_order_they_end_in() {
    let bench = one_partition();
    for row_group in 0..3 {
        bench.drive.on(row_group, Act::Delay);
    }
    let run = bench.check(ROWS).await;
    assert_eq!(run.pushbacks(), []);
    assert_eq!(run.metric("units_drive"), 4);
}

#[rstest]
#[case::within_the_first_unit("LIMIT 7", 7, &[0])]
#[case::at_the_end_of_the_first_unit("LIMIT 60", 60, &[0])]
#[case::within_the_second_unit("LIMIT 100", 100, &[0, 1])]
#[tokio::test]
async fn no_unit_is_submitted_after_a_limit(
    #[case] limit: &str,
    #[case] rows: usize,
    #[case] row_groups: &[usize],
) {
    let bench = one_partition();
    // 60 rows of each row group.
    let sql = format!("SELECT l_comment FROM lineitem WHERE l_quantity < 4 {limit}");
    let run = bench.check(&sql).await;
    assert_eq!(run.rows.len(), rows);
    assert_eq!(run.metric("rows_out"), rows);
    assert_eq!(bench.drive.row_groups(), row_groups);
    let expected: Vec<Option<u64>> = vec![Some(rows as u64); row_groups.len()];
    let limits = bench.drive.commands().into_iter().map(|command| match command.fragment.output {
        nearscan_command::Output::Rows { limit, .. } => limit,
        nearscan_command::Output::States { .. } => None,
    });
    assert_eq!(limits.collect::<Vec<_>>(), expected, "the drive need not give more either");
}

#[rstest]
#[tokio::test]
async fn dropped_stream_cancels_what_runs(#[values(0, 1, 2)] batches: usize) {
    let bench = one_partition();
    for row_group in batches..4 {
        bench.drive.on(row_group, Act::Hang);
    }
    let session = bench.pushing().await;
    let plan = plan_of(&session, ROWS).await;
    let mut stream = execute_stream(plan, session.task_ctx()).unwrap();
    for _ in 0..batches {
        assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
    }
    // One more poll, which finds a unit that hangs.
    assert!(futures::poll!(stream.next()).is_pending());
    assert!(bench.drive.uncancelled() > 0);
    assert!(bench.drive.leased_bytes() > 0);
    drop(stream);
    assert_eq!(bench.drive.uncancelled(), 0);
    assert_eq!(bench.reserved_bytes(), 0);
    bench.drive.stop();
    assert_eq!(bench.drive.leased_bytes(), 0);
}

#[tokio::test]
async fn stream_that_is_not_polled_submits_nothing() {
    let bench = one_partition();
    let session = bench.pushing().await;
    let plan = plan_of(&session, ROWS).await;
    drop(execute_stream(plan, session.task_ctx()).unwrap());
    assert_eq!(bench.drive.row_groups(), Vec::<usize>::new());
    assert_eq!(bench.drive.leased_bytes(), 0);
}

#[tokio::test]
async fn memory_is_charged_while_batches_wait_and_released() {
    let bench = one_partition();
    let session = bench.pushing().await;
    // Each unit has more rows than a block of a result.
    let plan = plan_of(&session, "SELECT l_orderkey, l_tax FROM lineitem WHERE l_tax >= 0").await;
    let mut stream = execute_stream(plan, session.task_ctx()).unwrap();
    let mut charged = 0;
    while let Some(batch) = stream.next().await {
        batch.unwrap();
        charged = charged.max(bench.reserved_bytes());
    }
    assert!(charged > 0);
    assert_eq!(bench.reserved_bytes(), 0, "before the stream is dropped");
    drop(stream);
    assert_eq!(bench.reserved_bytes(), 0);
}

#[rstest]
#[case::not_even_a_result(64)]
#[case::a_result_but_not_its_batches(15_000)]
#[tokio::test]
async fn unit_that_does_not_fit_in_memory_is_streamed_by_the_host(#[case] bytes: usize) {
    let bench = one_partition().memory_limit(bytes);
    let run = bench.run(ROWS).await.unwrap();
    assert_eq!(run.rows, bench.expected(ROWS).await);
    let pushbacks = run.pushbacks();
    let [(counter, count)] = pushbacks.as_slice() else { panic!("{pushbacks:?}") };
    assert_eq!(counter, "pushback_low_memory");
    assert!(*count > 0);
    assert_eq!(run.metric("units_cpu"), *count);
    assert_eq!(bench.reserved_bytes(), 0);
    assert_eq!(bench.drive.leased_bytes(), 0);
}

#[tokio::test]
async fn partitions_share_the_units_of_a_file() {
    let bench = Bench::new();
    let session = bench.pushing().await;
    let plan = plan_of(&session, ROWS).await;
    let mut rows = Vec::new();
    for partition in 0..2 {
        let mut stream = plan.execute(partition, session.task_ctx()).unwrap();
        let before = rows.len();
        while let Some(batch) = stream.next().await {
            rows.extend(texts(&[batch.unwrap()]));
        }
        assert!(rows.len() > before, "each partition has its part");
    }
    let mut expected = bench.expected(ROWS).await;
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
    let mut row_groups = bench.drive.row_groups();
    row_groups.sort_unstable();
    assert_eq!(row_groups, [0, 1, 2, 3]);
    drop(Arc::clone(&plan));
}
