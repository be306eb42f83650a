// SPDX-License-Identifier: Apache-2.0
//! Implements [`RemoteStore`]: the objects of a server as an
//! [`ObjectStore`](::object_store::ObjectStore), for engines that read tables through one.
//!
//! A path is `COLLECTION/NAME`, in the default partition. The tag of an object is the number of its
//! version, so a read with `if_match` is of that version or fails.
//!
//! # What this module does not do
//!
//! Attributes and tags, which clouds have, are refused.
//!
//! # Invariants
//!
//! - A read that loses its connection goes on with the same version of the object, or fails.

mod paths;
mod read;
mod replica;
mod replicated;
mod upload;

use std::{collections::BTreeSet, fmt, ops::Range, sync::Arc};

use ::object_store::{
    Attributes, CopyMode, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, TagSet, path::Path,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream, stream::BoxStream};
use nearscan_store::{CollectionPath, Condition, ObjectInfo};

use crate::client::{More, ObjectError, ObjectErrorKind, Objects};
use paths::{Place, meta_of, object_path, place_of};
pub use replica::{Replica, Replicated, Side, replicate};
pub use replicated::{Peers, ReplicatedStore, Seen};
use upload::Upload;

/// Finds the connection to the server, which is made when it is first needed.
pub type Connect = dyn Fn() -> BoxFuture<'static, Result<Objects, ObjectError>> + Send + Sync;

/// Is told of each object that a server describes.
type Watch = dyn Fn(&ObjectInfo) + Send + Sync;

/// The objects of a server.
#[derive(Clone)]
pub struct RemoteStore {
    /// The address, for people.
    name: Arc<str>,
    connect: Arc<Connect>,
    watch: Option<Arc<Watch>>,
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStore").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drive://{}", self.name)
    }
}

/// The error of a request about a path.
fn failed(location: &Path, error: ObjectError) -> Error {
    let path = location.to_string();
    let source = Box::new(error.clone());
    match error.kind {
        ObjectErrorKind::NotFound => Error::NotFound { path, source },
        ObjectErrorKind::Exists => Error::AlreadyExists { path, source },
        ObjectErrorKind::Conflict => Error::Precondition { path, source },
        ObjectErrorKind::Unauthenticated => Error::Unauthenticated { path, source },
        ObjectErrorKind::Denied => Error::PermissionDenied { path, source },
        ObjectErrorKind::Range
        | ObjectErrorKind::Exhausted
        | ObjectErrorKind::Invalid
        | ObjectErrorKind::Refused
        | ObjectErrorKind::NoObjects
        | ObjectErrorKind::Unreachable
        | ObjectErrorKind::Failed => Error::Generic { store: "drive", source },
    }
}

impl RemoteStore {
    /// The objects of a server to which there is a connection.
    pub fn new(name: &str, objects: Objects) -> Self {
        Self::connecting(name, move || {
            let objects = objects.clone();
            Box::pin(async { Ok(objects) })
        })
    }

    /// The objects of a server; `connect` is called for each request.
    pub fn connecting<F>(name: &str, connect: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<Objects, ObjectError>> + Send + Sync + 'static,
    {
        Self { name: name.into(), connect: Arc::new(connect), watch: None }
    }

    /// The store, which tells of each object that the server describes.
    fn watched(self, watch: impl Fn(&ObjectInfo) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)), ..self }
    }

    /// What an object store says of an object, which is told to whoever watches.
    fn meta_of(&self, info: &ObjectInfo) -> ObjectMeta {
        if let Some(watch) = &self.watch {
            watch(info);
        }
        meta_of(info)
    }

    async fn objects(&self, location: &Path) -> Result<Objects> {
        (self.connect)().await.map_err(|error| failed(location, error))
    }

    /// Lists the objects below a prefix.
    fn listed(&self, prefix: Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        let collections = stream::once(async move {
            let objects = store.objects(&prefix).await?;
            let listed = match place_of(&prefix)? {
                Place::Root => {
                    let found = objects.collections().await;
                    let found = found.map_err(|error| failed(&prefix, error))?;
                    found.into_iter().map(|(path, ..)| (path, String::new())).collect()
                }
                Place::Collection(path) => vec![(path, String::new())],
                Place::Object(path) => {
                    vec![(path.collection().clone(), format!("{}/", path.name()))]
                }
            };
            Ok::<_, Error>(stream::iter(listed.into_iter().map(move |(collection, names)| {
                let (store, prefix) = (store.clone(), prefix.clone());
                let listed = list_collection(store, objects.clone(), collection, names, prefix);
                Ok::<_, Error>(listed)
            })))
        });
        collections.try_flatten().try_flatten().boxed()
    }
}

/// The state of a list: where it goes on.
enum Next {
    First,
    After(String),
    End,
}

