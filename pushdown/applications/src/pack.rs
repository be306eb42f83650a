// SPDX-License-Identifier: Apache-2.0
//! Makes a component of the module that a C compiler writes.
//!
//! Which interfaces the component has is read off the names of the module's exports. What the
//! module imports of WASI's preview 1 gets an adapter to preview 2.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

use crate::{
    error::{Error, Result},
    limits::COMPONENT_BYTES_MAX,
    manifest::Entry,
};

/// The interfaces that an application is built against: names of files, and what is in them.
pub const WIT: [(&str, &str); 5] = [
    ("worlds.wit", include_str!("../wit/worlds.wit")),
    ("types.wit", include_str!("../wit/types.wit")),
    ("objects.wit", include_str!("../wit/objects.wit")),
    ("tables.wit", include_str!("../wit/tables.wit")),
    ("services.wit", include_str!("../wit/services.wit")),
];

/// The adapter's name is that of the imports that it serves.
const ADAPTER: &str = "wasi_snapshot_preview1";

/// Makes a component of a core module, which was compiled with the C bindings of the SDK as a
/// library that is initialized (`-mexec-model=reactor`).
///
/// # Errors
/// [`Error::Component`] if the module has no entry of an application, or imports what no
/// application has.
pub fn pack(module: &[u8]) -> Result<Vec<u8>> {
    let wrong = |reason: String| Error::Component { reason };
    let length = module.len() as u64;
    if length > COMPONENT_BYTES_MAX {
        let what = "the module";
        return Err(Error::TooLarge { what, length, limit: COMPONENT_BYTES_MAX });
    }
    let entries: Vec<Entry> = Entry::ALL.into_iter().filter(|it| exports(module, *it)).collect();
    if entries.is_empty() {
        return Err(wrong("it has no entry of an application".to_owned()));
    }
    let mut module = module.to_vec();
    let (resolve, world) = world(&entries).map_err(wrong)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| wrong(format!("{error:#}")))?;
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let encoded = ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|encoder| encoder.adapter(ADAPTER, adapter))
        .and_then(|mut encoder| encoder.encode());
    encoded.map_err(|error| wrong(format!("{error:#}")))
}

/// Whether a module has the functions of an entry. The names are found in its bytes; a module that
/// has them elsewhere than in its exports is no component afterwards, and refused then.
fn exports(module: &[u8], entry: Entry) -> bool {
    let name = format!("{}#", entry.interface());
    module.windows(name.len()).any(|window| window == name.as_bytes())
}

/// The interfaces, and a world that has all imports and the exports of some entries.
fn world(entries: &[Entry]) -> std::result::Result<(Resolve, WorldId), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // The first file names the package, so that all of them are one.
    let drive: String = WIT.iter().map(|(_, contents)| *contents).collect();
    let exports: String =
        entries.iter().map(|entry| format!("  export {};\n", entry.interface())).collect();
    let packed = format!(
        "package nearscan:packed;\nworld packed {{\n  \
         include nearscan:drive/host@0.1.0;\n{exports}}}\n"
    );
    let mut resolve = Resolve::default();
    resolve.push_source("drive.wit", &drive).map_err(|error| text(&error))?;
    let package = resolve.push_source("packed.wit", &packed).map_err(|error| text(&error))?;
    let world = resolve.select_world(&[package], None).map_err(|error| text(&error))?;
    Ok((resolve, world))
}
