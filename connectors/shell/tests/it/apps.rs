// SPDX-License-Identifier: Apache-2.0
//! Tests applications on a server as their users see them: made, installed, called, watched and
//! read as tables by commands alone.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use nearscan::drive::clock::{self, Stopwatch};
use nearscan_skip::skip;
use rstest::rstest;
use tempfile::TempDir;

use crate::{
    program::{command, finished},
    serve::{Running, serve_with},
};

/// Longest wait for a handler; it takes a fraction of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a store in a folder, and how its clients name it.
struct Server {
    folder: TempDir,
    address: String,
    _running: Running,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (running, address) = serve_with(folder.path(), &["--store", "store"], "127.0.0.1:0");
        Self { folder, address, _running: running }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program as a client: its output, what it says of errors, and its exit status.
    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let drive = format!("remote://{}", self.address);
        let mut command = command(self.path());
        finished(command.args(arguments).args(["--drive", &drive]).output().unwrap())
    }

    /// The output of a command that works.
    fn does(&self, arguments: &[&str]) -> String {
        let (out, err, status) = self.run(arguments);
        assert_eq!((err.as_str(), status), ("", 0), "{arguments:?}");
        out
    }

    /// Writes a table to an object.
    fn copy(&self, query: &str, object: &str) {
        let sql = format!("COPY ({query}) TO 'drive://{}/{object}'", self.address);
        self.does(&["-c", &sql]);
    }

    /// Makes an application of the C file of an example, and installs it.
    fn install(&self, test: &str, example: &str, entry: &str) -> bool {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pushdown/applications");
        let bindings = format!("{examples}/sdk/c/{entry}");
        let source = format!("{examples}/examples/c/{example}");
        let folder = self.path().join(example);
        fs::create_dir(&folder).unwrap();
        fs::copy(format!("{source}/manifest.toml"), folder.join("manifest.toml")).unwrap();
        let compiled = Command::new("clang")
            .args(["--target=wasm32-wasi", "-mexec-model=reactor", "-O1", "-I", &bindings])
            .args([format!("{source}/main.c"), format!("{bindings}/application.c")])
            .arg("-o")
            .arg(folder.join("module.wasm"))
            .stderr(Stdio::null())
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            skip(test, "needs wasi-libc (clang cannot link for wasm32-wasi)");
            return false;
        }
        let component = format!("{example}/{example}.wasm");
        self.does(&["app", "pack", &format!("{example}/module.wasm"), &component]);
        let installed = self.does(&["app", "install", &component, "--start"]);
        assert_eq!(installed, format!("{example} 0.1.0: started\n"));
        true
    }
}

#[test]
fn application_counts_rows_where_they_are() {
    let server = Server::start();
    if !server.install("application_counts_rows_where_they_are", "scan", "command") {
        return;
    }
    server.copy("SELECT value AS k FROM generate_series(1, 1000)", "raw/n.parquet");
    let answer = server.does(&["app", "run", "scan", "raw", "n", "k > 900"]);
    assert_eq!(answer, "{\"rows\":100}\n");
    let list = server.does(&["app", "list", "--format", "csv"]);
    assert!(list.contains("scan,0.1.0,started,command"), "{list}");
    server.does(&["app", "stop", "scan"]);
    let (_, err, status) = server.run(&["app", "run", "scan", "raw", "n", "k > 900"]);
    assert_eq!(status, 1);
    assert!(err.contains("cannot run 'scan'") && err.contains("nearscan app start"), "{err}");
    server.does(&["app", "remove", "scan"]);
    assert_eq!(server.does(&["app", "list", "--format", "json"]).trim(), "[]");
}

