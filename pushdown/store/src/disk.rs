// SPDX-License-Identifier: Apache-2.0
//! Defines the operations on files that a store needs, so that a test can lose what was not synced.
//!
//! Paths are relative to the root of the store, with `/` between their parts.

use std::{fmt::Debug, fs::File, io, path::PathBuf, sync::Arc};

/// A folder of files.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Creates an empty file. Its name is durable once its folder is synced.
    ///
    /// # Errors
    /// If there is one, or the system fails.
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none, or an error of the system.
    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Removes a file; whoever has it open can still read it.
    ///
    /// # Errors
    /// If there is none, or the system fails.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Renames a file in its folder, and replaces a file of the new name. The name is durable once
    /// the folder is synced.
    ///
    /// # Errors
    /// If there is none, or the system fails.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Creates a folder, if it is not there. Its name is durable once the parent is synced.
    ///
    /// # Errors
    /// If the system fails.
    fn create_folder(&self, path: &str) -> io::Result<()>;

    /// Lists the names in a folder, in any order; none if there is no such folder.
    ///
    /// # Errors
    /// If the system fails.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Makes the names in a folder durable; the root is the empty path.
    ///
    /// # Errors
    /// If the system fails.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;

    /// Returns the path by which other programs of this machine can open a file, if they can.
    fn local_path(&self, path: &str) -> Option<PathBuf> {
        let _ = path;
        None
    }
}

/// An open file.
#[expect(clippy::len_without_is_empty, reason = "a file is not a collection")]
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// If the system fails.
    fn len(&self) -> io::Result<u64>;

    /// Reads as many bytes as `buffer` has.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if there are fewer, or an error of the system.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Reads the first bytes of `buffer` if that takes no wait for a device, and returns how many;
    /// 0 where this is not known.
    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let _ = (offset, buffer);
        0
    }

    /// The file as the system has it, if the bytes of the system's file are those of this one.
    fn as_system_file(&self) -> Option<&File> {
        None
    }

    /// Writes all bytes; a gap between the end of the file and the offset is filled with zeros.
    ///
    /// # Errors
    /// If the system fails; then any part may be written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    /// If the system fails.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Makes all bytes durable.
    ///
    /// # Errors
    /// If the system fails; then any part may be lost, also after a second call.
    fn sync(&self) -> io::Result<()>;
}
