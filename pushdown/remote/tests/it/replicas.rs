// SPDX-License-Identifier: Apache-2.0
//! Tests collections that have a replica at another server, which stands in for one that is gone.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, future::BoxFuture};
use nearscan_remote::{
    ObjectError, ObjectErrorKind, Objects, Peers, RemoteDrive, Replica, Replicated,
    ReplicatedStore, Seen, ServerOptions, Side, replicate,
};
use nearscan_store::{CollectionPath, Condition, Store};
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, path::Path,
};
use rstest::rstest;

use crate::{
    bench::{Way, wait},
    objects::{WithObjects, noise, object},
};

/// Connections by address, and whether replicas may be read.
#[derive(Debug, Default)]
struct Known {
    by_address: HashMap<String, RemoteDrive>,
    denies: bool,
}

impl Peers for Known {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Objects, ObjectError>> {
        Box::pin(async { Ok(self.by_address[address].objects()) })
    }

    fn is_lost(&self, address: &str) -> bool {
        !self.by_address[address].is_connected()
    }

    fn allows(&self, _: &str) -> bool {
        !self.denies
    }
}

/// Two servers, and the objects of the first one as a store.
struct Two {
    one: WithObjects,
    other: WithObjects,
    known: Known,
}

impl Two {
    fn start() -> Self {
        let options =
            || ServerOptions { grace: Duration::from_millis(200), ..ServerOptions::default() };
        let (one, other) =
            (WithObjects::with(Way::Tcp, options()), WithObjects::with(Way::Tcp, options()));
        let known = [&one, &other].map(|it| (it.served.address.to_string(), it.connect()));
        Self { one, other, known: Known { by_address: known.into(), denies: false } }
    }

    fn sides(&self) -> [Side; 2] {
        [&self.one, &self.other].map(|it| {
            let address = it.served.address.to_string();
            let objects = self.known.by_address[&address].objects();
            let collection = CollectionPath::in_default("c").unwrap();
            Side { replica: Replica { address, collection }, objects }
        })
    }

    async fn replicate(&self) -> Replicated {
        let [one, other] = self.sides();
        replicate(&one, &other).await.unwrap()
    }

    /// The store of the first server; the servers are held on to.
    fn into_store(self) -> (WithObjects, WithObjects, ReplicatedStore) {
        let address = self.one.served.address.to_string();
        let peers = Arc::new(self.known);
        (self.one, self.other, ReplicatedStore::new(&address, &Arc::<Seen>::default(), peers))
    }
}

fn put(store: &Store, name: &str, bytes: &[u8]) {
    let path = object(name);
    if store.list(path.collection(), "", None, 1).is_err() {
        store.create_collection(path.collection(), Default::default()).unwrap();
    }
    store.put(&path, bytes, Condition::Always).unwrap();
}

fn bytes_of(store: &Store, name: &str) -> Bytes {
    store.reader(&object(name)).unwrap().read_all().unwrap()
}

async fn list(store: &ReplicatedStore) -> Result<Vec<ObjectMeta>, Error> {
    let mut listed: Vec<_> = store.list(Some(&Path::from("c"))).try_collect().await?;
    listed.sort_by(|one, other| one.location.cmp(&other.location));
    Ok(listed)
}

fn reason(error: &Error) -> String {
    let Error::Generic { source, .. } = error else { panic!("{error:?}") };
    let error = source.downcast_ref::<ObjectError>().unwrap();
    assert_eq!(error.kind, ObjectErrorKind::Unreachable);
    error.reason.clone()
}

#[test]
fn replica_gets_what_it_lacks_and_both_collections_name_the_other() {
    let two = Two::start();
    for (name, bytes) in [("a", &b"abc"[..]), ("b/c", b"d"), ("e", b"")] {
        put(&two.one.store, name, bytes);
    }
    put(&two.one.store, "large", &noise((3 << 20) + 1));
    put(&two.other.store, "a", b"abc");
    put(&two.other.store, "b/c", b"x");
    put(&two.other.store, "own", b"y");
    wait(async {
        let done = two.replicate().await;
        let bytes = (3 << 20) + 2;
        assert_eq!(done, Replicated { copied: 3, bytes, same: 1, without_hash: 0 });
        let again = two.replicate().await;
        assert_eq!(again, Replicated { copied: 0, bytes: 0, same: 4, without_hash: 0 });
        for (side, other) in [(0, 1), (1, 0)] {
            let sides = two.sides();
            let of = &sides[side].replica.collection;
            let attributes = sides[side].objects.attributes(of).await.unwrap();
            let url = sides[other].replica.to_string();
            assert_eq!(attributes["nearscan.replica"], url.as_bytes());
        }
    });
    for name in ["a", "b/c", "e", "large"] {
        assert!(bytes_of(&two.other.store, name) == bytes_of(&two.one.store, name), "{name}");
    }
    assert_eq!(bytes_of(&two.other.store, "own"), "y");
    assert!(two.one.store.info(&object("own")).is_err());
}

