// SPDX-License-Identifier: Apache-2.0
//! A disk that dies after so many operations: from then on nothing is written any more.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use nearscan_store::{Disk, DiskFile, LocalDisk};

/// Operations that are left.
#[derive(Debug, Clone)]
pub(crate) struct Left(Arc<AtomicI64>);

impl Left {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }

    /// Lets the disk die after so many operations.
    pub(crate) fn set(&self, count: i64) {
        self.0.store(count, Ordering::SeqCst);
    }

    /// Whether the disk is dead.
    pub(crate) fn is_dead(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }

    fn take(&self) -> io::Result<()> {
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            1.. => Ok(()),
            _ => Err(io::Error::other("the disk is dead")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct FailingDisk {
    inner: LocalDisk,
    left: Left,
}

impl FailingDisk {
    pub(crate) fn open(root: &Path, left: &Left) -> nearscan_store::Result<Self> {
        Ok(Self { inner: LocalDisk::open(root)?, left: left.clone() })
    }

    fn wrap(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(FailingFile { inner: file, left: self.left.clone() })
    }
}

#[derive(Debug)]
struct FailingFile {
    inner: Arc<dyn DiskFile>,
    left: Left,
}

impl Disk for FailingDisk {
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.left.take()?;
        Ok(self.wrap(self.inner.create(path)?))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(self.inner.open(path)?))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.left.take()?;
        self.inner.remove(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.left.take()?;
        self.inner.rename(from, to)
    }

    fn create_folder(&self, path: &str) -> io::Result<()> {
        self.left.take()?;
        self.inner.create_folder(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.left.take()?;
        self.inner.sync_folder(folder)
    }
}

impl DiskFile for FailingFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.left.take()?;
        self.inner.write_at(offset, bytes)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.left.take()?;
        self.inner.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.left.take()?;
        self.inner.sync()
    }
}
