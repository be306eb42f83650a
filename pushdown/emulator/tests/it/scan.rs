// SPDX-License-Identifier: Apache-2.0
//! Tests a small scan: its rows, its traffic, and the limit of columns by lanes.

use nearscan_command::{ResultHeader, Status};
use nearscan_conformance::sample::{Sample, envelope, run, session};
use nearscan_drive::{Drive, Outcome};
use nearscan_emulator::{Config, Emulator};

/// A drive with these faults.
pub(crate) fn open(faults: &str) -> Emulator {
    let parameters = [("profile", "unlimited"), ("faults", faults), ("seed", "7")];
    Emulator::open(Config::from_parameters(parameters).unwrap())
}

#[test]
fn count_and_sum_return_with_their_traffic() {
    let scan = Sample::plain(1000);
    let drive = open("");
    let session = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 9));
    let completion = run(session.as_ref(), command.clone()).unwrap();
    let view = completion.check(&command).unwrap();
    let block = &view.blocks[0];
    assert_eq!(block.columns[0].number(0), Some(10));
    assert_eq!(block.columns[1].number(0), Some(45));
    assert_eq!(completion.traffic.media_bytes, command.unit.media_bytes());
    assert_eq!(completion.traffic.host_bytes, 0);
    assert_eq!(completion.traffic.link_bytes, 256 + view.header.payload_bytes);
}

#[test]
fn command_of_more_columns_than_lanes_is_not_supported() {
    let scan = Sample::plain(10);
    let drive = Emulator::open(Config::from_parameters([("lanes", "2")]).unwrap());
    assert_eq!(drive.capabilities().columns_max, 2);
    let session = session(&drive);
    for (columns, status) in [(2, Status::Ok), (3, Status::Unsupported)] {
        let command = scan.columns(&drive, columns, envelope(session.as_ref(), 9));
        let completion = run(session.as_ref(), command).unwrap();
        let Outcome::Finished(result) = &completion.outcome else { panic!("{completion:?}") };
        assert_eq!(ResultHeader::decode(result).unwrap().status, status);
    }
}