#[test]
fn replica_stands_in_for_lists_heads_and_reads_of_a_server_that_is_gone() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    put(&two.one.store, "b", &noise(1 << 20));
    // Versions differ at the two.
    put(&two.other.store, "first", b"");
    wait(two.replicate());
    let (mut one, _other, store) = two.into_store();
    let location = Path::from("c/b");
    let (before, head) =
        wait(async { (list(&store).await.unwrap(), store.head(&location).await.unwrap()) });
    one.served.stop();
    wait(async {
        assert_eq!(list(&store).await.unwrap(), before);
        assert_eq!(store.head(&location).await.unwrap(), head);
        let whole = store.get(&location).await.unwrap();
        assert_eq!(whole.meta, head);
        assert!(whole.bytes().await.unwrap() == noise(1 << 20));
        let tag = head.e_tag.clone();
        let options = GetOptions::new().with_range(Some(GetRange::Bounded(5..900_000)));
        let part = store.get_opts(&location, options.with_if_match(tag)).await.unwrap();
        assert!(part.bytes().await.unwrap() == noise(1 << 20).slice(5..900_000));
        let ranges = store.get_ranges(&location, &[0..3, 9..20]).await.unwrap();
        assert_eq!(ranges, [noise(1 << 20).slice(0..3), noise(1 << 20).slice(9..20)]);
    });
}

#[test]
fn read_goes_on_at_the_replica_behind_the_bytes_that_it_has() {
    let two = Two::start();
    let bytes = noise(48 << 20);
    put(&two.one.store, "a", &bytes);
    wait(two.replicate());
    let (mut one, _other, store) = two.into_store();
    wait(async {
        list(&store).await.unwrap();
        let mut stream = store.get(&Path::from("c/a")).await.unwrap().into_stream();
        let mut all = stream.next().await.unwrap().unwrap().to_vec();
        assert!(all.len() < bytes.len());
        tokio::task::spawn_blocking(move || one.served.stop()).await.unwrap();
        while let Some(part) = stream.try_next().await.unwrap() {
            all.extend_from_slice(&part);
        }
        assert!(all == bytes);
    });
}

#[test]
fn replica_with_other_bytes_is_not_read() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    put(&two.one.store, "b", b"abc");
    wait(two.replicate());
    let (mut one, other, store) = two.into_store();
    wait(async { drop(list(&store).await.unwrap()) });
    // Of the same length.
    put(&other.store, "a", b"abd");
    one.served.stop();
    wait(async {
        let said = reason(&store.get(&Path::from("c/a")).await.unwrap_err());
        assert!(said.contains("has other bytes of a"), "{said}");
        assert!(said.contains("drive://127.0.0.1:"), "{said}");
        assert_eq!(store.get(&Path::from("c/b")).await.unwrap().bytes().await.unwrap(), "abc");
        let said = reason(&list(&store).await.unwrap_err());
        assert!(said.contains("has other bytes of a"), "{said}");
    });
    other.store.remove(&object("a"), Condition::Always).unwrap();
    wait(async {
        reason(&list(&store).await.unwrap_err());
        let said = reason(&store.head(&Path::from("c/a")).await.unwrap_err());
        assert!(said.contains("not found"), "{said}");
    });
}

#[test]
fn object_without_a_hash_and_another_version_are_not_read_from_the_replica() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    put(&two.one.store, "b", b"abc");
    two.one.store.append(&object("a"), b"d", Condition::Always).unwrap();
    assert_eq!(wait(two.replicate()).without_hash, 1);
    let (mut one, _other, store) = two.into_store();
    let (b, before) = (Path::from("c/b"), wait(async { store.head(&Path::from("c/b")).await }));
    put(&one.store, "b", b"abc");
    wait(async { drop(list(&store).await.unwrap()) });
    one.served.stop();
    wait(async {
        let said = reason(&store.get(&Path::from("c/a")).await.unwrap_err());
        assert!(said.contains("has other bytes of a"), "{said}");
        let options = GetOptions::new().with_if_match(before.unwrap().e_tag);
        let said = reason(&store.get_opts(&b, options).await.unwrap_err());
        assert!(said.contains("was not seen in this version"), "{said}");
        assert!(store.get(&b).await.is_ok());
    });
}

