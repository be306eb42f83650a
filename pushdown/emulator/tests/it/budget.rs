// SPDX-License-Identifier: Apache-2.0
//! The ledger of what the kernels take of the part: which designs fit, and that it says so.

use nearscan_command::limits;
use nearscan_emulator::Config;
use nearscan_emulator::timing::Parameters;
use toml::{Table, Value};

const RESOURCES: [&str; 5] = ["lut", "bram", "uram", "dsp", "ports"];

fn ledger() -> Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fpga_kernels/budget.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn number(table: &Table, key: &str) -> f64 {
    let value = table.get(key).unwrap_or_else(|| panic!("no {key} in {table}"));
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).unwrap()
}

fn tables<'a>(ledger: &'a Table, key: &str) -> Vec<&'a Table> {
    ledger[key].as_array().unwrap().iter().map(|one| one.as_table().unwrap()).collect()
}

fn design<'a>(ledger: &'a Table, words: &str) -> &'a Table {
    let is_meant = |design: &&Table| design["name"].as_str().unwrap().contains(words);
    tables(ledger, "design").into_iter().find(is_meant).unwrap()
}

/// How often a design has a group of stages.
fn count(design: &Table, per: &str) -> f64 {
    let counts = design["counts"].as_table().unwrap();
    if counts.contains_key(per) { number(counts, per) } else { 0.0 }
}

fn needed(ledger: &Table, design: &Table, resource: &str) -> f64 {
    let of_stage =
        |stage: &Table| count(design, stage["per"].as_str().unwrap()) * number(stage, resource);
    tables(ledger, "stage").into_iter().map(of_stage).sum()
}

/// What a design may use; no port goes to the shell.
fn usable(ledger: &Table, resource: &str) -> f64 {
    let part = ledger["part"].as_table().unwrap();
    let share = match resource {
        "ports" => 1.0,
        _ => number(part, "dynamic_share") * number(part, "fill_share"),
    };
    number(part, resource) * share
}

#[test]
fn a_design_fits_when_the_ledger_says_so() {
    let ledger = ledger();
    for design in tables(&ledger, "design") {
        let over: Vec<_> = RESOURCES
            .into_iter()
            .filter(|resource| needed(&ledger, design, resource) > usable(&ledger, resource))
            .collect();
        let said: Vec<_> =
            design["over"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(over, said, "{}", design["name"]);
    }
}

#[test]
fn the_builds_of_the_study_fit() {
    let ledger = ledger();
    for words in ["study, fifteen units", "buffers of 256 KiB"] {
        let design = design(&ledger, words);
        assert!(design["over"].as_array().unwrap().is_empty());
        assert_eq!(count(design, "study_unit"), Parameters::default().bank_ports);
    }
    let buffered = design(&ledger, "buffers of 256 KiB");
    let buffers = count(buffered, "study_buffer_in_bram") + count(buffered, "study_buffer_in_uram");
    assert_eq!(buffers, count(buffered, "study_unit"));
}

#[test]
fn the_default_drive_is_in_the_ledger() {
    let ledger = ledger();
    let design = design(&ledger, "default");
    let units = f64::from(Config::default().compute_units);
    assert_eq!(count(design, "scan_unit"), units);
    assert_eq!(count(design, "scan_lane"), units * f64::from(limits::COLUMNS_MAX));
    assert!(needed(&ledger, design, "ports") <= usable(&ledger, "ports"));
}

#[test]
fn every_stage_has_a_source_and_a_place() {
    let ledger = ledger();
    let designs = tables(&ledger, "design");
    for stage in tables(&ledger, "stage") {
        let source = stage["source"].as_str().unwrap();
        assert!(["counted", "vendor", "assumed"].contains(&source), "{source}");
        assert!(!stage["why"].as_str().unwrap().is_empty());
        let per = stage["per"].as_str().unwrap();
        assert!(designs.iter().any(|design| count(design, per) > 0.0), "{per}");
    }
    for design in designs {
        for per in design["counts"].as_table().unwrap().keys() {
            let is_known = tables(&ledger, "stage")
                .iter()
                .any(|stage| stage["per"].as_str() == Some(per.as_str()));
            assert!(is_known, "{per}");
        }
    }
}

#[test]
fn ledger_and_time_model_know_the_same_part() {
    let ledger = ledger();
    let part = ledger["part"].as_table().unwrap();
    let parameters = Parameters::default();
    let pairs = [
        ("bram", parameters.block_memories),
        ("uram", parameters.ultra_memories),
        ("ports", parameters.bank_ports),
        ("dynamic_share", parameters.dynamic_share),
        ("fill_share", parameters.fill_share),
    ];
    for (key, value) in pairs {
        assert_eq!(number(part, key), value, "{key}");
    }
    let stages = tables(&ledger, "stage");
    let of_study = stages.iter().find(|stage| stage["per"].as_str() == Some("study_unit"));
    assert_eq!(number(of_study.unwrap(), "bram"), parameters.unit_block_memories);
}
