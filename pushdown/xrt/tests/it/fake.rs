// SPDX-License-Identifier: Apache-2.0
//! Tests the drive on a library that simulates XRT with a card, healthy or not.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nearscan_conformance::{
    Options, check_with,
    sample::{Sample, envelope, merge, run, run_within, session},
};
use nearscan_drive::{Drive, DriveTime, Failure, Outcome, Session};
use nearscan_xrt::{Config, OpenError, XrtDrive};

use crate::{
    emulation::image,
    trial::{Runtime, Trial},
};

pub(crate) fn trials() -> Vec<Trial> {
    let fake = |name, body| Trial::new(name, Runtime::Fake, body);
    let in_order = |trial: Trial| Trial { says: "fake: closed in order", ..trial };
    /// A test beside a card with which this is wrong.
    macro_rules! wrong {
        ($what:literal, $trial:expr) => {
            Trial {
                prepare: |command| {
                    command.env("FAKE_XRT", $what);
                },
                ..$trial
            }
        };
    }
    vec![
        in_order(fake("a_card_has_times_by_the_clock", measures)),
        in_order(fake("a_card_passes_the_suite", || passes(None))),
        in_order(wrong!(
            "no_p2p",
            fake("a_card_without_peer_to_peer_passes_the_suite", || passes(Some(
                "peer to peer is off"
            )))
        )),
        fake("without_xrt_a_card_is_refused", no_runtime),
        fake("a_runtime_of_another_version_is_refused", other_version),
        wrong!("no_card", fake("a_card_that_is_not_there_is_refused", no_card)),
        in_order(wrong!("in_use", fake("an_image_beside_another_in_use_is_refused", in_use))),
        in_order(wrong!("load", fake("an_image_that_does_not_load_is_refused", no_load))),
        in_order(wrong!("no_kernel", fake("an_image_without_its_kernels_is_refused", no_kernel))),
        in_order(wrong!("small_bank", fake("a_card_out_of_memory_pushes_back", out_of_memory))),
        in_order(wrong!(
            "start",
            fake("a_kernel_that_does_not_start_pushes_back", || {
                fails("the kernel failed: XRT could not start a kernel (code -5)");
            })
        )),
        in_order(wrong!(
            "error",
            fake("a_kernel_that_goes_wrong_pushes_back", || {
                fails("the kernel failed: XRT says that it went wrong");
            })
        )),
        in_order(wrong!(
            "no_result",
            fake("a_kernel_without_a_result_pushes_back", || {
                fails("the kernel failed: it ended without a result");
            })
        )),
        in_order(wrong!(
            "no_result_later",
            fake("an_earlier_result_is_not_taken_for_this_one", no_earlier_result)
        )),
        wrong!("abort", fake("a_card_that_aborts_is_lost", aborts)),
        wrong!("hang", fake("a_card_that_hangs_is_lost", || hangs(Kind::Scan))),
        wrong!("hang_later", fake("a_card_that_hangs_in_a_merge_is_lost", || hangs(Kind::Merge))),
        Trial {
            prepare: |command| {
                command.env("XCL_EMULATION_MODE", "sw_emu");
            },
            ..fake("emulation_asked_for_beside_a_card_is_refused", emulation_mode)
        },
    ]
}

/// The image for a card, which is the one for emulation but for its mode.
fn card_image(folder: &Path) -> PathBuf {
    let path = image(folder, "emulation");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[332] = 0;
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A folder with the fake under the names of XRT's libraries.
fn libraries(folder: &Path) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let built = program.ancestors().nth(2).unwrap().join("examples/libfake_xrt.so");
    assert!(built.exists(), "`cargo test` builds the example fake_xrt, `--test it` alone does not");
    for name in ["libxrt_coreutil.so.2", "libxrt_core.so.2"] {
        std::fs::copy(&built, folder.join(name)).unwrap();
    }
    folder.to_owned()
}

fn try_open() -> Result<XrtDrive, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        libraries: Some(libraries(folder.path())),
        grace: Duration::from_millis(200),
        ..Config::new("0", card_image(folder.path()))
    };
    XrtDrive::open(&config, None)
}

fn refusal() -> String {
    try_open().unwrap_err().to_string()
}

fn measures() {
    let drive = try_open().unwrap();
    assert!(!drive.capabilities().emulated);
    let scan = Sample::plain(1000);
    let session = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 1));
    let completion = run(session.as_ref(), command.clone()).unwrap();
    completion.check(&command).unwrap();
    assert!(matches!(completion.time, DriveTime::Measured(time) if time.ns > 0));
    // Nothing is known of a card before it was measured.
    let snapshot = drive.snapshot();
    assert!(snapshot.media.is_none() && snapshot.scan.known().next().is_none());
}