#[test]
fn server_that_is_there_is_asked_and_what_it_says_counts() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    wait(two.replicate());
    let (one, _other, store) = two.into_store();
    wait(async { drop(list(&store).await.unwrap()) });
    one.store.remove(&object("a"), Condition::Always).unwrap();
    wait(async {
        let error = store.get(&Path::from("c/a")).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
        assert!(list(&store).await.unwrap().is_empty());
    });
}

#[test]
fn replica_that_may_not_be_read_is_not() {
    let mut two = Two::start();
    put(&two.one.store, "a", b"abc");
    wait(two.replicate());
    two.known.denies = true;
    let (mut one, _other, store) = two.into_store();
    wait(async { drop(list(&store).await.unwrap()) });
    one.served.stop();
    wait(async {
        for error in
            [store.get(&Path::from("c/a")).await.unwrap_err(), list(&store).await.unwrap_err()]
        {
            assert!(reason(&error).contains("may not be read"), "{error}");
        }
    });
}

#[test]
fn replica_that_is_not_known_is_said_to_be_so() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    let (mut one, _other, store) = two.into_store();
    wait(async { drop(list(&store).await.unwrap()) });
    one.served.stop();
    wait(async {
        let said = reason(&list(&store).await.unwrap_err());
        assert!(said.contains("not known to have a replica"), "{said}");
    });
}

/// What was seen of a server no longer holds once the store has changed it.
#[rstest]
#[case::by_an_object("new")]
#[case::by_an_object_in_parts("new in parts")]
#[case::by_a_copy("copied")]
#[case::by_a_removal("a")]
fn replica_does_not_stand_in_for_what_was_before_a_change(#[case] changed: &str) {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    put(&two.one.store, "b", b"abc");
    wait(two.replicate());
    let (mut one, _other, store) = two.into_store();
    let location = Path::from("c").join(changed);
    wait(async {
        list(&store).await.unwrap();
        match changed {
            "new" => drop(store.put(&location, "x".into()).await.unwrap()),
            "new in parts" => {
                let mut upload = store.put_multipart(&location).await.unwrap();
                upload.put_part("x".into()).await.unwrap();
                upload.complete().await.unwrap();
            }
            "copied" => store.copy(&Path::from("c/b"), &location).await.unwrap(),
            _ => store.delete(&location).await.unwrap(),
        }
    });
    one.served.stop();
    wait(async {
        let said = reason(&list(&store).await.unwrap_err());
        assert!(said.contains("was not listed before"), "{said}");
        let said = reason(&store.get(&location).await.unwrap_err());
        assert!(said.contains("was not seen"), "{said}");
        assert!(store.get(&Path::from("c/b")).await.is_ok());
    });
}

#[rstest]
#[case::by_a_read(false)]
#[case::by_a_list(true)]
fn replica_does_not_stand_in_for_what_the_server_was_seen_to_lack(#[case] is_listed: bool) {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    put(&two.one.store, "b", b"abc");
    wait(two.replicate());
    let (mut one, _other, store) = two.into_store();
    wait(async { drop(list(&store).await.unwrap()) });
    one.store.remove(&object("a"), Condition::Always).unwrap();
    wait(async {
        match is_listed {
            true => assert_eq!(list(&store).await.unwrap().len(), 1),
            false => assert!(store.head(&Path::from("c/a")).await.is_err()),
        }
    });
    one.served.stop();
    wait(async {
        let said = reason(&store.get(&Path::from("c/a")).await.unwrap_err());
        assert!(said.contains("was not seen"), "{said}");
        assert_eq!(list(&store).await.is_ok(), is_listed);
    });
}

#[test]
fn list_that_is_older_than_an_object_of_it_is_not_used() {
    let two = Two::start();
    put(&two.one.store, "a", b"abc");
    let (mut one, other, store) = {
        wait(two.replicate());
        two.into_store()
    };
    wait(async { drop(list(&store).await.unwrap()) });
    for store in [&one.store, &other.store] {
        put(store, "a", b"abcdef");
    }
    wait(async { drop(store.head(&Path::from("c/a")).await.unwrap()) });
    one.served.stop();
    wait(async {
        let said = reason(&list(&store).await.unwrap_err());
        assert!(said.contains("has other bytes of a"), "{said}");
        assert_eq!(store.get(&Path::from("c/a")).await.unwrap().bytes().await.unwrap(), "abcdef");
    });
}
