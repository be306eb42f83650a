// SPDX-License-Identifier: Apache-2.0
//! Tests the table against itself, against made-up workspaces, and against the real one.

use rstest::rstest;

use super::*;

/// A package with one dependency; an empty folder means a crate that is not ours.
fn package(name: &str, folder: &str, imports: (&str, &str, Kind)) -> Package {
    let (dependency, place, kind) = imports;
    Package {
        name: name.to_owned(),
        folder: folder.to_owned(),
        dependencies: vec![Dependency {
            name: dependency.to_owned(),
            kind,
            folder: (!place.is_empty()).then(|| place.to_owned()),
        }],
        programs: Vec::new(),
    }
}

fn findings_of(package: Package) -> Vec<String> {
    let listed = vec![package.folder.clone()];
    check(&Workspace { listed, packages: vec![package] })
}

#[rstest]
#[case("nearscan-drive", "pushdown/drive", "nearscan-command", "pushdown/command")]
#[case("nearscan-emulator", "pushdown/emulator", "nearscan-models", "fpga_kernels/models")]
#[case("nearscan-optimizer", "pushdown/optimizer", "nearscan-cpu", "pushdown/cpu")]
#[case("nearscan", "engine", "nearscan-emulator", "pushdown/emulator")]
#[case("nearscan-flight-sql", "connectors/flight_sql", "nearscan", "engine")]
#[case("nearscan-tpch", "benchmarks/tpch", "nearscan-drive", "pushdown/drive")]
#[case("nearscan-kernels", "benchmarks/kernels", "nearscan-emulator", "pushdown/emulator")]
#[case("nearscan-check", "pushdown/check", "nearscan-conformance", "pushdown/conformance")]
#[case("nearscan-shell", "connectors/shell", "nearscan-tpch", "benchmarks/tpch")]
#[case("xtask", "xtask", "nearscan-command", "pushdown/command")]
#[case("xtask", "xtask", "nearscan-archive", "xtask/archive")]
#[case("nearscan-sqllogictest", "sqllogictest", "nearscan-archive", "xtask/archive")]
#[case("nearscan-cpu", "pushdown/cpu", "arrow-array", "")]
#[case("nearscan-optimizer", "pushdown/optimizer", "datafusion-proto", "")]
#[case("nearscan-tpch", "benchmarks/tpch", "tpchgen-arrow", "")]
#[case("nearscan-models", "fpga_kernels/models", "cc", "")]
fn accepts_an_import_that_goes_down(
    #[case] name: &str,
    #[case] folder: &str,
    #[case] dependency: &str,
    #[case] place: &str,
) {
    let package = package(name, folder, (dependency, place, Kind::Normal));
    assert_eq!(findings_of(package), Vec::<String>::new());
}

#[rstest]
#[case::backend_in_the_optimizer(
    ("nearscan-optimizer", "pushdown/optimizer", "nearscan-emulator", "pushdown/emulator"),
    "nearscan-optimizer (L4) imports nearscan-emulator (L3): only L0 L1 L2 are allowed"
)]
#[case::upward(
    ("nearscan-drive", "pushdown/drive", "nearscan-cpu", "pushdown/cpu"),
    "nearscan-drive (L1) imports nearscan-cpu (L2): only L0 is allowed"
)]
#[case::sideways(
    ("nearscan-emulator", "pushdown/emulator", "nearscan-xrt", "pushdown/xrt"),
    "nearscan-emulator (L3) imports nearscan-xrt (L3): only L0 L1 L2 are allowed"
)]
#[case::backend_in_the_server(
    ("nearscan-remote", "pushdown/remote", "nearscan-xrt", "pushdown/xrt"),
    "nearscan-remote (L4) imports nearscan-xrt (L3): only L0 L1 L2 are allowed"
)]
#[case::what_its_tests_may(
    ("nearscan-remote", "pushdown/remote", "nearscan-emulator", "pushdown/emulator"),
    "nearscan-remote (L4) imports nearscan-emulator (L3): only L0 L1 L2 are allowed"
)]
#[case::past_the_engine(
    ("nearscan-python", "connectors/python", "nearscan-drive", "pushdown/drive"),
    "nearscan-python (L6) imports nearscan-drive (L1): only L5 is allowed"
)]
#[case::what_another_benchmark_may(
    ("nearscan-tpch", "benchmarks/tpch", "nearscan-emulator", "pushdown/emulator"),
    "nearscan-tpch (L7) imports nearscan-emulator (L3): \
     only L5 pushdown/command pushdown/drive benchmarks/tpch are allowed"
)]
#[case::anything_in_the_lowest(
    ("nearscan-command", "pushdown/command", "nearscan-drive", "pushdown/drive"),
    "nearscan-command (L0) imports nearscan-drive (L1): nothing of ours is allowed"
)]
#[case::unknown_folder(
    ("nearscan", "engine", "nearscan-extra", "extra"),
    "nearscan (L5) imports nearscan-extra from extra, which has no place in the table of layers"
)]
#[case::suite_outside_of_tests(
    ("nearscan-emulator", "pushdown/emulator", "nearscan-conformance", "pushdown/conformance"),
    "nearscan-emulator (L3) imports the conformance suite outside of tests: \
     it is allowed as a development dependency only"
)]
#[case::skipping_outside_of_tests(
    ("nearscan-drive", "pushdown/drive", "nearscan-skip", "xtask/skip"),
    "nearscan-drive imports xtask/skip outside of tests: it is for tests only"
)]
#[case::unpacking_outside_of_tests(
    ("nearscan-targets", "fuzz/targets", "nearscan-archive", "xtask/archive"),
    "nearscan-targets imports xtask/archive outside of tests: it is for tests only"
)]
#[case::arrow_below_l2(
    ("nearscan-drive", "pushdown/drive", "arrow-schema", ""),
    "nearscan-drive (L1) imports arrow-schema: allowed in L2 L3 L4 L5 L6 L7 L8 \
     (below L2 there are bytes and commands; a kernel has no Arrow either)"
)]
#[case::datafusion_in_a_drive(
    ("nearscan-cpu", "pushdown/cpu", "datafusion", ""),
    "nearscan-cpu (L2) imports datafusion: allowed in L4 L5 L6 L7 L8 \
     (a drive runs commands, not plans)"
)]
#[case::system_calls_in_the_engine(
    ("nearscan", "engine", "libc", ""),
    "nearscan (L5) imports libc: allowed in pushdown/drive pushdown/io pushdown/xrt \
     (system calls stay where unsafe code is allowed and reviewed)"
)]
#[case::anyhow_in_a_library(
    ("nearscan", "engine", "anyhow", ""),
    "nearscan (L5) imports anyhow: allowed in L7 L8 Tasks \
     (a library's errors are an enum that its caller can match)"
)]
fn refuses_an_import(#[case] import: (&str, &str, &str, &str), #[case] expected: &str) {
    let (name, folder, dependency, place) = import;
    let package = package(name, folder, (dependency, place, Kind::Normal));
    assert_eq!(findings_of(package), [expected]);
}

