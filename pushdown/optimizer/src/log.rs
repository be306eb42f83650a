// SPDX-License-Identifier: Apache-2.0
//! Records the outcome of each unit of work, for the table `nearscan.pushdown_log`.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use crate::cost::UnitEstimate;

/// Largest number of entries, about 2 MB; the oldest are dropped.
pub const LOG_ENTRIES_MAX: usize = 10_000;

/// One unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The query.
    pub query_id: u128,
    /// The table.
    pub table: String,
    /// The file.
    pub file: String,
    /// The row group.
    pub row_group: u32,
    /// The drive's name, or `cpu`.
    pub placed_on: String,
    /// The reason why it was pushed back; empty if it was not.
    pub reason: String,
    /// Bytes read from the media by the drive.
    pub media_bytes: u64,
    /// Bytes sent by the drive.
    pub link_bytes: u64,
    /// Rows of the unit.
    pub rows_in: u64,
    /// Rows that came out.
    pub rows_out: u64,
    /// Time of the drive, if it was measured, in ns.
    pub measured_ns: Option<u64>,
    /// Time of the drive, if it was modelled, in ns.
    pub modelled_ns: Option<u64>,
    /// The estimates of the cost model for the unit alone, if it was used.
    pub estimate: Option<UnitEstimate>,
}

/// The latest entries, oldest first.
#[derive(Debug, Default)]
pub struct PushdownLog {
    entries: Mutex<VecDeque<LogEntry>>,
}

impl PushdownLog {
    /// Adds an entry.
    pub fn push(&self, entry: LogEntry) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == LOG_ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// A copy of the entries, oldest first.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
