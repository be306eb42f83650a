// SPDX-License-Identifier: Apache-2.0
//! Defines the data-parallel operations that the engine gives to applications.
//!
//! Every call comes with the rights of the application. The collections that a request names are
//! checked before it is passed on; an engine has to see to it that an expression reaches no other
//! table: only columns of the request's own, no subqueries.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use nearscan_store::{CollectionPath, Condition, ObjectInfo, ObjectPath};

use crate::{refusal::Refusal, rights::Rights};

/// How the rows of an object are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet.
    Parquet,
    /// CSV with a line of names.
    Csv,
    /// JSON, one object a line.
    Json,
}

/// Which objects of a collection are one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those of these names.
    Names(Vec<String>),
    /// All whose names start with a text.
    Prefix(String),
}

/// How rows come to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Pieces of one Arrow IPC stream.
    ArrowStream,
    /// JSON, one object a line.
    JsonLines,
}

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The collection of the objects.
    pub collection: CollectionPath,
    /// Which of them.
    pub objects: Selection,
    /// Their format; without one, the ends of their names say it.
    pub format: Option<Format>,
    /// Columns of the result; all, if there are none and no aggregates.
    pub columns: Vec<String>,
    /// A condition on rows, in SQL.
    pub filter: Option<String>,
    /// Aggregates, in SQL.
    pub aggregates: Vec<String>,
    /// Columns by which they are grouped.
    pub group_by: Vec<String>,
    /// The largest number of rows.
    pub limit: Option<u64>,
    /// How the rows come.
    pub encoding: Encoding,
}

/// How a Parquet object is laid out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Columns by which the rows are sorted.
    pub sort_by: Vec<String>,
    /// Rows of a row group, if it matters.
    pub row_group_rows: Option<u32>,
}

/// A Parquet object that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub path: ObjectPath,
    /// What must hold for it to be committed.
    pub condition: Condition,
    /// Its layout.
    pub layout: Layout,
}

/// An object of which another one is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub path: ObjectPath,
    /// Its format; without one, the end of its name says it.
    pub format: Option<Format>,
}

/// The data-parallel operations of a drive. A future that is dropped ends the operation, and leaves
/// nothing behind.
#[async_trait]
pub trait Tables: Debug + Send + Sync + 'static {
    /// Reads rows.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn scan(&self, query: Query, rights: &Rights) -> Result<Box<dyn Batches>, Refusal>;

    /// Begins a Parquet object.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn sink(&self, target: Target, rights: &Rights) -> Result<Box<dyn Sink>, Refusal>;

    /// Makes a Parquet object of another object.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn convert(
        &self,
        source: Source,
        target: Target,
        rights: &Rights,
    ) -> Result<ObjectInfo, Refusal>;
}

/// The result of a scan.
#[async_trait]
pub trait Batches: Debug + Send + 'static {
    /// The next piece; none at the end.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal>;
}

/// A Parquet object that is being written. Dropping it leaves nothing of it.
#[async_trait]
pub trait Sink: Debug + Send + 'static {
    /// Takes the next piece of one Arrow IPC stream. The bytes are an application's: anything can
    /// be in them.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn write(&mut self, piece: Bytes) -> Result<(), Refusal>;

    /// Puts the object in its place.
    ///
    /// # Errors
    /// A reason that the application is told.
    async fn commit(self: Box<Self>) -> Result<ObjectInfo, Refusal>;
}

/// A drive without operations on tables: each of them is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTables;

fn no_tables() -> Refusal {
    Refusal::Unavailable("this server has no operations on tables".to_owned())
}

#[async_trait]
impl Tables for NoTables {
    async fn scan(&self, _: Query, _: &Rights) -> Result<Box<dyn Batches>, Refusal> {
        Err(no_tables())
    }

    async fn sink(&self, _: Target, _: &Rights) -> Result<Box<dyn Sink>, Refusal> {
        Err(no_tables())
    }

    async fn convert(&self, _: Source, _: Target, _: &Rights) -> Result<ObjectInfo, Refusal> {
        Err(no_tables())
    }
}
