// SPDX-License-Identifier: Apache-2.0
//! Tests `nearscan drive check`: its report about drives and its exit status.

use std::{fs, path::Path, process::Stdio};

use crate::{
    card::{card, has_runtime},
    program::{command, finished, run},
    serve::serve,
};

/// The parameters of the time model that a check measures of any build. Of a build with one unit it
/// measures `start_ns`, too: among several others hide it.
const PARAMETERS: [&str; 7] = [
    "setup_ns",
    "p2p_4_kib_bytes_per_s",
    "p2p_64_kib_bytes_per_s",
    "p2p_1_mib_bytes_per_s",
    "media_bytes_per_s",
    "link_bytes_per_s",
    "clock_hz",
];

/// Checks a drive in a folder: its answer, and the JSON.
fn check(folder: &Path, url: &str, conformance: &str) -> (String, serde_json::Value) {
    let arguments = ["drive", "check", url, "--conformance", conformance, "--json", "found.json"];
    let (out, err, status) = finished(command(folder).args(arguments).output().unwrap());
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    let json = fs::read_to_string(folder.join("found.json")).unwrap();
    (out, serde_json::from_str(&json).unwrap())
}

/// The figures of a drive with modelled times are those of the model, each within a hundredth.
fn assert_model_is_found(parameters: &[&str], out: &str, json: &serde_json::Value) {
    assert!(out.contains("The drive is emulated. Its times are in the column modelled"), "{out}");
    assert_eq!(json["drive"]["emulated"], true);
    let figures = json["figures"].as_array().unwrap();
    for name in parameters {
        let figure = figures.iter().find(|figure| figure["name"] == *name).unwrap();
        assert_eq!(figure["parameter"], true, "{figure}");
        let of = |value: &serde_json::Value| value.as_f64().unwrap();
        let ratio = of(&figure["modelled"]["value"]) / of(&figure["model"]);
        assert!((ratio - 1.0).abs() < 0.01, "{figure}");
        assert!(!figure["modelled"]["samples"].as_array().unwrap().is_empty(), "{figure}");
        if let Some(measured) = figure["measured"].as_object() {
            assert_eq!(measured["clock"], "simulation", "{figure}");
        }
        assert!(out.lines().any(|line| line.starts_with(*name)), "{out}");
    }
}

#[test]
fn emulated_drive_has_the_parameters_of_its_model() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("root")).unwrap();
    let root = folder.path().join("root").canonicalize().unwrap();
    let url = format!("emulated:?root={}", root.display());
    let (out, json) = check(folder.path(), &url, "quick");
    let images = "1 scan unit of 7 lanes, or 1 scan unit of 5 lanes and 1 merge unit";
    assert!(out.starts_with(&format!("emulated: SmartSSD, {images} (")), "{out}");
    assert_eq!(json["conformance"]["failures"], serde_json::json!([]));
    assert!(json["conformance"]["cases"].as_u64().unwrap() > 6000, "{json}");
    assert_model_is_found(&[&PARAMETERS[..], &["start_ns"]].concat(), &out, &json);
    assert_eq!(fs::read_dir(root).unwrap().count(), 0, "its files are removed");
}

#[test]
fn card_in_emulation_has_the_parameters_of_its_model() {
    if !has_runtime("check::card_in_emulation_has_the_parameters_of_its_model") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (out, json) = check(folder.path(), &card(&folder), "none");
    assert!(out.starts_with("xrt: "), "{out}");
    assert!(out.contains("\nconformance: not run\n"), "{out}");
    assert_eq!(json["conformance"], serde_json::Value::Null);
    assert_model_is_found(&PARAMETERS, &out, &json);
}

#[test]
fn served_card_passes_the_suite_of_two_processes_at_once() {
    if !has_runtime("check::served_card_passes_the_suite_of_two_processes_at_once") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(folder.path(), &card(&folder), "unix:card.sock");
    let url = format!("remote:{address}");
    let clients = ["1", "2"].map(|seed| {
        command(folder.path())
            .args(["drive", "check", &url, "--conformance", "quick", "--seed", seed])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for client in clients {
        let (out, err, status) = finished(client.wait_with_output().unwrap());
        assert_eq!((err.as_str(), status), ("", 0), "{out}");
        assert!(out.contains(" cases with seed "), "{out}");
    }
}

#[test]
fn drive_with_a_clock_has_only_measured_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (out, json) = check(folder.path(), "cpu:", "none");
    assert!(out.ends_with("Times are measured; the ratio is theirs to the model's.\n"), "{out}");
    assert_eq!(json["drive"]["emulated"], false);
    for figure in json["figures"].as_array().unwrap() {
        assert_eq!(figure["modelled"], serde_json::Value::Null, "{figure}");
    }
    let left = json["left_out"].as_array().unwrap();
    let reason = |name| left.iter().find(|left| left["name"] == name).unwrap()["reason"].clone();
    assert_eq!(reason("clock_hz"), "the drive counts no iterations of a kernel");
    assert_eq!(reason("link_bytes_per_s"), "the drive sends nothing over a link");
    assert_eq!(reason("p2p_4_kib_bytes_per_s"), reason("media_bytes_per_s"));
}

#[test]
fn exit_status_depends_on_the_failure() {
    let (out, err, status) = run(&["drive", "check", "smart:"]);
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.starts_with("error: invalid drive URL 'smart:'\n"), "{err}");
    let (out, err, status) = run(&["drive", "check", "emulated:?root=/not/there"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.starts_with("error: cannot write below '/not/there'\n"), "{err}");
    let faulty = ["drive", "check", "emulated:?faults=corrupt:1", "--conformance"];
    let (out, err, status) = run(&[&faulty[..], &["none"]].concat());
    assert_eq!((err.as_str(), status), ("", 1));
    let ended = "The benchmarks ended before they were done: a command of the benchmark did not";
    assert!(out.contains(ended), "{out}");
    let (out, err, status) = run(&[&faulty[..], &["quick", "--seed", "7"]].concat());
    assert_eq!((err.as_str(), status), ("", 1));
    assert!(out.contains(" cases with seed 7, ") && out.contains("\nalso failed: "), "{out}");
}
