// SPDX-License-Identifier: Apache-2.0
//! Describes how much partitions and collections hold, and may hold.

/// How much a partition or a collection may hold; `None` is without a limit. A quota below what is
/// there removes nothing, and only lets it become less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Bytes of all objects.
    pub bytes: Option<u64>,
    /// The number of objects.
    pub objects: Option<u64>,
}

/// How much a partition or a collection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of all objects.
    pub bytes: u64,
    /// The number of objects.
    pub objects: u64,
}
