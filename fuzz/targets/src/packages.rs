// SPDX-License-Identifier: Apache-2.0
//! Implements the target `packages`: applications as they are installed, a manifest and a
//! component.
//!
//! ```text
//! offset  bytes
//!      0      n  the manifest, in which no byte is 0
//!      n      1  0
//!  n + 1         the component
//! ```

use nearscan_applications::{Package, fuzz, pack};

/// A module with the entry of a command, which answers nothing.
const MODULE: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
    (func (export "nearscan:drive/command@0.1.0#run") (param i32 i32 i32 i32) (result i32)
      (i32.const 16)))"#;

/// Manifests, with and without what they may leave out.
const MANIFESTS: [&str; 4] = [
    "name = \"a\"\nversion = \"1\"\nentries = [\"command\"]\n",
    "name = \"a-_Z9\"\nversion = \"1\"\ndescription = \"\u{e4}\"\n\
     entries = [\"table\", \"handler\"]\n[[rights]]\ncollection = \"raw\"\n\
     access = [\"read\", \"write\"]\n[[rights]]\ncollection = \"sales/*\"\naccess = [\"read\"]\n\
     [limits]\nfuel = 5\ndeadline_ms = 300000\nresources = 1\n",
    "name = \"s\"\nversion = \"1\"\nentries = [\"handler\"]\nrights = [{ collection = \"*\", \
     access = [\"write\"] }, { collection = \"_system/commands\", access = [\"read\"] }]\n",
    "name = \"s\"\nversion = \"1\"\nentries = [\"handler\"]\n\
     sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n",
];

/// Installs a package, as far as to its compiled code. Whether its manifest and hash are right.
///
/// # Panics
/// When what must hold of a package does not.
pub fn packages(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (manifest, rest) = bytes.split_at(end);
    let Ok(manifest) = String::from_utf8(manifest.to_vec()) else { return false };
    let component = rest.get(1..).unwrap_or_default().to_vec().into();
    fuzz::package(Package { manifest, component, signature: None })
}

/// Inputs to begin a corpus with.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let module = wat::parse_str(MODULE).unwrap_or_default();
    let component = pack(&module).unwrap_or_default();
    let with = |manifest: &str, component: &[u8]| [manifest.as_bytes(), &[0], component].concat();
    let mut inputs: Vec<Vec<u8>> = MANIFESTS.iter().map(|manifest| with(manifest, b"")).collect();
    inputs.push(with(MANIFESTS[0], &component));
    inputs.push(with(MANIFESTS[0], &module));
    inputs
}
