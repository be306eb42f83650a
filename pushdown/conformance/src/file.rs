// SPDX-License-Identifier: Apache-2.0
//! Writes chunks to temporary files.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use nearscan_drive::FileRef;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder of this run, removed with everything in it on drop.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one below `parent`, or in the system's folder of temporary files.
    pub(crate) fn new(parent: Option<&Path>) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nearscan-conformance-{}-{number}", std::process::id());
        let folder = parent.map_or_else(std::env::temp_dir, Path::to_path_buf).join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder.canonicalize()?))
    }

    /// Writes a file.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<TemporaryFile> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.0.join(format!("{number}.parquet"));
        std::fs::write(&path, bytes)?;
        Ok(TemporaryFile { file: FileRef::of(&path)? })
    }

    /// A path in the folder at which there is nothing.
    pub(crate) fn nothing(&self) -> PathBuf {
        self.0.join("nothing.parquet")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A file that cannot be removed is left to the system.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A file, removed on drop.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    pub(crate) file: FileRef,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.file.path));
    }
}
