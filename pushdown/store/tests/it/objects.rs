// SPDX-License-Identifier: Apache-2.0
//! Tests what can be done with objects, on a folder of the local file system.

use std::fs::{self, File};

use nearscan_store::{
    Change, ChangeKind, CollectionPath, Condition, Error, ObjectPath, Owner, Quota, Store,
};
use redb::TableDefinition;
use rstest::{fixture, rstest};
use tempfile::TempDir;

struct Stored {
    store: Store,
    folder: TempDir,
}

#[fixture]
fn stored() -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.create_collection(&collection(), Quota::default()).unwrap();
    Stored { store, folder }
}

fn collection() -> CollectionPath {
    CollectionPath::in_default("c").unwrap()
}

fn object(name: &str) -> ObjectPath {
    collection().object(name).unwrap()
}

fn bytes(store: &Store, name: &str) -> Vec<u8> {
    store.reader(&object(name)).unwrap().read_all().unwrap().to_vec()
}

/// The number of files that have bytes of objects.
fn file_count(folder: &TempDir) -> usize {
    let folders = fs::read_dir(folder.path().join("data")).unwrap();
    folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[rstest]
fn object_is_replaced_as_a_whole(stored: Stored) {
    let store = &stored.store;
    let first = store.put(&object("a"), b"one", Condition::Always).unwrap();
    let reader = store.reader(&object("a")).unwrap();
    let mut writer = store.writer(&object("a"), Condition::Always).unwrap();
    writer.write(b"an").unwrap();
    assert_eq!(bytes(store, "a"), b"one");
    writer.write(b"other").unwrap();
    let second = writer.commit().unwrap();
    assert_eq!(bytes(store, "a"), b"another");
    assert_eq!((second.length, second.created_ns), (7, first.created_ns));
    assert!(second.version > first.version);
    // Who has opened the first one still reads it.
    assert_eq!(reader.read_all().unwrap(), &b"one"[..]);
    assert_eq!(reader.info(), &first);
    assert_eq!(file_count(&stored.folder), 1);
}

#[rstest]
fn bytes_are_read_into_memory_of_the_caller(stored: Stored) {
    stored.store.put(&object("a"), b"0123456789", Condition::Always).unwrap();
    let reader = stored.store.reader(&object("a")).unwrap();
    let mut buffer = [b'-'; 4];
    // They were written right now, so they are in the page cache, if the file system tells it.
    let cached = reader.read_cached_into(3, &mut buffer).unwrap();
    assert!([(0, *b"----"), (4, *b"3456")].contains(&(cached, buffer)), "{cached} {buffer:?}");
    reader.read_into(6, &mut buffer).unwrap();
    assert_eq!(&buffer, b"6789");
    for error in
        [reader.read_into(7, &mut buffer), reader.read_cached_into(7, &mut buffer).map(drop)]
    {
        assert!(matches!(error, Err(Error::Range { end: 11, length: 10, .. })), "{error:?}");
    }
    assert_eq!(&buffer, b"6789");
}

#[rstest]
fn writer_that_is_dropped_leaves_nothing(stored: Stored) {
    let mut writer = stored.store.writer(&object("a"), Condition::Always).unwrap();
    writer.write(b"one").unwrap();
    assert_eq!(file_count(&stored.folder), 1);
    drop(writer);
    assert_eq!(file_count(&stored.folder), 0);
    assert!(matches!(stored.store.info(&object("a")), Err(Error::NotFound { .. })));
}

#[rstest]
fn parts_of_an_object_are_changed_and_open_readers_see_the_old_bytes(stored: Stored) {
    let store = &stored.store;
    store.put(&object("a"), b"0123", Condition::Always).unwrap();
    let before = store.reader(&object("a")).unwrap();
    store.append(&object("a"), b"4567", Condition::Always).unwrap();
    let appended = store.reader(&object("a")).unwrap();
    store.truncate(&object("a"), 6, Condition::Always).unwrap();
    let cut = store.reader(&object("a")).unwrap();
    store.append(&object("a"), b"xyz", Condition::Always).unwrap();
    let longer = store.reader(&object("a")).unwrap();
    store.write_at(&object("a"), 1, b"AB", Condition::Always).unwrap();
    store.write_at(&object("a"), 8, b"CD", Condition::Always).unwrap();
    assert_eq!(bytes(store, "a"), b"0AB345xyCD");
    store.write_at(&object("a"), 10, b"!", Condition::Always).unwrap();
    assert_eq!(bytes(store, "a"), b"0AB345xyCD!");
    for (reader, expected) in
        [(before, "0123"), (appended, "01234567"), (cut, "012345"), (longer, "012345xyz")]
    {
        assert_eq!(reader.read_all().unwrap(), expected.as_bytes());
    }
    assert_eq!(file_count(&stored.folder), 1);
}

#[rstest]
fn ranges_are_read_and_those_beyond_the_end_are_errors(stored: Stored) {
    let store = &stored.store;
    store.put(&object("a"), b"0123456789", Condition::Always).unwrap();
    let reader = store.reader(&object("a")).unwrap();
    assert_eq!(reader.read(3..6).unwrap(), &b"345"[..]);
    assert_eq!(reader.read(10..10).unwrap(), &b""[..]);
    let error = reader.read(8..11).unwrap_err().to_string();
    assert_eq!(error, "byte 11 is beyond the 10 bytes of object default/c/a");
    assert!(matches!(
        store.write_at(&object("a"), 11, b"x", Condition::Always),
        Err(Error::Range { .. })
    ));
    assert!(matches!(
        store.truncate(&object("a"), 11, Condition::Always),
        Err(Error::Range { .. })
    ));
    assert_eq!(bytes(store, "a"), b"0123456789");
}

#[rstest]
fn conditions_are_checked_when_a_change_is_made(stored: Stored) {
    let store = &stored.store;
    let path = object("a");
    let first = store.put(&path, b"one", Condition::Absent).unwrap();
    assert!(matches!(store.put(&path, b"two", Condition::Absent), Err(Error::Exists { .. })));
    // Two writers have seen the same version: the first one to commit wins.
    let condition = Condition::Version(first.version);
    let (mut one, mut other) =
        (store.writer(&path, condition).unwrap(), store.writer(&path, condition).unwrap());
    one.write(b"two").unwrap();
    other.write(b"three").unwrap();
    one.commit().unwrap();
    let error = other.commit().unwrap_err();
    assert!(matches!(error, Error::Conflict { expected, .. } if expected == first.version));
    assert_eq!(error.hint(), Some("read the object again, and repeat the change"));
    assert!(matches!(store.remove(&path, condition), Err(Error::Conflict { .. })));
    assert_eq!(bytes(store, "a"), b"two");
    assert_eq!(file_count(&stored.folder), 1);
}

#[rstest]
fn listing_has_a_prefix_an_order_and_pages(stored: Stored) {
    let store = &stored.store;
    let other = CollectionPath::in_default("d").unwrap();
    store.create_collection(&other, Quota::default()).unwrap();
    store.put(&other.object("p/z").unwrap(), b"", Condition::Always).unwrap();
    for name in ["p/b", "q", "p/a", "o", "p/a/c", "p"] {
        store.put(&object(name), name.as_bytes(), Condition::Always).unwrap();
    }
    let names = |prefix: &str, after: Option<&str>, limit: usize| -> Vec<String> {
        let found = store.list(&collection(), prefix, after, limit).unwrap();
        found.into_iter().map(|info| info.path.name().to_owned()).collect()
    };
    assert_eq!(names("", None, 100), ["o", "p", "p/a", "p/a/c", "p/b", "q"]);
    assert_eq!(names("p/", None, 2), ["p/a", "p/a/c"]);
    assert_eq!(names("p/", Some("p/a/c"), 2), ["p/b"]);
    assert_eq!(names("p/", Some("a"), 1), ["p/a"]);
    assert_eq!(names("x", None, 100), [""; 0]);
    let missing = CollectionPath::in_default("e").unwrap();
    let error = store.list(&missing, "", None, 1).unwrap_err().to_string();
    assert_eq!(error, "collection default/e not found");
}

#[rstest]
fn attributes_stay_when_bytes_are_replaced_and_go_with_the_object(stored: Stored) {
    let store = &stored.store;
    let path = object("a");
    // The name of a neighbour that must keep its own.
    let neighbour = object("a0");
    store.put(&neighbour, b"", Condition::Always).unwrap();
    store.set_attribute(&neighbour, "x", b"of the neighbour").unwrap();
    let mut writer = store.writer(&path, Condition::Always).unwrap();
    writer.attribute("type", b"csv").unwrap();
    let version = writer.commit().unwrap().version;
    store.set_attribute(&path, "rows", b"10").unwrap();
    assert_eq!(store.info(&path).unwrap().version, version);
    store.put(&path, b"new", Condition::Always).unwrap();
    let attributes = store.attributes(&path).unwrap();
    let expected = [("rows", &b"10"[..]), ("type", b"csv")];
    assert!(attributes.iter().map(|(name, value)| (name.as_str(), &value[..])).eq(expected));
    store.remove_attribute(&path, "rows").unwrap();
    assert!(matches!(store.remove_attribute(&path, "rows"), Err(Error::NotFound { .. })));
    store.remove(&path, Condition::Always).unwrap();
    assert!(matches!(store.attributes(&path), Err(Error::NotFound { .. })));
    store.put(&path, b"", Condition::Absent).unwrap();
    assert!(store.attributes(&path).unwrap().is_empty());
    assert_eq!(store.attributes(&neighbour).unwrap().len(), 1);
}

#[rstest]
#[case("", 1, "it is empty")]
#[case("a\tb", 1, "it has a control character")]
#[case("a", 65_537, "the limit is 65536")]
fn attribute_that_is_not_allowed_is_an_error(
    stored: Stored,
    #[case] name: &str,
    #[case] length: usize,
    #[case] reason: &str,
) {
    stored.store.put(&object("a"), b"", Condition::Always).unwrap();
    let error = stored.store.set_attribute(&object("a"), name, &vec![0; length]).unwrap_err();
    assert!(error.to_string().contains(reason), "{error}");
}

#[rstest]
fn log_has_an_entry_for_each_change_until_it_is_forgotten(stored: Stored) {
    let store = &stored.store;
    let info = store.put(&object("a"), b"one", Condition::Always).unwrap();
    store.append(&object("a"), b"two", Condition::Always).unwrap();
    store.set_attribute(&object("a"), "x", b"").unwrap();
    store.remove(&object("a"), Condition::Always).unwrap();
    let changes = store.changes(0, 100).unwrap();
    assert_eq!(store.last_change().unwrap(), changes[3].sequence);
    let kinds: Vec<ChangeKind> = changes.iter().map(|change| change.kind).collect();
    use ChangeKind as K;
    assert_eq!(kinds, [K::Created, K::Written, K::AttributesChanged, K::Removed]);
    assert_eq!(changes[0].sequence, info.version);
    assert!(changes.iter().all(|change| change.path == object("a")));
    assert_eq!(store.changes(changes[1].sequence, 1).unwrap(), changes[2..3]);
    store.forget_changes(changes[2].sequence).unwrap();
    assert_eq!(store.changes(changes[2].sequence, 100).unwrap(), changes[3..]);
    // Who has read fewer is told so.
    let error = store.changes(changes[1].sequence, 100).unwrap_err();
    assert!(matches!(error, Error::Forgotten { after: 2, forgotten: 3 }), "{error:?}");
    // Numbers go on.
    store.put(&object("a"), b"", Condition::Always).unwrap();
    let last: Vec<Change> = store.changes(changes[3].sequence, 100).unwrap();
    assert_eq!(last.len(), 1);
}

#[rstest]
fn store_that_is_opened_again_has_all_it_had(stored: Stored) {
    let Stored { store, folder } = stored;
    store.put(&object("a"), b"one", Condition::Always).unwrap();
    store.put(&object("b"), b"two", Condition::Always).unwrap();
    store.set_attribute(&object("b"), "x", b"y").unwrap();
    let before = store.list(&collection(), "", None, 10).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(Error::Locked)));
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.list(&collection(), "", None, 10).unwrap(), before);
    assert_eq!(bytes(&store, "b"), b"two");
    assert_eq!(&store.attributes(&object("b")).unwrap()["x"][..], b"y");
}

