// SPDX-License-Identifier: Apache-2.0
//! Builds the bench of a module with Verilator, runs it, and reads its figures.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Shop, description::Module, wrap};
use crate::project;

/// A measured workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) item: String,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) cycles: u64,
}

/// A workload whose cycles were compared with those of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) name: String,
    pub(super) item: String,
    pub(super) items: u64,
    /// As Verilator counts them.
    pub(super) cycles: u64,
    pub(super) cycles_modelled: u64,
    /// What has counted those: the HLS stage, or a rule of the module.
    pub(super) model: String,
    /// Iterations of the HLS stage; 0 where the kernel calls the module in its place.
    pub(super) stage_iterations: u64,
}

/// What a bench found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) workloads: Vec<Workload>,
    /// Those of its cycles with a model.
    pub(super) comparisons: Vec<Comparison>,
    /// Runs of the module, and results of it that were compared.
    pub(super) runs: u64,
    pub(super) vectors: u64,
}

/// What becomes of Verilator's warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Warnings {
    AreErrors,
    /// In a mutant, or in what Yosys writes, there are signals that nobody reads.
    AreIgnored,
}

/// Builds the bench of a module and runs it.
///
/// # Errors
/// When Verilator warns, the bench does not compile, or it fails.
pub(super) fn run(shop: &Shop<'_>, module: &Module, is_plain: bool) -> Result<Counted> {
    let folder = shop.folder.join(if is_plain { "plain" } else { "bench" }).join(&module.name);
    let program = if is_plain {
        build_plain(shop, module, &folder)?
    } else {
        build(shop, module, &shop.path("src"), Warnings::AreErrors, &folder)?
    };
    let text = project::output(&mut shop.project.command(&program.to_string_lossy()))?;
    let counted = parse(&text)?;
    println!("rtl: {}: {} runs, {} results compared", module.name, counted.runs, counted.vectors);
    Ok(counted)
}

/// Builds the bench of a module with the sources in a folder; gives the program.
///
/// # Errors
/// As [`run`].
pub(super) fn build(
    shop: &Shop<'_>,
    module: &Module,
    sources: &Path,
    warnings: Warnings,
    folder: &Path,
) -> Result<PathBuf> {
    wrap(shop, module, &folder.join("generated"), |_command| {})?;
    let files: Vec<PathBuf> = module.sources.iter().map(|name| sources.join(name)).collect();
    verilate(shop, module, &files, warnings, folder)
}

/// Builds it with what Yosys makes of the sources, which has no assertions.
fn build_plain(shop: &Shop<'_>, module: &Module, folder: &Path) -> Result<PathBuf> {
    wrap(shop, module, &folder.join("generated"), |command| {
        command.arg("--plain");
    })?;
    let verilog = folder.join(format!("{}.v", module.name));
    let mut command = shop.script("synthesise.py");
    project::run(command.arg(shop.path(&module.file())).arg("--verilog").arg(&verilog))?;
    verilate(shop, module, &[verilog], Warnings::AreIgnored, folder)
}

fn verilate(
    shop: &Shop<'_>,
    module: &Module,
    sources: &[PathBuf],
    warnings: Warnings,
    folder: &Path,
) -> Result<PathBuf> {
    let name = &module.name;
    let generated = folder.join("generated");
    let objects = folder.join("objects");
    let flags = flags(shop, &generated);
    clear_if_made_otherwise(&objects, &flags)?;
    let mut command = shop.project.command("verilator");
    command.args(["--cc", "--exe", "--build", "-j", "2", "--trace", "--assert", "-Wall", "-O3"]);
    if warnings == Warnings::AreIgnored {
        command.args(["-Wno-fatal", "-Wno-lint"]);
    }
    command.args(["--top-module", &format!("{name}_blackbox"), "-o", "bench", "--Mdir"]);
    command.arg(&objects).arg("-CFLAGS").arg(&flags);
    command.arg(generated.join(format!("{name}_blackbox.v"))).args(sources);
    command.arg(shop.path(&format!("tests/{name}_tb.cpp")));
    command.arg(shop.path(&format!("models/{name}.cpp")));
    command.arg(shop.path("../hls/portable/dataflow.cpp"));
    quietly(&mut command).with_context(|| format!("the bench of {name} does not build"))?;
    Ok(objects.join("bench"))
}

/// Removes objects that were made with other flags, among which are the folders of the checkout:
/// their dependencies name its files.
fn clear_if_made_otherwise(objects: &Path, flags: &str) -> Result<()> {
    let mark = objects.join("flags");
    if fs::read_to_string(&mark).is_ok_and(|made_with| made_with == flags) {
        return Ok(());
    }
    if objects.exists() {
        fs::remove_dir_all(objects)?;
    }
    fs::create_dir_all(objects)?;
    fs::write(&mark, flags).with_context(|| format!("cannot write {}", mark.display()))
}

