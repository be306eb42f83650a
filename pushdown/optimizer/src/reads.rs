// SPDX-License-Identifier: Apache-2.0
//! Holds the one reader of local files, which all sessions of an engine share.
//!
//! It is started at first use, and anew at the first use after its settings were changed; reads
//! that are under way end with the reader that they began with.

use std::{
    fs,
    path::Path,
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use nearscan_io::{Direct, Engine, Error, File, Options, Reader, Report};

use crate::settings::IoOptions;

/// Files above this length do not stay in the page cache beside everything else. Shorter ones are
/// read into it by default, where the next query finds them.
static CACHEABLE_BYTES: LazyLock<u64> = LazyLock::new(|| nearscan_io::memory_bytes() / 2);

/// The reader of an engine; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LocalReads(Arc<Mutex<Arc<Current>>>);

/// A reader with its settings.
#[derive(Debug, Default)]
struct Current {
    options: IoOptions,
    /// The reader, or the reason why there is none.
    started: OnceLock<Result<Reader, String>>,
}

impl Current {
    fn reader(&self) -> Result<&Reader, &str> {
        let start = || {
            let IoOptions { engine, queue_depth, request_bytes, direct } = self.options;
            // A file is open for one row group, which is not worth its registration.
            let registered_files = 0;
            let options = Options {
                engine,
                queue_depth,
                request_bytes,
                direct,
                registered_files,
                ..Options::default()
            };
            let reason = |error: Error| error.detail().unwrap_or_else(|| error.to_string());
            Reader::new(&options).map_err(reason)
        };
        self.started.get_or_init(start).as_ref().map_err(String::as_str)
    }
}

impl LocalReads {
    /// Has later reads done with other settings.
    ///
    /// # Errors
    /// The reason if `io_uring` was asked for by name and cannot be had; the settings are then as
    /// before.
    pub fn apply(&self, options: IoOptions) -> Result<(), String> {
        if self.current().options == options {
            return Ok(());
        }
        let next = Current { options, started: OnceLock::new() };
        if options.engine == Engine::IoUring {
            next.reader()?;
        }
        let before = std::mem::replace(&mut *self.lock(), Arc::new(next));
        // Behind the lock: the last one waits until its reader has ended.
        drop(before);
        Ok(())
    }

    /// What the reader got of its settings.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn report(&self) -> Result<Report, String> {
        let current = self.current();
        current.reader().map(Reader::report).map_err(str::to_owned)
    }

    /// The reader, with the settings of now.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn reader(&self) -> Result<LocalReader, String> {
        let current = self.current();
        let reader = current.reader()?.clone();
        Ok(LocalReader { reader, direct: current.options.direct })
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Current>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader as one scan, or one call, uses it: to its last clone, whatever becomes of the settings.
#[derive(Debug, Clone)]
pub struct LocalReader {
    /// Runs the reads.
    pub reader: Reader,
    direct: Direct,
}

impl LocalReader {
    /// Takes a file that is open. Reads of it go through the page cache if it stays there.
    pub fn adopt(&self, path: &Path, file: fs::File, length: u64) -> File {
        let file = File::from_std(path, file);
        if self.direct == Direct::Auto && length <= *CACHEABLE_BYTES {
            file.keep_to_cache();
        }
        file
    }
}
