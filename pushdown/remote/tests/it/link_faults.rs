// SPDX-License-Identifier: Apache-2.0
//! Walks the faults of a link: at each message in each direction it closes, falls silent or is
//! late, while a client runs commands over objects, puts an object and reads it.
//!
//! Each of these ends in time, either right or with the reason that the server is gone; what a put
//! leaves is the object as a whole or nothing; and once the client has left, nothing is left of it
//! in the server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use nearscan_command::{InputRef, Version};
use nearscan_conformance::sample::{self, Sample};
use nearscan_drive::{
    Drive, Failure, FileRef, Outcome, Placement, Refusal, SessionSpec, Unlimited, clock::Stopwatch,
};
use nearscan_emulator::{Config, Emulator, Profile};
use nearscan_links::{After, Direction, Fault, Link, Place as Frame, Strike};
use nearscan_remote::{
    Address, Error, Http1Patience, ObjectError, ObjectErrorKind, Options, RemoteDrive,
    ServerOptions, access::Access,
};
use nearscan_store::{CollectionPath, Condition, Quota, Store};
use rstest::rstest;

use crate::{
    bench::{Place, Served, Way, eventually, numbered, wait},
    in_store::Counted,
    objects::noise,
};

/// Host memory of the server.
const HOST_BYTES: u64 = 1 << 30;

/// Bytes of the object that is put: several parts of a stream, and more than its window.
pub(crate) const OBJECT_BYTES: usize = 9 << 20;

/// Rows of the file that commands read: results of several parts.
const ROWS: u32 = 200_000;

/// Places that are struck one after the other; behind them the next is so much further on.
const PLACES_DENSE: u64 = 24;
const PLACES_APART: u64 = 3;

/// Places at most: a walk that meets more does not end.
pub(crate) const PLACES_MAX: u64 = 1 << 20;

/// Time that a run may take: the time of the keep-alive for each of its steps, on a busy machine.
pub(crate) const RUN_MAX: Duration = Duration::from_secs(30);

