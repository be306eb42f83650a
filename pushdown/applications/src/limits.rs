// SPDX-License-Identifier: Apache-2.0
//! Says what a call may use, and how much of it there is at most.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The stack of a call; the same for all, since it is a part of the compiled code's machine.
pub const STACK_BYTES: usize = 512 << 10;

/// The largest component.
pub const COMPONENT_BYTES_MAX: u64 = 128 << 20;

/// The largest body of a request or an answer, and the largest piece of batches.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Bytes that one call of a host function moves from the application to the host at most: a
/// message, and something around it.
pub(crate) const HOST_CALL_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (1 << 20);

/// The most that is read of an object at once.
pub(crate) const READ_BYTES_MAX: u32 = 1 << 20;

/// Objects of one answer of a listing.
pub(crate) const LIST_MAX: u32 = 1000;

/// The largest payload of an event.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 10;

/// What a call writes to the log at most.
pub(crate) const LOG_BYTES_MAX: usize = 64 << 10;

/// Names of objects, columns and expressions in one query.
pub(crate) const QUERY_PARTS_MAX: usize = 10_000;

/// What one call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Units of fuel, about one for an instruction of the component.
    pub fuel: u64,
    /// Time from the start of the call, waiting included but for that of a table's reader.
    pub deadline_ms: u64,
    /// Linear memory, of all instances of the component together.
    pub memory_bytes: u64,
    /// Elements of tables of functions, of all together.
    pub table_elements: u64,
    /// Open readers, writers, results of scans and others.
    pub resources: u32,
}

impl Default for Limits {
    /// What a manifest gets that asks for nothing.
    fn default() -> Self {
        Self {
            fuel: 10_000_000_000,
            deadline_ms: 10_000,
            memory_bytes: 64 << 20,
            table_elements: 100_000,
            resources: 256,
        }
    }
}

impl Limits {
    /// The most that a server gives, unless it is told otherwise.
    #[must_use]
    pub fn ceiling() -> Self {
        Self {
            fuel: 1_000_000_000_000,
            deadline_ms: 300_000,
            memory_bytes: 1 << 30,
            table_elements: 1_000_000,
            resources: 1024,
        }
    }

    /// The time of a call.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    /// Checks that no limit is zero or beyond what the server gives.
    pub(crate) fn check(&self, given: &Self) -> Result<()> {
        let all = [
            ("fuel", self.fuel, given.fuel),
            ("deadline_ms", self.deadline_ms, given.deadline_ms),
            ("memory_bytes", self.memory_bytes, given.memory_bytes),
            ("table_elements", self.table_elements, given.table_elements),
            ("resources", u64::from(self.resources), u64::from(given.resources)),
        ];
        for (limit, wanted, given) in all {
            if wanted == 0 {
                return Err(Error::Manifest { reason: format!("the limit {limit} is 0") });
            }
            if wanted > given {
                return Err(Error::Limit { limit, wanted, given });
            }
        }
        Ok(())
    }
}
