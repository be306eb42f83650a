// SPDX-License-Identifier: Apache-2.0
//! A disk in memory that crashes, or fails once, at an operation that the test chooses. After a
//! crash it has lost what was not synced: all, nothing, or a part of it.
//!
//! It is as bad as POSIX permits. A synced file is lost if the entry in its folder is not synced;
//! writes without a sync survive in any selection, some of them in part; a rename is
//! done or not done.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use nearscan_store::{Disk, DiskFile};

/// A disk that can crash; clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct FaultDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: Vec<Content>,
    now: Names,
    durable: Names,
    /// Changes of each folder since it was synced.
    unsynced: BTreeMap<String, Vec<Entry>>,
    operations: usize,
    fault: Option<(Fault, usize)>,
    is_dead: bool,
}

/// What happens at an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// The machine goes down.
    Crash,
    /// The operation reports an error, and the machine goes on.
    Error,
}

impl Outcome {
    /// How many of several things are done.
    fn of(self, count: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Half => count / 2,
            Self::All => count,
        }
    }
}

/// Files and folders by their paths.
#[derive(Debug, Clone, Default)]
struct Names {
    files: BTreeMap<String, usize>,
    folders: BTreeSet<String>,
}

#[derive(Debug, Clone)]
enum Entry {
    File(String, usize),
    Folder(String),
    Removed(String),
    Renamed(String, String),
}

#[derive(Debug, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Write>,
}

#[derive(Debug, Clone)]
enum Write {
    Bytes(u64, Vec<u8>),
    Length(u64),
}

impl State {
    /// What an operation that reports an error has done.
    fn outcome(&self) -> Outcome {
        match self.fault {
            Some((_, at)) if at + 1 == self.operations => match at % 3 {
                0 => Outcome::Nothing,
                1 => Outcome::Half,
                _ => Outcome::All,
            },
            _ => Outcome::All,
        }
    }
}

/// How much of an operation is done.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Nothing,
    Half,
    All,
}

impl Names {
    fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::File(path, file) => drop(self.files.insert(path.clone(), *file)),
            Entry::Folder(path) => drop(self.folders.insert(path.clone())),
            Entry::Removed(path) => drop(self.files.remove(path)),
            Entry::Renamed(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
        }
    }
}

