// SPDX-License-Identifier: Apache-2.0
//! A store whose errors name URLs, and whose files are no other store's.
//!
//! DataFusion's caches of footers and statistics know a file by its path, size and time of last
//! change, not by its store, and some web servers tell no time. So [`NamedStore`] adds less than a
//! second to the time of each object, as much as follows from the URL of its store and its tag: two
//! objects that were taken for one would need the same path, size and second, and a hash in common
//! out of a thousand million.
//!
//! Errors become [`StoreError`]s, but for those that callers act on: an object that is not there,
//! for one, which only gets its URL.

use std::{
    error::Error as StdError,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result, path::Path,
};
use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use nearscan_remote::{ObjectError, ObjectErrorKind};
use url::{Position, Url};

use super::{
    footers,
    service::{Cloud, Service},
};
use crate::{
    corruption::Corruption,
    error::{StoreError, StoreProblem},
};

/// The servers that are asked for credentials when the environment has none: the services of the
/// clouds' own machines, which no other machine reaches.
const METADATA_SERVERS: [&str; 5] = [
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
    "/computeMetadata/",
    "/latest/api/token",
];

/// Characters that are shown of what a server says: it may answer with a whole page.
const REASON_CHARS_MAX: usize = 400;

/// A store with its URL.
#[derive(Debug)]
pub(super) struct NamedStore {
    inner: Arc<dyn ObjectStore>,
    name: Arc<Name>,
}

/// The URL of a store.
#[derive(Debug)]
struct Name {
    /// Without a slash at its end.
    url: String,
    service: Option<Service>,
}

impl NamedStore {
    /// Wraps the store of a URL.
    pub(super) fn wrap(url: &Url, inner: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        let service = Service::of(url.scheme());
        let name = Name { url: url[..Position::BeforePath].to_owned(), service };
        Arc::new(Self { inner, name: Arc::new(name) })
    }

    fn listed<T: Send + 'static>(
        &self,
        objects: BoxStream<'static, Result<T>>,
        prefix: Option<&Path>,
        named: impl Fn(&Name, T) -> T + Send + 'static,
    ) -> BoxStream<'static, Result<T>> {
        let (name, prefix) = (Arc::clone(&self.name), prefix.cloned().unwrap_or_default());
        let named = move |object: Result<T>| match object {
            Ok(object) => Ok(named(&name, object)),
            Err(error) => Err(name.not_listed(&prefix, error)),
        };
        objects.map(named).boxed()
    }
}

/// The bytes of a range of an object of a [`NamedStore`], or of a store over one; where they end
/// the file, its footer is looked at.
pub(super) async fn read_range(
    store: &dyn ObjectStore,
    location: &Path,
    range: Range<u64>,
) -> Result<Bytes> {
    let end = range.end;
    let options = GetOptions::new().with_range(Some(range));
    let got = store.get_opts(location, options).await?;
    let size = got.meta.size;
    let bytes = got.bytes().await?;
    if end == size && bytes.len() as u64 <= size {
        let url = format!("{store}/{location}");
        footers::check(store, location, &url, size, &bytes).await?;
    }
    Ok(bytes)
}

impl Name {
    fn url_of(&self, location: &Path) -> String {
        format!("{}/{location}", self.url)
    }

    /// Returns an object's metadata, its time changed by a hash of its URL, tag and version.
    fn stamp(&self, mut object: ObjectMeta) -> ObjectMeta {
        const NANOS_PER_SECOND: u64 = 1_000_000_000;
        let mut hasher = DefaultHasher::new();
        (&self.url, &object.e_tag, &object.version).hash(&mut hasher);
        object.last_modified += Duration::from_nanos(hasher.finish() % NANOS_PER_SECOND);
        object
    }

    /// The error of a request for an object, with its URL.
    fn error(&self, location: &Path, error: Error) -> Error {
        let url = self.url_of(location);
        let problem = match &error {
            Error::NotFound { .. } => {
                return Error::NotFound { path: url, source: Box::new(error) };
            }
            Error::Generic { source, .. } if source.is::<Corruption>() => return error,
            Error::Precondition { .. } if self.service == Some(Service::Drive) => {
                let source = "the object was replaced while it was read".into();
                return Error::Precondition { path: url, source };
            }
            Error::AlreadyExists { .. }
            | Error::Precondition { .. }
            | Error::NotModified { .. }
            | Error::NotImplemented { .. } => return error,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. }
                if object_error(&error).is_none() =>
            {
                StoreProblem::Refused
            }
            _ => problem(&error),
        };
        let source = Box::new(StoreError { url, problem, reason: reason(&error) });
        Error::Generic { store: "object store", source }
    }

    /// The error of a list. Web servers have none, so that there is nothing at such a URL; and
    /// there is nothing in a bucket that is not there.
    fn not_listed(&self, prefix: &Path, error: Error) -> Error {
        let is_absent = match self.service {
            Some(Service::Cloud(Cloud::Web)) => {
                let is_refused =
                    matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. });
                !is_refused && problem(&error) == StoreProblem::Failed
            }
            _ => error.to_string().contains("404 Not Found"),
        };
        match is_absent {
            true => Error::NotFound { path: self.url_of(prefix), source: Box::new(error) },
            false => self.error(prefix, error),
        }
    }
}

