// SPDX-License-Identifier: Apache-2.0
//! Connects to the servers of `drive://HOST:PORT/COLLECTION/NAME`, whose objects are tables, and
//! whose drives scan them.
//!
//! A server is connected when a URL of it is first read, unless a drive with its address was
//! attached before: that one also knows the token. Its drive is attached under its address then, so
//! that scans of its objects run there.
//!
//! # Invariants
//!
//! - An engine has one connection to each address.
//! - A server that a URL names hears of its own objects only, never of other files.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use datafusion::{common::runtime::SpawnedTask, object_store::path::Path};
use nearscan_drive::{Drive, Drives};
use nearscan_remote::{
    Address, Error as RemoteError, FilesOf, ObjectError, ObjectErrorKind, Objects, Options,
    RemoteDrive,
};
use tokio::sync::OnceCell;
use url::Url;

/// The scheme of the URLs of objects.
pub(crate) const SCHEME: &str = "drive";

/// The scheme of the engine's own URL for objects of several servers, whose paths begin with the
/// server.
pub(crate) const ROUTED_SCHEME: &str = "drives";

/// Servers that are connected by URLs; one more is an error.
const CONNECTED_MAX: usize = 256;

type Connected = Arc<OnceCell<Arc<RemoteDrive>>>;

/// The servers of an engine.
pub(crate) struct Servers {
    drives: Arc<Drives>,
    by_address: Mutex<HashMap<String, Connected>>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Servers").field("drives", &self.drives).finish_non_exhaustive()
    }
}

impl Servers {
    /// Servers whose drives are attached to `drives`.
    pub(crate) fn new(drives: Arc<Drives>) -> Self {
        Self { drives, by_address: Mutex::default() }
    }

    /// Adds the server of a drive that is attached already.
    pub(crate) fn add(&self, address: &str, drive: Arc<RemoteDrive>) {
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        by_address.insert(address.to_owned(), Arc::new(OnceCell::new_with(Some(drive))));
    }

    /// The server at an address, to which a connection is made if there is none.
    pub(crate) async fn server(&self, address: &str) -> Result<Arc<RemoteDrive>, ObjectError> {
        let connected = {
            let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
            if by_address.len() >= CONNECTED_MAX && !by_address.contains_key(address) {
                let reason = format!("there are connections to {CONNECTED_MAX} servers already");
                return Err(ObjectError { kind: ObjectErrorKind::Exhausted, reason });
            }
            Arc::clone(by_address.entry(address.to_owned()).or_default())
        };
        match connected.get_or_try_init(|| self.connect(address)).await {
            Ok(drive) => Ok(Arc::clone(drive)),
            Err(error) => {
                // A server that does not answer takes no place.
                let mut known = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
                let is_same = |it: &Connected| Arc::ptr_eq(it, &connected) && !it.initialized();
                if known.get(address).is_some_and(is_same) {
                    known.remove(address);
                }
                Err(error)
            }
        }
    }

    async fn connect(&self, address: &str) -> Result<Arc<RemoteDrive>, ObjectError> {
        let of_task = address.to_owned();
        // It waits for the server.
        let connecting = SpawnedTask::spawn_blocking(move || open(&of_task));
        let failed = |reason| ObjectError { kind: ObjectErrorKind::Failed, reason };
        let drive = connecting.await.map_err(|error| failed(error.to_string()))??;
        self.drives.attach(address, Arc::<RemoteDrive>::clone(&drive) as Arc<dyn Drive>);
        Ok(drive)
    }

    /// The servers to which there are connections, by their addresses.
    pub(crate) fn connected(&self) -> Vec<(String, Arc<RemoteDrive>)> {
        let by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let connected = by_address
            .iter()
            .filter_map(|(address, it)| Some((address.clone(), Arc::clone(it.get()?))));
        connected.collect()
    }

    /// As [`Servers::server`], on this thread, which is one of a runtime and waits.
    pub(crate) fn connect_now(&self, address: &str) -> Result<Arc<RemoteDrive>, ObjectError> {
        futures::executor::block_on(self.server(address))
    }

    /// The objects of the server at an address, to which a connection is made if there is none.
    pub(crate) async fn objects(&self, address: &str) -> Result<Objects, ObjectError> {
        Ok(self.server(address).await?.objects())
    }

    /// Whether there was a connection to the server at an address that is lost now.
    pub(crate) fn is_lost(&self, address: &str) -> bool {
        let by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let known = by_address.get(address).and_then(|it| it.get());
        known.is_some_and(|drive| !drive.is_connected())
    }
}

/// Connects to the server at an address, and waits for it.
fn open(address: &str) -> Result<Arc<RemoteDrive>, ObjectError> {
    let failed = |kind, reason| ObjectError { kind, reason };
    let parsed: Address =
        address.parse().map_err(|error| failed(ObjectErrorKind::Invalid, format!("{error}")))?;
    let options = Options { files: FilesOf::Server, ..Options::default() };
    let connected = RemoteDrive::connect(&parsed, options).map(Arc::new);
    connected.map_err(|error| {
        let kind = match &error {
            RemoteError::Denied { .. } => ObjectErrorKind::Unauthenticated,
            RemoteError::Unreachable { .. } => ObjectErrorKind::Unreachable,
            RemoteError::Refused { .. }
            | RemoteError::Threads(_)
            | RemoteError::Listen { .. }
            | RemoteError::Exposed { .. }
            | RemoteError::Serve { .. }
            | RemoteError::Host { .. } => ObjectErrorKind::Refused,
        };
        let reason = match error.detail() {
            Some(detail) => format!("{error}: {detail}"),
            None => error.to_string(),
        };
        failed(kind, reason)
    })
}

/// The `HOST:PORT` of a URL.
pub(crate) fn address_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The server that a path below the engine's URL begins with, and the path there.
pub(crate) fn split_server(location: &Path) -> Option<(&str, Path)> {
    let text = location.as_ref();
    let (server, rest) = text.split_once('/').unwrap_or((text, ""));
    Some((server, Path::parse(rest).ok()?)).filter(|(server, _)| !server.is_empty())
}

/// Whether what is read from a store are objects of servers, by the URL of the store.
pub(crate) fn is_of_servers(store: &str) -> bool {
    let scheme = store.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme == SCHEME || scheme == ROUTED_SCHEME)
}

/// The server of an object, and its path there, by the URL of its store and the path in the store;
/// none of another store.
pub(crate) fn server_and_path(store: &str, location: &Path) -> Option<(Arc<str>, Path)> {
    let (scheme, rest) = store.split_once("://")?;
    match scheme {
        SCHEME => Some((rest.trim_end_matches('/').into(), location.clone())),
        ROUTED_SCHEME => split_server(location).map(|(server, path)| (server.into(), path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_begins_with_the_server_whatever_its_address_is() {
        let path = Path::parse("[::1]:2/c/50%/a b").unwrap();
        let (server, rest) = split_server(&path).unwrap();
        assert_eq!((server, rest.as_ref()), ("[::1]:2", "c/50%/a b"));
        assert_eq!(split_server(&Path::default()), None);
    }
}
