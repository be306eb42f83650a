// SPDX-License-Identifier: Apache-2.0
//! Defines which crate may import which, and checks the workspace against the table.
//!
//! Imports go strictly downward: a crate imports crates of lower layers only, never one of its own
//! layer. Three rules are narrower than that. What is in L4 never sees a backend (L3). The
//! connectors (L6) and the benchmarks (L7) see the engine, not what is under it, but for those of
//! the kernels and of a drive, which see no engine, that of a storage server, which is its client
//! too, and the fuzzers. The conformance suite is for tests: it is a development dependency, and
//! then of any crate from its own layer upward; only the check of a drive brings it to users, and
//! fuzzers start from its cases. What a test says when it cannot run, and how it unpacks its files,
//! is for the tests of any crate; beside them only tasks and the SQL tests unpack files.
//!
//! A folder that is in the table need not exist. A crate that exists and is not in the table is an
//! error, so a new crate takes its place in the commit that adds it, with the reason in the
//! message.

use std::fmt;

use anyhow::{Result, bail};

use crate::{
    metadata::{self, Dependency, Kind, Package, Workspace},
    project::Project,
};

/// Height of a crate; a crate imports lower ones only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    L0,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
    L8,
    /// Not part of the program: tasks of the project.
    Tasks,
}

use Layer::{L0, L1, L2, L3, L4, L5, L6, L7, L8, Tasks};

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The imports that the crates of one layer may have.
struct Rule {
    layer: Layer,
    /// Whole layers.
    imports: &'static [Layer],
    /// Single folders of other layers.
    also: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule { layer: L0, imports: &[], also: &[] },
    Rule { layer: L1, imports: &[L0], also: &[] },
    Rule { layer: L2, imports: &[L0, L1], also: &[] },
    Rule { layer: L3, imports: &[L0, L1, L2], also: &[] },
    Rule { layer: L4, imports: &[L0, L1, L2], also: &[] },
    Rule { layer: L5, imports: &[L0, L1, L2, L3, L4], also: &[] },
    Rule { layer: L6, imports: &[L5], also: &[] },
    // The types that a profile or a drive's identity is made of; and the SQL tests read the data of
    // TPC-H, which is made in one place only.
    Rule {
        layer: L7,
        imports: &[L5],
        also: &["pushdown/command", "pushdown/drive", "benchmarks/tpch"],
    },
    Rule { layer: L8, imports: &[L0, L1, L2, L3, L4, L5, L6, L7], also: &[] },
    // For code generation.
    Rule { layer: Tasks, imports: &[L0], also: &[] },
];

/// Imports that single crates may have beyond those of their layer.
const BEYOND: &[(&str, &[&str])] = &[
    // A setting says which corrections are on; and plans are lowered as they were corrected.
    (OPTIMIZER, &[CORRECTIONS]),
    // Objects in, tables out; applications call it through their own trait.
    (OPERATIONS, &["pushdown/applications", "pushdown/store"]),
    // It serves the applications of a store, if it is built with them, and no backend.
    (REMOTE, &["pushdown/applications"]),
    // It is all that the program needs to know of applications: whether it has them.
    (HOSTING, &["engine/operations", "pushdown/applications", "pushdown/remote", "pushdown/store"]),
    // It runs the kernels as they are and asks the time model about them: no SQL, no engine.
    (KERNEL_BENCHMARK, &["fpga_kernels/models", "pushdown/emulator"]),
    // It holds a drive against the suite, and what it takes against the time model: no SQL.
    (DRIVE_CHECK, &[CONFORMANCE, "pushdown/emulator"]),
    // Fuzzers call what reads foreign bytes where it reads them, first with the suite's commands.
    // And what client and server of a drive say to each other, and to applications.
    (
        FUZZ_TARGETS,
        &[
            CONFORMANCE,
            "fpga_kernels/models",
            "pushdown/applications",
            "pushdown/cpu",
            "pushdown/remote",
            "pushdown/store",
        ],
    ),
    // It measures how long the decoder of queries takes without a query.
    (PEERS, &["pushdown/cpu"]),
    // It counts the faults that the emulated drive makes, and breaks the link to one that is
    // served.
    (FAULTS, &["pushdown/emulator", "pushdown/remote", "pushdown/store", LINKS]),
    // It makes a store, serves it, and is its client, with SQL and without; and it reads files past
    // the page cache.
    (STORAGE_BENCHMARK, &["pushdown/io", "pushdown/store", "pushdown/remote"]),
    // Both handle files of tests, and are no part of the program.
    (SQL_TESTS, &[ARCHIVE]),
    (TASKS, &[ARCHIVE]),
];

