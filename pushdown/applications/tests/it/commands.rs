// SPDX-License-Identifier: Apache-2.0
//! Tests the command object and the response object.

use nearscan_store::Condition;

use crate::server::{Server, guest, manifest, object, until};

const COMMAND: &str = "_system:commands/command";
const RESPONSE: &str = "_system:commands/response";

/// Answers with its body.
const ECHO: &str = "(i32.store (i32.const 20) (local.get 2))
    (i32.store (i32.const 24) (local.get 3)) (i32.const 16)";

fn echo() -> Server {
    let server = Server::new();
    server.add(&manifest("echo", "command", ""), &guest("command", ECHO, ""));
    server.add(&manifest("bad", "command", ""), &guest("command", "(unreachable)", ""));
    server
}

fn append(server: &Server, text: &str) {
    server.store.append(&object(COMMAND), text.as_bytes(), Condition::Always).unwrap();
    server.applications.changed();
}

/// The answers, in the order of their ids.
fn answers(server: &Server) -> Vec<String> {
    let text = String::from_utf8(server.get(RESPONSE).unwrap_or_default()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

async fn answered(server: &Server, count: usize) -> Vec<String> {
    until("there are answers", || answers(server).len() >= count).await;
    answers(server)
}

fn request(id: &str, application: &str, body: &str) -> String {
    format!("{{\"id\":\"{id}\",\"application\":\"{application}\",\"body\":\"{body}\"}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_by_their_applications() {
    let server = echo();
    assert_eq!(server.get(COMMAND).unwrap(), b"");
    assert_eq!(server.get(RESPONSE).unwrap(), b"");
    append(&server, &request("1", "echo", "hello"));
    append(&server, &format!("{}{}", request("2", "bad", ""), request("3", "gone", "")));
    let binary = "{\"id\":\"4\",\"application\":\"echo\",\"body_base64\":\"/wA=\"}\n";
    append(&server, binary);
    let found = answered(&server, 4).await;
    let expected = [
        "{\"id\":\"1\",\"status\":\"done\",\"body\":\"hello\"}",
        "{\"id\":\"2\",\"status\":\"fault\",\"error\":\"application bad: trap: wasm trap: \
         wasm `unreachable` instruction executed\"}",
        "{\"id\":\"3\",\"status\":\"refused\",\"error\":\"application gone not found\"}",
        "{\"id\":\"4\",\"status\":\"done\",\"body_base64\":\"/wA=\"}",
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_and_lines_without_an_end_wait() {
    let server = echo();
    append(&server, "hello\n\n  \n{\"id\":1}\nhello\n{\"id\":\"1\",");
    let found = answered(&server, 2).await;
    assert!(found.iter().all(|line| line.starts_with("{\"id\":\"?")), "{found:?}");
    assert!(found.iter().all(|line| line.contains("refused")), "{found:?}");
    append(&server, "\"application\":\"echo\",\"body\":\"x\"}\n");
    let found = answered(&server, 3).await;
    assert_eq!(found[0], "{\"id\":\"1\",\"status\":\"done\",\"body\":\"x\"}");
    assert_eq!(found.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_is_answered_once_for_its_id_also_after_a_restart() {
    let server = echo();
    append(&server, &request("1", "echo", "a").repeat(3));
    answered(&server, 1).await;
    append(&server, &request("1", "echo", "b"));
    let server = server.restarted().await;
    append(&server, &request("2", "echo", "c"));
    assert_eq!(answered(&server, 2).await.len(), 2);
    // The host may empty the one and replace the other.
    server.put(RESPONSE, b"");
    let text = format!("{}{}", request("1", "echo", "a"), request("3", "echo", "d"));
    server.put(COMMAND, text.as_bytes());
    let server = {
        answered(&server, 1).await;
        server.restarted().await
    };
    append(&server, &request("4", "echo", "e"));
    let found = answered(&server, 2).await;
    let ids: Vec<&str> = found.iter().map(|line| &line[..9]).collect();
    assert_eq!(ids, ["{\"id\":\"3\"", "{\"id\":\"4\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn command_object_that_is_too_long_is_refused_and_a_removed_one_is_made_again() {
    let server = echo();
    let long = request("1", "echo", &"x".repeat(1000)).repeat(1100);
    server.put(COMMAND, long.as_bytes());
    let found = answered(&server, 1).await;
    assert!(found[0].contains("more than 1048576 bytes"), "{found:?}");
    server.store.remove(&object(COMMAND), Condition::Always).unwrap();
    server.store.remove(&object(RESPONSE), Condition::Always).unwrap();
    until("it is there again", || server.get(COMMAND).is_some()).await;
    append(&server, &request("2", "echo", "y"));
    assert_eq!(answered(&server, 1).await, ["{\"id\":\"2\",\"status\":\"done\",\"body\":\"y\"}"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_takes_long_holds_no_other_up() {
    let server = echo();
    let limits = "deadline_ms = 60000\nfuel = 1000000000000";
    let slow = guest("command", "(loop (br 0)) (unreachable)", "");
    server.add(&manifest("slow", "command", limits), &slow);
    append(&server, &request("1", "slow", ""));
    append(&server, &request("2", "echo", "x"));
    let found = answered(&server, 1).await;
    assert_eq!(found, ["{\"id\":\"2\",\"status\":\"done\",\"body\":\"x\"}"]);
    server.applications.stop("slow").unwrap();
    let found = answered(&server, 2).await;
    assert!(found[0].contains("stopped"), "{found:?}");
}
