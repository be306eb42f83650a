// SPDX-License-Identifier: Apache-2.0
//! Implements the files of a store by a folder of the local file system.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    disk::{Disk, DiskFile},
    error::{Error, Result},
};

/// The file whose lock says that a process has the store open.
const LOCK: &str = "lock";

/// A folder of the local file system, which no other process has open as a store.
#[derive(Debug)]
pub struct LocalDisk {
    root: PathBuf,
    /// The lock ends with the file.
    _lock: File,
}

impl LocalDisk {
    /// Opens a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open already, or an error of the system.
    pub fn open(root: &Path) -> Result<Self> {
        let shown = root.display().to_string();
        create_durable(root).map_err(Error::io("make", &shown))?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = options.open(root.join(LOCK)).map_err(Error::io("open", LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", LOCK)(error)),
        }
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options
    }
}

/// Creates a folder and its missing parents, and makes their names durable.
fn create_durable(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let around = match folder.parent() {
        Some(around) if !around.as_os_str().is_empty() => around,
        _ => Path::new("."),
    };
    create_durable(around)?;
    fs::create_dir(folder)?;
    File::open(around)?.sync_all()
}

impl Disk for LocalDisk {
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(self.options().create_new(true).open(self.root.join(path))?))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(self.options().open(self.root.join(path))?))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn create_folder(&self, path: &str) -> io::Result<()> {
        match fs::create_dir(self.root.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        match fs::read_dir(self.root.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
            Ok(entries) => {
                entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
            }
        }
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        File::open(self.root.join(folder))?.sync_all()
    }

    fn local_path(&self, path: &str) -> Option<PathBuf> {
        Some(self.root.join(path))
    }
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        nearscan_io::read_cached(self, offset, buffer)
    }

    fn as_system_file(&self) -> Option<&File> {
        Some(self)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        Self::set_len(self, length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
