// SPDX-License-Identifier: Apache-2.0
//! Defines how a kernel ended.

use crate::types::wire_enum;

use crate::error::Error;

wire_enum! {
    /// The status word of a result. Everything but [`Status::Ok`] means that the payload is void
    /// and the unit has to be done elsewhere.
    Status: u32 ("status") {
        /// Done; the payload holds every row or state.
        Ok = 0,
        /// The command's bytes contradict the format.
        Malformed = 1,
        /// The command is well formed but asks for what this kernel cannot do.
        Unsupported = 2,
        /// The input is not the version that the command names.
        StaleInput = 3,
        /// The column chunk's bytes contradict Parquet, or the rows they should hold.
        Corrupt = 4,
        /// A page has an encoding, type or size that this kernel does not read.
        Encoding = 5,
        /// A Snappy copy reaches further back than the kernel's history.
        SnappyDistance = 6,
        /// More groups than the kernel has memory for, or a key that is not dictionary-encoded.
        GroupCardinality = 7,
        /// A dictionary with more entries than the kernel can address, or than its size allows.
        DictionarySize = 8,
        /// A result left the range of its width.
        Overflow = 9,
        /// The scratch range is too small.
        ScratchFull = 10,
        /// The output range is too small.
        OutputFull = 11,
        /// The cancel word was set.
        Cancelled = 12,
        /// More steps than the command allows.
        StepsExceeded = 13,
        /// An input of a merge contradicts the order that it should have.
        NotSorted = 14,
    }
}

impl Status {
    /// Which of two statuses a result reports when several stages failed: the one that explains the
    /// other. A lower number wins, and anything wins over [`Status::Ok`].
    pub fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ok, other) => other,
            (this, Self::Ok) => this,
            (this, other) => this.min(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_wins_over_ok_and_lower_code_over_higher() {
        assert_eq!(Status::Ok.merge(Status::Overflow), Status::Overflow);
        assert_eq!(Status::Overflow.merge(Status::Ok), Status::Overflow);
        assert_eq!(Status::Overflow.merge(Status::Corrupt), Status::Corrupt);
        assert_eq!(Status::Ok.merge(Status::Ok), Status::Ok);
    }
}
