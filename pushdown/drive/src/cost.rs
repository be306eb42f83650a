// SPDX-License-Identifier: Apache-2.0
//! What a drive says of its speed right now. The optimizer gets snapshots as values: it asks
//! nobody.

/// Rates and state of a drive at one moment.
///
/// A unit's cost on the drive is
/// `setup_ns + media_bytes * ns/B(media) + rows * ns/row(kernel) + link_bytes * ns/B(link)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CostSnapshot {
    /// Number of this snapshot, for the log.
    pub id: u64,
    /// Media to device memory, in bytes a second, requests overlapped.
    pub media_bytes_per_s: f64,
    /// What the kernels decode, in compressed bytes a second, all compute units.
    pub kernel_bytes_per_s: f64,
    /// What the kernels decode, in rows a second for one column, all compute units.
    pub kernel_rows_per_s: f64,
    /// Device memory to host, in bytes a second.
    pub link_bytes_per_s: f64,
    /// Starting one command, in ns.
    pub setup_ns: f64,
    /// Commands in the queue.
    pub queue_depth: u32,
    /// Device memory that is free.
    pub free_bytes: u64,
    /// Whether the rates are modelled rather than measured.
    pub modelled: bool,
}
