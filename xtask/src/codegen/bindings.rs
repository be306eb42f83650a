// SPDX-License-Identifier: Apache-2.0
//! Generates the bindings for C of the interfaces that an application is built against.
//!
//! There is a folder for each kind of application. The files in them have the same names, so that
//! an application is built in the same way whatever it is.

use anyhow::{Context, Result};
use wit_bindgen_core::{Files, wit_parser::Resolve};

/// The kinds of applications; the world of one is named after it.
const KINDS: [&str; 3] = ["command", "handler", "table"];

/// The interfaces. The first file names the package, so that all of them are one.
const WIT: [&str; 5] = [
    include_str!("../../../pushdown/applications/wit/worlds.wit"),
    include_str!("../../../pushdown/applications/wit/types.wit"),
    include_str!("../../../pushdown/applications/wit/objects.wit"),
    include_str!("../../../pushdown/applications/wit/tables.wit"),
    include_str!("../../../pushdown/applications/wit/services.wit"),
];

/// The line before which the generator's source ends for us: what follows links an object file that
/// describes the types, which `nearscan app pack` does instead.
const LINKING: &str = "\n// Ensure that the *_component_type.o";

/// The bindings: paths from the root of the project, and texts.
///
/// # Errors
/// If the interfaces cannot be read.
pub(super) fn generate(marker: &str) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for kind in KINDS {
        for (name, contents) in of_kind(kind)?.iter() {
            let text = std::str::from_utf8(contents).context("the bindings are no text")?;
            let text = text.split(LINKING).next().unwrap_or_default();
            all.push((
                format!("pushdown/applications/sdk/c/{kind}/{name}"),
                format!("// SPDX-License-Identifier: Apache-2.0\n// {marker}\n{text}"),
            ));
        }
    }
    Ok(all)
}

fn of_kind(kind: &str) -> Result<Files> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("drive.wit", &WIT.concat())?;
    let world = resolve.select_world(&[package], Some(&format!("{kind}-application")))?;
    let options = wit_bindgen_c::Opts {
        no_object_file: true,
        rename_world: Some("application".to_owned()),
        ..wit_bindgen_c::Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    Ok(files)
}
