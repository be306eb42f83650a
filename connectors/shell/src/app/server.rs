// SPDX-License-Identifier: Apache-2.0
//! Connects to the server whose applications are meant, and shows its answers and errors.

use std::sync::Arc;

use nearscan::{
    Engine,
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray},
        datatypes::{DataType, Field, Schema},
    },
    serving::connect_server,
};
use nearscan_remote::{ApplicationError, ApplicationErrorKind, RemoteDrive};
use tokio::runtime::Handle;

use crate::{
    drive::Shown,
    engine_args::{EngineArgs, ProgressWhen},
    failure::{Failure, Result, in_parts},
    output::Output,
    session::Session,
};

/// Connects to the one server that `--drive` names.
pub(super) async fn connect(engine: &EngineArgs, queries: &Handle) -> Result<Arc<RemoteDrive>> {
    let [url] = engine.drive.as_slice() else {
        let text = "error: no server is named\n  hint: name it with --drive remote://HOST:PORT";
        return Err(Failure::Usage(text.to_owned()));
    };
    let url = url.clone();
    let connected = queries.spawn_blocking(move || connect_server(&url)).await;
    let connected = connected.map_err(|error| Failure::panicked(&error))?;
    connected.map_err(|error| Failure::usage(&error))
}

/// A request about an application that failed.
pub(super) fn failed(verb: &str, name: &str, error: &ApplicationError) -> Failure {
    unanswered(&format!("{verb} '{name}'"), error)
}

/// A request that failed.
pub(super) fn unanswered(what: &str, error: &ApplicationError) -> Failure {
    let hint = match error.kind {
        ApplicationErrorKind::NotStarted => Some("start it with `nearscan app start`"),
        ApplicationErrorKind::Exists => Some("use --replace, or another name"),
        ApplicationErrorKind::InUse => {
            Some("remove its handlers with `nearscan app handler remove`")
        }
        ApplicationErrorKind::Busy => Some("try again later"),
        ApplicationErrorKind::NotFound
        | ApplicationErrorKind::Failed { .. }
        | ApplicationErrorKind::Fault { .. }
        | ApplicationErrorKind::Invalid
        | ApplicationErrorKind::Denied
        | ApplicationErrorKind::TooLarge
        | ApplicationErrorKind::Unreachable
        | ApplicationErrorKind::Unsupported
        | ApplicationErrorKind::Server => None,
    };
    Failure::Statement(in_parts(&format!("cannot {what}"), Some(error.to_string()), hint))
}

/// A table of texts.
#[derive(Debug)]
pub(super) struct Table<const COLUMNS: usize> {
    names: [&'static str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(super) fn new(names: [&'static str; COLUMNS]) -> Self {
        Self { names, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// Writes the table in the form that is asked for.
    pub(super) async fn show(self, shown: &Shown, queries: &Handle) -> Result<()> {
        let usage = |error: nearscan::Error| Failure::usage(&error);
        let fields = self.names.map(|name| Field::new(name, DataType::Utf8, false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let column = |index: usize| {
            let texts = self.rows.iter().map(|row| row[index].as_str());
            Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
        };
        let columns = (0..COLUMNS).map(column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns);
        let batch = batch.map_err(|error| Failure::work(&error))?;
        let engine = Engine::builder().build().await.map_err(usage)?;
        engine.register_batches("found", schema, vec![batch]).map_err(usage)?;
        let output = Output::open(shown.format, shown.output.as_deref())?;
        let mut session = Session::over(engine, output, ProgressWhen::Off, queries);
        session.run_statements("SELECT * FROM found").await
    }
}
