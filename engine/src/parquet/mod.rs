// SPDX-License-Identifier: Apache-2.0
//! Parquet tables, and the crate `parquet` for those who build on the engine.
//!
//! The public items are those of the crate `parquet`. The table provider is private to the engine:
//!
//! | module | what it does |
//! |---|---|
//! | `table` | wraps DataFusion's listing table |
//! | `reader` | reads footers and column chunks, and validates them |
//! | `validate` | validates Parquet metadata before allocating from it |
//! | `statistics` | removes Parquet statistics that DataFusion would use unsoundly |
//! | `ordering` | verifies the sort orders that files declare |
//! | `facts` | attaches to files what the optimizer needs to know of them |
//! | `diagnose` | finds the column chunk and page that a scan could not decode |

mod diagnose;
mod facts;
mod ordering;
mod reader;
mod statistics;
mod table;
mod validate;

pub use datafusion::parquet::*;

pub(crate) use diagnose::explain;
pub(crate) use table::TableFactory;
