// SPDX-License-Identifier: Apache-2.0
//! Tests that applications are installed as a whole, and what is refused.

use std::sync::Arc;

use nearscan_applications::{
    Applications, Error, NoTables, Options, PublicKey, Replace, Request, Signature, Signed, State,
    Trust, Unsigned, What, sha256, signed_bytes,
};
use nearscan_store::Condition;
use ring::signature::{Ed25519KeyPair, KeyPair};
use tokio::runtime::Handle;

use crate::server::{Server, guest, manifest, object, package};

const EMPTY: &str = "(i32.const 16)";

#[tokio::test(flavor = "multi_thread")]
async fn application_is_there_after_a_restart_in_the_state_that_it_had() {
    let server = Server::new();
    let component = guest("command", EMPTY, "");
    for name in ["a", "b", "c"] {
        let package = package(&manifest(name, "command", ""), &component);
        server.applications.install(package, Replace::Never).unwrap();
    }
    server.applications.start("b").unwrap();
    server.applications.start("c").unwrap();
    server.applications.stop("c").unwrap();
    let server = server.restarted().await;
    let found: Vec<(String, State)> = server
        .applications
        .list()
        .into_iter()
        .map(|application| (application.manifest.name, application.state))
        .collect();
    let expected = [("a", State::Installed), ("b", State::Started), ("c", State::Stopped)];
    assert_eq!(found, expected.map(|(name, state)| (name.to_owned(), state)));
    assert_eq!(server.run("b", &[]).await.unwrap(), b"");
    for name in ["a", "c"] {
        assert!(matches!(server.run(name, &[]).await, Err(Error::NotStarted { .. })), "{name}");
    }
    let a = server.applications.application("a").unwrap();
    assert_eq!((a.sha256, a.signed), (sha256(&component), Signed::No));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_version_replaces_an_application_and_removal_leaves_nothing() {
    let server = Server::new();
    server.add(&manifest("a", "command", ""), &guest("command", EMPTY, ""));
    let other = manifest("a", "command", "").replace("\"1\"", "\"2\"");
    let package = package(&other, &guest("command", "(unreachable)", ""));
    let again = server.applications.install(package.clone(), Replace::Never);
    assert!(matches!(again, Err(Error::Exists { .. })));
    assert_eq!(server.run("a", &[]).await.unwrap(), b"");
    let replaced = server.applications.install(package, Replace::Same).unwrap();
    assert_eq!((replaced.manifest.version.as_str(), replaced.state), ("2", State::Started));
    assert!(matches!(server.run("a", &[]).await, Err(Error::Fault { .. })));
    server.applications.remove("a").unwrap();
    assert!(matches!(server.run("a", &[]).await, Err(Error::NotFound { .. })));
    assert!(server.get("_system:applications/a").is_none());
    let changes: Vec<What> = server
        .notices()
        .into_iter()
        .map(|(_, what)| what)
        .filter(|what| !matches!(what, What::Faulted(_) | What::Published(_)))
        .collect();
    let installed = |version: &str| What::Installed { version: version.to_owned() };
    assert_eq!(changes, [installed("1"), What::Started, installed("2"), What::Removed]);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_that_are_not_what_they_say_are_refused() {
    let server = Server::new();
    let component = guest("command", EMPTY, "");
    let install = |manifest: &str, component: &[u8]| {
        server.applications.install(package(manifest, component), Replace::Never).unwrap_err()
    };
    let plain = manifest("a", "command", "");
    let with_hash = |hash: &str| format!("sha256 = \"{hash}\"\n{plain}");
    assert!(matches!(install("name = 1", &component), Error::Manifest { .. }));
    assert!(matches!(install(&plain, b"\0asm"), Error::Component { .. }));
    assert!(matches!(install(&plain, b"(component)"), Error::Component { .. }));
    let module = wat::parse_str("(module)").unwrap();
    assert!(matches!(install(&plain, &module), Error::Component { .. }));
    assert!(matches!(install(&with_hash("00"), &component), Error::Hash { .. }));
    let as_handler = manifest("a", "handler", "");
    assert!(matches!(install(&as_handler, &component), Error::NoEntry { entry: "handler", .. }));
    let greedy = manifest("a", "command", "memory_bytes = 100000000000");
    assert!(matches!(install(&greedy, &component), Error::Limit { limit: "memory_bytes", .. }));
    let nothing = manifest("a", "command", "fuel = 0");
    assert!(matches!(install(&nothing, &component), Error::Manifest { .. }));
    assert!(server.applications.list().is_empty());
    let right = package(&with_hash(&sha256(&component)), &component);
    server.applications.install(right, Replace::Never).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_asks_for_signatures_refuses_packages_without() {
    let server = Server::new();
    let trust = Trust { keys: Vec::new(), unsigned: Unsigned::Refused };
    let options = Options { trust, ..Options::default() };
    let tables = Arc::new(NoTables);
    let other = Applications::open(&server.store, tables, &Handle::current(), options).unwrap();
    let package = package(&manifest("a", "command", ""), &guest("command", EMPTY, ""));
    let error = other.install(package, Replace::Never).unwrap_err();
    assert!(matches!(error, Error::Signature { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_package_is_installed_where_its_key_is_trusted() {
    let server = Server::new();
    let pair = Ed25519KeyPair::from_seed_unchecked(&[1; 32]).unwrap();
    let key = PublicKey(pair.public_key().as_ref().try_into().unwrap());
    let trust = Trust { keys: vec![key], unsigned: Unsigned::Refused };
    let options = Options { trust, ..Options::default() };
    let tables = Arc::new(NoTables);
    let other = Applications::open(&server.store, tables, &Handle::current(), options).unwrap();
    let mut package = package(&manifest("a", "command", ""), &guest("command", EMPTY, ""));
    let message = signed_bytes(&package.manifest, &package.component);
    package.signature = Some(Signature(pair.sign(&message).as_ref().try_into().unwrap()));
    // The server of the other tests trusts no key.
    let refused = server.applications.install(package.clone(), Replace::Never);
    assert!(matches!(refused, Err(Error::Signature { .. })));
    other.install(package, Replace::Never).unwrap();
    drop(other);
    let server = server.restarted().await;
    assert_eq!(server.applications.application("a").unwrap().signed, Signed::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_application_is_reported_and_others_go_on() {
    let server = Server::new();
    let component = guest("command", EMPTY, "");
    for name in ["a", "b", "c"] {
        server.add(&manifest(name, "command", ""), &component);
    }
    let b = object("_system:applications/b");
    server.store.set_attribute(&b, "manifest", b"name = 1").unwrap();
    server.store.write_at(&object("_system:applications/c"), 8, b"?", Condition::Always).unwrap();
    let server = server.restarted().await;
    let reported = server.notices();
    assert!(reported.iter().any(|(name, what)| name == "b" && matches!(what, What::Failed { .. })));
    assert!(matches!(server.run("b", &[]).await, Err(Error::NotFound { .. })));
    assert!(matches!(server.run("c", &[]).await, Err(Error::Damaged { .. })));
    assert_eq!(server.run("a", &[]).await.unwrap(), b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_too_large_are_refused() {
    let server = Server::new();
    server.add(&manifest("a", "command", ""), &guest("command", EMPTY, ""));
    let body = vec![0; (64 << 20) + 1];
    let request = Request { body, ..Request::default() };
    let error = server.applications.run("a", request).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_gets_what_was_and_what_comes() {
    let server = Server::new();
    server.add(&manifest("a", "command", ""), &guest("command", EMPTY, ""));
    let (found, mut coming) = server.applications.watch(1);
    let started: Vec<What> = found.into_iter().map(|notice| notice.what).collect();
    assert_eq!(started, [What::Started]);
    server.applications.stop("a").unwrap();
    let notice = coming.recv().await.unwrap();
    assert_eq!((notice.number, notice.name.as_str(), notice.what), (3, "a", What::Stopped));
}

#[tokio::test(flavor = "multi_thread")]
async fn starting_what_is_started_ends_no_call() {
    let server = Server::new();
    let limits = "deadline_ms = 60000\nfuel = 300000000";
    let slow = guest("command", "(loop (br 0)) (unreachable)", "");
    server.add(&manifest("slow", "command", limits), &slow);
    let running = {
        let applications = server.applications.clone();
        tokio::spawn(async move { applications.run("slow", Request::default()).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    server.applications.start("slow").unwrap();
    let error = running.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("out of fuel"), "{error}");
}
