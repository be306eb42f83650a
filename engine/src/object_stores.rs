// SPDX-License-Identifier: Apache-2.0
//! Object stores by URL: those that were registered, and those that are made at first use.
//!
//! [`ObjectStores`] is the registry that DataFusion asks for the store of each table and scan. For
//! a URL whose store it does not have, it makes one from the environment, if the crate was built
//! with the feature `object-stores`. Making a store reaches for no network.
//!
//! The permission to open a URL is checked before, see [`access`](crate::access).
//!
//! # Invariants
//!
//! - Stores are told apart by all of a URL in front of its path: of `abfss://data@account.host` the
//!   container is what stands in front of the `@`.
//! - Files of several stores are never taken for one another, see [`named`].
//! - A table on several servers of drives is read through one store, see [`routed`](mod@routed).
//! - No footer makes its reader allocate more than its file may need, see [`footers`].

mod footers;
#[cfg(feature = "object-stores")]
mod make;
mod named;
mod of_servers;
mod pinned;
mod routed;
mod service;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use datafusion::{
    common::{DataFusionError, Result},
    execution::object_store::ObjectStoreRegistry,
    object_store::ObjectStore,
};
use url::{Position, Url};

use crate::{
    error::{PathError, StoreError, StoreProblem},
    servers::{ROUTED_SCHEME, Servers},
};
use named::NamedStore;
pub(crate) use of_servers::Allows;
use of_servers::ServerStores;
pub(crate) use pinned::PinnedStore;
use routed::RoutedStore;
pub(crate) use routed::{routed, with_urls_of_servers};
use service::{Cloud, Service};

/// Stores that are kept after they were made at first use; with one more, all of them are made
/// anew. A store is its copy of the certificates of the system, and idle connections.
const MADE_MAX: usize = 64;

/// The stores of an engine.
pub(crate) struct ObjectStores {
    stores: Arc<Mutex<Stores>>,
    of_servers: ServerStores,
}

/// By all of their URL in front of its path.
#[derive(Default)]
struct Stores {
    registered: HashMap<String, Arc<dyn ObjectStore>>,
    made: HashMap<String, Arc<dyn ObjectStore>>,
}

impl ObjectStores {
    /// The stores of an engine with these servers of drives.
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        Self { stores: Arc::default(), of_servers: ServerStores::new(servers) }
    }

    /// The same stores for a session that may not read every replica of objects of servers.
    pub(crate) fn restricted(&self, allows: Arc<Allows>) -> Self {
        let of_servers = self.of_servers.restricted(allows);
        Self { stores: Arc::clone(&self.stores), of_servers }
    }

    fn stores(&self) -> MutexGuard<'_, Stores> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectStoreRegistry for ObjectStores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        let store = match url.scheme() {
            "file" => store,
            _ => NamedStore::wrap(url, store),
        };
        self.stores().registered.insert(key(url), store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let store = self.stores().registered.remove(&key(url));
        store.ok_or_else(|| not_local(url.as_str()))
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let key = key(url);
        let mut stores = self.stores();
        if let Some(store) = stores.registered.get(&key).or_else(|| stores.made.get(&key)) {
            return Ok(Arc::clone(store));
        }
        if url.scheme() == ROUTED_SCHEME {
            return Ok(Arc::new(RoutedStore::new(self.of_servers.clone())));
        }
        let service = Service::of(url.scheme()).ok_or_else(|| not_local(url.as_str()))?;
        let store = match service {
            Service::Drive => {
                check_url(url.as_str())?;
                return Ok(self.of_servers.store(url));
            }
            Service::Cloud(cloud) => make(cloud, url)?,
        };
        let store = NamedStore::wrap(url, store);
        if stores.made.len() >= MADE_MAX {
            stores.made.clear();
        }
        stores.made.insert(key, Arc::clone(&store));
        Ok(store)
    }
}

impl fmt::Debug for ObjectStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stores = self.stores();
        f.debug_struct("ObjectStores")
            .field("registered", &stores.registered.keys())
            .field("made", &stores.made.keys())
            .finish()
    }
}

