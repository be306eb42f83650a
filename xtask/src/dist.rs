// SPDX-License-Identifier: Apache-2.0
//! Builds the program for distribution: optimised across crates, stripped, and for any Linux of the
//! same architecture.
//!
//! It is linked dynamically against glibc alone. The C++ and compiler runtimes are in the program;
//! what is loaded at run time, as XRT is, is not linked.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::project::{self, Project};

/// Libraries of glibc.
const GLIBC: &[&str] = &[
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Build with this profile, which is faster to build
    #[arg(long, default_value = "dist")]
    profile: String,
}

/// Builds the program, strips it, checks what it needs, and prints where it is and its size.
///
/// # Errors
/// When it cannot be built, or needs a library that is none of glibc.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    let profile = options.profile.as_str();
    let arguments = [
        "build",
        "--locked",
        "--package",
        "nearscan-shell",
        "--features",
        "applications",
        "--profile",
        profile,
    ];
    project::run(project.cargo(&arguments).env("NEARSCAN_STATIC_RUNTIME", "1"))?;
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    let built = project.target_folder().join(folder).join("nearscan");
    let stripped = project.target_folder().join("dist").join("nearscan-stripped");
    std::fs::create_dir_all(stripped.parent().context("a file is in a folder")?)?;
    project::run(project.command("strip").arg("-o").arg(&stripped).arg(&built))?;
    check(project, &stripped)?;
    let bytes = std::fs::metadata(&stripped)?.len();
    println!("{}: {:.1} MB", stripped.display(), bytes as f64 / 1e6);
    Ok(())
}

/// Refuses a program that needs a library beside glibc.
fn check(project: &Project, program: &Path) -> Result<()> {
    let header = project::output(project.command("readelf").arg("--dynamic").arg(program))?;
    let foreign = foreign(&header);
    ensure!(foreign.is_empty(), "{} needs {}", program.display(), foreign.join(", "));
    Ok(())
}

/// The libraries in what `readelf --dynamic` prints that are none of glibc.
fn foreign(header: &str) -> Vec<&str> {
    let needed = header.lines().filter(|line| line.contains("(NEEDED)"));
    let names = needed.filter_map(|line| line.split_once('[')?.1.strip_suffix(']'));
    names.filter(|name| !GLIBC.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_beside_glibc_is_found() {
        let header = " 0x01 (NEEDED)  Shared library: [libstdc++.so.6]\n \
                      0x01 (NEEDED)  Shared library: [libc.so.6]\n \
                      0x1d (RUNPATH) Library runpath: [/lib]\n";
        assert_eq!(foreign(header), ["libstdc++.so.6"]);
    }
}