#[test]
fn written_csv_becomes_a_table_without_a_word_to_the_host() {
    let test = "written_csv_becomes_a_table_without_a_word_to_the_host";
    let server = Server::start();
    if !server.install(test, "ingest", "handler") {
        return;
    }
    let add = ["app", "handler", "add", "csv", "--application", "ingest", "--collection", "raw"];
    server.does(&[&add[..], &["--on", "created,written,removed", "--suffix", ".csv"]].concat());
    server.copy("SELECT value AS k, 'row' AS word FROM generate_series(1, 100)", "raw/a.csv");
    let sql = format!(
        "SELECT count(*) AS n, sum(k) AS s FROM 'drive://{}/tables/a.csv.parquet' \
         WHERE word = 'row'",
        server.address
    );
    let watch = Stopwatch::start();
    let rows = loop {
        let (out, err, status) = server.run(&["--format", "csv", "-c", &sql]);
        if status == 0 {
            break out;
        }
        assert!(watch.elapsed() < PATIENCE, "{err}");
        clock::pause(Duration::from_millis(100));
    };
    assert_eq!(rows, "n,s\n100,5050\n");
    let handlers = server.does(&["app", "handler", "list", "--format", "csv"]);
    assert!(handlers.contains("csv,ingest,"), "{handlers}");
    let none = server.does(&["app", "dead-letter", "list", "csv", "--format", "json"]);
    assert_eq!(none.trim(), "[]");
}

#[test]
fn no_object_is_lost_when_the_server_is_killed_in_the_middle() {
    let test = "no_object_is_lost_when_the_server_is_killed_in_the_middle";
    let server = Server::start();
    if !server.install(test, "ingest", "handler") {
        return;
    }
    let mut command = command(server.path());
    command.args(["drive", "bench", "ingest", "ingest/ingest.wasm", "--folder", "."]);
    command.args(["--objects", "6", "--object-rows", "2000", "--json", "figures.json"]);
    let (out, err, status) = finished(command.output().unwrap());
    if err.contains("cannot be bound to processors") {
        return skip(test, &err);
    }
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("the server was killed once and started again"), "{out}");
    assert!(out.contains("6 tables with all their rows, none lost"), "{out}");
    let figures = fs::read_to_string(server.path().join("figures.json")).unwrap();
    assert_eq!(figures.matches("delay_seconds").count(), 6, "{figures}");
}

#[rstest]
#[case::without_a_server(&["app", "list"], "name it with --drive remote://")]
#[case::of_another_drive(&["app", "list", "--drive", "cpu:"], "it is no server")]
#[case::of_nobody(&["app", "list", "--drive", "remote://127.0.0.1:1"], "cannot be opened")]
#[case::not_made(&["app", "pack", "none.wasm", "a.wasm"], "cannot read 'none.wasm'")]
#[case::with_a_wrong_name(&["app", "new", "../up", "--language", "c"], "invalid name")]
fn mistake_is_refused_with_the_reason(#[case] arguments: &[&str], #[case] reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (_, err, status) = finished(command(folder.path()).args(arguments).output().unwrap());
    assert_eq!(status, 2, "{err}");
    assert!(err.contains(reason), "{err}");
}

#[test]
fn new_application_has_what_it_is_built_of() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["app", "new", "mine", "--language", "c"];
    let (out, err, status) = finished(command(folder.path()).args(arguments).output().unwrap());
    assert_eq!((err.as_str(), status), ("", 0));
    assert_eq!(out, "mine is in mine; `make` there builds it\n");
    let manifest = fs::read_to_string(folder.path().join("mine/manifest.toml")).unwrap();
    assert!(manifest.contains("name = \"mine\""), "{manifest}");
}

#[test]
fn application_that_is_not_there_is_an_error_of_the_statement() {
    let server = Server::start();
    let (_, err, status) = server.run(&["-c", "SELECT * FROM app('nothing', 'raw')"]);
    assert_eq!(status, 1);
    assert!(err.contains("nothing"), "{err}");
    let (_, err, _) = finished(
        command(server.path()).args(["-c", "SELECT * FROM app('nothing')"]).output().unwrap(),
    );
    assert!(err.contains("no server is attached"), "{err}");
}
