// SPDX-License-Identifier: Apache-2.0
//! Tests applications that try to get out: each is refused or ended, and the server goes on.

use std::time::Duration;

use nearscan_applications::{Error, Fault, Replace, Request, STACK_BYTES, What};
use nearscan_drive::clock::{Stopwatch, unix_ns};
use rstest::rstest;

use crate::server::{Server, from_c, guest, manifest, package};

/// The answer of a call, or the rule that it broke.
fn outcome(answer: Result<Vec<u8>, Error>) -> Result<String, Fault> {
    match answer {
        Ok(bytes) => Ok(String::from_utf8(bytes).unwrap()),
        Err(Error::Fault { fault, .. }) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

/// An answer: a result that is a list of no bytes.
const EMPTY: &str = "(i32.const 16)";

#[rstest]
#[case::loops("(loop (br 0)) (unreachable)", "fuel = 1000000", Fault::Fuel { limit: 1_000_000 })]
#[case::loops_for_long(
    "(loop (br 0)) (unreachable)",
    "deadline_ms = 100\nfuel = 1000000000000",
    Fault::Deadline { limit_ms: 100 }
)]
#[case::calls_itself(
    "(call $deep (i32.const 0))",
    "fuel = 1000000000",
    Fault::Stack { limit: STACK_BYTES as u64 }
)]
#[case::grows(
    "(drop (memory.grow (i32.const 1000))) (i32.const 16)",
    "memory_bytes = 1000000",
    Fault::Memory { wanted: 1001 << 16, limit: 1_000_000 }
)]
#[case::grows_tables(
    "(drop (table.grow $t (ref.null func) (i32.const 100000))) (i32.const 16)",
    "table_elements = 50000",
    Fault::Table { wanted: 100_001, limit: 50_000 }
)]
#[case::traps(
    "(unreachable)",
    "",
    Fault::Trap { detail: "wasm trap: wasm `unreachable` instruction executed".to_owned() }
)]
#[case::reads_outside_of_its_memory(
    "(i32.load (i32.const 0x7fffffff))",
    "",
    Fault::Trap { detail: "wasm trap: out of bounds memory access".to_owned() }
)]
#[case::answers_from_outside_of_its_memory(
    "(i32.store (i32.const 20) (i32.const 0)) (i32.store (i32.const 24) (i32.const -1))
     (i32.const 16)",
    "",
    Fault::Misuse { detail: "list pointer/length out of bounds of memory".to_owned() }
)]
#[case::has_an_answer_outside_of_its_memory(
    "(i32.const -4)",
    "",
    Fault::Misuse { detail: String::new() }
)]
#[tokio::test(flavor = "multi_thread")]
async fn call_that_breaks_a_rule_ends_and_the_fault_says_which(
    #[case] body: &str,
    #[case] limits: &str,
    #[case] expected: Fault,
) {
    let server = Server::new();
    let others = "(table $t 1 200000 funcref)
        (func $deep (param i32) (result i32)
          (i32.add (call $deep (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))";
    server.add(&manifest("bad", "command", limits), &guest("command", body, others));
    server.add(&manifest("good", "command", ""), &guest("command", EMPTY, ""));
    let took = Stopwatch::start();
    let fault = outcome(server.run("bad", &[]).await).unwrap_err();
    assert!(took.elapsed() < Duration::from_secs(30));
    match &expected {
        Fault::Misuse { detail } if detail.is_empty() => assert_eq!(fault.kind(), "misuse"),
        _ => assert_eq!(fault, expected),
    }
    let noted = server.notices().into_iter().any(|(name, what)| {
        name == "bad" && matches!(&what, What::Faulted(noted) if *noted == fault)
    });
    assert!(noted);
    assert_eq!(outcome(server.run("good", &[]).await), Ok(String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn component_whose_memory_is_too_large_at_the_start_is_out_of_memory() {
    let server = Server::new();
    let limits = "memory_bytes = 1000";
    server.add(&manifest("a", "command", limits), &guest("command", EMPTY, ""));
    let fault = outcome(server.run("a", &[]).await).unwrap_err();
    assert_eq!(fault, Fault::Memory { wanted: 1 << 16, limit: 1000 });
}

#[tokio::test(flavor = "multi_thread")]
async fn call_ends_when_its_application_is_stopped_or_nobody_waits_for_it() {
    let server = Server::new();
    let limits = "fuel = 1000000000000\ndeadline_ms = 60000";
    let component = guest("command", "(loop (br 0)) (unreachable)", "");
    server.add(&manifest("a", "command", limits), &component);
    let running = {
        let applications = server.applications.clone();
        tokio::spawn(async move { applications.run("a", Request::default()).await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.applications.stop("a").unwrap();
    assert_eq!(outcome(running.await.unwrap()), Err(Fault::Stopped));
    assert!(matches!(server.run("a", &[]).await, Err(Error::NotStarted { .. })));
    server.applications.start("a").unwrap();
    let late = tokio::time::timeout(Duration::from_millis(50), server.run("a", &[])).await;
    assert!(late.is_err());
    // A call that still runs would hold the store.
    server.restarted().await;
}

/// A guest in C, on a server with secrets.
fn escapee(test: &str, limits: &str) -> Option<Server> {
    let component = from_c(test, "command", "tests/it/guests/escape.c")?;
    let server = Server::new();
    server.put("secret/a", b"secret");
    server.put("raw/a", b"public");
    server.add(&manifest("escape", "command", limits), &component);
    Some(server)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_machine_is_there() {
    let Some(server) = escapee("nothing_of_the_machine_is_there", "") else { return };
    let outside = tempfile::NamedTempFile::new().unwrap();
    let name = outside.path().to_str().unwrap();
    for (arguments, expected) in [
        (&["file", "/etc/passwd"][..], "Capabilities insufficient"),
        (&["file", name], "Capabilities insufficient"),
        (&["make-file", "here"], "Capabilities insufficient"),
        (&["folder"], "Capabilities insufficient"),
        (&["variable"], "none"),
        (&["input"], "none"),
    ] {
        let answer = outcome(server.run("escape", arguments).await);
        assert_eq!(answer.as_deref(), Ok(expected), "{arguments:?}");
    }
    let seconds: u64 = outcome(server.run("escape", &["clock"]).await).unwrap().parse().unwrap();
    assert!(seconds.abs_diff(unix_ns() / 1_000_000_000) < 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_without_a_right_are_denied() {
    let Some(server) = escapee("collections_without_a_right_are_denied", "") else { return };
    for (what, expected) in [
        ("read-secret", "denied"),
        ("info-secret", "denied"),
        ("write-secret", "denied"),
        ("remove-secret", "denied"),
        ("attribute-secret", "denied"),
        ("install", "denied"),
        ("traverse", "invalid"),
    ] {
        let answer = outcome(server.run("escape", &["object", what]).await);
        assert_eq!(answer.as_deref(), Ok(expected), "{what}");
    }
    assert_eq!(server.get("secret/a").unwrap(), b"secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_hold_for_programs_in_c() {
    let limits = "deadline_ms = 1500\nmemory_bytes = 20000000\nresources = 20";
    let Some(server) = escapee("rules_hold_for_programs_in_c", limits) else { return };
    for (arguments, expected) in [
        (&["memory"][..], "memory"),
        (&["stack"], "stack or trap"),
        (&["exit"], "trap"),
        (&["abort"], "trap"),
        // There is no socket that it could be.
        (&["socket"], "trap"),
        (&["object", "many-writers"], "resources"),
        (&["object", "use-closed"], "misuse"),
        (&["object", "guess-handle"], "misuse"),
        (&["list", "outside"], "misuse"),
        (&["list", "shared"], "misuse"),
        (&["wait", "sleep"], "deadline"),
        (&["wait", "scan"], "deadline"),
    ] {
        let took = Stopwatch::start();
        let fault = outcome(server.run("escape", arguments).await).unwrap_err();
        assert!(expected.contains(fault.kind()), "{arguments:?}: {fault}");
        assert!(took.elapsed() < Duration::from_secs(20), "{arguments:?}");
    }
    // Writers of a call that was ended leave nothing.
    assert_eq!(server.get("raw/a").unwrap(), b"public");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_goes_to_the_log_up_to_a_bound() {
    let test = "what_is_printed_goes_to_the_log_up_to_a_bound";
    let Some(server) = escapee(test, "") else { return };
    server.run("escape", &["print"]).await.unwrap();
    let lines: Vec<String> = server
        .notices()
        .into_iter()
        .filter_map(|(_, what)| match what {
            What::Logged(_, text) => Some(text),
            _ => None,
        })
        .collect();
    // The journal keeps the last thousand of them.
    assert_eq!(lines.last().unwrap(), "the log ends after 65536 bytes");
    assert!(lines[0].starts_with("line "));
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_restricts_what_an_application_may_do() {
    let test = "caller_restricts_what_an_application_may_do";
    let Some(server) = escapee(test, "") else { return };
    let arguments = vec!["object".to_owned(), "use-closed".to_owned()];
    let rights = Some(nearscan_applications::Rights::new(Vec::new()));
    let request = Request { arguments, rights, ..Request::default() };
    // Without rights the reader is not even opened, and its handle means nothing.
    let ended = outcome(server.applications.run("escape", request).await);
    assert_eq!(ended.unwrap_err().kind(), "misuse");
}

#[tokio::test(flavor = "multi_thread")]
async fn component_that_imports_anything_else_is_not_installed() {
    let server = Server::new();
    let text = "(component (import \"other:machine/shell\" (instance
        (export \"run\" (func (param \"line\" string))))))";
    let component = wat::parse_str(text).unwrap();
    let package = package(&manifest("a", "command", ""), &component);
    let error = server.applications.install(package, Replace::Never).unwrap_err();
    assert!(matches!(error, Error::Component { .. }), "{error}");
    assert!(server.applications.list().is_empty());
}
