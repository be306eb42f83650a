// SPDX-License-Identifier: Apache-2.0
//! The package as Python sees it: a folder with its modules, and the extension module beside them.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use rstest::rstest;
use tempfile::TempDir;

/// What cargo makes of the crate.
const LIBRARY: &str = "lib_nearscan.so";

/// Stands for the interpreter in arguments.
const PYTHON: &str = "PYTHON";

/// What Python looks for.
const MODULE: &str = "_nearscan.abi3.so";

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo puts it: beside this program.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(LIBRARY)
}

/// Makes a folder `nearscan` of links to the modules.
fn package() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("nearscan");
    fs::create_dir(&package).unwrap();
    let link = |from: &Path, name: &OsStr| {
        std::os::unix::fs::symlink(from, package.join(name)).unwrap();
    };
    for entry in fs::read_dir(crate_folder().join("python/nearscan")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().extension() != Some(OsStr::new("so")) {
            link(&entry.path(), &entry.file_name());
        }
    }
    let library = library();
    assert!(library.is_file(), "{} is not built", library.display());
    link(&library, OsStr::new(MODULE));
    folder
}

fn run(python: &OsStr, package: &TempDir, arguments: &[&str]) -> Output {
    Command::new(python)
        .args(arguments)
        .current_dir(crate_folder())
        .env("PYTHONPATH", package.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap()
}

/// Asserts that a program succeeded, and shows its last line, which has pytest's counts.
fn assert_success(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    #[expect(clippy::print_stdout, reason = "a run of one test alone shows what it did")]
    {
        println!("{}", text.lines().last().unwrap_or_default());
    }
}

#[rstest]
#[case::concurrency("tests/test_concurrency.py")]
#[case::cursor("tests/test_cursor.py")]
#[case::data("tests/test_data.py")]
#[case::dialect("tests/test_dialect.py")]
#[case::errors("tests/test_errors.py")]
#[case::functions("tests/test_functions.py")]
#[case::notebook("tests/test_notebook.py")]
#[case::profile("tests/test_profile.py")]
#[case::relation("tests/test_relation.py")]
#[case::tutorial("tests/test_tutorial.py")]
#[case::types("tests/test_types.py")]
#[case::speed("tests/test_speed.py")]
#[case::readme("README.md")]
#[case::docstrings("python/nearscan")]
fn python_tests_pass(#[case] path: &str) {
    let test = format!("package::python_tests_pass, {path}");
    let Some(python) = nearscan_skip::python(&test) else { return };
    let package = package();
    let modules = package.path().join("nearscan");
    let path = if path == "python/nearscan" { modules.to_str().unwrap() } else { path };
    // The options of the project are not those of a folder elsewhere.
    let options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", path];
    assert_success(&run(&python, &package, &options));
}

#[test]
fn every_file_with_python_tests_is_run() {
    let listed = include_str!("package.rs");
    for entry in fs::read_dir(crate_folder().join("tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_test = name.starts_with("test_");
        assert!(!is_test || listed.contains(&format!("\"tests/{name}\"")), "{name} is not run");
    }
}

#[rstest]
#[case::mypy(&["-m", "mypy", "--no-error-summary", "--cache-dir", "/dev/null", "python/nearscan"])]
#[case::basedpyright(&["-m", "basedpyright", "--pythonpath", PYTHON])]
fn types_are_checked_strictly(#[case] arguments: &[&str]) {
    let Some(python) = nearscan_skip::python("package::types_are_checked_strictly") else {
        return;
    };
    let python_text = python.to_str().unwrap();
    let given = arguments.iter().map(|it| if *it == PYTHON { python_text } else { it });
    let output = run(&python, &package(), &given.collect::<Vec<_>>());
    assert_success(&output);
}
