// SPDX-License-Identifier: Apache-2.0
//! Draws join graphs at random, over files: build sides give their keys to scans that are build
//! sides of other joins themselves. No scan may wait for keys that wait for it, and no row may be
//! dropped that has a partner.

use std::time::Duration;

use datafusion::physical_plan::collect;
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, shown, texts},
    files, fused,
    join_order::{ROWS, Random, rows_of, statement},
};

const KINDS: &[&str] =
    &["INNER", "INNER", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"];

/// Longer than any of the queries takes; one that waits for itself never ends.
const PATIENCE: Duration = Duration::from_secs(60);

fn bench(partitions: &str, collected_rows_max: &str) -> Bench {
    let bench = fused::bench()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", collected_rows_max);
    (0..).zip(ROWS).fold(bench, |bench, (place, rows)| {
        bench.table(&format!("t{place}"), &rows_of(place, rows), files::usual())
    })
}

#[rstest]
#[case::collected("1000000")]
#[case::partitioned("0")]
#[case::some_of_each("60")]
#[tokio::test]
async fn joins_drawn_at_random_end_with_the_rows_of_datafusion(
    #[case] collected_rows_max: &str,
    #[values("1", "3")] partitions: &str,
    #[values("cost", "datafusion")] order: &str,
) {
    let bench = bench(partitions, collected_rows_max).set("nearscan.join_order", order);
    let (fused, host) = (bench.ordered().await, bench.host().await);
    let mut random = Random(21);
    let mut linked = 0;
    for _ in 0..12 {
        let sql = statement(&mut random, KINDS);
        let count = format!("SELECT count(*) FROM ({sql})");
        let size = host.sql(&count).await.unwrap().collect().await.unwrap();
        if texts(&size)[0].parse::<usize>().unwrap() > 20_000 {
            continue;
        }
        let plan = plan_of(&fused, &sql).await;
        let shown = shown(&plan);
        linked += shown.matches("join_keys=[").count();
        let rows = tokio::time::timeout(PATIENCE, collect(plan, fused.task_ctx())).await;
        let Ok(rows) = rows else { panic!("it does not end: {sql}\n{shown}") };
        let mut rows = texts(&rows.unwrap());
        let expected = host.sql(&sql).await.unwrap().collect().await.unwrap();
        let mut expected = texts(&expected);
        rows.sort_unstable();
        expected.sort_unstable();
        assert!(rows == expected, "{sql}\n{shown}");
    }
    assert!(linked >= 10, "only {linked} scans get keys");
}
