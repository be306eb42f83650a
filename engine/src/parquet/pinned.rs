// SPDX-License-Identifier: Apache-2.0
//! Makes readers of Parquet files that are objects of a drive's server: each reads the version of
//! its object that was planned, or fails.

use std::sync::Arc;

use datafusion::{
    common::Result,
    datasource::{
        listing::PartitionedFile,
        physical_plan::{ParquetFileReaderFactory, parquet::CachedParquetFileReaderFactory},
    },
    execution::cache::cache_manager::FileMetadataCache,
    object_store::ObjectStore,
    parquet::arrow::async_reader::AsyncFileReader,
    physical_plan::metrics::ExecutionPlanMetricsSet,
};

use crate::object_stores::PinnedStore;

/// Makes readers over a store that can demand a version.
#[derive(Debug)]
pub(super) struct PinnedReaderFactory {
    store: Arc<dyn ObjectStore>,
    footers: Arc<FileMetadataCache>,
}

impl PinnedReaderFactory {
    pub(super) fn new(store: Arc<dyn ObjectStore>, footers: Arc<FileMetadataCache>) -> Self {
        Self { store, footers }
    }
}

impl ParquetFileReaderFactory for PinnedReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let store = Arc::clone(&self.store);
        let store: Arc<dyn ObjectStore> = match &file.object_meta.e_tag {
            Some(tag) => Arc::new(PinnedStore::new(store, tag.clone())),
            None => store,
        };
        CachedParquetFileReaderFactory::new(store, Arc::clone(&self.footers)).create_reader(
            partition_index,
            file,
            metadata_size_hint,
            metrics,
        )
    }
}
