// SPDX-License-Identifier: Apache-2.0
//! Reads ranges of local files through the one reader of an engine, which has many requests in
//! flight.
//!
//! What is in the page cache is copied when a read begins; only the rest is sent to the system.
//!
//! A read that cannot be done, for whatever reason, is left to the library's store, which finds the
//! error again and reports it in its words. Bytes belong to whoever asked for them from the moment
//! they are allocated, as with that store, so they are not charged to the memory pool here.

use std::{
    fs,
    future::Future,
    ops::Range,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use nearscan_io::Error;
use nearscan_optimizer::{LocalReader, LocalReads};
use tokio::runtime::Handle;

/// Largest request whose cached bytes are copied on the thread that asks: copying more takes longer
/// than handing it to another thread.
const INLINE_BYTES_MAX: u64 = 1 << 20;

/// Reads ranges of a file; nothing if the library's store has to do it.
pub(super) async fn read(
    reads: &LocalReads,
    path: PathBuf,
    ranges: &[Range<u64>],
) -> Option<Vec<Bytes>> {
    // What an empty range beyond the file means is the library's business.
    if ranges.iter().any(Range::is_empty) {
        return None;
    }
    let reader = reads.reader().ok()?;
    let ranges = ranges.to_vec();
    let bytes =
        ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
    let name = path.clone();
    let begin = move || begin(reader, &path, &ranges);
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

/// Begins to read ranges that are within a file; nothing if it is none, or shorter.
fn begin(
    reader: LocalReader,
    path: &Path,
    ranges: &[Range<u64>],
) -> Option<impl Future<Output = Result<Vec<Bytes>, Error>> + Send + use<>> {
    // Opening what is no file, such as a pipe, may wait for ever.
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if ranges.iter().any(|range| range.end > metadata.len()) {
        return None;
    }
    let file = reader.adopt(path, fs::File::open(path).ok()?, metadata.len());
    let read = reader.reader.read_ranges(&file, ranges);
    Some(async move {
        let read = read.await;
        // Until here: the last reader to go ends what is under way.
        drop(reader);
        read
    })
}
