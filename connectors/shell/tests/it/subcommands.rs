// SPDX-License-Identifier: Apache-2.0
//! Tests subcommands about drives, plans and reports.

use std::fs;

use crate::program::{command, finished, run};

#[test]
fn drives_of_the_machine_are_listed() {
    let (out, err, status) = run(&["drive", "list", "--format", "ndjson"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let drives: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = drives.iter().map(|drive| drive["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["cpu", "emulated"]);
    assert_eq!(drives[1]["rates_modelled"], true);
}

#[test]
fn drive_info_shows_identity_and_capabilities() {
    let (out, err, status) =
        run(&["drive", "info", "d=emulated:?lanes=4&merge_cus=1", "--format", "csv"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let (properties, functions) = out.split_once("function,type").unwrap();
    assert!(properties.starts_with("property,value\nname,d\nkind,emulated\n"), "{properties}");
    assert!(properties.contains("\nmemory_bytes,4294967296\n"), "{properties}");
    let image = "\nmodel,\"SmartSSD, 1 scan unit of 4 lanes and 1 merge unit\"\n";
    assert!(properties.contains(image), "{properties}");
    assert!(functions.lines().any(|line| line.starts_with("sum,")), "{functions}");
    let (_, err, status) = run(&["drive", "info", "emulated:?cus=4"]);
    assert_eq!(status, 2);
    assert!(err.contains("detail: 4 scan units of 7 lanes do not fit the FPGA: "), "{err}");
    let (_, err, status) = run(&["drive", "info", "xrt:0?xclbin=none"]);
    assert_eq!(status, 2);
    assert!(err.starts_with("error: drive 'xrt' cannot be opened\n"), "{err}");
}

#[test]
fn plan_and_decisions_are_explained_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "COPY (SELECT value % 5000 + 1 AS k FROM generate_series(1, 5000)) TO 'n.parquet' \
               OPTIONS (compression snappy)";
    assert!(command(folder.path()).args(["-c", sql]).status().unwrap().success());
    let explain = |arguments: &[&str]| -> serde_json::Value {
        let sql = "SELECT sum(k) FROM n WHERE k > 10";
        let output = command(folder.path())
            .args(["explain-json", sql, "n.parquet"])
            .args(arguments)
            .output()
            .unwrap();
        let (out, err, status) = finished(output);
        assert_eq!((err.as_str(), status), ("", 0));
        serde_json::from_str(&out).unwrap()
    };

    let without = explain(&[]);
    assert_eq!(without["decisions"][0]["table"], "n");
    assert_eq!(without["decisions"][0]["kept"]["reason"], "no_drive");
    assert_eq!(without["run"], serde_json::Value::Null);

    let forced =
        explain(&["--analyze", "--drive", "emulated", "--set", "nearscan.pushdown.mode=force"]);
    assert_eq!(forced["decisions"][0]["drive"], "emulated");
    assert_eq!(forced["run"]["rows"], 1);
    assert_eq!(forced["run"]["units_drive"], 1);
    assert!(forced["run"]["drive_seconds_modelled"].as_f64().unwrap() > 0.0);
    assert_eq!(forced["run"]["drive_seconds_measured"], serde_json::Value::Null);
    assert_eq!(forced["run"]["host_bytes"], 0);
    assert_eq!(forced["run"]["drive_seconds_measured"], serde_json::Value::Null);
    assert!(forced["plan"].to_string().contains("PushdownExec"), "{}", forced["plan"]);
}

#[test]
fn reports_of_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["tpch", "run", "-s", "0.001", "--queries", "1,6", "--json", "a.json"];
    assert!(command(folder.path()).args(arguments).output().unwrap().status.success());
    let compare = |second: &str| {
        let arguments = ["tpch", "compare", "a.json", second];
        finished(command(folder.path()).args(arguments).output().unwrap())
    };
    let (out, err, status) = compare("a.json");
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.ends_with("geometric mean of the ratios 1.000 over 2 queries\n"), "{out}");

    fs::write(folder.path().join("b.json"), "{}").unwrap();
    let (out, err, status) = compare("b.json");
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.starts_with("error: cannot use 'b.json'\n  detail: not a report"), "{err}");
    let (_, err, status) = compare("nope.json");
    assert_eq!(status, 2);
    assert!(err.starts_with("error: cannot read 'nope.json'\n"), "{err}");
}
