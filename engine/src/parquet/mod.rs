// SPDX-License-Identifier: Apache-2.0
//! Provides Parquet tables, and re-exports the crate `parquet` for users of the engine.
//!
//! The public items are those of the crate `parquet`. The table provider is private to the engine:
//!
//! | module | what it does |
//! |---|---|
//! | `table` | wraps DataFusion's listing table |
//! | `format` | returns statistics and orderings of files to DataFusion's planner |
//! | `metadata` | reads footers through the session's cache |
//! | `validate` | validates Parquet metadata before allocating from it |
//! | `statistics` | removes Parquet statistics that DataFusion would use unsoundly |
//! | `equality` | lets the bounds of floating-point columns prune row groups by equality |
//! | `marks` | attaches the columns that are compared by equality to the files of scans |
//! | `ordering` | verifies the sort orders that files declare |
//! | `facts` | attaches footers and drives to files for the optimizer |
//! | `pinned` | makes readers of one version of an object of a drive's server |
//! | `reader` | reads footers and column chunks for scans, and validates them |
//! | `scan` | finds the scans of Parquet files in physical plans |
//! | `distinct` | estimates the different values of columns for plans that join |
//! | `diagnose` | finds the column chunk and page that a scan could not decode |

mod checked;
mod diagnose;
mod distinct;
mod equality;
mod facts;
mod format;
mod in_memory;
mod marks;
mod metadata;
mod ordering;
mod pinned;
mod reader;
mod scan;
mod statistics;
mod table;
mod validate;

pub use datafusion::parquet::*;

use std::sync::Arc;

use datafusion::{datasource::file_format::FileFormatFactory, execution::SessionStateBuilder};

use format::SoundFormatFactory;
use marks::MarkEqualityColumns;

pub(crate) use checked::CheckedFooters;
pub(crate) use diagnose::explain;
pub(crate) use distinct::{DistinctCounts, FileRow, Wanted, rows_of};
pub(crate) use format::STATISTICS_CACHE_BYTES;
pub(crate) use table::TableFactory;

/// Makes a session read Parquet files by the format of this module. Call it after everything that
/// adds physical rules, because the rule that marks predicates must be the last one.
pub(crate) fn install(state: &mut SessionStateBuilder) {
    let ours: Arc<dyn FileFormatFactory> = Arc::new(SoundFormatFactory::new());
    let formats = state.file_formats().get_or_insert_default();
    formats.retain(|format| format.get_ext() != ours.get_ext());
    formats.push(ours);
    MarkEqualityColumns::install(state);
}
