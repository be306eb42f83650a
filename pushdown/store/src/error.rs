// SPDX-License-Identifier: Apache-2.0
//! Defines why a request to the store fails.

use std::io;

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

/// What a quota limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of all objects.
    Bytes,
    /// The number of objects.
    Objects,
}

/// The reason why a request fails; it has changed nothing, unless it is said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name has characters or a length that names do not have.
    #[error("invalid name {name:?}: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no partition, collection, object or attribute of the name.
    #[error("{what} not found")]
    NotFound {
        /// Its kind and its path.
        what: String,
    },
    /// There is one already.
    #[error("{what} exists")]
    Exists {
        /// Its kind and its path.
        what: String,
    },
    /// What is to be removed holds something.
    #[error("{what} is not empty")]
    NotEmpty {
        /// Its kind and its path.
        what: String,
    },
    /// The object has another version than the request demands.
    #[error("object {path} has version {found}, not {expected}")]
    Conflict {
        /// The object.
        path: String,
        /// The demanded version.
        expected: u64,
        /// Its version; 0 if there is none.
        found: u64,
    },
    /// Bytes are meant that the object does not have.
    #[error("byte {end} is beyond the {length} bytes of object {path}")]
    Range {
        /// The object.
        path: String,
        /// The first byte that is not meant any more.
        end: u64,
        /// The length of the object.
        length: u64,
    },
    /// A value is longer than the store keeps.
    #[error("{what} has {length} bytes, the limit is {limit}")]
    TooLong {
        /// What the value is of.
        what: String,
        /// Its length.
        length: usize,
        /// The largest length.
        limit: usize,
    },
    /// A quota would be exceeded.
    #[error("{what} may have {allowed} {}, and would have {needed}", match limit {
        Limit::Bytes => "bytes",
        Limit::Objects => "objects",
    })]
    QuotaExceeded {
        /// The partition or collection whose quota it is.
        what: String,
        /// What is limited.
        limit: Limit,
        /// The quota.
        allowed: u64,
        /// What would be there with the request done.
        needed: u64,
    },
    /// The store is open already, in this process or another one.
    #[error("the store is open already")]
    Locked,
    /// The partition of paths without one cannot be removed.
    #[error("the partition {name} cannot be removed")]
    Needed {
        /// Its name.
        name: String,
    },
    /// An object has as many attributes as it may have.
    #[error("{what} has {limit} attributes, which is the limit")]
    TooManyAttributes {
        /// What has them.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// Changes are asked for that the log has no more.
    #[error("the log begins after change {forgotten}, and those after {after} are asked for")]
    Forgotten {
        /// The number that was asked for.
        after: u64,
        /// The last change that was forgotten.
        forgotten: u64,
    },
    /// An earlier write of the object has failed, so it cannot be committed.
    #[error("an earlier write of object {path} failed")]
    Abandoned {
        /// The object.
        path: String,
    },
    /// The object is in no file that other programs can open.
    #[error("object {path} has no file of this machine")]
    NotLocal {
        /// The object.
        path: String,
    },
    /// The catalog has a format that this version does not know.
    #[error("the store has format {found}, and this version knows {known}")]
    Format {
        /// The format of the catalog.
        found: u64,
        /// The one that is known.
        known: u64,
    },
    /// The files are not what the catalog says.
    #[error("the store is damaged: {reason}")]
    Damaged {
        /// What is missing or different.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file below the root of the store.
        path: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The catalog could not be read or written. The request is not done, and nothing can be
    /// changed any more until the store is opened again.
    #[error("the catalog failed: {0}")]
    Catalog(#[source] redb::Error),
    /// A transaction could not be committed. Whether the request is done is seen when the store is
    /// opened again, and until then nothing can be changed any more.
    #[error("a commit failed, and may be done: {0}")]
    Uncertain(#[source] redb::Error),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Returns what the user can do, if anything can be said.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::QuotaExceeded { .. } => Some("remove objects, or raise the quota"),
            Self::NotEmpty { .. } => Some("remove what it holds first"),
            Self::Conflict { .. } => Some("read the object again, and repeat the change"),
            Self::Abandoned { .. } => Some("write the object again from its start"),
            Self::Locked => Some("close it there, or choose another folder"),
            Self::Forgotten { .. } => Some("list the objects, and follow the changes after that"),
            Self::Catalog(_) | Self::Uncertain(_) => Some("open the store again"),
            Self::Format { .. } => Some("open it with the version that wrote it"),
            _ => None,
        }
    }
}

/// Errors of the embedded database, all of which are one.
macro_rules! of_catalog {
    ($($name:ident),*) => {
        $(impl From<redb::$name> for Error {
            fn from(error: redb::$name) -> Self {
                Self::Catalog(error.into())
            }
        })*
    };
}

of_catalog!(DatabaseError, StorageError, TableError, TransactionError);
