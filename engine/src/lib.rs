// SPDX-License-Identifier: Apache-2.0
//! Nearscan: SQL over Parquet files, with scans, filters and aggregates pushed down to the drive.
//!
//! # A first query
//!
//! A program needs one [`Engine`]. It takes SQL and returns Arrow record batches. It has to be used
//! within a tokio runtime, and prints nothing.
//!
//! ```
//! use nearscan::Engine;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! let engine = Engine::builder().build().await?;
//! let result = engine.sql("SELECT value, value * value AS square FROM range(1, 4)").await?;
//! let result = result.collect().await?;
//! assert_eq!(result.profile.rows, 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Tables
//!
//! [`register`](Session::register) makes a table of a file, a folder or a pattern; `FROM 'file'`
//! needs no table. [`register_batches`](Session::register_batches) takes record batches, and
//! [`register_table`](Session::register_table) anything that DataFusion can scan.
//!
//! ```
//! # use nearscan::Engine;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let engine = Engine::builder().build().await?;
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("squares.parquet").display().to_string();
//! let copy = "COPY (SELECT value AS n, value * value AS sq FROM range(1, 100)) TO";
//! let copy = format!("{copy} '{path}'");
//! engine.sql(&copy).await?.collect().await?;
//! engine.register("squares", &path).await?;
//! let result = engine.sql("SELECT max(sq) FROM squares WHERE n < 10").await?.collect().await?;
//! assert_eq!(result.batches[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Object stores
//!
//! With the feature `object-stores`, a URL can take the place of a file: `s3://bucket/path` (also
//! `s3a://`), `gs://bucket/path`, `az://container/path` (also `azure://`, `adl://`, `abfs://` and
//! `abfss://`, with `container@account.host` too), `https://host/path` and `http://host/path`. One
//! that ends with a slash is a folder, which web servers do not have; patterns are for local files.
//!
//! Endpoints and credentials come from the environment, in the variables of the crate
//! `object_store`: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`;
//! `GOOGLE_SERVICE_ACCOUNT`; `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`; and others
//! of these prefixes, among them `AWS_SKIP_SIGNATURE=true` for public data and
//! `AWS_ALLOW_HTTP=true` for a server without encryption. It is read at the first use of a bucket.
//! Files such as `~/.aws/credentials` are not read.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! # let engine = nearscan::Engine::builder().build().await?;
//! engine.register("orders", "s3://shop/orders/").await?;
//! let query = engine.sql("SELECT count(*) FROM 'https://example.org/data/orders.parquet'").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A connection times out after 5 seconds and a request after 30 (`AWS_CONNECT_TIMEOUT`,
//! `AWS_TIMEOUT` and so on); a failed request is retried at most three times, in the first 10
//! seconds. Every statement may use the credentials of the process: give sessions that run foreign
//! statements an [`allowed_root`](SessionOptions::allowed_root).
//!
//! Drives hold local files, so scans of object stores stay on the host. Without the feature,
//! [`Engine::register_object_store`] adds a store that the program made.
//!
//! # Streams of rows
//!
//! [`Query::stream`] returns batches while the query runs. Dropping the stream cancels the query; a
//! [`CancelHandle`] cancels it from another task, and [`Query::timeout`] after a time.
//! [`QueryStream::into_record_batch_stream`] converts it to the stream type that other libraries of
//! DataFusion's ecosystem take.
//!
//! ```
//! use std::time::Duration;
//!
//! use futures::TryStreamExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! # let engine = nearscan::Engine::builder().build().await?;
//! let query = engine.sql("SELECT value FROM range(0, 100000)").await?;
//! let mut stream = query.timeout(Duration::from_secs(60)).stream().await?;
//! let mut rows = 0;
//! while let Some(batch) = stream.try_next().await? {
//!     rows += batch.num_rows();
//! }
//! assert_eq!(rows, 100_000);
//! # Ok(())
//! # }
//! ```
//!
//! # Parameters
//!
//! [`Query::bind`] binds values to `$1`, `?` and `$name`, and casts them to the type that the
//! statement needs; they never become part of the text. [`Query::plan`] plans a query for several
//! runs.
//!
//! ```
//! use nearscan::datafusion::common::ScalarValue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! # let engine = nearscan::Engine::builder().build().await?;
//! let query = engine.sql("SELECT count(*) FROM range(0, 10) WHERE value < $most").await?;
//! let planned = query.bind(vec![("most", ScalarValue::from("4"))])?.plan().await?;
//! for _ in 0..2 {
//!     assert_eq!(planned.collect().await?.profile.rows, 1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Sessions
//!
//! A service makes a [`Session`] for each request, which opens no file and calls no drive. It sees
//! the tables of the engine; tables that it creates or drops and settings that it changes affect no
//! other session. Settings below `nearscan.io` are of the engine, and its first session alone can
//! change them. [`SessionOptions`] restrict a session to reading, and to some folders.
//!
//! ```
//! use nearscan::{Engine, Error, SessionOptions, error::AccessError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let engine = Engine::builder().build().await?;
//! engine.sql("CREATE TABLE t AS VALUES (1), (2)").await?;
//! let session = engine.session_with(SessionOptions::default().read_only());
//! assert_eq!(session.sql("SELECT * FROM t").await?.collect().await?.profile.rows, 2);
//! let refused = session.sql("DROP TABLE t").await.unwrap_err();
//! assert!(matches!(refused, Error::Access(AccessError::ReadOnly { .. })));
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! An [`Error`] has three parts: what is wrong, where and with what, and what to do about it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! # let engine = nearscan::Engine::builder().build().await?;
//! engine.sql("CREATE TABLE lineitem AS VALUES (1)").await?;
//! let error = engine.sql("SELECT * FROM lineitm").await.unwrap_err();
//! assert_eq!(
//!     error.render(),
//!     "error: table 'lineitm' not found\n  \
//!        detail: tables: lineitem\n  \
//!        hint: did you mean 'lineitem'?"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # Drives
//!
//! With a drive attached, scans run on the drive that stores the data; the rows are the same. The
//! [`QueryProfile`] and the table `nearscan.pushdown_log` show what ran where, and why.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), nearscan::Error> {
//! let engine = nearscan::Engine::builder().drive("emulated:")?.build().await?;
//! engine.register("lineitem", "data/tpch/sf1/lineitem.parquet").await?;
//! let query = engine.sql("SELECT count(*) FROM lineitem WHERE l_quantity < 24").await?;
//! let profile = query.collect().await?.profile;
//! println!("{} bytes crossed the link", profile.pushdown().link_bytes);
//! # Ok(())
//! # }
//! ```
//!
//! # SQL dialect
//!
//! The dialect is that of DataFusion 55, with extensions that users of DuckDB know
//! ([`nearscan_dialect`]). Statements that DataFusion would answer wrongly are
//! [corrected](nearscan_corrections), or refused if that is not possible. The folder `examples` of
//! this crate has complete programs.