fn apply(bytes: &mut Vec<u8>, write: &Write) {
    match write {
        Write::Length(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
        Write::Bytes(offset, new) => {
            let offset = usize::try_from(*offset).unwrap();
            let end = offset + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[offset..end].copy_from_slice(new);
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Random numbers: a linear congruential generator of 64 bits, of which the upper ones are taken.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

impl FaultDisk {
    /// An empty disk, with a fault at an operation that changes something, counted from 0.
    pub(crate) fn new(fault: Option<(Fault, usize)>) -> Self {
        Self(Arc::new(Mutex::new(State { fault, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Operations that changed something so far.
    pub(crate) fn operations(&self) -> usize {
        self.state().operations
    }

    /// Whether it has crashed.
    pub(crate) fn is_dead(&self) -> bool {
        self.state().is_dead
    }

    /// The files below a folder, with their lengths.
    pub(crate) fn files_below(&self, folder: &str) -> BTreeMap<String, usize> {
        let state = self.state();
        let files = state.now.files.iter().filter(|(path, _)| path.starts_with(folder));
        files.map(|(path, file)| (path.clone(), state.files[*file].now.len())).collect()
    }

    /// The disk after a crash, which has another fault.
    pub(crate) fn after_crash(&self, random: &mut Random, fault: Option<(Fault, usize)>) -> Self {
        let state = self.state();
        // One time in three all that was not synced is lost, and one in three nothing.
        let mut survives: Box<dyn FnMut() -> bool> = match random.below(3) {
            0 => Box::new(|| false),
            1 => Box::new(|| true),
            _ => {
                let mut random = random.clone();
                Box::new(move || random.below(2) == 0)
            }
        };
        let mut names = state.durable.clone();
        for entry in state.unsynced.values().flatten() {
            if survives() {
                names.apply(entry);
            }
        }
        // What is in a folder that is gone is gone.
        let folders = names.folders.clone();
        let is_there = |path: &str| {
            let mut around = parent(path);
            while !around.is_empty() && folders.contains(around) {
                around = parent(around);
            }
            around.is_empty()
        };
        names.files.retain(|path, _| is_there(path));
        names.folders.retain(|path| is_there(path));
        let mut files = Vec::new();
        for content in &state.files {
            let mut bytes = content.durable.clone();
            for write in &content.unsynced {
                if survives() {
                    apply(&mut bytes, write);
                } else if let Write::Bytes(offset, new) = write
                    && survives()
                {
                    // The second half may survive without the first one.
                    let middle = new.len() / 2;
                    let half = match survives() {
                        true => Write::Bytes(*offset, new[..middle].to_vec()),
                        false => Write::Bytes(offset + middle as u64, new[middle..].to_vec()),
                    };
                    apply(&mut bytes, &half);
                }
            }
            files.push(Content { now: bytes.clone(), durable: bytes, unsynced: Vec::new() });
        }
        let (now, durable) = (names.clone(), names);
        Self(Arc::new(Mutex::new(State { files, now, durable, fault, ..State::default() })))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        if state.is_dead {
            return Err(io::Error::other("the machine is down"));
        }
        let fault = state.fault.filter(|(_, at)| *at == state.operations).map(|(fault, _)| fault);
        state.operations += 1;
        let changed = change(&mut state);
        state.is_dead = fault == Some(Fault::Crash);
        match fault {
            Some(fault) => Err(io::Error::other(format!("{fault:?}"))),
            None => changed,
        }
    }

    fn enter(&self, folder: &str, entry: Entry) -> io::Result<()> {
        self.change(|state| {
            if state.outcome() == Outcome::Nothing {
                return Ok(());
            }
            state.now.apply(&entry);
            state.unsynced.entry(folder.to_owned()).or_default().push(entry);
            Ok(())
        })
    }

    fn file(&self, number: usize) -> Arc<dyn DiskFile> {
        Arc::new(FaultFile { disk: self.clone(), number })
    }
}

impl Disk for FaultDisk {
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let number = self.change(|state| {
            if state.now.files.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if !parent(path).is_empty() && !state.now.folders.contains(parent(path)) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let number = state.files.len();
            state.files.push(Content::default());
            if state.outcome() == Outcome::Nothing {
                return Ok(number);
            }
            let entry = Entry::File(path.to_owned(), number);
            state.now.apply(&entry);
            state.unsynced.entry(parent(path).to_owned()).or_default().push(entry);
            Ok(number)
        })?;
        Ok(self.file(number))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.state();
        if state.is_dead {
            return Err(io::Error::other("the machine is down"));
        }
        let found = state.now.files.get(path).copied();
        drop(state);
        found.map(|number| self.file(number)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        if !self.state().now.files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.enter(parent(path), Entry::Removed(path.to_owned()))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.enter(parent(from), Entry::Renamed(from.to_owned(), to.to_owned()))
    }

    fn create_folder(&self, path: &str) -> io::Result<()> {
        if self.state().now.folders.contains(path) {
            return Ok(());
        }
        self.enter(parent(path), Entry::Folder(path.to_owned()))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.is_dead {
            return Err(io::Error::other("the machine is down"));
        }
        let inside = state.now.files.keys().chain(&state.now.folders);
        let inside = inside.filter(|path| parent(path) == folder);
        Ok(inside.map(|path| path.rsplit('/').next().unwrap().to_owned()).collect())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.change(|state| {
            let outcome = state.outcome();
            let entries = state.unsynced.remove(folder).unwrap_or_default();
            // Entries that a failed sync has lost are not written by the next one.
            let count = outcome.of(entries.len());
            for entry in &entries[..count] {
                state.durable.apply(entry);
            }
            Ok(())
        })
    }
}

#[derive(Debug)]
struct FaultFile {
    disk: FaultDisk,
    number: usize,
}

impl FaultFile {
    fn write(&self, write: Write) -> io::Result<()> {
        self.disk.change(|state| {
            let write = match (state.outcome(), write) {
                (Outcome::Nothing, _) => return Ok(()),
                (Outcome::Half, Write::Bytes(offset, bytes)) => {
                    Write::Bytes(offset, bytes[..bytes.len() / 2].to_vec())
                }
                (_, write) => write,
            };
            let content = &mut state.files[self.number];
            apply(&mut content.now, &write);
            content.unsynced.push(write);
            Ok(())
        })
    }
}

impl DiskFile for FaultFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.number].now.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.disk.state();
        let offset = usize::try_from(offset).unwrap();
        let bytes = state.files[self.number].now.get(offset..offset + buffer.len());
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(Write::Bytes(offset, bytes.to_vec()))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.write(Write::Length(length))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.change(|state| {
            let outcome = state.outcome();
            let content = &mut state.files[self.number];
            // Writes that a failed sync has lost are read until the crash, and never last.
            let writes = std::mem::take(&mut content.unsynced);
            let count = outcome.of(writes.len());
            for write in &writes[..count] {
                apply(&mut content.durable, write);
            }
            Ok(())
        })
    }
}
