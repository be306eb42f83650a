// SPDX-License-Identifier: Apache-2.0
//! Implements the table function `app`: `SELECT * FROM app('NAME', 'ARGUMENT', ..)` has the rows
//! that an application on a storage server makes, as it makes them.
//!
//! The server is the one that is attached as a drive; if there are several, the name is
//! `drive://HOST:PORT/NAME`. The schema is asked for while a statement is planned, on the thread
//! that plans it.
//!
//! # Invariants
//!
//! - What an application sends is checked: its batches have the schema that it has stated.
//! - A statement that ends early ends the call.

use std::{collections::VecDeque, fmt, sync::Arc};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef, error::ArrowError},
    catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider, streaming::StreamingTable},
    common::{DataFusionError, Result, ScalarValue, plan_err},
    execution::TaskContext,
    logical_expr::Expr,
    physical_plan::{
        SendableRecordBatchStream, stream::RecordBatchStreamAdapter, streaming::PartitionStream,
    },
};
use futures::{StreamExt, TryStreamExt, stream};
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

    /// The address of the server of an application, and the application's name.
    fn place(&self, name: &str) -> Result<(String, String)> {
        let of_url = name.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix("://"));
        if let Some((address, name)) = of_url.and_then(|rest| rest.split_once('/')) {
            return Ok((address.to_owned(), name.to_owned()));
        }
        let mut servers = self.servers.connected();
        match (servers.pop(), servers.is_empty()) {
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
}

impl TableFunctionImpl for AppFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let texts: Option<Vec<String>> = args.exprs().iter().map(text_of).collect();
        let Some([name, arguments @ ..]) = texts.as_deref() else {
            return plan_err!(
                "{NAME} takes the name of an application and its arguments, as texts"
            );
        };
        let (address, name) = self.place(name)?;
        if let Some(access) = args.session().config().get_extension::<Access>() {
            // An application may write. Without the permission no server hears of it.
            access.check_call(NAME, &format!("{SCHEME}://{address}/"))?;
        }
        let server = self.servers.connect_now(&address);
        let server = server.map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let call = Call { address, server, name, arguments: arguments.to_vec() };
        let stated = call.server.application_schema(&call.name, &call.arguments);
        let stated = stated.map_err(|error| call.failed(&error))?;
        let mut decoder = ForeignStream::new();
        decoder.push(&stated).map_err(|error| call.no_stream(&error))?;
        decoder.finish().map_err(|error| call.no_stream(&error))?;
        let Some(schema) = decoder.schema() else {
            return Err(call.failed(&"it has stated no schema"));
        };
        let part = Arc::new(Part { schema: Arc::clone(&schema), call });
        Ok(Arc::new(StreamingTable::try_new(schema, vec![part])?))
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
