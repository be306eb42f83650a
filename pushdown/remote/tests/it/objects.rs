// SPDX-License-Identifier: Apache-2.0
//! Tests the objects of a server: as clients see them, and as an object store.

use std::{ops::Range, sync::Arc, time::Duration};

use arrow_array::cast::AsArray;
use arrow_flight::{FlightClient, Ticket};
use bytes::Bytes;
use futures::TryStreamExt;
use nearscan_command::InputRef;
use nearscan_conformance::sample::{Sample, session};
use nearscan_cpu::CpuDrive;
use nearscan_drive::{Drive, Failure, FileRef, Outcome, Placement};
use nearscan_emulator::{Config, Emulator};
use nearscan_remote::{More, ObjectErrorKind, RemoteDrive, RemoteStore, ServerOptions};
use nearscan_store::{CollectionPath, Condition, ObjectPath, Quota, Store};
use object_store::{
    Error, GetOptions, ObjectStore, ObjectStoreExt, integration, path::Path, prefix::PrefixStore,
};
use rstest::rstest;
use tonic::transport::Endpoint;

use crate::{
    bench::{Place, Served, Way, eventually, is_empty, numbered, options, run, wait},
    in_store::Counted,
};

/// A server of a new store, with a CPU drive.
pub(crate) struct WithObjects {
    pub(crate) served: Served,
    pub(crate) store: Store,
}

impl WithObjects {
    pub(crate) fn start(way: Way) -> Self {
        Self::with(way, ServerOptions::default())
    }

    pub(crate) fn with(way: Way, options: ServerOptions) -> Self {
        let place = Place::new(way);
        let store = Store::open(&place.folder.path().join("store")).unwrap();
        let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
        let options = ServerOptions { store: Some(store.clone()), ..options };
        Self { served: Served::with(Arc::new(drive), place, options), store }
    }

    pub(crate) fn connect(&self) -> RemoteDrive {
        RemoteDrive::connect(&self.served.address, options()).unwrap()
    }
}

pub(crate) fn object(name: &str) -> ObjectPath {
    CollectionPath::in_default("c").unwrap().object(name).unwrap()
}

/// Bytes that differ everywhere.
pub(crate) fn noise(length: usize) -> Bytes {
    (0..length).map(|at| u8::try_from((at * 31 + at / 251) % 256).unwrap()).collect()
}

pub(crate) async fn read_all(drive: &RemoteDrive, path: &ObjectPath) -> Bytes {
    let mut reading = drive.objects().read(path, None, &[]).await.unwrap();
    let mut all = Vec::new();
    while let Some(part) = reading.next().await.unwrap() {
        all.extend_from_slice(&part);
    }
    all.into()
}

#[rstest]
#[case(Way::Tcp, 0)]
#[case(Way::Tcp, 5)]
#[case(Way::Unix, (3 << 20) + 17)]
fn object_is_read_as_it_was_put(#[case] way: Way, #[case] length: usize) {
    let server = WithObjects::start(way);
    let drive = server.connect();
    let bytes = noise(length);
    wait(async {
        let objects = drive.objects();
        let info = objects.put(&object("a/b"), bytes.clone(), Condition::Absent).await.unwrap();
        assert_eq!(info.length, length as u64);
        assert_eq!(objects.info(&object("a/b")).await.unwrap(), info);
        assert!(info.hash.is_some());
        let (listed, _) = objects.list(object("a").collection(), "", None).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&info));
        assert_eq!(objects.read(&object("a/b"), None, &[]).await.unwrap().info(), &info);
        assert!(read_all(&drive, &object("a/b")).await == bytes);
    });
    assert!(server.store.reader(&object("a/b")).unwrap().read_all().unwrap() == bytes);
}

/// Clients of other libraries collect each message before they decode it.
#[test]
fn object_is_read_by_any_client_of_flight() {
    let server = WithObjects::start(Way::Tcp);
    let bytes = noise((1 << 20) + 3);
    server.store.create_collection(object("a").collection(), Quota::default()).unwrap();
    server.store.put(&object("a"), &bytes, Condition::Always).unwrap();
    wait(async {
        let uri = format!("http://{}", server.served.address);
        let channel = Endpoint::from_shared(uri).unwrap().connect().await.unwrap();
        let mut client = FlightClient::new(channel);
        // The name is field 1 of a ticket: collection (2) and name (3).
        let ticket = Ticket::new(b"\x0a\x06\x12\x01c\x1a\x01a".to_vec());
        let batches: Vec<_> = client.do_get(ticket).await.unwrap().try_collect().await.unwrap();
        let mut all = Vec::new();
        for batch in batches {
            all.extend_from_slice(batch.column(0).as_binary::<i32>().value(0));
        }
        assert!(all == bytes);
        let ticket = Ticket::new(b"\x0a\x06\x12\x01c\x1a\x01b".to_vec());
        let Err(error) = client.do_get(ticket).await else { panic!("there is no object b") };
        assert!(error.to_string().contains("c/b"), "{error}");
    });
}

