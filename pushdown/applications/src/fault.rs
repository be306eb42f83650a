// SPDX-License-Identifier: Apache-2.0
//! Defines how a call of an application ends that breaks a rule.

/// The rule that a call has broken. The call is over; other calls and the server go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The application executed something that has no meaning, or gave up.
    #[error("trap: {detail}")]
    Trap {
        /// What it was.
        detail: String,
    },
    /// It executed more than its fuel allows.
    #[error("out of fuel: {limit} units are allowed")]
    Fuel {
        /// The fuel of a call.
        limit: u64,
    },
    /// It did not end in time.
    #[error("late: {limit_ms} ms are allowed")]
    Deadline {
        /// The time of a call.
        limit_ms: u64,
    },
    /// It asked for more memory than it may have, at its start or later.
    #[error("out of memory: {wanted} bytes are wanted, {limit} are allowed")]
    Memory {
        /// What it would have had.
        wanted: u64,
        /// The limit.
        limit: u64,
    },
    /// Its tables of functions would have had too many elements.
    #[error("a table of functions would have {wanted} elements, {limit} are allowed")]
    Table {
        /// What it would have had.
        wanted: u64,
        /// The limit.
        limit: u64,
    },
    /// It called too deep.
    #[error("out of stack: {limit} bytes are allowed")]
    Stack {
        /// The limit.
        limit: u64,
    },
    /// It has too many readers, writers and others open.
    #[error("too many open resources: {limit} are allowed")]
    Resources {
        /// The limit.
        limit: u64,
    },
    /// It used the interface in a way that has no meaning: a closed resource, a list that is not in
    /// its memory or longer than the host takes.
    #[error("misuse of the interface: {detail}")]
    Misuse {
        /// What it was.
        detail: String,
    },
    /// The application was stopped during the call.
    #[error("stopped")]
    Stopped,
}

impl Fault {
    /// A word for the rule, which events have; it never changes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Fuel { .. } => "fuel",
            Self::Deadline { .. } => "deadline",
            Self::Memory { .. } => "memory",
            Self::Table { .. } => "table",
            Self::Stack { .. } => "stack",
            Self::Resources { .. } => "resources",
            Self::Misuse { .. } => "misuse",
            Self::Stopped => "stopped",
        }
    }
}
