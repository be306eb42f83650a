// SPDX-License-Identifier: Apache-2.0
//! Tests the program for third-party suites: files of every dialect, files that end their process
//! or do not end, and the exit status of each.
//!
//! A drive that gives wrong rows is played by a query that reads the mode of pushdown.
//!
//! The files are written here: no word of a foreign suite is in this project.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

use nearscan_sqllogictest::third_party::{
    directive::Dialect,
    report::{End, Report},
};
use tempfile::TempDir;

/// A folder with files of these names and texts.
fn suite(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a file of this test");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a file of this test"))
            .expect("a file of this test");
        fs::write(path, text).expect("a file of this test");
    }
    folder
}

fn run(folder: &Path, options: &[&str]) -> (Output, Report) {
    let json = tempfile::NamedTempFile::new().expect("a file of this test");
    let output = Command::new(env!("CARGO_BIN_EXE_nearscan-slt"))
        .arg(folder)
        .args(["--json", json.path().to_str().expect("a file of this test")])
        .args(options)
        .output()
        .expect("a file of this test");
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&fs::read(json.path()).expect("a file of this test"));
    (output.clone(), report.unwrap_or_else(|error| panic!("{error}: {said}")))
}

const SQLITE: &str = "hash-threshold 4\n\nstatement ok\nCREATE TABLE stones(a INTEGER, b REAL)\n\n\
    statement ok\nINSERT INTO stones VALUES(7,1.5)\n\nstatement ok\nINSERT INTO stones VALUES(9,NULL)\n\n\
    query IR rowsort first\nSELECT a, b FROM stones WHERE a > 6\n----\n7\n1.500\n9\nNULL\n\n\
    skipif nearscan\nquery I\nSELECT 1\n----\n2\n\n\
    query I nosort\nSELECT a + 1 FROM stones WHERE b IS NULL\n----\n10\n";

const DATAFUSION: &str = "statement ok\nCREATE TABLE birds(name VARCHAR, eggs INT) AS VALUES \
    ('great tit', 8), ('owl', 3), ('', NULL)\n\n\
    query TI rowsort\nSELECT name, eggs FROM birds WHERE eggs > 2\n----\ngreat tit 8\nowl 3\n\n\
    query T\nSELECT name FROM birds WHERE eggs IS NULL\n----\n(empty)\n\n\
    query error no such column\nSELECT feathers FROM birds\n\n\
    query TT\nEXPLAIN SELECT name FROM birds\n----\nplan of some kind\n";

const DUCKDB: &str = "# name: boats.test\n# group: [boats]\n\nrequire parquet\n\n\
    statement ok\nPRAGMA enable_verification\n\nloop i 1 4\n\n\
    statement ok\nCREATE TABLE boats${i} AS SELECT ${i} AS length, 'b' AS kind\n\n\
    query IT\nSELECT length, kind FROM boats${i} WHERE length >= ${i}\n----\n${i}\tb\n\nendloop\n\n\
    mode skip\n\nquery I\nSELECT length FROM nowhere\n----\n1\n\nmode unskip\n\n\
    statement error\nSELECT length FROM nowhere\n----\nwhatever\n";

