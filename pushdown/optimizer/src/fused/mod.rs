// SPDX-License-Identifier: Apache-2.0
//! Replaces DataFusion's Parquet scans by [`FusedScanExec`], which decodes, filters and aggregates
//! row groups in one pass on the host, without any drive.
//!
//! ```text
//! AggregateExec: mode=Partial      =>  FusedScanExec: aggregates=[..]
//!   FilterExec: l_quantity < 24
//!     DataSourceExec: lineitem
//!
//! HashJoinExec                     =>  HashJoinExec
//!   FilterExec: o_orderdate < ..         FusedScanExec: filter=..
//!     DataSourceExec: orders
//!   DataSourceExec: lineitem             FusedScanExec: dynamic_filter=true
//! ```
//!
//! - `rule`: [`FusedScanRule`], its place among the rules; `choice`: what EXPLAIN shows of it.
//! - `decide`: which nodes are replaced, and by what; `work`: the description of a scan.
//! - `filter`: conditions that a fragment cannot express, evaluated by DataFusion's expressions.
//! - `keys`: collects the keys of a join's build side, for scans below its probe side; `link`:
//!   [`JoinKeysRule`], which joins get it; `lineage`: which columns of an operator's inputs are
//!   wanted if one of its outputs is.
//! - `exec`: the operator; `run`: its streams; `metrics`: their counters; `share`: how its
//!   partitions share row groups; `reader`: opens row groups and reads their chunks, of later ones
//!   ahead.
//! - `windows`: scans whose partitions are ranges of a column; `cuts`: these ranges.
//! - `prune`: row groups without a row of the result, by statistics; `indexes`: by Bloom filters,
//!   and pages by the page index.
//!
//! # Invariants
//!
//! - The output has the schema of the replaced node, and the same rows; their order is that of the
//!   files within a row group, and of a whole partition if an operator above relies on it. Floats
//!   of several partitions are added in no fixed order, as DataFusion adds them.
//! - A row group that cannot be read, or stops in the middle, is read by the replaced plan, from
//!   the first row that was not returned.

mod choice;
mod cuts;
mod decide;
mod exec;
mod filter;
mod indexes;
mod keys;
mod lineage;
mod link;
mod metrics;
mod prune;
mod reader;
mod rule;
mod run;
mod share;
mod windows;
mod work;

pub use choice::ScanChoice;
pub(crate) use cuts::{Cuts, KeyBounds};
pub use exec::FusedScanExec;
pub(crate) use keys::{collects_keys_together, dynamic_ids, input_of_collector};
pub(crate) use lineage::origins;
pub use link::JoinKeysRule;
pub use rule::FusedScanRule;
pub(crate) use share::{Lists, Share, start as start_share};
pub(crate) use windows::WindowKeys;
