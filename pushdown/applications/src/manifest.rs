// SPDX-License-Identifier: Apache-2.0
//! Reads the manifest of an application: what it is called, what it can be called as, what it may
//! do, and what it may use.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    limits::Limits,
    rights::{Grant, Rights},
};

/// The longest manifest, in bytes: it is kept as an attribute.
const MANIFEST_BYTES_MAX: usize = 32 << 10;

/// The longest name of an application or a handler, in bytes.
const NAME_LENGTH_MAX: usize = 64;

/// The largest number of rights.
const RIGHTS_MAX: usize = 100;

/// What an application can be called as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// With a request, which it answers.
    Command,
    /// As a table of a query.
    Table,
    /// With an event.
    Handler,
}

impl Entry {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Command, Self::Table, Self::Handler];

    /// The name of the interface that the component exports for it.
    pub(crate) fn interface(self) -> &'static str {
        match self {
            Self::Command => "nearscan:drive/command@0.1.0",
            Self::Table => "nearscan:drive/table-function@0.1.0",
            Self::Handler => "nearscan:drive/event-handler@0.1.0",
        }
    }

    /// Its name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Table => "table",
            Self::Handler => "handler",
        }
    }
}

/// The manifest of an application, in TOML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// Its version, for people.
    pub version: String,
    /// What it does, for people.
    #[serde(default)]
    pub description: String,
    /// What it can be called as.
    pub entries: Vec<Entry>,
    /// The SHA-256 of the component in hexadecimal digits; if there is one, it is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What it may do with which collections.
    #[serde(default)]
    pub rights: Vec<Grant>,
    /// What a call may use.
    #[serde(default)]
    pub limits: Limits,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`Error::Manifest`].
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Manifest { reason };
        if text.len() > MANIFEST_BYTES_MAX {
            return Err(wrong(format!("it has more than {MANIFEST_BYTES_MAX} bytes")));
        }
        let manifest: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        manifest.check().map_err(wrong)?;
        Ok(manifest)
    }

    fn check(&self) -> std::result::Result<(), String> {
        check_name(&self.name)?;
        if self.version.is_empty() {
            return Err("the version is empty".to_owned());
        }
        if self.entries.is_empty() {
            return Err("there is no entry".to_owned());
        }
        if self.rights.len() > RIGHTS_MAX {
            return Err(format!("there are more than {RIGHTS_MAX} rights"));
        }
        self.rights.iter().try_for_each(Grant::check)
    }

    /// The rights as they are checked.
    #[must_use]
    pub fn rights(&self) -> Rights {
        Rights::new(self.rights.clone())
    }
}

/// Checks the name of an application or a handler.
pub(crate) fn check_name(name: &str) -> std::result::Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match name.len() {
        1..=NAME_LENGTH_MAX if name.bytes().all(is_allowed) => Ok(()),
        _ => Err(format!(
            "the name {name:?} is not 1 to {NAME_LENGTH_MAX} letters, digits, '-' and '_'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::rights::Access;

    const SMALL: &str = "name = \"a\"\nversion = \"1\"\nentries = [\"command\"]\n";

    #[test]
    fn manifest_is_read_and_has_limits_that_it_does_not_name() {
        let text = format!(
            "{SMALL}[[rights]]\ncollection = \"raw\"\naccess = [\"read\", \"write\"]\n\
             [limits]\nfuel = 5\n"
        );
        let manifest = Manifest::parse(&text).unwrap();
        assert_eq!(manifest.entries, [Entry::Command]);
        assert_eq!(manifest.rights[0].access, [Access::Read, Access::Write]);
        assert_eq!(manifest.limits, Limits { fuel: 5, ..Limits::default() });
    }

    #[rstest]
    #[case("", "missing field")]
    #[case("name = \"a/b\"\nversion = \"1\"\nentries = [\"command\"]", "the name")]
    #[case("name = \"\"\nversion = \"1\"\nentries = [\"command\"]", "the name")]
    #[case("name = \"a\"\nversion = \"\"\nentries = [\"command\"]", "version")]
    #[case("name = \"a\"\nversion = \"1\"\nentries = []", "no entry")]
    #[case("name = \"a\"\nversion = \"1\"\nentries = [\"root\"]", "unknown variant")]
    #[case(&format!("{SMALL}sudo = true"), "unknown field")]
    #[case(&format!("{SMALL}[limits]\nstack = 1"), "unknown field")]
    #[case(
        &format!("{SMALL}[[rights]]\ncollection = \"_system/*\"\naccess = [\"read\"]"),
        "not given"
    )]
    #[case(&format!("{SMALL}# {}", "x".repeat(40_000)), "more than")]
    fn other_manifests_are_errors(#[case] text: &str, #[case] reason: &str) {
        let error = Manifest::parse(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
