// SPDX-License-Identifier: Apache-2.0
//! Defines [`FileFacts`], the facts about a Parquet file that planning needs.

use std::{collections::BTreeMap, sync::Arc};

use nearscan_drive::{FileRef, Placement};
use parquet::file::metadata::ParquetMetaData;

use crate::quantiles::Quantiles;

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
    /// Estimates that were made of columns.
    pub estimates: Arc<ColumnEstimates>,
}

/// Estimates of columns, by name; of those that a plan asked for. They may be wrong, so they only
/// choose among plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnEstimates {
    /// How many different values there are, NULL not counted.
    pub distinct: BTreeMap<String, u64>,
    /// How the values are spread; none where bounds of row groups tell more than a sample.
    pub quantiles: BTreeMap<String, Option<Quantiles>>,
}

impl FileFacts {
    /// Returns whether a drive holds the file.
    pub fn placement(&self, drive: &str) -> Option<&Placement> {
        self.placements.iter().find(|(name, _)| name == drive).map(|(_, placement)| placement)
    }
}
