// SPDX-License-Identifier: Apache-2.0
//! Decodes columns of Parquet files by the decoder of the fused scan, and does nothing with them:
//! there is no predicate, and the only output is how many values are not NULL, which a batch says
//! without a look at them. Values of a dictionary stay indexes.
//!
//! Row groups are dealt to threads as they ask. What is measured is reading, decompressing and
//! decoding; footers are read before.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use bytes::{Bytes, BytesMut};
use nearscan::{
    arrow::datatypes::DataType,
    datafusion::parquet::{
        arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
        basic::{Compression, Type},
        file::metadata::{ColumnChunkMetaData, RowGroupMetaData},
    },
};
use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Encodings, Fragment, Function, Operand, Output, PhysicalType,
    Program, ReadAs, Reading, Width,
};
use nearscan_cpu::fused::{Progress, Scan, ScanPlan};
use nearscan_drive::clock::Stopwatch;

/// Columns of the row groups of a table.
pub(crate) struct Columns {
    plan: Arc<ScanPlan>,
    files: Vec<File>,
    groups: Vec<RowGroup>,
}

/// A row group of a file, with the chunks of the columns.
struct RowGroup {
    file: usize,
    rows: u64,
    chunks: Vec<Chunk>,
}

impl Columns {
    /// Finds columns in the footers of a file, or of all files of a folder.
    pub(crate) fn find(location: &Path, names: &[String]) -> Result<Self> {
        let mut files = Vec::new();
        let mut groups = Vec::new();
        let mut types = Vec::new();
        for path in paths(location)? {
            let about = || format!("cannot decode {}", path.display());
            let file = File::open(&path).with_context(about)?;
            let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
            let footer = footer.with_context(about)?;
            if types.is_empty() {
                let type_of =
                    |name: &String| Ok(footer.schema().field_with_name(name)?.data_type().clone());
                types = names.iter().map(type_of).collect::<Result<_>>().with_context(about)?;
            }
            for group in footer.metadata().row_groups() {
                let chunks = names.iter().map(|name| chunk(group, name));
                let chunks = chunks.collect::<Result<_>>().with_context(about)?;
                let rows = u64::try_from(group.num_rows())?;
                groups.push(RowGroup { file: files.len(), rows, chunks });
            }
            files.push(file);
        }
        let first = groups.first().context("there is no row group")?;
        let plan = Arc::new(plan(names, &first.chunks, types));
        Ok(Self { plan, files, groups })
    }

    /// Bytes of the chunks as they are stored.
    pub(crate) fn bytes(&self) -> u64 {
        self.groups.iter().flat_map(|group| &group.chunks).map(|chunk| chunk.length).sum()
    }

