// SPDX-License-Identifier: Apache-2.0
//! Lists the reasons why a design does not fit the part.

/// A build that does not fit the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// A kernel runs on at least one unit.
    #[error("there are no compute units")]
    NoUnits,
    /// A buffer holds at least one element.
    #[error("a buffer of {bytes} bytes holds no element")]
    NoBuffer {
        /// Its size.
        bytes: u64,
    },
    /// The memory bank has too few ports.
    #[error("{units} compute units need more ports than the memory bank has")]
    Ports {
        /// Requested compute units.
        units: u32,
    },
    /// The part has too little memory on chip.
    #[error("local memories of {bytes} bytes in {units} compute units do not fit on the part")]
    LocalMemory {
        /// Bytes of one unit.
        bytes: u64,
        /// Compute units.
        units: u32,
    },
}
