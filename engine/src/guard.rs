// SPDX-License-Identifier: Apache-2.0
//! What a Parquet file says is held against what it is, before anything is allocated or looped over
//! because of it.
//!
//! The reader of the `parquet` crate trusts lengths: a chunk that is said to have 2^62 bytes ends
//! the process, a negative one is a panic, and a page that is said to unpack to 2 GiB takes that
//! much. So every scan reads through [`guard`]. Footers are checked when they are read, headers of
//! pages when the bytes of their chunk are. What does not fit is a [`Damage`], which says where.
//!
//! What the bytes of a page *mean* is not looked at here: a page that cannot be decoded is found by
//! the scan, and where it is, by `locate`. Footers also lose the bounds that nobody may believe
//! ([`bounds`]).
//!
//! # Invariants
//!
//! - No chunk that is read ends behind the file.
//! - No page unpacks to more than its chunk says, or to more than [`PAGE_BYTES_FREE`], or has more
//!   values than its chunk.
//! - No page has codes of a dictionary that is not there.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use datafusion::{
    common,
    datasource::{
        listing::PartitionedFile,
        physical_plan::{
            FileScanConfig, FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
        },
    },
    parquet::{
        arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
        basic::Type,
        errors::Result as ParquetResult,
        file::{
            metadata::{ColumnChunkMetaData, ParquetMetaData},
            page_index::offset_index::OffsetIndexMetaData,
        },
        schema::types::ColumnDescriptor,
    },
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use futures::{FutureExt, future::BoxFuture};
use nearscan_cpu::PageHeader;

use crate::{bounds, damage::Damage};

/// Bytes that a page may have whatever its chunk says: some writers count dictionaries apart.
const PAGE_BYTES_FREE: u64 = 16 << 20;

/// Bytes of a file that are no data: the magic words at both ends and the length of the footer.
const FRAME_BYTES: u64 = 12;

/// `scan` with a guard in front of its files.
pub(crate) fn guard(scan: FileScanConfig) -> FileScanConfig {
    let source = scan.file_source.downcast_ref::<ParquetSource>().cloned();
    let Some(source) = source else { return scan };
    let Some(factory) = source.parquet_file_reader_factory().cloned() else { return scan };
    let factory = Arc::new(Guarded { inner: factory, files: Arc::default() });
    let source = source.with_parquet_file_reader_factory(factory);
    FileScanConfigBuilder::from(scan).with_source(Arc::new(source)).build()
}

/// Holds a footer against the length of its file.
///
/// # Errors
/// Where it says what cannot be.
pub(crate) fn check_footer(
    metadata: &ParquetMetaData,
    file: &str,
    file_bytes: u64,
) -> Result<(), Damage> {
    let wrong = |chunk, what| Damage { file: file.to_owned(), chunk, offset: None, what };
    let data = 4..file_bytes.saturating_sub(FRAME_BYTES - 4);
    let mut rows = 0i64;
    let indexes = metadata.offset_index();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_rows() < 0 {
            let what = format!("row group {number} is said to have {} rows", group.num_rows());
            return Err(wrong(None, what));
        }
        rows = rows.saturating_add(group.num_rows());
        for (leaf, column) in group.columns().iter().enumerate() {
            let wrong = |what| wrong(Some((number, column.column_path().string())), what);
            let start =
                column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let range = match (u64::try_from(start), end.map(u64::try_from)) {
                (Ok(start), Some(Ok(end))) if start <= end => start..end,
                _ => {
                    let bytes = column.compressed_size();
                    return Err(wrong(format!("it is said to be {bytes} bytes from {start} on")));
                }
            };
            if !range.is_empty() && (range.start < data.start || range.end > data.end) {
                return Err(wrong(format!(
                    "it is said to be bytes {} to {} of a file of {file_bytes}",
                    range.start, range.end
                )));
            }
            // A chunk without values may have a dictionary, and then says 0.
            let is_inside = match u64::try_from(column.data_page_offset()) {
                Ok(at) => column.num_values() <= 0 || range.contains(&at),
                Err(_) => false,
            };
            if !is_inside {
                let at = column.data_page_offset();
                return Err(wrong(format!("its values are said to start at byte {at}")));
            }
            let is_flat = column.column_descr().max_rep_level() == 0;
            if is_flat && column.num_values() != group.num_rows() {
                return Err(wrong(format!(
                    "it is said to have {} values in {} rows",
                    column.num_values(),
                    group.num_rows()
                )));
            }
            if column.num_values() < 0 || column.uncompressed_size() < 0 {
                return Err(wrong("a count in the footer is negative".to_owned()));
            }
            let index = indexes.and_then(|indexes| indexes.get(number)?.get(leaf));
            if let Some(index) = index
                && let Err((offset, what)) = check_pages_of_index(index, &range, group.num_rows())
            {
                return Err(Damage { offset: Some(offset), ..wrong(what) });
            }
        }
    }
    let said = metadata.file_metadata().num_rows();
    if said != rows {
        let what = format!("the footer says {said} rows, and {rows} of the row groups");
        return Err(wrong(None, what));
    }
    Ok(())
}

