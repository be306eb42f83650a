// SPDX-License-Identifier: Apache-2.0
//! Tests the figures and the report of a drive whose times are known.

use std::ops::ControlFlow;

use nearscan_check::{Error, Extent, Figure, Options, Report, check};
use nearscan_command::{Codec, Op};

use crate::fake::{
    CLOCK_HZ, Clock, Fake, LINK_BYTES_PER_NS, MEDIA_BYTES_PER_NS, MEDIA_LATENCY_NS, SETUP_NS,
    START_NS,
};

const BENCHMARKS: Options = Options { conformance: Extent::None, seed: None, folder: None };

fn benchmarks(drive: &Fake) -> Report {
    check(drive, &BENCHMARKS, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn figure<'a>(report: &'a Report, name: &str) -> &'a Figure {
    report.figures.iter().find(|figure| figure.name == name).unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "the constants are small")]
fn to_f64(amount: u64) -> f64 {
    amount as f64
}

/// The rate of a read of so many bytes alone.
fn alone(bytes: u64) -> f64 {
    to_f64(bytes) / to_f64(MEDIA_LATENCY_NS + bytes / MEDIA_BYTES_PER_NS) * 1e9
}

#[test]
fn modelled_figures_are_the_rates_of_the_drive() {
    let report = benchmarks(&Fake::new(Clock::Modelled));
    let expected = [
        // Two units hide their starts, for which the model has 5 us.
        ("setup_ns", to_f64(SETUP_NS + START_NS) - 5000.0),
        ("p2p_4_kib_bytes_per_s", alone(4 << 10)),
        ("p2p_64_kib_bytes_per_s", alone(64 << 10)),
        ("p2p_1_mib_bytes_per_s", alone(1 << 20)),
        ("alone_4_mib_bytes_per_s", alone(4 << 20)),
        ("overlapped_1_mib_bytes_per_s", to_f64(MEDIA_BYTES_PER_NS) * 1e9),
        ("media_bytes_per_s", to_f64(MEDIA_BYTES_PER_NS) * 1e9),
        ("link_bytes_per_s", to_f64(LINK_BYTES_PER_NS) * 1e9),
        ("clock_hz", CLOCK_HZ),
        ("filter_rows_per_s", CLOCK_HZ),
    ];
    for (name, rate) in expected {
        let found = figure(&report, name).found.modelled.value().unwrap();
        assert!((found / rate - 1.0).abs() < 0.005, "{name}: {found}, not {rate}");
    }
    assert!(report.is_modelled() && report.is_clean());
}

#[test]
fn drive_clock_measures_single_reads_and_nothing_is_modelled() {
    let report = benchmarks(&Fake::new(Clock::Measured));
    let found = figure(&report, "p2p_1_mib_bytes_per_s").found.measured.value().unwrap();
    assert!((found / alone(1 << 20) - 1.0).abs() < 0.005, "{found}");
    assert!(report.figures.iter().all(|figure| figure.found.modelled.samples().is_empty()));
    assert!(!report.is_modelled());
    assert!(
        report.to_string().ends_with("Times are measured; the ratio is theirs to the model's.\n")
    );
}

#[test]
fn measured_and_modelled_have_separate_columns_in_text_and_json() {
    let report = benchmarks(&Fake::new(Clock::Modelled));
    let text = report.to_string();
    assert!(text.starts_with("fake: of known times (00000000-"), "{text}");
    let row = text.lines().find(|line| line.starts_with("media_bytes_per_s")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().take(4).collect();
    assert_eq!(cells, ["media_bytes_per_s", "B/s", "3.250e9", "2.000e9"]);
    assert_eq!(row.split_whitespace().nth(5), Some("0.615"), "{row}");
    let json = report.to_json();
    let figures = json["figures"].as_array().unwrap();
    let setup = figures.iter().find(|figure| figure["name"] == "setup_ns").unwrap();
    assert_eq!((&setup["model"], &setup["unit"]), (&100_000.0.into(), &"ns".into()));
    assert_eq!(setup["modelled"]["samples"].as_array().unwrap().len(), 7);
    assert_eq!(
        (&json["ended"], &json["conformance"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

#[test]
fn unsupported_benchmark_is_omitted_with_the_reason() {
    let mut drive = Fake::new(Clock::Modelled);
    drive.capabilities.codecs.retain(|codec| *codec != Codec::Snappy);
    drive.capabilities.operations.retain(|op| *op != Op::And);
    let report = benchmarks(&drive);
    let left = |name| report.left.iter().find(|left| left.name == name).unwrap().reason.clone();
    assert_eq!(left("link_bytes_per_s"), "the drive cannot do it: Codec(\"Snappy\")");
    assert_eq!(left("clock_hz"), "the drive cannot do it: Expression(\"And\")");
    assert!(left("p2p_4_mib_bytes_per_s").contains("at most 1 MiB"));
    assert_eq!(left("start_ns"), "the link hides it: its results take longer");
    assert!(report.figures.iter().all(|figure| figure.name != "clock_hz"));
    assert!(report.is_clean());
}

#[test]
fn failed_benchmark_keeps_earlier_figures() {
    let report = benchmarks(&Fake { bytes_max: 3000, ..Fake::new(Clock::Measured) });
    let names: Vec<&str> = report.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["round_trip_ns", "setup_ns", "filter_rows_per_s", "clock_hz"]);
    let reason = "a command of the benchmark did not give its rows: \
                  the kernel did not finish in time";
    assert_eq!(report.to_json()["ended"], reason);
    assert!(report.to_string().contains(reason) && !report.is_clean());
}

#[test]
fn suite_runs_first_and_its_failures_count() {
    let options = Options { conformance: Extent::Quick, seed: Some(5), folder: None };
    let mut told = Vec::new();
    // The drive returns NULLs.
    let drive = Fake::new(Clock::Modelled);
    let report = check(&drive, &options, &mut |what| {
        told.push(what.to_owned());
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    let suite = report.conformance.as_ref().unwrap();
    assert_eq!((suite.seed, report.is_clean(), suite.failures.is_empty()), (5, false, false));
    assert!(told[0].starts_with("0 cases done, "), "{}", told[0]);
    assert_eq!(told.last().unwrap(), "a count of the same rows, alone");
    assert_eq!(report.figures.len(), 13);
}

#[test]
fn progress_callback_can_end_the_check() {
    for (conformance, last) in [(Extent::Quick, 3), (Extent::None, 3)] {
        let options = Options { conformance, ..BENCHMARKS };
        let mut told = 0;
        let ended = check(&Fake::new(Clock::Modelled), &options, &mut |_| {
            told += 1;
            if told == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
        assert_eq!(told, last);
    }
}

#[test]
fn files_are_below_the_folder_and_are_removed() {
    let folder = std::env::temp_dir().join(format!("nearscan-check-test-{}", std::process::id()));
    let options = Options { folder: Some(folder.clone()), ..BENCHMARKS };
    let drive = Fake::new(Clock::Modelled);
    let ended = check(&drive, &options, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(ended, Err(Error::Folder { .. })), "{ended:?}");
    std::fs::create_dir(&folder).unwrap();
    let mut seen = 0;
    check(&drive, &options, &mut |_| {
        seen = seen.max(std::fs::read_dir(&folder).unwrap().count());
        ControlFlow::Continue(())
    })
    .unwrap();
    let left = std::fs::read_dir(&folder).unwrap().count();
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!((seen, left), (1, 0));
}