/// Imports that the tests of single crates may have beyond those of their layer.
const BEYOND_IN_TESTS: &[(&str, &[&str])] = &[
    // A drive is served for it to be there at all, and only this one has faults on purpose.
    (REMOTE, &["pushdown/emulator"]),
    // A drive over XRT needs a model of the card; in the program the engine connects the two.
    ("pushdown/xrt", &["pushdown/emulator"]),
    // A table of an application is read from a server.
    (OPERATIONS, &["pushdown/remote"]),
    // A store is served with a drive, and this one is there on every machine.
    (STORAGE_BENCHMARK, &["pushdown/cpu"]),
];

/// The layer of every folder that holds a crate, or will.
const PLACES: &[(&str, Layer)] = &[
    ("pushdown/command", L0),
    ("fpga_kernels/link", L0),
    ("pushdown/drive", L1),
    ("pushdown/io", L1),
    ("fpga_kernels/models", L1),
    ("pushdown/cpu", L2),
    ("pushdown/aggregate", L2),
    // Objects in, objects out: servers and the engine have a use for it.
    ("pushdown/store", L2),
    // Numbers in, a tree out: it imports nothing, and only rules over plans have a use for it.
    ("engine/join_order", L2),
    (CONFORMANCE, L2),
    // Bytes in, the same bytes out: it imports nothing, and only tests and fuzzers have a use for
    // it.
    (LINKS, L2),
    // Calls components that come with rights to objects: it sits on the store, and what it has of
    // tables it is given by the engine.
    ("pushdown/applications", L3),
    ("pushdown/emulator", L3),
    ("pushdown/xrt", L3),
    (REMOTE, L4),
    (CORRECTIONS, L4),
    // Syntax in, syntax out: only the engine, which parses statements, has a use for it.
    ("engine/dialect", L4),
    (OPTIMIZER, L4),
    (ENGINE, L5),
    // It gives applications what the engine can do: neither of the two may know the other.
    (OPERATIONS, L6),
    ("connectors/python", L6),
    ("connectors/flight_sql", L6),
    ("connectors/postgres", L6),
    ("connectors/cluster", L6),
    (HOSTING, L7),
    (SQL_TESTS, L7),
    ("fuzz/queries", L7),
    (FAULTS, L7),
    (DRIVE_CHECK, L7),
    (KERNEL_BENCHMARK, L7),
    ("benchmarks/tpch", L7),
    (PEERS, L7),
    (STORAGE_BENCHMARK, L7),
    (FUZZ_TARGETS, L7),
    (SHELL, L8),
    (ARCHIVE, Tasks),
    (SKIP, Tasks),
    (TASKS, Tasks),
];

/// The packing of files of tests; any crate's tests may import it.
const ARCHIVE: &str = "xtask/archive";
const CONFORMANCE: &str = "pushdown/conformance";
const DRIVE_CHECK: &str = "pushdown/check";
/// The corrections of DataFusion; any crate that plans with DataFusion may import it.
const CORRECTIONS: &str = "engine/corrections";
const ENGINE: &str = "engine";
const OPERATIONS: &str = "engine/operations";
const OPTIMIZER: &str = "pushdown/optimizer";
const FUZZ_TARGETS: &str = "fuzz/targets";
const FAULTS: &str = "fuzz/faults";
const HOSTING: &str = "connectors/hosting";
/// Links that break, for the tests of what talks over them.
const LINKS: &str = "fuzz/links";
const KERNEL_BENCHMARK: &str = "benchmarks/kernels";
const PEERS: &str = "benchmarks/peers";
const REMOTE: &str = "pushdown/remote";
const STORAGE_BENCHMARK: &str = "benchmarks/storage";
/// The report of a test that could not run; any crate's tests may import it.
const SKIP: &str = "xtask/skip";
const SHELL: &str = "connectors/shell";
const SQL_TESTS: &str = "sqllogictest";
const TASKS: &str = "xtask";

