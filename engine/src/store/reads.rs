// SPDX-License-Identifier: Apache-2.0
//! Reads ranges of local files through the one reader of an engine, which has many requests in
//! flight.
//!
//! What is in the page cache is copied when a read begins; only the rest is sent to the system. The
//! reader is started at first use, and anew at the first use after its settings were changed; reads
//! that are under way end with the reader that they began with.
//!
//! A read that cannot be done, for whatever reason, is left to the library's store, which finds the
//! error again and reports it in its words. Bytes belong to whoever asked for them from the moment
//! they are allocated, as with that store, so they are not charged to the memory pool here.

use std::{
    fs,
    future::Future,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bytes::Bytes;
use nearscan_io::{Direct, Engine, Error, File, Options, Reader, Report};
use tokio::runtime::Handle;

use crate::settings::IoOptions;

/// Largest request whose cached bytes are copied on the thread that asks: copying more takes longer
/// than handing it to another thread.
const INLINE_BYTES_MAX: u64 = 1 << 20;

/// Files above this length do not stay in the page cache beside everything else. Shorter ones are
/// read into it by default, where the next query finds them.
static CACHEABLE_BYTES: LazyLock<u64> = LazyLock::new(|| nearscan_io::memory_bytes() / 2);

/// The reader of an engine; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalReads(Arc<Mutex<Arc<Current>>>);

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
            // A file is open for one call, which is not worth its registration.
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
    pub(crate) fn apply(&self, options: IoOptions) -> Result<(), String> {
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
    pub(crate) fn report(&self) -> Result<Report, String> {
        let current = self.current();
        current.reader().map(Reader::report).map_err(str::to_owned)
    }

    /// Reads ranges of a file; nothing if the library's store has to do it.
    pub(super) async fn read(&self, path: PathBuf, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        // What an empty range beyond the file means is the library's business.
        if ranges.iter().any(Range::is_empty) {
            return None;
        }
        let current = self.current();
        let reader = current.reader().ok()?.clone();
        let (ranges, direct) = (ranges.to_vec(), current.options.direct);
        let bytes =
            ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
        let name = path.clone();
        let begin = move || begin(reader, direct, &path, &ranges);
        let begun = match Handle::try_current() {
            Ok(runtime) if bytes > INLINE_BYTES_MAX => runtime.spawn_blocking(begin).await.ok()?,
            _ => begin(),
        };
        match begun?.await {
            Ok(read) => Some(read),
            Err(error) => {
                let detail = error.detail();
                tracing::debug!(file = %name.display(), %error, detail, "read once more");
                None
            }
        }
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Current>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to read ranges that are within a file; nothing if it is none, or shorter.
fn begin(
    reader: Reader,
    direct: Direct,
    path: &Path,
    ranges: &[Range<u64>],
) -> Option<impl Future<Output = Result<Vec<Bytes>, Error>> + Send + use<>> {
    // Opening what is no file, such as a pipe, may wait for ever.
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if ranges.iter().any(|range| range.end > metadata.len()) {
        return None;
    }
    let file = File::open(path).ok()?;
    if direct == Direct::Auto && metadata.len() <= *CACHEABLE_BYTES {
        file.keep_to_cache();
    }
    let read = reader.read_ranges(&file, ranges);
    Some(async move {
        let read = read.await;
        // Until here: the last reader to go ends what is under way.
        drop(reader);
        read
    })
}