/// A server of an emulated drive and a store, for all runs of a walk.
pub(crate) struct Bench {
    served: Served,
    drive: Arc<Counted>,
    store: Store,
    access: Arc<Access>,
    collection: CollectionPath,
    /// What commands read, and its version as an object.
    sample: Sample,
    version: Version,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let place = Place::new(Way::Tcp);
        let store = Store::open(&place.folder.path().join("store")).unwrap();
        let collection = CollectionPath::in_default("c").unwrap();
        let others = CollectionPath::in_default("s").unwrap();
        for collection in [&collection, &others] {
            store.create_collection(collection, Quota::default()).unwrap();
        }
        let sample = Sample::common(ROWS);
        let bytes = std::fs::read(sample.file().path).unwrap();
        let object = others.object("sample").unwrap();
        let info = store.put(&object, &bytes, Condition::Absent).unwrap();
        let version = Version { size_bytes: info.length, stamp: info.version };
        let drive = Counted::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
        let access = Arc::new(Access::anyone());
        let options = ServerOptions {
            // A client that fell silent is given up soon.
            keep_alive_interval: Duration::from_millis(100),
            keep_alive_timeout: Duration::from_millis(400),
            grace: Duration::from_secs(1),
            http1_patience: Http1Patience {
                request: Duration::from_secs(2),
                taking: Duration::from_millis(600),
            },
            host_bytes_max: HOST_BYTES,
            access: Arc::clone(&access),
            store: Some(store.clone()),
            ..ServerOptions::default()
        };
        let served = Served::with(Arc::<Counted>::clone(&drive), place, options);
        Self { served, drive, store, access, collection, sample, version }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let Address::Tcp(address) = &self.served.address else { panic!("{}", self.served.address) };
        address.parse().unwrap()
    }

    /// Files of the store but for that of the sample, whether they belong to objects or not.
    fn files(&self) -> usize {
        let data = self.served.place.folder.path().join("store/data");
        let folders = std::fs::read_dir(data).unwrap().map(|folder| folder.unwrap().path());
        folders.map(|folder| std::fs::read_dir(folder).unwrap().count()).sum::<usize>() - 1
    }

    /// Waits until nothing is left of a client, and removes its objects.
    pub(crate) fn clear(&self) {
        eventually("no session and no command is left", || self.drive.is_idle());
        let client = self.access.authenticate(None, None).unwrap();
        eventually("its places are free", || client.enter(u64::MAX).is_ok());
        eventually("host memory is whole", || self.drive.has_host_memory(HOST_BYTES));
        let objects = || self.store.list(&self.collection, "", None, 1000).unwrap();
        eventually("there is no other file", || self.files() == objects().len());
        for object in objects() {
            self.store.remove(&object.path, Condition::Always).unwrap();
        }
        eventually("the files are removed", || self.files() == 0);
    }

    /// Checks that the object is whole, or not there if it may not be.
    pub(crate) fn check_object(&self, was_put: bool, bytes: &[u8]) {
        let path = self.collection.object("put").unwrap();
        match self.store.reader(&path) {
            Ok(reader) => assert!(reader.read_all().unwrap() == bytes, "an object is not whole"),
            Err(nearscan_store::Error::NotFound { .. }) => assert!(!was_put, "it was not put"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Options under which a silent server is given up soon; none is while a link is only late.
pub(crate) fn options(fault: Fault) -> Options {
    let patience = match fault {
        Fault::Closes | Fault::FallsSilent => Duration::from_millis(600),
        Fault::IsLate(_) => Duration::from_secs(20),
    };
    Options {
        connect_timeout: patience,
        call_timeout: patience,
        keep_alive_interval: Duration::from_millis(50),
        keep_alive_timeout: patience,
        deadline_grace: patience,
        reconnect_max: Duration::from_millis(50),
        ..Options::default()
    }
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Right,
    /// The server is gone, which it says.
    Gone,
}

fn of_refusal(refusal: &Refusal) -> End {
    match refusal {
        Refusal::Gone { reason } if !reason.is_empty() => End::Gone,
        refusal => panic!("{refusal:?}"),
    }
}

pub(crate) fn of_error(error: &ObjectError) -> End {
    match error.kind {
        ObjectErrorKind::Unreachable if !error.reason.is_empty() => End::Gone,
        _ => panic!("{error:?}"),
    }
}

/// Runs a command that gives all rows of the sample, from its place to its result.
fn scan(drive: &RemoteDrive, bench: &Bench, server: &Address) -> End {
    let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
    let session = match drive.open_session(spec) {
        Ok(session) => session,
        Err(refusal) => return of_refusal(&refusal),
    };
    let file = FileRef {
        server: Some(server.to_string().into()),
        path: "/s/sample".into(),
        version: bench.version,
    };
    let placed = match drive.locate(&file) {
        Placement::Here { file_id } => file_id,
        Placement::NotHere { reason } => {
            assert!(!reason.contains("has changed") && !reason.is_empty(), "{reason}");
            return End::Gone;
        }
    };
    let mut command = bench.sample.rows(&*bench.drive, numbered(&*session));
    for input in &mut command.unit.inputs {
        if let InputRef::FileRange { file_id, version, .. } = input {
            (*file_id, *version) = (placed, bench.version);
        }
    }
    let ticket = match sample::submit(&*session, command.clone(), RUN_MAX) {
        Ok(ticket) => ticket,
        Err(refusal) => return of_refusal(&refusal),
    };
    let completion = wait(ticket);
    match &completion.outcome {
        Outcome::Failed(Failure::Gone { reason }) if !reason.is_empty() => End::Gone,
        _ => {
            let view = completion.check(&command).unwrap();
            let rows = view.blocks.iter().map(|block| u64::from(block.rows)).sum::<u64>();
            let first = view.blocks[0].columns[0].number(0);
            assert_eq!((rows, first), (u64::from(ROWS), Some(0)));
            End::Right
        }
    }
}

/// Puts an object and reads it.
pub(crate) fn put_and_read(drive: &RemoteDrive, bench: &Bench, bytes: &[u8]) -> End {
    let (objects, path) = (drive.objects(), bench.collection.object("put").unwrap());
    let put = wait(objects.put(&path, bytes.to_vec().into(), Condition::Absent));
    bench.check_object(put.is_ok(), bytes);
    if let Err(error) = put {
        return of_error(&error);
    }
    let read = wait(async {
        let mut reading = objects.read(&path, None, &[]).await?;
        let mut all = Vec::new();
        while let Some(part) = reading.next().await? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    });
    match read {
        Ok(all) => {
            assert!(all == bytes, "other bytes were read");
            End::Right
        }
        Err(error) => of_error(&error),
    }
}

/// Runs all steps over a link; gives whether its fault struck.
fn run(bench: &Bench, fault: Fault, frame: Frame, after: After, bytes: &[u8]) -> bool {
    let link = Link::open(bench.address()).unwrap();
    link.strike(Strike { fault, place: frame, after });
    let address: Address = link.address().to_string().parse().unwrap();
    let watch = Stopwatch::start();
    let mut ends = Vec::new();
    match RemoteDrive::connect(&address, options(fault)) {
        Ok(drive) => {
            ends.push(scan(&drive, bench, &address));
            ends.push(put_and_read(&drive, bench, bytes));
            ends.push(scan(&drive, bench, &address));
            assert_eq!(drive.in_flight(), 0);
        }
        Err(Error::Unreachable { address: named, reason }) => {
            assert_eq!(named, address, "{reason}");
            ends.push(End::Gone);
        }
        Err(error) => panic!("{error}"),
    }
    assert!(watch.elapsed() < RUN_MAX, "{frame:?}: {:?}", watch.elapsed());
    let (has_struck, is_late) = (link.has_struck(), matches!(fault, Fault::IsLate(_)));
    if !has_struck || is_late {
        assert!(ends.iter().all(|end| *end == End::Right), "{frame:?}: {ends:?}");
    }
    // The server notices on its own that a silent client is gone: the link is there until then.
    bench.clear();
    drop(link);
    has_struck
}

/// The place that is struck after another one.
pub(crate) fn behind(number: u64) -> u64 {
    match number < PLACES_DENSE {
        true => number + 1,
        false => number + 1 + number / PLACES_APART,
    }
}

#[rstest]
fn every_message_may_be_the_last_or_late_and_nothing_is_wrong_or_left(
    #[values(Fault::Closes, Fault::FallsSilent, Fault::IsLate(Duration::from_millis(150)))]
    fault: Fault,
    #[values(Direction::ToServer, Direction::ToClient)] direction: Direction,
) {
    let (bench, bytes) = (Bench::new(), noise(OBJECT_BYTES));
    let mut struck = 0;
    let mut number = 0;
    loop {
        assert!(number < PLACES_MAX, "the walk does not end");
        let after = if struck % 2 == 0 { After::Recovers } else { After::StaysDown };
        if !run(&bench, fault, Frame { direction, number }, after, &bytes) {
            break;
        }
        struck += 1;
        number = behind(number);
    }
    assert!(struck > PLACES_DENSE, "only {struck} messages were struck");
}
