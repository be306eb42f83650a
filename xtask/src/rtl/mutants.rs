// SPDX-License-Identifier: Apache-2.0
//! Applies the deliberate bugs of the modules, one at a time, to copies of their sources: the bench
//! has to fail each time.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};

use super::{
    Shop,
    bench::{self, Warnings},
    description::{Module, Mutant},
};

/// Applies every mutant of the modules; fails when one is not detected.
///
/// # Errors
/// When a mutant cannot be applied.
pub(super) fn run(shop: &Shop<'_>, modules: &[&Module]) -> Result<ExitCode> {
    let (mut detected_count, mut total_count) = (0_usize, 0_usize);
    for module in modules {
        for mutant in &module.mutants {
            let is_detected = try_out(shop, module, mutant)?;
            let outcome = if is_detected { "detected" } else { "MISSED" };
            println!("{}: {}: {outcome}", module.name, mutant.what);
            detected_count += usize::from(is_detected);
            total_count += 1;
        }
    }
    println!("{detected_count} of {total_count} mutants detected");
    let is_whole = detected_count == total_count;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the bench detects a mutant. One that does not build is not detected: it shows nothing.
fn try_out(shop: &Shop<'_>, module: &Module, mutant: &Mutant) -> Result<bool> {
    let folder = shop.folder.join("mutants").join(&module.name);
    let sources = folder.join("src");
    std::fs::create_dir_all(&sources).context("cannot create the folder of the mutant")?;
    for name in &module.sources {
        let text = std::fs::read_to_string(shop.path("src").join(name))
            .with_context(|| format!("cannot read {name}"))?;
        let text = if *name == mutant.file { apply(mutant, &text)? } else { text };
        write_if_changed(&sources.join(name), &text)?;
    }
    let program = bench::build(shop, module, &sources, Warnings::AreIgnored, &folder)
        .with_context(|| format!("the mutant `{}` does not build", mutant.what))?;
    let output = shop.project.command(&program.to_string_lossy()).output();
    Ok(!output.context("cannot start the bench")?.status.success())
}

fn apply(mutant: &Mutant, text: &str) -> Result<String> {
    let count = text.matches(&mutant.find).count();
    ensure!(count == 1, "{}: what it replaces occurs {count} times", mutant.what);
    Ok(text.replacen(&mutant.find, &mutant.replace, 1))
}

/// Verilator goes by the times of files.
fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutant_has_exactly_one_place() {
        let mutant = Mutant {
            what: "x".to_owned(),
            file: "a.sv".to_owned(),
            find: "b".to_owned(),
            replace: "c".to_owned(),
        };
        assert_eq!(apply(&mutant, "abd").unwrap(), "acd");
        assert!(apply(&mutant, "abb").is_err());
        assert!(apply(&mutant, "a").is_err());
    }
}
