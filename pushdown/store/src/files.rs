// SPDX-License-Identifier: Apache-2.0
//! Makes, opens and removes the files that have the bytes of objects.
//!
//! A file is `data/XX/NUMBER`, with the number in hexadecimal and its last two digits as the
//! folder. Numbers are never used again while the store is open, and after that only those of files
//! that are gone.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    disk::{Disk, DiskFile},
    error::{Error, Result},
};

/// The folder of all files.
const FOLDER: &str = "data";

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// The files of a store.
#[derive(Debug)]
pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    next: AtomicU64,
    /// Folders that last.
    folders: Mutex<HashSet<u64>>,
}

impl Files {
    /// Makes the files on the disk those of `lengths`, which has one for each number: removes what
    /// is no object's, and cuts off what is behind the end of an object.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a file is missing or too short, or an error of the system.
    pub(crate) fn recover(disk: Arc<dyn Disk>, mut lengths: HashMap<u64, u64>) -> Result<Self> {
        let mut last = lengths.keys().copied().max().unwrap_or(0);
        for folder in disk.list(FOLDER).map_err(Error::io("list", FOLDER))? {
            let folder = format!("{FOLDER}/{folder}");
            for name in disk.list(&folder).map_err(Error::io("list", &folder))? {
                let path = format!("{folder}/{name}");
                let number = u64::from_str_radix(&name, 16).ok().filter(|it| path == path_of(*it));
                last = last.max(number.unwrap_or(0));
                match number.and_then(|number| lengths.remove(&number)) {
                    Some(length) => cut(disk.as_ref(), &path, length)?,
                    None => disk.remove(&path).map_err(Error::io("remove", &path))?,
                }
            }
        }
        if let Some(number) = lengths.keys().next() {
            return Err(Error::Damaged { reason: format!("{} is missing", path_of(*number)) });
        }
        Ok(Self { disk, next: AtomicU64::new(last + 1), folders: Mutex::default() })
    }

    /// Makes an empty file. It lasts once it and its folder are synced ([`Files::sync`]).
    pub(crate) fn create(&self) -> Result<(u64, Arc<dyn DiskFile>)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.make_folder(number)?;
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

    /// Has a new file last, with all its bytes.
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

    fn make_folder(&self, number: u64) -> Result<()> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.contains(&(number % 256)) {
            return Ok(());
        }
        let folder = folder_of(number);
        self.disk.create_folder(FOLDER).map_err(Error::io("make", FOLDER))?;
        self.disk.create_folder(&folder).map_err(Error::io("make", &folder))?;
        self.disk.sync_folder(FOLDER).map_err(Error::io("sync", FOLDER))?;
        self.disk.sync_folder("").map_err(Error::io("sync", "the root"))?;
        folders.insert(number % 256);
        Ok(())
    }
}

pub(crate) fn path_of(number: u64) -> String {
    format!("{}/{number:x}", folder_of(number))
}

fn folder_of(number: u64) -> String {
    format!("{FOLDER}/{:02x}", number % 256)
}

/// Cuts off what is behind a length.
fn cut(disk: &dyn Disk, path: &str, length: u64) -> Result<()> {
    let file = disk.open(path).map_err(Error::io("open", path))?;
    let found = file.len().map_err(Error::io("read", path))?;
    if found < length {
        let reason = format!("{path} has {found} bytes and should have {length}");
        return Err(Error::Damaged { reason });
    }
    if found > length {
        file.set_len(length).map_err(Error::io("cut", path))?;
    }
    Ok(())
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
