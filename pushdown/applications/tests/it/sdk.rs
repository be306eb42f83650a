// SPDX-License-Identifier: Apache-2.0
//! Tests that the bindings for C are what the interfaces say, and that a module becomes a component.

use std::{fs, path::Path};

use nearscan_applications::{Error, WIT, pack};
use rstest::rstest;
use wit_bindgen_core::{Files, wit_parser::Resolve};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sdk/c");

/// The bindings for C of a world. Those of all worlds have the same names, but for the exports.
fn generate(entry: &str) -> Files {
    let mut files = Files::default();
    let mut resolve = Resolve::default();
    let text: String = WIT.iter().map(|(_, contents)| *contents).collect();
    let package = resolve.push_str("drive.wit", &text).unwrap();
    let world = format!("{entry}-application");
    let world = resolve.select_world(&[package], Some(&world)).unwrap();
    let options = wit_bindgen_c::Opts {
        // `pack` describes the types, so no object file has to.
        no_object_file: true,
        rename_world: Some("application".to_owned()),
        ..Default::default()
    };
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    files
}

#[rstest]
#[case("command")]
#[case("table")]
#[case("handler")]
fn bindings_for_c_are_up_to_date(#[case] entry: &str) {
    let is_blessed = std::env::var_os("NEARSCAN_BLESS").is_some();
    for (name, contents) in generate(entry).iter() {
        let path = Path::new(FOLDER).join(entry).join(name);
        let generated = String::from_utf8_lossy(contents);
        // What links the object file is left out with it.
        let generated = generated.split("\n// Ensure that the *_component_type.o").next().unwrap();
        // The house's line comes first in every file.
        let text = format!("// SPDX-License-Identifier: Apache-2.0\n{generated}");
        if is_blessed {
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let is_same = found == text;
        assert!(is_same, "{name} differs from the interfaces: NEARSCAN_BLESS=1 writes it");
    }
}

#[test]
fn module_without_an_entry_is_no_application() {
    let module = wat::parse_str("(module (memory (export \"memory\") 1))").unwrap();
    let error = pack(&module).unwrap_err();
    assert!(matches!(error, Error::Component { .. }), "{error}");
}
