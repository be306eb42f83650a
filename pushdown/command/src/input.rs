// SPDX-License-Identifier: Apache-2.0
//! Defines the inputs and outputs of a command: references with a version, never bare addresses.

/// The version of a file or object when it was planned. A drive that finds another version answers
/// [`Status::StaleInput`](crate::Status::StaleInput).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Version {
    /// Bytes.
    pub size_bytes: u64,
    /// Modification time in ns since 1970, or the generation of an object.
    pub stamp: u64,
}

/// A run of NVMe blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical block.
    pub block_first: u64,
    /// Logical blocks.
    pub block_count: u64,
}

/// A range of bytes that a command reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InputRef {
    /// In the device's memory.
    DeviceRange {
        /// The lease that the drive gave.
        lease: u64,
        /// First byte in the lease.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// In a file that the drive holds.
    FileRange {
        /// The number that the drive gave the file.
        file_id: u64,
        /// The version of the file at planning time.
        version: Version,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// In an object of an object store on the drive.
    ObjectRange {
        /// Its partition.
        partition: u64,
        /// Its number.
        object: u64,
        /// The version of the object at planning time.
        version: Version,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// On NVMe blocks that the kernel reads by itself.
    NvmeExtents {
        /// Namespace.
        namespace: u32,
        /// Log2 of the logical block size.
        block_shift: u16,
        /// The blocks, in order.
        extents: Vec<Extent>,
        /// Bytes to skip in the first block.
        skip: u64,
        /// Bytes.
        length: u64,
        /// The version of the file at planning time.
        version: Version,
    },
    /// The output of another command.
    Output {
        /// That command.
        command_id: u128,
        /// Which of its outputs.
        port: u32,
    },
}

impl InputRef {
    /// Bytes it refers to, when known beforehand.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::DeviceRange { length, .. }
            | Self::FileRange { length, .. }
            | Self::ObjectRange { length, .. }
            | Self::NvmeExtents { length, .. } => Some(*length),
            Self::Output { .. } => None,
        }
    }

    /// Runs of NVMe blocks that it names.
    pub(crate) fn extent_count(&self) -> usize {
        match self {
            Self::NvmeExtents { extents, .. } => extents.len(),
            Self::DeviceRange { .. }
            | Self::FileRange { .. }
            | Self::ObjectRange { .. }
            | Self::Output { .. } => 0,
        }
    }
}

/// The destination of a command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputRef {
    /// To the host with the completion.
    HostBuffer {
        /// Room for header and payload.
        bytes_max: u64,
    },
    /// Into the device's memory.
    DeviceRange {
        /// The lease that the drive gave.
        lease: u64,
        /// First byte in the lease.
        offset: u64,
        /// Room for header and payload.
        bytes_max: u64,
    },
    /// To the end of an object on the drive.
    ObjectAppend {
        /// Its number.
        object: u64,
        /// Room for header and payload.
        bytes_max: u64,
    },
}

impl OutputRef {
    /// Room for header and payload.
    pub const fn bytes_max(&self) -> u64 {
        match self {
            Self::HostBuffer { bytes_max }
            | Self::DeviceRange { bytes_max, .. }
            | Self::ObjectAppend { bytes_max, .. } => *bytes_max,
        }
    }
}
