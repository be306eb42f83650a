// SPDX-License-Identifier: Apache-2.0
//! Implements [`ReplicatedStore`]: the objects of a server, or those of its replica while the
//! server is gone.
//!
//! Where the replica of a collection is, an attribute of the collection says ([`REPLICA`]), and the
//! store asks for it each time it lists the collection or describes an object of it. What it sees
//! then it remembers ([`Seen`]), since a server that is gone tells nothing any more.
//!
//! # What this module does not do
//!
//! It writes to no replica: [`replicate`](super::replica::replicate) does.
//!
//! # Invariants
//!
//! - A replica serves an object only if that has the hash and the length which were seen of the
//!   version that is meant. What it serves goes by the name, tag and time of the original.
//! - A list while the server is gone has what was listed last, as a whole, or is an error.
//! - What this store has written, and what the server was seen to lack, is forgotten: the replica
//!   does not stand in for what was there before.
//! - A replica is asked only if the server cannot be reached: what it refuses stays refused.

mod rest;
mod seen;
mod upload;

use std::{fmt, ops::Range, pin::pin, sync::Arc};

use ::object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, path::Path,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt, TryStreamExt,
    future::{self, BoxFuture, Either},
    stream::{self, BoxStream},
};
use nearscan_store::{CollectionPath, ObjectInfo, ObjectPath};

use rest::going_on;
use seen::LIST_MAX;
pub use seen::Seen;

use upload::Forgetting;

use super::{
    RemoteStore,
    paths::{Place, meta_of, object_path, place_of},
    replica::{REPLICA, Replica, list_of},
};
use crate::client::{ObjectError, ObjectErrorKind, Objects};

/// The other servers, as a store of replicas needs them.
pub trait Peers: fmt::Debug + Send + Sync {
    /// Connects to the server at an address, or finds the connection that there is.
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Objects, ObjectError>>;

    /// Whether there was a connection to an address that is lost now.
    fn is_lost(&self, address: &str) -> bool;

    /// Whether objects of a URL may be read.
    fn allows(&self, url: &str) -> bool;
}

/// The objects of a server, or of its replica.
#[derive(Debug, Clone)]
pub struct ReplicatedStore {
    address: Arc<str>,
    inner: RemoteStore,
    seen: Arc<Seen>,
    peers: Arc<dyn Peers>,
}

impl fmt::Display for ReplicatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Whether a server could not be reached.
fn is_unreachable(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    let error = source.downcast_ref::<ObjectError>();
    error.is_some_and(|error| error.kind == ObjectErrorKind::Unreachable)
}

/// The error of a server that is gone, with the reason why its replica does not help.
fn with_reason(error: Error, reason: &str) -> Error {
    let text = match &error {
        Error::Generic { source, .. } => source.to_string(),
        _ => return error,
    };
    let kind = ObjectErrorKind::Unreachable;
    let source = ObjectError { kind, reason: format!("{text}; {reason}") };
    Error::Generic { store: "drive", source: Box::new(source) }
}

/// Objects of a replica that are compared with a list, at most.
const STAND_IN_MAX: usize = 4 * LIST_MAX;

/// Why a replica does not help.
type NoReplica = String;

/// An object of a replica that has the bytes of another one.
struct Same {
    store: RemoteStore,
    location: Path,
    version: u64,
    original: ObjectMeta,
}

impl ReplicatedStore {
    /// The objects of the server at an address.
    pub fn new(address: &str, seen: &Arc<Seen>, peers: Arc<dyn Peers>) -> Self {
        let (seen, of) = (Arc::clone(seen), Arc::<str>::from(address));
        let (noting, address) = (Arc::clone(&seen), Arc::clone(&of));
        let inner = store_of(&of, &peers).watched(move |info| noting.object(&address, info));
        Self { address: of, inner, seen, peers }
    }

    /// Asks where the replica of a collection is. That the server does not say so is no error: what
    /// was asked for is there.
    async fn note_replica(&self, collection: &CollectionPath) {
        let asked = async {
            let objects = self.peers.connect(&self.address).await?;
            objects.attribute(collection, REPLICA).await
        };
        match asked.await {
            Ok(value) => {
                let replica = value.and_then(|value| Replica::of(&value));
                self.seen.replica(&self.address, collection, replica);
            }
            Err(error) => tracing::debug!(%collection, %error, "its replica is not known"),
        }
    }

    /// Waits for an answer of the server about a collection, and asks meanwhile where its replica
    /// is. An error does not wait for that.
    async fn noting_replica<T>(
        &self,
        of: Place,
        answer: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match of {
            Place::Collection(of) if !self.peers.is_lost(&self.address) => {
                let (answer, noting) = (pin!(answer), pin!(self.note_replica(&of)));
                match future::select(answer, noting).await {
                    Either::Left((Ok(answer), noting)) => {
                        noting.await;
                        Ok(answer)
                    }
                    Either::Left((Err(error), _)) => Err(error),
                    Either::Right(((), answer)) => answer.await,
                }
            }
            Place::Root | Place::Collection(_) | Place::Object(_) => answer.await,
        }
    }