/// The crates that may import certain third-party crates.
struct Outside {
    /// Names; a `*` at the end matches any rest.
    crates: &'static [&'static str],
    allowed: Allowed,
    /// Which imports are meant.
    scope: Scope,
    reason: &'static str,
}

enum Allowed {
    Layers(&'static [Layer]),
    Folders(&'static [&'static str]),
}

#[derive(PartialEq, Eq)]
enum Scope {
    /// Tests too.
    All,
    /// Not those of tests and benches.
    Shipped,
}

const OUTSIDE: &[Outside] = &[
    Outside {
        crates: &["datafusion", "datafusion-*"],
        allowed: Allowed::Layers(&[L4, L5, L6, L7, L8]),
        scope: Scope::All,
        reason: "a drive runs commands, not plans",
    },
    Outside {
        crates: &["arrow", "arrow-*", "parquet"],
        allowed: Allowed::Layers(&[L2, L3, L4, L5, L6, L7, L8]),
        scope: Scope::All,
        reason: "below L2 there are bytes and commands; a kernel has no Arrow either",
    },
    Outside {
        crates: &["object_store"],
        allowed: Allowed::Layers(&[L3, L4, L5, L6, L7, L8]),
        scope: Scope::All,
        reason: "reads below the engine go through nearscan-io or a drive",
    },
    Outside {
        crates: &["libc", "nix", "rustix", "io-uring", "memmap2"],
        allowed: Allowed::Folders(&["pushdown/drive", "pushdown/io", "pushdown/xrt"]),
        scope: Scope::All,
        reason: "system calls stay where unsafe code is allowed and reviewed",
    },
    Outside {
        crates: &["libloading", "dlopen2"],
        allowed: Allowed::Folders(&[]),
        scope: Scope::All,
        reason: "XRT is the only library loaded at run time, by pushdown/xrt and the C library",
    },
    Outside {
        crates: &["cc", "cxx", "cxx-build", "bindgen", "cmake"],
        allowed: Allowed::Folders(&["fpga_kernels/models"]),
        scope: Scope::All,
        reason: "all C++ is under fpga_kernels",
    },
    Outside {
        crates: &["pyo3", "pyo3-*"],
        allowed: Allowed::Folders(&["connectors/python"]),
        scope: Scope::All,
        reason: "the engine does not know Python",
    },
    Outside {
        crates: &["anyhow"],
        allowed: Allowed::Layers(&[L7, L8, Tasks]),
        scope: Scope::Shipped,
        reason: "a library's errors are an enum that its caller can match",
    },
];

/// Checks the workspace; prints what is wrong.
///
/// # Errors
/// When anything is, or when cargo cannot be asked.
pub(crate) fn run(project: &Project) -> Result<()> {
    let workspace = metadata::read(project)?;
    let findings = check(&workspace);
    for finding in &findings {
        println!("layers: {finding}");
    }
    if !findings.is_empty() {
        bail!("findings against the layer table (xtask/src/layers.rs): {}", findings.len());
    }
    println!("layers: {} crates, all in their place", workspace.packages.len());
    Ok(())
}

fn check(workspace: &Workspace) -> Vec<String> {
    let mut findings = check_order(&workspace.listed);
    for package in &workspace.packages {
        let Some(layer) = layer_of(&package.folder) else {
            findings.push(format!(
                "{} ({}) has no place in the table of layers",
                package.name, package.folder
            ));
            continue;
        };
        findings.extend(check_names(package));
        for dependency in &package.dependencies {
            findings.extend(match &dependency.folder {
                Some(folder) => check_import(package, layer, dependency, folder),
                None => check_outside(package, layer, dependency),
            });
        }
    }
    findings
}

/// Members are in layer order, so that the manifest reads like the table.
fn check_order(listed: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for pair in listed.windows(2) {
        if let (Some(above), Some(below)) = (layer_of(&pair[0]), layer_of(&pair[1]))
            && above > below
        {
            findings.push(format!(
                "root Cargo.toml lists {} ({above}) before {} ({below}): \
                 members are in layer order",
                pair[0], pair[1]
            ));
        }
    }
    findings
}

