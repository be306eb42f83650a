// SPDX-License-Identifier: Apache-2.0
//! Tests that the default drive loads the image that a command needs, and charges its exchange.

use nearscan_conformance::sample::{Sample, envelope, merge, modelled, run, session};
use nearscan_drive::{Drive, LoadedImage, Outcome, Session, Work};
use nearscan_emulator::{Config, Emulator, timing::Parameters};

/// Columns of a scan for which the image that merges has no lanes.
const WIDE: u16 = 6;

/// Columns of a scan for which it has.
const NARROW: u16 = 5;

fn exchange_ns(session: &dyn Session, work: impl Into<Work>) -> u64 {
    let completion = run(session, work).unwrap();
    assert!(matches!(completion.outcome, Outcome::Finished(_)), "{completion:?}");
    modelled(&completion).exchange_ns
}

#[test]
fn default_drive_scans_wide_and_merges_narrow_scans() {
    let drive = Emulator::open(Config::default());
    let capabilities = drive.capabilities();
    assert_eq!((capabilities.columns_max, capabilities.merge_columns_max), (7, 5));
    assert!(capabilities.admits_merge(16) && capabilities.admits_merge_of_columns(5));
    assert!(!capabilities.admits_merge_of_columns(6));
    assert_eq!(
        drive.identity().model,
        "SmartSSD, 1 scan unit of 7 lanes, or 1 scan unit of 5 lanes and 1 merge unit"
    );
}

#[test]
fn image_is_exchanged_for_the_first_command_that_needs_the_other() {
    let drive = Emulator::open(Config::default());
    let session = session(&drive);
    let samples = [3, 4].map(Sample::plain);
    let wide = |id| samples[0].columns(&drive, WIDE, envelope(session.as_ref(), id));
    let narrow = |id| samples[0].columns(&drive, NARROW, envelope(session.as_ref(), id));
    let merge = |id| merge(&samples, &drive, envelope(session.as_ref(), id));
    let load_ns = Parameters::default().image_load_ns;
    let scanning = LoadedImage { columns_max: 7, merges: false, exchange_ns: load_ns };
    let merging = LoadedImage { columns_max: 5, merges: true, ..scanning };
    assert_eq!(drive.snapshot().image, Some(scanning));
    let load_ns = Parameters::default().exchange_ns();
    assert_eq!(exchange_ns(session.as_ref(), wide(1)), 0);
    assert_eq!(exchange_ns(session.as_ref(), merge(20)), load_ns);
    assert_eq!(drive.snapshot().image, Some(merging));
    // Both images can do this.
    assert_eq!(exchange_ns(session.as_ref(), narrow(2)), 0);
    assert_eq!(exchange_ns(session.as_ref(), merge(30)), 0);
    assert_eq!(exchange_ns(session.as_ref(), wide(3)), load_ns);
    assert_eq!(drive.snapshot().image, Some(scanning));
}

#[test]
fn build_that_is_asked_for_is_the_only_one() {
    for parameter in [("cus", "1"), ("lanes", "7"), ("merge_cus", "0")] {
        let drive = Emulator::open(Config::from_parameters([parameter]).unwrap());
        assert_eq!(drive.snapshot().image, None, "{parameter:?}");
        assert_eq!(drive.capabilities().merge_inputs_max, 0, "{parameter:?}");
    }
}
