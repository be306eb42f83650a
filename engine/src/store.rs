// SPDX-License-Identifier: Apache-2.0
//! Local files, read no further than they go.
//!
//! The store of `object_store` makes room for what is asked for before it looks how long the file
//! is, and what is asked for may come from a footer: a length of 2^62 would end the process. So
//! large requests are held against the file first. And who reads the end of a Parquet file will
//! decode its footer, which makes room for what that says: so it is looked at first as well
//! ([`footer`]), and handed out from memory when it is asked for ([`ending`]). Everything else is
//! that store's.

pub(crate) mod ending;
mod footer;

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    self, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    local::LocalFileSystem, path::Path,
};
use futures::stream::BoxStream;
use tokio::runtime::Handle;

use ending::{Ending, EndingError, Part};

/// Bytes of one request for which a file need not be looked at first.
const FREE_BYTES: u64 = 64 << 20;

/// The end of a Parquet file: the length of the footer in front of it, and a magic word.
pub(crate) const TAIL_BYTES: u64 = 8;

/// Files of which something is kept that was read ahead; a pass over footers has as many open as
/// the setting `meta_fetch_concurrency` says, 32 unless it is set.
const AHEAD_MAX: usize = 64;

/// Bytes of a footer, or of all indexes of a file, up to which they are kept.
const AHEAD_BYTES_MAX: usize = 256 << 10;

/// The magic word.
const MAGIC: &[u8] = b"PAR1";

/// The files of this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalFiles {
    files: Arc<LocalFileSystem>,
    /// What was read behind the tails of files, and not asked for yet.
    ahead: Arc<Mutex<HashMap<Path, Vec<Part>>>>,
}

impl LocalFiles {
    async fn check(&self, location: &Path, ranges: &[Range<u64>]) -> Result<()> {
        let is_backward = |range: &Range<u64>| range.start > range.end;
        let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
        let bytes = lengths.fold(0, u64::saturating_add);
        if bytes <= FREE_BYTES && !ranges.iter().any(is_backward) {
            return Ok(());
        }
        let size = self.files.head(location).await?.size;
        match ranges.iter().find(|range| is_backward(range) || range.end > size) {
            None => Ok(()),
            Some(Range { start, end }) => Err(object_store::Error::Generic {
                store: "local files",
                source: format!("file '/{location}' has {size} bytes, not bytes {start} to {end}")
                    .into(),
            }),
        }
    }

    /// Reads and walks the footer of a Parquet file that ends at byte `end`; nothing if that is not
    /// where such a file ends.
    async fn read_ending(&self, location: &Path, end: u64) -> Result<Option<Ending>> {
        let path = self.files.path_to_filesystem(location)?;
        let name = format!("/{location}");
        let read = move || ending::read(&path, &name, end);
        let read = match Handle::try_current() {
            Ok(runtime) => runtime.spawn_blocking(read).await?,
            Err(_) => read(),
        };
        let source: Box<dyn Error + Send + Sync> = match read {
            Ok(ending) => return Ok(ending),
            Err(EndingError::Io(error)) => Box::new(error),
            Err(EndingError::Corrupt(corruption)) => Box::new(corruption),
        };
        Err(object_store::Error::Generic { store: "local files", source })
    }

    /// Keeps what was read ahead of a file for the requests that follow at once.
    fn keep(&self, location: &Path, mut parts: Vec<Part>) {
        parts.retain(|(_, bytes)| bytes.len() <= AHEAD_BYTES_MAX);
        let mut ahead = self.ahead();
        if ahead.len() >= AHEAD_MAX {
            ahead.clear();
        }
        ahead.insert(location.clone(), parts);
    }

    /// Takes what was read ahead of a file. Any other request drops it, so that it cannot get older
    /// than the tail that it came with.
    fn take(&self, location: &Path, ranges: &[Range<u64>]) -> Option<Bytes> {
        let mut ahead = self.ahead();
        let mut parts = ahead.remove(location)?;
        let [range] = ranges else { return None };
        let is_asked = |(start, bytes): &Part| {
            *start == range.start && start + bytes.len() as u64 == range.end
        };
        let (_, bytes) = parts.remove(parts.iter().position(is_asked)?);
        if !parts.is_empty() {
            ahead.insert(location.clone(), parts);
        }
        Some(bytes)
    }

