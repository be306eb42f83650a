// SPDX-License-Identifier: Apache-2.0
//! Names the collections in which the applications keep what must survive a restart.

use nearscan_store::{
    CollectionPath, Error as StoreError, ObjectPath, Quota, SYSTEM_PARTITION, Store,
};

use crate::error::Result;

/// The partition of the system.
pub const SYSTEM: &str = SYSTEM_PARTITION;

/// Installed components, one object each, of the application's name.
pub(crate) const APPLICATIONS: &str = "applications";

/// Registered handlers, one object each, of the handler's name.
pub(crate) const HANDLERS: &str = "handlers";

/// Events that no object has caused, one object each, until all handlers have seen them.
pub(crate) const EVENTS: &str = "events";

/// Events that a handler could not handle: `handler/sequence`.
pub(crate) const DEAD_LETTERS: &str = "dead-letters";

/// The command object and the response object.
pub(crate) const COMMANDS: &str = "commands";

/// A collection of the system.
pub(crate) fn collection(name: &str) -> Result<CollectionPath> {
    Ok(CollectionPath::new(SYSTEM, name)?)
}

/// An object of the system.
pub(crate) fn object(in_collection: &str, name: &str) -> Result<ObjectPath> {
    Ok(collection(in_collection)?.object(name)?)
}

/// Makes what is missing.
pub(crate) fn create(store: &Store) -> Result<()> {
    ignore_existing(store.create_partition(SYSTEM, Quota::default()))?;
    for name in [APPLICATIONS, HANDLERS, EVENTS, DEAD_LETTERS, COMMANDS] {
        ignore_existing(store.create_collection(&collection(name)?, Quota::default()))?;
    }
    Ok(())
}

fn ignore_existing(made: nearscan_store::Result<()>) -> Result<()> {
    match made {
        Ok(()) | Err(StoreError::Exists { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