    /// The time in which `threads` threads decode all row groups.
    pub(crate) fn decode(&self, threads: usize) -> Result<Duration> {
        let next = AtomicUsize::new(0);
        let start = Stopwatch::start();
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads.max(1)).map(|_| scope.spawn(|| self.decode_some(&next))).collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().unwrap_or_else(|_| Err(anyhow!("a thread of the decoder panicked")))
            })
        })?;
        Ok(start.elapsed())
    }

    /// Decodes row groups that no other thread has taken.
    fn decode_some(&self, next: &AtomicUsize) -> Result<()> {
        let mut scan = Scan::new(Arc::clone(&self.plan));
        // Memory of chunks: new memory costs a page fault for each page, which a query avoids too.
        let mut kept = vec![BytesMut::new(); self.plan.fragment.columns.len()];
        while let Some(group) = self.groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            scan.open(group.rows, group.chunks.clone(), None);
            let mut given = Vec::new();
            loop {
                match scan.advance()? {
                    Progress::NeedsBytes => {
                        for column in scan.needs() {
                            let buffer = std::mem::take(&mut kept[column]);
                            let bytes = self.read(group, column, buffer)?;
                            scan.give(column, bytes.clone());
                            given.push((column, bytes));
                        }
                    }
                    Progress::Batch => {}
                    Progress::Done => break,
                }
            }
            scan.close();
            for (column, bytes) in given {
                kept[column] = bytes.try_into_mut().unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Reads a chunk into `buffer`, whose content does not matter.
    fn read(&self, group: &RowGroup, column: usize, mut buffer: BytesMut) -> Result<Bytes> {
        let chunk = &group.chunks[column];
        buffer.resize(usize::try_from(chunk.length)?, 0);
        self.files[group.file].read_exact_at(&mut buffer, chunk.offset)?;
        Ok(buffer.freeze())
    }
}

/// The files of a location, in the order of their names.
fn paths(location: &Path) -> Result<Vec<PathBuf>> {
    if !location.is_dir() {
        return Ok(vec![location.to_owned()]);
    }
    let entries = fs::read_dir(location)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    paths.sort_unstable();
    Ok(paths)
}

/// Counts the values of each column: an output that needs all of them, and costs nothing.
fn plan(names: &[String], chunks: &[Chunk], types: Vec<DataType>) -> ScanPlan {
    let columns = names.iter().zip(chunks);
    let count = |column| Aggregate::new(Function::Count, Operand::Column(column), Width::W64);
    let fragment = Fragment {
        columns: columns
            .map(|(name, chunk)| Column::new(name, chunk.physical_type.kind()))
            .collect(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::States {
            keys: vec![],
            aggregates: (0..).take(names.len()).map(count).collect(),
        },
    };
    ScanPlan { fragment, types, filters: vec![], keys: vec![] }
}

/// The chunk of a column, with the facts of the footer that its decoder needs.
fn chunk(group: &RowGroupMetaData, name: &str) -> Result<Chunk> {
    let is_named = |chunk: &&ColumnChunkMetaData| chunk.column_path().string() == name;
    let chunk = group.columns().iter().find(is_named);
    let chunk = chunk.with_context(|| format!("column {name} is missing"))?;
    let descriptor = chunk.column_descr();
    let (offset, length) = chunk.byte_range();
    let (physical_type, rule) = match chunk.column_type() {
        Type::BOOLEAN => (PhysicalType::Boolean, ReadAs::Signed),
        Type::INT32 => (PhysicalType::Int32, ReadAs::Signed),
        Type::INT64 => (PhysicalType::Int64, ReadAs::Signed),
        Type::FLOAT => (PhysicalType::Float, ReadAs::FloatOrder),
        Type::DOUBLE => (PhysicalType::Double, ReadAs::FloatOrder),
        Type::BYTE_ARRAY => (PhysicalType::ByteArray, ReadAs::Signed),
        Type::FIXED_LEN_BYTE_ARRAY => (PhysicalType::FixedLenByteArray, ReadAs::BigEndian),
        Type::INT96 => bail!("column {name} is stored as INT96"),
    };
    Ok(Chunk {
        input: 0,
        offset,
        length,
        uncompressed_bytes: u64::try_from(chunk.uncompressed_size())?,
        physical_type,
        definition_level_max: u8::try_from(descriptor.max_def_level())?,
        codec: codec(chunk.compression())?,
        // Those that it does not know end the decoding.
        encodings: Encodings::HOST,
        dictionary_bytes: 0,
        reading: Reading { rule, bits: 0, length: u16::try_from(descriptor.type_length().max(0))? },
    })
}

fn codec(compression: Compression) -> Result<Codec> {
    match compression {
        Compression::UNCOMPRESSED => Ok(Codec::Uncompressed),
        Compression::SNAPPY => Ok(Codec::Snappy),
        Compression::GZIP(_) => Ok(Codec::Gzip),
        Compression::BROTLI(_) => Ok(Codec::Brotli),
        Compression::LZ4_RAW => Ok(Codec::Lz4Raw),
        Compression::ZSTD(_) => Ok(Codec::Zstd),
        other => bail!("no decoder for {other}"),
    }
}

#[cfg(test)]
mod tests {
    use nearscan::{
        arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray},
        datafusion::parquet::{
            arrow::ArrowWriter,
            file::properties::{EnabledStatistics, WriterProperties},
        },
    };

    use super::*;

    const ROWS: i64 = 20_000;

    /// A folder of two files of several row groups each, with numbers and texts.
    fn folder() -> tempfile::TempDir {
        let numbers: ArrayRef = Arc::new((0..ROWS).collect::<Int64Array>());
        let texts = (0..ROWS).map(|row| (row % 5 > 0).then(|| format!("text {row}")));
        let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
        let rows = RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(6_000))
            // No index between the chunks and the footer.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.parquet", "b.parquet"] {
            let file = File::create(folder.path().join(name)).unwrap();
            let properties = Some(properties.clone());
            let mut writer = ArrowWriter::try_new(file, rows.schema(), properties).unwrap();
            writer.write(&rows).unwrap();
            writer.close().unwrap();
        }
        folder
    }

    /// Bytes of a file of nothing but chunks: without the footer, whose length is in the file, and
    /// the marks at the beginning and the end.
    fn chunk_bytes(file: &[u8]) -> u64 {
        let (rest, mark) = file.split_last_chunk::<4>().unwrap();
        let (_, length) = rest.split_last_chunk::<4>().unwrap();
        assert_eq!(mark, b"PAR1");
        file.len() as u64 - u64::from(u32::from_le_bytes(*length)) - 12
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn bytes_are_those_of_the_chunks_of_the_columns() {
        let folder = folder();
        let of = |shown: &[&str]| Columns::find(folder.path(), &names(shown)).unwrap();
        let (number, text) = (of(&["number"]), of(&["text"]));
        let both = of(&["number", "text"]);
        assert_eq!(both.groups.len(), 8);
        assert_eq!(number.groups[0].chunks[0].physical_type, PhysicalType::Int64);
        assert_eq!(text.groups[0].chunks[0].physical_type, PhysicalType::ByteArray);
        assert_eq!(both.bytes(), number.bytes() + text.bytes());
        let files = ["a.parquet", "b.parquet"].map(|name| fs::read(folder.path().join(name)));
        let all: u64 = files.into_iter().map(|file| chunk_bytes(&file.unwrap())).sum();
        assert_eq!(both.bytes(), all);
        assert!(both.decode(2).unwrap() > Duration::ZERO);
    }

    #[test]
    fn every_page_is_decoded() {
        let folder = folder();
        let path = folder.path().join("b.parquet");
        let whole = fs::read(&path).unwrap();
        let columns = Columns::find(folder.path(), &names(&["text", "number"])).unwrap();
        columns.decode(2).unwrap();
        for chunk in &columns.groups.last().unwrap().chunks {
            let mut damaged = whole.clone();
            let end = usize::try_from(chunk.offset + chunk.length).unwrap();
            damaged[end - 40..end].fill(0xff);
            fs::write(&path, damaged).unwrap();
            let columns = Columns::find(folder.path(), &names(&["text", "number"])).unwrap();
            columns.decode(2).unwrap_err();
        }
    }

    #[test]
    fn column_that_is_missing_is_an_error() {
        let folder = folder();
        assert!(Columns::find(folder.path(), &names(&["absent"])).is_err());
    }
}
