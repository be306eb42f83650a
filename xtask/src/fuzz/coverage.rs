// SPDX-License-Identifier: Apache-2.0
//! Runs coverage-guided fuzzing of the targets in `fuzz/targets`.
//!
//! Programs are built on stable Rust: the compiler's own pass counts edges in our crates
//! (`fuzz/targets/rustc_with_coverage`), clang counts those of the kernels' C++ and adds address
//! and undefined-behaviour sanitizers, and clang's libFuzzer is linked. They are built in a folder
//! of their own, so that no other build is thrown away.
//!
//! Each target starts from its committed corpus, which is an archive and is unpacked to
//! `fuzz/committed` in the target folder. What it finds beside goes to `fuzz/corpus` there, crashes
//! to `fuzz/crashes`, what libFuzzer says to `fuzz/log`; all stay there for the next run.
//! `--minimise` packs the smallest inputs that reach the same edges into the committed corpus.

mod corpus;

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use nearscan_archive::Archive;

use crate::{
    project::{self, Project},
    test::{Install, packages},
};

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Targets to run; all unless given
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
    /// Instead of running, keep in the committed corpora what reaches the same edges
    #[arg(long)]
    minimise: bool,
    /// Install nothing
    #[arg(long)]
    no_install: bool,
}

/// A program to run.
struct Target {
    name: &'static str,
    needs_engine: bool,
    /// Bytes of an input, at most.
    bytes_max: u32,
}

const TARGETS: &[Target] = &[
    Target { name: "command", needs_engine: false, bytes_max: 4096 },
    Target { name: "scan", needs_engine: false, bytes_max: 6144 },
    Target { name: "merge", needs_engine: false, bytes_max: 6144 },
    Target { name: "drives", needs_engine: false, bytes_max: 6144 },
    Target { name: "pages", needs_engine: false, bytes_max: 128 },
    Target { name: "messages", needs_engine: false, bytes_max: 1024 },
    Target { name: "packages", needs_engine: false, bytes_max: 8192 },
    Target { name: "handlers", needs_engine: false, bytes_max: 512 },
    Target { name: "commands", needs_engine: false, bytes_max: 1024 },
    Target { name: "heads", needs_engine: false, bytes_max: 1024 },
    Target { name: "sql", needs_engine: true, bytes_max: 97 },
    Target { name: "arguments", needs_engine: true, bytes_max: 128 },
    Target { name: "files", needs_engine: true, bytes_max: 64 },
];

/// Seconds after which one input counts as a hang.
const INPUT_SECONDS_MAX: u32 = 25;
/// Memory that a process, and one allocation, may take: nothing that an input requests is larger.
const MEMORY_MIB_MAX: u32 = 4096;
const ALLOCATION_MIB_MAX: u32 = 1024;

/// The profile in `Cargo.toml` with the optimisation and the checks of fuzz targets.
const PROFILE: &str = "fuzz";
/// Sanitizers of the kernels' C++.
const SANITIZERS: &str = "-fsanitize=address,undefined";
/// Bytes of a committed corpus, at most: all of them stay below 200 kB.
const CORPUS_BYTES_MAX: u64 = 28_000;
/// Leaks of what libFuzzer itself keeps would end each run; an allocation that is too large is
/// found by its limit.
const ADDRESS_OPTIONS: &str = "detect_leaks=0:allocator_may_return_null=1";

/// Builds and runs; the exit code is 1 when a target crashed.
///
/// # Errors
/// When the tools are missing, a target is unknown or does not build.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let targets = chosen(&options.targets)?;
    let install = if options.no_install { Install::Forbidden } else { Install::Allowed };
    ensure!(packages::provide_fuzzer(project, install)?, "clang with its libFuzzer is missing");
    let build = Build::new(project);
    build.run(&targets)?;
    if options.minimise {
        targets.iter().try_for_each(|target| build.minimise(target))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut crashed = false;
    println!("| target | executions | edges at the start | edges | features | crash |");
    println!("|---|---:|---:|---:|---:|---|");
    for target in targets {
        let report = build.fuzz(target, options.seconds)?;
        println!("{}", report.row(target.name));
        crashed |= report.crash.is_some();
    }
    Ok(if crashed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let target = |name: &String| {
        TARGETS.iter().find(|target| target.name == name).with_context(|| {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            format!("there is no target {name}; there are {}", known.join(", "))
        })
    };
    names.iter().map(target).collect()
}

/// The build of the targets, and the folder for their files.
struct Build<'a> {
    project: &'a Project,
    folder: PathBuf,
}

impl<'a> Build<'a> {
    fn new(project: &'a Project) -> Self {
        Self { project, folder: project.target_folder().join("fuzz") }
    }

