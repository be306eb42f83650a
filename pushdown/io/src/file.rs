// SPDX-License-Identifier: Apache-2.0
//! Opens files twice where needed, through the page cache and past it, and asks what is cached.
//!
//! The page cache is asked with `cachestat` before a read, because `preadv2` with `RWF_NOWAIT`,
//! where a page is missing, has the kernel read it into the cache: measured on Linux 6.18, a
//! refused call for 1 MiB left 256 pages there, which a direct read would then have read again. So
//! `RWF_NOWAIT` is for ranges that are there, or that are to be read through the cache anyway.

use std::{
    fs::{self, OpenOptions},
    io,
    ops::Range,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::{
    error::Error,
    interrupt::Interrupt,
    sys::{self, Alignment},
    target::BLOCK,
};

/// The way of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Through the page cache.
    Buffered,
    /// Past it.
    Direct,
}

/// The share of a range that is in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cached {
    All,
    /// At least half: reading the rest through the cache reads less than a direct read.
    Most,
    Few,
    Unknown,
}

/// A file that is open for reads; cheap to clone.
#[derive(Debug, Clone)]
pub struct File(Arc<Open>);

#[derive(Debug)]
struct Open {
    /// Unique in this process: a descriptor's number is used again after it was closed.
    id: u64,
    path: PathBuf,
    buffered: fs::File,
    direct: OnceLock<Option<DirectFile>>,
    /// Whether the system tells what is cached: a file of somebody else need not be told about.
    tells_cached: AtomicBool,
    page_bytes: u64,
    /// Who is told when the last clone is gone.
    on_close: Mutex<Vec<Weak<dyn Interrupt>>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let on_close = self.on_close.get_mut().unwrap_or_else(PoisonError::into_inner);
        on_close.iter().filter_map(Weak::upgrade).for_each(|ring| ring.interrupt());
    }
}

#[derive(Debug)]
struct DirectFile {
    file: fs::File,
    alignment: Alignment,
}

/// The alignment of direct reads where the system does not know it.
const ASSUMED: Alignment = Alignment { offset: BLOCK, memory: BLOCK };

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl File {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file =
            fs::File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Self::from_std(path, file))
    }

    /// Takes a file that is open for reads; `path` is its name in errors.
    pub fn from_std(path: impl Into<PathBuf>, file: fs::File) -> Self {
        sys::expect_random(&file);
        Self(Arc::new(Open {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            path: path.into(),
            buffered: file,
            direct: OnceLock::new(),
            tells_cached: AtomicBool::new(true),
            page_bytes: sys::page_bytes(),
            on_close: Mutex::default(),
        }))
    }

    /// Its name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its present length.
    ///
    /// # Errors
    /// [`Error::Open`] if it cannot be asked.
    pub fn length(&self) -> Result<u64, Error> {
        let metadata = self.0.buffered.metadata();
        let metadata =
            metadata.map_err(|source| Error::Open { path: self.0.path.clone(), source })?;
        Ok(metadata.len())
    }

    /// Whether reads can go past the page cache.
    #[must_use]
    pub fn has_direct(&self) -> bool {
        self.alignment().is_some()
    }

    /// Has all reads go through the page cache, whatever a reader is asked for: for a file that is
    /// to be found there by the next one who reads it. No effect once a read was direct.
    pub fn keep_to_cache(&self) {
        drop(self.0.direct.set(None));
    }

    /// Whether a range is in the page cache as a whole, as far as the system tells.
    #[must_use]
    pub fn is_cached(&self, range: &Range<u64>) -> bool {
        let length = range.end.saturating_sub(range.start);
        self.cached(range.start, length) == Cached::All
    }

    /// The alignment of direct reads; none if there are none.
    pub(crate) fn alignment(&self) -> Option<Alignment> {
        self.direct().map(|direct| direct.alignment)
    }

    /// The file to give to the system. Direct access to a file without it is buffered.
    pub(crate) fn handle(&self, access: Access) -> &fs::File {
        match access {
            Access::Buffered => &self.0.buffered,
            Access::Direct => self.direct().map_or(&self.0.buffered, |direct| &direct.file),
        }
    }

    /// Names file and access among those of a ring.
    pub(crate) fn key(&self, access: Access) -> (u64, Access) {
        (self.0.id, access)
    }

    /// Has `ring` interrupted when the last clone is gone.
    pub(crate) fn on_close(&self, ring: Weak<dyn Interrupt>) {
        let mut on_close = self.0.on_close.lock().unwrap_or_else(PoisonError::into_inner);
        on_close.retain(|ring| ring.strong_count() > 0);
        on_close.push(ring);
    }

    /// Notices when all clones are gone.
    pub(crate) fn downgrade(&self) -> WeakFile {
        WeakFile(Arc::downgrade(&self.0))
    }

    /// The share of a range that is in the page cache.
    pub(crate) fn cached(&self, offset: u64, length: u64) -> Cached {
        if !self.0.tells_cached.load(Ordering::Relaxed) {
            return Cached::Unknown;
        }
        let page = self.0.page_bytes;
        let first = offset / page;
        let pages = offset.saturating_add(length).div_ceil(page).saturating_sub(first);
        match sys::cached_pages(&self.0.buffered, offset, length) {
            Ok(cached) if cached >= pages => Cached::All,
            Ok(cached) if cached.saturating_mul(2) >= pages => Cached::Most,
            Ok(_) => Cached::Few,
            Err(_) => {
                self.0.tells_cached.store(false, Ordering::Relaxed);
                Cached::Unknown
            }
        }
    }

    /// Reads from the page cache, up to the first byte that is not there.
    ///
    /// # Safety
    /// The memory may be written to until this returns.
    pub(crate) unsafe fn read_cached(
        &self,
        offset: u64,
        pointer: *mut u8,
        length: usize,
    ) -> io::Result<usize> {
        // SAFETY: the caller's.
        unsafe { sys::pread_cached(&self.0.buffered, offset, pointer, length) }
    }

    fn direct(&self) -> Option<&DirectFile> {
        let open = || {
            let alignment = sys::direct_alignment(&self.0.buffered, ASSUMED)?;
            // Another open of the same file, whatever its path names by now.
            let same = format!("/proc/self/fd/{}", self.0.buffered.as_raw_fd());
            let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(same);
            Some(DirectFile { file: file.ok()?, alignment })
        };
        self.0.direct.get_or_init(open).as_ref()
    }
}

/// A file that may be closed by now.
#[derive(Debug)]
pub(crate) struct WeakFile(Weak<Open>);

impl WeakFile {
    pub(crate) fn is_closed(&self) -> bool {
        self.0.strong_count() == 0
    }
}
