// SPDX-License-Identifier: Apache-2.0
//! Provides `nearscan.io`: what the engine reads local files with, and why.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray, UInt32Array},
        datatypes::{DataType, SchemaRef},
    },
    catalog::Session,
    common::Result,
};

use nearscan_optimizer::LocalReads;

use crate::{
    system::SystemTable,
    system_drives::{schema_of, strings},
};

/// `nearscan.io`: one row about the engine's reader, which is started if it has not been.
#[derive(Debug)]
pub(crate) struct IoTable(pub(crate) LocalReads);

static IO_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("engine", DataType::Utf8, false),
        ("reason", DataType::Utf8, false),
        ("queue_depth", DataType::UInt32, true),
        ("request_bytes", DataType::UInt32, true),
        ("direct", DataType::Utf8, true),
        ("registered_buffers", DataType::Utf8, true),
        ("registered_files", DataType::Utf8, true),
        ("sqpoll", DataType::Utf8, true),
        ("iopoll", DataType::Utf8, true),
    ])
});

impl SystemTable for IoTable {
    fn name(&self) -> &'static str {
        "io"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&IO_SCHEMA)
    }

    fn rows(&self, _session: &dyn Session) -> Result<RecordBatch> {
        let report = self.0.report();
        let (engine, reason) = match &report {
            Ok(report) => (report.engine.to_string(), report.reason.clone()),
            // Files are read by the library's store then.
            Err(reason) => ("none".to_owned(), reason.clone()),
        };
        let report = report.ok();
        let number =
            |number: Option<u32>| -> ArrayRef { Arc::new(UInt32Array::from(vec![number])) };
        let text = |text: Option<String>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
        let of = report.as_ref();
        let columns: Vec<ArrayRef> = vec![
            strings([engine].iter()),
            strings([reason].iter()),
            number(of.map(|report| report.queue_depth)),
            number(of.map(|report| report.request_bytes)),
            text(of.map(|report| report.direct.to_string())),
            text(of.map(|report| report.registered_buffers.to_string())),
            text(of.map(|report| report.registered_files.to_string())),
            text(of.map(|report| report.sqpoll.to_string())),
            text(of.map(|report| report.iopoll.to_string())),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
