// SPDX-License-Identifier: Apache-2.0
//! Tests queries on a card that fails: the messages, the exit status, and that the rows are right
//! all the same. A test library simulates XRT and its card.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use rstest::rstest;
use tempfile::TempDir;

use crate::{
    program::{command, finished},
    serve::{ANSWER, SUM, folder},
};

/// The byte of an image that holds its mode, and the value of the mode for a card.
const MODE: usize = 332;
const CARD: u8 = 0;

/// The libraries of XRT that a drive loads.
const LIBRARIES: [&str; 2] = ["libxrt_coreutil.so.2", "libxrt_core.so.2"];

/// A query with the card of a machine where this is wrong.
fn with_card(folder: &Path, wrong: &str) -> Command {
    let image = folder.join("card.xclbin");
    let mut bytes = nearscan::serving::emulation_image();
    bytes[MODE] = CARD;
    fs::write(&image, bytes).unwrap();
    let mut command = command(folder);
    command
        .env("LD_LIBRARY_PATH", folder)
        .env("FAKE_XRT", wrong)
        .args(["--drive", &format!("xrt:0?xclbin={}", image.display())])
        .args(["--set", "nearscan.pushdown.mode=force"]);
    command
}

/// A folder with a table and the made-up libraries.
fn machine() -> TempDir {
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_nearscan"));
    let built = program.parent().unwrap().join("examples/libfake_xrt.so");
    assert!(built.exists(), "`cargo test --workspace` builds the example fake_xrt");
    for library in LIBRARIES {
        fs::copy(&built, folder.path().join(library)).unwrap();
    }
    folder
}

fn query(command: &mut Command) -> Output {
    command.args(["n.parquet", "-c", SUM]).output().unwrap()
}

#[rstest]
#[case::no_card("no_card", "there is no card")]
#[case::another_image_in_use("in_use", "is in use with another image")]
#[case::an_image_that_does_not_load("load", "failed to load the image: code -22")]
#[case::an_image_without_kernels("no_kernel", "failed to open a kernel")]
fn card_that_cannot_be_opened_is_refused(#[case] wrong: &str, #[case] detail: &str) {
    let machine = machine();
    let (out, err, status) = finished(query(&mut with_card(machine.path(), wrong)));
    assert_eq!((out.as_str(), status), ("", 2), "{err}");
    assert!(err.starts_with("error: drive 'xrt' cannot be opened\n"), "{err}");
    assert!(err.contains(detail), "{err}");
    assert!(err.ends_with("omit --drive to run everything on the CPU\n"), "{err}");
}

#[test]
fn without_xrt_a_card_is_refused() {
    let machine = folder();
    for library in LIBRARIES {
        fs::write(machine.path().join(library), "not a library").unwrap();
    }
    let (out, err, status) = finished(query(&mut with_card(machine.path(), "")));
    assert_eq!((out.as_str(), status), ("", 2), "{err}");
    assert!(err.contains("XRT is not installed: libxrt_coreutil.so.2 cannot be loaded"), "{err}");
}

#[rstest]
#[case::healthy("", 5)]
#[case::without_peer_to_peer("no_p2p", 5)]
#[case::kernels_that_do_not_start("start", 0)]
#[case::kernels_that_go_wrong("error", 0)]
#[case::kernels_without_a_result("no_result", 0)]
#[case::kernels_that_hang("hang", 0)]
#[case::a_card_that_aborts("abort", 0)]
fn failing_card_loses_no_row(#[case] wrong: &str, #[case] units_drive: u64) {
    let machine = machine();
    let patience = ["--set", "nearscan.pushdown.timeout=1s"];
    let (out, err, status) = finished(query(with_card(machine.path(), wrong).args(patience)));
    assert_eq!((out.as_str(), status), (ANSWER, 0), "{err}");
    let explained = with_card(machine.path(), wrong)
        .args(patience)
        .args(["explain-json", SUM, "n.parquet", "--analyze"])
        .output()
        .unwrap();
    let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
    let run = |name: &str| explained["run"][name].as_u64().unwrap();
    assert_eq!((run("units_drive"), run("units_cpu")), (units_drive, 5 - units_drive));
    // Bytes that a card's disk sends to the card itself are not the host's.
    assert_eq!(run("host_bytes") > 0, wrong == "no_p2p" && units_drive > 0, "{explained}");
    if units_drive > 0 {
        assert!(explained["run"]["drive_seconds_measured"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(explained["run"]["drive_seconds_modelled"], serde_json::Value::Null);
}
