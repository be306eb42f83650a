// SPDX-License-Identifier: Apache-2.0
//! Gives applications on a storage server the engine's operations on tables: [`Operations`]
//! implements [`Tables`].
//!
//! ```text
//! scan:     Query   -> Snapshot -> statement -> engine, with the drive -> Encoder -> application
//! sink:     application -> decoder -> engine, which sorts -> Parquet -> object
//! convert:  Source  -> Snapshot -> engine, which sorts -> Parquet -> object
//! ```
//!
//! The engine has one drive, that of the server, so a scan of an application runs on the same
//! compute units as one of a client.
//!
//! # What this crate does not do
//!
//! It checks no rights to collections: `nearscan-applications` does before it calls. It runs no
//! application.
//!
//! # Invariants
//!
//! - An operation reads one version of each object: those that were there when it began. If one is
//!   replaced meanwhile, the operation is refused as a conflict, or ends with the old version.
//! - A statement reads the objects of its request and no other table.
//! - An object that is made is there as a whole or not at all.
#![forbid(unsafe_code)]

mod convert;
mod encode;
mod error;
mod parquet;
mod rows;
mod sink;
mod snapshot;
mod statement;
mod task;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use nearscan::{
    Engine, FileFormat, InferFrom, Query as Planned, Session, SessionOptions,
    datafusion::catalog::TableProvider,
};
use nearscan_applications::{
    Batches, Format, Query, Refusal, Rights, Selection, Sink, Source, Tables, Target,
};
use nearscan_store::{ObjectInfo, Store};
use tokio::{runtime::Handle, task::spawn_blocking};

use error::{ended, refusal};
use rows::Rows;
use sink::ParquetSink;
use snapshot::Snapshot;

/// Objects of one scan, at most.
const OBJECTS_MAX: usize = 10_000;

/// Objects of one page of a list.
const PAGE: usize = 1000;

/// The engine's operations on the objects of a store.
#[derive(Clone)]
pub struct Operations {
    engine: Engine,
    store: Store,
    runtime: Handle,
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Operations {
    /// The operations of an engine, to which a drive over the same store is attached
    /// ([`StoreDrive`](nearscan_store::StoreDrive)). Queries run on the runtime.
    #[must_use]
    pub fn new(engine: Engine, store: &Store, runtime: &Handle) -> Self {
        Self { engine, store: store.clone(), runtime: runtime.clone() }
    }

    fn session(&self) -> Session {
        self.engine.session_with(SessionOptions::default().read_only())
    }

    /// The objects of a scan, as they are now.
    async fn selected(&self, query: &Query) -> Result<Vec<ObjectInfo>, Refusal> {
        let (store, collection) = (self.store.clone(), query.collection.clone());
        let selection = query.objects.clone();
        let found = spawn_blocking(move || match selection {
            Selection::Names(names) => {
                let found = names.iter().map(|name| Ok(store.info(&collection.object(name)?)?));
                found.collect::<Result<Vec<_>, Refusal>>()
            }
            Selection::Prefix(prefix) => {
                let mut found: Vec<ObjectInfo> = Vec::new();
                loop {
                    let after = found.last().map(|info| info.path.name().to_owned());
                    let page = store.list(&collection, &prefix, after.as_deref(), PAGE)?;
                    let is_last = page.len() < PAGE;
                    found.extend(page);
                    if is_last || found.len() > OBJECTS_MAX {
                        return Ok(found);
                    }
                }
            }
        });
        let found = found.await.map_err(|error| ended(&error))??;
        match found.len() {
            0 => Err(Refusal::NotFound(format!("no object of {}", query.collection))),
            count if count > OBJECTS_MAX => {
                Err(Refusal::TooLarge(format!("a scan reads at most {OBJECTS_MAX} objects")))
            }
            _ => Ok(found),
        }
    }

    /// A table of objects, which can be read as long as the snapshot is there.
    async fn table(
        &self,
        session: &Session,
        objects: Vec<ObjectInfo>,
        format: Option<FileFormat>,
        infer: InferFrom,
    ) -> Result<(Snapshot, Arc<dyn TableProvider>), Refusal> {
        let snapshot = Snapshot::new(&self.engine, &self.store, objects)?;
        let table = session.open_files(snapshot.urls(), format, infer).await;
        Ok((snapshot, table.map_err(|error| refusal(&error))?))
    }

    /// Plans a statement over one table.
    async fn plan(
        session: &Session,
        statement: &str,
        table: Arc<dyn TableProvider>,
    ) -> Result<Planned, Refusal> {
        let statement = session.statement(statement).map_err(|error| refusal(&error))?;
        let tables = vec![(statement::TABLE.to_owned(), table)];
        let planned = session.plan_with(statement, tables).await;
        let planned = planned.map_err(|error| refusal(&error))?;
        statement::check_plan(planned.logical_plan())?;
        Ok(planned)
    }
}

/// The engine's name of a format.
const fn file_format(format: Format) -> FileFormat {
    match format {
        Format::Parquet => FileFormat::Parquet,
        Format::Csv => FileFormat::Csv,
        Format::Json => FileFormat::Json,
    }
}

#[async_trait]
impl Tables for Operations {
    async fn scan(&self, query: Query, _: &Rights) -> Result<Box<dyn Batches>, Refusal> {
        let session = self.session();
        let statement = statement::scan(&session, &query)?;
        let objects = self.selected(&query).await?;
        let format = query.format.map(file_format);
        let opened = self.table(&session, objects, format, InferFrom::FirstRows).await?;
        let (snapshot, table) = opened;
        let planned = Self::plan(&session, &statement, table).await?;
        Ok(Box::new(Rows::start(&self.runtime, planned, query.encoding, snapshot)))
    }

    async fn sink(&self, target: Target, _: &Rights) -> Result<Box<dyn Sink>, Refusal> {
        Ok(Box::new(ParquetSink::new(self.clone(), target)))
    }

    async fn convert(
        &self,
        source: Source,
        target: Target,
        _: &Rights,
    ) -> Result<ObjectInfo, Refusal> {
        self.convert_object(source, target).await
    }
}