    /// The replica of a collection, if there is one that may be read.
    fn replica(&self, collection: &CollectionPath) -> Result<Replica, NoReplica> {
        let known = self.seen.replica_of(&self.address, collection);
        let replica = known.ok_or_else(|| "it is not known to have a replica".to_owned())?;
        match self.peers.allows(&replica.to_string()) {
            true => Ok(replica),
            false => Err(format!("its replica {replica} may not be read")),
        }
    }

    /// The object of a replica that has the bytes of one, of which `version` is meant, or the last
    /// one that was seen.
    async fn same(&self, path: &ObjectPath, version: Option<u64>) -> Result<Same, NoReplica> {
        let replica = self.replica(path.collection())?;
        let original = self.seen.object_of(&self.address, path);
        let is_meant = |info: &ObjectInfo| version.is_none_or(|version| version == info.version);
        let original = original.filter(is_meant);
        let original = original.ok_or_else(|| format!("{path} was not seen in this version"))?;
        let found = self.found(&replica, path).await;
        let found = found.map_err(|error| format!("its replica {replica}: {error}"))?;
        if !has_same_bytes(&original, &found) {
            return Err(format!("its replica {replica} has other bytes of {}", path.name()));
        }
        Ok(Same {
            store: store_of(&replica.address, &self.peers),
            location: meta_of(&found).location,
            version: found.version,
            original: meta_of(&original),
        })
    }

    async fn found(&self, replica: &Replica, path: &ObjectPath) -> Result<ObjectInfo, ObjectError> {
        let path = replica.collection.object(path.name());
        let path = path.map_err(|error| ObjectError {
            kind: ObjectErrorKind::Invalid,
            reason: error.to_string(),
        })?;
        self.peers.connect(&replica.address).await?.info(&path).await
    }

    /// An object as the replica has it, in answer to a request that the server has not answered.
    async fn get_at_replica(
        &self,
        location: &Path,
        options: &GetOptions,
    ) -> Result<GetResult, NoReplica> {
        let path = object_path(location).map_err(|error| error.to_string())?;
        let version = match &options.if_match {
            Some(tag) => Some(tag.parse().map_err(|_| format!("{tag} is no version"))?),
            None => None,
        };
        let same = self.same(&path, version).await?;
        let options = options.clone().with_if_match(Some(same.version.to_string()));
        let got = same.store.get_opts(&same.location, options).await;
        let got = got.map_err(|error| format!("its replica: {error}"))?;
        self.warn_of_stand_in(path.collection());
        Ok(GetResult { meta: same.original, ..got })
    }

    /// Ranges of an object as the replica has it, all of one version.
    async fn ranges_at_replica(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, NoReplica> {
        let mut all = Vec::with_capacity(ranges.len());
        let mut tag = None;
        for range in ranges {
            let range = Some(GetRange::Bounded(range.clone()));
            let options = GetOptions::new().with_range(range).with_if_match(tag);
            let got = self.get_at_replica(location, &options).await?;
            tag = got.meta.e_tag.clone();
            all.push(got.bytes().await.map_err(|error| format!("its replica: {error}"))?);
        }
        Ok(all)
    }

    /// Answers a request, without the replica's help later on.
    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if self.peers.is_lost(&self.address)
            && let Ok(got) = self.get_at_replica(location, &options).await
        {
            return Ok(got);
        }
        let error = match self.inner.get_opts(location, options.clone()).await {
            Err(error) if is_unreachable(&error) => error,
            answered => {
                if matches!(answered, Err(Error::NotFound { .. })) {
                    self.seen.forget(&self.address, location);
                }
                return answered;
            }
        };
        let got = self.get_at_replica(location, &options).await;
        got.map_err(|reason| with_reason(error, &reason))
    }

    /// Says once that a replica stands in.
    fn warn_of_stand_in(&self, of: &CollectionPath) {
        if self.seen.is_first_stand_in(&self.address, of) {
            let (address, collection) = (&self.address, of.name());
            tracing::warn!(
                %address, collection,
                "the server cannot be reached: its replica has what was seen of it"
            );
        }
    }