#![forbid(unsafe_code)]

mod access;
mod app_table;
mod builder;
mod cache_folder;
mod catalog;
mod corruption;
mod dialect;
mod drive_spec;
mod drives;
mod engine;
pub mod error;
mod explain;
mod files;
mod host;
mod interrupt;
pub mod ipc;
mod object_stores;
mod overlay;
mod panics;
mod parameters;
pub mod parquet;
mod planned;
mod prepared;
mod profile;
mod progress;
mod query;
mod remote_options;
mod servers;
pub mod serving;
mod session;
mod statement;
mod store;
mod stream;
mod system;
mod system_corrections;
mod system_drives;
mod system_io;
mod system_rates;
mod system_statistics;
pub mod units;

pub use builder::EngineBuilder;
pub use drive_spec::{DriveScheme, DriveSpec, DriveSpecError};
pub use engine::{Engine, SessionOptions};
pub use error::{Error, Result};
pub use files::{FileFormat, InferFrom};
pub use interrupt::CancelHandle;
pub use nearscan_dialect::type_name;
pub use nearscan_drive as drive;
pub use nearscan_drive::{KernelStage, Limit, Modelled, Schedule};
pub use nearscan_optimizer::{
    Candidate, Costs, Decision, KeepReason, Kept, PushdownContext,
    cost::{CoreRates, HostRates},
    settings,
};
pub use planned::PlannedQuery;
pub use profile::{OperatorMetric, OperatorProfile, PushdownProfile, QueryProfile};
pub use progress::{AmountRead, Progress};
pub use query::{Query, QueryResult};
pub use session::{Session, TableName};
pub use statement::{Ending, Statement};
pub use stream::QueryStream;

// Connectors depend on the engine alone, so it re-exports the crates whose types are in its API.
pub use datafusion;
pub use datafusion::arrow;
