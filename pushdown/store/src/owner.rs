// SPDX-License-Identifier: Apache-2.0
//! Names what has attributes.

use std::fmt;

use crate::{
    error::Error,
    path::{CollectionPath, ObjectPath},
};

/// A partition, a collection or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The partition of a name.
    Partition(&'a str),
    /// A collection.
    Collection(&'a CollectionPath),
    /// An object.
    Object(&'a ObjectPath),
}

impl<'a> Owner<'a> {
    /// The start of the keys of its attributes; no collection and no object has an empty name.
    pub(crate) fn key(self) -> (&'a str, &'a str, &'a str) {
        match self {
            Self::Partition(name) => (name, "", ""),
            Self::Collection(path) => (path.partition(), path.name(), ""),
            Self::Object(path) => path.key(),
        }
    }

    pub(crate) fn not_found(self) -> Error {
        Error::NotFound { what: self.to_string() }
    }
}

impl<'a> From<&'a CollectionPath> for Owner<'a> {
    fn from(path: &'a CollectionPath) -> Self {
        Self::Collection(path)
    }
}

impl<'a> From<&'a ObjectPath> for Owner<'a> {
    fn from(path: &'a ObjectPath) -> Self {
        Self::Object(path)
    }
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partition(name) => write!(f, "partition {name}"),
            Self::Collection(path) => write!(f, "collection {path}"),
            Self::Object(path) => write!(f, "object {path}"),
        }
    }
}
