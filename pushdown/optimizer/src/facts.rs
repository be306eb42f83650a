// SPDX-License-Identifier: Apache-2.0
//! [`FileFacts`]: what is known of a Parquet file before a plan is made.

use std::sync::Arc;

use nearscan_drive::{FileRef, Placement};
use parquet::file::metadata::ParquetMetaData;

/// What the engine's table provider found out about a file, attached to the scan's
/// `PartitionedFile` as an extension. A file without facts is kept.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// Where the file is and what it was when its footer was read.
    pub file: FileRef,
    /// Its footer.
    pub metadata: Arc<ParquetMetaData>,
    /// For each attached drive whether it holds the file.
    pub placements: Vec<(String, Placement)>,
}

impl FileFacts {
    /// What a drive said when it was asked for the file.
    pub fn placement(&self, drive: &str) -> Option<&Placement> {
        self.placements.iter().find(|(name, _)| name == drive).map(|(_, placement)| placement)
    }
}
