// SPDX-License-Identifier: Apache-2.0
//! Tests the modules of `fpga_kernels/rtl` in SystemVerilog, and keeps what is measured of them.
//!
//! For each module: its wrapper is generated, Verilator builds the bench against the C++ of the HLS
//! stage and runs it, and Yosys synthesises the module. Cycles and resources are compared with
//! `modules.toml`, from which the table of `docs/rtl.md` is made. Nothing is placed or routed.
//!
//! Two threads work side by side, one on the benches and one on the syntheses. A synthesis whose
//! sources are the same as last time is not done again.

mod bench;
mod description;
mod figures;
mod mutants;
mod page;
mod synthesis;
mod waveform;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;

use self::{description::Module, figures::Figures};
use crate::{
    project::{self, Project},
    test::{Install, packages, python},
};

/// The folder of the modules, relative to the root.
const FOLDER: &str = "fpga_kernels/rtl";

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Modules; all of them without a name
    modules: Vec<String>,
    /// Write nothing, and fail if the page is not as it should be
    #[arg(long, conflicts_with_all = ["bless", "mutants"])]
    check: bool,
    /// Take what is measured as what it has to be
    #[arg(long)]
    bless: bool,
    /// Apply the deliberate bugs of the modules, and see whether the benches detect them
    #[arg(long, conflicts_with = "bless")]
    mutants: bool,
    /// Test the plain Verilog that Yosys makes of a module, instead of its sources
    #[arg(long)]
    plain: bool,
}

/// The tools, and where they work.
#[derive(Debug)]
struct Shop<'a> {
    project: &'a Project,
    /// Has pyosys, jsonschema and wavedrom.
    python: PathBuf,
    /// Below the target folder.
    folder: PathBuf,
}

impl Shop<'_> {
    /// Returns a command that runs a script of the folder of the modules.
    fn script(&self, name: &str) -> Command {
        let mut command = self.project.command(&self.python.to_string_lossy());
        command.arg(self.path(name));
        command
    }

    /// Returns the folder that has one of each black box.
    fn black_boxes(&self) -> PathBuf {
        self.folder.join("black_boxes")
    }

    /// Returns a path in the folder of the modules, absolute.
    fn path(&self, name: &str) -> PathBuf {
        self.project.root().join(FOLDER).join(name)
    }
}

/// Runs the command.
///
/// # Errors
/// When a tool is missing, a bench fails, or a figure is not what `modules.toml` says.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let shop = open(project)?;
    let all = description::read(project)?;
    let chosen = choose(&all, &options.modules)?;
    if options.mutants {
        return mutants::run(&shop, &chosen);
    }
    let measured = measure(&shop, &chosen, options.plain)?;
    let mut kept = figures::read(project)?;
    if options.bless {
        kept.retain(|figures| all.iter().any(|module| module.name == figures.module));
        figures::replace(&mut kept, &measured);
        figures::write(project, &kept)?;
    }
    let complaints = figures::compare(&kept, &measured);
    for complaint in &complaints {
        println!("rtl: {complaint}");
    }
    ensure!(
        complaints.is_empty(),
        "{} figures are not as in modules.toml; `cargo xtask rtl --bless` takes them",
        complaints.len()
    );
    let mut stale: Vec<String> =
        page::update(project, &all, &kept, options.check)?.into_iter().collect();
    for module in all.iter().filter(|module| module.waveform && is_chosen(module, &chosen)) {
        stale.extend(waveform::update(&shop, module, options.check)?);
    }
    ensure!(stale.is_empty(), "stale: {}; run `cargo xtask rtl`", stale.join(", "));
    println!("rtl: {} modules, all as in modules.toml", chosen.len());
    Ok(ExitCode::SUCCESS)
}

/// Writes what the HLS tool needs of a module, with the figures of `modules.toml`, and returns the
/// folder of all black boxes.
///
/// # Errors
/// When a tool is missing, there is no such module, or a file cannot be written.
pub(crate) fn provide_black_box(project: &Project, name: &str) -> Result<PathBuf> {
    let shop = open(project)?;
    let all = description::read(project)?;
    let names = [name.to_owned()];
    let kept = figures::read(project)?;
    let figures = kept.iter().find(|figures| figures.module == name);
    let figures = figures.with_context(|| format!("{name} was never measured"))?;
    for module in choose(&all, &names)? {
        write_black_box(&shop, module, figures)?;
    }
    Ok(shop.black_boxes())
}

