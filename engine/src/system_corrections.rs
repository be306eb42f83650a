// SPDX-License-Identifier: Apache-2.0
//! Provides the table `nearscan.corrections`: the corrections of DataFusion, and whether each is on
//! in this session.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray},
        datatypes::{DataType, Field, Schema, SchemaRef},
    },
    catalog::Session,
    common::Result,
};
use nearscan_corrections::{CORRECTIONS, Description};

use crate::{settings::NearscanOptions, system::SystemTable};

/// A row for each correction.
#[derive(Debug)]
pub(crate) struct CorrectionsTable;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let column = |name: &str, is_nullable| Field::new(name, DataType::Utf8, is_nullable);
    Arc::new(Schema::new(vec![
        column("name", false),
        // Several are separated by commas; NULL where none was found.
        column("upstream_issue", true),
        column("versions", false),
        column("state", false),
        column("description", false),
    ]))
});

impl SystemTable for CorrectionsTable {
    fn name(&self) -> &'static str {
        "corrections"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let enabled = NearscanOptions::corrections_of(session.config_options());
        let text = |cell: fn(&Description) -> &'static str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(CORRECTIONS.iter().map(cell)))
        };
        let issues = CORRECTIONS.iter().map(|row| match row.issues {
            [] => None,
            issues => Some(issues.join(", ")),
        });
        let states = CORRECTIONS.iter().map(|row| match enabled.contains(row.correction) {
            true => "on",
            false => "off",
        });
        let columns: Vec<ArrayRef> = vec![
            text(|row| row.name),
            Arc::new(issues.collect::<StringArray>()),
            text(|row| row.versions),
            Arc::new(StringArray::from_iter_values(states)),
            text(|row| row.upstream),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
