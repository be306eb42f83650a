// SPDX-License-Identifier: Apache-2.0
//! Suites on small tables: all engines run, and their rows agree.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Queries of each suite that together use every table, writer and form of a query file.
const SCAN: &str = "group_low/*,aggregate_integers/duckdb,top/polars,wide_table,many_files";
const LAYOUTS: &str = "numbers/delta,numbers/stream-split,filter_number/lz4,filter_text/delta,\
                       filter_prefix/no-dictionary,group/many-files,rows/pages-v2,rows/duckdb";
const CLICKBENCH: &str = "q03,q18,q29,q35,q41";
const JOINS: &str = "cycle_four*,self_mentors*,semi_and_anti*,left_photos@written,twelve@[12]";

#[test]
fn engines_agree_on_single_tables() {
    let Some(python) = nearscan_skip::python("suites::engines_agree_on_single_tables") else {
        return;
    };
    agree(&python, "scan", SCAN, 8);
}

#[test]
fn engines_agree_on_layouts() {
    let Some(python) = nearscan_skip::python("suites::engines_agree_on_layouts") else { return };
    let (report, table) = agree(&python, "layouts", LAYOUTS, 8);
    let delta = &report["files"]["delta"]["nearscan"];
    assert!(delta["geometric_mean"].as_f64().unwrap() > 0.0, "{table}");
    assert!(delta["worst"][1].as_f64() >= delta["geometric_mean"].as_f64(), "{table}");
    let heading = table.lines().position(|line| line.starts_with("files ")).unwrap();
    let first = table.lines().nth(heading + 1).unwrap();
    assert!(first.starts_with("delta ") && first.contains("/delta"), "{table}");
    // Beside the queries that have columns for it, the decode limit was measured.
    for name in ["numbers/delta", "numbers/stream-split"] {
        let limit = &report["queries"][name]["limit"];
        assert_eq!(limit["problem"], Value::Null, "{name}\n{table}");
        assert_eq!(limit["seconds"].as_array().unwrap().len(), 1, "{name}");
        assert!(limit["bytes"].as_u64().unwrap() > 20_000, "{name}");
    }
    assert_eq!(report["queries"]["rows/duckdb"]["limit"], Value::Null);
    assert!(report["memory_bytes_per_second"].as_f64().unwrap() > 1e6);
    assert_eq!(table.matches("of that limit").count(), 4, "{table}");
}

#[test]
fn engines_agree_on_clickbench() {
    let Some(python) = nearscan_skip::python("suites::engines_agree_on_clickbench") else { return };
    agree(&python, "clickbench", CLICKBENCH, 5);
}

#[test]
fn engines_agree_on_joins_in_every_order() {
    let test = "suites::engines_agree_on_joins_in_every_order";
    let Some(python) = nearscan_skip::python(test) else { return };
    let (report, table) = agree(&python, "joins", JOINS, 15);
    let drive = &report["queries"]["twelve@1"]["engines"]["nearscan[emulated:]"];
    assert!(drive["units_drive"].as_u64().unwrap() > 0, "{table}");
    assert_eq!(drive["seconds"].as_array().unwrap().len(), 0, "{table}");
    let orders = &report["orders"];
    assert_eq!(orders["queries"].as_object().unwrap().len(), 5, "{table}");
    for engine in ["nearscan", "nearscan[nearscan.pushdown.mode=off]", "duckdb"] {
        let found = &orders["slowest_by_fastest"][engine];
        // One query has a single order.
        assert_eq!(found["count"], 4, "{engine}\n{table}");
        assert!(found["worst"][1].as_f64() >= found["geometric_mean"].as_f64(), "{table}");
        let of = |query: &str| &orders["queries"][query]["slowest_by_fastest"][engine];
        assert!(of("twelve").as_f64().unwrap() >= 1.0, "{engine}\n{table}");
        assert_eq!(*of("left_photos"), Value::Null, "{engine}\n{table}");
    }
    let ratios = &orders["ratios_to_settings"]["nearscan[nearscan.pushdown.mode=off]"];
    assert_eq!(ratios["count"], 15, "{table}");
    assert!(table.contains("\nnearscan: slowest / fastest order of a query at most "), "{table}");
}

#[test]
fn unit_tests_in_python_pass() {
    let Some(python) = nearscan_skip::python("suites::unit_tests_in_python_pass") else { return };
    let tests = project().join("tests");
    let output = command(&python)
        .args(["-m", "unittest", "discover", "--start-directory"])
        .arg(tests)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("Ran 0 tests"), "{errors}");
}

/// Runs queries of a suite once and checks that every engine ran each of them with the same rows;
/// returns the report as JSON and as text.
fn agree(python: &OsString, suite: &str, queries: &str, count: usize) -> (Value, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let json = folder.join(format!("{suite}.json"));
    let chart = folder.join(format!("{suite}.svg"));
    std::fs::create_dir_all(&folder).unwrap();
    let output = command(python)
        .args(["-m", "peers", suite, "--rows", "20000", "--runs", "1", "--threads", "2"])
        .args(["--queries", queries, "--also", "nearscan.pushdown.mode=off"])
        .args(["--check-drive", "emulated:"])
        .args(["--stream-bytes", "1048576"])
        .arg("--data")
        .arg(&folder)
        .arg("--json")
        .arg(&json)
        .arg("--chart")
        .arg(&chart)
        .args(["--worker", env!("CARGO_BIN_EXE_nearscan-peer"), "--nearscan", "not-needed"])
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}\n{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let queries = report["queries"].as_object().unwrap();
    assert_eq!(queries.len(), count, "{table}");
    for (name, query) in queries {
        let engines = query["engines"].as_object().unwrap();
        assert_eq!(engines.len(), 6, "{name}");
        for (engine, outcome) in engines {
            assert_eq!(outcome["problem"], Value::Null, "{name}, {engine}\n{table}");
            if engine == "nearscan[emulated:]" {
                continue;
            }
            assert_eq!(outcome["seconds"].as_array().unwrap().len(), 1, "{name}, {engine}");
            assert!(outcome["peak_bytes"].as_u64().unwrap() > 1 << 20, "{name}, {engine}");
        }
        assert!(query["ratios"]["nearscan"].as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(std::fs::read_to_string(chart).unwrap().contains("time / best peer"));
    let table = table.into_owned();
    (report, table)
}

fn command(python: &OsString) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONPATH", project());
    command
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