fn flags(shop: &Shop<'_>, generated: &Path) -> String {
    let folders = [shop.path("tests"), shop.path("models"), shop.path("../hls")];
    // Without -MP a header that was removed would be wanted for the objects of before.
    let mut flags = "-std=c++17 -O1 -MP -Wno-unknown-pragmas -Wno-unused-label".to_owned();
    for folder in folders.iter().map(PathBuf::as_path).chain([generated]) {
        flags.push_str(" -I");
        flags.push_str(&folder.to_string_lossy());
    }
    flags
}

/// Runs a command whose output is only of interest if it fails.
fn quietly(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot be started")?;
    if !output.status.success() {
        let texts = [output.stderr, output.stdout];
        let texts = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        bail!("{}", texts.join("\n"));
    }
    Ok(())
}

/// Reads the lines of JSON that a bench prints.
fn parse(text: &str) -> Result<Counted> {
    let mut counted = Counted::default();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let value: Value = serde_json::from_str(line).context("a line of a bench is no JSON")?;
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let (Some(runs), Some(vectors)) = (number("runs"), number("vectors")) {
            (counted.runs, counted.vectors) = (runs, vectors);
            continue;
        }
        let name = string("workload").context("a line of a bench names no workload")?;
        let item = string("item").context("a line of a bench names no item")?;
        let items = number("items").context("a line of a bench has no items")?;
        let cycles = number("cycles").context("a line of a bench has no cycles")?;
        if let Some(cycles_modelled) = number("cycles_modelled") {
            let model = string("model").context("a line of a bench names no model")?;
            let stage_iterations =
                number("stage_iterations").context("a line of a bench has no iterations")?;
            let compared =
                Comparison { name, item, items, cycles, cycles_modelled, model, stage_iterations };
            counted.comparisons.push(compared);
            continue;
        }
        let bytes = number("bytes").context("a line of a bench has no bytes")?;
        counted.workloads.push(Workload { name, item, items, bytes, cycles });
    }
    ensure!(counted.vectors > 0, "the bench compared nothing");
    ensure!(!counted.workloads.is_empty(), "the bench measured nothing");
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_were_made_with_other_flags_are_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        let object = objects.join("bench.o");
        for (flags, is_kept) in [("-I/a", false), ("-I/a", true), ("-I/b", false)] {
            clear_if_made_otherwise(&objects, flags).unwrap();
            assert_eq!(object.exists(), is_kept, "{flags}");
            fs::write(&object, "").unwrap();
        }
    }

    #[test]
    fn reads_what_a_bench_prints() {
        let text = "{\"workload\": \"a\", \"item\": \"row\", \"items\": 8, \"bytes\": 64, \
                    \"cycles\": 4}\nnoise\n{\"workload\": \"b\", \"item\": \"byte\", \
                    \"items\": 9, \"cycles\": 5, \"cycles_modelled\": 6, \
                    \"model\": \"HLS stage\", \"stage_iterations\": 6}\n\
                    {\"runs\": 2, \"vectors\": 9}\n";
        let counted = parse(text).unwrap();
        assert_eq!((counted.runs, counted.vectors), (2, 9));
        let expected = Workload {
            name: "a".to_owned(),
            item: "row".to_owned(),
            items: 8,
            bytes: 64,
            cycles: 4,
        };
        assert_eq!(counted.workloads, [expected]);
        let expected = Comparison {
            name: "b".to_owned(),
            item: "byte".to_owned(),
            items: 9,
            cycles: 5,
            cycles_modelled: 6,
            model: "HLS stage".to_owned(),
            stage_iterations: 6,
        };
        assert_eq!(counted.comparisons, [expected]);
    }

    #[test]
    fn line_that_lacks_something_is_refused() {
        let whole = "{\"workload\": \"a\", \"item\": \"row\", \"items\": 8, \"cycles\": 4}\n";
        let error = parse(whole).unwrap_err();
        assert_eq!(error.to_string(), "a line of a bench has no bytes");
        let error = parse("{\"workload\": \"a\", \"item\": \"row\"}\n").unwrap_err();
        assert_eq!(error.to_string(), "a line of a bench has no items");
    }

    #[test]
    fn bench_that_compares_nothing_fails() {
        let error = parse("{\"runs\": 2, \"vectors\": 0}\n").unwrap_err();
        assert_eq!(error.to_string(), "the bench compared nothing");
        let error = parse("{\"runs\": 2, \"vectors\": 1}\n").unwrap_err();
        assert_eq!(error.to_string(), "the bench measured nothing");
    }
}
