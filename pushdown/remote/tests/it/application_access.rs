// SPDX-License-Identifier: Apache-2.0
//! Tests who may do what to applications, and with the command object.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use nearscan_applications::Options as ApplicationOptions;
use nearscan_remote::{
    ApplicationError, ApplicationErrorKind as Kind, ObjectErrorKind, Options, RemoteDrive,
    Security, ServerOptions, Tls,
    access::{Access, Scope},
    applications::{Beginning, Replace},
    audit::Audit,
};
use nearscan_store::{CollectionPath, Condition, ObjectPath};

use crate::{
    application_events::handler,
    applications::{ECHO, WithApplications, add, package, raw, run},
    bench::{options, wait},
    guest::{guest, manifest},
    objects::noise,
};

/// Writes a token of a client that has these scopes.
fn token(file: &Path, name: &str, scopes: &[Scope]) -> String {
    Access::grant(file, name, scopes.iter().copied().collect()).unwrap().reveal()
}

fn is_denied<T: std::fmt::Debug>(answer: Result<T, ApplicationError>) -> bool {
    match answer {
        Err(error) if error.kind == Kind::Denied => true,
        Err(_) | Ok(_) => false,
    }
}

/// Appends to `raw/log`, and answers the two bytes that say how that went.
fn appender() -> Vec<u8> {
    let append = "(import \"nearscan:drive/objects@0.1.0\" \"append\"
        (func $append (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))
      (data (i32.const 256) \"rawlog\")";
    let body = "(call $append (i32.const 256) (i32.const 3) (i32.const 259) (i32.const 3)
        (i32.const 256) (i32.const 1) (i32.const 0) (i64.const 0) (i32.const 1024))
      (i32.store8 (i32.const 512) (i32.load8_u (i32.const 1024)))
      (i32.store8 (i32.const 513) (i32.load8_u (i32.const 1032)))
      (i32.store (i32.const 20) (i32.const 512)) (i32.store (i32.const 24) (i32.const 2))
      (i32.const 16)";
    guest("command", body, append)
}

#[test]
fn client_does_to_applications_what_its_scopes_allow_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let reader = token(&file, "reader", &[Scope::Read]);
    let writer = token(&file, "writer", &[Scope::Read, Scope::Write]);
    let installer = token(&file, "installer", &[Scope::Install]);
    let admin = token(&file, "admin", &Scope::ALL);
    let of_server = ServerOptions {
        access: Arc::new(Access::read(&file).unwrap()),
        audit: Some(Arc::new(Audit::open(&file.with_extension("audit")).unwrap())),
        ..ServerOptions::default()
    };
    let server = WithApplications::with(ApplicationOptions::default(), of_server);
    let log = raw().object("log").unwrap();
    server.store.put(&log, b"", Condition::Always).unwrap();
    let drives = [&reader, &writer, &admin].map(|token| server.connect_with(token));
    let [reader, writer, admin] = drives.each_ref().map(RemoteDrive::applications);
    wait(async {
        let package = package(manifest("append", "command", ""), appender());
        for client in [&reader, &writer] {
            assert!(is_denied(client.install(package.clone(), Replace::Same).await));
        }
        admin.install(package.clone(), Replace::Same).await.unwrap();
        for client in [&reader, &writer] {
            assert!(is_denied(client.start("append").await));
            assert!(is_denied(client.stop("append").await));
            assert!(is_denied(client.remove("append").await));
            let handler = handler("h", "append");
            assert!(is_denied(client.register(&handler, Beginning::Now).await));
            assert!(is_denied(client.unregister("h").await));
            assert!(is_denied(client.retry("h", 1).await));
            assert!(is_denied(client.clear("h", 1).await));
            assert_eq!(client.list().await.unwrap().len(), 1);
            assert!(client.handlers().await.unwrap().is_empty());
            assert!(client.dead_letters("h").await.unwrap().is_empty());
            assert!(client.watch(0).await.unwrap().next().await.unwrap().is_some());
            let mut table = client.table("append", &[]).await.unwrap();
            assert_eq!(table.next().await.unwrap_err().kind, Kind::NotStarted);
        }
        admin.start("append").await.unwrap();
        // An error of the fourth kind: denied.
        assert_eq!(run(&reader, "append", b"").await.unwrap(), [1, 3]);
        assert_eq!(run(&writer, "append", b"").await.unwrap()[0], 0);
        assert_eq!(run(&admin, "append", b"").await.unwrap()[0], 0);
    });
    assert_eq!(server.store.info(&log).unwrap().length, 2);
    let refused = RemoteDrive::connect(
        &server.served.address,
        Options { security: Security { token: Some(installer), tls: Tls::Beyond }, ..options() },
    );
    let refused = refused.unwrap_err();
    assert!(refused.detail().unwrap().contains("lacks the scope read"), "{refused}");
    let text = std::fs::read_to_string(file.with_extension("audit")).unwrap();
    let has =
        |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["reader", "nearscan.app.install", "denied", "lacks the scope"]), "{text}");
    assert!(has(&["admin", "nearscan.app.install", "\"append\"", "allowed"]), "{text}");
    assert!(has(&["admin", "nearscan.app.install", "\"append\"", "done"]), "{text}");
    assert!(has(&["admin", "nearscan.app.start", "\"append\"", "done"]), "{text}");
    assert!(has(&["writer", "nearscan.app.run", "\"append\"", "done"]), "{text}");
    assert!(has(&["writer", "nearscan.app.table", "\"append\"", "failed"]), "{text}");
}

