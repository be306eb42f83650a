// SPDX-License-Identifier: Apache-2.0
//! Writes rows to a Parquet object that a drive reads fast: Snappy, row groups of a million rows,
//! and whole numbers of many values as differences instead of dictionaries.
//!
//! A large dictionary is decompressed token by token before the first row can flow, differences
//! flow at once. Which columns have many values is seen from the first rows.

use std::{
    collections::HashSet,
    io, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::StreamExt;
use nearscan::{
    Query,
    arrow::{
        array::{Array, ArrayRef, AsArray, RecordBatch},
        compute::cast,
        datatypes::{DataType, Int64Type, Schema, SchemaRef},
    },
    parquet::{
        arrow::ArrowWriter,
        basic::{Compression, Encoding},
        errors::ParquetError,
        file::properties::WriterProperties,
        schema::types::ColumnPath,
    },
};
use nearscan_applications::{Layout, Refusal, Target};
use nearscan_store::{Error as StoreError, ObjectInfo, Store, Writer};
use tokio::{sync::mpsc, task::spawn_blocking};

use crate::{
    Operations,
    error::{ended, refusal},
    task::{AbortOnDrop, Permit, permission},
};

/// Rows of a row group, if the layout does not say it.
const ROW_GROUP_ROWS: u32 = 1_048_576;

/// Rows of a row group, whatever a layout says.
const ROW_GROUP_ROWS_MAX: u32 = 1 << 24;

/// Bytes of a row group in memory, at which it ends.
const ROW_GROUP_BYTES_MAX: usize = 256 << 20;

/// Rows from which the encodings are chosen, and their bytes in memory, if these are more.
const SAMPLE_ROWS: usize = 65_536;
const SAMPLE_BYTES: usize = 64 << 20;

/// A column has many values if more than one in so many rows is a new one.
const ROWS_PER_VALUE: usize = 8;

/// Batches that wait for the writer.
const BATCHES_WAITING: usize = 4;

impl Operations {
    /// Writes the rows of a query to an object, if `check` takes all of them. If this future is
    /// dropped before the object is committed, it never is.
    pub(crate) async fn write(
        &self,
        query: Query,
        target: Target,
        check: fn(&RecordBatch) -> Result<(), Refusal>,
    ) -> Result<ObjectInfo, Refusal> {
        let (sender, mut receiver) = mpsc::channel::<Option<RecordBatch>>(BATCHES_WAITING);
        let (store, schema) = (self.store.clone(), query.schema());
        let (_permission, permit) = permission();
        let writing = spawn_blocking(move || {
            let mut table = TableWriter::new(&store, target, schema)?;
            loop {
                match receiver.blocking_recv() {
                    Some(Some(batch)) => table.write(batch)?,
                    Some(None) => return table.commit(&permit),
                    // The query failed, or its caller has left.
                    None => return Err(Refusal::Unavailable("the rows end early".to_owned())),
                }
            }
        });
        let reading = self.runtime.spawn(async move {
            let mut batches = query.stream().await.map_err(|error| refusal(&error))?;
            while let Some(batch) = batches.next().await {
                let batch = batch.map_err(|error| refusal(&error))?;
                check(&batch)?;
                if sender.send(Some(batch)).await.is_err() {
                    // The writer says why.
                    return Ok(());
                }
            }
            drop(sender.send(None).await);
            Ok(())
        });
        let reading = AbortOnDrop::new(reading);
        let written = writing.await.map_err(|error| ended(&error))?;
        match (written, reading.join().await) {
            (Err(_), Err(read)) => Err(read),
            (written, _) => written,
        }
    }
}

/// Why the first write of an object that failed did, which Parquet's error does not keep.
#[derive(Clone, Default)]
struct Failed(Arc<Mutex<Option<StoreError>>>);

impl Failed {
    fn lock(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an application is told of an error of the Parquet writer.
    fn or(&self, error: &ParquetError) -> Refusal {
        let failed = self.lock().take();
        failed.map_or_else(|| Refusal::Invalid(error.to_string()), Refusal::from)
    }
}

/// An object as a file that is written.
struct ObjectFile {
    writer: Writer,
    failed: Failed,
}

impl io::Write for ObjectFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes).map_err(|error| {
            let text = error.to_string();
            self.failed.lock().get_or_insert(error);
            io::Error::other(text)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a table to an object.
struct TableWriter {
    schema: SchemaRef,
    layout: Layout,
    failed: Failed,
    state: State,
}

enum State {
    /// The first rows are collected.
    Sampling {
        file: Box<ObjectFile>,
        batches: Vec<RecordBatch>,
        rows: usize,
        bytes: usize,
    },
    Writing(Box<ArrowWriter<ObjectFile>>),
    Failed,
}

impl TableWriter {
    fn new(store: &Store, target: Target, schema: SchemaRef) -> Result<Self, Refusal> {
        let Target { path, condition, layout } = target;
        store.ensure_collection(path.collection())?;
        let writer = store.writer(&path, condition)?;
        let failed = Failed::default();
        let file = Box::new(ObjectFile { writer, failed: failed.clone() });
        let state = State::Sampling { file, batches: Vec::new(), rows: 0, bytes: 0 };
        Ok(Self { schema, layout, failed, state })
    }

    fn write(&mut self, batch: RecordBatch) -> Result<(), Refusal> {
        match &mut self.state {
            State::Sampling { batches, rows, bytes, .. } => {
                *rows += batch.num_rows();
                *bytes += batch.get_array_memory_size();
                batches.push(batch);
                match *rows >= SAMPLE_ROWS || *bytes >= SAMPLE_BYTES {
                    true => self.begin(),
                    false => Ok(()),
                }
            }
            State::Writing(writer) => writer.write(&batch).map_err(|error| self.failed.or(&error)),
            State::Failed => Err(Refusal::Unavailable("the object cannot be written".to_owned())),
        }
    }

    /// Chooses the encodings, and writes the rows that were collected.
    fn begin(&mut self) -> Result<(), Refusal> {
        let State::Sampling { file, batches, .. } = mem::replace(&mut self.state, State::Failed)
        else {
            return Err(Refusal::Unavailable("the object cannot be written".to_owned()));
        };
        let properties = properties(&self.schema, &self.layout, &batches);
        let writer = ArrowWriter::try_new(*file, Arc::clone(&self.schema), Some(properties));
        let writer = writer.map_err(|error| self.failed.or(&error))?;
        self.state = State::Writing(Box::new(writer));
        batches.into_iter().try_for_each(|batch| self.write(batch))
    }

    fn commit(mut self, permit: &Permit) -> Result<ObjectInfo, Refusal> {
        if matches!(self.state, State::Sampling { .. }) {
            self.begin()?;
        }
        let State::Writing(writer) = self.state else {
            return Err(Refusal::Unavailable("the object cannot be written".to_owned()));
        };
        let file = writer.into_inner().map_err(|error| self.failed.or(&error))?;
        permit.take()?;
        Ok(file.writer.commit()?)
    }
}

/// The encodings of a table of which some rows are known.
fn properties(schema: &Schema, layout: &Layout, sample: &[RecordBatch]) -> WriterProperties {
    let rows = layout.row_group_rows.unwrap_or(ROW_GROUP_ROWS).clamp(1, ROW_GROUP_ROWS_MAX);
    let builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("nearscan ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_row_count(usize::try_from(rows).ok())
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES_MAX));
    let columns = schema.fields().iter().enumerate();
    let many = columns.filter(|(index, field)| {
        let column = sample.iter().map(|batch| batch.column(*index));
        is_whole_number(field.data_type()) && has_many_values(column)
    });
    let builder = many.fold(builder, |builder, (_, field)| {
        let path = ColumnPath::new(vec![field.name().clone()]);
        builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    });
    builder.build()
}

/// Whether Parquet keeps the values of a type as integers of up to 64 bits.
fn is_whole_number(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
        )
}

fn has_many_values<'a>(columns: impl Iterator<Item = &'a ArrayRef>) -> bool {
    let (mut values, mut rows) = (HashSet::new(), 0);
    for column in columns {
        rows += column.len();
        // Dates and times are numbers.
        if let Ok(numbers) = cast(column, &DataType::Int64) {
            values.extend(numbers.as_primitive::<Int64Type>().iter().flatten());
        }
    }
    values.len() * ROWS_PER_VALUE > rows
}
