// SPDX-License-Identifier: Apache-2.0
//! Tests that the bindings for C are what the interfaces say, and that a module becomes a component.

use std::{fs, path::Path};

use nearscan_applications::{Error, WIT, pack};
use wit_bindgen_core::{Files, wit_parser::Resolve};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sdk/c");

const WORLDS: [&str; 3] = ["command-application", "table-application", "handler-application"];

/// The bindings for C of all worlds.
fn generate() -> Files {
    let mut files = Files::default();
    for world in WORLDS {
        let mut resolve = Resolve::default();
        let text: String = WIT.iter().map(|(_, contents)| *contents).collect();
        let package = resolve.push_str("drive.wit", &text).unwrap();
        let world = resolve.select_world(&[package], Some(world)).unwrap();
        // `pack` describes the types, so no object file has to.
        let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
        options.build().generate(&mut resolve, world, &mut files).unwrap();
    }
    files
}

#[test]
fn bindings_for_c_are_up_to_date() {
    let is_blessed = std::env::var_os("NEARSCAN_BLESS").is_some();
    for (name, contents) in generate().iter() {
        let path = Path::new(FOLDER).join(name);
        // The house's line comes first in every file.
        let text = format!("// SPDX-License-Identifier: Apache-2.0\n{}", String::from_utf8_lossy(contents));
        if is_blessed {
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{name} differs from its interfaces: set NEARSCAN_BLESS=1 to write it");
    }
}

#[test]
fn module_without_an_entry_is_no_application() {
    let module = wat::parse_str("(module (memory (export \"memory\") 1))").unwrap();
    let error = pack(&module).unwrap_err();
    assert!(matches!(error, Error::Component { .. }), "{error}");
}
