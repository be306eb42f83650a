// SPDX-License-Identifier: Apache-2.0
//! Implements the target `messages`: what a client and a server of drives say to each other.
//!
//! Most inputs are one message, which has to come back as it was. The rest is said to a server: an
//! action with any body, or a stream that begins with any words. It has to answer, and not panic.

use std::{
    cell::OnceCell,
    sync::{
        Arc, Once,
        atomic::{AtomicU64, Ordering},
    },
};

use nearscan_cpu::{CpuDrive, Options};
use nearscan_remote::fuzz::{MESSAGES, Probe, THREADS, number_of, seeds as seeds_of_protocol};
use nearscan_store::Store;
use tempfile::TempDir;

/// First bytes that say something to a server, from the largest one on.
const SAID: u8 = 4;
/// Messages of a stream, at most.
const MESSAGES_MAX: usize = 4;

/// Short calls, and what they are made with.
const ACTIONS: [(&str, &str); 18] = [
    ("nearscan.connect", "Hello"),
    ("nearscan.locate", "Locate"),
    ("nearscan.snapshot", "Ask"),
    ("nearscan.health", "Ask"),
    ("nearscan.reset", "Ask"),
    ("nearscan.containers.create", "Container"),
    ("nearscan.containers", "Within"),
    ("nearscan.containers.quota", "Container"),
    ("nearscan.containers.remove", "ObjectName"),
    ("nearscan.object.info", "ObjectName"),
    ("nearscan.object.write", "Write"),
    ("nearscan.object.truncate", "Truncate"),
    ("nearscan.object.copy", "Copy"),
    ("nearscan.object.remove", "Remove"),
    ("nearscan.attributes", "Within"),
    ("nearscan.attributes.set", "SetAttribute"),
    ("nearscan.collection.list", "List"),
    ("nearscan.changes", "ListChanges"),
];

/// Panics of servers so far.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// A server with a drive and a store.
struct Server {
    // Before the folder of its files.
    probe: Probe,
    _folder: TempDir,
}

thread_local! {
    static SERVER: OnceCell<Server> = const { OnceCell::new() };
}

/// Reads a message, or says something to a server: the first byte says what. Whether it is a
/// message, or gets an answer.
///
/// # Panics
/// When a message does not come back as it was, or the server panics, fails or does not answer.
pub fn messages(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else { return false };
    match u8::MAX - kind {
        way if way < SAID => said(way, bytes),
        _ => MESSAGES[usize::from(*kind) % MESSAGES.len()].1(bytes),
    }
}

/// Inputs to begin a corpus with: each message by itself, and as what is said to a server.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    let messages = seeds_of_protocol();
    for (name, message) in &messages {
        let kind = MESSAGES.iter().position(|(other, _)| other == name);
        let kind = kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(0);
        inputs.push([&[kind], &message[..]].concat());
    }
    let of = |name: &str| {
        let found = messages.iter().find(|(other, _)| *other == name);
        found.map(|(_, message)| message.clone()).unwrap_or_default()
    };
    for (action, message) in ACTIONS {
        if let Some(number) = number_of(action) {
            inputs.push([&[u8::MAX, number], &of(message)[..]].concat());
        }
    }
    let joined = |way: u8, parts: &[Vec<u8>]| {
        let mut input = vec![u8::MAX - way];
        for part in parts {
            input.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
            input.extend(part);
        }
        input
    };
    inputs.push(joined(3, &[of("Put"), b"abc".to_vec(), of("Finish")]));
    inputs.push(joined(1, &[of("ToServer")]));
    inputs.push([&[u8::MAX - 2], &of("Read")[..]].concat());
    inputs
}

/// Says something to the server.
fn said(way: u8, bytes: &[u8]) -> bool {
    let before = PANICS.load(Ordering::SeqCst);
    let answered = SERVER.with(|server| {
        let probe = &server.get_or_init(Server::start).probe;
        match way {
            0 => bytes.split_first().is_some_and(|(action, body)| probe.act(*action, body)),
            1 => probe.exchange(&split(bytes)),
            2 => probe.get(bytes),
            _ => match split(bytes).as_slice() {
                [first, parts @ .., last] => probe.put(first, parts, last),
                _ => false,
            },
        }
    });
    assert_eq!(PANICS.load(Ordering::SeqCst), before, "the server panicked");
    answered
}

/// Parts of the bytes, each behind its length in one byte.
fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = bytes.split_first()
        && parts.len() < MESSAGES_MAX
    {
        let (part, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        parts.push(part);
        bytes = rest;
    }
    parts
}

impl Server {
    fn start() -> Self {
        count_panics();
        let folder = TempDir::new().expect("a folder for temporary files");
        let drive = CpuDrive::start(Options { threads: 1, in_flight_max: 4 }).expect("a thread");
        let store = Store::open(&folder.path().join("store")).expect("a store");
        let probe = Probe::start(Arc::new(drive), store, folder.path());
        Self { probe, _folder: folder }
    }
}

/// Counts the panics of servers, which the threads of their tasks survive.
fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() == Some(THREADS) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(panic);
        }));
    });
}
