// SPDX-License-Identifier: Apache-2.0
//! Tests the output, the files and the exit status of the program.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use rstest::rstest;

pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearscan"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs the program in a folder with a table `t.csv` of three rows, and returns its standard
/// output, standard error and exit status.
pub(crate) fn run(arguments: &[&str]) -> (String, String, i32) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "k,v\n1,a\n2,b\n3,\n").unwrap();
    finished(command(folder.path()).args(arguments).output().unwrap())
}

pub(crate) fn finished(output: Output) -> (String, String, i32) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    command(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[rstest]
#[case("csv", "k,v\n1,a\n3,\n")]
#[case("tsv", "k\tv\n1\ta\n3\t\n")]
#[case("json", "[{\"k\":1,\"v\":\"a\"},{\"k\":3,\"v\":null}]\n")]
#[case("ndjson", "{\"k\":1,\"v\":\"a\"}\n{\"k\":3,\"v\":null}\n")]
#[case("markdown", "| k | v |\n| ---: | --- |\n| 1 | a |\n| 3 | NULL |\n")]
#[case(
    "table",
    "+---+------+\n| k | v    |\n+---+------+\n| 1 | a    |\n| 3 | NULL |\n+---+------+\n"
)]
#[case("none", "")]
fn text_formats(#[case] format: &str, #[case] expected: &str) {
    let sql = "SELECT * FROM t WHERE k <> 2 ORDER BY k";
    let (out, err, status) = run(&["t.csv", "--format", format, "-c", sql]);
    assert_eq!((out.as_str(), err.as_str(), status), (expected, "", 0));
}

#[rstest]
#[case("arrow")]
#[case("parquet")]
#[case("ndjson")]
#[case("csv")]
fn written_file_can_be_read_again(#[case] extension: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("out.{extension}");
    let sql = "SELECT value AS v, value % 7 AS r FROM generate_series(1, 20000)";
    let status = command(folder.path()).args(["-o", &file, "-c", sql]).status().unwrap();
    assert!(status.success());
    let sql = format!("SELECT count(*) AS n, sum(v) AS s, max(r) AS r FROM '{file}'");
    let output = command(folder.path()).args(["-c", &sql]).output().unwrap();
    assert_eq!(finished(output), ("n,s,r\n20000,200010000,6\n".to_owned(), String::new(), 0));
}

#[test]
fn statements_run_in_the_order_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.sql"), "-- a; b\nSELECT 'x;y' AS two;\nSELECT 3 AS three")
        .unwrap();
    let arguments = ["-c", "SELECT 1 AS one;", "-f", "a.sql", "-c", "SELECT 4 AS four"];
    let output = command(folder.path()).args(arguments).output().unwrap();
    let expected = "one\n1\ntwo\nx;y\nthree\n3\nfour\n4\n";
    assert_eq!(finished(output), (expected.to_owned(), String::new(), 0));
}

#[test]
fn standard_input_is_a_script() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let mut child = spawn(folder.path(), &[]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"CREATE VIEW v AS SELECT 1 AS a;\nSELECT a\n + 1 AS b FROM v;\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(finished(output), ("b\n2\n".to_owned(), String::new(), 0));
}

#[test]
fn folder_of_parts_is_one_table() {
    let folder = tempfile::tempdir().unwrap();
    for part in 1..=2 {
        let sql = format!("COPY (SELECT {part} AS k) TO 'sales/{part}.parquet'");
        assert!(command(folder.path()).args(["-c", &sql]).output().unwrap().status.success());
    }
    let sql = "SELECT sum(k) AS s FROM sales; SELECT count(*) AS n FROM 'sales/*.parquet'";
    let output = command(folder.path()).args(["sales", "-c", sql]).output().unwrap();
    assert_eq!(finished(output), ("s\n3\nn\n2\n".to_owned(), String::new(), 0));
}

#[test]
fn script_stops_at_the_first_failure() {
    let sql = "SELECT 1 AS a; SELECT nope FROM t; SELECT 2 AS b";
    let (out, err, status) = run(&["t.csv", "-c", sql, "-c", "SELECT 3 AS c"]);
    assert_eq!((out.as_str(), status), ("a\n1\n", 1));
    assert_eq!(err, "error: column 'nope' not found\n  detail: columns: k, v\n");
}

#[test]
fn script_continues_on_error_if_requested() {
    let sql = "SELECT 1 AS a; SELEC; SELECT 1 / 0; SELECT 2 AS b";
    let (out, err, status) = run(&["--continue-on-error", "--format", "ndjson", "-c", sql]);
    assert_eq!((out.as_str(), status), ("{\"a\":1}\n{\"b\":2}\n", 1));
    assert_eq!(err.matches("error: ").count(), 2, "{err}");
}

#[test]
fn second_result_does_not_fit_into_a_binary_output() {
    let (_, err, status) = run(&["-o", "x.parquet", "-c", "SELECT 1 AS a; SELECT 2 AS b"]);
    assert_eq!(status, 1);
    assert!(err.starts_with("error: the output holds one result already\n"), "{err}");
}

#[test]
fn closed_output_ends_the_program_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "SELECT * FROM generate_series(1, 10000000); SELECT nope";
    let mut child = spawn(folder.path(), &["-c", sql]);
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"value\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(finished(output), (String::new(), String::new(), 0));
}