#[test]
fn files_of_every_dialect_run_on_the_drive() {
    let files = [("a/stones.test", SQLITE), ("two.slt", DATAFUSION), ("three.test", DUCKDB)];
    let folder = suite(&files);
    let (output, report) = run(folder.path(), &["--threads", "1"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    let dialects: Vec<_> =
        report.files.iter().map(|file| (file.path.as_str(), file.dialect)).collect();
    let expected = [
        ("a/stones.test", Dialect::Sqlite),
        ("three.test", Dialect::Duckdb),
        ("two.slt", Dialect::Datafusion),
    ];
    assert_eq!(dialects, expected);
    let passed: Vec<_> = report.files.iter().map(|file| file.counts.passed).collect();
    assert_eq!((passed, report.total.failed), (vec![5, 7, 4], 0), "{shown}");
    let drive: Vec<_> = report.files.iter().map(|file| file.counts.queries_drive).collect();
    assert_eq!(drive, [2, 3, 2], "{shown}");
    let reasons: Vec<_> = report.total.unsupported.keys().map(String::as_str).collect();
    let expected =
        ["condition skipif nearscan", "mode skip", "statement EXPLAIN", "statement PRAGMA"];
    assert_eq!(reasons, expected);
    assert_eq!(report.total.differ_from_off, 0);
}

#[test]
fn wrong_answer_is_shown_and_is_not_the_drives() {
    let text = "statement ok\nCREATE TABLE t(a INT) AS VALUES (1), (2)\n\n\
                query I\nSELECT a FROM t WHERE a > 1\n----\n3\n";
    let folder = suite(&[("wrong.slt", text)]);
    let (output, report) = run(folder.path(), &[]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert_eq!((report.total.passed, report.total.failed), (1, 1));
    for part in [
        "wrong.slt:4",
        "SELECT a FROM t WHERE a > 1",
        "differs from off: no",
        "expected: 3",
        "found:    2",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn file_that_does_not_end_costs_the_others_nothing() {
    let endless = "query I\nSELECT 1\n----\n1\n\nquery I\n\
                   SELECT count(*) FROM generate_series(1, 4000000000000) AS t(a) WHERE a % 7 = 3\n\
                   ----\n1\n\nquery I\nSELECT 2\n----\n2\n";
    let folder = suite(&[("endless.slt", endless), ("fine.slt", DATAFUSION)]);
    let (output, report) = run(folder.path(), &["--time-limit", "15", "--threads", "2"]);
    let [endless, fine] = report.files.as_slice() else { panic!("{report:?}") };
    assert_eq!(endless.end, End::TimeLimit("endless.slt:6".to_owned()));
    // It does not end with pushdown off either, so it is no fault of the drive.
    assert_eq!((endless.same_end_off, output.status.code()), (Some(true), Some(0)));
    assert_eq!((endless.counts.passed, endless.counts.records()), (1, 3));
    assert_eq!((&fine.end, fine.counts.passed), (&End::Whole, 4));
}

#[test]
fn process_that_dies_is_reported_with_its_record() {
    // It requests more than the process may have, and an allocation that fails is an abort.
    let greedy = "query I\nSELECT 1\n----\n1\n\n\
                  query I\nSELECT length(repeat('x', 2000000000)) + length(repeat('y', 2000000000))\n\
                  ----\n4000000000\n\nquery I\nSELECT 2\n----\n2\n";
    let folder = suite(&[("fine.slt", DATAFUSION), ("greedy.slt", greedy)]);
    let (output, report) = run(folder.path(), &["--memory-limit", "3000", "--threads", "1"]);
    let [fine, greedy] = report.files.as_slice() else { panic!("{report:?}") };
    let End::Crashed(how) = &greedy.end else { panic!("{greedy:?}") };
    assert!(how.starts_with("at greedy.slt:6: signal: 6"), "{how}");
    assert_eq!((greedy.same_end_off, output.status.code()), (Some(true), Some(0)));
    assert_eq!((greedy.counts.passed, greedy.counts.records()), (1, 3));
    assert_eq!((&fine.end, fine.counts.passed), (&End::Whole, 4));
}

#[test]
fn files_are_chosen_and_modes_too() {
    let folder = suite(&[("a/stones.test", SQLITE), ("b/two.slt", DATAFUSION)]);
    let (output, report) = run(folder.path(), &["--filter", "b/*", "--mode", "off"]);
    assert!(output.status.success());
    assert_eq!((report.files.len(), report.mode.as_str()), (1, "off"));
    assert_eq!((report.total.passed, report.total.units_drive), (4, 0));
}

#[test]
fn folder_without_tests_is_refused() {
    let folder = suite(&[("notes.txt", "nothing")]);
    let output =
        Command::new(env!("CARGO_BIN_EXE_nearscan-slt")).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot use '"));
}

/// `force` or `off`, as a query is told.
const MODE: &str =
    "(SELECT value FROM information_schema.df_settings WHERE name = 'nearscan.pushdown.mode')";

const STONES: &str = "statement ok\nCREATE TABLE stones(a INT) AS VALUES (1), (2), (3), (4)\n\n";

#[test]
fn wrong_answer_of_the_drive_is_the_exit_status() {
    let text = format!(
        "{STONES}query I\nSELECT a FROM stones WHERE a > 0 \
         ORDER BY CASE WHEN {MODE} = 'force' THEN -a ELSE a END LIMIT 2\n----\n1\n2\n"
    );
    let folder = suite(&[("fine.slt", DATAFUSION), ("wrong.slt", &text)]);
    let (output, report) = run(folder.path(), &[]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert_eq!((report.total.differ_from_off, report.total.unstable), (1, 0), "{shown}");
    assert!(!report.is_sound());
    for part in
        ["differs from off: yes", "found:    4\n            3", "off:      1\n            2"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn wrong_answer_of_the_drive_is_one_whatever_the_suite_says() {
    let text = format!(
        "{STONES}query I\nSELECT CASE WHEN {MODE} = 'force' THEN a + 1 ELSE a END FROM stones \
         WHERE a > 3\n----\n5\n"
    );
    let folder = suite(&[("wrong.slt", &text)]);
    let (output, report) = run(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((report.total.passed, report.total.differ_from_off), (2, 1));
}

#[test]
fn crash_of_the_drive_alone_is_the_exit_status() {
    // Without pushdown no row requests the memory.
    let text = format!(
        "{STONES}query I\nSELECT sum(length(repeat('x', CASE WHEN {MODE} = 'force' \
         THEN a * 1000000000 ELSE a END))) FROM stones WHERE a > 0 AND a < 3\n----\n3\n"
    );
    let folder = suite(&[("wrong.slt", &text)]);
    let (output, report) = run(folder.path(), &["--memory-limit", "3000"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let [file] = report.files.as_slice() else { panic!("{report:?}") };
    let End::Crashed(how) = &file.end else { panic!("{shown}") };
    assert!(how.starts_with("at wrong.slt:4: signal: 6"), "{how}");
    assert_eq!((file.same_end_off, output.status.code()), (Some(false), Some(1)));
    assert_eq!((report.ended_early, report.ended_early_not_off), (1, 1));
    assert!(shown.contains("(NOT with pushdown off)"), "{shown}");
}

#[test]
fn run_in_which_nothing_ran_is_no_success() {
    let folder = suite(&[("fine.slt", DATAFUSION)]);
    for options in [["--memory-limit", "1"], ["--time-limit", "0"]] {
        let (output, report) = run(folder.path(), &options);
        assert_eq!((report.total.records(), output.status.code()), (0, Some(2)), "{options:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "error: nothing was run\n");
    }
}

#[test]
fn worker_ends_with_whoever_listens_to_it() {
    let endless = "query I\nSELECT count(*) FROM generate_series(1, 4000000000000) AS t(a) \
                   WHERE a % 7 = 3\n----\n1\n";
    let folder = suite(&[("endless.slt", endless)]);
    let mut worker = Command::new(env!("CARGO_BIN_EXE_nearscan-slt"))
        .arg("--worker")
        .arg(folder.path().join("endless.slt"))
        .arg("--scratch")
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a file of this test");
    let mut said = BufReader::new(worker.stdout.take().expect("a pipe")).lines();
    let begins = said.find(|line| line.as_ref().is_ok_and(|line| line.contains("begins")));
    assert!(begins.is_some(), "it began with nothing");
    drop(worker.stdin.take());
    // Its output ends with it; a worker that does not end leaves this test waiting.
    assert_eq!(said.count(), 0);
    assert_eq!(worker.wait().expect("a process").code(), Some(2));
}

#[test]
fn workers_of_a_program_that_is_killed_end() {
    let endless = "query I\nSELECT count(*) FROM generate_series(1, 4000000000000) AS t(a) \
                   WHERE a % 7 = 3\n----\n1\n";
    let folder = suite(&[("endless.slt", endless)]);
    let mut program = Command::new(env!("CARGO_BIN_EXE_nearscan-slt"))
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("a program");
    let is_there = || workers_of(folder.path()) > 0;
    assert!(comes_true(&is_there), "no worker was started");
    program.kill().expect("a process");
    program.wait().expect("a process");
    assert!(comes_true(&|| !is_there()), "a worker is left");
}

/// Processes that have a file below this folder among their words.
fn workers_of(folder: &Path) -> usize {
    let file = folder.join("endless.slt").to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
    let words = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).contains(&file)).count()
}

/// Whether something comes true in half a minute.
fn comes_true(is: &dyn Fn() -> bool) -> bool {
    (0..300).any(|_| {
        // There is no event to wait for: the process is another's.
        let waited = Command::new("sleep").arg("0.1").status();
        waited.is_ok() && is()
    })
}
