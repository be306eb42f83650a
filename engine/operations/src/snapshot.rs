// SPDX-License-Identifier: Apache-2.0
//! Lets an engine read objects of a store, as they were when an operation began.
//!
//! An engine reads a file in many ranges, and CSV without demanding a version. So each operation
//! has an object store of its own, which knows the versions that it began with: a range of another
//! one is an error.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use chrono::DateTime;
use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use nearscan::{
    Engine,
    datafusion::object_store::{
        Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload,
        ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
        PutPayload, PutResult, Result, path::Path,
    },
};
use nearscan_applications::Refusal;
use nearscan_store::{Error as StoreError, ObjectInfo, Store, StoreDrive};
use url::Url;

/// Bytes that are read at once.
const PART_BYTES: u64 = 1 << 20;

/// Names the snapshots apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Objects of an operation, which an engine reads by their [`Snapshot::urls`] until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Snapshot {
    engine: Engine,
    base: Url,
    urls: Vec<String>,
}

impl Snapshot {
    /// Registers objects with an engine.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] if the engine takes no store, [`Refusal::Invalid`] for a name that
    /// is no path.
    pub(crate) fn new(
        engine: &Engine,
        store: &Store,
        objects: Vec<ObjectInfo>,
    ) -> std::result::Result<Self, Refusal> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // The scheme of objects, so that drives are asked for them, and a server that only the
        // drive over the store knows.
        let base = Url::parse(&format!("drive://operation-{number}.{}", StoreDrive::SERVER));
        let base = base.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        let mut versions = HashMap::with_capacity(objects.len());
        let mut urls = Vec::with_capacity(objects.len());
        for info in objects {
            let invalid = |error: &dyn fmt::Display| Refusal::Invalid(error.to_string());
            let path = Path::parse(info.path.to_string()).map_err(|error| invalid(&error))?;
            let mut url = base.clone();
            if let Ok(mut parts) = url.path_segments_mut() {
                parts.clear().extend(path.as_ref().split('/'));
            }
            // A star would be a pattern.
            urls.push(url.as_str().replace('*', "%2A"));
            versions.insert(path, info);
        }
        let reads = Reads { store: store.clone(), versions };
        let registered = engine.register_object_store(base.as_str(), Arc::new(reads));
        registered.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        Ok(Self { engine: engine.clone(), base, urls })
    }

    /// The URLs of the objects.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.urls.clone()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let runtime = self.engine.uncorrected_context().runtime_env();
        // It was registered.
        drop(runtime.deregister_object_store(&self.base));
    }
}

/// Reads the versions of a snapshot. Nothing can be written.
#[derive(Debug)]
struct Reads {
    store: Store,
    versions: HashMap<Path, ObjectInfo>,
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects of a store")
    }
}

fn failed(location: &Path, error: StoreError) -> Error {
    let path = location.to_string();
    match error {
        StoreError::NotFound { .. } => Error::NotFound { path, source: Box::new(error) },
        error => Error::Generic { store: "store", source: Box::new(error) },
    }
}

fn meta_of(location: &Path, info: &ObjectInfo) -> ObjectMeta {
    let time = i64::try_from(info.written_ns).unwrap_or(i64::MAX);
    ObjectMeta {
        location: location.clone(),
        last_modified: DateTime::from_timestamp_nanos(time),
        size: info.length,
        e_tag: Some(info.version.to_string()),
        version: None,
    }
}

fn read_only(operation: &str) -> Error {
    let (operation, implementer) = (operation.to_owned(), "snapshot".to_owned());
    Error::NotImplemented { operation, implementer }
}

impl Reads {
    fn info(&self, location: &Path) -> Result<&ObjectInfo> {
        self.versions.get(location).ok_or_else(|| {
            let source = "it is none of the objects of this operation".into();
            Error::NotFound { path: location.to_string(), source }
        })
    }
}

/// The bytes that a request is about.
fn range_of(range: Option<&GetRange>, length: u64) -> Result<Range<u64>> {
    let Some(range) = range else { return Ok(0..length) };
    let range = range.as_range(length);
    range.map_err(|error| Error::Generic { store: "store", source: error.to_string().into() })
}

#[async_trait]
impl ObjectStore for Reads {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let info = self.info(location)?;
        let meta = meta_of(location, info);
        options.check_preconditions(&meta)?;
        let range = range_of(options.range.as_ref(), info.length)?;
        if options.head {
            let payload = GetResultPayload::Stream(stream::empty().boxed());
            return Ok(GetResult { payload, meta, range, attributes: Attributes::default() });
        }
        let (store, path, version) = (self.store.clone(), info.path.clone(), info.version);
        let opened = tokio::task::spawn_blocking(move || store.reader(&path)).await?;
        let reader = opened.map_err(|error| failed(location, error))?;
        if reader.info().version != version {
            let source = "the object was replaced while it was read".into();
            return Err(Error::Precondition { path: location.to_string(), source });
        }
        let (end, location) = (range.end, location.clone());
        let parts = stream::try_unfold(range.start, move |start| {
            let (reader, location) = (reader.clone(), location.clone());
            async move {
                if start >= end {
                    return Ok(None);
                }
                let stop = end.min(start + PART_BYTES);
                let read = tokio::task::spawn_blocking(move || reader.read(start..stop)).await?;
                Ok(Some((read.map_err(|error| failed(&location, error))?, stop)))
            }
        });
        let payload = GetResultPayload::Stream(parts.boxed());
        Ok(GetResult { payload, meta, range, attributes: Attributes::default() })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let is_below = |path: &Path| prefix.is_none_or(|prefix| path.prefix_matches(prefix));
        let found = self.versions.iter().filter(|(path, _)| is_below(path));
        let found: Vec<_> = found.map(|(path, info)| Ok(meta_of(path, info))).collect();
        stream::iter(found).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(read_only("list_with_delimiter"))
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only("put"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only("put_multipart"))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations.and_then(|_| async { Err(read_only("delete")) }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only("copy"))
    }
}
