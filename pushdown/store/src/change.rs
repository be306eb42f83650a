// SPDX-License-Identifier: Apache-2.0
//! Describes an entry of the log of changes.

use crate::path::ObjectPath;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was made.
    Created,
    /// Its bytes changed.
    Written,
    /// It was removed.
    Removed,
    /// Its attributes changed, but not its bytes.
    AttributesChanged,
}

impl ChangeKind {
    /// Its number in the catalog, which never changes.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Created => 1,
            Self::Written => 2,
            Self::Removed => 3,
            Self::AttributesChanged => 4,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        let all = [Self::Created, Self::Written, Self::Removed, Self::AttributesChanged];
        all.into_iter().find(|kind| kind.code() == code)
    }
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number, larger than those of all changes before it. If bytes were written, this is the
    /// version of the object.
    pub sequence: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// To which object.
    pub path: ObjectPath,
    /// When, in ns since 1970.
    pub at_ns: u64,
}