/// Lists the objects of a collection, page by page; none of one that is not there.
fn list_collection(
    store: RemoteStore,
    objects: Objects,
    collection: CollectionPath,
    names: String,
    prefix: Path,
) -> BoxStream<'static, Result<ObjectMeta>> {
    let pages = stream::try_unfold(Next::First, move |next| {
        let (store, objects, collection) = (store.clone(), objects.clone(), collection.clone());
        let (names, prefix) = (names.clone(), prefix.clone());
        async move {
            let after = match next {
                Next::First => None,
                Next::After(name) => Some(name),
                Next::End => return Ok(None),
            };
            let (page, more) = match objects.list(&collection, &names, after.as_deref()).await {
                Ok(page) => page,
                Err(error) if error.kind == ObjectErrorKind::NotFound => (Vec::new(), More::No),
                Err(error) => return Err(failed(&prefix, error)),
            };
            let next = match (more, page.last()) {
                (More::Maybe, Some(last)) => Next::After(last.path.name().to_owned()),
                (More::Maybe, None) | (More::No, _) => Next::End,
            };
            let page: Vec<Result<ObjectMeta>> =
                page.iter().map(|info| Ok(store.meta_of(info))).collect();
            Ok(Some((stream::iter(page), next)))
        }
    });
    pages.try_flatten().boxed()
}

fn condition_of(mode: &PutMode) -> Result<Condition> {
    match mode {
        PutMode::Overwrite => Ok(Condition::Always),
        PutMode::Create => Ok(Condition::Absent),
        PutMode::Update(update) => {
            let version = update.version.as_ref().or(update.e_tag.as_ref());
            let version = version.and_then(|version| version.parse().ok());
            version.map(Condition::Version).ok_or_else(|| Error::Generic {
                store: "drive",
                source: "an update needs the version of the object".into(),
            })
        }
    }
}

/// Refuses what belongs to web servers and clouds.
fn check_extras(attributes: &Attributes, tags: &TagSet) -> Result<()> {
    match attributes.is_empty() && tags.encoded().is_empty() {
        true => Ok(()),
        false => Err(Error::NotImplemented {
            operation: "attributes and tags".to_owned(),
            implementer: "drive".to_owned(),
        }),
    }
}

#[async_trait]
impl ObjectStore for RemoteStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let path = object_path(location)?;
        check_extras(&options.attributes, &options.tags)?;
        let condition = condition_of(&options.mode)?;
        let objects = self.objects(location).await?;
        let put = async {
            let mut upload = objects.upload(&path, condition, Default::default())?;
            for part in payload {
                upload.send(part).await?;
            }
            upload.finish().await
        };
        let info = put.await.map_err(|error| failed(location, error))?;
        Ok(upload::result_of(&info))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let path = object_path(location)?;
        check_extras(&options.attributes, &options.tags)?;
        let objects = self.objects(location).await?;
        let upload = objects.upload(&path, Condition::Always, Default::default());
        let upload = upload.map_err(|error| failed(location, error))?;
        Ok(Box::new(Upload::new(location.clone(), upload)))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        read::get(self, location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        read::ranges(self, location, None, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let remove = move |location: Path| {
            let store = store.clone();
            async move {
                let path = object_path(&location)?;
                let objects = store.objects(&location).await?;
                let removed = objects.remove(&path, Condition::Always).await;
                removed.map_err(|error| failed(&location, error))?;
                Ok(location)
            }
        };
        locations.and_then(remove).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix.cloned().unwrap_or_default())
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.cloned().unwrap_or_default();
        let mut common_prefixes = BTreeSet::new();
        let mut found = Vec::new();
        if prefix.as_ref().is_empty() {
            let objects = self.objects(&prefix).await?;
            let collections = objects.collections().await;
            let collections = collections.map_err(|error| failed(&prefix, error))?;
            common_prefixes.extend(collections.iter().map(|(path, ..)| Path::from(path.name())));
        } else {
            let mut objects = self.listed(prefix.clone());
            while let Some(object) = objects.try_next().await? {
                let (first, second) = {
                    let parts = object.location.prefix_match(&prefix);
                    let mut parts =
                        parts.into_iter().flatten().map(|part| part.as_ref().to_owned());
                    (parts.next(), parts.next())
                };
                match (first, second) {
                    (Some(folder), Some(_)) => {
                        common_prefixes.insert(Path::parse(format!("{prefix}/{folder}"))?);
                    }
                    (Some(_), None) => found.push(object),
                    (None, _) => {}
                }
            }
        }
        let common_prefixes = common_prefixes.into_iter().collect();
        Ok(ListResult { common_prefixes, objects: found })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let (source, target) = (object_path(from)?, object_path(to)?);
        let (location, condition) = match options.mode {
            CopyMode::Overwrite => (from, Condition::Always),
            CopyMode::Create => (to, Condition::Absent),
        };
        let objects = self.objects(from).await?;
        let copied = objects.copy(&source, &target, condition).await;
        copied.map(drop).map_err(|error| failed(location, error))
    }
}
