// SPDX-License-Identifier: Apache-2.0
//! The canary of deep plans. A stack overflow aborts the process, so the statement runs in a
//! separate one.

use std::{env, process::Command, thread};

use nearscan_corrections::{Correction, CorrectionSet};

use crate::session::{Corrected, plain, plain_rows};

/// Makes a chain of joins, whose depth is its length.
fn deep() -> String {
    let joins: String = (1..120).map(|at| format!(" JOIN t AS t{at} ON t0.a = t{at}.a")).collect();
    format!("SELECT count(*) FROM t AS t0{joins}")
}

/// Runs a test of this program in a separate process, and returns whether it succeeded.
fn ends_well(test: &str) -> bool {
    let program = env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", test];
    Command::new(program).args(arguments).output().unwrap().status.success()
}

#[tokio::test]
async fn deep_plan_overflows_the_stack() {
    let correction = Correction::GrowStack;
    assert!(
        !ends_well("canary::depth::deep_plan_of_plain_datafusion"),
        "DataFusion is right by itself: remove the correction '{correction}'"
    );
    assert!(ends_well("canary::depth::deep_plan_with_corrections"));
}

/// Runs a future on a thread with half the usual stack.
fn on_a_thread(work: impl Future<Output = String> + Send + 'static) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stack = thread::Builder::new().stack_size(1 << 20);
    stack.spawn(move || runtime.block_on(work)).unwrap().join().unwrap()
}

#[test]
#[ignore = "overflows the stack, in the process of another test"]
fn deep_plan_of_plain_datafusion() {
    let rows = on_a_thread(async {
        let context = plain();
        plain_rows(&context, "CREATE TABLE t (a INT) AS VALUES (1)").await;
        plain_rows(&context, &deep()).await
    });
    assert_eq!(rows, "1");
}

#[test]
#[ignore = "needs a separate process, which another test starts"]
fn deep_plan_with_corrections() {
    let rows = on_a_thread(async {
        let session = Corrected::with(CorrectionSet::ALL);
        session.rows("CREATE TABLE t (a INT) AS VALUES (1)").await;
        session.rows(&deep()).await
    });
    assert_eq!(rows, "1");
}
