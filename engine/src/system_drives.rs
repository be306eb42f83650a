// SPDX-License-Identifier: Apache-2.0
//! Provides the system tables about drives: the attached drives, their functions, and their latest
//! work.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{
            ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array,
            UInt64Array,
        },
        datatypes::{DataType, Field, Schema, SchemaRef},
    },
    catalog::Session,
    common::Result,
};
use nearscan_drive::CostSnapshot;
use nearscan_optimizer::{PushdownContext, functions::pushdown_functions, log::LogEntry};

use crate::system::SystemTable;

pub(crate) fn context(session: &dyn Session) -> Option<Arc<PushdownContext>> {
    session.config().get_extension::<PushdownContext>()
}

pub(crate) fn schema_of(columns: &[(&str, DataType, bool)]) -> SchemaRef {
    let field = |(name, data_type, nullable): &(&str, DataType, bool)| {
        Field::new(*name, data_type.clone(), *nullable)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

pub(crate) fn strings<T: AsRef<str>>(cells: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(cells))
}

fn numbers(cells: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(cells))
}

/// Size of the requests, in bytes, for which the rate of the media is shown: one or a few column
/// chunks.
const REQUEST_BYTES: u64 = 1 << 20;

/// `nearscan.drives`: the attached drives.
#[derive(Debug)]
pub(crate) struct DrivesTable;

static DRIVES_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("name", DataType::Utf8, false),
        ("kind", DataType::Utf8, false),
        ("model", DataType::Utf8, false),
        ("uuid", DataType::Utf8, false),
        ("memory_bytes", DataType::UInt64, false),
        ("free_bytes", DataType::UInt64, false),
        ("in_flight", DataType::UInt32, false),
        ("in_flight_max", DataType::UInt32, false),
        ("lanes", DataType::UInt32, false),
        ("media_bytes_per_s", DataType::Float64, true),
        ("link_bytes_per_s", DataType::Float64, true),
        ("dictionary_bytes_per_s", DataType::Float64, true),
        ("rates_modelled", DataType::Boolean, false),
    ])
});

impl SystemTable for DrivesTable {
    fn name(&self) -> &'static str {
        "drives"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&DRIVES_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let drives = context(session).map(|context| context.drives.list()).unwrap_or_default();
        let snapshots: Vec<_> = drives.iter().map(|(_, drive)| drive.snapshot()).collect();
        let each = || drives.iter().map(|(_, drive)| drive);
        let rate = |cell: fn(&CostSnapshot) -> Option<f64>| -> ArrayRef {
            Arc::new(snapshots.iter().map(cell).collect::<Float64Array>())
        };
        let media_rate = |snapshot: &CostSnapshot| {
            snapshot.media.as_ref().map(|rates| rates.bytes_per_s(REQUEST_BYTES))
        };
        let columns: Vec<ArrayRef> = vec![
            strings(drives.iter().map(|(name, _)| name)),
            strings(each().map(|drive| drive.identity().kind)),
            strings(each().map(|drive| drive.identity().model.as_str())),
            strings(each().map(|drive| drive.identity().uuid.to_string())),
            numbers(each().map(|drive| drive.capabilities().memory_bytes)),
            numbers(snapshots.iter().map(|snapshot| snapshot.free_bytes)),
            Arc::new(UInt32Array::from_iter_values(each().map(|drive| drive.in_flight()))),
            Arc::new(UInt32Array::from_iter_values(
                each().map(|drive| drive.capabilities().in_flight_max),
            )),
            Arc::new(UInt32Array::from_iter_values(
                snapshots.iter().map(|snapshot| snapshot.lanes),
            )),
            rate(media_rate),
            rate(|snapshot| snapshot.link_bytes_per_s),
            rate(|snapshot| snapshot.dictionary_bytes_per_s),
            Arc::new(BooleanArray::from_iter(
                snapshots.iter().map(|snapshot| Some(snapshot.is_modelled())),
            )),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// `nearscan.pushdown_functions`: the functions of each drive.
#[derive(Debug)]
pub(crate) struct FunctionsTable;

static FUNCTIONS_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("function", DataType::Utf8, false),
        ("type", DataType::Utf8, false),
        ("drive", DataType::Utf8, false),
        ("offloadable", DataType::Boolean, false),
        ("reason", DataType::Utf8, false),
    ])
});

impl SystemTable for FunctionsTable {
    fn name(&self) -> &'static str {
        "pushdown_functions"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&FUNCTIONS_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let drives = context(session).map(|context| context.drives.list()).unwrap_or_default();
        let rows: Vec<_> = drives
            .iter()
            .flat_map(|(name, drive)| {
                let functions = pushdown_functions(drive.capabilities());
                functions.into_iter().map(move |function| (name.clone(), function))
            })
            .collect();
        let offloadable = rows.iter().map(|(_, row)| Some(row.offloadable));
        let columns: Vec<ArrayRef> = vec![
            strings(rows.iter().map(|(_, row)| row.function)),
            strings(rows.iter().map(|(_, row)| row.data_type)),
            strings(rows.iter().map(|(drive, _)| drive)),
            Arc::new(offloadable.collect::<BooleanArray>()),
            strings(rows.iter().map(|(_, row)| row.reason)),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// `nearscan.pushdown_log`: the outcome of the latest units of work.
#[derive(Debug)]
pub(crate) struct LogTable;

static LOG_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("query_id", DataType::Utf8, false),
        ("table", DataType::Utf8, false),
        ("file", DataType::Utf8, false),
        ("row_group", DataType::UInt32, false),
        ("placed_on", DataType::Utf8, false),
        ("reason", DataType::Utf8, false),
        ("media_bytes", DataType::UInt64, false),
        ("link_bytes", DataType::UInt64, false),
        ("rows_in", DataType::UInt64, false),
        ("rows_out", DataType::UInt64, false),
        ("measured_ns", DataType::UInt64, true),
        ("modelled_ns", DataType::UInt64, true),
        ("drive_estimate_ns", DataType::UInt64, true),
        ("host_estimate_ns", DataType::UInt64, true),
        ("snapshot_id", DataType::UInt64, true),
    ])
});

impl SystemTable for LogTable {
    fn name(&self) -> &'static str {
        "pushdown_log"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&LOG_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let entries = context(session).map(|context| context.log.entries()).unwrap_or_default();
        let number = |cell: fn(&LogEntry) -> u64| numbers(entries.iter().map(cell));
        let maybe = |cell: fn(&LogEntry) -> Option<u64>| -> ArrayRef {
            Arc::new(entries.iter().map(cell).collect::<UInt64Array>())
        };
        let columns: Vec<ArrayRef> = vec![
            strings(entries.iter().map(|entry| entry.query_id.to_string())),
            strings(entries.iter().map(|entry| entry.table.as_str())),
            strings(entries.iter().map(|entry| entry.file.as_str())),
            Arc::new(UInt32Array::from_iter_values(entries.iter().map(|entry| entry.row_group))),
            strings(entries.iter().map(|entry| entry.placed_on.as_str())),
            strings(entries.iter().map(|entry| entry.reason.as_str())),
            number(|entry| entry.media_bytes),
            number(|entry| entry.link_bytes),
            number(|entry| entry.rows_in),
            number(|entry| entry.rows_out),
            maybe(|entry| entry.measured_ns),
            maybe(|entry| entry.modelled_ns),
            maybe(|entry| entry.estimate.map(|estimate| estimate.drive_ns)),
            maybe(|entry| entry.estimate.map(|estimate| estimate.host_ns)),
            maybe(|entry| entry.estimate.map(|estimate| estimate.snapshot)),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
