// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan app new` and `nearscan app pack`, which need no server. They are in
//! programs that are built with the feature `applications`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use nearscan_hosting::{Error, new_application};

use crate::failure::{Failure, Result, print};

/// Options of a new application.
#[derive(Debug, Clone, Args)]
pub(crate) struct NewArgs {
    /// Name of the application
    name: String,

    /// Its language
    #[arg(long, value_enum)]
    language: Language,

    /// Folder for its files [default: the name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    /// With clang, lld and wasi-libc
    C,
    /// With componentize-py
    Python,
    /// With its target wasm32-wasip2
    Rust,
}

/// Options of a package.
#[derive(Debug, Clone, Args)]
pub(crate) struct PackArgs {
    /// The module, linked with the files that `nearscan app new` writes
    #[arg(value_name = "MODULE", value_hint = ValueHint::FilePath)]
    module: PathBuf,

    /// The component that is written
    #[arg(value_name = "COMPONENT", value_hint = ValueHint::FilePath)]
    component: PathBuf,
}

/// Writes the files of a new application.
pub(super) fn new(arguments: &NewArgs) -> Result<()> {
    let language = match arguments.language {
        Language::C => nearscan_hosting::Language::C,
        Language::Python => nearscan_hosting::Language::Python,
        Language::Rust => nearscan_hosting::Language::Rust,
    };
    let NewArgs { name, folder, .. } = arguments;
    let folder = folder.clone().unwrap_or_else(|| name.into());
    new_application(&folder, language, name).map_err(|error| usage(&error))?;
    print(&format!("{name} is in {}; `make` there builds it", folder.display()))
}

/// Makes a component.
pub(super) fn pack(arguments: &PackArgs) -> Result<()> {
    let PackArgs { module, component } = arguments;
    let bytes = std::fs::read(module);
    let bytes = bytes.map_err(|error| Failure::input(&module.display().to_string(), &error))?;
    let packed = nearscan_hosting::pack(&bytes).map_err(|error| usage(&error))?;
    std::fs::write(component, packed).map_err(|error| Failure::output(component, &error))
}

fn usage(error: &Error) -> Failure {
    Failure::Usage(format!("error: {error}"))
}