    fn run(&self, targets: &[&Target]) -> Result<()> {
        // One call for those without the engine: features of others must not change what they are.
        for needs_engine in [false, true] {
            let chosen = targets.iter().filter(|target| target.needs_engine == needs_engine);
            let programs: Vec<String> = chosen.map(|target| program(target)).collect();
            if programs.is_empty() {
                continue;
            }
            let features = if needs_engine { "libfuzzer,sql" } else { "libfuzzer" };
            let mut command = self.cargo(&["build", "--locked", "-p", "nearscan-targets"]);
            command.args(["--profile", PROFILE, "--features", features]);
            command.args(programs.iter().flat_map(|program| ["--bin", program]));
            project::run(&mut command)?;
        }
        Ok(())
    }

    /// Cargo with all that makes it build for libFuzzer.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let coverage = "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls";
        let cpp = format!("-g1 {SANITIZERS} -fno-sanitize-recover=all {coverage}");
        let wrapper = self.project.root().join("fuzz/targets/rustc_with_coverage");
        let mut command = self.project.cargo(arguments);
        command
            .env("CARGO_TARGET_DIR", &self.folder)
            .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
            .env("CXX", "clang++")
            .env("CXXFLAGS", cpp);
        command
    }

    fn made(&self, folder: &str) -> Result<PathBuf> {
        let folder = self.folder.join(folder);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// The committed corpus, packed.
    fn committed(&self, target: &Target) -> PathBuf {
        let folder = self.project.root().join("fuzz/targets/corpus");
        folder.join(target.name).with_extension("tsv")
    }

    /// A folder with the committed corpus, and nothing else; a new target has none yet.
    fn unpacked(&self, target: &Target) -> Result<PathBuf> {
        let folder = self.made(&format!("committed/{}", target.name))?;
        let packed = self.committed(target);
        let corpus = if packed.exists() { Archive::read(&packed)? } else { Archive::default() };
        corpus.unpack(&folder)?;
        Ok(folder)
    }

    /// A program with the limits that all runs have.
    fn program(&self, target: &Target) -> Command {
        let path = self.folder.join(PROFILE).join(program(target));
        let mut command = self.project.command(&path.to_string_lossy());
        command.env("ASAN_OPTIONS", ADDRESS_OPTIONS);
        command.arg(format!("-max_len={}", target.bytes_max));
        command.arg("-len_control=0");
        command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
        // Inputs that are slower than usual, but not too slow, would be kept beside the crashes.
        command.arg(format!("-report_slow_units={INPUT_SECONDS_MAX}"));
        command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
        command.arg(format!("-malloc_limit_mb={ALLOCATION_MIB_MAX}"));
        command
    }

    /// The option that says where inputs go that crash.
    fn crashes(&self, target: &Target) -> Result<String> {
        let prefix = self.made("crashes")?.join(format!("{}-", target.name));
        Ok(format!("-artifact_prefix={}", prefix.display()))
    }

    fn fuzz(&self, target: &Target, seconds: u32) -> Result<Report> {
        let found = self.made(&format!("corpus/{}", target.name))?;
        let path = self.made("log")?.join(target.name);
        let log =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut command = self.program(target);
        command.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
        command.arg(self.crashes(target)?);
        command.args([&found, &self.unpacked(target)?]);
        command.stdout(log.try_clone()?).stderr(log);
        let status = command.status().with_context(|| format!("cannot start {}", target.name))?;
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let mut report = Report::read(&text);
        if !status.success() && report.crash.is_none() {
            report.crash = Some(format!("{status}, see {}", path.display()));
        }
        Ok(report)
    }

    /// Replaces the committed corpus by a small one of it and of what runs have found: the inputs
    /// that reach the most edges for their bytes.
    ///
    /// # Errors
    /// When an input crashes, too: it would be dropped, so the committed corpus stays as it is.
    fn minimise(&self, target: &Target) -> Result<()> {
        let committed = self.unpacked(target)?;
        let found = self.made(&format!("corpus/{}", target.name))?;
        let merged = self.made(&format!("minimised/{}", target.name))?;
        clear(&merged)?;
        let control = self.folder.join(format!("minimised/{}.control", target.name));
        drop(std::fs::remove_file(&control));
        let mut command = self.program(target);
        // Without counts an edge that is reached is one, however often.
        command.args(["-merge=1", "-set_cover_merge=1", "-use_counters=0"]);
        command.arg(format!("-merge_control_file={}", control.display()));
        command.arg(self.crashes(target)?);
        project::run(command.args([&merged, &committed, &found]))?;
        let notes = std::fs::read_to_string(&control)?;
        let crashing = corpus::crashing(&notes);
        ensure!(crashing.is_empty(), "{}: these crash: {}", target.name, crashing.join(", "));
        let kept = corpus::choose(&notes, CORPUS_BYTES_MAX);
        packed(&kept, &merged)?.write(&self.committed(target))?;
        println!("{}: {} inputs", target.name, kept.len());
        Ok(())
    }
}

fn program(target: &Target) -> String {
    format!("fuzz_{}", target.name)
}

