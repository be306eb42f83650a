// SPDX-License-Identifier: Apache-2.0
//! Checks the rules of the house style that can be read off the source text.
//!
//! Each check is a function from the files of the project to findings, so each is tested on
//! samples, a good and a bad one, and all of them run on the real tree as a test of this crate. A
//! check reads text only: it compiles nothing and follows no macro.
//!
//! Not here, because clippy or cargo-deny does it: unwraps in library code, prints, casts, licences
//! of dependencies. Not here, because text does not show it: a wildcard arm over an enum of ours
//! looks like one over a foreign enum, where it is needed, so that rule is left to review.

mod circles;
mod coverage;
mod headers;
mod invariants;
mod kernels;
mod manifests;
mod results;
mod rust_text;
mod safety;
mod text;

use std::fmt;

use anyhow::{Result, bail};

use crate::{
    codegen,
    project::{Project, Source},
};

/// A violation of the house style.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    path: String,
    /// From 1; absent when the whole file is meant.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn in_file(source: &Source, message: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line: None, message: message.into() }
    }

    /// `line_index` counts from 0, as an iterator does.
    fn at(source: &Source, line_index: usize, message: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line: Some(line_index + 1), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// One rule.
struct Check {
    name: &'static str,
    run: fn(&[Source]) -> Vec<Finding>,
}

const CHECKS: &[Check] = &[
    Check { name: "spdx", run: headers::spdx },
    Check { name: "module-doc", run: headers::module_docs },
    Check { name: "leftovers", run: text::leftovers },
    Check { name: "line-length", run: text::long_lines },
    Check { name: "file-length", run: text::long_files },
    Check { name: "machine-paths", run: text::machine_paths },
    Check { name: "unsafe", run: safety::unsafe_code },
    Check { name: "ignored-tests", run: safety::ignored_tests },
    Check { name: "manifests", run: manifests::inherit },
    Check { name: "circles", run: circles::circles },
    Check { name: "test-coverage", run: coverage::variants },
    Check { name: "test-benches", run: kernels::test_benches },
    Check { name: "invariants", run: invariants::named_tests },
    Check { name: "provenance", run: results::provenance },
];

/// Runs every check; prints what is found.
///
/// # Errors
/// When anything is, or when the files cannot be listed.
pub(crate) fn run(project: &Project) -> Result<()> {
    let sources = project.sources()?;
    let mut count = 0_usize;
    for check in CHECKS {
        for finding in (check.run)(&sources) {
            println!("tidy: {finding} [{}]", check.name);
            count += 1;
        }
    }
    if count > 0 {
        bail!("findings: {count}");
    }
    println!("tidy: {} files, {} checks, nothing found", sources.len(), CHECKS.len());
    Ok(())
}

impl Source {
    /// Returns the part of the file's name after the last dot, or nothing.
    fn extension(&self) -> &str {
        self.file_name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    fn file_name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// The folder, without a slash at its end; empty for the top.
    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether people write it line by line, in a language that has comments.
    fn is_code(&self) -> bool {
        const EXTENSIONS: &[&str] =
            &["rs", "cpp", "hpp", "cc", "c", "h", "py", "pyi", "sv", "svh", "v", "tcl", "sh"];
        EXTENSIONS.contains(&self.extension()) || self.path == "justfile" || self.path == ".ci/run"
    }

    /// Whether it says of itself that it is generated.
    fn is_generated(&self) -> bool {
        let marker = codegen::marker();
        self.text.lines().take(5).any(|line| line.contains(&marker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file made up for a test.
    pub(super) fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    /// Runs one check over made-up files and gives its findings as text.
    pub(super) fn findings(
        check: fn(&[Source]) -> Vec<Finding>,
        files: &[(&str, &str)],
    ) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| source(path, text)).collect();
        check(&sources).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn path_has_a_folder_a_name_and_an_extension() {
        let file = source("a/b/c.tar.gz", "");
        assert_eq!((file.folder(), file.file_name(), file.extension()), ("a/b", "c.tar.gz", "gz"));
        let top = source("justfile", "");
        assert_eq!((top.folder(), top.file_name(), top.extension()), ("", "justfile", ""));
    }

    #[test]
    fn project_is_tidy() {
        let sources = Project::open().unwrap().sources().unwrap();
        let mut found = Vec::new();
        for check in CHECKS {
            let name = check.name;
            found.extend((check.run)(&sources).iter().map(|finding| format!("{finding} [{name}]")));
        }
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }
}