    fn ahead(&self) -> MutexGuard<'_, HashMap<Path, Vec<Part>>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for LocalFiles {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.files.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(bytes) = self.take(location, ranges) {
            return Ok(vec![bytes]);
        }
        if let [range] = ranges
            && range.start.checked_add(TAIL_BYTES) == Some(range.end)
            && let Some(ending) = self.read_ending(location, range.end).await?
        {
            self.keep(location, ending.parts);
            return Ok(vec![ending.tail]);
        }
        self.check(location, ranges).await?;
        let read = self.files.get_ranges(location, ranges).await?;
        for (range, bytes) in ranges.iter().zip(&read) {
            if bytes.ends_with(MAGIC) {
                self.read_ending(location, range.end).await?;
            }
        }
        Ok(read)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.files.rename_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[tokio::test]
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is asked for")]
    async fn nothing_is_made_room_for_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ten");
        std::fs::write(&file, [7; 10]).unwrap();
        let location = Path::from_absolute_path(&file).unwrap();
        let store = LocalFiles::default();
        assert_eq!(store.get_ranges(&location, &[2..5, 9..10]).await.unwrap().len(), 2);
        for range in [0..1 << 62, 1 << 40..1 << 41, 5..2] {
            let error = store.get_ranges(&location, &[range]).await.unwrap_err().to_string();
            assert!(error.contains("has 10 bytes, not bytes"), "{error}");
        }
        let beyond = 5..11;
        assert!(store.get_ranges(&location, &[beyond]).await.is_err());
    }

    /// A footer with an index in each of two places.
    fn with_indexes(places: [u64; 2]) -> Vec<u8> {
        // Numbers of up to 56 bits.
        let varint = |number: u64| {
            (0..8).map(move |byte| {
                let seven = u8::try_from(number >> (7 * byte) & 0x7f).unwrap();
                if byte < 7 { seven | 0x80 } else { seven }
            })
        };
        // Row groups, chunks, and of each start and length.
        let mut footer = vec![0x49, 0x1c, 0x19, 0x2c];
        for place in places {
            footer.push(0x46);
            footer.extend(varint(2 * place));
            footer.extend([0x15, 2 * INDEX_BYTES, 0]);
        }
        footer.extend([0, 0]);
        footer
    }

    /// An index without pages.
    const INDEX: [u8; INDEX_BYTES as usize] = [0x19, 0x0c, 0];
    const INDEX_BYTES: u8 = 3;

    /// A file with two such indexes, of which one says that it has many pages.
    async fn read(places: [u64; 2], lie: Option<u64>) -> Result<Vec<Bytes>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.parquet");
        let file = std::fs::File::create(&path).unwrap();
        let footer = with_indexes(places);
        let start = places.into_iter().filter(|place| *place < 1 << 32).max().unwrap() + 100;
        for place in places.into_iter().filter(|place| *place < start) {
            file.write_all_at(&INDEX, place).unwrap();
        }
        if let Some(place) = lie {
            file.write_all_at(&[0x19, 0xfc, 0x7f], place).unwrap();
        }
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        let end = [&footer, &length[..], MAGIC].concat();
        file.write_all_at(&end, start).unwrap();
        let size = start + end.len() as u64;
        let location = Path::from_absolute_path(&path).unwrap();
        let tail = size - TAIL_BYTES..size;
        LocalFiles::default().get_ranges(&location, &[tail]).await
    }

    #[tokio::test]
    async fn footer_that_was_read_ahead_is_dropped_by_any_other_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        // A footer without fields.
        let file = |byte: u8| [&[byte; 100][..], &[0], &1u32.to_le_bytes(), MAGIC].concat();
        let location = Path::from_absolute_path(&path).unwrap();
        let store = LocalFiles::default();
        let read = async |range: Range<u64>| {
            store.get_ranges(&location, &[range]).await.unwrap().remove(0)
        };
        std::fs::write(&path, file(7)).unwrap();
        assert_eq!(read(101..109).await, file(7)[101..]);
        std::fs::write(&path, [9; 109]).unwrap();
        // It is as old as the tail.
        assert_eq!(read(100..101).await, [0][..]);
        assert_eq!(read(100..101).await, [9][..]);
        std::fs::write(&path, file(7)).unwrap();
        read(101..109).await;
        std::fs::write(&path, [9; 109]).unwrap();
        assert_eq!(read(0..1).await, [9][..]);
        assert_eq!(read(100..101).await, [9][..]);
    }

    #[tokio::test]
    async fn a_footer_is_looked_at_when_its_end_is_read() {
        let near = [1 << 10, 1 << 20];
        assert_eq!(read(near, None).await.unwrap().len(), 1);
        // All between the two would be read.
        let error = read([4, FREE_BYTES + 100], None).await.unwrap_err();
        assert!(format!("{error:?}").contains("6 bytes, in bytes 4 to"), "{error:?}");
        let error = read(near, Some(near[1])).await.unwrap_err();
        assert!(format!("{error:?}").contains("127 items in 3 bytes"), "{error:?}");
        // Where the other one says that it is, the file has ended.
        let error = read([1 << 10, 1 << 40], None).await.unwrap_err();
        assert!(format!("{error:?}").contains("of a file of"), "{error:?}");
    }
}