/// Holds the index of the pages of a chunk against the chunk.
fn check_pages_of_index(
    index: &OffsetIndexMetaData,
    chunk: &Range<u64>,
    rows: i64,
) -> Result<(), (u64, String)> {
    let (mut end, mut first_row) = (chunk.start, 0);
    for (number, page) in index.page_locations().iter().enumerate() {
        let start = u64::try_from(page.offset).ok().filter(|start| *start >= end);
        let bytes = u64::try_from(page.compressed_page_size).ok();
        let page_end = start.zip(bytes).and_then(|(start, bytes)| start.checked_add(bytes));
        let is_next = match number {
            0 => page.first_row_index == 0,
            _ => (first_row..rows).contains(&page.first_row_index),
        };
        match page_end.filter(|page_end| is_next && *page_end <= chunk.end) {
            Some(page_end) => (end, first_row) = (page_end, page.first_row_index),
            None => {
                let what = format!("the index has page {number} where it cannot be");
                return Err((chunk.start, what));
            }
        }
    }
    Ok(())
}

/// Where the chunks of a file are.
#[derive(Debug)]
struct Chunks {
    file: String,
    metadata: Arc<ParquetMetaData>,
    /// First byte, row group and leaf, in the order of the file.
    places: Vec<(u64, usize, usize)>,
}