#[test]
fn ranges_follow_each_other_and_end_within_the_object() {
    let server = WithObjects::start(Way::Tcp);
    let drive = server.connect();
    let bytes = noise(3 << 20);
    wait(async {
        let objects = drive.objects();
        let path = object("r");
        let info = objects.put(&path, bytes.clone(), Condition::Always).await.unwrap();
        let ranges = [10..20, 0..0, 5..(2 << 20) + 5, info.length - 1..info.length];
        let mut reading = objects.read(&path, Some(info.version), &ranges).await.unwrap();
        let mut all = Vec::new();
        while let Some(part) = reading.next().await.unwrap() {
            all.extend_from_slice(&part);
        }
        let place = |at: u64| usize::try_from(at).unwrap();
        let part = |range: &Range<u64>| bytes.slice(place(range.start)..place(range.end));
        let expected: Vec<u8> = ranges.iter().flat_map(part).collect();
        assert!(all == expected);
        let all_and_one = [5..6, 0..info.length + 1];
        let behind = objects.read(&path, None, &all_and_one).await.unwrap_err();
        assert_eq!(behind.kind, ObjectErrorKind::Range);
        let other = objects.read(&path, Some(info.version + 1), &[]).await.unwrap_err();
        assert_eq!(other.kind, ObjectErrorKind::Conflict);
    });
}

#[test]
fn changes_hold_to_their_conditions_and_are_listed() {
    let server = WithObjects::start(Way::Unix);
    let drive = server.connect();
    wait(async {
        let objects = drive.objects();
        let path = object("a");
        let put = |bytes: &'static [u8], condition| {
            objects.put(&path, Bytes::from_static(bytes), condition)
        };
        let first = put(b"one", Condition::Absent).await.unwrap();
        let kind = |error: nearscan_remote::ObjectError| error.kind;
        assert_eq!(kind(put(b"x", Condition::Absent).await.unwrap_err()), ObjectErrorKind::Exists);
        let stale = Condition::Version(first.version + 1);
        assert_eq!(kind(put(b"x", stale).await.unwrap_err()), ObjectErrorKind::Conflict);
        let now = Condition::Version(first.version);
        let second = objects.append(&path, noise(4 << 20), now).await.unwrap();
        assert_eq!(second.length, 3 + (4 << 20));
        objects.write_at(&path, 1, Bytes::from_static(b"NE"), Condition::Always).await.unwrap();
        let cut = objects.truncate(&path, 4, Condition::Always).await.unwrap();
        assert_eq!(cut.hash, None);
        assert_eq!(read_all(&drive, &path).await, [&b"oNE"[..], &noise(1)].concat());
        objects.set_attribute(&path, "owner", Some(Bytes::from_static(b"me"))).await.unwrap();
        assert_eq!(objects.attributes(&path).await.unwrap()["owner"], b"me");
        objects.set_attribute(&path, "owner", None).await.unwrap();
        assert!(objects.attributes(&path).await.unwrap().is_empty());
        objects.copy(&path, &object("b"), Condition::Absent).await.unwrap();
        assert_eq!(read_all(&drive, &object("b")).await, read_all(&drive, &path).await);
        objects.remove(&path, Condition::Always).await.unwrap();
        assert_eq!(kind(objects.info(&path).await.unwrap_err()), ObjectErrorKind::NotFound);
        let (changes, last) = objects.changes(0).await.unwrap();
        assert_eq!(changes.last().unwrap().sequence, last);
        assert_eq!(changes, server.store.changes(0, 1000).unwrap());
    });
}

