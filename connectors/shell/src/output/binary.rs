// SPDX-License-Identifier: Apache-2.0
//! Writes results as Arrow IPC and Parquet.

use std::io::Write;

use nearscan::{
    arrow::{array::RecordBatch, datatypes::SchemaRef, ipc::writer as ipc},
    parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties},
};

use super::{ResultWriter, Sink, WriteError};

/// Arrow as a stream, which can be read from a pipe.
pub(super) struct ArrowStream(ipc::StreamWriter<Sink>);

/// Arrow as a file, which can be read from anywhere in it.
pub(super) struct ArrowFile(ipc::FileWriter<Sink>);

/// Parquet with Snappy.
pub(super) struct Parquet(ArrowWriter<Sink>);

impl ArrowStream {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, WriteError> {
        Ok(Self(ipc::StreamWriter::try_new(sink, schema)?))
    }
}

impl ResultWriter for ArrowStream {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.0.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.0.finish()?;
        Ok(self.0.get_mut().flush()?)
    }
}

impl ArrowFile {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, WriteError> {
        Ok(Self(ipc::FileWriter::try_new(sink, schema)?))
    }
}

impl ResultWriter for ArrowFile {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.0.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.0.finish()?;
        Ok(self.0.get_mut().flush()?)
    }
}

impl Parquet {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, WriteError> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        Ok(Self(ArrowWriter::try_new(sink, SchemaRef::clone(schema), Some(properties))?))
    }
}

impl ResultWriter for Parquet {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.0.write(batch)?)
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.0.into_inner()?.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::output::testing::{batch, written};
    use nearscan::{
        arrow::ipc::reader::{FileReader, StreamReader},
        parquet::{
            arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
            file::reader::{FileReader as _, SerializedFileReader},
        },
    };

    fn rows() -> Vec<RecordBatch> {
        vec![batch(&[Some(1), None], &[Some("a"), None]), batch(&[Some(2)], &[Some("b")])]
    }

    #[test]
    fn arrow_output_survives_a_round_trip() {
        let open = |sink, schema: &SchemaRef| {
            Box::new(ArrowStream::new(sink, schema).unwrap()) as Box<dyn ResultWriter>
        };
        let bytes = Cursor::new(written(open, &rows()));
        let read: Result<Vec<_>, _> = StreamReader::try_new(bytes, None).unwrap().collect();
        assert_eq!(read.unwrap(), rows());
        let open = |sink, schema: &SchemaRef| {
            Box::new(ArrowFile::new(sink, schema).unwrap()) as Box<dyn ResultWriter>
        };
        let bytes = Cursor::new(written(open, &rows()));
        let read: Result<Vec<_>, _> = FileReader::try_new(bytes, None).unwrap().collect();
        assert_eq!(read.unwrap(), rows());
    }

    #[test]
    fn parquet_output_survives_a_round_trip_and_is_compressed() {
        let open = |sink, schema: &SchemaRef| {
            Box::new(Parquet::new(sink, schema).unwrap()) as Box<dyn ResultWriter>
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, written(open, &rows())).unwrap();
        let file = || std::fs::File::open(&path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file()).unwrap().build().unwrap();
        let read: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        let all = nearscan::arrow::compute::concat_batches(&rows()[0].schema(), &rows()).unwrap();
        assert_eq!(read, [all]);
        let metadata = SerializedFileReader::new(file()).unwrap().metadata().clone();
        assert_eq!(metadata.row_group(0).column(0).compression(), Compression::SNAPPY);
    }
}
