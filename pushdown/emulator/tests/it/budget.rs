// SPDX-License-Identifier: Apache-2.0
//! Tests the ledger of the kernels' resources: which designs fit, and that the ledger states it.

use nearscan_emulator::{
    Build, Builds, Profile,
    budget::{Design, Ledger, Stage},
    timing::Parameters,
};
use nearscan_link::{IMAGES, Kernel};

fn ledger() -> Ledger {
    Ledger::of_kernels().unwrap()
}

fn design<'a>(ledger: &'a Ledger, words: &str) -> &'a Design {
    ledger.designs.iter().find(|design| design.name.contains(words)).unwrap()
}

/// Number of instances of a group of stages in a design.
fn count(design: &Design, per: &str) -> u32 {
    design.counts.get(per).copied().unwrap_or(0)
}

#[test]
fn design_fits_when_ledger_says_so() {
    let ledger = ledger();
    for design in &ledger.designs {
        let over: Vec<_> = ledger.over(&design.counts).iter().map(|over| over.resource).collect();
        assert_eq!(over, design.over, "{}", design.name);
    }
}

#[test]
fn builds_of_study_fit() {
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
fn builds_of_fast_set_fit() {
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
fn drives_of_each_profile_are_in_ledger() {
    let ledger = ledger();
    let of = |words: &str| design(&ledger, words);
    let fits = of("scan, one unit of 7 lanes");
    assert_eq!(fits.counts, Profile::SmartSsd.builds().first.counts());
    assert!(fits.over.is_empty());
    let large = of("whatever the part");
    assert_eq!(large.counts, Profile::Unlimited.builds().first.counts());
    assert!(!large.over.iter().any(|resource| resource == "ports"));
}

#[test]
fn image_that_merges_fits_with_the_widest_scan_beside_it() {
    let ledger = ledger();
    let both = design(&ledger, "scan, one unit of 5 lanes, and merge");
    assert!(both.over.is_empty());
    let merging = Profile::SmartSsd.builds().merging.unwrap();
    assert_eq!(both.counts, merging.counts());
    let wider = Build { lanes: merging.lanes + 1, ..merging };
    assert!(Profile::SmartSsd.admits(&wider).is_err());
}

#[test]
fn every_stage_has_a_source_and_a_place() {
    let ledger = ledger();
    for stage in &ledger.stages {
        assert!(["counted", "rtl", "assumed"].contains(&stage.source.as_str()), "{stage:?}");
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

#[test]
fn page_lists_the_resources_of_the_builds() {
    const PAGE: &str = include_str!("../../../../docs/timing-model.md");
    let ledger = ledger();
    let thousands = |number: u32| match number / 1000 {
        0 => number.to_string(),
        many => format!("{many},{:03}", number % 1000),
    };
    for words in ["scan, one unit of 7 lanes", "scan, one unit of 5 lanes, and merge", "merge, two"]
    {
        let design = design(&ledger, words);
        let total = |of: fn(&Stage) -> u32| {
            let stages = ledger.stages.iter();
            stages.map(|stage| of(stage) * count(design, &stage.per)).sum::<u32>()
        };
        let [lut, bram, uram, dsp] = [
            total(|stage| stage.resources.lut),
            total(|stage| stage.resources.bram),
            total(|stage| stage.resources.uram),
            total(|stage| stage.resources.dsp),
        ];
        let row = format!("| {} | {bram} | {uram} | {dsp} |", thousands(lut));
        assert!(PAGE.contains(&row), "{words}: {row}");
    }
}

#[test]
fn images_of_card_fit_and_are_those_of_the_default_drive() {
    let builds = IMAGES.iter().filter(|image| image.name != "emulation").map(|image| {
        let units_of = |kernel| {
            let units = image.all_units().filter(|(unit, _)| *unit == kernel).count();
            u32::try_from(units).unwrap()
        };
        Build {
            scan_units: units_of(Kernel::Scan),
            lanes: image.lanes,
            merge_units: units_of(Kernel::Merge),
        }
    });
    let builds: Vec<Build> = builds.collect();
    let Builds { first, merging } = Profile::SmartSsd.builds();
    assert_eq!(builds, [first, merging.unwrap()]);
    for build in builds {
        assert_eq!(Profile::SmartSsd.admits(&build), Ok(()));
    }
}
