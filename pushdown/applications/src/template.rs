// SPDX-License-Identifier: Apache-2.0
//! Writes the files that a new application begins with. They are the tested examples, under another
//! name.

use std::{fs, io, path::Path};

use crate::{
    error::{Error, Result},
    manifest::check_name,
    pack::WIT,
};

/// A language that applications are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, with clang, lld and wasi-libc.
    C,
    /// Python, with componentize-py.
    Python,
    /// Rust, with its target `wasm32-wasip2`.
    Rust,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::C, Self::Python, Self::Rust];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }

    /// The files, but for the interfaces, and the name of the example in them.
    fn files(self) -> (&'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Self::C => ("scan", C),
            Self::Python => ("summary", PYTHON),
            Self::Rust => ("template", RUST),
        }
    }
}

const C: &[(&str, &str)] = &[
    ("main.c", include_str!("../examples/c/scan/main.c")),
    ("manifest.toml", include_str!("../examples/c/scan/manifest.toml")),
    ("Makefile", include_str!("../examples/c/scan/Makefile")),
    ("application.c", include_str!("../sdk/c/command/application.c")),
    ("application.h", include_str!("../sdk/c/command/application.h")),
];

const PYTHON: &[(&str, &str)] = &[
    ("app.py", include_str!("../examples/python/summary/app.py")),
    ("manifest.toml", include_str!("../examples/python/summary/manifest.toml")),
    ("Makefile", include_str!("../examples/python/summary/Makefile")),
];

const RUST: &[(&str, &str)] = &[
    ("src/lib.rs", include_str!("../examples/rust/template/src/lib.rs.in")),
    ("manifest.toml", include_str!("../examples/rust/template/manifest.toml")),
    ("Cargo.toml", include_str!("../examples/rust/template/Cargo.toml.in")),
    ("Makefile", include_str!("../examples/rust/template/Makefile")),
];

/// Writes a new application into a folder, which is made if it is not there. No file is replaced.
///
/// # Errors
/// [`Error::Invalid`] for the name, or [`Error::Template`] if a file is there or cannot be written;
/// the files before it stay.
pub fn new_application(folder: &Path, language: Language, name: &str) -> Result<()> {
    check_name(name).map_err(|reason| Error::Invalid { what: "name", reason })?;
    let (example, files) = language.files();
    for (file, text) in files {
        write(&folder.join(file), &renamed(file, text, example, name))?;
    }
    for (file, text) in WIT {
        write(&folder.join("wit").join(file), text)?;
    }
    Ok(())
}

/// The text of a file with the name of the application in the place of the example's, where that is
/// a name: in the manifest and in what builds it.
fn renamed(file: &str, text: &str, example: &str, name: &str) -> String {
    match file {
        "manifest.toml" | "Cargo.toml" => {
            text.replace(&format!("name = \"{example}\""), &format!("name = \"{name}\""))
        }
        "Makefile" => text.replace(&format!("NAME = {example}"), &format!("NAME = {name}")),
        _ => text.to_owned(),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::OpenOptions::new().write(true).create_new(true).open(path))
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
    let shown = || path.display().to_string();
    written.map_err(|source| Error::Template { path: shown(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn new_application_has_its_name_and_replaces_nothing() {
        for language in Language::ALL {
            let folder = tempfile::tempdir().unwrap();
            new_application(folder.path(), language, "other").unwrap();
            let read = |file| fs::read_to_string(folder.path().join(file)).unwrap();
            assert_eq!(Manifest::parse(&read("manifest.toml")).unwrap().name, "other");
            assert!(read("Makefile").contains("NAME = other\n"), "{}", language.name());
            assert!(read("wit/worlds.wit").contains("world command-application"));
            let again = new_application(folder.path(), language, "another");
            assert!(matches!(again, Err(Error::Template { .. })));
            assert_eq!(Manifest::parse(&read("manifest.toml")).unwrap().name, "other");
        }
        let error = new_application(Path::new("/"), Language::C, "../up").unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}
