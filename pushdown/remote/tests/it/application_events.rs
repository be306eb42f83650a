// SPDX-License-Identifier: Apache-2.0
//! Tests events of applications over the wire: handlers, dead letters and notices.

use std::sync::Arc;

use nearscan_applications::{Applications, NoTables, Options};
use nearscan_drive::Outcome;
use nearscan_remote::{
    ApplicationErrorKind as Kind, ServerOptions, Watching,
    applications::{
        Beginning, Event, EventKind, Filter, Handler, Level, Notice, Replace, Watched, What,
    },
};
use nearscan_store::Condition;
use tokio::runtime::Runtime;

use crate::{
    applications::{BAD, REFUSE, TAKE, WithApplications, add, package, raw, run},
    bench::wait,
    guest::{guest, manifest},
    objects::{WithSample, file_of, noise},
};

pub(crate) fn handler(name: &str, application: &str) -> Handler {
    let filter = Filter {
        kinds: vec![EventKind::Created, EventKind::Written],
        collection: Some("raw".to_owned()),
        suffixes: vec![".csv".to_owned()],
        ..Filter::default()
    };
    Handler { name: name.to_owned(), application: application.to_owned(), filter }
}

/// The next notices, until one is so.
async fn until(watching: &mut Watching, mut is_so: impl FnMut(&Notice) -> bool) -> Notice {
    loop {
        match watching.next().await.unwrap().expect("the server goes on") {
            Watched::Notice(notice) if is_so(&notice) => return notice,
            Watched::Notice(_) => {}
            Watched::Missed(count) => panic!("{count} notices are missed"),
        }
    }
}

#[test]
fn watcher_sees_what_was_and_what_comes() {
    let server = WithApplications::start();
    let drive = server.connect();
    let log = "(import \"nearscan:drive/log@0.1.0\" \"write\" (func $log (param i32 i32 i32)))
        (data (i32.const 256) \"a line\")";
    let body = "(call $log (i32.const 1) (i32.const 256) (i32.const 6)) (unreachable)";
    wait(async {
        let applications = drive.applications();
        add(&applications, "bad", "command", guest("command", body, log)).await;
        let mut watching = applications.watch(0).await.unwrap();
        let installed = until(&mut watching, |_| true).await;
        let expected = What::Installed { version: "1".to_owned() };
        assert_eq!((installed.name.as_str(), installed.what), ("bad", expected));
        let started = until(&mut watching, |_| true).await;
        assert_eq!((started.number, started.what), (2, What::Started));
        let error = run(&applications, "bad", b"").await.unwrap_err();
        assert_eq!(error.kind, Kind::Fault { kind: "trap".to_owned() }, "{error}");
        let line = until(&mut watching, |it| matches!(it.what, What::Logged { .. })).await;
        let expected = What::Logged { level: Level::Warn, line: "a line".to_owned() };
        assert_eq!((line.name.as_str(), line.what), ("bad", expected));
        assert!(line.at_ns > started.at_ns && line.number > started.number);
        let fault = until(&mut watching, |_| true).await;
        let What::Faulted { kind, detail } = fault.what else { panic!("{fault:?}") };
        assert_eq!(kind, "trap");
        assert!(detail.contains("unreachable"), "{detail}");
        let mut later = applications.watch(1).await.unwrap();
        assert_eq!(until(&mut later, |_| true).await.what, What::Started);
    });
}

#[test]
fn hot_block_of_the_flash_is_published_with_the_name_of_its_object() {
    let runtime = Runtime::new().unwrap();
    let server = WithSample::with(("hot_block_reads", "1"), |store| {
        let tables = Arc::new(NoTables);
        let opened = Applications::open(store, tables, runtime.handle(), Options::default());
        ServerOptions { applications: Some(opened.unwrap()), ..ServerOptions::default() }
    });
    let drive = server.served.connect();
    let file = file_of(&drive, &server.served, "sample");
    assert!(matches!(server.run(&drive, &file), Outcome::Finished(_)));
    let is_hot = |event: &Event| event.kind == EventKind::Flash && event.name == "hot-block";
    let event = wait(async {
        let mut watching = drive.applications().watch(0).await.unwrap();
        let notice =
            until(&mut watching, |it| matches!(&it.what, What::Published(event) if is_hot(event)));
        notice.await.what
    });
    let What::Published(event) = event else { panic!("{event:?}") };
    assert!(event.detail.ends_with("file=default/c/sample"), "{event:?}");
}

#[test]
fn slow_watcher_is_told_how_many_notices_it_has_missed() {
    let server = WithApplications::start();
    let drive = server.connect();
    let log = "(import \"nearscan:drive/log@0.1.0\" \"write\" (func $log (param i32 i32 i32)))";
    let body = "(local $left i32) (local.set $left (i32.const 20000))
        (loop $more
          (call $log (i32.const 2) (i32.const 256) (i32.const 1))
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (br_if $more (local.get $left)))
        (i32.const 16)";
    wait(async {
        let applications = drive.applications();
        add(&applications, "chatty", "command", guest("command", body, log)).await;
        let mut watching = applications.watch(0).await.unwrap();
        run(&applications, "chatty", b"").await.unwrap();
        applications.stop("chatty").await.unwrap();
        let (mut seen, mut missed) = (0, 0);
        let last = loop {
            match watching.next().await.unwrap().unwrap() {
                Watched::Missed(count) => missed += count,
                Watched::Notice(Notice { number, what: What::Stopped, .. }) => break number,
                Watched::Notice(_) => seen += 1,
            }
        };
        assert!(last > 20_000, "{last}");
        assert_eq!(seen + missed + 1, last);
        // A thousand are kept.
        let mut late = applications.watch(5).await.unwrap();
        assert_eq!(late.next().await.unwrap(), Some(Watched::Missed(last - 1000 - 5)));
        assert_eq!(until(&mut late, |_| true).await.number, last - 999);
    });
}

#[test]
fn handler_gets_the_events_of_an_object_that_a_client_puts_at_once() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let (applications, objects) = (drive.applications(), drive.objects());
        add(&applications, "take", "handler", guest("handler", TAKE, "")).await;
        applications.register(&handler("h", "take"), Beginning::Now).await.unwrap();
        let mut watching = applications.watch(0).await.unwrap();
        until(&mut watching, |it| it.what == What::Registered).await;
        let path = raw().object("a.csv").unwrap();
        let put = objects.put(&path, noise(9), Condition::Always).await.unwrap();
        let handled = |sequence| What::Handled { sequence, attempt: 1 };
        assert_eq!(until(&mut watching, |it| it.name == "h").await.what, handled(put.version));
        let appended = objects.append(&path, noise(1), Condition::Always).await.unwrap();
        let notice = until(&mut watching, |it| it.name == "h").await;
        assert_eq!(notice.what, handled(appended.version));
        let [(found, position)] = &applications.handlers().await.unwrap()[..] else {
            panic!("there is one handler")
        };
        assert_eq!(found, &handler("h", "take"));
        assert!(*position >= put.version);
        let used = applications.remove("take").await.unwrap_err();
        assert_eq!(used.kind, Kind::InUse, "{used}");
        let again = applications.register(&handler("h", "take"), Beginning::Now).await;
        assert_eq!(again.unwrap_err().kind, Kind::Exists);
        applications.unregister("h").await.unwrap();
        assert_eq!(applications.unregister("h").await.unwrap_err().kind, Kind::NotFound);
        applications.remove("take").await.unwrap();
    });
}

