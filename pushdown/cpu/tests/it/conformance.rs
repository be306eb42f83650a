// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance suite on the CPU drive.

use nearscan_conformance::{Options as Cases, check, check_with};
use nearscan_cpu::{CpuDrive, Options};

#[test]
fn passes_the_suite() {
    let drive = CpuDrive::start(Options { threads: 2, in_flight_max: 8 }).unwrap();
    let report = check(&drive);
    assert!(report.is_clean(), "{report}");
    assert!(report.skipped.is_empty(), "{report}");
    // The CPU drive refuses none of the optional cases.
    for status in ["SnappyDistance", "DictionarySize"] {
        assert!(!report.ends.contains_key(&format!("status {status}")), "{report}");
    }
    // Damage ends in a status: a failure would be a panic of a decoder.
    assert!(!report.ends.contains_key("failure (damaged)"), "{report}");
}

#[test]
fn no_number_of_groups_is_too_large() {
    let drive = CpuDrive::start(Options { threads: 1, in_flight_max: 1 }).unwrap();
    for prefix in ["keys", "cardinality"] {
        let cases = Cases { prefix: prefix.to_owned(), ..Cases::default() };
        let report = check_with(&drive, &cases);
        assert!(report.is_clean(), "{report}");
        assert!(report.ends.contains_key("rows"), "{report}");
        assert!(!report.ends.contains_key("status GroupCardinality"), "{report}");
    }
}

#[test]
fn passes_the_suite_from_several_threads_at_once() {
    let drive = CpuDrive::start(Options { threads: 3, in_flight_max: 4 }).unwrap();
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            let drive = &drive;
            scope.spawn(move || {
                for prefix in ["random", "keys", "limits", "damaged bodies", "lifecycle"] {
                    let cases = Cases {
                        seed: seed * 10_000,
                        random_cases: 150,
                        prefix: prefix.to_owned(),
                        folder: None,
                    };
                    let report = check_with(drive, &cases);
                    assert!(report.is_clean(), "{report}");
                }
            });
        }
    });
}