#[rstest]
#[case::missing(None, "data/2/2 is missing")]
#[case::too_short(Some(2), "data/2/2 is too short")]
fn damaged_object_is_reported_and_others_are_read(
    stored: Stored,
    #[case] length: Option<u64>,
    #[case] reason: &str,
) {
    let Stored { store, folder } = stored;
    store.put(&object("a"), b"one", Condition::Always).unwrap();
    store.put(&object("b"), b"two", Condition::Always).unwrap();
    drop(store);
    let file = folder.path().join("data/2/2");
    match length {
        None => fs::remove_file(file).unwrap(),
        Some(length) => File::options().write(true).open(file).unwrap().set_len(length).unwrap(),
    }
    // Nothing is removed from a damaged store, because its catalog may be an older one.
    let newer = folder.path().join("data/9/9");
    fs::write(&newer, b"of a newer catalog").unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.damaged(), [object("b")]);
    let error = store.reader(&object("b")).unwrap_err().to_string();
    assert_eq!(error, format!("the store is damaged: {reason}"));
    let error = store.append(&object("b"), b"!", Condition::Always).unwrap_err().to_string();
    assert_eq!(error, format!("the store is damaged: {reason}"));
    assert_eq!(bytes(&store, "a"), b"one");
    assert!(newer.exists());
    store.put(&object("b"), b"new", Condition::Always).unwrap();
    assert_eq!(bytes(&store, "b"), b"new");
    drop(store);
    assert_eq!(Store::open(folder.path()).unwrap().damaged(), []);
    assert!(!newer.exists());
}

