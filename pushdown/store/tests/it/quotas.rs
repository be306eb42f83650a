// SPDX-License-Identifier: Apache-2.0
//! Tests partitions, collections, and what they may hold.

use std::fs;

use nearscan_store::{CollectionPath, Condition, Error, Limit, Quota, Store, Usage};
use tempfile::TempDir;

fn store() -> (Store, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Store::open(folder.path()).unwrap(), folder)
}

fn bytes(count: u64) -> Quota {
    Quota { bytes: Some(count), objects: None }
}

#[test]
fn partitions_and_collections_are_made_listed_and_removed() {
    let (store, _folder) = store();
    store.create_partition("logs", bytes(10)).unwrap();
    assert!(matches!(store.create_partition("logs", bytes(1)), Err(Error::Exists { .. })));
    let path = CollectionPath::new("logs", "2026").unwrap();
    store.create_collection(&path, Quota::default()).unwrap();
    assert!(matches!(store.create_collection(&path, bytes(1)), Err(Error::Exists { .. })));
    let missing = CollectionPath::new("none", "2026").unwrap();
    let error = store.create_collection(&missing, bytes(1)).unwrap_err().to_string();
    assert_eq!(error, "partition none not found");

    let names: Vec<String> = store.partitions().unwrap().into_iter().map(|(it, ..)| it).collect();
    assert_eq!(names, ["default", "logs"]);
    assert_eq!(store.collections("default").unwrap(), []);
    let empty = (path.clone(), Quota::default(), Usage::default());
    assert_eq!(store.collections("logs").unwrap(), [empty]);

    let object = path.object("a").unwrap();
    store.put(&object, b"one", Condition::Always).unwrap();
    assert!(matches!(store.remove_partition("logs"), Err(Error::NotEmpty { .. })));
    assert!(matches!(store.remove_collection(&path), Err(Error::NotEmpty { .. })));
    store.remove(&object, Condition::Always).unwrap();
    store.remove_collection(&path).unwrap();
    store.remove_partition("logs").unwrap();
    assert!(matches!(store.remove_partition("logs"), Err(Error::NotFound { .. })));
    let error = store.remove_partition("default").unwrap_err().to_string();
    assert_eq!(error, "the partition default cannot be removed");
    assert!(matches!(store.remove_collection(&path), Err(Error::NotFound { .. })));
    assert!(matches!(store.put(&object, b"", Condition::Always), Err(Error::NotFound { .. })));
}

#[test]
fn quota_of_bytes_refuses_what_is_too_much_and_changes_nothing() {
    let (store, folder) = store();
    store.set_partition_quota("default", bytes(15)).unwrap();
    let [one, two] = ["one", "two"].map(|name| CollectionPath::in_default(name).unwrap());
    store.create_collection(&one, bytes(10)).unwrap();
    store.create_collection(&two, Quota::default()).unwrap();
    let [a, b] = [one.object("a").unwrap(), two.object("b").unwrap()];
    store.put(&a, &[1; 10], Condition::Always).unwrap();
    // The object that is replaced does not count.
    store.put(&a, &[2; 10], Condition::Always).unwrap();
    let error = store.append(&a, &[3], Condition::Always).unwrap_err();
    assert_eq!(error.to_string(), "collection default/one may have 10 bytes, and would have 11");
    assert_eq!(error.hint(), Some("remove objects, or raise the quota"));
    assert_eq!(store.reader(&a).unwrap().read_all().unwrap(), vec![2; 10]);
    // Nothing is written before the quota is checked.
    assert_eq!(fs::metadata(folder.path().join("data/2/2")).unwrap().len(), 10);
    let error = store.put(&b, &[4; 6], Condition::Always).unwrap_err();
    assert_eq!(error.to_string(), "partition default may have 15 bytes, and would have 16");
    store.put(&b, &[4; 5], Condition::Always).unwrap();
    // A writer does not fill the disk with what cannot be committed.
    let mut writer = store.writer(&a, Condition::Always).unwrap();
    writer.write(&[5; 10]).unwrap();
    assert!(matches!(writer.write(&[5]), Err(Error::QuotaExceeded { limit: Limit::Bytes, .. })));
    // What comes behind a write that failed would be at another place.
    let error = writer.write(&[]).unwrap_err();
    assert_eq!(error.to_string(), "an earlier write of object default/one/a failed");
    assert!(matches!(writer.commit(), Err(Error::Abandoned { .. })));
    // A quota below what is there lets it become less.
    store.set_collection_quota(&one, bytes(1)).unwrap();
    store.truncate(&a, 5, Condition::Always).unwrap();
    assert!(matches!(store.append(&a, &[6], Condition::Always), Err(Error::QuotaExceeded { .. })));
    store.set_collection_quota(&one, Quota::default()).unwrap();
    store.append(&a, &[6], Condition::Always).unwrap();
    assert_eq!(store.reader(&a).unwrap().read_all().unwrap(), [2, 2, 2, 2, 2, 6].as_slice());
    let usage: Vec<Usage> =
        store.collections("default").unwrap().into_iter().map(|it| it.2).collect();
    let expected = [Usage { bytes: 6, objects: 1 }, Usage { bytes: 5, objects: 1 }];
    assert_eq!(usage, expected);
}

#[test]
fn quota_of_objects_counts_names() {
    let (store, _folder) = store();
    let path = CollectionPath::in_default("c").unwrap();
    store.create_collection(&path, Quota { bytes: None, objects: Some(1) }).unwrap();
    store.put(&path.object("a").unwrap(), b"", Condition::Always).unwrap();
    store.put(&path.object("a").unwrap(), b"again", Condition::Always).unwrap();
    let error = store.put(&path.object("b").unwrap(), b"", Condition::Always).unwrap_err();
    assert_eq!(error.to_string(), "collection default/c may have 1 objects, and would have 2");
}
