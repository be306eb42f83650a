// SPDX-License-Identifier: Apache-2.0
//! Makes a Parquet object of an object of another format.
//!
//! # Types of columns
//!
//! CSV and JSON say no types; those of a converted object are ones that all its rows have. To infer
//! them from all rows of CSV takes longer than to convert it. So the types are first inferred from
//! the first rows. If a later row does not have them, nothing is made, and they are inferred from
//! all rows.
//!
//! This needs types whose parser refuses what is of another one, or which take any text. A parser
//! of dates drops the time of a day, a column whose first rows are empty has no type, and JSON
//! drops what it did not expect: these are always inferred from all rows. A parser of floats takes
//! whole numbers of more than 64 bits, and words, which are text where they are inferred: so a
//! column with numbers of this size, or with what is no number, is inferred from all rows.
//!
//! What is left is how a number is written: its parser takes a sign `+`, and spaces around it,
//! which make text where they are inferred.

use std::sync::Arc;

use nearscan::{
    FileFormat, InferFrom, Session,
    arrow::{
        array::{AsArray, Float64Array, RecordBatch},
        datatypes::{DataType, Schema},
    },
    datafusion::catalog::TableProvider,
};
use nearscan_applications::{Refusal, Source, Target};
use nearscan_store::ObjectInfo;
use tokio::task::spawn_blocking;

use crate::{Operations, error::ended, file_format, statement};

impl Operations {
    /// Makes a Parquet object of an object.
    ///
    /// # Errors
    /// Those of [`Tables::convert`](nearscan_applications::Tables::convert).
    pub(crate) async fn convert_object(
        &self,
        source: Source,
        target: Target,
    ) -> Result<ObjectInfo, Refusal> {
        let (store, path) = (self.store.clone(), source.path.clone());
        let info = spawn_blocking(move || store.info(&path)).await;
        let info = info.map_err(|error| ended(&error))??;
        let format = source.format.map(file_format);
        let known = format.or_else(|| FileFormat::of_name(source.path.name()));
        let session = self.session();
        if known == Some(FileFormat::Csv) {
            let opened = self.table(&session, vec![info.clone()], format, InferFrom::FirstRows);
            let (_snapshot, table) = opened.await?;
            if are_settled(&table.schema()) {
                let written = self.write_table(&session, table, target.clone(), check_floats);
                match written.await {
                    // A row may be of other types.
                    Err(Refusal::Invalid(_)) => {}
                    ended => return ended,
                }
            }
        }
        let opened = self.table(&session, vec![info], format, InferFrom::AllRows).await?;
        let (_snapshot, table) = opened;
        self.write_table(&session, table, target, |_| Ok(())).await
    }

    async fn write_table(
        &self,
        session: &Session,
        table: Arc<dyn TableProvider>,
        target: Target,
        check: fn(&RecordBatch) -> Result<(), Refusal>,
    ) -> Result<ObjectInfo, Refusal> {
        let planned = Self::plan(session, &statement::sorted(&target.layout), table).await?;
        self.write(planned, target, check).await
    }
}

/// The first float that not every whole number up to it is an integer of 64 bits.
const FLOAT_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Refuses floats that may have been read from what is no number of this size.
fn check_floats(batch: &RecordBatch) -> Result<(), Refusal> {
    let floats = batch.columns().iter().filter_map(|column| column.as_primitive_opt());
    let is_small =
        |column: &Float64Array| column.iter().flatten().all(|value| value.abs() < FLOAT_MAX);
    match floats.into_iter().all(is_small) {
        true => Ok(()),
        false => Err(Refusal::Invalid("a number is too large for its column".to_owned())),
    }
}

/// Whether rows that are read with the types of a schema have them.
fn are_settled(schema: &Schema) -> bool {
    schema.fields().iter().all(|field| {
        matches!(
            field.data_type(),
            DataType::Boolean
                | DataType::Int64
                | DataType::Float64
                | DataType::Utf8
                | DataType::Utf8View
        )
    })
}