fn passes(copies_because: Option<&str>) {
    let drive = try_open().unwrap();
    match (drive.copies_because(), copies_because) {
        (None, None) => {}
        (Some(found), Some(expected)) => assert!(found.starts_with(expected), "{found}"),
        (found, expected) => panic!("{found:?}, expected {expected:?}"),
    }
    for prefix in ["random", "merged", "lifecycle", "types"] {
        let options =
            Options { random_cases: 100, prefix: prefix.to_owned(), ..Options::default() };
        let report = check_with(&drive, &options);
        assert!(report.is_clean() && report.cases > 0, "{report}");
    }
    assert!(drive.memory_is_whole());
}

fn no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let libraries = Some(folder.path().to_owned());
    let config = Config { libraries, ..Config::new("0", card_image(folder.path())) };
    let error = XrtDrive::open(&config, None).unwrap_err().to_string();
    assert!(error.starts_with("XRT is not installed: "), "{error}");
    assert!(error.contains("install libxrt1, or source setup.sh of /opt/xilinx/xrt"), "{error}");
}

/// A library that is there, and is another one.
fn other_version() {
    let folder = tempfile::tempdir().unwrap();
    let found = ["/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib64/libm.so.6"];
    let other = found.into_iter().find(|path| Path::new(path).exists()).unwrap();
    std::fs::copy(other, folder.path().join("libxrt_coreutil.so.2")).unwrap();
    let libraries = Some(folder.path().to_owned());
    let config = Config { libraries, ..Config::new("0", card_image(folder.path())) };
    let error = XrtDrive::open(&config, None).unwrap_err();
    assert!(matches!(error, OpenError::Symbol { .. }), "{error}");
}

fn no_card() {
    let error = refusal();
    assert!(error.starts_with("there is no card 0"), "{error}");
}

fn in_use() {
    let expected = "the card 0 is in use with another image: all processes share one, so end \
                    those that use it, or use theirs";
    assert_eq!(refusal(), expected);
    // The card was closed, so that it can be opened again.
    assert_eq!(refusal(), expected);
}

fn no_load() {
    assert_eq!(refusal(), "the card 0 failed to load the image: code -22");
}

fn no_kernel() {
    assert_eq!(refusal(), "the card 0 failed to open a kernel: code 0");
}

/// The end of one scan.
fn end_of(drive: &dyn Drive, session: &dyn Session, rows: u32) -> Outcome {
    let scan = Sample::plain(rows);
    let command = scan.rows(drive, envelope(session, 1));
    run(session, command).unwrap().outcome
}

fn out_of_memory() {
    let drive = try_open().unwrap();
    let session = session(&drive);
    let Outcome::Failed(Failure::Kernel { reason }) = end_of(&drive, session.as_ref(), 4_000_000)
    else {
        panic!("there is too little memory for it");
    };
    assert!(reason.starts_with("the card has no "), "{reason}");
    // What fits goes on.
    assert!(matches!(end_of(&drive, session.as_ref(), 1000), Outcome::Finished(_)));
    assert!(drive.memory_is_whole());
}

fn fails(expected: &str) {
    let drive = try_open().unwrap();
    let session = session(&drive);
    for _ in 0..10 {
        let Outcome::Failed(failure) = end_of(&drive, session.as_ref(), 1000) else {
            panic!("it fails each time");
        };
        assert_eq!(failure.to_string(), expected);
    }
    assert_eq!(drive.lost(), None);
    assert!(drive.memory_is_whole());
}

fn no_earlier_result() {
    let drive = try_open().unwrap();
    let session = session(&drive);
    assert!(matches!(end_of(&drive, session.as_ref(), 1000), Outcome::Finished(_)));
    let second = end_of(&drive, session.as_ref(), 1000);
    let reason = "it ended without a result".to_owned();
    assert_eq!(second, Outcome::Failed(Failure::Kernel { reason }));
}

fn aborts() {
    let drive = try_open().unwrap();
    let session = session(&drive);
    let Outcome::Failed(failure) = end_of(&drive, session.as_ref(), 1000) else {
        panic!("the card does not answer");
    };
    assert!(matches!(failure, Failure::Gone { .. }), "{failure}");
    assert!(drive.lost().unwrap().contains("ended in state 6"));
    drive.shutdown();
    nearscan_xrt::leave(0);
}

enum Kind {
    Scan,
    Merge,
}

fn hangs(kind: Kind) {
    let drive = try_open().unwrap();
    let session = session(&drive);
    let timeout = Duration::from_millis(100);
    let scans = [100, 200].map(Sample::plain);
    let completion = match kind {
        Kind::Scan => {
            let command = scans[0].rows(&drive, envelope(session.as_ref(), 1));
            run_within(session.as_ref(), command, timeout).unwrap()
        }
        Kind::Merge => {
            let command = merge(&scans, &drive, envelope(session.as_ref(), 1));
            run_within(session.as_ref(), command, timeout).unwrap()
        }
    };
    assert_eq!(completion.outcome, Outcome::Failed(Failure::Timeout));
    assert!(drive.lost().is_some());
    // Its threads have noticed, and end.
    drive.shutdown();
    nearscan_xrt::leave(0);
}

fn emulation_mode() {
    assert_eq!(
        refusal(),
        "the image is for a card, and XCL_EMULATION_MODE is set to \"sw_emu\": unset it to reach \
         the card"
    );
}