#[rstest]
#[case("nearscan-drive", "pushdown/drive", ("nearscan-cpu", "pushdown/cpu"), 1)]
#[case("nearscan-drive", "pushdown/drive", ("parquet", ""), 1)]
#[case("nearscan-drive", "pushdown/drive", ("nearscan-conformance", CONFORMANCE), 1)]
#[case("nearscan-cpu", "pushdown/cpu", ("nearscan-conformance", CONFORMANCE), 0)]
#[case("nearscan-remote", "pushdown/remote", ("nearscan-conformance", CONFORMANCE), 0)]
#[case("nearscan-command", "pushdown/command", ("nearscan-skip", SKIP), 0)]
#[case("nearscan-models", "fpga_kernels/models", ("nearscan-archive", ARCHIVE), 0)]
#[case("nearscan-remote", "pushdown/remote", ("nearscan-emulator", "pushdown/emulator"), 0)]
#[case("nearscan-remote", "pushdown/remote", ("nearscan-applications", "pushdown/applications"), 0)]
#[case("nearscan-remote", "pushdown/remote", ("nearscan-xrt", "pushdown/xrt"), 1)]
#[case("nearscan-emulator", "pushdown/emulator", ("nearscan-remote", "pushdown/remote"), 1)]
#[case("nearscan", "engine", ("anyhow", ""), 0)]
fn holds_tests_to_the_table_too(
    #[case] name: &str,
    #[case] folder: &str,
    #[case] import: (&str, &str),
    #[case] expected_count: usize,
) {
    let package = package(name, folder, (import.0, import.1, Kind::Development));
    let findings = findings_of(package);
    assert_eq!(findings.len(), expected_count, "{findings:?}");
}

#[test]
fn refuses_a_crate_without_a_place_or_with_a_wrong_name() {
    let import = || ("thiserror", "", Kind::Normal);
    assert_eq!(
        findings_of(package("nearscan-extra", "extra", import())),
        ["nearscan-extra (extra) has no place in the table of layers"]
    );
    assert_eq!(
        findings_of(package("scan-drive", "pushdown/drive", import())),
        ["scan-drive is in pushdown/drive: a crate there is named nearscan-drive"]
    );
}

#[test]
fn refuses_a_second_program_named_nearscan() {
    let mut engine = package("nearscan", "engine", ("thiserror", "", Kind::Normal));
    engine.programs.push("nearscan".to_owned());
    assert_eq!(
        findings_of(engine),
        ["nearscan has a program named nearscan: the only one of that name is in connectors/shell"]
    );
}

#[test]
fn refuses_members_out_of_layer_order() {
    let listed = ["pushdown/command", "engine", "pushdown/cpu", "xtask"].map(str::to_owned);
    assert_eq!(
        check_order(&listed),
        ["root Cargo.toml lists engine (L5) before pushdown/cpu (L2): members are in layer order"]
    );
}

#[test]
fn every_layer_has_one_rule_and_every_place_is_named_once() {
    for (folder, layer) in PLACES {
        assert_eq!(RULES.iter().filter(|rule| rule.layer == *layer).count(), 1, "{layer}");
        assert_eq!(PLACES.iter().filter(|(place, _)| place == folder).count(), 1, "{folder}");
    }
    for rule in RULES {
        for imported in rule.imports {
            assert!(*imported < rule.layer, "{} may import {imported}", rule.layer);
        }
        for folder in rule.also {
            assert!(layer_of(folder).is_some(), "{folder} has no place");
        }
    }
    for (folder, others) in BEYOND.iter().chain(BEYOND_IN_TESTS) {
        assert!(layer_of(folder).is_some(), "{folder} has no place");
        assert!(others.iter().all(|other| layer_of(other).is_some()), "{others:?}");
    }
    for rule in OUTSIDE {
        if let Allowed::Folders(folders) = rule.allowed {
            for folder in folders {
                assert!(layer_of(folder).is_some(), "{folder} has no place");
            }
        }
    }
}

#[test]
fn workspace_keeps_to_the_table() {
    let project = Project::open().unwrap();
    let workspace = metadata::read(&project).unwrap();
    assert_eq!(workspace.listed.len(), workspace.packages.len());
    assert_eq!(check(&workspace), Vec::<String>::new());
}
