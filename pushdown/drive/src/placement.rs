// SPDX-License-Identifier: Apache-2.0
//! Which files a drive holds.

use std::path::PathBuf;

use nearscan_command::Version;

/// A file as the host knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileRef {
    /// Absolute path.
    pub path: PathBuf,
    /// What it was when its footer was read.
    pub version: Version,
}

/// A drive's answer to "do you hold this file?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Yes.
    Here {
        /// The number by which commands name the file.
        file_id: u64,
    },
    /// No.
    NotHere {
        /// Why, for EXPLAIN.
        reason: String,
    },
}
