// SPDX-License-Identifier: Apache-2.0
//! Writes results as CSV, TSV and JSON.
//!
//! NULL is an empty field in CSV and `null` in JSON. CSV has no lists and structs: such values are
//! written as text.

use std::{io::Write, sync::Arc};

use nearscan::arrow::{
    array::{Array, ArrayRef, RecordBatch, StringArray},
    csv,
    datatypes::{DataType, Field, Schema, SchemaRef},
    error::ArrowError,
    json,
    util::display::{ArrayFormatter, FormatOptions},
};

use super::{ResultWriter, Sink, WriteError};

/// CSV or TSV.
pub(super) struct Delimited {
    writer: csv::Writer<Sink>,
    schema: SchemaRef,
}

/// One array of objects.
pub(super) struct Json {
    writer: json::Writer<Sink, json::writer::JsonArray>,
}

/// One object a line.
pub(super) struct Lines {
    writer: json::Writer<Sink, json::writer::LineDelimited>,
}

impl Delimited {
    /// Writes the header.
    pub(super) fn new(sink: Sink, schema: &Schema, delimiter: u8) -> Result<Self, WriteError> {
        let schema = Arc::new(flat_schema(schema));
        let mut writer =
            csv::WriterBuilder::new().with_header(true).with_delimiter(delimiter).build(sink);
        writer.write(&RecordBatch::new_empty(Arc::clone(&schema)))?;
        Ok(Self { writer, schema })
    }
}

impl ResultWriter for Delimited {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(&flatten(batch, &self.schema)?)?)
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.writer.into_inner().flush()?)
    }
}

impl Json {
    pub(super) fn new(sink: Sink) -> Self {
        Self { writer: json::WriterBuilder::new().with_explicit_nulls(true).build(sink) }
    }
}

impl ResultWriter for Json {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.writer.finish()?;
        let mut sink = self.writer.into_inner();
        sink.write_all(b"\n")?;
        Ok(sink.flush()?)
    }
}

impl Lines {
    pub(super) fn new(sink: Sink) -> Self {
        Self { writer: json::WriterBuilder::new().with_explicit_nulls(true).build(sink) }
    }
}

impl ResultWriter for Lines {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.writer.finish()?;
        Ok(self.writer.into_inner().flush()?)
    }
}

/// Replaces the types that CSV cannot hold by text.
fn flat_schema(schema: &Schema) -> Schema {
    let flat = |field: &Arc<Field>| match is_flat(field.data_type()) {
        true => field.as_ref().clone(),
        false => Field::new(field.name(), DataType::Utf8, true),
    };
    Schema::new(schema.fields().iter().map(flat).collect::<Vec<_>>())
}

fn is_flat(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_flat(values),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => false,
        other => !other.is_nested(),
    }
}

fn flatten(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch
        .columns()
        .iter()
        .map(|column| match is_flat(column.data_type()) {
            true => Ok(Arc::clone(column)),
            false => as_text(column),
        })
        .collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn as_text(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let value = |row| (!column.is_null(row)).then(|| formatter.value(row).to_string());
    Ok(Arc::new(StringArray::from_iter((0..column.len()).map(value))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{batch, written};
    use nearscan::arrow::{array::ListArray, datatypes::Int64Type};

    fn csv_text(batches: &[RecordBatch], delimiter: u8) -> String {
        let open = |sink, schema: &SchemaRef| {
            Box::new(Delimited::new(sink, schema, delimiter).unwrap()) as Box<dyn ResultWriter>
        };
        String::from_utf8(written(open, batches)).unwrap()
    }

    #[test]
    fn csv_quotes_and_has_a_header_even_without_rows() {
        let rows = batch(&[Some(1), None], &[Some("a,\"b\""), Some("c\nd")]);
        let expected = "n,text\n1,\"a,\"\"b\"\"\"\n,\"c\nd\"\n";
        assert_eq!(csv_text(&[batch(&[], &[]), rows.clone()], b','), expected);
        assert_eq!(csv_text(&[batch(&[], &[])], b','), "n,text\n");
        assert!(csv_text(&[rows], b'\t').starts_with("n\ttext\n1\t"));
    }

    #[test]
    fn csv_writes_lists_and_bytes_as_text() {
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None]), None]);
        let bytes = nearscan::arrow::array::BinaryArray::from_vec(vec![b"\x01", b"\xff"]);
        let columns: [(&str, ArrayRef); 2] = [("list", Arc::new(list)), ("bytes", Arc::new(bytes))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        assert_eq!(csv_text(&[batch], b','), "list,bytes\n\"[1, ]\",01\n,ff\n");
    }

    #[test]
    fn json_is_one_array_and_ndjson_a_line_a_row() {
        let rows = [batch(&[Some(1)], &[None]), batch(&[None], &[Some("\"")])];
        let open = |sink, _: &SchemaRef| Box::new(Json::new(sink)) as Box<dyn ResultWriter>;
        let json: serde_json::Value = serde_json::from_slice(&written(open, &rows)).unwrap();
        let expected = serde_json::json!([{"n": 1, "text": null}, {"n": null, "text": "\""}]);
        assert_eq!(json, expected);
        assert_eq!(written(open, &[batch(&[], &[])]), b"[]\n");
        let open = |sink, _: &SchemaRef| Box::new(Lines::new(sink)) as Box<dyn ResultWriter>;
        let expected = "{\"n\":1,\"text\":null}\n{\"n\":null,\"text\":\"\\\"\"}\n";
        assert_eq!(written(open, &rows), expected.as_bytes());
    }
}
