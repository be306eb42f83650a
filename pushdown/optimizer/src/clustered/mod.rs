// SPDX-License-Identifier: Apache-2.0
//! Joins and aggregates files that are written in the order of a key window by window, without
//! distributing their rows.
//!
//! ```text
//! AggregateExec: mode=FinalPartitioned        WindowsExec: windows=61, key=l_orderkey
//!   RepartitionExec: Hash([l_orderkey])   =>    AggregateExec: mode=SinglePartitioned
//!     AggregateExec: mode=Partial                 FusedScanExec: windows=61
//!       FusedScanExec
//!
//! HashJoinExec: mode=Partitioned              WindowsExec: windows=61, key=o_orderkey
//!   RepartitionExec: Hash([o_orderkey])   =>    HashJoinExec: mode=Partitioned
//!     FusedScanExec                               FusedScanExec: windows=61
//!   RepartitionExec: Hash([l_orderkey])           FusedScanExec: windows=61
//!     FusedScanExec
//! ```
//!
//! The ranges of the row groups of such files hardly overlap: the files are partitioned by range
//! already. They are cut into windows, ranges of the key, of which there are more than partitions;
//! a partition runs one window after the other, and its hash table is of one window only.
//!
//! - `rule`: [`WindowsRule`], which parts of a plan are cut; `chain`: which operators have their
//!   rows in the windows of scans; `cut`: where windows begin; `gain`: whether they are expected to
//!   pay.
//! - `exec`: [`WindowsExec`], which runs windows.
//!
//! # Invariants
//!
//! - All rows of equal keys are in one window, NULL too.
//! - Row groups without bounds overlap every window, so they leave the plan as it is.
//! - No operator in a window waits for another window.

mod chain;
mod cut;
mod exec;
mod gain;
mod rule;

pub use exec::WindowsExec;
pub use rule::WindowsRule;
