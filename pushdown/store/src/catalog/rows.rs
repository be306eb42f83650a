// SPDX-License-Identifier: Apache-2.0
//! Names the fields of the catalog's rows.

use crate::{
    content::ContentHash,
    object::ObjectInfo,
    path::ObjectPath,
    quota::{Quota, Usage},
};

/// A partition or a collection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContainerRow {
    pub(crate) quota: Quota,
    pub(crate) usage: Usage,
}

impl ContainerRow {
    pub(crate) fn of(value: super::ContainerValue) -> Self {
        let (bytes_max, objects_max, bytes, objects) = value;
        let limit = |value: u64| (value != u64::MAX).then_some(value);
        Self {
            quota: Quota { bytes: limit(bytes_max), objects: limit(objects_max) },
            usage: Usage { bytes, objects },
        }
    }

    pub(crate) fn value(self) -> super::ContainerValue {
        let Self { quota, usage } = self;
        let limit = |value: Option<u64>| value.unwrap_or(u64::MAX);
        (limit(quota.bytes), limit(quota.objects), usage.bytes, usage.objects)
    }
}

/// An object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectRow {
    /// Number of the file that has its bytes.
    pub(crate) file: u64,
    pub(crate) length: u64,
    pub(crate) version: u64,
    pub(crate) created_ns: u64,
    pub(crate) written_ns: u64,
}

impl ObjectRow {
    pub(crate) fn of(value: super::ObjectValue) -> Self {
        let (file, length, version, created_ns, written_ns) = value;
        Self { file, length, version, created_ns, written_ns }
    }

    pub(crate) fn value(self) -> super::ObjectValue {
        (self.file, self.length, self.version, self.created_ns, self.written_ns)
    }

    pub(crate) fn info(self, path: ObjectPath, hash: Option<ContentHash>) -> ObjectInfo {
        let Self { length, version, created_ns, written_ns, .. } = self;
        ObjectInfo { path, length, version, hash, created_ns, written_ns }
    }
}