/// Refuses a URL that no store of a known service can read as it is written.
///
/// # Errors
/// [`StoreError`] that does not repeat the parts of a URL that may be secret.
pub(crate) fn check_url(location: &str) -> Result<(), StoreError> {
    let refused = |url: &str, reason: String| {
        Err(StoreError { url: url.to_owned(), problem: StoreProblem::Settings, reason })
    };
    // As it is read later on: a parser leaves out blanks and tabs, and needs no second slash.
    if Url::parse(location).is_ok_and(|url| url.scheme() == ROUTED_SCHEME) {
        let instead = "name each server: LOCATION ('drive://A:1/C/', 'drive://B:1/C/')";
        return refused(location, format!("its scheme is for the engine alone; {instead}"));
    }
    let Some((scheme, _)) = location.split_once("://") else { return Ok(()) };
    let Some(service) = Service::of(&scheme.to_ascii_lowercase()) else { return Ok(()) };
    let url = match Url::parse(location) {
        Ok(url) => url,
        Err(error) => return refused(location, format!("it is no URL: {error}")),
    };
    let shown = &url[Position::BeforeHost..Position::AfterPath];
    let shown = format!("{}://{shown}", url.scheme());
    if url.password().is_some() {
        return refused(&shown, "a password in a URL would be seen in plans and errors".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refused(&shown, "it has a part behind '?' or '#', which is not read".to_owned());
    }
    if url.path().contains('*') {
        let instead = "name a file, or a folder by a slash at its end";
        return refused(&shown, format!("patterns are for local files: {instead}"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return refused(&shown, format!("it names no {}", service.place()));
    }
    if service == Service::Drive && url.port().is_none() {
        return refused(&shown, "it names no port".to_owned());
    }
    Ok(())
}

#[cfg(feature = "object-stores")]
fn make(cloud: Cloud, url: &Url) -> Result<Arc<dyn ObjectStore>, StoreError> {
    check_url(url.as_str())?;
    make::make(cloud, url).map_err(|error| StoreError {
        url: store_url(url).to_owned(),
        problem: StoreProblem::Settings,
        reason: named::reason(&error),
    })
}

#[cfg(not(feature = "object-stores"))]
fn make(_: Cloud, url: &Url) -> Result<Arc<dyn ObjectStore>, StoreError> {
    let problem = StoreProblem::NotBuilt;
    Err(StoreError { url: store_url(url).to_owned(), problem, reason: String::new() })
}

fn key(url: &Url) -> String {
    store_url(url).to_owned()
}

/// The URL without its path.
fn store_url(url: &Url) -> &str {
    &url[..Position::BeforePath]
}

fn not_local(url: &str) -> DataFusionError {
    DataFusionError::External(PathError::NotLocal { url: url.to_owned() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::memory::InMemory;
    use rstest::rstest;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn stores_are_told_apart_by_all_in_front_of_the_path() {
        let stores = ObjectStores::new(Arc::new(Servers::new(Arc::default())));
        stores.register_store(&url("mem://a@host:1"), Arc::new(InMemory::new()));
        assert!(stores.get_store(&url("mem://a@host:1/path/t.csv")).is_ok());
        for other in ["mem://b@host:1", "mem://host:1", "mem://a@host:2", "mem2://a@host:1"] {
            assert!(stores.get_store(&url(other)).is_err(), "{other}");
        }
        assert!(stores.deregister_store(&url("mem://a@host:1/x")).is_ok());
        assert!(stores.get_store(&url("mem://a@host:1")).is_err());
    }

    #[rstest]
    #[case("s3:///key", "names no bucket")]
    #[case("gs://bucket/key?x=1", "behind '?' or '#'")]
    #[case("https://host/key#part", "behind '?' or '#'")]
    #[case("https://user:secret@host/key", "a password")]
    #[case("az://container/a/*.parquet", "patterns are for local files")]
    #[case("https://host:port/key", "no URL")]
    #[case("drives://each/a:1/c/", "for the engine alone")]
    #[case(" DRIVES://each/a:1/c/", "for the engine alone")]
    #[case("dri\tves:/a:1/c/", "for the engine alone")]
    #[case("drives://each/a:1/c/", "for the engine alone")]
    fn url_that_cannot_be_read_as_it_is_written_is_refused(#[case] url: &str, #[case] why: &str) {
        let error = check_url(url).unwrap_err();
        assert_eq!(error.problem, StoreProblem::Settings);
        assert!(error.reason.contains(why), "{error:?}");
        assert!(!error.url.contains("secret"), "{error:?}");
    }

    #[rstest]
    #[case("s3://bucket/a%20b.parquet")]
    #[case("abfss://container@account.dfs.core.windows.net/key")]
    #[case("other://host/key?x")]
    #[case("/a/b.parquet")]
    fn other_locations_are_not_looked_at(#[case] location: &str) {
        assert_eq!(check_url(location), Ok(()));
    }

    #[cfg(feature = "object-stores")]
    #[test]
    fn store_is_made_once_and_no_more_are_kept_than_the_limit() {
        let stores = ObjectStores::new(Arc::new(Servers::new(Arc::default())));
        let get =
            |bucket: usize| stores.get_store(&url(&format!("s3://bucket{bucket}/k"))).unwrap();
        assert!(Arc::ptr_eq(&get(0), &get(0)));
        for bucket in 1..MADE_MAX {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            stores.stores().made.insert(format!("s3://other{bucket}"), store);
        }
        get(0);
        assert_eq!(stores.stores().made.len(), MADE_MAX);
        get(1);
        assert_eq!(stores.stores().made.len(), 1);
    }

    #[cfg(not(feature = "object-stores"))]
    #[test]
    fn without_the_feature_it_is_named() {
        let error = ObjectStores::new(Arc::new(Servers::new(Arc::default())))
            .get_store(&url("s3://bucket/k"))
            .unwrap_err();
        let error = crate::Error::from(error).render();
        assert!(error.contains("hint: build it with the feature object-stores"), "{error}");
    }
}
