// SPDX-License-Identifier: Apache-2.0
//! Reads one version of an object: a read of another one is an error.
//!
//! A scan reads the footer of a file, and later its column chunks. If the object is replaced in
//! between, the places in the footer are those of other bytes. A drive's server can demand a
//! version with each read, so [`PinnedStore`] has it do that.

use std::{fmt, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, OBJECT_STORE_COALESCE_DEFAULT,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    coalesce_ranges, path::Path,
};
use futures::stream::BoxStream;

use super::named::read_range;

/// A store whose reads are of objects with this tag.
#[derive(Debug)]
pub(crate) struct PinnedStore {
    inner: Arc<dyn ObjectStore>,
    tag: String,
}

impl PinnedStore {
    /// The store for reading an object that has this tag.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, tag: String) -> Self {
        Self { inner, tag }
    }
}

impl fmt::Display for PinnedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for PinnedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let options = options.with_if_match(Some(self.tag.clone()));
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = |range| read_range(self, location, range);
        coalesce_ranges(ranges, read, OBJECT_STORE_COALESCE_DEFAULT).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