#[rstest]
fn store_whose_catalog_is_gone_is_not_opened_and_keeps_its_files(stored: Stored) {
    let Stored { store, folder } = stored;
    store.put(&object("a"), b"one", Condition::Always).unwrap();
    drop(store);
    fs::remove_file(folder.path().join("catalog")).unwrap();
    let error = Store::open(folder.path()).unwrap_err().to_string();
    assert_eq!(error, "the store is damaged: there are files of objects, and no catalog");
    assert_eq!(file_count(&folder), 1);
}

#[test]
fn files_of_others_in_the_folder_stay() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = ["data/photo.jpg", "data/1/photo.jpg", "data/1/01", "data/2/1", "data/1/x"];
    fs::create_dir_all(folder.path().join("data/1")).unwrap();
    fs::create_dir_all(folder.path().join("data/2")).unwrap();
    for name in foreign {
        fs::write(folder.path().join(name), b"").unwrap();
    }
    drop(Store::open(folder.path()).unwrap());
    assert!(foreign.iter().all(|name| folder.path().join(name).exists()));
}

#[rstest]
fn store_stays_open_as_long_as_a_reader(stored: Stored) {
    let Stored { store, folder } = stored;
    store.put(&object("a"), b"0123", Condition::Always).unwrap();
    let reader = store.reader(&object("a")).unwrap();
    drop(store);
    assert!(matches!(Store::open(folder.path()), Err(Error::Locked)));
    assert_eq!(reader.read_all().unwrap(), &b"0123"[..]);
    drop(reader);
    Store::open(folder.path()).unwrap();
}

