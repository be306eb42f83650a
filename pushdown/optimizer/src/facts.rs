// SPDX-License-Identifier: Apache-2.0
//! Defines [`FileFacts`], the facts about a Parquet file that planning needs.

use std::{collections::BTreeMap, sync::Arc};

use nearscan_drive::{FileRef, Placement};
use parquet::file::metadata::ParquetMetaData;

/// Facts about a file that the engine's table provider attaches to the scan's `PartitionedFile` as
/// an extension. A file without facts is kept.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// The path of the file, and its identity when its footer was read.
    pub file: FileRef,
    /// Its footer, with bounds that are sound for the predicate of the scan.
    pub metadata: Arc<ParquetMetaData>,
    /// Its footer as it is in the file.
    pub stated: Arc<ParquetMetaData>,
    /// For each attached drive whether it holds the file.
    pub placements: Vec<(String, Placement)>,
    /// Estimates of the different values of columns, by name; of those that a plan asked for. They
    /// may be wrong, so they only choose among plans.
    pub distinct_counts: Arc<BTreeMap<String, u64>>,
}

impl FileFacts {
    /// Returns whether a drive holds the file.
    pub fn placement(&self, drive: &str) -> Option<&Placement> {
        self.placements.iter().find(|(name, _)| name == drive).map(|(_, placement)| placement)
    }
    /// Returns the estimate of the different values of a column, NULL not counted.
    pub fn distinct(&self, column: &str) -> Option<u64> {
        self.distinct_counts.get(column).copied()
    }
}
