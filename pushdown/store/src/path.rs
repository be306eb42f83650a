// SPDX-License-Identifier: Apache-2.0
//! Defines the names of partitions, collections and objects.
//!
//! Names are never paths of files, so none of them can leave the folder of a store. They are still
//! limited: a client shows them, and makes URLs of them.

use std::fmt;

use crate::error::{Error, Result};

/// The partition of paths that name none; it is always there.
pub const DEFAULT_PARTITION: &str = "default";

/// The partition that servers keep for themselves; the store treats it as any other.
pub const SYSTEM_PARTITION: &str = "_system";

/// The longest name of a partition or collection, in bytes.
const CONTAINER_LENGTH_MAX: usize = 128;

/// The longest name of an object, in bytes.
const OBJECT_LENGTH_MAX: usize = 1024;

/// The name of a collection in its partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionPath {
    partition: String,
    name: String,
}

impl CollectionPath {
    /// A collection of a partition. Names of both have 1 to 128 letters, digits, `-`, `_` and `.`,
    /// of ASCII, and the first one is no `.`.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn new(partition: &str, name: &str) -> Result<Self> {
        check_container(partition)?;
        check_container(name)?;
        Ok(Self { partition: partition.to_owned(), name: name.to_owned() })
    }

    /// A collection of the default partition.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn in_default(name: &str) -> Result<Self> {
        Self::new(DEFAULT_PARTITION, name)
    }

    /// Its partition.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// Its name in the partition.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An object of the collection. Its name has 1 to 1,024 bytes in parts with `/` between them;
    /// no part is empty, `.` or `..`, and no character is a control character.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn object(&self, name: &str) -> Result<ObjectPath> {
        check_object(name)?;
        Ok(ObjectPath { collection: self.clone(), name: name.to_owned() })
    }

    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.partition, &self.name)
    }
}

impl fmt::Display for CollectionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.name)
    }
}

/// The name of an object in its collection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPath {
    collection: CollectionPath,
    name: String,
}

impl ObjectPath {
    /// Its collection.
    #[must_use]
    pub fn collection(&self) -> &CollectionPath {
        &self.collection
    }

    /// Its name in the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn key(&self) -> (&str, &str, &str) {
        (&self.collection.partition, &self.collection.name, &self.name)
    }

    pub(crate) fn not_found(&self) -> Error {
        Error::NotFound { what: format!("object {self}") }
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.collection, self.name)
    }
}

pub(crate) fn check_container(name: &str) -> Result<()> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let reason = match name.as_bytes() {
        [] => "it is empty",
        bytes if bytes.len() > CONTAINER_LENGTH_MAX => "it has more than 128 bytes",
        [b'.', ..] => "it starts with a dot",
        bytes if !bytes.iter().copied().all(is_allowed) => {
            "only letters, digits, '-', '_' and '.' are allowed"
        }
        _ => return Ok(()),
    };
    Err(Error::Name { name: name.to_owned(), reason })
}

fn check_object(name: &str) -> Result<()> {
    let mut parts = name.split('/');
    let reason = match name {
        "" => "it is empty",
        _ if name.len() > OBJECT_LENGTH_MAX => "it has more than 1024 bytes",
        _ if name.chars().any(char::is_control) => "it has a control character",
        _ if parts.any(|part| ["", ".", ".."].contains(&part)) => {
            "a part between slashes is empty, '.' or '..'"
        }
        _ => return Ok(()),
    };
    Err(Error::Name { name: name.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a")]
    #[case("Year-2026_v1.0")]
    fn names_of_collections_are_accepted(#[case] name: &str) {
        assert_eq!(
            CollectionPath::in_default(name).unwrap().to_string(),
            format!("default/{name}")
        );
    }

    #[rstest]
    #[case("", "empty")]
    #[case(".hidden", "starts with a dot")]
    #[case("a/b", "only letters")]
    #[case("ä", "only letters")]
    #[case(&"a".repeat(129), "more than 128")]
    fn other_names_of_collections_are_errors(#[case] name: &str, #[case] reason: &str) {
        let error = CollectionPath::in_default(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[rstest]
    #[case("a.parquet")]
    #[case("year=2026/month=1/part 1.parquet")]
    #[case("grün/..a")]
    fn names_of_objects_are_accepted(#[case] name: &str) {
        assert_eq!(CollectionPath::in_default("c").unwrap().object(name).unwrap().name(), name);
    }

    #[rstest]
    #[case("", "empty")]
    #[case("/a", "a part")]
    #[case("a//b", "a part")]
    #[case("a/../b", "a part")]
    #[case("a\nb", "control character")]
    #[case(&"a".repeat(1025), "more than 1024")]
    fn other_names_of_objects_are_errors(#[case] name: &str, #[case] reason: &str) {
        let error = CollectionPath::in_default("c").unwrap().object(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