#[rstest]
fn object_of_several_pieces_is_copied_as_a_whole(stored: Stored) {
    let store = &stored.store;
    let mut expected: Vec<u8> = b"some bytes that repeat ".repeat(150_000);
    store.put(&object("a"), &expected, Condition::Always).unwrap();
    store.write_at(&object("a"), 2_000_000, b"new", Condition::Always).unwrap();
    expected[2_000_000..2_000_003].copy_from_slice(b"new");
    assert!(bytes(store, "a") == expected);
    store.truncate(&object("a"), 3_000_000, Condition::Always).unwrap();
    assert!(bytes(store, "a") == expected[..3_000_000]);
}

#[rstest]
fn partitions_and_collections_have_attributes_of_their_own(stored: Stored) {
    let store = &stored.store;
    store.put(&object("a"), b"", Condition::Always).unwrap();
    let partition = Owner::Partition("default");
    store.set_attribute(partition, "x", b"1").unwrap();
    store.set_attribute(&collection(), "x", b"2").unwrap();
    store.set_attribute(&object("a"), "x", b"3").unwrap();
    let value = |of: Owner<'_>| store.attributes(of).unwrap()["x"].clone();
    assert_eq!(value(partition), &b"1"[..]);
    assert_eq!(value((&collection()).into()), &b"2"[..]);
    assert_eq!(value((&object("a")).into()), &b"3"[..]);
    store.remove(&object("a"), Condition::Always).unwrap();
    store.remove_collection(&collection()).unwrap();
    store.create_collection(&collection(), Quota::default()).unwrap();
    assert!(store.attributes(&collection()).unwrap().is_empty());
    assert_eq!(value(partition), &b"1"[..]);
    let missing = store.set_attribute(Owner::Partition("none"), "x", b"").unwrap_err();
    assert_eq!(missing.to_string(), "partition none not found");
}

