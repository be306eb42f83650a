// SPDX-License-Identifier: Apache-2.0
//! Which parts of a physical plan run on a drive, and the operator that runs them there.
//!
//! [`decide`](decide::decide) looks at a plan, what is known of its files ([`FileFacts`]), and what
//! the attached drives can do, and gives back the plan with fragments replaced by [`PushdownExec`],
//! and one [`Candidate`] for each scan: the drive, or why it was kept. [`PushdownRule`] calls it at
//! its place in the list of physical rules; [`recorded`] shows the candidates of a planning.
//!
//! ```text
//! AggregateExec: mode=Final                     AggregateExec: mode=Final
//!   CoalescePartitionsExec                        CoalescePartitionsExec
//!     AggregateExec: mode=Partial        =>         PushdownExec: drive=emulated, ...
//!       FilterExec: l_quantity < 24
//!         DataSourceExec: lineitem
//! ```
//!
//! Merges of sorted rows over such scans become [`PushdownMergeExec`], in a second walk.
//!
//! # What is not here
//!
//! No backend, no file system, no clock: facts, capabilities, rates and time come in as values.
//! Nothing that footer statistics answer is left to offload at this place in the rule list.
//!
//! # Invariants
//!
//! - The output schema of a replaced node is its own `schema()`, never constructed.
//! - A unit's rows are released once, after its completion was checked; a unit pushed back is done
//!   whole on the host.
//! - What cannot be lowered is kept with a reason; anything unknown in a scan or an aggregate is
//!   kept.
#![forbid(unsafe_code)]

#[cfg(feature = "proto")]
pub mod codec;
pub mod context;
pub mod cost;
pub mod decide;
pub mod decision;
mod exec;
pub mod facts;
pub mod functions;
pub mod log;
mod lower;
mod merge;
mod phases;
mod place;
pub mod quarantine;
mod rule;
mod scan;
pub mod settings;
mod stored;
mod units;

#[cfg(feature = "proto")]
pub use codec::PushdownCodec;
pub use context::PushdownContext;
pub use decision::{Candidate, Costs, Decision, KeepReason, Kept};
pub use exec::{ModelledTime, PushdownExec, PushdownMergeExec, with_query_id};
pub use facts::FileFacts;
pub use rule::{PushdownRule, core_rates, planning_context, recorded};
pub use settings::NearscanOptions;