/// Returns the problem that an error of a client stands for.
fn problem(error: &Error) -> StoreProblem {
    if let Some(error) = object_error(error) {
        return match error.kind {
            ObjectErrorKind::Unauthenticated => StoreProblem::Refused,
            ObjectErrorKind::Denied => StoreProblem::OutOfScope,
            ObjectErrorKind::Unreachable => StoreProblem::Unreachable,
            ObjectErrorKind::NotFound
            | ObjectErrorKind::Exists
            | ObjectErrorKind::Conflict
            | ObjectErrorKind::Range
            | ObjectErrorKind::Exhausted
            | ObjectErrorKind::Invalid
            | ObjectErrorKind::Refused
            | ObjectErrorKind::NoObjects
            | ObjectErrorKind::Failed => StoreProblem::Failed,
        };
    }
    let reason = reason(error);
    if METADATA_SERVERS.iter().any(|server| reason.contains(server)) {
        return StoreProblem::NoCredentials;
    }
    if reason.contains("URL scheme is not allowed") {
        return StoreProblem::Unencrypted;
    }
    if is_unreachable(error) { StoreProblem::Unreachable } else { StoreProblem::Failed }
}

#[cfg(feature = "object-stores")]
fn is_unreachable(error: &Error) -> bool {
    use object_store::client::{HttpError, HttpErrorKind};
    causes(error).filter_map(|cause| cause.downcast_ref::<HttpError>()).any(|error| {
        let kind = error.kind();
        matches!(
            kind,
            HttpErrorKind::Connect
                | HttpErrorKind::Request
                | HttpErrorKind::Timeout
                | HttpErrorKind::Interrupted
        )
    })
}

#[cfg(not(feature = "object-stores"))]
fn is_unreachable(_: &Error) -> bool {
    false
}

/// Returns the text of an error in one line, with that of the innermost one where it is left out.
pub(super) fn reason(error: &Error) -> String {
    if let Some(error) = object_error(error) {
        return error.reason.clone();
    }
    let mut text = error.to_string();
    if let Some(last) = causes(error).last().map(ToString::to_string)
        && !text.contains(&last)
    {
        text = format!("{text}: {last}");
    }
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(REASON_CHARS_MAX) {
        line.truncate(end);
        line.push_str(" ...");
    }
    line
}

/// The error of a drive's server, if it is one.
fn object_error(error: &Error) -> Option<&ObjectError> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// An error and those that led to it.
fn causes<'a>(error: &'a Error) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let first: &'a (dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

impl fmt::Display for NamedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.url)
    }
}

#[async_trait]
impl ObjectStore for NamedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let put = self.inner.put_opts(location, payload, options).await;
        put.map_err(|error| self.name.error(location, error))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.inner.put_multipart_opts(location, options).await;
        upload.map_err(|error| self.name.error(location, error))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let got = self.inner.get_opts(location, options).await;
        let mut got = got.map_err(|error| self.name.error(location, error))?;
        got.meta = self.name.stamp(got.meta);
        if let GetResultPayload::Stream(bytes) = got.payload {
            let (name, location) = (Arc::clone(&self.name), location.clone());
            let bytes = bytes.map_err(move |error| name.error(&location, error));
            got.payload = GetResultPayload::Stream(bytes.boxed());
        }
        Ok(got)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let [range] = ranges {
            return Ok(vec![read_range(self, location, range.clone()).await?]);
        }
        let got = self.inner.get_ranges(location, ranges).await;
        got.map_err(|error| self.name.error(location, error))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.listed(self.inner.delete_stream(locations), None, |_, path| path)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list(prefix), prefix, Name::stamp)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list_with_offset(prefix, offset), prefix, Name::stamp)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.inner.list_with_delimiter(prefix).await;
        let root = Path::default();
        let mut listed =
            listed.map_err(|error| self.name.not_listed(prefix.unwrap_or(&root), error))?;
        listed.objects = listed.objects.into_iter().map(|object| self.name.stamp(object)).collect();
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copied = self.inner.copy_opts(from, to, options).await;
        copied.map_err(|error| self.name.error(from, error))
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let renamed = self.inner.rename_opts(from, to, options).await;
        renamed.map_err(|error| self.name.error(from, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::{ObjectStoreExt, memory::InMemory};

    fn named(url: &str) -> Arc<dyn ObjectStore> {
        NamedStore::wrap(&Url::parse(url).unwrap(), Arc::new(InMemory::new()))
    }

    #[tokio::test]
    async fn object_that_is_not_there_is_named_by_its_url() {
        let error = named("mem://shop/").head(&Path::from("a/b.csv")).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { path, .. } if path == "mem://shop/a/b.csv"));
    }

    #[test]
    fn objects_of_two_stores_differ_in_time() {
        let stamp = |url: &str, tag: Option<&str>| {
            let name = Name { url: url.to_owned(), service: None };
            let object = ObjectMeta {
                location: Path::from("t.parquet"),
                last_modified: Default::default(),
                size: 1,
                e_tag: tag.map(str::to_owned),
                version: None,
            };
            name.stamp(object).last_modified.timestamp_nanos_opt().unwrap()
        };
        let one = stamp("http://a", None);
        assert_eq!(one, stamp("http://a", None));
        assert_ne!(one, stamp("http://b", None));
        assert_ne!(stamp("http://a", Some("1")), stamp("http://a", Some("2")));
        assert!((0..1_000_000_000).contains(&one), "{one}");
    }

    #[tokio::test]
    async fn object_has_the_same_time_wherever_it_is_asked_for() {
        let store = named("mem://shop");
        let location = Path::from("t.csv");
        store.put(&location, "k\n1\n".into()).await.unwrap();
        let time = store.head(&location).await.unwrap().last_modified;
        assert_eq!(store.get(&location).await.unwrap().meta.last_modified, time);
        let listed: Vec<ObjectMeta> = store.list(None).try_collect().await.unwrap();
        assert_eq!(listed[0].last_modified, time);
        let listed = store.list_with_delimiter(None).await.unwrap();
        assert_eq!(listed.objects[0].last_modified, time);
    }
}
