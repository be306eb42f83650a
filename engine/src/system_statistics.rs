// SPDX-License-Identifier: Apache-2.0
//! Provides `nearscan.statistics`: what plans know of the columns of files.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray, UInt64Array},
        datatypes::{DataType, SchemaRef},
    },
    catalog::Session,
    common::Result,
};

use crate::{
    access::Access,
    parquet::{FileRow, rows_of},
    system::SystemTable,
    system_drives::{schema_of, strings},
};

/// `nearscan.statistics`: one row for each column of the local files that were planned with.
#[derive(Debug)]
pub(crate) struct StatisticsTable;

static STATISTICS_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("file", DataType::Utf8, false),
        ("column", DataType::Utf8, false),
        ("rows", DataType::UInt64, false),
        ("nulls", DataType::UInt64, true),
        ("min", DataType::Utf8, true),
        ("max", DataType::Utf8, true),
        ("distinct_count", DataType::UInt64, true),
        ("source", DataType::Utf8, false),
        ("age_s", DataType::UInt64, true),
    ])
});

impl SystemTable for StatisticsTable {
    fn name(&self) -> &'static str {
        "statistics"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&STATISTICS_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        // Bounds are values of files, which a session may not be allowed to open.
        let access = session.config().get_extension::<Access>().unwrap_or_default();
        let rows = rows_of(session, |file| access.check_location(file).is_ok());
        let number = |cell: fn(&FileRow) -> Option<u64>| -> ArrayRef {
            Arc::new(rows.iter().map(cell).collect::<UInt64Array>())
        };
        let text = |cell: fn(&FileRow) -> Option<&str>| -> ArrayRef {
            Arc::new(rows.iter().map(cell).collect::<StringArray>())
        };
        let columns: Vec<ArrayRef> = vec![
            strings(rows.iter().map(|row| row.file.as_str())),
            strings(rows.iter().map(|row| row.column.as_str())),
            number(|row| Some(row.rows)),
            number(|row| row.nulls),
            text(|row| row.min.as_deref()),
            text(|row| row.max.as_deref()),
            number(|row| row.distinct),
            strings(rows.iter().map(|row| row.source)),
            number(|row| row.age_s),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
