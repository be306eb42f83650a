// SPDX-License-Identifier: Apache-2.0
//! Statements and plans with long rows of operators.

use rstest::rstest;
use tokio::runtime::Builder;

use crate::support::{Data, check, engine_with_drive, text};

fn joined(count: usize, operator: &str, part: impl Fn(usize) -> String) -> String {
    (0..=count).map(part).collect::<Vec<_>>().join(operator)
}

/// `count` operators, each below the one before.
fn statement(kind: &str, count: usize) -> String {
    let all = |condition: &str| format!("SELECT count(*) FROM t WHERE {condition}");
    match kind {
        "and" => all(&joined(count - 1, " AND ", |at| format!("k <> {}", at + 2000))),
        "or" => all(&joined(count - 1, " OR ", |at| format!("k = {}", at * 2))),
        "sum" => format!("SELECT {} FROM t WHERE k = 1", joined(count, " + ", |_| "k".to_owned())),
        "text" => {
            let k = joined(count, " || ", |_| "CAST(k AS VARCHAR)".to_owned());
            format!("SELECT length({k}) FROM t WHERE k = 1")
        }
        "union" => {
            let rows = joined(count, " UNION ALL ", |at| format!("SELECT {at} AS x"));
            format!("SELECT count(*) FROM ({rows})")
        }
        "except" => all(&format!(
            "k IN ({})",
            joined(count, " EXCEPT ", |at| format!("SELECT k + {} FROM t", at * 1000))
        )),
        "cast" => format!("SELECT k{} FROM t WHERE k = 1", "::BIGINT".repeat(count)),
        other => panic!("no statement of {other}"),
    }
}

/// Runs the work on a thread with a stack of the usual size. Frames are several times as large in a
/// debug build: there the stack is larger.
fn on_a_thread(work: impl Future<Output = ()> + Send + 'static) {
    let stack_size = if cfg!(debug_assertions) { 32 << 20 } else { 2 << 20 };
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).thread_stack_size(stack_size).enable_all();
    let runtime = runtime.build().unwrap();
    runtime.block_on(runtime.spawn(work)).unwrap();
}

// Sums and EXCEPT have less than the limit: it takes minutes in a debug build to plan a thousand.
#[rstest]
#[case::sum("sum", 250, "251")]
#[case::text("text", 250, "251")]
#[case::casts("cast", 1000, "1")]
#[case::unions("union", 999, "1000")]
#[case::excepts("except", 50, "1000")]
#[test]
fn run_up_to_a_limit(
    #[case] kind: &'static str,
    #[case] count: usize,
    #[case] expected: &'static str,
    #[values("off", "force")] mode: &'static str,
) {
    on_a_thread(async move {
        let data = Data::make().await;
        let engine = engine_with_drive(mode).await;
        engine.register("t", &data.path("t.parquet")).await.unwrap();
        check(&engine, &statement(kind, count), Ok(expected)).await;
        for count in [1001, 300_000] {
            check(&engine, &statement(kind, count), Err("more than 1000 operators")).await;
        }
        assert_eq!(text(&engine, "SELECT 1 AS x").await, "x\n1");
    });
}

// A debug build takes minutes for more.
#[rstest]
#[case::and("and", 1500, "1000")]
#[case::or("or", 5000, "500")]
#[test]
fn chain_of_terms_runs_at_any_length_people_write(
    #[case] kind: &'static str,
    #[case] count: usize,
    #[case] expected: &'static str,
) {
    on_a_thread(async move {
        let data = Data::make().await;
        let engine = engine_with_drive("off").await;
        engine.register("t", &data.path("t.parquet")).await.unwrap();
        text(&engine, "SET datafusion.execution.parquet.pruning = false").await;
        check(&engine, &statement(kind, count), Ok(expected)).await;
        check(&engine, &statement(kind, 300_000), Err("more than 100000 terms")).await;
    });
}

#[rstest]
fn plans_of_views_do_too(#[values("off", "force")] mode: &'static str) {
    on_a_thread(async move {
        let data = Data::make().await;
        let engine = engine_with_drive(mode).await;
        engine.register("v0", &data.path("t.parquet")).await.unwrap();
        for view in 1..=3 {
            let rest = joined(42, " EXCEPT ", |at| format!("SELECT {}", at * 5));
            let below = view - 1;
            let rows = format!("SELECT k FROM v{below} EXCEPT {rest}");
            text(&engine, &format!("CREATE VIEW v{view} AS {rows}")).await;
        }
        check(&engine, "SELECT count(*) FROM v2", Ok("958")).await;
        check(&engine, "SELECT count(*) FROM v3", Ok("958")).await;
    });
}
