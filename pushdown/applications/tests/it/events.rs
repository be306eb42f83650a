// SPDX-License-Identifier: Apache-2.0
//! Tests how events reach handlers: each at least once, in order for each object, or as a dead
//! letter.

use nearscan_applications::{
    Beginning, DEPTH_MAX, Error, Filter, Handler, Kind, Published, Subject, What,
};
use nearscan_store::Condition;

use crate::server::{Server, collection, from_c, guest, manifest, object, until};

/// A server whose application `recorder` writes down what it gets.
fn recorded(test: &str) -> Option<Server> {
    let component = from_c(test, "handler", "tests/it/guests/recorder.c")?;
    let server = Server::new();
    server.put("raw/log", b"");
    server.add(&manifest("recorder", "handler", ""), &component);
    Some(server)
}

/// Events of objects whose names start so.
fn filter(kinds: &[Kind], prefix: &str) -> Filter {
    let (kinds, prefix) = (kinds.to_vec(), prefix.to_owned());
    Filter { kinds, prefix, collection: Some("raw".to_owned()), ..Filter::default() }
}

const OBJECTS: [Kind; 4] = [Kind::Created, Kind::Written, Kind::Removed, Kind::AttributesChanged];

fn lines(server: &Server) -> Vec<String> {
    let text = String::from_utf8(server.get("raw/log").unwrap()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Waits until a handler has seen all changes there are now.
async fn seen(server: &Server, handler: &str) {
    let last = server.store.last_change().unwrap();
    let position = || {
        let all = server.applications.handlers();
        all.iter().find(|(it, _)| it.name == handler).map_or(0, |(_, position)| *position)
    };
    until("the handler sees all changes", || position() >= last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_object_come_in_order_with_its_versions() {
    let test = "events_of_an_object_come_in_order_with_its_versions";
    let Some(server) = recorded(test) else { return };
    server.put("raw/in-0", b"before the handler is registered");
    server.register("h", "recorder", filter(&OBJECTS, "in-"));
    let (a, b) = (server.put("raw/in-a", b"1"), server.put("raw/in-b", b"2"));
    let a2 = server.put("raw/in-a", b"3");
    server.store.set_attribute(&object("raw/in-a"), "k", b"v").unwrap();
    server.store.remove(&object("raw/in-a"), Condition::Always).unwrap();
    // The handler makes changes of its own meanwhile.
    let of_a = server.store.changes(a2.version, 100).unwrap();
    let numbers: Vec<u64> = of_a
        .iter()
        .filter(|change| change.path == object("raw/in-a"))
        .map(|change| change.sequence)
        .collect();
    let [attribute, removed] = numbers[..] else { panic!("{of_a:?}") };
    server.put("raw/other", b"another prefix");
    server.put("secret/in-a", b"another collection");
    server.applications.changed();
    seen(&server, "h").await;
    let lines = lines(&server);
    let of = |name: &str| -> Vec<String> {
        lines.iter().filter(|line| line.contains(name)).cloned().collect()
    };
    let expected = [
        format!("created in-a {} attempt 1", a.version),
        format!("written in-a {} attempt 1", a2.version),
        format!("attributes-changed in-a {attribute} attempt 1"),
        format!("removed in-a {removed} attempt 1"),
    ];
    assert_eq!(of("in-a"), expected);
    assert_eq!(of("in-b"), [format!("created in-b {} attempt 1", b.version)]);
    assert_eq!(lines.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_is_tried_again_and_then_a_dead_letter_which_can_be_retried_and_cleared() {
    let test = "event_is_tried_again_and_then_a_dead_letter_which_can_be_retried_and_cleared";
    let Some(server) = recorded(test) else { return };
    server.register("h", "recorder", filter(&[Kind::Created], "fail-"));
    let second = server.put("raw/fail-2", b"").version;
    let (fourth, ninth) = (server.put("raw/fail-4", b"").version, server.put("raw/fail-9", b""));
    until("there are dead letters", || server.applications.dead_letters("h").unwrap().len() == 2)
        .await;
    seen(&server, "h").await;
    let tries = |version: u64| {
        let end = format!(" {version} attempt ");
        lines(&server).iter().filter(|line| line.contains(&end)).count()
    };
    assert_eq!((tries(second), tries(fourth)), (3, 3));
    let letters = server.applications.dead_letters("h").unwrap();
    let found: Vec<(u64, u32)> =
        letters.iter().map(|letter| (letter.event.sequence, letter.attempts)).collect();
    assert_eq!(found, [(fourth, 3), (ninth.version, 3)]);
    let behind = server.applications.dead_letters_after("h", fourth, 10).unwrap();
    assert_eq!(behind, letters[1..]);
    assert_eq!(server.applications.dead_letters_after("h", 0, 1).unwrap(), letters[..1]);
    assert!(letters[0].reason.contains("not this time"), "{}", letters[0].reason);
    // The fourth attempt fails too, the fifth does not.
    assert!(matches!(server.applications.retry("h", fourth).await, Err(Error::Failed { .. })));
    assert_eq!(server.applications.dead_letters("h").unwrap()[0].attempts, 4);
    server.applications.retry("h", fourth).await.unwrap();
    server.applications.clear("h", ninth.version).unwrap();
    assert!(server.applications.dead_letters("h").unwrap().is_empty());
    assert!(matches!(server.applications.clear("h", 1), Err(Error::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_goes_on_after_a_restart_where_it_was() {
    let Some(server) = recorded("handler_goes_on_after_a_restart_where_it_was") else { return };
    server.register("h", "recorder", filter(&[Kind::Created], "in-"));
    server.put("raw/in-a", b"");
    seen(&server, "h").await;
    server.applications.stop("recorder").unwrap();
    let b = server.put("raw/in-b", b"");
    let server = server.restarted().await;
    let c = server.put("raw/in-c", b"");
    // Events wait for their application.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(lines(&server).len(), 1);
    server.applications.start("recorder").unwrap();
    seen(&server, "h").await;
    let mut found = lines(&server).split_off(1);
    found.sort();
    let expected = [("in-b", b), ("in-c", c)]
        .map(|(name, info)| format!("created {name} {} attempt 1", info.version));
    assert_eq!(found, expected);
    assert!(server.applications.dead_letters("h").unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_that_loops_is_stopped_and_reported() {
    let server = Server::new();
    let limits = "fuel = 100000";
    let component = guest("handler", "(loop (br 0)) (unreachable)", "");
    server.add(&manifest("looper", "handler", limits), &component);
    server.handle("h", "looper");
    let version = server.put("raw/a", b"").version;
    until("there is a dead letter", || !server.applications.dead_letters("h").unwrap().is_empty())
        .await;
    let letter = server.applications.dead_letters("h").unwrap().remove(0);
    assert_eq!((letter.event.sequence, letter.attempts), (version, 3));
    assert!(letter.reason.contains("out of fuel"), "{}", letter.reason);
    let faults = server.notices().into_iter().filter(|(_, what)| matches!(what, What::Faulted(_)));
    assert_eq!(faults.count(), 3);
    // Later events are not held up.
    server.put("raw/b", b"");
    until("there are two", || server.applications.dead_letters("h").unwrap().len() == 2).await;
}

/// Appends a byte to the object `raw/loop`, which it also handles.
const APPEND: &str = "(import \"nearscan:drive/objects@0.1.0\" \"append\"
    (func $append (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))
  (data (i32.const 256) \"rawloop\")";

#[tokio::test(flavor = "multi_thread")]
async fn chain_of_handlers_that_cause_one_another_ends() {
    let server = Server::new();
    let body = "(call $append (i32.const 256) (i32.const 3) (i32.const 259) (i32.const 4)
        (i32.const 256) (i32.const 1) (i32.const 0) (i64.const 0) (i32.const 1024))
      (i32.const 16)";
    server.add(&manifest("again", "handler", ""), &guest("handler", body, APPEND));
    server.handle("h", "again");
    server.put("raw/loop", b"");
    until("there is a dead letter", || !server.applications.dead_letters("h").unwrap().is_empty())
        .await;
    seen(&server, "h").await;
    let letters = server.applications.dead_letters("h").unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].event.depth, letters[0].attempts), (DEPTH_MAX, 0));
    assert_eq!(server.get("raw/loop").unwrap().len(), DEPTH_MAX as usize);
    // What somebody else writes begins a new chain.
    server.put("raw/loop", b"");
    until("there are two", || server.applications.dead_letters("h").unwrap().len() == 2).await;
    assert_eq!(server.get("raw/loop").unwrap().len(), DEPTH_MAX as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_flash_and_faults_are_delivered_and_then_forgotten() {
    let test = "events_of_flash_and_faults_are_delivered_and_then_forgotten";
    let Some(server) = recorded(test) else { return };
    let hot = |block| Subject::Flash { kind: "hot-block".to_owned(), block, detail: String::new() };
    assert_eq!(server.applications.publish(hot(1)).unwrap(), Published::Unwanted);
    let kinds = vec![Kind::Flash, Kind::Fault];
    server.register("h", "recorder", Filter { kinds, ..Filter::default() });
    for block in 2..12 {
        assert_eq!(server.applications.publish(hot(block)).unwrap(), Published::Stored);
    }
    seen(&server, "h").await;
    server.add(&manifest("bad", "command", ""), &guest("command", "(unreachable)", ""));
    server.run("bad", &[]).await.unwrap_err();
    seen(&server, "h").await;
    let mut expected: Vec<String> =
        (2..12).map(|block| format!("flash hot-block {block}")).collect();
    expected.push("fault bad trap".to_owned());
    assert_eq!(lines(&server), expected);
    until("the events are forgotten", || {
        let events = collection("_system/events");
        server.store.list(&events, "", None, 100).unwrap().is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_applications_are_delivered_by_name() {
    let test = "events_of_applications_are_delivered_by_name";
    let Some(server) = recorded(test) else { return };
    let emit = "(import \"nearscan:drive/events@0.1.0\" \"emit\"
        (func $emit (param i32 i32 i32 i32 i32)))
      (data (i32.const 256) \"wantednoneof it\")";
    let body = "(call $emit (i32.const 256) (i32.const 6) (i32.const 266) (i32.const 5)
        (i32.const 1024))
      (call $emit (i32.const 262) (i32.const 4) (i32.const 256) (i32.const 0) (i32.const 1024))
      (i32.const 16)";
    server.add(&manifest("sender", "command", ""), &guest("command", body, emit));
    let (kinds, name) = (vec![Kind::Application], Some("wanted".to_owned()));
    server.register("h", "recorder", Filter { kinds, name, ..Filter::default() });
    server.run("sender", &[]).await.unwrap();
    seen(&server, "h").await;
    assert_eq!(lines(&server), ["event wanted of it"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_sees_only_what_its_application_may_read() {
    let Some(server) = recorded("handler_sees_only_what_its_application_may_read") else { return };
    let kinds = vec![Kind::Created];
    server.register("h", "recorder", Filter { kinds, ..Filter::default() });
    server.put("secret/in-a", b"");
    server.put("raw/in-b", b"");
    seen(&server, "h").await;
    assert_eq!(lines(&server).len(), 1);
    assert!(lines(&server)[0].starts_with("created in-b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_forgotten_are_reported_as_missed() {
    let server = Server::new();
    server.add(&manifest("a", "handler", ""), &guest("handler", "(i32.const 16)", ""));
    server.put("raw/a", b"");
    let last = server.store.last_change().unwrap();
    server.store.forget_changes(last).unwrap();
    let filter = filter(&[Kind::Created], "");
    let handler = |name: &str| Handler {
        name: name.to_owned(),
        application: "a".to_owned(),
        filter: filter.clone(),
    };
    server.applications.register(handler("late"), Beginning::After(1)).unwrap();
    let missed = ("late".to_owned(), What::Missed { up_to: last });
    until("it is reported", || server.notices().contains(&missed)).await;
    // The oldest that there is misses nothing.
    server.applications.register(handler("oldest"), Beginning::Oldest).unwrap();
    let sequence = server.put("raw/b", b"").version;
    for name in ["late", "oldest"] {
        let handled = (name.to_owned(), What::Handled { sequence, attempt: 1 });
        until("it goes on", || server.notices().contains(&handled)).await;
    }
    assert!(!server.notices().contains(&("oldest".to_owned(), missed.1)));
    until("it is durable", || server.applications.seen().unwrap() >= sequence).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_are_registered_by_name_and_unregistered() {
    let server = Server::new();
    server.add(&manifest("a", "handler", ""), &guest("handler", "(i32.const 16)", ""));
    server.add(&manifest("c", "command", ""), &guest("command", "(i32.const 16)", ""));
    let handler = |name: &str, application: &str, kinds: &[Kind]| Handler {
        name: name.to_owned(),
        application: application.to_owned(),
        filter: filter(kinds, ""),
    };
    let register = |handler| server.applications.register(handler, Beginning::Now);
    register(handler("h", "a", &OBJECTS)).unwrap();
    assert!(matches!(register(handler("h", "a", &OBJECTS)), Err(Error::Exists { .. })));
    assert!(matches!(register(handler("i", "b", &OBJECTS)), Err(Error::NotFound { .. })));
    assert!(matches!(register(handler("i", "c", &OBJECTS)), Err(Error::NoEntry { .. })));
    assert!(matches!(register(handler("i/j", "a", &OBJECTS)), Err(Error::Invalid { .. })));
    assert!(matches!(register(handler("i", "a", &[])), Err(Error::Invalid { .. })));
    assert!(matches!(server.applications.remove("a"), Err(Error::InUse { .. })));
    server.applications.unregister("h").unwrap();
    assert!(matches!(server.applications.unregister("h"), Err(Error::NotFound { .. })));
    server.applications.remove("a").unwrap();
    assert!(server.applications.handlers().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_of_faults_that_has_faults_makes_one_more_at_each_step_of_the_chain() {
    let server = Server::new();
    server.add(&manifest("bad", "command", ""), &guest("command", "(unreachable)", ""));
    server.add(&manifest("worse", "handler", ""), &guest("handler", "(unreachable)", ""));
    let kinds = vec![Kind::Fault];
    server.register("h", "worse", Filter { kinds, ..Filter::default() });
    server.run("bad", &[]).await.unwrap_err();
    let count = DEPTH_MAX as usize + 1;
    until("the chain ends", || server.applications.dead_letters("h").unwrap().len() == count).await;
    seen(&server, "h").await;
    let letters = server.applications.dead_letters("h").unwrap();
    let depths: Vec<u32> = letters.iter().map(|letter| letter.event.depth).collect();
    assert_eq!(depths, (0..=DEPTH_MAX).collect::<Vec<u32>>());
}
