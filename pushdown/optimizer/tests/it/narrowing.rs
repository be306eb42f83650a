// SPDX-License-Identifier: Apache-2.0
//! Tests dynamic filters: the values of a join or a top-k narrow later commands.

use nearscan_command::Command;
use rstest::rstest;

use crate::bench::{Bench, pushed, shown};

fn one_partition() -> Bench {
    Bench::new().set("datafusion.execution.target_partitions", "1")
}

/// Steps of the predicates of all commands over a column.
fn steps(commands: &[Command], column: &str) -> Vec<usize> {
    let reads =
        |command: &&Command| command.fragment.columns.iter().any(|read| read.name == column);
    let steps = |command: &Command| command.fragment.predicate.steps.len();
    commands.iter().filter(reads).map(steps).collect()
}

const JOIN: &str = "SELECT l_comment FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
                    WHERE o_custkey = 7 AND o_orderkey < 400 AND l_tax > 0.02 ORDER BY 1";

#[rstest]
#[tokio::test]
async fn bounds_of_a_join_reach_the_drive(#[values("1", "2")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let run = bench.check(JOIN).await;
    let exec = pushed(&run.plan).into_iter().find(|exec| shown(exec).contains("lineitem")).unwrap();
    assert!(shown(&exec).contains("dynamic_filter=true"), "{}", shown(&exec));
    let planned = exec.downcast_ref::<nearscan_optimizer::PushdownExec>().unwrap();
    let before = planned.fragment().predicate.steps.len();
    let after = steps(&bench.drive.commands(), "l_orderkey");
    assert_eq!(after.len(), 2, "statistics rule out the others");
    assert!(after.iter().all(|steps| *steps > before), "{before} steps became {after:?}");
    // Orders 28 and 228: the bounds leave about a fifth of the rows with enough tax.
    let rows_out = exec.metrics().unwrap().sum_by_name("rows_out").unwrap().as_usize();
    assert!(rows_out > 0 && rows_out < 700, "{rows_out} rows came out");
}

#[tokio::test]
async fn kth_row_of_top_k_prunes_later_units() {
    let bench = one_partition();
    let sql = "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 20 \
               ORDER BY l_orderkey, l_comment LIMIT 3";
    let run = bench.check(sql).await;
    let steps = steps(&bench.drive.commands(), "l_orderkey");
    assert_eq!(steps.len(), 4);
    assert!(steps[3] > steps[0], "the last unit is sent when the first has been seen: {steps:?}");
    let all = bench.run("SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 20").await;
    assert!(run.metric("rows_out") < all.unwrap().rows.len());
}

#[tokio::test]
async fn pushed_back_unit_is_narrowed_correctly() {
    let bench = one_partition();
    for row_group in 0..4 {
        bench.drive.on(row_group, crate::drive::Act::Flip(0));
    }
    let run = bench.check(JOIN).await;
    assert!(!run.pushbacks().is_empty());
}

#[tokio::test]
async fn filter_over_computed_column_is_lowered_through_it() {
    let bench = one_partition();
    let sql = "SELECT k, l_comment FROM (SELECT l_orderkey + 5 AS k, l_comment FROM lineitem \
               WHERE l_tax > 0.02) JOIN orders ON k = o_orderkey WHERE o_custkey = 7 ORDER BY 2";
    bench.check(sql).await;
    let commands = bench.drive.commands();
    let steps = steps(&commands, "l_orderkey");
    assert!(!steps.is_empty() && steps.iter().all(|steps| *steps > 1), "{steps:?}");
}

#[tokio::test]
async fn verify_checks_narrowed_units_too() {
    let bench = one_partition().set("nearscan.pushdown.verify", "true");
    let sql = "SELECT l_orderkey, l_comment FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_custkey = 7 AND l_tax > 0.02 ORDER BY 2";
    bench.check(sql).await;
    let steps = steps(&bench.drive.commands(), "l_orderkey");
    assert!(steps.len() == 4 && steps.iter().all(|steps| *steps > 1), "{steps:?}");
    // Only `lineitem` has so many row groups.
    bench.drive.on(2, crate::drive::Act::Lie);
    let error = bench.run(sql).await.map(|run| run.rows).unwrap_err().to_string();
    assert!(error.contains("differ in row group 2 of "), "{error}");
}
