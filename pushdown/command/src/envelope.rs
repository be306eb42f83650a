// SPDX-License-Identifier: Apache-2.0
//! Defines [`Envelope`]: who asks for a command, the attempt, the time that it may take.

use crate::limits;

/// The request envelope of a command: the requester, the time, the timeout.
///
/// `(command_id, attempt, epoch)` makes a retry idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Identity of the command.
    pub command_id: u128,
    /// Query it belongs to.
    pub query_id: u128,
    /// Number of earlier attempts.
    pub attempt: u32,
    /// Resets of the drive that the sender knows of.
    pub epoch: u64,
    /// Whose quota it counts against.
    pub tenant: u32,
    /// Larger is sooner.
    pub priority: u32,
    /// Time left, in ns.
    pub deadline_ns: u64,
    /// Steps after which a kernel gives up.
    pub steps_max: u64,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            command_id: 0,
            query_id: 0,
            attempt: 0,
            epoch: 0,
            tenant: 0,
            priority: 0,
            deadline_ns: u64::MAX,
            steps_max: limits::STEPS_DEFAULT_MAX,
        }
    }
}