/// The files, by their names, which `folder` then holds alone.
fn packed(files: &[String], folder: &Path) -> Result<Archive> {
    clear(folder)?;
    for file in files {
        let name = Path::new(file).file_name().context("a file without a name")?;
        std::fs::copy(file, folder.join(name)).with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(Archive::pack(folder)?)
}

fn clear(folder: &Path) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let file = entry?.path();
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}

/// The figures of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    executions: u64,
    edges_first: u64,
    edges: u64,
    features: u64,
    /// The path of the input that ended the run.
    crash: Option<String>,
}

impl Report {
    /// Reads what libFuzzer prints.
    fn read(text: &str) -> Self {
        let mut report = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let behind = |name: &str| {
                let at = words.iter().position(|word| *word == name)?;
                words.get(at + 1)?.parse::<u64>().ok()
            };
            if let (Some(edges), Some(features)) = (behind("cov:"), behind("ft:")) {
                if words.get(1) == Some(&"INITED") {
                    report.edges_first = edges;
                }
                (report.edges, report.features) = (edges, features);
                let number = words.first().and_then(|word| word.strip_prefix('#'));
                report.executions =
                    number.and_then(|number| number.parse().ok()).unwrap_or(report.executions);
            }
            if let Some(executions) = behind("stat::number_of_executed_units:") {
                report.executions = executions;
            }
            // One that is only slow is written down too, and the run goes on.
            let written = line.split_once("Test unit written to ").map(|(_, path)| path.trim());
            if let Some(path) = written.filter(|path| !path.contains("-slow-unit-")) {
                report.crash = Some(path.to_owned());
            }
        }
        report
    }

    /// A row of the table.
    fn row(&self, name: &str) -> String {
        let Self { executions, edges_first, edges, features, crash } = self;
        let crash = crash.as_deref().unwrap_or("none");
        format!("| {name} | {executions} | {edges_first} | {edges} | {features} | {crash} |")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
INFO: seed corpus: files: 2 min: 1b max: 9b total: 10b rss: 40Mb
#3\tINITED cov: 120 ft: 130 corp: 2/10b exec/s: 0 rss: 40Mb
#900\tNEW    cov: 125 ft: 140 corp: 3/14b lim: 9 exec/s: 0 rss: 41Mb L: 4/9 MS: 1 CopyPart-
";

    #[test]
    fn reads_how_far_a_run_came() {
        let running = Report::read(LOG);
        assert_eq!((running.executions, running.edges_first), (900, 120));
        assert_eq!((running.edges, running.features, running.crash), (125, 140, None));
        let done = Report::read(&format!("{LOG}stat::number_of_executed_units: 1000\n"));
        assert_eq!(done.row("scan"), "| scan | 1000 | 120 | 125 | 140 | none |");
    }

    #[test]
    fn names_the_input_that_ended_a_run() {
        let written = |path| format!("artifact_prefix='a/b-'; Test unit written to {path}\n");
        let [slow, crash, hang] =
            ["a/b-slow-unit-0f", "a/b-crash-0f", "a/b-timeout-0f"].map(written);
        let crash_of = |lines: &[&str]| Report::read(&format!("{LOG}{}", lines.concat())).crash;
        assert_eq!(crash_of(&[&crash]).as_deref(), Some("a/b-crash-0f"));
        assert_eq!(crash_of(&[&slow, &hang]).as_deref(), Some("a/b-timeout-0f"));
        // A slow one ends no run.
        assert_eq!(crash_of(&[&slow]), None);
    }

    #[test]
    fn every_target_starts_from_its_committed_corpus() {
        let project = Project::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let build = Build { project: &project, folder: folder.path().to_owned() };
        for target in TARGETS {
            let committed = Archive::read(&build.committed(target)).unwrap();
            assert!(committed.files().len() > 0, "{}", target.name);
            let unpacked = build.unpacked(target).unwrap();
            assert_eq!(Archive::pack(&unpacked).unwrap(), committed, "{}", target.name);
        }
    }

    #[test]
    fn small_corpus_is_packed_from_what_was_kept() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(name);
        for folder in ["committed", "found", "merged"] {
            std::fs::create_dir(file(folder)).unwrap();
            std::fs::write(file(folder).join(folder), folder).unwrap();
        }
        let kept = ["committed/committed", "found/found"];
        let kept = kept.map(|name| file(name).to_str().unwrap().to_owned());
        let packed = packed(&kept, &file("merged")).unwrap();
        let expected = [("committed", &b"committed"[..]), ("found", b"found")];
        assert_eq!(packed.files().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn refuses_an_unknown_target() {
        assert_eq!(chosen(&[]).unwrap().len(), TARGETS.len());
        let error = chosen(&["sacn".to_owned()]).err().unwrap();
        assert!(error.to_string().starts_with("there is no target sacn; there are command, scan"));
    }
}
