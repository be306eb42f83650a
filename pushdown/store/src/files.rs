// SPDX-License-Identifier: Apache-2.0
//! Makes, opens and removes the files that have the bytes of objects.
//!
//! A file is `data/X/NUMBER`, with the number in hexadecimal and its last digit as the folder.
//! Numbers are never used again while the store is open, and after that only those of files that
//! are gone.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    disk::{Disk, DiskFile},
    error::{Error, Result},
};

/// The folder of all files.
const FOLDER: &str = "data";

/// Folders in it.
const FOLDER_COUNT: u64 = 16;

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// The files of a store.
#[derive(Debug)]
pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    next: AtomicU64,
}

impl Files {
    /// Makes the files on the disk those of `lengths`, which has one for each number: removes what
    /// is no object's, and cuts off what is behind the end of an object. Returns the numbers of
    /// those that are missing or too short; if there are any, nothing is removed or cut, because
    /// then the catalog may be of another time than the files.
    pub(crate) fn recover(
        disk: Arc<dyn Disk>,
        lengths: &HashMap<u64, u64>,
    ) -> Result<(Self, Vec<u64>)> {
        let numbers = numbers(disk.as_ref())?;
        let mut damaged = Vec::new();
        let mut too_long = Vec::new();
        for (&number, &length) in lengths {
            let path = path_of(number);
            let found = match numbers.contains(&number) {
                true => disk
                    .open(&path)
                    .and_then(|file| file.len())
                    .map_err(Error::io("read", &path))?,
                false => 0,
            };
            if found < length || !numbers.contains(&number) {
                damaged.push(number);
            } else if found > length {
                too_long.push((path, length));
            }
        }
        if damaged.is_empty() {
            for (path, length) in too_long {
                let cut = disk.open(&path).and_then(|file| file.set_len(length));
                cut.map_err(Error::io("cut", &path))?;
            }
            for number in numbers.iter().filter(|number| !lengths.contains_key(number)) {
                let path = path_of(*number);
                disk.remove(&path).map_err(Error::io("remove", &path))?;
            }
        }
        make_folders(disk.as_ref())?;
        let last = numbers.last().copied().max(lengths.keys().copied().max()).unwrap_or(0);
        let too_large = || Error::Damaged { reason: format!("there is no number after {last:x}") };
        let next = AtomicU64::new(last.checked_add(1).ok_or_else(too_large)?);
        Ok((Self { disk, next }, damaged))
    }

    /// Creates an empty file. It is durable once it and its folder are synced ([`Files::sync`]).
    pub(crate) fn create(&self) -> Result<(u64, Arc<dyn DiskFile>)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = path_of(number);
        let file = self.disk.create(&path).map_err(Error::io("create", &path))?;
        Ok((number, file))
    }

    /// Makes a file of the first bytes of another one.
    pub(crate) fn copy(
        &self,
        from: &dyn DiskFile,
        path: &str,
        length: u64,
    ) -> Result<(u64, Arc<dyn DiskFile>)> {
        let (number, file) = self.create()?;
        let copied = copy(from, file.as_ref(), length).map_err(Error::io("copy", path));
        match copied {
            Ok(()) => Ok((number, file)),
            Err(error) => {
                self.remove(number);
                Err(error)
            }
        }
    }

    /// Opens a file; `None` if it was removed.
    pub(crate) fn open(&self, number: u64) -> Result<Option<Arc<dyn DiskFile>>> {
        let path = path_of(number);
        match self.disk.open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", &path)(error)),
        }
    }

    /// The path by which other programs can open a file.
    pub(crate) fn local_path(&self, number: u64) -> Option<PathBuf> {
        self.disk.local_path(&path_of(number))
    }

    /// Makes a new file durable, with all its bytes.
    pub(crate) fn sync(&self, number: u64, file: &dyn DiskFile) -> Result<()> {
        file.sync().map_err(Error::io("sync", &path_of(number)))?;
        let folder = folder_of(number);
        self.disk.sync_folder(&folder).map_err(Error::io("sync", &folder))
    }

    /// Removes a file that is no object's. What cannot be removed is removed when the store is
    /// opened the next time.
    pub(crate) fn remove(&self, number: u64) {
        self.disk.remove(&path_of(number)).unwrap_or(());
    }
}

/// The numbers of the files on the disk. Files with other names are ignored.
pub(crate) fn numbers(disk: &dyn Disk) -> Result<BTreeSet<u64>> {
    let mut numbers = BTreeSet::new();
    for folder in 0..FOLDER_COUNT {
        let folder = folder_of(folder);
        let names = disk.list(&folder).map_err(Error::io("list", &folder))?;
        let found = names.iter().filter_map(|name| {
            let number = u64::from_str_radix(name, 16).ok()?;
            (path_of(number) == format!("{folder}/{name}")).then_some(number)
        });
        numbers.extend(found);
    }
    Ok(numbers)
}

/// Creates the folders of all files, and makes their names durable.
fn make_folders(disk: &dyn Disk) -> Result<()> {
    disk.create_folder(FOLDER).map_err(Error::io("make", FOLDER))?;
    for folder in 0..FOLDER_COUNT {
        let folder = folder_of(folder);
        disk.create_folder(&folder).map_err(Error::io("make", &folder))?;
    }
    disk.sync_folder(FOLDER).map_err(Error::io("sync", FOLDER))?;
    disk.sync_folder("").map_err(Error::io("sync", "the root"))
}

pub(crate) fn path_of(number: u64) -> String {
    format!("{}/{number:x}", folder_of(number))
}

fn folder_of(number: u64) -> String {
    format!("{FOLDER}/{:x}", number % FOLDER_COUNT)
}

fn copy(from: &dyn DiskFile, to: &dyn DiskFile, length: u64) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut done = 0;
    while done < length {
        let count = COPY_BYTES.min(length - done);
        buffer.resize(usize::try_from(count).map_err(io::Error::other)?, 0);
        from.read_at(done, &mut buffer)?;
        to.write_at(done, &buffer)?;
        done += count;
    }
    Ok(())
}
