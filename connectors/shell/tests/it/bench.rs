// SPDX-License-Identifier: Apache-2.0
//! Tests `nearscan drive bench kernels`: its output, its figures and its exit status.

use std::fs;

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
