// SPDX-License-Identifier: Apache-2.0
//! Reads Parquet files for scans: validated footers, and column chunks with validated page headers.
//!
//! Every scan of a Parquet table reads through [`ValidatingReaderFactory`]. Footers are validated
//! when they are read ([`validate`](super::validate)) and lose the statistics that DataFusion would
//! use unsoundly ([`statistics`](super::statistics)); page headers are validated when the bytes of
//! their column chunk are read. Invalid metadata is an error that states its place. The contents of
//! pages are decoded by the scan; if it fails, [`diagnose`](super::diagnose) finds the place.
//!
//! # Invariants
//!
//! - No chunk that is read ends after the end of the file.
//! - No page decompresses to more bytes than its chunk declares, beyond a fixed allowance, or has
//!   more values than its chunk. The pages of a chunk that is read as a whole have all of its
//!   values.
//! - No page refers to a missing dictionary.
//! - A page that is found by the page index has as many rows as the index declares.

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
            FileScanConfig, FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
        },
    },
    object_store::ObjectMeta,
    parquet::{
        arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
        errors::Result as ParquetResult,
        file::metadata::{PageIndexPolicy, ParquetMetaData},
    },
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use futures::{FutureExt, future::BoxFuture};
use nearscan_corrections::{Correction, CorrectionSet};

use super::{
    equality::EqualityColumns, metadata::FooterCache, statistics, validate::pages::Chunks,
};

/// Returns the scan with a validating reader for its files. `corrections` decide whether the reader
/// returns the statistics of row groups and pages unchanged, or without the unsound ones.
pub(super) fn with_validation(
    scan: FileScanConfig,
    session: &dyn Session,
    corrections: CorrectionSet,
) -> FileScanConfig {
    let source = scan.file_source.downcast_ref::<ParquetSource>().cloned();
    let Some(source) = source else { return scan };
    let Some(inner) = source.parquet_file_reader_factory().cloned() else { return scan };
    let factory = ValidatingReaderFactory {
        inner,
        files: Arc::default(),
        footers: FooterCache::of(session),
        is_sound: corrections.contains(Correction::RemoveUnsoundStatistics),
    };
    let source = source.with_parquet_file_reader_factory(Arc::new(factory));
    FileScanConfigBuilder::from(scan).with_source(Arc::new(source)).build()
}

/// Makes validating readers.
#[derive(Debug)]
struct ValidatingReaderFactory {
    inner: Arc<dyn ParquetFileReaderFactory>,
    files: Arc<Files>,
    footers: FooterCache,
    /// Whether footers lose their unsound statistics.
    is_sound: bool,
}

/// The open files; each may have several readers, one after the other.
type Files = Mutex<HashMap<FileKey, Weak<OpenFile>>>;

/// The path of a file, and the columns whose bounds may be used for equality.
type FileKey = (String, EqualityColumns);

/// The footer of an open file.
#[derive(Debug)]
struct OpenFile {
    /// The footer as read and validated.
    valid: Arc<ParquetMetaData>,
    /// The footer that readers return.
    sound: Arc<ParquetMetaData>,
    chunks: Chunks,
}

impl ParquetFileReaderFactory for ValidatingReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> common::Result<Box<dyn AsyncFileReader + Send>> {
        let object = file.object_meta.clone();
        let equality = file.extensions.get::<EqualityColumns>().cloned().unwrap_or_default();
        let key = (format!("/{}", object.location), equality);
        let inner = self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        let files = Arc::clone(&self.files);
        let open = locked(&files).get(&key).and_then(Weak::upgrade);
        let footers = self.footers.clone();
        let is_sound = self.is_sound;
        Ok(Box::new(ValidatingReader { inner, object, key, files, footers, is_sound, open }))
    }
}

fn locked(files: &Files) -> MutexGuard<'_, HashMap<FileKey, Weak<OpenFile>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ValidatingReader {
    inner: Box<dyn AsyncFileReader + Send>,
    object: ObjectMeta,
    key: FileKey,
    files: Arc<Files>,
    footers: FooterCache,
    is_sound: bool,
    open: Option<Arc<OpenFile>>,
}

impl ValidatingReader {
    /// Returns the open file; reads its footer if no reader has done so.
    async fn open(&mut self) -> ParquetResult<Arc<OpenFile>> {
        match &self.open {
            Some(open) => Ok(Arc::clone(open)),
            None => self.read(None).await,
        }
    }

    async fn read(&mut self, options: Option<&ArrowReaderOptions>) -> ParquetResult<Arc<OpenFile>> {
        let mut read = self.inner.get_metadata(options).await?;
        if read.offset_index().is_none() && has_index(&read) {
            // A later reader would read the missing index without validation.
            let options = options.cloned().unwrap_or_default();
            let options = options.with_page_index_policy(PageIndexPolicy::Optional);
            read = self.inner.get_metadata(Some(&options)).await?;
        }
        let valid = self.footers.validated(read, &self.object)?;
        if let Some(open) = &self.open
            && Arc::ptr_eq(&open.valid, &valid)
        {
            return Ok(Arc::clone(open));
        }
        let sound = match self.is_sound {
            true if self.key.1.is_empty() => self.footers.sound(&valid)?,
            true => statistics::of_row_groups(Arc::clone(&valid), &self.key.1)?,
            false => Arc::clone(&valid),
        };
        let chunks = Chunks::of(&sound, self.key.0.clone());
        let open = Arc::new(OpenFile { valid, sound, chunks });
        locked(&self.files).insert(self.key.clone(), Arc::downgrade(&open));
        self.open = Some(Arc::clone(&open));
        Ok(open)
    }
}

/// Whether the file has a page index.
fn has_index(footer: &ParquetMetaData) -> bool {
    let mut chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    chunks.any(|chunk| chunk.offset_index_offset().is_some())
}

impl AsyncFileReader for ValidatingReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            let open = self.open().await?;
            let offsets: Vec<u64> = ranges.iter().map(|range| range.start).collect();
            let read = self.inner.get_byte_ranges(ranges).await?;
            for (offset, bytes) in offsets.into_iter().zip(&read) {
                open.chunks.check(offset, bytes)?;
            }
            Ok(read)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move { Ok(Arc::clone(&self.read(options).await?.sound)) }.boxed()
    }
}