    /// Lists what is below a prefix, and remembers it unless it is too long.
    async fn listed(&self, prefix: &Path) -> Result<BoxStream<'static, Result<ObjectMeta>>> {
        let listing = async {
            let mut listing = self.inner.list(Some(prefix));
            let first = listing.by_ref().take(LIST_MAX + 1).try_collect::<Vec<_>>().await?;
            Ok((first, listing))
        };
        let error = match self.noting_replica(collection_of(prefix)?, listing).await {
            Err(error) if is_unreachable(&error) => error,
            Err(error) => return Err(error),
            Ok((first, rest)) => {
                self.seen.list(&self.address, prefix, &first);
                return Ok(stream::iter(first.into_iter().map(Ok)).chain(rest).boxed());
            }
        };
        let listed = self.listed_at_replica(prefix).await;
        let listed = listed.map_err(|reason| with_reason(error, &reason))?;
        Ok(stream::iter(listed.into_iter().map(Ok)).boxed())
    }

    /// What was listed last, if the replica has the bytes of all of it.
    async fn listed_at_replica(&self, prefix: &Path) -> Result<Vec<ObjectMeta>, NoReplica> {
        let listed = self.seen.list_of(&self.address, prefix);
        let listed = listed.ok_or_else(|| format!("{prefix} was not listed before"))?;
        let text = |error: Error| error.to_string();
        let Place::Collection(of) = collection_of(prefix).map_err(text)? else {
            return Err("it is no collection that has a replica".to_owned());
        };
        let replica = self.replica(&of)?;
        let at_replica = |error: &dyn fmt::Display| format!("its replica {replica}: {error}");
        let objects = self.peers.connect(&replica.address).await;
        let objects = objects.map_err(|error| at_replica(&error))?;
        let names = match place_of(prefix).map_err(text)? {
            Place::Object(path) => format!("{}/", path.name()),
            Place::Root | Place::Collection(_) => String::new(),
        };
        let found = list_of(&objects, &replica.collection, &names, STAND_IN_MAX).await;
        let found = found.map_err(|error| at_replica(&error))?;
        for object in listed.iter().cloned() {
            let path = object_path(&object.location).map_err(text)?;
            let original = self.seen.object_of(&self.address, &path);
            // The list may be older than what was seen of the object.
            let is_same = |original: &ObjectInfo| {
                meta_of(original) == object
                    && found.get(path.name()).is_some_and(|found| has_same_bytes(original, found))
            };
            if !original.is_some_and(|original| is_same(&original)) {
                return Err(format!("its replica {replica} has other bytes of {}", path.name()));
            }
        }
        self.warn_of_stand_in(&of);
        Ok(listed)
    }
}

/// The objects of the server at an address.
fn store_of(address: &str, peers: &Arc<dyn Peers>) -> RemoteStore {
    let (peers, of) = (Arc::clone(peers), Arc::<str>::from(address));
    RemoteStore::connecting(address, move || {
        let (peers, of) = (Arc::clone(&peers), Arc::clone(&of));
        Box::pin(async move { peers.connect(&of).await })
    })
}

/// The collection of a prefix, unless that is of all.
fn collection_of(prefix: &Path) -> Result<Place> {
    Ok(match place_of(prefix)? {
        Place::Object(path) => Place::Collection(path.collection().clone()),
        other => other,
    })
}

/// Whether two objects are known to have the same bytes.
fn has_same_bytes(one: &ObjectInfo, other: &ObjectInfo) -> bool {
    one.length == other.length && one.hash.is_some() && one.hash == other.hash
}

#[async_trait]
impl ObjectStore for ReplicatedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let put = self.inner.put_opts(location, payload, options).await;
        self.seen.forget(&self.address, location);
        put
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.inner.put_multipart_opts(location, options).await?;
        let (store, location) = (self.clone(), location.clone());
        Ok(Box::new(Forgetting { store, location, upload }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let got = match options.head {
            true => {
                let getting = self.get(location, options);
                self.noting_replica(collection_of(location)?, getting).await?
            }
            false => self.get(location, options).await?,
        };
        Ok(going_on(self, location, got))
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.peers.is_lost(&self.address)
            && let Ok(all) = self.ranges_at_replica(location, ranges).await
        {
            return Ok(all);
        }
        // It waits for a server that is lost to come back.
        let error = match self.inner.get_ranges(location, ranges).await {
            Err(error) if is_unreachable(&error) => error,
            answered => return answered,
        };
        let all = self.ranges_at_replica(location, ranges).await;
        all.map_err(|reason| with_reason(error, &reason))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (before, after) = (self.clone(), self.clone());
        let locations = locations
            .inspect_ok(move |location| before.seen.forget(&before.address, location))
            .boxed();
        let removed = self.inner.delete_stream(locations);
        removed.inspect_ok(move |location| after.seen.forget(&after.address, location)).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned().unwrap_or_default());
        stream::once(async move { store.listed(&prefix).await }).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copied = self.inner.copy_opts(from, to, options).await;
        self.seen.forget(&self.address, to);
        copied
    }
}
