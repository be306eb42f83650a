// SPDX-License-Identifier: Apache-2.0
//! Stores the database in a file of the store's disk.

use std::{io, sync::Arc};

use redb::StorageBackend;

use crate::disk::DiskFile;

/// The file of a database. It has no lock: the disk is locked as a whole.
#[derive(Debug)]
pub(super) struct FileBackend(pub(super) Arc<dyn DiskFile>);

impl StorageBackend for FileBackend {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }
}
