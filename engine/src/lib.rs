// SPDX-License-Identifier: Apache-2.0
//! Nearscan: SQL over Parquet files, with scans, filters and aggregates pushed down to the drive.
//!
//! | type | what it is |
//! |---|---|
//! | [`Engine`] | a session: tables, settings, drives |
//! | [`EngineBuilder`] | what an engine is made of |
//! | [`Query`] | a planned statement |
//! | [`QueryStream`] | its rows while it runs; dropping it ends the query |
//! | [`QueryProfile`] | what it did: plan, operators, bytes |
//! | [`Error`] | what went wrong, as primary, detail and hint |
//!
//! ```no_run
//! use futures::StreamExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! let engine = nearscan::Engine::builder().drive("emulated:")?.build().await?;
//! engine.register("lineitem", "data/tpch/sf1/lineitem.parquet").await?;
//! let query = engine.sql("SELECT count(*) FROM lineitem WHERE l_quantity < 24").await?;
//! let mut stream = query.stream().await?;
//! while let Some(batch) = stream.next().await {
//!     assert_eq!(batch?.num_columns(), 1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! SQL is that of DataFusion 55. Statements that it would answer wrongly are
//! [corrected](nearscan_corrections), or refused where that cannot be done. `FROM 'file'` reads a
//! file, a folder or a pattern without a table. The engine prints nothing and needs a tokio runtime
//! around it.

#![forbid(unsafe_code)]

mod access;
mod builder;
mod catalog;
mod corruption;
mod drive_spec;
mod drives;
mod engine;
pub mod error;
mod explain;
mod files;
mod host;
mod interrupt;
mod overlay;
mod panics;
mod parameters;
pub mod parquet;
mod planned;
mod prepared;
mod profile;
mod query;
pub mod serving;
mod session;
mod statement;
mod store;
mod stream;
mod system;
mod system_corrections;
mod system_drives;
mod system_rates;
pub mod units;

pub use builder::EngineBuilder;
pub use drive_spec::{DriveScheme, DriveSpec, DriveSpecError};
pub use engine::{Engine, SessionOptions};
pub use error::{Error, Result};
pub use interrupt::CancelHandle;
pub use nearscan_drive as drive;
pub use nearscan_drive::{KernelStage, Limit, Modelled};
pub use nearscan_optimizer::{
    Candidate, Costs, Decision, KeepReason, Kept, PushdownContext,
    cost::{CoreRates, HostRates},
    settings,
};
pub use planned::PlannedQuery;
pub use profile::{OperatorMetric, OperatorProfile, PushdownProfile, QueryProfile};
pub use query::{Query, QueryResult};
pub use session::{Session, TableName};
pub use statement::{Ending, Statement};
pub use stream::QueryStream;

// Connectors build on the engine alone, so the crates whose types it shows come with it.
pub use datafusion;
pub use datafusion::arrow;
