// SPDX-License-Identifier: Apache-2.0
//! The ledger of what the kernels take of the part: which designs fit, and that it says so.

use nearscan_command::limits;
use nearscan_emulator::Config;
use nearscan_emulator::budget::{Design, Ledger};
use nearscan_emulator::timing::Parameters;

fn ledger() -> Ledger {
    Ledger::of_kernels().unwrap()
}

fn design<'a>(ledger: &'a Ledger, words: &str) -> &'a Design {
    ledger.designs.iter().find(|design| design.name.contains(words)).unwrap()
}

/// How often a design has a group of stages.
fn count(design: &Design, per: &str) -> u32 {
    design.counts.get(per).copied().unwrap_or(0)
}

#[test]
fn a_design_fits_when_the_ledger_says_so() {
    let ledger = ledger();
    for design in &ledger.designs {
        let over: Vec<_> = ledger.over(&design.counts).iter().map(|over| over.resource).collect();
        assert_eq!(over, design.over, "{}", design.name);
    }
}

#[test]
fn the_builds_of_the_study_fit() {
    let ledger = ledger();
    for words in ["study, fifteen units", "buffers of 256 KiB"] {
        let design = design(&ledger, words);
        assert!(design.over.is_empty());
        assert_eq!(f64::from(count(design, "study_unit")), Parameters::default().bank_ports);
    }
    let buffered = design(&ledger, "buffers of 256 KiB");
    let buffers = count(buffered, "study_buffer_in_bram") + count(buffered, "study_buffer_in_uram");
    assert_eq!(buffers, count(buffered, "study_unit"));
}

#[test]
fn the_builds_of_the_fast_set_fit() {
    let ledger = ledger();
    for words in ["fast, a light kernel", "fast, array merge"] {
        let design = design(&ledger, words);
        assert!(design.over.is_empty());
        assert_eq!(f64::from(count(design, "fast_unit")), Parameters::default().bank_ports);
    }
    let merge = design(&ledger, "fast, array merge");
    assert_eq!(count(merge, "fast_merge"), count(merge, "fast_unit"));
}

#[test]
fn scan_and_merge_units_fit_each_in_an_image_of_its_own() {
    let ledger = ledger();
    let merge = design(&ledger, "the default's merge units");
    assert!(merge.over.is_empty());
    assert_eq!(count(merge, "merge_unit"), Config::default().merge_units);
    let scan = design(&ledger, "scan, one unit of 6 lanes");
    assert!(scan.over.is_empty() && count(scan, "scan_unit") == 1);
}

#[test]
fn the_default_drive_is_in_the_ledger() {
    let ledger = ledger();
    let design = design(&ledger, "emulated drive's default");
    let units = Config::default().compute_units;
    assert_eq!(count(design, "scan_unit"), units);
    assert_eq!(count(design, "merge_unit"), Config::default().merge_units);
    assert_eq!(count(design, "scan_lane"), units * limits::COLUMNS_MAX);
    assert!(!design.over.iter().any(|resource| resource == "ports"));
}

#[test]
fn every_stage_has_a_source_and_a_place() {
    let ledger = ledger();
    for stage in &ledger.stages {
        assert!(["counted", "vendor", "assumed"].contains(&stage.source.as_str()), "{stage:?}");
        assert!(!stage.why.is_empty() && !stage.name.is_empty());
        assert!(ledger.designs.iter().any(|design| count(design, &stage.per) > 0), "{stage:?}");
    }
    for per in ledger.designs.iter().flat_map(|design| design.counts.keys()) {
        assert!(ledger.stages.iter().any(|stage| stage.per == *per), "{per}");
    }
}

#[test]
fn ledger_and_time_model_know_the_same_part() {
    let ledger = ledger();
    let part = &ledger.part;
    let parameters = Parameters::default();
    assert_eq!(f64::from(part.resources.bram), parameters.block_memories);
    assert_eq!(f64::from(part.resources.uram), parameters.ultra_memories);
    assert_eq!(f64::from(part.resources.ports), parameters.bank_ports);
    assert_eq!(part.dynamic_share, parameters.dynamic_share);
    assert_eq!(part.fill_share, parameters.fill_share);
    let of_study = ledger.stages.iter().find(|stage| stage.per == "study_unit").unwrap();
    assert_eq!(f64::from(of_study.resources.bram), parameters.unit_block_memories);
}
