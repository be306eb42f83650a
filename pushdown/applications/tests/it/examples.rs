// SPDX-License-Identifier: Apache-2.0
//! Tests the examples, and the templates that are made of them.

use std::{ffi::OsString, path::Path, process::Command, time::Duration};

use nearscan_applications::{
    Error, Fault, Filter, Kind, Language, Options, Request, new_application,
};
use nearscan_store::Condition;

use crate::server::{Server, from_c, guest, manifest, object, until};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_in_c_counts_rows_on_the_drive() {
    let test = "scan_in_c_counts_rows_on_the_drive";
    let file = "examples/c/scan/main.c";
    let Some(component) = from_c(test, "command", file) else { return };
    let server = Server::new();
    server.add(&read(format!("{EXAMPLES}/c/scan/manifest.toml")), &component);
    server.put("raw/a-1", b"red\nblue\n");
    server.put("raw/a-2", b"red\n");
    server.put("raw/b", b"red\n");
    let answer = server.run("scan", &["raw", "a-", "red"]).await.unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "{\"rows\":2}\n");
    for (arguments, expected) in [
        (&["raw"][..], "give a collection"),
        (&["_system/applications", "", "red"], "no right to read"),
        (&["gone", "", "red"], "not found"),
    ] {
        let error = server.run("scan", arguments).await.unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ingest_in_c_makes_parquet_of_what_is_written() {
    let test = "ingest_in_c_makes_parquet_of_what_is_written";
    let file = "examples/c/ingest/main.c";
    let Some(component) = from_c(test, "handler", file) else { return };
    let server = Server::new();
    server.add(&read(format!("{EXAMPLES}/c/ingest/manifest.toml")), &component);
    let filter = Filter {
        kinds: vec![Kind::Created, Kind::Written, Kind::Removed],
        collection: Some("raw".to_owned()),
        suffixes: vec![".csv".to_owned(), ".json".to_owned()],
        ..Filter::default()
    };
    server.register("ingest", "ingest", filter);
    server.put("raw/a.csv", b"x\n1\n");
    server.put("raw/b.json", b"{\"x\":1}\n");
    server.put("raw/c.txt", b"not this one");
    server.put("raw/d.csv", b"bad");
    let is = |name: &str, expected: &[u8]| server.get(name).as_deref() == Some(expected);
    until("there are tables", || {
        is("tables/a.csv.parquet", b"PAR1x\n1\n") && is("tables/b.json.parquet", b"PAR1{\"x\":1}\n")
    })
    .await;
    server.put("raw/a.csv", b"x\n2\n");
    until("it is made anew", || is("tables/a.csv.parquet", b"PAR1x\n2\n")).await;
    server.store.remove(&object("raw/a.csv"), Condition::Always).unwrap();
    until("it is removed", || server.get("tables/a.csv.parquet").is_none()).await;
    until("one cannot be read", || server.applications.dead_letters("ingest").unwrap().len() == 1)
        .await;
    let letter = server.applications.dead_letters("ingest").unwrap().remove(0);
    assert!(letter.reason.contains("the rows cannot be read"), "{}", letter.reason);
    assert!(server.get("tables/c.txt.parquet").is_none());
}

/// A server with a table function in C.
fn numbers(test: &str, limits: &str) -> Option<Server> {
    let component = from_c(test, "table", "tests/it/guests/numbers.c")?;
    let server = Server::new();
    server.add(&manifest("numbers", "table", limits), &component);
    Some(server)
}

#[tokio::test(flavor = "multi_thread")]
async fn table_function_gives_its_pieces_in_order() {
    let Some(server) = numbers("table_function_gives_its_pieces_in_order", "") else { return };
    let hundred = vec!["100".to_owned()];
    let schema = server.applications.table_schema("numbers", hundred.clone(), None).await;
    assert_eq!(schema.unwrap(), b"number");
    let none = server.applications.table_schema("numbers", Vec::new(), None).await;
    assert!(matches!(none, Err(Error::Failed { .. })));
    let mut table = server.applications.table("numbers", hundred, None);
    let mut found = Vec::new();
    while let Some(piece) = table.next().await.unwrap() {
        found.extend(piece);
    }
    assert!(table.next().await.unwrap().is_none());
    let expected: String = (0..100).map(|number| format!("{number}\n")).collect();
    assert_eq!(String::from_utf8(found).unwrap(), expected);
    let error = server.run("numbers", &[]).await.unwrap_err();
    assert!(matches!(error, Error::NoEntry { entry: "command", .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_of_a_slow_reader_does_not_count_and_its_end_ends_the_call() {
    let test = "time_of_a_slow_reader_does_not_count_and_its_end_ends_the_call";
    let Some(server) = numbers(test, "deadline_ms = 400") else { return };
    let mut table = server.applications.table("numbers", vec!["9".to_owned()], None);
    let mut count = 0;
    while table.next().await.unwrap().is_some() {
        tokio::time::sleep(Duration::from_millis(150)).await;
        count += 1;
    }
    assert_eq!(count, 9);
    let mut table = server.applications.table("numbers", vec!["1000000".to_owned()], None);
    table.next().await.unwrap();
    drop(table);
    // A call that does not end would hold the store.
    server.restarted().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn template_in_c_is_built_as_its_makefile_says() {
    let test = "template_in_c_is_built_as_its_makefile_says";
    if from_c(test, "command", "examples/c/scan/main.c").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    new_application(folder.path(), Language::C, "counter").unwrap();
    let makefile = read(folder.path().join("Makefile"));
    let line = makefile.lines().find_map(|line| line.strip_prefix("\tclang ")).unwrap();
    let mut command = Command::new("clang");
    assert!(command.args(line.split(' ')).current_dir(&folder).status().unwrap().success());
    let module = std::fs::read(folder.path().join("module.wasm")).unwrap();
    let component = nearscan_applications::pack(&module).unwrap();
    let server = Server::new();
    server.add(&read(folder.path().join("manifest.toml")), &component);
    server.put("raw/a", b"1\n");
    assert_eq!(server.run("counter", &["raw", "", "1"]).await.unwrap(), b"{\"rows\":1}\n");
}

/// A component of an application in Python, which is made as the Makefile says, but that a module
/// around it is what is called: the interpreter takes long to be compiled.
fn from_python(python: &OsString, folder: &Path) -> Vec<u8> {
    let makefile = read(folder.join("Makefile"));
    let line = makefile.lines().find_map(|line| line.strip_prefix("\tcomponentize-py ")).unwrap();
    let line = line.replace("componentize app", "componentize escape").replace("$@", "app.wasm");
    let program = Path::new(python).with_file_name("componentize-py");
    let output = Command::new(program).args(line.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("app.wasm")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn template_in_python_answers_and_cannot_leave_the_sandbox() {
    let test = "template_in_python_answers_and_cannot_leave_the_sandbox";
    let Some(python) = nearscan_skip::python(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    new_application(folder.path(), Language::Python, "summary").unwrap();
    let text = read(folder.path().join("manifest.toml"));
    std::fs::write(folder.path().join("escape.py"), include_str!("guests/escape.py")).unwrap();
    let component = from_python(&python, folder.path());
    let server = Server::new();
    server.add(&text, &component);
    for number in 0..3 {
        server.put(&format!("raw/{number}"), b"12345");
    }
    let answer = server.run("summary", &["raw"]).await.unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "{\"objects\": 3, \"bytes\": 15}");
    let error = server.run("summary", &["_system/applications"]).await.unwrap_err();
    assert!(error.to_string().contains("no right"), "{error}");

    for (what, expected) in [
        ("file", "FileNotFoundError"),
        ("folder", "FileNotFoundError"),
        ("variable", "{}"),
        ("connect", "PermissionError"),
        ("listen", "PermissionError"),
        ("name", "gaierror"),
        ("process", "OSError"),
    ] {
        let request = Request { arguments: vec![what.to_owned()], ..Request::default() };
        match server.applications.run("summary", request).await {
            Ok(answer) => assert_eq!(String::from_utf8(answer).unwrap(), expected, "{what}"),
            Err(Error::Fault { fault: Fault::Trap { .. }, .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn template_in_rust_says_how_long_an_object_is() {
    let test = "template_in_rust_says_how_long_an_object_is";
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", "wasm32-wasip2"]);
    let folder = String::from_utf8(rustc.output().unwrap().stdout).unwrap();
    if !Path::new(folder.trim()).is_dir() {
        // No package of a system has it, so nothing that could be installed removes this skip.
        return nearscan_skip::skip(test, "the Rust target wasm32-wasip2 is not there");
    }
    let folder = tempfile::tempdir().unwrap();
    new_application(folder.path(), Language::Rust, "length").unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"]);
    assert!(cargo.current_dir(&folder).status().unwrap().success());
    let built = folder.path().join("target/wasm32-wasip2/release/application.wasm");
    let server = Server::new();
    let component = std::fs::read(built).unwrap();
    server.add(&read(folder.path().join("manifest.toml")), &component);
    server.put("raw/a", b"12345");
    assert_eq!(server.run("length", &["raw", "a"]).await.unwrap(), b"5");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_waits_for_others_too_long_is_an_error() {
    let Some(server) = numbers("call_that_waits_for_others_too_long_is_an_error", "") else {
        return;
    };
    let limits = "deadline_ms = 200";
    server.add(&manifest("late", "command", limits), &guest("command", "(i32.const 16)", ""));
    let mut waiting = Vec::new();
    for _ in 0..Options::default().calls_max {
        let mut table = server.applications.table("numbers", vec!["100".to_owned()], None);
        table.next().await.unwrap();
        waiting.push(table);
    }
    let error = server.run("late", &[]).await.unwrap_err();
    assert!(matches!(error, Error::Busy { calls_max: 32 }), "{error}");
    waiting.pop();
    assert_eq!(server.run("late", &[]).await.unwrap(), b"");
}
