// SPDX-License-Identifier: Apache-2.0
//! The stores of the objects of servers, in which replicas stand in for what is gone.

use std::{fmt, sync::Arc};

use datafusion::object_store::ObjectStore;
use futures::future::BoxFuture;
use nearscan_remote::{ObjectError, Objects, Peers, ReplicatedStore, Seen};
use url::Url;

use super::named::NamedStore;
use crate::servers::{Servers, address_of};

/// Whether a session may read a URL.
pub(crate) type Allows = dyn Fn(&str) -> bool + Send + Sync;

/// Makes stores of the objects of servers; clones share what was seen of them.
#[derive(Clone)]
pub(super) struct ServerStores {
    servers: Arc<Servers>,
    seen: Arc<Seen>,
    allows: Arc<Allows>,
}

impl ServerStores {
    /// Stores that may read every replica.
    pub(super) fn new(servers: Arc<Servers>) -> Self {
        Self { servers, seen: Arc::default(), allows: Arc::new(|_| true) }
    }

    /// Stores that read a replica only if its URL may be read.
    pub(super) fn restricted(&self, allows: Arc<Allows>) -> Self {
        Self { allows, ..self.clone() }
    }

    /// The store of the objects of a URL's server. No request is sent.
    pub(super) fn store(&self, url: &Url) -> Arc<dyn ObjectStore> {
        let peers = Arc::new(self.clone());
        let store = ReplicatedStore::new(&address_of(url), &self.seen, peers);
        NamedStore::wrap(url, Arc::new(store))
    }
}

impl fmt::Debug for ServerStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerStores").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Peers for ServerStores {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Objects, ObjectError>> {
        Box::pin(self.servers.objects(address))
    }

    fn is_lost(&self, address: &str) -> bool {
        self.servers.is_lost(address)
    }

    fn allows(&self, url: &str) -> bool {
        (self.allows)(url)
    }
}
