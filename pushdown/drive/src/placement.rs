// SPDX-License-Identifier: Apache-2.0
//! Describes which files a drive holds.

use std::{fmt, path::PathBuf, sync::Arc, time::UNIX_EPOCH};

use nearscan_command::Version;

/// A file as seen by the host: one of this machine, or an object of a storage server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileRef {
    /// The `HOST:PORT` of the server whose object it is; none for a file of this machine.
    pub server: Option<Arc<str>>,
    /// Absolute path; `/COLLECTION/NAME` of an object.
    pub path: PathBuf,
    /// Its version when its footer was read; of an object the stamp is its number.
    pub version: Version,
}

/// Whether a drive holds a file.
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

impl FileRef {
    /// A version of a file of this machine.
    pub const fn local(path: PathBuf, version: Version) -> Self {
        Self { server: None, path, version }
    }

    /// A local file as it is now.
    ///
    /// # Errors
    /// The message of the file system.
    pub fn of(path: &std::path::Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let version = file_version(&std::fs::metadata(&path)?);
        Ok(Self::local(path, version))
    }
}

/// The path of a local file, or the URL of an object.
impl fmt::Display for FileRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "drive://{server}{}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

/// Returns the version of a local file: its size and modification time in ns.
pub fn file_version(metadata: &std::fs::Metadata) -> Version {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let stamp = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    Version { size_bytes: metadata.len(), stamp }
}
