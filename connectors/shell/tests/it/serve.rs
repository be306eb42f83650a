// SPDX-License-Identifier: Apache-2.0
//! Tests drives in other processes: served to this one, or hosted by it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use nearscan::drive::clock::{self, Stopwatch};
use rstest::rstest;
use tempfile::TempDir;

use crate::program::{command, finished, run};

/// Longest wait for anything; nothing takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const SUM: &str = "SELECT count(*) AS n, sum(k) AS s FROM n WHERE k > 10";
pub(crate) const ANSWER: &str = "n,s\n4990,12502445\n";

/// A folder with a table `n` of the numbers from 1 to 5000 in five row groups.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let sql = "COPY (SELECT value AS k FROM generate_series(1, 5000)) TO 'n.parquet' \
               OPTIONS (compression snappy, max_row_group_size 1000)";
    assert!(command(folder.path()).args(["-c", sql]).status().unwrap().success());
    folder
}

pub(crate) fn signal(process_id: u32, name: &str) -> bool {
    let arguments = [format!("-{name}"), process_id.to_string()];
    let silent = Command::new("kill").args(arguments).stderr(Stdio::null()).status();
    silent.unwrap().success()
}

/// A process that is killed when the test is over.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// `nearscan drive serve`, and where it listens.
pub(crate) fn serve(folder: &Path, drive: &str, listen: &str) -> (Running, String) {
    serve_with(folder, &["--drive", drive], listen)
}

/// The same with other options.
pub(crate) fn serve_with(folder: &Path, options: &[&str], listen: &str) -> (Running, String) {
    let mut child = command(folder)
        .args(["drive", "serve", "--listen", listen])
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
    (Running(child), address)
}

#[rstest]
#[case::over_tcp("127.0.0.1:0", "remote://", "INT")]
#[case::over_a_unix_socket("unix:drive.sock", "remote:", "TERM")]
fn served_drive_runs_units_of_another_process(
    #[case] listen: &str,
    #[case] scheme: &str,
    #[case] end: &str,
) {
    let folder = folder();
    let (mut server, address) = serve(folder.path(), "emulated:", listen);
    let url = format!("{scheme}{address}");
    let explain = ["explain-json", SUM, "n.parquet", "--analyze", "--drive", &url];
    let force = ["--set", "nearscan.pushdown.mode=force"];
    let output = command(folder.path()).args(explain).args(force).output().unwrap();
    let (out, err, status) = finished(output);
    assert_eq!((err.as_str(), status), ("", 0));
    let explained: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(explained["decisions"][0]["drive"], "remote", "{out}");
    assert_eq!(explained["run"]["units_drive"], 5);
    let query = ["n.parquet", "--drive", &url, "-c", SUM];
    let output = command(folder.path()).args(query).args(force).output().unwrap();
    assert_eq!(finished(output), (ANSWER.to_owned(), String::new(), 0));

    assert!(signal(server.0.id(), end));
    assert!(server.0.wait().unwrap().success());
    assert!(!folder.path().join("drive.sock").exists());
    let (_, err, status) = finished(command(folder.path()).args(query).output().unwrap());
    assert_eq!(status, 2);
    assert!(err.starts_with("error: drive 'remote' cannot be opened\n"), "{err}");
    assert!(err.contains("no drive can be reached at"), "{err}");
}