fn is_chosen(module: &Module, chosen: &[&Module]) -> bool {
    chosen.iter().any(|other| other.name == module.name)
}

fn open(project: &Project) -> Result<Shop<'_>> {
    let missing = packages::provide_simulator(project, Install::Allowed)?;
    ensure!(missing.is_empty(), "needs {}", missing.join(", "));
    let python = match project::environment("NEARSCAN_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => python::provide(project, Install::Allowed).context("needs packages of Python")?,
    };
    let folder = project.target_folder().join("rtl");
    std::fs::create_dir_all(&folder).context("cannot create the folder of the builds")?;
    Ok(Shop { project, python, folder })
}

fn choose<'a>(all: &'a [Module], names: &[String]) -> Result<Vec<&'a Module>> {
    for name in names {
        ensure!(all.iter().any(|module| module.name == *name), "{name} is no module");
    }
    let is_wanted = |module: &&Module| names.is_empty() || names.contains(&module.name);
    Ok(all.iter().filter(is_wanted).collect())
}

/// Tests and synthesises the modules.
fn measure(shop: &Shop<'_>, modules: &[&Module], is_plain: bool) -> Result<Vec<Figures>> {
    let (benches, syntheses) = std::thread::scope(|scope| {
        let syntheses = scope
            .spawn(|| modules.iter().map(|module| synthesis::of(shop, module)).collect::<Vec<_>>());
        let benches: Vec<_> =
            modules.iter().map(|module| bench::run(shop, module, is_plain)).collect();
        (benches, syntheses.join())
    });
    let syntheses = syntheses.map_err(|_panic| anyhow!("the thread of the syntheses panicked"))?;
    let mut failed = Vec::new();
    let mut measured = Vec::new();
    for ((module, counted), resources) in modules.iter().zip(benches).zip(syntheses) {
        match (counted, resources) {
            (Ok(counted), Ok(resources)) => {
                let figures = Figures::new(module, counted, resources);
                write_black_box(shop, module, &figures)?;
                measured.push(figures);
            }
            (counted, resources) => {
                for error in [counted.err(), resources.err()].into_iter().flatten() {
                    println!("rtl: {}: {error:#}", module.name);
                }
                failed.push(module.name.as_str());
            }
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(measured)
}

/// Writes what the HLS tool needs of a module to the target folder: plain Verilog, the wrapper, the
/// description with the figures, and the model in C++.
fn write_black_box(shop: &Shop<'_>, module: &Module, figures: &Figures) -> Result<()> {
    let folder = shop.black_boxes().join(&module.name);
    std::fs::create_dir_all(&folder).context("cannot create the folder of the black box")?;
    let verilog = format!("{}.v", module.name);
    if !synthesis::is_fresh(shop, module, &folder)? {
        let mut command = shop.script("synthesise.py");
        command.arg(shop.path(&module.file())).arg("--verilog").arg(folder.join(&verilog));
        project::run(&mut command)?;
        synthesis::stamp(shop, module, &folder)?;
    }
    let numbers = folder.join("figures.json");
    std::fs::write(&numbers, figures.as_json()).context("cannot write the figures")?;
    wrap(shop, module, &folder, |command| {
        command.arg("--plain").args(["--rtl", &verilog]).arg("--figures").arg(&numbers);
    })?;
    for name in [format!("models/{}.cpp", module.name), "models/token.hpp".to_owned()] {
        let file = Path::new(&name).file_name().context("a path without a name")?;
        std::fs::copy(shop.path(&name), folder.join(file))
            .with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}

/// Generates the wrapper of a module.
fn wrap(
    shop: &Shop<'_>,
    module: &Module,
    folder: &Path,
    options: impl Fn(&mut Command),
) -> Result<()> {
    let mut command = shop.script("wrap.py");
    command.arg(shop.path(&module.file())).arg(folder);
    options(&mut command);
    project::run(&mut command)
}
