// SPDX-License-Identifier: Apache-2.0
//! Keeps the log of changes of a store from growing without end.
//!
//! # Invariants
//!
//! - No change is forgotten that a handler of events has yet to see, nor one of the last
//!   [`KEPT_MAX`].

use std::time::Duration;

use nearscan_store::{CollectionPath, Error, SYSTEM_PARTITION, Store};

use super::applications::Installed;

/// Changes that are kept whoever has seen them, for clients that follow the log.
const KEPT_MAX: u64 = 1_000_000;

/// The collection of the system with the handlers.
const HANDLERS: &str = "handlers";

/// Time between two looks at the log.
const INTERVAL: Duration = Duration::from_secs(60);

/// Looks at the log again and again, until the future is dropped.
pub(super) async fn keep_short(store: Store, applications: Installed) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let (store, applications) = (store.clone(), applications.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let seen = applications.seen().map_err(|status| status.message().to_owned())?;
            let forgotten = match seen {
                Some(seen) => forget(&store, seen, KEPT_MAX),
                None => seen_by_nobody(&store).and_then(|seen| forget(&store, seen, KEPT_MAX)),
            };
            forgotten.map_err(|error| error.to_string())
        });
        if let Err(error) = looking.await.map_err(|error| error.to_string()).flatten() {
            tracing::error!(error, "the log of changes cannot be shortened");
        }
    }
}

/// The last change that may be forgotten while no applications run: none if handlers are registered
/// in the store, which another program has served.
fn seen_by_nobody(store: &Store) -> Result<u64, Error> {
    let handlers = CollectionPath::new(SYSTEM_PARTITION, HANDLERS)?;
    match store.list(&handlers, "", None, 1) {
        Ok(handlers) if !handlers.is_empty() => Ok(0),
        Ok(_) | Err(Error::NotFound { .. }) => Ok(u64::MAX),
        Err(error) => Err(error),
    }
}

/// Forgets the changes beyond so many that all have seen; `seen` is the last of these.
fn forget(store: &Store, seen: u64, kept_max: u64) -> Result<(), Error> {
    let up_to = store.last_change()?.saturating_sub(kept_max).min(seen);
    let forgotten = match store.changes(0, 0) {
        Ok(_) => 0,
        Err(Error::Forgotten { forgotten, .. }) => forgotten,
        Err(error) => return Err(error),
    };
    // It is a transaction, which is not made for nothing.
    if up_to > forgotten { store.forget_changes(up_to) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use nearscan_store::{Condition, Quota};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all_are_within_the_bound(u64::MAX, 20, 0)]
    #[case::everyone_has_seen_them(u64::MAX, 3, 7)]
    #[case::a_handler_is_behind(4, 3, 4)]
    #[case::a_handler_has_seen_more(9, 3, 7)]
    fn changes_beyond_the_bound_are_forgotten_once_all_have_seen_them(
        #[case] seen: u64,
        #[case] kept_max: u64,
        #[case] forgotten: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let collection = CollectionPath::in_default("c").unwrap();
        store.create_collection(&collection, Quota::default()).unwrap();
        let path = collection.object("a").unwrap();
        while store.last_change().unwrap() < 10 {
            store.put(&path, b"", Condition::Always).unwrap();
        }
        for _ in 0..2 {
            forget(&store, seen, kept_max).unwrap();
            let kept = store.changes(forgotten, 100).unwrap();
            let numbers: Vec<u64> = kept.iter().map(|change| change.sequence).collect();
            assert_eq!(numbers, (forgotten + 1..=10).collect::<Vec<u64>>());
            if forgotten > 0 {
                let before = store.changes(forgotten - 1, 1);
                assert!(matches!(before, Err(Error::Forgotten { .. })), "{before:?}");
            }
        }
    }

    #[test]
    fn changes_wait_for_handlers_that_do_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(seen_by_nobody(&store).unwrap(), u64::MAX);
        store.create_partition(SYSTEM_PARTITION, Quota::default()).unwrap();
        let handlers = CollectionPath::new(SYSTEM_PARTITION, HANDLERS).unwrap();
        store.create_collection(&handlers, Quota::default()).unwrap();
        assert_eq!(seen_by_nobody(&store).unwrap(), u64::MAX);
        store.put(&handlers.object("csv").unwrap(), b"{}", Condition::Always).unwrap();
        assert_eq!(seen_by_nobody(&store).unwrap(), 0);
    }
}