#[test]
fn server_has_one_drive_and_a_place_to_listen() {
    let (_, err, status) = run(&["drive", "serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((err.lines().next(), status), (Some("error: a server has one drive"), 2));
    let (_, err, status) = run(&["drive", "serve", "--drive", "cpu:", "--listen", "nowhere"]);
    assert_eq!(status, 2);
    assert!(err.contains("'nowhere' is neither unix:PATH nor HOST:PORT"), "{err}");
    let arguments = ["drive", "serve", "--drive", "cpu:", "--listen", "unix:not/there"];
    let (_, err, status) = run(&arguments);
    assert_eq!(status, 1);
    assert!(err.starts_with("error: cannot listen on unix:not/there: "), "{err}");
    let (_, err, status) = run(&["--drive", "remote://localhost:1?token=abc", "-c", "SELECT 1"]);
    assert_eq!(status, 2);
    assert!(err.contains("no drive can be reached") && !err.contains("abc"), "{err}");
    let folder = tempfile::tempdir().unwrap();
    let store = ["drive", "serve", "--store", "store", "--listen", "0.0.0.0:0"];
    let exposed = command(folder.path()).args(store).output().unwrap();
    let (out, err, status) = finished(exposed);
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.contains("may be reached by other machines"), "{err}");
    assert!(err.contains("hint: add --access FILE and --tls CERTIFICATE KEY"), "{err}");
}

#[test]
fn objects_of_a_server_are_tables_for_those_that_it_knows() {
    let folder = folder();
    let grant = |name: &str, scopes: &str| {
        let grant = ["drive", "grant", "access.toml", name, "--scope", scopes];
        let (token, err, status) = finished(command(folder.path()).args(grant).output().unwrap());
        assert_eq!((err.as_str(), status), ("", 0));
        fs::write(folder.path().join(name), token).unwrap();
    };
    grant("reader", "read");
    grant("writer", "read,write");
    let store = ["--store", "store", "--access", "access.toml", "--audit-log", "audit.json"];
    let (_server, address) = serve_with(folder.path(), &store, "127.0.0.1:0");
    let query = |name: &str, sql: &str| {
        let drive = format!("remote://{address}?token_file={name}");
        let force = ["--set", "nearscan.pushdown.mode=force", "--drive", &drive];
        finished(command(folder.path()).args(force).args(["-c", sql]).output().unwrap())
    };
    let url = format!("drive://{address}/c/n.parquet");
    let copy = format!("COPY (FROM 'n.parquet') TO '{url}' (compression snappy)");
    let (_, err, status) = query("reader", &copy);
    assert_eq!(status, 1);
    assert!(err.contains("client reader lacks the scope write"), "{err}");
    assert_eq!(query("writer", &copy).2, 0);
    let sum = format!("SELECT count(*) AS n, sum(k) AS s FROM '{url}' WHERE k > 10");
    assert_eq!(query("reader", &sum), (ANSWER.to_owned(), String::new(), 0));
    let sql = format!("{sum}; SELECT DISTINCT placed_on FROM nearscan.pushdown_log");
    assert_eq!(query("reader", &sql).0, format!("{ANSWER}placed_on\nremote\n"));
    let unknown = command(folder.path()).args(["-c", &sum]).output().unwrap();
    let (_, err, status) = finished(unknown);
    assert_eq!(status, 1);
    assert!(err.contains("a token or a certificate is needed"), "{err}");
    let log = fs::read_to_string(folder.path().join("audit.json")).unwrap();
    assert!(log.contains("denied") && log.contains("default/c/n.parquet"), "{log}");
}

/// A query on a drive in its own process, where commands never end. The drive is there, and the
/// query begins.
fn hanging_query(folder: &Path) -> (Running, BufReader<ChildStdout>) {
    let mut child = command(folder)
        .args(["n.parquet", "--drive", "emulated:?process=own&faults=hang:1"])
        .args(["--set", "nearscan.pushdown.mode=force"])
        .args(["--set", "nearscan.pushdown.timeout=600s"])
        .args(["-c", "SELECT 1 AS begun", "-c", SUM])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut begun = String::new();
    output.read_line(&mut begun).unwrap();
    assert_eq!(begun, "begun\n");
    (Running(child), output)
}

/// The processes that a process has started.
pub(crate) fn children_of(process_id: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |number: &u32| {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        status.contains(&format!("PPid:\t{process_id}\n")) && !status.contains("State:\tZ")
    };
    numbers.filter(is_child).collect()
}

/// Waits until something is there.
pub(crate) fn eventually<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        match find() {
            Some(found) => return found,
            None => assert!(watch.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}"),
        }
        clock::pause(Duration::from_millis(10));
    }
}

/// Whether a process is the host of a drive.
pub(crate) fn is_host(process_id: u32) -> bool {
    let command = fs::read_to_string(format!("/proc/{process_id}/cmdline")).unwrap_or_default();
    command.contains("--end-with-stdin")
}

#[test]
fn query_outlives_the_process_of_its_drive() {
    let folder = folder();
    let (mut query, mut output) = hanging_query(folder.path());
    // Each one that comes is killed: whichever the commands are on, they are pushed back.
    eventually("the query ends", || {
        let hosts = children_of(query.0.id());
        hosts.into_iter().filter(|host| is_host(*host)).for_each(|host| {
            // Time for commands to arrive, in most runs.
            clock::pause(Duration::from_millis(200));
            // It may have ended already.
            signal(host, "KILL");
        });
        query.0.try_wait().unwrap()
    });
    let mut rows = String::new();
    output.read_to_string(&mut rows).unwrap();
    assert_eq!(rows, format!("1\n{ANSWER}"));
}

#[test]
fn process_of_a_drive_does_not_outlive_a_query_that_is_killed() {
    let folder = folder();
    let (mut query, _output) = hanging_query(folder.path());
    let host = eventually("its drive is there", || {
        children_of(query.0.id()).into_iter().find(|host| is_host(*host))
    });
    query.0.kill().unwrap();
    query.0.wait().unwrap();
    eventually("the process ends", || {
        let status = fs::read_to_string(format!("/proc/{host}/status")).unwrap_or_default();
        (status.is_empty() || status.contains("State:\tZ")).then_some(())
    });
}
