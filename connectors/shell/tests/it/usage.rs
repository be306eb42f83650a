// SPDX-License-Identifier: Apache-2.0
//! Tests bad usage: status 2, nothing on standard output, and a message with a hint.

use rstest::rstest;

use crate::program::run;

#[rstest]
#[case(&["nope.parquet"], "error: file 'nope.parquet' not found\n")]
#[case(&["t.csv", "./t.csv"], "error: two tables would be named 't'\n")]
#[case(&["-f", "nope.sql"], "error: cannot read 'nope.sql'\n")]
#[case(&["-o", "no/such/folder.csv"], "error: cannot write 'no/such/folder.csv'\n")]
#[case(&["--drive", "smart:"], "error: invalid drive URL 'smart:'\n")]
#[case(&["--drive", "cpu:", "--drive", "cpu"], "error: two drives are named 'cpu'\n")]
#[case(&["--set", "nearscan.pushdown.mod=off"], "error: unknown setting 'nearscan.pushdown.mod'\n")]
#[case(
    &["--set", "nearscan.pushdown.mode=so"],
    "error: invalid value 'so' for setting 'nearscan.pushdown.mode'\n"
)]
#[case(&["--memory-limit", "lots"], "error: invalid value 'lots' for '--memory-limit <SIZE>'")]
#[case(&["--no-such-option"], "error: unexpected argument '--no-such-option' found\n")]
#[case(&["tpch", "run", "--queries", "23"], "error: invalid value '23' for '--queries <LIST>'")]
#[case(&["tpch", "run", "-s", "big"], "error: invalid value 'big' for '--scale-factor <SF>'")]
#[case(
    &["drive", "bench", "kernels", "--elements", "0"],
    "error: invalid value '0' for '--elements <N>'"
)]
#[case(
    &["drive", "bench", "kernels", "--elements", "64", "--no-host", "--plot", "t.csv"],
    "error: cannot write 't.csv'\n"
)]
fn bad_usage_differs_from_failing_statements(#[case] arguments: &[&str], #[case] expected: &str) {
    let is_subcommand = ["tpch", "drive"].contains(&arguments[0]);
    let statement = if is_subcommand { &[][..] } else { &["-c", "SELECT 1"] };
    let (out, err, status) = run(&[arguments, statement].concat());
    assert_eq!((out.as_str(), status), ("", 2), "{err}");
    assert!(err.starts_with(expected), "{err}");
}

#[test]
fn version_and_help_succeed() {
    let (out, _, status) = run(&["--version"]);
    assert_eq!((out.as_str(), status), (concat!("nearscan ", env!("CARGO_PKG_VERSION"), "\n"), 0));
    let (out, _, status) = run(&["--help"]);
    assert_eq!(status, 0);
    for option in ["--command", "--file", "--format", "--output", "--drive", "--set", "--timer"] {
        assert!(out.contains(option), "{option}");
    }
}

#[test]
fn help_has_examples() {
    let (out, _, _) = run(&["--help"]);
    assert!(out.contains("Examples:") && out.contains("NEARSCAN_PAGER"), "{out}");
}

#[rstest]
#[case("bash", "_nearscan()")]
#[case("zsh", "#compdef nearscan")]
#[case("fish", "complete -c nearscan")]
fn completion_script_is_printed(#[case] shell: &str, #[case] expected: &str) {
    let (out, err, status) = run(&["completions", shell]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.contains(expected) && out.contains("memory-limit"), "{out}");
}

#[test]
fn manual_page_has_options_and_examples() {
    let (out, err, status) = run(&["man"]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.contains(".TH nearscan") && out.contains("memory\\-limit"), "{out}");
    assert!(out.contains("NO_COLOR"), "{out}");
}
