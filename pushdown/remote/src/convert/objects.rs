// SPDX-License-Identifier: Apache-2.0
//! Converts the types of a store of objects to messages and back.

use bytes::Bytes;
use nearscan_store::{
    Change, ChangeKind, CollectionPath, Condition, ContentHash, DEFAULT_PARTITION, Error,
    ObjectInfo, ObjectPath, Owner, Quota, Usage,
};
use tonic::{Code, Status};

use crate::protocol::objects::{self as messages, Container, Kind, ObjectName, Within};

impl ObjectName {
    /// The partition that is meant.
    pub(crate) fn partition(&self) -> &str {
        if self.partition.is_empty() { DEFAULT_PARTITION } else { &self.partition }
    }

    /// The collection that is meant, whatever the name of the object is.
    pub(crate) fn collection_path(&self) -> Result<CollectionPath, Error> {
        CollectionPath::new(self.partition(), &self.collection)
    }

    /// The object that is meant.
    pub(crate) fn object_path(&self) -> Result<ObjectPath, Error> {
        self.collection_path()?.object(&self.name)
    }
}

impl Within {
    /// What is within `name`, behind the entry `after`.
    pub(crate) fn behind(name: ObjectName, after: Option<String>) -> Self {
        let ObjectName { partition, collection, name } = name;
        Self { partition, collection, name, after }
    }

    /// The name, and where the answer begins.
    pub(crate) fn into_parts(self) -> (ObjectName, Option<String>) {
        let Self { partition, collection, name, after } = self;
        (ObjectName { partition, collection, name }, after)
    }
}

impl From<&CollectionPath> for ObjectName {
    fn from(path: &CollectionPath) -> Self {
        let (partition, collection) = (path.partition().to_owned(), path.name().to_owned());
        Self { partition, collection, name: String::new() }
    }
}

impl From<&ObjectPath> for ObjectName {
    fn from(path: &ObjectPath) -> Self {
        Self { name: path.name().to_owned(), ..Self::from(path.collection()) }
    }
}

impl From<Owner<'_>> for ObjectName {
    fn from(owner: Owner<'_>) -> Self {
        match owner {
            Owner::Partition(name) => Self { partition: name.to_owned(), ..Self::default() },
            Owner::Collection(path) => path.into(),
            Owner::Object(path) => path.into(),
        }
    }
}

impl From<&ObjectInfo> for messages::ObjectInfo {
    fn from(info: &ObjectInfo) -> Self {
        Self {
            name: ObjectName::from(&info.path),
            length: info.length,
            version: info.version,
            created_ns: info.created_ns,
            written_ns: info.written_ns,
            hash: info.hash.map(|hash| Bytes::copy_from_slice(&hash.0.to_be_bytes())),
        }
    }
}

impl TryFrom<messages::ObjectInfo> for ObjectInfo {
    type Error = Error;

    fn try_from(info: messages::ObjectInfo) -> Result<Self, Error> {
        // A hash of another length is one that this version does not know.
        let hash = info.hash.and_then(|hash| hash.as_ref().try_into().ok());
        Ok(Self {
            path: info.name.object_path()?,
            length: info.length,
            version: info.version,
            hash: hash.map(|hash| ContentHash(u128::from_be_bytes(hash))),
            created_ns: info.created_ns,
            written_ns: info.written_ns,
        })
    }
}

/// The version that a condition expects, as messages have it.
pub(crate) fn expected_of(condition: Condition) -> Option<u64> {
    match condition {
        Condition::Always => None,
        Condition::Absent => Some(0),
        Condition::Version(version) => Some(version),
    }
}

/// The condition of an expected version.
pub(crate) fn condition_of(expected: Option<u64>) -> Condition {
    match expected {
        None => Condition::Always,
        Some(0) => Condition::Absent,
        Some(version) => Condition::Version(version),
    }
}

/// The message about a partition or a collection.
pub(crate) fn container(name: ObjectName, quota: Quota, usage: Usage) -> Container {
    Container {
        name,
        bytes_max: quota.bytes,
        objects_max: quota.objects,
        bytes: usage.bytes,
        objects: usage.objects,
    }
}

/// The quota in a message.
pub(crate) fn quota_of(container: &Container) -> Quota {
    Quota { bytes: container.bytes_max, objects: container.objects_max }
}

impl From<&Change> for messages::Change {
    fn from(change: &Change) -> Self {
        let kind = match change.kind {
            ChangeKind::Created => Kind::Created,
            ChangeKind::Written => Kind::Written,
            ChangeKind::Removed => Kind::Removed,
            ChangeKind::AttributesChanged => Kind::AttributesChanged,
        };
        Self {
            sequence: change.sequence,
            kind: kind.into(),
            name: ObjectName::from(&change.path),
            at_ns: change.at_ns,
        }
    }
}

/// The change in a message; none of a kind that this version does not know.
pub(crate) fn change_of(change: &messages::Change) -> Result<Option<Change>, Error> {
    let kind = match change.kind() {
        Kind::Created => ChangeKind::Created,
        Kind::Written => ChangeKind::Written,
        Kind::Removed => ChangeKind::Removed,
        Kind::AttributesChanged => ChangeKind::AttributesChanged,
        Kind::Unknown => return Ok(None),
    };
    let path = change.name.object_path()?;
    Ok(Some(Change { sequence: change.sequence, kind, path, at_ns: change.at_ns }))
}

/// The answer to a request that the store refused.
pub(crate) fn status_of(error: &Error) -> Status {
    let code = match error {
        Error::Name { .. } | Error::TooLong { .. } => Code::InvalidArgument,
        Error::NotFound { .. } => Code::NotFound,
        Error::Exists { .. } => Code::AlreadyExists,
        Error::Conflict { .. } => Code::Aborted,
        Error::Range { .. } | Error::Forgotten { .. } => Code::OutOfRange,
        Error::QuotaExceeded { .. } | Error::TooManyAttributes { .. } => Code::ResourceExhausted,
        Error::NotEmpty { .. }
        | Error::Needed { .. }
        | Error::NotLocal { .. }
        | Error::Abandoned { .. } => Code::FailedPrecondition,
        Error::Damaged { .. } => Code::DataLoss,
        Error::Uncertain(_) => Code::Unknown,
        Error::Locked | Error::Format { .. } | Error::Io { .. } | Error::Catalog(_) => {
            Code::Internal
        }
    };
    let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
    Status::new(code, format!("{error}{hint}"))
}
