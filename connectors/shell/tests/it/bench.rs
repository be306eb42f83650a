// SPDX-License-Identifier: Apache-2.0
//! Tests `nearscan drive bench`: output, figures and exit status of the kernels and of reads.

use std::fs;

use rstest::rstest;

use crate::program::{command, finished, run};

const KERNELS: [&str; 4] = ["drive", "bench", "kernels", "--elements"];

#[test]
fn figures_that_hold_end_with_success() {
    let (out, err, status) = run(&[&KERNELS[..], &["1048576"]].concat());
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.starts_with("The kernels of the SmartSSD study: 1048576 elements"), "{out}");
    assert!(out.ends_with("\n5 figures, 9 shapes and 7 targets hold.\n"), "{out}");
    for title in ["this host, measured, M/s", "Calibrated on", "The fast set on", "refused"] {
        assert!(out.contains(title), "{title}: {out}");
    }
}

#[test]
fn figures_that_do_not_hold_end_with_failure() {
    let (out, err, status) = run(&[&KERNELS[..], &["64", "--no-host", "--seed", "3"]].concat());
    assert_eq!((err.as_str(), status), ("", 1), "{out}");
    let last = out.lines().last().unwrap();
    assert!(last.starts_with("These do not hold: Array Merge, 15 units; "), "{last}");
    assert!(!out.contains("measured, M/s"), "{out}");
}

#[test]
fn figures_are_drawn_and_numbers_printed_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&KERNELS[..], &["65536", "--no-host", "--json", "--plot", "a/b"]].concat();
    let (out, err, status) = finished(command(folder.path()).args(&arguments).output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((err.as_str(), json["holds"] == true), ("", status == 0));
    assert_eq!((&json["elements"], &json["host"]), (&65536.into(), &serde_json::Value::Null));
    for name in ["buffer_sweep", "units", "units_each", "combined", "host_clock", "fast_units"] {
        let path = folder.path().join("a/b").join(name);
        let svg = fs::read_to_string(path.with_extension("svg")).unwrap();
        assert!(svg.contains("(modelled"), "{svg}");
        // Width and height are behind the signature and the head of the first chunk.
        let png = fs::read(path.with_extension("png")).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (1600, 1000));
    }
}

const IO: [&str; 4] = ["drive", "bench", "io", "data.bin"];

/// What keeps a measurement of reads short.
const SHORT: [&str; 8] =
    ["--block-bytes", "65536", "--depth", "1,4", "--rounds", "1", "--round-bytes", "262144"];

/// Runs the benchmark of reads in a folder with a file of a megabyte.
fn run_io(arguments: &[&str]) -> (tempfile::TempDir, (String, String, i32)) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.bin"), vec![7; 1 << 20]).unwrap();
    let output = command(folder.path()).args(arguments).output().unwrap();
    (folder, finished(output))
}

#[test]
fn reads_are_measured_in_every_way() {
    let arguments = [&IO[..], &SHORT, &["--json", "r.json", "--plot", "charts"]].concat();
    let (folder, (out, err, status)) = run_io(&arguments);
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.starts_with("data.bin, 1.0 MiB: reads "), "{out}");
    assert!(out.contains("MB/s, measured, one round\n"), "{out}");
    let json = fs::read_to_string(folder.path().join("r.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let (ring, fio) = (json["without_ring"].is_null(), json["without_fio"].is_null());
    let rows = json["rows"].as_array().unwrap();
    // Two of one request at a time, three with two depths, and those of fio: one and two.
    let ours = if ring { 2 + 3 * 2 } else { 2 };
    let theirs = if fio { 1 + if ring { 2 } else { 0 } } else { 0 };
    assert_eq!(rows.len(), 2 * (ours + theirs), "{json}");
    for row in rows {
        assert!(row["bytes_per_second"].as_u64().unwrap() > 0, "{row}");
        assert_eq!(row["rounds"].as_array().unwrap().len(), 1);
        assert_eq!((&row["block_bytes"], &row["round_bytes"]), (&65_536.into(), &262_144.into()));
    }
    for (case, order) in ["random", "sequential"].into_iter().enumerate() {
        assert!(
            out.contains(&format!("\n{order} blocks of 64.0 KiB, 256.0 KiB a round\n")),
            "{out}"
        );
        let ratio = &json["ratios"][case];
        assert_eq!(ratio["order"], order);
        assert_eq!(
            (ratio["async_over_sync"].is_null(), ratio["ours_over_fio"].is_null()),
            (!ring, !fio)
        );
        for extension in ["svg", "png"] {
            let chart = folder.path().join(format!("charts/reads_{order}_64_kib.{extension}"));
            assert!(fs::metadata(&chart).unwrap().len() > 1000, "{}", chart.display());
        }
    }
    assert_eq!(out.contains("There are no figures of io_uring: "), !ring, "{out}");
    assert_eq!(out.contains("There are no figures of fio: "), !fio, "{out}");
}

#[test]
fn fio_is_left_out_if_it_is_not_wanted_or_not_there() {
    let (_, (out, err, status)) = run_io(&[&IO[..], &SHORT, &["--no-fio"]].concat());
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("There are no figures of fio: not asked for\n"), "{out}");
    assert!(out.contains("ours/fio - "), "{out}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.bin"), vec![7; 1 << 20]).unwrap();
    let mut command = command(folder.path());
    let output = command.args([&IO[..], &SHORT].concat()).env("PATH", "/nowhere").output().unwrap();
    let (out, err, status) = finished(output);
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("There are no figures of fio: fio cannot be run: "), "{out}");
}

#[rstest]
#[case(&["missing.bin"], "error: cannot read 'missing.bin'\n  detail: No such file or directory")]
#[case(&["."], "error: cannot read '.'\n  detail: it is no file\n")]
#[case(
    &["data.bin", "--block-bytes", "2097152"],
    "error: 'data.bin' is shorter than a block\n  \
     detail: it has 1048576 bytes, and the largest block has 2097152\n  hint: "
)]
#[case(&["data.bin", "--block-bytes", "5000"], "error: invalid value '5000' for '--block-bytes <N>'")]
#[case(&["data.bin", "--depth", "0"], "error: invalid value '0' for '--depth <N>'")]
#[case(&["data.bin", "--rounds", "0"], "error: invalid value '0' for '--rounds <N>'")]
fn reads_that_cannot_be_measured_are_bad_usage(#[case] arguments: &[&str], #[case] expected: &str) {
    let (_, (out, err, status)) = run_io(&[&["drive", "bench", "io"], arguments].concat());
    assert_eq!((out.as_str(), status), ("", 2), "{err}");
    assert!(err.starts_with(expected), "{err}");
}