impl Chunks {
    /// The chunks of a footer that was checked.
    fn of(metadata: &Arc<ParquetMetaData>, file: String) -> Self {
        let groups = metadata.row_groups().iter().enumerate();
        let places = groups.flat_map(|(row_group, group)| {
            let columns = group.columns().iter().enumerate();
            columns.map(move |(leaf, column)| (column.byte_range().0, row_group, leaf))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        Self { file, metadata: Arc::clone(metadata), places }
    }

    /// Holds the headers of the pages in `bytes`, which begin at `offset` and are whole, against
    /// their chunk. What is in no chunk is no page.
    fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Damage> {
        let after = self.places.partition_point(|(start, ..)| *start <= offset);
        let place = after.checked_sub(1).map(|before| self.places[before]);
        let Some((start, row_group, leaf)) = place else { return Ok(()) };
        let column = self.metadata.row_group(row_group).column(leaf);
        let left = column.byte_range().1.saturating_sub(offset - start);
        let length = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut rest = &bytes[..length];
        // Whoever reads some pages only reads the dictionary first, where the footer says it is.
        let mut has_dictionary = column.dictionary_page_offset().is_some();
        while !rest.is_empty() {
            let at = offset + (length - rest.len()) as u64;
            let read = PageHeader::read(rest)
                .map_err(|_| "there is no page header, or it is encrypted".to_owned());
            let checked = read.and_then(|(header, header_bytes)| {
                if at == start {
                    has_dictionary = header.is_dictionary();
                }
                check_page(&header, column, rest.len() - header_bytes)?;
                if header.has_codes() && !has_dictionary {
                    return Err("a page refers to a dictionary, and there is none".to_owned());
                }
                Ok(header_bytes + header.compressed_bytes)
            });
            match checked {
                Ok(bytes) => rest = &rest[bytes..],
                Err(what) => {
                    return Err(Damage {
                        file: self.file.clone(),
                        chunk: Some((row_group, column.column_path().string())),
                        offset: Some(at),
                        what,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Bytes that a value takes at least where it stands as it is.
fn plain_bytes_min(column: &ColumnDescriptor) -> u64 {
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Holds the header of a page against its chunk, of which `left` bytes are behind it.
fn check_page(
    header: &PageHeader,
    column: &ColumnChunkMetaData,
    left: usize,
) -> Result<(), String> {
    let (packed, unpacked) = (header.compressed_bytes, header.uncompressed_bytes as u64);
    if packed > left {
        return Err(format!("a page is said to have {packed} bytes where {left} are left"));
    }
    let all = u64::try_from(column.uncompressed_size()).unwrap_or(0);
    if unpacked > all.max(PAGE_BYTES_FREE) {
        return Err(format!(
            "a page is said to unpack to {unpacked} bytes, and its chunk to {all}"
        ));
    }
    let (values, all) = (header.values(), column.num_values());
    if i64::from(values) > all {
        return Err(format!("a page is said to have {values} values, and its chunk {all}"));
    }
    let entries = header.entries();
    if u64::from(entries) * plain_bytes_min(column.column_descr()) > unpacked {
        return Err(format!("a dictionary is said to have {entries} entries in {unpacked} bytes"));
    }
    let levels = header.level_bytes();
    if levels > packed || levels as u64 > unpacked {
        return Err(format!("a page is said to have {levels} bytes of levels in {packed}"));
    }
    Ok(())
}

/// Makes readers with a guard.
#[derive(Debug)]
struct Guarded {
    inner: Arc<dyn ParquetFileReaderFactory>,
    /// Of the files that are open: a file may have several readers, one behind the other.
    files: Arc<Files>,
}

type Files = Mutex<HashMap<String, Weak<Chunks>>>;

impl ParquetFileReaderFactory for Guarded {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> common::Result<Box<dyn AsyncFileReader + Send>> {
        let path = format!("/{}", file.object_meta.location);
        let file_bytes = file.object_meta.size;
        let inner = self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        let files = Arc::clone(&self.files);
        let chunks = locked(&files).get(&path).and_then(Weak::upgrade);
        Ok(Box::new(GuardedReader { inner, path, file_bytes, files, chunks }))
    }
}

fn locked(files: &Files) -> MutexGuard<'_, HashMap<String, Weak<Chunks>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

struct GuardedReader {
    inner: Box<dyn AsyncFileReader + Send>,
    path: String,
    file_bytes: u64,
    files: Arc<Files>,
    chunks: Option<Arc<Chunks>>,
}

impl GuardedReader {
    /// Where the chunks are, from a footer that a reader of this file has read.
    async fn chunks(&mut self) -> ParquetResult<Arc<Chunks>> {
        if let Some(known) = &self.chunks {
            return Ok(Arc::clone(known));
        }
        let metadata = self.inner.get_metadata(None).await?;
        self.learn(&metadata)
    }

    fn learn(&mut self, metadata: &Arc<ParquetMetaData>) -> ParquetResult<Arc<Chunks>> {
        if let Some(known) = &self.chunks {
            return Ok(Arc::clone(known));
        }
        check_footer(metadata, &self.path, self.file_bytes)?;
        let chunks = Arc::new(Chunks::of(metadata, self.path.clone()));
        locked(&self.files).insert(self.path.clone(), Arc::downgrade(&chunks));
        self.chunks = Some(Arc::clone(&chunks));
        Ok(chunks)
    }
}

impl AsyncFileReader for GuardedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            let chunks = self.chunks().await?;
            let offsets: Vec<u64> = ranges.iter().map(|range| range.start).collect();
            let read = self.inner.get_byte_ranges(ranges).await?;
            for (offset, bytes) in offsets.into_iter().zip(&read) {
                chunks.check(offset, bytes)?;
            }
            Ok(read)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let metadata = self.inner.get_metadata(options).await?;
            self.learn(&metadata)?;
            bounds::without_float_bounds(metadata)
        }
        .boxed()
    }
}
