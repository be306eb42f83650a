// SPDX-License-Identifier: Apache-2.0
//! Scans row groups of Parquet files for an engine on the same machine: decodes, filters, projects
//! and aggregates them in one pass, and returns Arrow arrays.
//!
//! ```text
//! plan       fragment, types of columns, filters             plan.rs
//! scan       row group by row group, batch by batch          scan.rs
//!   batch    columns are read when a row needs them          batch.rs
//!   predicate  conjuncts, the cheapest that drops most first  predicate.rs, conjuncts.rs
//!   by_entry conjuncts decided by dictionaries            by_entry.rs
//!   keys     of joins, which drop rows without a partner    keys.rs, tuples.rs
//!   output   rows as arrays, or states of aggregates         arrays.rs, views.rs
//! ```
//!
//! A conjunct sees only the rows that the conjuncts before it kept, and a column is read only for
//! rows that are left: pages without such rows are not even decompressed, and a column chunk
//! without them need not be fetched ([`Scan::needs`]).
//!
//! # What this module does not do
//!
//! It does no I/O, starts no threads, and knows no plans: the caller fetches the bytes of column
//! chunks, and passes conditions that a fragment cannot express as [`RowFilter`]s.
//!
//! # Invariants
//!
//! - A batch that ends in an error has added no row to the output: the rows before it
//!   ([`Scan::rows_done`]) are complete, so a caller can read the others in another way.
//! - Arrays have the types of the plan, whatever the encoding is.

mod arrays;
mod batch;
mod by_entry;
mod conjuncts;
mod error;
mod keys;
mod page_rows;
mod plan;
mod predicate;
mod scan;
mod tuples;
#[expect(unsafe_code, reason = "arrays of views that were checked when they were made")]
mod views;

pub use error::ScanError;
pub use keys::JoinKeys;
pub use page_rows::has_pages_at;
pub use plan::{RowFilter, ScanPlan};
pub use scan::{Progress, Scan};
pub use tuples::key_tuples;