#[cfg(unix)]
#[test]
fn interrupt_ends_a_query_with_status_130() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "SELECT 1 AS a; \
               SELECT * FROM generate_series(1, 100000000000) WHERE value < 0; SELECT 2 AS b";
    let mut child = spawn(folder.path(), &["--threads", "1", "-c", sql]);
    // The first result says that the program is running and listens.
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 4];
    out.read_exact(&mut first).unwrap();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains('b'), "{rest}");
}

#[test]
fn time_goes_to_standard_error() {
    let (out, err, status) = run(&["--timer", "-c", "SELECT 1 AS a"]);
    assert_eq!((out.as_str(), status), ("a\n1\n", 0));
    assert!(err.starts_with("time: ") && err.ends_with("), 1 row\n"), "{err}");
    assert!(err.contains(" s (planning ") && err.contains(", execution "), "{err}");
}

#[test]
fn tpch_runs_from_nothing_and_checks_answers() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["tpch", "run", "--scale-factor", "0.01", "--queries", "1,6,15", "--runs", "2"];
    let json = ["--json", "r.json"];
    let output = command(folder.path()).args(arguments).args(json).output().unwrap();
    let (out, err, status) = finished(output);
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("\nq15 "), "{out}");
    assert!(out.trim_end().ends_with("over 3 queries, 3 ok"), "{out}");
    let json = fs::read_to_string(folder.path().join("r.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["scale_factor"], 0.01);
    assert_eq!(json["queries"][2]["query"], 15);
    assert_eq!(json["queries"][2]["seconds"].as_array().unwrap().len(), 2);
    assert_eq!(json["queries"][2]["answer"], "ok");
}

#[test]
fn tpch_fails_when_an_answer_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let tpch = |arguments: &[&str]| {
        let arguments = [&["tpch"], arguments].concat();
        finished(command(folder.path()).args(arguments).output().unwrap())
    };
    assert_eq!(tpch(&["generate", "-s", "0.01"]).2, 0);
    let data = folder.path().join("data/tpch");
    fs::rename(data.join("sf0.01"), data.join("sf1")).unwrap();
    let (out, _, status) = tpch(&["run", "--scale-factor", "1", "--queries", "6"]);
    assert_eq!(status, 1);
    assert!(out.contains("q06 is wrong: row 1, column 1: '1193053.2253' instead of"), "{out}");
}

#[test]
fn commands_run_between_the_statements_of_a_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "k,v\n1,a\n2,b\n").unwrap();
    let script = ".mode json\n.import t.csv t\nSELECT k FROM t;\n.import t.csv t\n\\x\n\
                  .watch 0 2 SELECT count(*) AS n FROM t\n.quit\nSELECT 'never';\n";
    fs::write(folder.path().join("a.sql"), script).unwrap();
    let output = command(folder.path()).args(["-f", "a.sql", "-c", "SELECT 0"]).output().unwrap();
    let (out, err, status) = finished(output);
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("[{\"k\":1},{\"k\":2}]\n"), "{out}");
    assert_eq!(out.matches("n | 4").count(), 2, "{out}");
    assert!(!out.contains("never") && !out.ends_with("0\n"), "{out}");
}

#[test]
fn failing_command_ends_a_script_as_a_failing_statement_does() {
    let (out, err, status) = run(&["-c", ".nothing\nSELECT 1 AS a"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.starts_with("error: unknown command '.nothing'\n"), "{err}");
    let (out, _, status) = run(&["--continue-on-error", "-c", ".nothing\nSELECT 1 AS a"]);
    assert_eq!((out.as_str(), status), ("a\n1\n", 1));
}

#[test]
fn profile_is_that_of_the_last_statement() {
    let (out, err, status) = run(&["t.csv", "-c", "SELECT count(*) AS n FROM t;\n.profile"]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.contains("DataSourceExec") && out.contains("└─ "), "{out}");
    let (out, _, _) = run(&["-c", ".profile"]);
    assert_eq!(out, "no statement has run to its end yet\n");
}

#[test]
fn bars_show_labels_and_numbers() {
    let (out, err, status) = run(&["t.csv", "-c", ".bar SELECT v, k FROM t ORDER BY k"]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert_eq!(out.lines().filter(|line| line.contains('█')).count(), 3, "{out}");
    let (_, err, status) = run(&["t.csv", "-c", ".bar SELECT v FROM t"]);
    assert_eq!(status, 1);
    assert!(err.contains("hint: "), "{err}");
}

#[test]
fn script_that_reads_itself_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.sql"), ".read a.sql\n").unwrap();
    let output = command(folder.path()).args(["-f", "a.sql"]).output().unwrap();
    let (_, err, status) = finished(output);
    assert_eq!(status, 1);
    assert!(err.starts_with("error: scripts read scripts too deeply\n"), "{err}");
}

#[test]
fn command_that_cannot_read_its_file_fails_as_a_statement() {
    let script = ".open nothing.csv\n.read nothing.sql\nSELECT 1 AS a";
    let (out, _, status) = run(&["--continue-on-error", "-c", script]);
    assert_eq!((out.as_str(), status), ("a\n1\n", 1));
}

#[test]
fn file_is_imported_into_a_table_whose_name_needs_quotes() {
    let script = ".import t.csv \"My table\"\nSELECT count(*) AS n FROM \"My table\"";
    let (out, err, status) = run(&["-c", script]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.ends_with("n\n3\n"), "{out}");
}
