// SPDX-License-Identifier: Apache-2.0
//! Implements the table function `app`: `SELECT * FROM app('NAME', 'ARGUMENT', ..)` has the rows
//! that an application on a storage server makes, as it makes them.
//!
//! The server is the one that is attached as a drive; if there are several, the name is
//! `drive://HOST:PORT/NAME`.
//!
//! The schema is asked for before a statement is planned ([`resolve`]): planning does not wait, and
//! the question ends with the statement. A plan that is made without a session's statement, as by
//! the context of DataFusion, asks on the thread that plans.
//!
//! # Invariants
//!
//! - What an application sends is checked: its batches have the schema that it has stated.
//! - A statement that ends early ends the call.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef, error::ArrowError},
    catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider, streaming::StreamingTable},
    common::{DataFusionError, Result, ScalarValue, plan_err},
    execution::{SessionState, TaskContext},
    logical_expr::Expr,
    physical_plan::{
        SendableRecordBatchStream, stream::RecordBatchStreamAdapter, streaming::PartitionStream,
    },
    sql::parser::Statement as Parsed,
};
use futures::{StreamExt, TryStreamExt, stream};
use nearscan_dialect::table_calls;
use nearscan_remote::{RemoteDrive, TableReading};

use crate::{
    access::Access,
    ipc::ForeignStream,
    servers::{SCHEME, Servers},
};

/// The name of the function.
pub(crate) const NAME: &str = "app";

/// The function `app`.
#[derive(Debug)]
pub(crate) struct AppFunction {
    servers: Arc<Servers>,
}

impl AppFunction {
    /// The function over the servers of an engine.
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        Self { servers }
    }
}

/// The tables of the calls of a statement, by the texts of their arguments.
#[derive(Debug, Default)]
struct Resolved(HashMap<Vec<String>, Arc<dyn TableProvider>>);

/// Asks the servers for the schemas of the calls in a statement, for the state that plans it.
///
/// # Errors
/// As planning the calls, which finds the tables then.
pub(crate) async fn resolve(statement: &Parsed, state: &mut SessionState) -> Result<()> {
    let calls = table_calls(statement, NAME);
    if calls.is_empty() {
        return Ok(());
    }
    let Some(servers) = state.config().get_extension::<Servers>() else { return Ok(()) };
    let access = state.config().get_extension::<Access>();
    let mut resolved = Resolved::default();
    for texts in calls {
        // Planning says what is wrong with it.
        let [name, arguments @ ..] = texts.as_slice() else { continue };
        if resolved.0.contains_key(&texts) {
            continue;
        }
        let (address, name) = place(&servers, name)?;
        check(access.as_deref(), &address)?;
        let server = servers.server(&address).await;
        let server = server.map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let call = Call { address, server, name, arguments: arguments.to_vec() };
        let applications = call.server.applications();
        let stated = applications.schema(&call.name, &call.arguments).await;
        let stated = stated.map_err(|error| call.failed(&error))?;
        resolved.0.insert(texts, call.table(&stated)?);
    }
    state.config_mut().set_extension(Arc::new(resolved));
    Ok(())
}

/// The address of the server of an application, and the application's name.
fn place(servers: &Servers, name: &str) -> Result<(String, String)> {
    let of_url = name.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix("://"));
    if let Some((address, name)) = of_url.and_then(|rest| rest.split_once('/')) {
        return Ok((address.to_owned(), name.to_owned()));
    }
    let mut connected = servers.connected();
    match (connected.pop(), connected.is_empty()) {
        (Some((address, _)), true) => Ok((address, name.to_owned())),
        (None, _) => plan_err!(
            "{NAME}: no server is attached; attach one as the drive remote://HOST:PORT, or \
             name it: {NAME}('{SCHEME}://HOST:PORT/{name}')"
        ),
        (Some(_), false) => plan_err!(
            "{NAME}: there are several servers; name one: {NAME}('{SCHEME}://HOST:PORT/{name}')"
        ),
    }
}

/// Checks that a session may call applications of a server: they may write. Without the permission
/// no server hears of it.
fn check(access: Option<&Access>, address: &str) -> Result<()> {
    match access {
        Some(access) => access.check_call(NAME, &format!("{SCHEME}://{address}/")),
        None => Ok(()),
    }
}

