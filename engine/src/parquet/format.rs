// SPDX-License-Identifier: Apache-2.0
//! Implements the Parquet file format for DataFusion's listing table, with one pass over the
//! footers.
//!
//! A listing table requests the statistics and the ordering of each file from its format, several
//! files at a time, and keeps them in the session's cache of file statistics. This format reads and
//! validates each footer once. It returns statistics that DataFusion can use soundly
//! ([`statistics`]) and an ordering that the row groups confirm ([`ordering`]). Everything else is
//! delegated to DataFusion's format.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::SchemaRef,
    catalog::Session,
    common::{GetExt, Result, Statistics},
    datasource::{
        file_format::{
            FileFormat, FileFormatFactory, FileMeta,
            file_compression_type::FileCompressionType,
            parquet::{ParquetFormat, ParquetFormatFactory},
        },
        physical_plan::{
            FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
            ParquetFileReaderFactory, ParquetSource,
            parquet::{
                CachedParquetFileReaderFactory,
                metadata::{DFParquetMetadata, ordering_from_parquet_metadata},
            },
        },
        source::DataSourceExec,
        table_schema::TableSchema,
    },
    object_store::{ObjectMeta, ObjectStore},
    parquet::file::metadata::{PageIndexPolicy, ParquetMetaData},
    physical_expr::{LexOrdering, LexRequirement},
    physical_plan::ExecutionPlan,
};
use nearscan_corrections::{Correction, CorrectionSet};

use super::{
    metadata::FooterCache, ordering, pinned::PinnedReaderFactory, reader, scan::parquet_scan_of,
    statistics,
};
use crate::servers::is_of_servers;

/// Bytes of file statistics that a session caches. A scan requests those of all files in order, so
/// a cache that is too small for them has no hits: the oldest entries are evicted first. The
/// statistics of a column take some 300 bytes, so this holds 4,000 files of 100 columns, where
/// DataFusion's 20 MiB hold 600 (bench `file_count`).
pub(crate) const STATISTICS_CACHE_BYTES: usize = 128 << 20;

/// DataFusion's Parquet format, with sound statistics and verified orderings.
#[derive(Debug, Clone)]
pub(super) struct SoundFormat {
    inner: Arc<dyn FileFormat>,
    corrections: CorrectionSet,
}

/// Makes [`SoundFormat`]s with all corrections on.
#[derive(Debug)]
pub(super) struct SoundFormatFactory {
    inner: ParquetFormatFactory,
}

impl SoundFormat {
    fn new(inner: Arc<dyn FileFormat>) -> Self {
        Self { inner, corrections: CorrectionSet::ALL }
    }

    /// Whether the format returns what a session with these corrections needs.
    pub(super) fn applies(&self, corrections: CorrectionSet) -> bool {
        let ours = [Correction::RemoveUnsoundStatistics, Correction::VerifyFileOrdering];
        ours.iter().all(|one| self.corrections.contains(*one) == corrections.contains(*one))
    }

    /// Returns the format with other corrections; without any, it returns what DataFusion's does.
    pub(super) fn with_corrections(&self, corrections: CorrectionSet) -> Self {
        Self { inner: Arc::clone(&self.inner), corrections }
    }

    async fn footer(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        file: &ObjectMeta,
    ) -> Result<Arc<ParquetMetaData>> {
        let parquet = self.inner.downcast_ref::<ParquetFormat>();
        let size_hint = parquet.and_then(ParquetFormat::metadata_size_hint);
        let footers = FooterCache::of(session);
        footers.read(store.as_ref(), file, size_hint, PageIndexPolicy::Optional).await
    }

    fn statistics(&self, footer: &ParquetMetaData, schema: &SchemaRef) -> Result<Statistics> {
        match self.corrections.contains(Correction::RemoveUnsoundStatistics) {
            true => statistics::of_file(footer, schema),
            false => DFParquetMetadata::statistics_from_parquet_metadata(footer, schema),
        }
    }

    fn ordering(
        &self,
        footer: &ParquetMetaData,
        schema: &SchemaRef,
    ) -> Result<Option<LexOrdering>> {
        let declared = ordering_from_parquet_metadata(footer, schema)?;
        match self.corrections.contains(Correction::VerifyFileOrdering) {
            true => Ok(declared.and_then(|declared| ordering::verified(footer, schema, &declared))),
            false => Ok(declared),
        }
    }
}

impl SoundFormat {
    /// Returns the source of a scan with the reader that DataFusion's format gives it; none for
    /// encrypted files. That format makes an operator of the source too, whose properties take as
    /// long to compute as all else, and are then computed again for the validating reader.
    fn with_reader(
        &self,
        scan: &FileScanConfig,
        session: &dyn Session,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let parquet = self.inner.downcast_ref::<ParquetFormat>();
        let source = scan.file_source().downcast_ref::<ParquetSource>();
        let (Some(parquet), Some(source)) = (parquet, source) else { return Ok(None) };
        if parquet.options().crypto.factory_id.is_some() {
            return Ok(None);
        }
        let runtime = session.runtime_env();
        let store = runtime.object_store(&scan.object_store_url)?;
        let footers = runtime.cache_manager.get_file_metadata_cache();
        let readers: Arc<dyn ParquetFileReaderFactory> =
            match is_of_servers(scan.object_store_url.as_str()) {
                true => Arc::new(PinnedReaderFactory::new(store, footers)),
                false => Arc::new(CachedParquetFileReaderFactory::new(store, footers)),
            };
        let source = source
            .clone()
            .with_table_parquet_options(parquet.options().clone())
            .with_parquet_file_reader_factory(readers);
        Ok(Some(Arc::new(match parquet.metadata_size_hint() {
            Some(hint) => source.with_metadata_size_hint(hint),
            None => source,
        })))
    }
}

impl SoundFormatFactory {
    pub(super) fn new() -> Self {
        Self { inner: ParquetFormatFactory::new() }
    }
}

#[async_trait]
impl FileFormat for SoundFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        files: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.inner.infer_schema(session, store, files).await
    }

    async fn infer_stats(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<Statistics> {
        self.statistics(&*self.footer(session, store, file).await?, &schema)
    }

    async fn infer_ordering(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        self.ordering(&*self.footer(session, store, file).await?, &schema)
    }

    async fn infer_stats_and_ordering(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<FileMeta> {
        let footer = self.footer(session, store, file).await?;
        let statistics = self.statistics(&footer, &schema)?;
        Ok(FileMeta::new(statistics).with_ordering(self.ordering(&footer, &schema)?))
    }

    async fn create_physical_plan(
        &self,
        session: &dyn Session,
        scan: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let read = match self.with_reader(&scan, session)? {
            Some(source) => FileScanConfigBuilder::from(scan).with_source(source).build(),
            None => {
                let plan = self.inner.create_physical_plan(session, scan).await?;
                let Some(read) = parquet_scan_of(&plan).cloned() else { return Ok(plan) };
                read
            }
        };
        let valid = reader::with_validation(read, session, self.corrections);
        Ok(DataSourceExec::from_data_source(valid))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        sink: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_writer_physical_plan(input, session, sink, order).await
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(schema)
    }
}

impl FileFormatFactory for SoundFormatFactory {
    fn create(
        &self,
        session: &dyn Session,
        options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(SoundFormat::new(self.inner.create(session, options)?)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(SoundFormat::new(FileFormatFactory::default(&self.inner)))
    }
}

impl GetExt for SoundFormatFactory {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}