#[test]
fn list_of_many_objects_goes_on_behind_its_first_page() {
    let server = WithObjects::start(Way::Unix);
    let collection = CollectionPath::in_default("c").unwrap();
    server.store.create_collection(&collection, Quota::default()).unwrap();
    for number in 0..1001 {
        let path = object(&format!("{number:04}"));
        server.store.put(&path, b"", Condition::Always).unwrap();
    }
    let drive = server.connect();
    wait(async {
        let objects = drive.objects();
        let (page, more) = objects.list(&collection, "", None).await.unwrap();
        assert_eq!((page.len(), more), (1000, More::Maybe));
        let last = page.last().unwrap().path.name();
        let (page, more) = objects.list(&collection, "", Some(last)).await.unwrap();
        assert_eq!((page.len(), more), (1, More::No));
        let store = RemoteStore::new("test", objects);
        let listed = store.list(None).try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(listed.len(), 1001);
    });
}

/// They are as many as an object may have, of as many bytes as one may have.
#[test]
fn attributes_that_no_message_has_room_for_come_whole() {
    let server = WithObjects::start(Way::Unix);
    let store = &server.store;
    let collection = CollectionPath::in_default("c").unwrap();
    store.create_collection(&collection, Quota::default()).unwrap();
    store.put(&object("a"), b"", Condition::Always).unwrap();
    for number in 0..100_u8 {
        let value = vec![number; 64 << 10];
        store.set_attribute(&object("a"), &number.to_string(), &value).unwrap();
    }
    let drive = server.connect();
    let found = wait(async { drive.objects().attributes(&object("a")).await.unwrap() });
    assert_eq!(found.len(), 100);
    for (name, value) in found {
        assert!(value == vec![name.parse::<u8>().unwrap(); 64 << 10], "{name}");
    }
}

#[test]
fn upload_that_is_dropped_puts_nothing() {
    let server = WithObjects::start(Way::Tcp);
    let data = server.served.place.folder.path().join("store/data");
    let folders = || std::fs::read_dir(&data).unwrap().map(|folder| folder.unwrap().path());
    let has_no_file = || folders().all(|folder| is_empty(&folder));
    let drive = server.connect();
    wait(async {
        let objects = drive.objects();
        let path = object("half");
        let mut upload = objects.upload(&path, Condition::Always, Default::default()).unwrap();
        upload.send(noise(2 << 20)).await.unwrap();
        // The server begins a file.
        while has_no_file() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(upload);
    });
    eventually("the file is removed", has_no_file);
    let found = server.store.info(&object("half"));
    assert!(matches!(found, Err(nearscan_store::Error::NotFound { .. })), "{found:?}");
}

#[test]
fn quota_refuses_an_upload_before_its_end() {
    let server = WithObjects::start(Way::Tcp);
    let collection = CollectionPath::in_default("c").unwrap();
    let quota = Quota { bytes: Some(1 << 20), objects: None };
    server.store.create_collection(&collection, quota).unwrap();
    let drive = server.connect();
    let error = wait(async {
        let (objects, path) = (drive.objects(), object("large"));
        objects.put(&path, noise(64 << 20), Condition::Always).await.unwrap_err()
    });
    assert_eq!(error.kind, ObjectErrorKind::Exhausted, "{error}");
    assert!(error.reason.contains("remove objects, or raise the quota"), "{error}");
}

#[test]
fn server_without_a_store_says_so() {
    let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
    let served = Served::start(Arc::new(drive), Way::Unix);
    let drive = served.connect();
    let error = wait(async { drive.objects().info(&object("a")).await.unwrap_err() });
    assert_eq!(error.kind, ObjectErrorKind::NoObjects);
}

/// The object of a name, as a file of the drive's server.
pub(crate) fn file_of(drive: &RemoteDrive, served: &Served, name: &str) -> FileRef {
    let info = wait(async { drive.objects().info(&object(name)).await.unwrap() });
    FileRef {
        server: Some(served.address.to_string().into()),
        path: format!("/c/{name}").into(),
        version: nearscan_command::Version { size_bytes: info.length, stamp: info.version },
    }
}

#[test]
fn drive_holds_the_objects_of_its_server_as_they_are_now() {
    let server = WithObjects::start(Way::Tcp);
    let drive = server.connect();
    let put =
        || wait(async { drive.objects().put(&object("t"), noise(9), Condition::Always).await });
    put().unwrap();
    let file = file_of(&drive, &server.served, "t");
    assert!(matches!(drive.locate(&file), Placement::Here { .. }));
    let not_here = |file: &FileRef, why: &str| match drive.locate(file) {
        Placement::NotHere { reason } => assert!(reason.contains(why), "{reason}"),
        Placement::Here { .. } => panic!("it is there"),
    };
    put().unwrap();
    let fresh = server.connect();
    let placement = fresh.locate(&file);
    assert!(
        matches!(&placement, Placement::NotHere { reason } if reason.contains("has changed")),
        "{placement:?}"
    );
    not_here(&FileRef { path: "/c/none".into(), ..file.clone() }, "not found");
    let other: Option<Arc<str>> = Some("elsewhere:1".into());
    not_here(&FileRef { server: other, ..file }, "another server");
    // Files of the server are no one's business.
    let sample = Sample::common(10);
    not_here(&sample.file(), "no files");
}

