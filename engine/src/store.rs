// SPDX-License-Identifier: Apache-2.0
//! Local files, read no further than they go.
//!
//! The store of `object_store` makes room for what is asked for before it looks how long the file
//! is, and what is asked for may come from a footer: a length of 2^62 would end the process. So
//! large requests are held against the file first. Everything else is that store's.

use std::{fmt, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    self, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    local::LocalFileSystem, path::Path,
};
use futures::stream::BoxStream;

/// Bytes of one request for which a file need not be looked at first.
const FREE_BYTES: u64 = 64 << 20;

/// The files of this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalFiles(Arc<LocalFileSystem>);

impl LocalFiles {
    async fn check(&self, location: &Path, ranges: &[Range<u64>]) -> Result<()> {
        let is_backward = |range: &Range<u64>| range.start > range.end;
        let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
        let bytes = lengths.fold(0, u64::saturating_add);
        if bytes <= FREE_BYTES && !ranges.iter().any(is_backward) {
            return Ok(());
        }
        let size = self.0.head(location).await?.size;
        match ranges.iter().find(|range| is_backward(range) || range.end > size) {
            None => Ok(()),
            Some(Range { start, end }) => Err(object_store::Error::Generic {
                store: "local files",
                source: format!("file '/{location}' has {size} bytes, not bytes {start} to {end}")
                    .into(),
            }),
        }
    }
}

impl fmt::Display for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for LocalFiles {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(location, ranges).await?;
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is asked for")]
    async fn nothing_is_made_room_for_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ten");
        std::fs::write(&file, [7; 10]).unwrap();
        let location = Path::from_absolute_path(&file).unwrap();
        let store = LocalFiles::default();
        assert_eq!(store.get_ranges(&location, &[2..5, 9..10]).await.unwrap().len(), 2);
        for range in [0..1 << 62, 1 << 40..1 << 41, 5..2] {
            let error = store.get_ranges(&location, &[range]).await.unwrap_err().to_string();
            assert!(error.contains("has 10 bytes, not bytes"), "{error}");
        }
        let beyond = 5..11;
        assert!(store.get_ranges(&location, &[beyond]).await.is_err());
    }
}
