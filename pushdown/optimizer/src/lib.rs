// SPDX-License-Identifier: Apache-2.0
//! Decides which parts of a physical plan run on a drive, and implements the operators that run
//! them there.
//!
//! [`decide`](decide::decide) takes a plan, the facts about its files ([`FileFacts`]), and the
//! capabilities of the attached drives. It returns the plan with fragments replaced by
//! [`PushdownExec`], and one [`Candidate`] for each scan: the drive, or the reason why it was kept.
//! [`PushdownRule`] calls it as a physical optimizer rule; [`recorded`] returns the candidates of a
//! planning.
//!
//! ```text
//! AggregateExec: mode=Final                     AggregateExec: mode=Final
//!   CoalescePartitionsExec                        CoalescePartitionsExec
//!     AggregateExec: mode=Partial        =>         PushdownExec: drive=emulated, ...
//!       FilterExec: l_quantity < 24
//!         DataSourceExec: lineitem
//! ```
//!
//! Merges of sorted rows over such scans become [`PushdownMergeExec`], in a second walk. Scans that
//! no drive has become [`FusedScanExec`]s, by another rule ([`FusedScanRule`]), and grouped
//! aggregates that no scan computes [`PartitionedAggregateExec`]s ([`PartitionedAggregateRule`]).
//! Files that are written in the order of a key are cut into windows of it, of which each is joined
//! and aggregated by itself ([`WindowsRule`]). Under a memory limit, joins become
//! [`GraceHashJoinExec`]s, which can spill ([`GraceJoinRule`]).
//!
//! # What this crate does not do
//!
//! Deciding uses no backend, file system or clock: facts, capabilities, rates and time are passed
//! in as values. Of the operators only the fused scan reads files, through [`LocalReads`], and the
//! partitioned aggregate its temporary ones. Queries that footer statistics answer are rewritten by
//! earlier rules, so they are not offloaded.
//!
//! # Invariants
//!
//! - The output schema of a replaced node is its own `schema()`, never constructed.
//! - A unit's rows are returned once, after its completion was checked; a unit that is pushed back
//!   runs on the host as a whole.
//! - What cannot be lowered is kept with a reason; anything unknown in a scan or an aggregate is
//!   kept.
#![forbid(unsafe_code)]

mod aggregate;
mod clustered;
#[cfg(feature = "proto")]
pub mod codec;
pub mod context;
pub mod cost;
pub mod decide;
pub mod decision;
pub mod distinct;
mod encoded;
mod exec;
mod executions;
pub mod facts;
pub mod functions;
mod fused;
mod grace;
mod join_order;
pub mod log;
mod lower;
mod merge;
mod phases;
mod place;
pub mod planning;
mod pruning;
pub mod quantiles;
pub mod quarantine;
mod reads;
mod rule;
mod scan;
pub mod settings;
mod stack_fragments;
mod stored;
mod units;

pub use aggregate::{DirectAggregateExec, PartitionedAggregateExec, PartitionedAggregateRule};
pub use clustered::{WindowsExec, WindowsRule};
#[cfg(feature = "proto")]
pub use codec::PushdownCodec;
pub use context::PushdownContext;
pub use decision::{Candidate, Costs, Decision, KeepReason, Kept};
pub use exec::{ModelledTime, PushdownExec, PushdownMergeExec, with_query_id};
pub use facts::{ColumnEstimates, FileFacts};
pub use fused::{FusedScanExec, FusedScanRule, JoinKeysRule, ScanChoice};
pub use grace::{GraceHashJoinExec, GraceJoinRule};
pub use join_order::{JoinOrderRule, JoinRows, LastPlanRule};
pub use reads::{LocalReader, LocalReads};
pub use rule::{PushdownRule, core_rates, planning_context, recorded};
pub use settings::NearscanOptions;