/// The crate is named after its folder, and the one program `nearscan` is the shell's.
fn check_names(package: &Package) -> Vec<String> {
    let mut findings = Vec::new();
    let last = package.folder.rsplit('/').next().unwrap_or(&package.folder).replace('_', "-");
    let expected = match package.folder.as_str() {
        ENGINE => "nearscan".to_owned(),
        TASKS => TASKS.to_owned(),
        _ => format!("nearscan-{last}"),
    };
    if package.name != expected {
        findings.push(format!(
            "{} is in {}: a crate there is named {expected}",
            package.name, package.folder
        ));
    }
    if package.folder != SHELL && package.programs.iter().any(|program| program == "nearscan") {
        findings.push(format!(
            "{} has a program named nearscan: the only one of that name is in {SHELL}",
            package.name
        ));
    }
    findings
}

fn check_import(
    package: &Package,
    layer: Layer,
    dependency: &Dependency,
    folder: &str,
) -> Option<String> {
    let Some(imported) = layer_of(folder) else {
        return Some(format!(
            "{} ({layer}) imports {} from {folder}, which has no place in the table of layers",
            package.name, dependency.name
        ));
    };
    let rule = RULES.iter().find(|rule| rule.layer == layer)?;
    let is_in = |table: &[(&str, &[&str])]| {
        let row = table.iter().find(|(crate_folder, _)| *crate_folder == package.folder);
        row.is_some_and(|(_, folders)| folders.contains(&folder))
    };
    if [ARCHIVE, SKIP].contains(&folder) && !is_in(BEYOND) {
        return check_helper(package, dependency.kind, folder);
    }
    if folder == CONFORMANCE && !is_in(BEYOND) {
        return check_conformance(package, layer, dependency.kind, imported);
    }
    let is_test = dependency.kind == Kind::Development;
    // A crate imports itself for its tests to have its optional features.
    if is_test && folder == package.folder {
        return None;
    }
    let is_beyond = is_in(BEYOND) || (is_test && is_in(BEYOND_IN_TESTS));
    if rule.imports.contains(&imported) || rule.also.contains(&folder) || is_beyond {
        return None;
    }
    Some(format!(
        "{} ({layer}) imports {} ({imported}): {}",
        package.name,
        dependency.name,
        allowance(rule)
    ))
}

fn check_conformance(
    package: &Package,
    layer: Layer,
    kind: Kind,
    conformance: Layer,
) -> Option<String> {
    if kind != Kind::Development {
        return Some(format!(
            "{} ({layer}) imports the conformance suite outside of tests: \
             it is allowed as a development dependency only",
            package.name
        ));
    }
    (layer < conformance).then(|| {
        format!(
            "{} ({layer}) tests with the conformance suite ({conformance}): \
             only crates from {conformance} upward may",
            package.name
        )
    })
}

fn check_helper(package: &Package, kind: Kind, folder: &str) -> Option<String> {
    (kind != Kind::Development).then(|| {
        format!("{} imports {folder} outside of tests: it is for tests only", package.name)
    })
}

/// "only L0 L1 L2 are allowed", for a message.
fn allowance(rule: &Rule) -> String {
    let names: Vec<String> = rule
        .imports
        .iter()
        .map(Layer::to_string)
        .chain(rule.also.iter().map(|folder| (*folder).to_owned()))
        .collect();
    match names.as_slice() {
        [] => "nothing of ours is allowed".to_owned(),
        [one] => format!("only {one} is allowed"),
        _ => format!("only {} are allowed", names.join(" ")),
    }
}

fn check_outside(package: &Package, layer: Layer, dependency: &Dependency) -> Option<String> {
    let rule = OUTSIDE
        .iter()
        .find(|rule| rule.crates.iter().any(|pattern| is_match(pattern, &dependency.name)))?;
    if rule.scope == Scope::Shipped && dependency.kind == Kind::Development {
        return None;
    }
    let (allowed, places) = match &rule.allowed {
        Allowed::Layers(layers) => {
            let names: Vec<String> = layers.iter().map(Layer::to_string).collect();
            (layers.contains(&layer), names.join(" "))
        }
        Allowed::Folders(folders) => {
            (folders.contains(&package.folder.as_str()), folders.join(" "))
        }
    };
    (!allowed).then(|| {
        format!(
            "{} ({layer}) imports {}: allowed in {places} ({})",
            package.name, dependency.name, rule.reason
        )
    })
}

fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn layer_of(folder: &str) -> Option<Layer> {
    PLACES.iter().find(|(place, _)| *place == folder).map(|(_, layer)| *layer)
}

#[cfg(test)]
mod tests;