impl TableFunctionImpl for AppFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let texts: Option<Vec<String>> = args.exprs().iter().map(text_of).collect();
        let Some([name, arguments @ ..]) = texts.as_deref() else {
            return plan_err!(
                "{NAME} takes the name of an application and its arguments, as texts"
            );
        };
        let config = args.session().config();
        let resolved = config.get_extension::<Resolved>();
        let texts = texts.as_deref().unwrap_or_default();
        if let Some(table) = resolved.as_ref().and_then(|resolved| resolved.0.get(texts)) {
            return Ok(Arc::clone(table));
        }
        let (address, name) = place(&self.servers, name)?;
        check(config.get_extension::<Access>().as_deref(), &address)?;
        let server = self.servers.connect_now(&address);
        let server = server.map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let call = Call { address, server, name, arguments: arguments.to_vec() };
        let stated = call.server.application_schema(&call.name, &call.arguments);
        let stated = stated.map_err(|error| call.failed(&error))?;
        call.table(&stated)
    }
}

/// A text that is written in a statement.
fn text_of(argument: &Expr) -> Option<String> {
    match argument {
        Expr::Literal(
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text),
            _,
        ) => text.clone(),
        _ => None,
    }
}

/// A call of an application.
#[derive(Clone)]
struct Call {
    address: String,
    server: Arc<RemoteDrive>,
    name: String,
    arguments: Vec<String>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, name, arguments, .. } = self;
        write!(f, "{NAME}({SCHEME}://{address}/{name}, {arguments:?})")
    }
}

impl Call {
    fn failed(&self, reason: &dyn fmt::Display) -> DataFusionError {
        let Self { address, name, .. } = self;
        DataFusionError::Execution(format!("application {name} of {address}: {reason}"))
    }

    /// The table of the call, whose schema is stated as an Arrow IPC stream without batches.
    fn table(self, stated: &[u8]) -> Result<Arc<dyn TableProvider>> {
        let mut decoder = ForeignStream::new();
        decoder.push(stated).map_err(|error| self.no_stream(&error))?;
        decoder.finish().map_err(|error| self.no_stream(&error))?;
        let Some(schema) = decoder.schema() else {
            return Err(self.failed(&"it has stated no schema"));
        };
        let part = Arc::new(Part { schema: Arc::clone(&schema), call: self });
        Ok(Arc::new(StreamingTable::try_new(schema, vec![part])?))
    }

    fn no_stream(&self, error: &ArrowError) -> DataFusionError {
        self.failed(&format!("it sends no Arrow IPC stream: {error}"))
    }

    /// The batches of the call, which begins now.
    async fn batches(self, schema: SchemaRef) -> Result<SendableRecordBatchStream> {
        let applications = self.server.applications();
        let reading = applications.table(&self.name, &self.arguments).await;
        let reading = reading.map_err(|error| self.failed(&error))?;
        let incoming = Incoming {
            call: self,
            reading,
            decoder: ForeignStream::new(),
            decoded: VecDeque::new(),
            schema: Arc::clone(&schema),
        };
        let batches = stream::try_unfold(incoming, |mut incoming| async move {
            Ok(incoming.next().await?.map(|batch| (batch, incoming)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// The batches of a call on their way.
struct Incoming {
    call: Call,
    reading: TableReading,
    decoder: ForeignStream,
    /// Batches that have come together.
    decoded: VecDeque<RecordBatch>,
    schema: SchemaRef,
}

impl Incoming {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.decoded.pop_front() {
                return match batch.schema().fields() == self.schema.fields() {
                    true => {
                        RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())
                            .map(Some)
                            .map_err(|error| self.call.failed(&error))
                    }
                    false => Err(self.call.failed(&"its batches have another schema than stated")),
                };
            }
            let piece = self.reading.next().await;
            match piece.map_err(|error| self.call.failed(&error))? {
                Some(piece) => {
                    let batches = self.decoder.push(&piece);
                    self.decoded.extend(batches.map_err(|error| self.call.no_stream(&error))?);
                }
                None => {
                    let finished = self.decoder.finish();
                    finished.map_err(|error| self.call.no_stream(&error))?;
                    return Ok(None);
                }
            }
        }
    }
}

/// The rows of a call, which begins anew whenever they are read.
#[derive(Debug)]
struct Part {
    schema: SchemaRef,
    call: Call,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (call, schema) = (self.call.clone(), Arc::clone(&self.schema));
        let batches = stream::once(call.batches(Arc::clone(&schema))).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema, batches.boxed()))
    }
}
