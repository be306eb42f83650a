// SPDX-License-Identifier: Apache-2.0
//! The SQL tests, as tests of libtest: `SETTING::FOLDER/FILE`, for example
//! `emulated::aggregate/count_filter`.
//!
//! ```text
//! cargo test -p nearscan-sqllogictest --test slt -- cpu::join      # a part
//! cargo test -p nearscan-sqllogictest --test slt -- --list         # all names
//! ```
//!
//! A setting whose drive this build does not have is ignored, with the reason. The last lines count
//! files, queries and units of work per setting. A whole run of a setting with a drive in which not
//! one unit ran on the drive fails: it would be the `cpu` setting under another name.

#![expect(clippy::print_stdout, reason = "a test harness reports on standard output")]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::{Arc, Mutex, OnceLock},
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use nearscan_sqllogictest::{
    data::Data,
    rules,
    settings::{DRIVE_SETTINGS, DriveSetting, Unavailable},
    suite::{self, Counts, TestFile},
};
use tokio::runtime::Runtime;

/// The outcome of a setting: counts of its files, or the reason why it could not run.
struct Tally {
    setting: &'static DriveSetting,
    file_count: u64,
    result: Result<Arc<Mutex<Counts>>, Unavailable>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Before there are threads. Paths in queries are relative to it.
    std::fs::create_dir_all(data_folder()).expect("a folder for the data");
    std::env::set_current_dir(data_folder()).expect("the folder of the data");
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let files = suite::files(&source_folder().join("slt")).expect("the folder of tests");
    assert!(!files.is_empty(), "there are no tests");

    let mut trials = vec![expectations_trial(), data_trial()];
    trials.extend(files.iter().cloned().map(rules_trial));
    let mut tallies = Vec::new();
    for setting in &DRIVE_SETTINGS {
        let files: Vec<&TestFile> = files.iter().filter(|file| setting.takes(&file.name)).collect();
        let tally = Tally {
            setting,
            file_count: u64::try_from(files.len()).unwrap_or(u64::MAX),
            result: runtime.block_on(setting.probe()).map(|()| Arc::default()),
        };
        for file in files.into_iter().cloned() {
            trials.push(match &tally.result {
                Ok(counts) => file_trial(file, setting, &runtime, counts),
                Err(unavailable) => ignored_trial(&file, setting, unavailable, &arguments),
            });
        }
        tallies.push(tally);
    }

    let conclusion = libtest_mimic::run(&arguments, trials);
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    let is_sound: Vec<bool> = tallies.iter().map(report).collect();
    if is_sound.contains(&false) { ExitCode::FAILURE } else { conclusion.exit_code() }
}

/// A file under a setting that is there.
fn file_trial(
    file: TestFile,
    setting: &'static DriveSetting,
    runtime: &Arc<Runtime>,
    counts: &Arc<Mutex<Counts>>,
) -> Trial {
    let (runtime, counts) = (Arc::clone(runtime), Arc::clone(counts));
    Trial::test(name(setting, &file), move || {
        let found = runtime.block_on(suite::run(&file, setting, data()?))?;
        counts.lock().expect("counting does not panic").add(found);
        Ok(())
    })
}

/// A file under a setting that is not there.
///
/// The flag is for those who only list tests, to run each in its own process. It is not set
/// otherwise, for a flagged test is ignored without a reason.
fn ignored_trial(
    file: &TestFile,
    setting: &DriveSetting,
    unavailable: &Unavailable,
    arguments: &Arguments,
) -> Trial {
    let reason = unavailable.reason.clone();
    Trial::ignorable_test(name(setting, file), move || Ok(Completion::ignored_with(reason)))
        .with_ignored_flag(arguments.list || arguments.ignored)
}

fn name(setting: &DriveSetting, file: &TestFile) -> String {
    format!("{}::{}", setting.name, file.name)
}

/// A file against the rules for files.
fn rules_trial(file: TestFile) -> Trial {
    Trial::test(format!("rules::{}", file.name), move || {
        let findings = rules::check(&suite::records(&file)?);
        if findings.is_empty() { Ok(()) } else { Err(Failed::from(findings.join("\n"))) }
    })
}

/// All expected results against DuckDB and the stored answers, where there is a Python for it.
fn expectations_trial() -> Trial {
    Trial::ignorable_test("expectations::are_those_of_duckdb", || {
        let Some(python) = python() else { return Ok(Completion::ignored_with("needs python")) };
        let mut command = script(&python, "generate.py");
        succeed(command.arg("--check").arg("--data").arg(data()?.folder()))
    })
}

/// The committed files against what the program that wrote them writes today.
fn data_trial() -> Trial {
    Trial::ignorable_test("data::is_what_make_data_writes", || {
        let Some(python) = python() else { return Ok(Completion::ignored_with("needs python")) };
        succeed(script(&python, "shapes/make_data.py").arg("--check"))
    })
}

/// A Python program of this folder.
fn script(python: &str, path: &str) -> Command {
    let mut command = Command::new(python);
    // Bytecode of a script would be beside it, in the project.
    command.arg("-B").arg(source_folder().join(path));
    command
}

/// Runs a program; a failure is what it printed.
fn succeed(command: &mut Command) -> Result<Completion, Failed> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(Completion::Completed);
    }
    let text = [output.stdout, output.stderr].concat();
    Err(Failed::from(String::from_utf8_lossy(&text).into_owned()))
}

/// The interpreter that has the packages of the tests.
fn python() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "CONTRIBUTING.md: the interpreter of the tests")]
    std::env::var("NEARSCAN_PYTHON").ok()
}

/// Prints what a setting did; returns whether it was what its name says.
fn report(tally: &Tally) -> bool {
    let name = tally.setting.name;
    let counts = match &tally.result {
        Ok(counts) => *counts.lock().expect("counting does not panic"),
        Err(unavailable) => {
            println!("{name}: ignored ({unavailable})");
            return true;
        }
    };
    let Counts { files, queries, units_drive, units_cpu } = counts;
    println!(
        "{name}: {files} files, {queries} queries passed; \
         {units_drive} units of work on the drive, {units_cpu} on the CPU"
    );
    let is_whole = files == tally.file_count;
    let is_vacuous = tally.setting.drive.is_some() && is_whole && units_drive == 0;
    if is_vacuous {
        println!("{name}: FAILED, for no unit of work ran on the drive");
    }
    !is_vacuous
}

/// The data, made by the first test that needs it.
fn data() -> Result<&'static Data, Failed> {
    static DATA: OnceLock<Result<Data, String>> = OnceLock::new();
    let made = DATA.get_or_init(|| Data::make(&data_folder()).map_err(|error| error.to_string()));
    made.as_ref().map_err(|error| Failed::from(error.as_str()))
}

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("slt")
}

fn source_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