fn of_commands(name: &str) -> ObjectPath {
    CollectionPath::new("_system", "commands").unwrap().object(name).unwrap()
}

#[test]
fn request_in_the_command_object_is_answered_in_the_response_object() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let reader = token(&file, "reader", &[Scope::Read]);
    let writer = token(&file, "writer", &[Scope::Read, Scope::Write]);
    let admin = token(&file, "admin", &Scope::ALL);
    let access = Arc::new(Access::read(&file).unwrap());
    let options = ServerOptions { access, ..ServerOptions::default() };
    let server = WithApplications::with(ApplicationOptions::default(), options);
    let drives = [&reader, &writer, &admin].map(|token| server.connect_with(token));
    let [reader, writer, admin] = &drives;
    wait(async {
        add(&admin.applications(), "echo", "command", guest("command", ECHO, "")).await;
        let (command, response) = (of_commands("command"), of_commands("response"));
        let line = Bytes::from("{\"id\":\"7\",\"application\":\"echo\",\"body\":\"hello\"}\n");
        let objects = reader.objects();
        let denied = objects.append(&command, line.clone(), Condition::Always).await.unwrap_err();
        assert_eq!(denied.kind, ObjectErrorKind::Denied, "{denied}");
        assert_eq!(objects.info(&command).await.unwrap_err().kind, ObjectErrorKind::Denied);
        let objects = writer.objects();
        let info = objects.info(&command).await.unwrap();
        let unchanged = Condition::Version(info.version);
        objects.append(&command, line, unchanged).await.unwrap();
        let answer = loop {
            let mut reading = reader.objects().read(&response, None, &[]).await.unwrap();
            if let Some(answer) = reading.next().await.unwrap() {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(answer, "{\"id\":\"7\",\"status\":\"done\",\"body\":\"hello\"}\n");
        objects.put(&command, Bytes::new(), Condition::Always).await.unwrap();
        let denied = reader.objects().truncate(&response, 0, Condition::Always).await.unwrap_err();
        assert_eq!(denied.kind, ObjectErrorKind::Denied, "{denied}");
        objects.truncate(&response, 0, Condition::Always).await.unwrap();
        let forged = objects.put(&response, noise(1), Condition::Always).await.unwrap_err();
        assert_eq!(forged.kind, ObjectErrorKind::Denied, "{forged}");
        let other = objects.info(&of_commands("answered")).await.unwrap_err();
        assert_eq!(other.kind, ObjectErrorKind::Denied, "{other}");
    });
    assert_eq!(server.store.info(&of_commands("command")).unwrap().length, 0);
}