#[test]
fn dead_letter_is_listed_retried_and_cleared() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let (applications, objects) = (drive.applications(), drive.objects());
        add(&applications, "refuse", "handler", guest("handler", REFUSE, BAD)).await;
        applications.register(&handler("h", "refuse"), Beginning::Now).await.unwrap();
        let mut watching = applications.watch(0).await.unwrap();
        let mut versions = Vec::new();
        for name in ["a.csv", "b.csv"] {
            let path = raw().object(name).unwrap();
            let put = objects.put(&path, noise(9), Condition::Always).await.unwrap();
            until(&mut watching, |it| matches!(it.what, What::DeadLetter { .. })).await;
            versions.push(put.version);
        }
        let letters = applications.dead_letters("h").await.unwrap();
        let [first, second] = &letters[..] else { panic!("{letters:?}") };
        let event = &first.event;
        assert_eq!((event.kind, event.of.as_str()), (EventKind::Created, "default/raw"));
        assert_eq!((event.name.as_str(), event.number), ("a.csv", versions[0]));
        assert_eq!((first.attempts, second.event.sequence), (2, versions[1]));
        assert!(first.reason.contains("bad"), "{}", first.reason);
        let failed = applications.retry("h", versions[0]).await.unwrap_err();
        assert_eq!(failed.kind, Kind::Failed { words: "bad".to_owned() }, "{failed}");
        let better = package(manifest("refuse", "handler", ""), guest("handler", TAKE, ""));
        applications.install(better, Replace::Same).await.unwrap();
        applications.retry("h", versions[0]).await.unwrap();
        applications.clear("h", versions[1]).await.unwrap();
        assert!(applications.dead_letters("h").await.unwrap().is_empty());
        let none = applications.retry("h", versions[0]).await.unwrap_err();
        assert_eq!(none.kind, Kind::NotFound, "{none}");
        assert_eq!(applications.clear("h", versions[1]).await.unwrap_err().kind, Kind::NotFound);
    });
}
