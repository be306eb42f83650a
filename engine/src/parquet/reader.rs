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
//! the scan, and where it is, by [`diagnose`](super::diagnose). Footers also lose the bounds that nobody may believe
//! ([`statistics`](super::statistics)).
//!
//! # Invariants
//!
//! - No chunk that is read ends behind the file.
//! - No page unpacks to more than its chunk says, or than it may have at least, or has more values
//!   than its chunk; those of a chunk that is read whole have all of them.
//! - No page has codes of a dictionary that is not there.
//! - A page that is found by the index has the rows that the index says.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use datafusion::{
    catalog::Session,
    common,
    datasource::{
        listing::PartitionedFile,
        physical_plan::{
            FileScanConfig,
            FileScanConfigBuilder,
            ParquetFileReaderFactory,
            ParquetSource,
            // That of the readers has the same name, and nobody uses it.
            parquet::metadata::CachedParquetMetaData,
        },
    },
    execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache},
    object_store::ObjectMeta,
    parquet::{
        arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
        errors::{ParquetError, Result as ParquetResult},
        file::metadata::{PageIndexPolicy, ParquetMetaData},
    },
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use futures::{FutureExt, future::BoxFuture};

use super::validate::{believable, pages::Chunks};

/// `scan` with a guard in front of its files.
pub(crate) fn guard(scan: FileScanConfig, session: &dyn Session) -> FileScanConfig {
    let source = scan.file_source.downcast_ref::<ParquetSource>().cloned();
    let Some(source) = source else { return scan };
    let Some(factory) = source.parquet_file_reader_factory().cloned() else { return scan };
    let factory =
        Arc::new(Guarded { inner: factory, files: Arc::default(), footers: Footers::of(session) });
    let source = source.with_parquet_file_reader_factory(factory);
    FileScanConfigBuilder::from(scan).with_source(Arc::new(source)).build()
}

/// Footers as scans see them, kept in the place of those that were read.
#[derive(Debug, Clone)]
pub(crate) struct Footers(Arc<FileMetadataCache>);

impl Footers {
    /// Those of a session.
    pub(crate) fn of(session: &dyn Session) -> Self {
        Self(session.runtime_env().cache_manager.get_file_metadata_cache())
    }

    /// A footer that was read, as far as it may be believed.
    ///
    /// # Errors
    /// Where it says what cannot be.
    pub(crate) fn believe(
        &self,
        read: Arc<ParquetMetaData>,
        object: &ObjectMeta,
    ) -> ParquetResult<Arc<ParquetMetaData>> {
        let path = format!("/{}", object.location);
        let believed = believable(Arc::clone(&read), &path, object.size)?;
        if !Arc::ptr_eq(&read, &believed) && self.is_kept(&read, object) {
            let entry = Arc::new(CachedParquetMetaData::new(Arc::clone(&believed)));
            self.0.put(&object.location, CachedFileMetadataEntry::new(object.clone(), entry));
        }
        Ok(believed)
    }

    /// Whether the footer is kept as it was read. One that was decrypted is not.
    fn is_kept(&self, read: &Arc<ParquetMetaData>, object: &ObjectMeta) -> bool {
        let kept = self.0.get(&object.location);
        let kept = kept.as_ref().and_then(|entry| entry.file_metadata.as_any().downcast_ref());
        kept.is_some_and(|kept: &CachedParquetMetaData| Arc::ptr_eq(kept.parquet_metadata(), read))
    }
}

/// Makes readers with a guard.
#[derive(Debug)]
struct Guarded {
    inner: Arc<dyn ParquetFileReaderFactory>,
    /// Of the files that are open: a file may have several readers, one behind the other.
    files: Arc<Files>,
    footers: Footers,
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
        let object = file.object_meta.clone();
        let path = format!("/{}", object.location);
        let inner = self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        let files = Arc::clone(&self.files);
        let chunks = locked(&files).get(&path).and_then(Weak::upgrade);
        let footers = self.footers.clone();
        Ok(Box::new(GuardedReader { inner, object, path, files, footers, chunks }))
    }
}

fn locked(files: &Files) -> MutexGuard<'_, HashMap<String, Weak<Chunks>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

struct GuardedReader {
    inner: Box<dyn AsyncFileReader + Send>,
    object: ObjectMeta,
    path: String,
    files: Arc<Files>,
    footers: Footers,
    chunks: Option<Arc<Chunks>>,
}

impl GuardedReader {
    /// Where the chunks are, from a footer that a reader of this file has read.
    async fn chunks(&mut self) -> ParquetResult<Arc<Chunks>> {
        if self.chunks.is_none() {
            self.footer(None).await?;
        }
        match &self.chunks {
            Some(known) => Ok(Arc::clone(known)),
            None => Err(ParquetError::General("a footer has no chunks".to_owned())),
        }
    }

    async fn footer(
        &mut self,
        options: Option<&ArrowReaderOptions>,
    ) -> ParquetResult<Arc<ParquetMetaData>> {
        let mut read = self.inner.get_metadata(options).await?;
        if read.offset_index().is_none() && has_index(&read) {
            // Whoever needs it would read it past the guard.
            let options = options.cloned().unwrap_or_default();
            let options = options.with_page_index_policy(PageIndexPolicy::Optional);
            read = self.inner.get_metadata(Some(&options)).await?;
        }
        let footer = self.footers.believe(read, &self.object)?;
        if self.chunks.is_none() {
            let chunks = Arc::new(Chunks::of(&footer, self.path.clone()));
            locked(&self.files).insert(self.path.clone(), Arc::downgrade(&chunks));
            self.chunks = Some(chunks);
        }
        Ok(footer)
    }
}

/// Whether the file has an index of pages.
fn has_index(footer: &ParquetMetaData) -> bool {
    let mut chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    chunks.any(|chunk| chunk.offset_index_offset().is_some())
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
        self.footer(options).boxed()
    }
}
