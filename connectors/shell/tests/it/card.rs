// SPDX-License-Identifier: Apache-2.0
//! Tests queries through XRT: the real runtime in software emulation, in a separate process, with
//! the emulated card.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rstest::rstest;
use tempfile::TempDir;

use crate::{
    program::{command, finished},
    serve::{ANSWER, SUM, children_of, folder, is_host, signal},
};

const FORCE: [&str; 2] = ["--set", "nearscan.pushdown.mode=force"];

const Q1: &str = "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, \
    sum(l_extendedprice) AS sum_base_price, \
    sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, \
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, \
    avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, \
    count(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' \
    GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";

const Q6: &str = "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem \
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
    AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";

/// Whether the runtime is here; a test without it says so and ends.
pub(crate) fn has_runtime(test: &str) -> bool {
    let libraries = ["/usr/lib", "/usr/lib64", "/opt/xilinx/xrt/lib"].map(Path::new);
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path().join("libxrt_swemu.so.2")).collect::<Vec<PathBuf>>()
    };
    let found = libraries.iter().any(|folder| {
        folder.join("libxrt_swemu.so.2").exists() || below(folder).iter().any(|path| path.exists())
    });
    if !found {
        nearscan_skip::skip(test, "needs xrt");
    }
    found
}

/// Writes the image of this build and gives the drive's URL.
pub(crate) fn card(folder: &TempDir) -> String {
    let image = folder.path().join("card.xclbin");
    fs::write(&image, nearscan::serving::emulation_image()).unwrap();
    format!("xrt:0?xclbin={}", image.display())
}

#[test]
fn q1_and_q6_run_on_the_card_and_nothing_is_copied() {
    if !has_runtime("card::q1_and_q6_run_on_the_card_and_nothing_is_copied") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = card(&folder);
    let generate = ["tpch", "generate", "--scale-factor", "0.1", "--data", "tpch"];
    assert!(command(folder.path()).args(generate).output().unwrap().status.success());
    let lineitem = "tpch/sf0.1/lineitem.parquet";
    for sql in [Q1, Q6] {
        let plain = command(folder.path()).args([lineitem, "-c", sql]).output().unwrap();
        let with_card = ["--drive", &url, FORCE[0], FORCE[1]];
        let pushed =
            command(folder.path()).args([lineitem, "-c", sql]).args(with_card).output().unwrap();
        let (expected, found) = (finished(plain), finished(pushed));
        assert!(expected.0.lines().count() > 1, "{expected:?}");
        assert_eq!(found, expected);
        let explain = ["explain-json", sql, lineitem, "--analyze"];
        let explained = command(folder.path()).args(explain).args(with_card).output().unwrap();
        let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
        let run = |name: &str| explained["run"][name].as_u64().unwrap();
        assert_eq!(explained["decisions"][0]["drive"], "xrt");
        assert_eq!((run("units_cpu"), run("host_bytes")), (0, 0));
        // Behind XRT is an emulated card, which has no clock.
        assert_eq!(explained["run"]["drive_seconds_measured"], serde_json::Value::Null);
        assert!(run("units_drive") > 1 && run("media_bytes") > 1 << 20, "{explained}");
    }
}

#[test]
fn query_outlives_the_process_of_its_card() {
    if !has_runtime("card::query_outlives_the_process_of_its_card") {
        return;
    }
    let folder = folder();
    let url = card(&folder);
    // Enough statements to be in the middle of them.
    const STATEMENTS: usize = 200;
    let statements = (0..STATEMENTS).flat_map(|_| ["-c", SUM]);
    let mut query = command(folder.path())
        .args(["n.parquet", "--drive", &url, "--format", "csv", "-c", "SELECT 1 AS begun"])
        .args(FORCE)
        .args(statements)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(query.stdout.take().unwrap());
    let mut begun = String::new();
    output.read_line(&mut begun).unwrap();
    assert_eq!(begun, "begun\n");
    let hosts = children_of(query.id());
    let host = hosts.into_iter().find(|host| is_host(*host)).unwrap();
    assert!(signal(host, "KILL"));
    let mut rows = String::new();
    output.read_to_string(&mut rows).unwrap();
    assert!(query.wait().unwrap().success());
    assert_eq!(rows, format!("1\n{}", ANSWER.repeat(STATEMENTS)));
}

#[rstest]
#[case::missing(None, "none.xclbin: No such file or directory")]
#[case::no_image(Some("PAR1"), "cannot be used: it is not an xclbin")]
#[case::cut_off(Some("xclbin2\0"), "cannot be used: it is cut off")]
fn invalid_image_is_refused(#[case] text: Option<&str>, #[case] detail: &str) {
    let folder = folder();
    let image = folder.path().join("none.xclbin");
    if let Some(text) = text {
        fs::write(&image, text).unwrap();
    }
    let url = format!("xrt:0?xclbin={}", image.display());
    let query = ["n.parquet", "--drive", &url, "-c", SUM];
    let (out, err, status) = finished(command(folder.path()).args(query).output().unwrap());
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.starts_with("error: drive 'xrt' cannot be opened\n"), "{err}");
    assert!(err.contains(detail), "{err}");
}

#[test]
fn there_is_one_card_in_the_emulation() {
    if !has_runtime("card::there_is_one_card_in_the_emulation") {
        return;
    }
    let folder = folder();
    let url = card(&folder).replace("xrt:0", "xrt:7");
    let query = ["n.parquet", "--drive", &url, "-c", SUM];
    let (_, err, status) = finished(command(folder.path()).args(query).output().unwrap());
    assert_eq!(status, 2);
    assert!(err.contains("there is no card 7"), "{err}");
}

#[test]
fn program_is_not_linked_to_the_runtime() {
    let program = env!("CARGO_BIN_EXE_nearscan");
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let libraries = String::from_utf8(listed.stdout).unwrap();
    assert!(libraries.contains("libc.so"), "{libraries}");
    assert!(!libraries.contains("xrt"), "{libraries}");
}