/// A server of an emulated drive with these faults, and the object `c/sample` of its store.
pub(crate) struct WithSample {
    drive: Arc<Counted>,
    pub(crate) served: Served,
    store: Store,
    sample: Sample,
}

impl WithSample {
    fn start(faults: &str) -> Self {
        Self::with(("faults", faults), |_| ServerOptions::default())
    }

    /// A server of a drive with a parameter, and other options for its store.
    pub(crate) fn with(
        parameter: (&str, &str),
        options: impl FnOnce(&Store) -> ServerOptions,
    ) -> Self {
        let place = Place::new(Way::Tcp);
        let store = Store::open(&place.folder.path().join("store")).unwrap();
        let collection = CollectionPath::in_default("c").unwrap();
        store.create_collection(&collection, Quota::default()).unwrap();
        let drive = Counted::new(Emulator::open(Config::from_parameters([parameter]).unwrap()));
        let options = ServerOptions { store: Some(store.clone()), ..options(&store) };
        let served = Served::with(Arc::<Counted>::clone(&drive), place, options);
        let with_sample = Self { drive, served, store, sample: Sample::common(100) };
        with_sample.put();
        with_sample
    }

    /// Puts the object, again with another version.
    fn put(&self) {
        let bytes = std::fs::read(self.sample.file().path).unwrap();
        self.store.put(&object("sample"), &bytes, Condition::Always).unwrap();
    }

    /// The sum of the sample as the object that `file` is.
    pub(crate) fn run(&self, drive: &RemoteDrive, file: &FileRef) -> Outcome {
        let Placement::Here { file_id: placed } = drive.locate(file) else { panic!("{file}") };
        let session = session(drive);
        let mut command = self.sample.sum(&*self.drive.drive, numbered(&*session));
        for input in &mut command.unit.inputs {
            if let InputRef::FileRange { file_id, version, .. } = input {
                (*file_id, *version) = (placed, file.version);
            }
        }
        run(&*session, &command).outcome
    }
}

#[test]
fn client_asks_again_where_an_object_is_once_a_command_could_not_read_it() {
    let server = WithSample::start("read_error@0");
    let drive = server.served.connect();
    let file = file_of(&drive, &server.served, "sample");
    let failed = server.run(&drive, &file);
    assert!(matches!(failed, Outcome::Failed(Failure::Read { .. })), "{failed:?}");
    for _ in 0..2 {
        assert!(matches!(server.run(&drive, &file), Outcome::Finished(_)));
    }
    assert_eq!(server.drive.located(), 2, "once again after the failure, and not after that");
}

#[test]
fn object_that_was_replaced_is_stale_by_its_name_and_then_not_there() {
    let server = WithSample::start("");
    let drive = server.served.connect();
    let file = file_of(&drive, &server.served, "sample");
    assert!(matches!(server.run(&drive, &file), Outcome::Finished(_)));
    server.put();
    // Only the server knows: the client remembers where the version was.
    let path = "object default/c/sample".to_owned();
    match server.run(&drive, &file) {
        Outcome::Failed(Failure::Stale { path: named } | Failure::Read { path: named, .. }) => {
            assert_eq!(named, path);
        }
        outcome => panic!("{outcome:?}"),
    }
    let placement = drive.locate(&file);
    assert!(
        matches!(&placement, Placement::NotHere { reason } if reason.contains("has changed")),
        "{placement:?}"
    );
}

/// The drive holds the files of another folder only.
#[test]
fn reason_why_a_drive_does_not_hold_an_object_names_no_file_of_the_server() {
    let place = Place::new(Way::Tcp);
    let (elsewhere, root) = (tempfile::tempdir().unwrap(), place.folder.path().join("store"));
    let store = Store::open(&root).unwrap();
    let collection = CollectionPath::in_default("c").unwrap();
    store.create_collection(&collection, Quota::default()).unwrap();
    store.put(&object("t"), b"bytes", Condition::Always).unwrap();
    let folder = elsewhere.path().display().to_string();
    let emulator = Emulator::open(Config::from_parameters([("root", &*folder)]).unwrap());
    let options = ServerOptions { store: Some(store), ..ServerOptions::default() };
    let served = Served::with(Arc::new(emulator), place, options);
    let drive = served.connect();
    match drive.locate(&file_of(&drive, &served, "t")) {
        Placement::NotHere { reason } => {
            assert!(reason.contains("object default/c/t"), "{reason}");
            for secret in [folder, root.display().to_string()] {
                assert!(!reason.contains(&secret), "{reason}");
            }
        }
        Placement::Here { .. } => panic!("it is there"),
    }
}

