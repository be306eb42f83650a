// SPDX-License-Identifier: Apache-2.0
//! Reads the footers of Parquet files, through the session's metadata cache.
//!
//! Every footer is validated before it is used. If validation removes a page index from a footer,
//! the result replaces the original in the cache, so that later readers of the session, also
//! DataFusion's, do not see the index. A footer of the cache is validated once
//! ([`CheckedFooters`]).

use std::sync::Arc;

use datafusion::{
    catalog::Session,
    common::Result,
    datasource::physical_plan::parquet::metadata::{CachedParquetMetaData, DFParquetMetadata},
    execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache},
    object_store::{ObjectMeta, ObjectStore},
    parquet::{
        errors::Result as ParquetResult,
        file::metadata::{PageIndexPolicy, ParquetMetaData},
    },
};

use super::{checked::CheckedFooters, validate::validate};

/// The footers of a session.
#[derive(Debug, Clone)]
pub(super) struct FooterCache {
    cache: Arc<FileMetadataCache>,
    checked: Arc<CheckedFooters>,
}

impl FooterCache {
    /// Returns the cache of a session.
    pub(super) fn of(session: &dyn Session) -> Self {
        let cache = session.runtime_env().cache_manager.get_file_metadata_cache();
        // A session that no engine has made remembers nothing.
        let checked = session.config().get_extension::<CheckedFooters>().unwrap_or_default();
        Self { cache, checked }
    }

    /// Reads and validates a footer; `size_hint` estimates its bytes.
    ///
    /// # Errors
    /// If the footer cannot be read, or is corrupt.
    pub(super) async fn read(
        &self,
        store: &dyn ObjectStore,
        file: &ObjectMeta,
        size_hint: Option<usize>,
        pages: PageIndexPolicy,
    ) -> Result<Arc<ParquetMetaData>> {
        let read = DFParquetMetadata::new(store, file)
            .with_metadata_size_hint(size_hint)
            .with_file_metadata_cache(Some(Arc::clone(&self.cache)))
            .with_page_index_policy(Some(pages))
            .fetch_metadata()
            .await?;
        Ok(self.validated(read, file)?)
    }

    /// Validates a footer that was read before.
    ///
    /// # Errors
    /// If it is corrupt.
    pub(super) fn validated(
        &self,
        read: Arc<ParquetMetaData>,
        file: &ObjectMeta,
    ) -> ParquetResult<Arc<ParquetMetaData>> {
        if self.checked.contains(&read, file.size) {
            return Ok(read);
        }
        let path = format!("/{}", file.location);
        let valid = validate(Arc::clone(&read), &path, file.size)?;
        if !Arc::ptr_eq(&read, &valid) && self.is_cached(&read, file) {
            let entry = Arc::new(CachedParquetMetaData::new(Arc::clone(&valid)));
            self.cache.put(&file.location, CachedFileMetadataEntry::new(file.clone(), entry));
        }
        self.checked.insert(&valid, file.size);
        Ok(valid)
    }

    /// Returns a valid footer without unsound statistics of row groups and pages; the same one if
    /// there are none.
    ///
    /// # Errors
    /// If the footer cannot be rebuilt.
    pub(super) fn sound(
        &self,
        valid: &Arc<ParquetMetaData>,
    ) -> ParquetResult<Arc<ParquetMetaData>> {
        self.checked.sound(valid)
    }

    /// Whether the cache holds the footer that was read. Decrypted footers are not cached.
    fn is_cached(&self, read: &Arc<ParquetMetaData>, file: &ObjectMeta) -> bool {
        let cached = self.cache.get(&file.location);
        let cached = cached.as_ref().and_then(|entry| entry.file_metadata.as_any().downcast_ref());
        cached.is_some_and(|it: &CachedParquetMetaData| Arc::ptr_eq(it.parquet_metadata(), read))
    }
}
