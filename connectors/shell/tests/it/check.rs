// SPDX-License-Identifier: Apache-2.0
//! `nearscan drive check`: what it finds of drives, and what its exit status says.

use std::{fs, io::Write, path::Path};

use crate::program::{command, finished, run};

/// What the model has, and a check finds.
const PARAMETERS: [&str; 8] = [
    "setup_ns",
    "start_ns",
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
fn assert_model_is_found(out: &str, json: &serde_json::Value) {
    assert!(out.contains("The drive is emulated. Its times are in the column modelled"), "{out}");
    assert_eq!(json["drive"]["emulated"], true);
    let figures = json["figures"].as_array().unwrap();
    for name in PARAMETERS {
        let figure = figures.iter().find(|figure| figure["name"] == name).unwrap();
        assert_eq!(figure["parameter"], true, "{figure}");
        let of = |value: &serde_json::Value| value.as_f64().unwrap();
        let ratio = of(&figure["modelled"]["value"]) / of(&figure["model"]);
        assert!((ratio - 1.0).abs() < 0.01, "{figure}");
        assert!(!figure["modelled"]["samples"].as_array().unwrap().is_empty(), "{figure}");
        if let Some(measured) = figure["measured"].as_object() {
            assert_eq!(measured["clock"], "simulation", "{figure}");
        }
        assert!(out.lines().any(|line| line.starts_with(name)), "{out}");
    }
}

#[test]
fn an_emulated_drive_has_the_parameters_of_its_model() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("root")).unwrap();
    let root = folder.path().join("root").canonicalize().unwrap();
    let url = format!("emulated:?root={}", root.display());
    let (out, json) = check(folder.path(), &url, "quick");
    assert!(out.starts_with("emulated: SmartSSD, 1 scan unit of 7 lanes ("), "{out}");
    assert_eq!(json["conformance"]["failures"], serde_json::json!([]));
    assert!(json["conformance"]["cases"].as_u64().unwrap() > 6000, "{json}");
    assert_model_is_found(&out, &json);
    assert_eq!(fs::read_dir(root).unwrap().count(), 0, "its files are removed");
}

#[test]
fn a_card_in_emulation_has_the_parameters_of_its_model() {
    const NAME: &str = "check::a_card_in_emulation_has_the_parameters_of_its_model";
    if !has_xrt() {
        return skip(NAME, "needs xrt");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("emulation.xclbin");
    fs::write(&path, emulation_image()).unwrap();
    let (out, json) = check(folder.path(), &format!("xrt:0?xclbin={}", path.display()), "none");
    assert!(out.starts_with("xrt: "), "{out}");
    assert!(out.contains("\nconformance: not run\n"), "{out}");
    assert_eq!(json["conformance"], serde_json::Value::Null);
    assert_model_is_found(&out, &json);
}

#[test]
fn a_drive_with_a_clock_has_measured_figures_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (out, json) = check(folder.path(), "cpu:", "none");
    assert!(out.ends_with("Times are measured; the ratio is theirs to the model's.\n"), "{out}");
    assert_eq!(json["drive"]["emulated"], false);
    for figure in json["figures"].as_array().unwrap() {
        assert_eq!(figure["modelled"], serde_json::Value::Null, "{figure}");
    }
    let left = json["left_out"].as_array().unwrap();
    let reason = |name| left.iter().find(|left| left["name"] == name).unwrap()["reason"].clone();
    assert_eq!(reason("clock_hz"), "the drive counts no turns of a kernel");
    assert_eq!(reason("link_bytes_per_s"), "the drive sends nothing over a link");
    assert_eq!(reason("p2p_4_kib_bytes_per_s"), reason("media_bytes_per_s"));
}

#[test]
fn the_exit_status_says_what_went_wrong() {
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

/// The image that XRT's software emulation loads.
fn emulation_image() -> Vec<u8> {
    use nearscan_link::{ImageDescription, metadata::Format, xclbin};
    let format = Format {
        major: nearscan_command::layout::FORMAT_MAJOR,
        minor: nearscan_command::layout::FORMAT_MINOR,
    };
    xclbin::emulation(ImageDescription::of_name("emulation").unwrap(), format)
}

/// Whether XRT is installed where the system looks for libraries.
fn has_xrt() -> bool {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/opt/xilinx/xrt/lib", "/usr/lib64"];
    folders.iter().any(|folder| Path::new(folder).join("libxrt_swemu.so.2").exists())
}

/// Tells the runner of the tests, and whoever reads the output, that `test` was skipped.
fn skip(test: &str, reason: &str) {
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees why it did nothing")]
    {
        println!("skipped: {test} ({reason})");
    }
    if let Some(log) = std::env::var_os("NEARSCAN_SKIP_LOG") {
        let mut log = fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        writeln!(log, "{test}\t{reason}").unwrap();
    }
}