/// Runs a test of object stores in a collection of its own.
fn in_collection(test: impl AsyncFn(&PrefixStore<RemoteStore>)) {
    let server = WithObjects::start(Way::Tcp);
    let drive = server.connect();
    wait(async {
        let store = RemoteStore::new("test", drive.objects());
        test(&PrefixStore::new(store, "bucket")).await;
    });
}

#[test]
fn object_store_puts_gets_lists_and_deletes_as_others_do() {
    in_collection(async |store| integration::put_get_delete_list(store).await);
    in_collection(async |store| integration::list_uses_directories_correctly(store).await);
    in_collection(async |store| integration::list_with_delimiter(store).await);
    in_collection(async |store| integration::list_with_offset_exclusivity(store).await);
    in_collection(async |store| {
        let missing = integration::get_nonexistent_object(store, None).await.unwrap_err();
        assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    });
}

#[test]
fn object_store_has_the_conditions_of_others() {
    in_collection(async |store| integration::get_opts(store).await);
    in_collection(async |store| integration::put_opts(store, true).await);
    in_collection(async |store| integration::copy_if_not_exists(store).await);
    in_collection(async |store| integration::copy_rename_nonexistent_object(store).await);
    in_collection(async |store| integration::rename_and_copy(store).await);
}

#[test]
fn object_store_streams_and_uploads_in_parts_as_others_do() {
    in_collection(async |store| integration::stream_get(store).await);
    in_collection(async |store| integration::put_get_attributes(store).await);
    in_collection(async |store| integration::multipart_out_of_order(store).await);
    in_collection(async |store| integration::multipart_race_condition(store, true).await);
}

#[test]
fn read_of_a_replaced_object_is_refused_by_its_tag() {
    let server = WithObjects::start(Way::Tcp);
    let drive = server.connect();
    wait(async {
        let store = RemoteStore::new("test", drive.objects());
        let path = Path::from("c/t");
        store.put(&path, noise(100).into()).await.unwrap();
        let tag = store.head(&path).await.unwrap().e_tag;
        let pinned = || GetOptions::new().with_if_match(tag.clone()).with_range(Some(5..9));
        let got = store.get_opts(&path, pinned()).await.unwrap().bytes().await.unwrap();
        assert_eq!(got, noise(100).slice(5..9));
        store.put(&path, noise(100).into()).await.unwrap();
        let refused = store.get_opts(&path, pinned()).await.unwrap_err();
        assert!(matches!(refused, Error::Precondition { .. }), "{refused}");
    });
}

/// As many streams as a connection may have at once.
const STREAMS_MAX: usize = 512;

/// What the first client waits for is documented: nothing comes over its connection once its window
/// is full, and it takes the connection for lost.
#[test]
fn client_that_leaves_its_streams_unread_keeps_no_other_from_being_served() {
    let server = WithObjects::start(Way::Tcp);
    let (idle, other) = (server.connect(), server.connect());
    let bytes = noise(256 << 10);
    let put = wait(other.objects().put(&object("a"), bytes.clone(), Condition::Always));
    put.unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (objects, path) = (idle.objects(), object("a"));
            let streams = (0..STREAMS_MAX).map(|_| objects.read(&path, None, &[]));
            wait(futures::future::join_all(streams))
        });
        wait(async {
            for _ in 0..5 {
                assert!(read_all(&other, &object("a")).await == bytes);
                other.objects().put(&object("b"), noise(9), Condition::Always).await.unwrap();
            }
        });
        let streams = reading.join().unwrap();
        let unread = streams.iter().filter(|stream| stream.is_ok()).count();
        assert!(unread > 0 && unread < STREAMS_MAX, "{unread} streams have begun");
        for error in streams.iter().filter_map(|stream| stream.as_ref().err()) {
            assert_eq!(error.kind, ObjectErrorKind::Unreachable, "{error}");
        }
    });
    assert!(other.is_connected());
    eventually("the first has a connection again", || {
        wait(idle.objects().info(&object("b"))).is_ok()
    });
}
