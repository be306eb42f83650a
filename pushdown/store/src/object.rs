// SPDX-License-Identifier: Apache-2.0
//! Describes objects.

use crate::{
    content::ContentHash,
    error::{Error, Result},
    path::ObjectPath,
};

/// The longest name of an attribute, in bytes.
pub(crate) const ATTRIBUTE_NAME_MAX: usize = 255;

/// The longest value of an attribute, in bytes.
const ATTRIBUTE_VALUE_MAX: usize = 64 << 10;

/// The largest number of attributes that an object or a container has.
pub(crate) const ATTRIBUTES_MAX: usize = 100;

/// What is known of an object without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name.
    pub path: ObjectPath,
    /// Its length in bytes.
    pub length: u64,
    /// The number of its last change of bytes in the log of the store: never 0, never used again,
    /// for another object or the same.
    pub version: u64,
    /// The hash of its bytes, if this version was written as a whole by a program that keeps
    /// hashes.
    pub hash: Option<ContentHash>,
    /// When it was made, in ns since 1970.
    pub created_ns: u64,
    /// When its bytes last changed, in ns since 1970.
    pub written_ns: u64,
}

/// What must hold for a change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    Always,
    /// There is no object of the name.
    Absent,
    /// The object has this version.
    Version(u64),
}

/// Checks an attribute.
pub(crate) fn check_attribute(name: &str, value: &[u8]) -> Result<()> {
    let reason = match name {
        "" => "it is empty",
        _ if name.len() > ATTRIBUTE_NAME_MAX => "it has more than 255 bytes",
        _ if name.chars().any(char::is_control) => "it has a control character",
        _ if value.len() > ATTRIBUTE_VALUE_MAX => {
            let (what, length) = (format!("attribute {name:?}"), value.len());
            return Err(Error::TooLong { what, length, limit: ATTRIBUTE_VALUE_MAX });
        }
        _ => return Ok(()),
    };
    Err(Error::Name { name: name.to_owned(), reason })
}