#[rstest]
fn object_has_at_most_a_hundred_attributes(stored: Stored) {
    let store = &stored.store;
    store.put(&object("a"), b"", Condition::Always).unwrap();
    for number in 0..100 {
        store.set_attribute(&object("a"), &format!("a{number}"), b"").unwrap();
    }
    store.set_attribute(&object("a"), "a0", b"another value").unwrap();
    let error = store.set_attribute(&object("a"), "b", b"").unwrap_err().to_string();
    assert_eq!(error, "object default/c/a has 100 attributes, which is the limit");
    assert_eq!(store.attributes(&object("a")).unwrap().len(), 100);
}

/// Its hash as text; of an object that has none, nothing.
fn hash(store: &Store, name: &str) -> Option<String> {
    store.info(&object(name)).unwrap().hash.map(|hash| hash.to_string())
}

/// As `xxh128sum` prints it.
const HASH_OF_ABC: &str = "06b05ab6733a618578af5f94892f3950";
const HASH_OF_NOTHING: &str = "99aa06d3014798d86001c324468d497f";

#[rstest]
fn hash_is_that_of_all_bytes_however_they_were_written(stored: Stored) {
    let store = &stored.store;
    let mut writer = store.writer(&object("a"), Condition::Always).unwrap();
    writer.write(b"a").unwrap();
    writer.write(b"bc").unwrap();
    let committed = writer.commit().unwrap();
    assert_eq!(committed.hash.unwrap().to_string(), HASH_OF_ABC);
    store.put(&object("b"), b"", Condition::Always).unwrap();
    assert_eq!(hash(store, "b").as_deref(), Some(HASH_OF_NOTHING));
    let listed = store.list(&collection(), "", None, 9).unwrap();
    assert_eq!(listed[0], committed);
    assert_eq!(store.reader(&object("a")).unwrap().info(), &committed);
    assert_eq!(store.local_file(&object("a")).unwrap().info, committed);
}

#[rstest]
fn object_that_was_changed_in_part_has_no_hash_until_it_is_written_anew(stored: Stored) {
    let store = &stored.store;
    let changes: [fn(&Store); 3] = [
        |store| drop(store.append(&object("a"), b"d", Condition::Always).unwrap()),
        |store| drop(store.write_at(&object("a"), 1, b"x", Condition::Always).unwrap()),
        |store| drop(store.truncate(&object("a"), 1, Condition::Always).unwrap()),
    ];
    for change in changes {
        store.put(&object("a"), b"abc", Condition::Always).unwrap();
        assert_eq!(hash(store, "a").as_deref(), Some(HASH_OF_ABC));
        change(store);
        assert_eq!(hash(store, "a"), None);
    }
    store.remove(&object("a"), Condition::Always).unwrap();
    store.put(&object("a"), b"", Condition::Always).unwrap();
    assert_eq!(hash(store, "a").as_deref(), Some(HASH_OF_NOTHING));
}

const HASHES: TableDefinition<'_, (&str, &str, &str), (u64, u128)> = TableDefinition::new("hashes");

/// Closes a store, changes its catalog as another program would, and opens it again.
fn after(stored: Stored, change: impl FnOnce(&redb::WriteTransaction)) -> Stored {
    let Stored { store, folder } = stored;
    drop(store);
    let database = redb::Database::open(folder.path().join("catalog")).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    drop(database);
    Stored { store: Store::open(folder.path()).unwrap(), folder }
}

#[rstest]
fn store_of_a_program_without_hashes_is_opened_and_gets_them(stored: Stored) {
    stored.store.put(&object("a"), b"abc", Condition::Always).unwrap();
    let stored = after(stored, |catalog| assert!(catalog.delete_table(HASHES).unwrap()));
    let store = &stored.store;
    assert_eq!(hash(store, "a"), None);
    assert_eq!(store.list(&collection(), "", None, 9).unwrap()[0].hash, None);
    assert_eq!(bytes(store, "a"), b"abc");
    store.put(&object("b"), b"abc", Condition::Always).unwrap();
    assert_eq!(hash(store, "b").as_deref(), Some(HASH_OF_ABC));
}

/// A program without hashes leaves the row of the version before.
#[rstest]
fn hash_of_another_version_is_none(stored: Stored) {
    let version = stored.store.put(&object("a"), b"abc", Condition::Always).unwrap().version;
    let stored = after(stored, |catalog| {
        let mut hashes = catalog.open_table(HASHES).unwrap();
        hashes.insert(("default", "c", "a"), (version - 1, 7)).unwrap();
    });
    assert_eq!(hash(&stored.store, "a"), None);
}
