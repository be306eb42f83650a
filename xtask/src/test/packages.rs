// SPDX-License-Identifier: Apache-2.0
//! Installs packages of the system that tests need.
//!
//! The table names Debian's packages. On another system nothing is installed, and the line that is
//! printed tells at least what to look for.

use std::process::Command;

use anyhow::Result;

use super::Install;
use crate::project::{self, Project};

/// Something that a test calls.
struct Tool {
    /// The name in the skips of tests and suites: `needs NAME`.
    name: &'static str,
    /// Debian's packages that hold it.
    packages: &'static [&'static str],
    /// A command that succeeds when it is there.
    probe: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool { name: "g++", packages: &["g++"], probe: &["g++", "--version"] },
    // Kernels must compile with two compilers; its headers serve the walk over their syntax tree.
    Tool { name: "clang", packages: &["clang"], probe: &["clang++", "--version"] },
    // Applications in C are compiled to WebAssembly. What it needs is seen by linking one.
    Tool {
        name: "wasi-libc",
        packages: &["clang", "lld", "wasi-libc", "libclang-rt-dev-wasm32"],
        probe: &[
            "sh",
            "-c",
            "echo 'double a(double b, int c) { return __builtin_powi(b, c); }' | \
             clang --target=wasm32-wasi -mexec-model=reactor -x c - -o /dev/null",
        ],
    },
    // The runtime of the card, which emulates one; loaded at run time, never linked.
    Tool {
        name: "xrt",
        packages: &["libxrt1"],
        probe: &["sh", "-c", "ls /usr/lib/*/libxrt_swemu.so.2"],
    },
    Tool {
        name: "python3-venv",
        packages: &["python3", "python3-venv"],
        probe: &["python3", "-c", "import ensurepip, venv"],
    },
    VERILATOR,
    // Installs the emulator of blob storage, which runs on Node.
    Tool { name: "npm", packages: &["nodejs", "npm"], probe: &["npm", "--version"] },
];

/// Simulates the modules in SystemVerilog; it writes C++ that make builds.
const VERILATOR: Tool = Tool {
    name: "verilator",
    packages: &["verilator", "g++", "make"],
    probe: &["sh", "-c", "verilator --version && make --version"],
};

/// The libraries that fuzzers are linked with; no test needs them.
const FUZZER: &[Tool] = &[Tool {
    name: "libfuzzer",
    packages: &["clang", "libclang-rt-dev"],
    probe: &["sh", "-c", "ls \"$(clang++ -print-resource-dir)\"/lib/linux/libclang_rt.fuzzer-*.a"],
}];

/// Whether `name` is one of the tools.
pub(super) fn is_known(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name)
}

/// Installs what is missing, if that is allowed and possible; gives the names of what is still
/// missing.
///
/// # Errors
/// Never for a package that cannot be installed: what needs it is skipped.
pub(super) fn provide(project: &Project, install: Install) -> Result<Vec<&'static str>> {
    provide_of(project, install, TOOLS)
}

/// The same for what fuzzers are linked with; gives whether it is there.
///
/// # Errors
/// As [`provide`].
pub(crate) fn provide_fuzzer(project: &Project, install: Install) -> Result<bool> {
    Ok(provide_of(project, install, FUZZER)?.is_empty())
}

/// The same for what simulates modules in SystemVerilog.
///
/// # Errors
/// As [`provide`].
pub(crate) fn provide_simulator(project: &Project, install: Install) -> Result<Vec<&'static str>> {
    const SIMULATOR: &[Tool] = &[VERILATOR];
    provide_of(project, install, SIMULATOR)
}

fn provide_of(
    project: &Project,
    install: Install,
    tools: &'static [Tool],
) -> Result<Vec<&'static str>> {
    let missing = missing(project, tools);
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|tool| tool.packages).copied().collect();
    if install == Install::Allowed && is_root(project) && has_apt(project) {
        println!("installing {}", packages.join(" "));
        if let Err(error) = install_with_apt(project, &packages) {
            println!("cannot install: {error:#}");
        }
    } else {
        println!("missing packages; to install them: {}", install_line(&packages));
    }
    Ok(self::missing(project, tools).iter().map(|tool| tool.name).collect())
}

fn missing(project: &Project, tools: &'static [Tool]) -> Vec<&'static Tool> {
    tools.iter().filter(|tool| !project::succeeds(probe(project, tool))).collect()
}

fn probe(project: &Project, tool: &Tool) -> Command {
    let (program, arguments) = tool.probe.split_first().unwrap_or((&"false", &[]));
    let mut command = project.command(program);
    command.args(arguments);
    command
}

fn install_line(packages: &[&str]) -> String {
    format!("sudo apt-get install -y --no-install-recommends {}", packages.join(" "))
}

fn install_with_apt(project: &Project, packages: &[&str]) -> Result<()> {
    project::run(project.command("apt-get").args(["update", "-qq"]))?;
    let mut command = project.command("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    project::run(command.args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages))
}

fn is_root(project: &Project) -> bool {
    let id = project::output(project.command("id").arg("-u"));
    id.is_ok_and(|id| id.trim() == "0")
}

fn has_apt(project: &Project) -> bool {
    let mut command = project.command("apt-get");
    command.arg("--version");
    project::succeeds(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_probe_and_packages_and_a_name_of_its_own() {
        for tool in TOOLS.iter().chain(FUZZER) {
            assert!(!tool.probe.is_empty() && !tool.packages.is_empty(), "{}", tool.name);
            let all = TOOLS.iter().chain(FUZZER);
            assert_eq!(all.filter(|other| other.name == tool.name).count(), 1);
        }
    }

    #[test]
    fn probe_detects_whether_a_program_is_installed() {
        let project = Project::open().unwrap();
        let tool = |probe| Tool { name: "x", packages: &["x"], probe };
        assert!(project::succeeds(probe(&project, &tool(&["git", "--version"]))));
        assert!(!project::succeeds(probe(&project, &tool(&["git", "no-such-command"]))));
        assert!(!project::succeeds(probe(&project, &tool(&["no-such-program"]))));
    }

    #[test]
    fn prints_one_line_that_installs() {
        let line = install_line(&["g++", "clang"]);
        assert_eq!(line, "sudo apt-get install -y --no-install-recommends g++ clang");
    }
}
