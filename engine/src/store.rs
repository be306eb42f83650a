// SPDX-License-Identifier: Apache-2.0
//! Reads local files, and bounds what a corrupt Parquet footer can make its reader allocate.
//!
//! The store of `object_store` allocates memory for a request before it compares the request with
//! the length of the file. A request may come from a footer, so a length of 2^62 would abort the
//! process; large requests are therefore checked against the file first. A client that reads the
//! tail of a Parquet file will decode its footer, which allocates what the footer declares; so the
//! footer is checked at the same time ([`footer`]), and returned from memory when it is requested
//! ([`ending`]). Ranges are read by the engine's reader ([`reads`]). Everything else is delegated
//! to that store.

pub(crate) mod ending;
mod footer;
pub(crate) mod reads;

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    fs::Metadata,
    ops::Range,
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::UNIX_EPOCH,
};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    self, Attributes, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, Result, local::LocalFileSystem, path::Path,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use nearscan_optimizer::LocalReads;
use tokio::runtime::Handle;

use ending::{Ending, EndingError, Part};

/// Largest request, in bytes, that is not checked against the file first.
const FREE_BYTES: u64 = 64 << 20;

/// The end of a Parquet file: the length of the footer in front of it, and a magic word.
pub(crate) const TAIL_BYTES: u64 = 8;

/// Largest number of files with bytes that were read ahead. A pass over footers has as many files
/// open as the setting `meta_fetch_concurrency`, 32 by default.
const AHEAD_MAX: usize = 64;

/// Largest footer, or page indexes of a file, in bytes, that are kept in memory.
const AHEAD_BYTES_MAX: usize = 256 << 10;

/// The magic word at the end of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// The object store of local files.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalFiles {
    files: Arc<LocalFileSystem>,
    reads: LocalReads,
    /// Parts of files that were read with the tail, and not requested yet.
    ahead: Arc<Mutex<HashMap<Path, Vec<Part>>>>,
}

impl LocalFiles {
    /// Makes a store that reads ranges with this reader.
    pub(crate) fn new(reads: LocalReads) -> Self {
        Self { reads, ..Self::default() }
    }

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

    /// Returns the metadata of a file without a change of threads, which takes many times as long
    /// as the lookup itself; every scan looks up its files. None if there is no such file, or the
    /// request needs more than metadata.
    fn metadata(&self, location: &Path, options: &GetOptions) -> Option<ObjectMeta> {
        let is_conditional = options.range.is_some() || options.version.is_some();
        if !options.head || is_conditional {
            return None;
        }
        let path = self.files.path_to_filesystem(location).ok()?;
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let modified = metadata.modified().ok()?;
        let since_epoch = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let (inode, size) = (metadata.ino(), metadata.len());
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: modified.into(),
            size,
            // The tag that the other requests return.
            e_tag: Some(format!("{inode:x}-{since_epoch:x}-{size:x}")),
            version: None,
        };
        options.check_preconditions(&meta).ok().map(|()| meta)
    }

    /// Reads and checks the footer of a Parquet file that ends at byte `end`; nothing if `end` is
    /// not the end of a Parquet file.
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

    /// Keeps the parts of a file that were read ahead, for the requests that follow immediately.
    fn keep(&self, location: &Path, mut parts: Vec<Part>) {
        parts.retain(|(_, bytes)| bytes.len() <= AHEAD_BYTES_MAX);
        let mut ahead = self.ahead();
        if ahead.len() >= AHEAD_MAX {
            ahead.clear();
        }
        ahead.insert(location.clone(), parts);
    }

    /// Takes the parts of a file that were read ahead. Any other request drops them, so that they
    /// are never older than the tail that they were read with.
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
        let Some(meta) = self.metadata(location, &options) else {
            return self.files.get_opts(location, options).await;
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::empty().boxed()),
            range: 0..meta.size,
            meta,
            attributes: Attributes::default(),
        })
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
        let path = self.files.path_to_filesystem(location)?;
        let read = match reads::read(&self.reads, path, ranges).await {
            Some(read) => read,
            None => self.files.get_ranges(location, ranges).await?,
        };
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

    use nearscan_io::Direct;
    use rstest::rstest;

    use super::*;
    use crate::settings::IoOptions;

    #[tokio::test]
    async fn metadata_of_a_file_is_that_of_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ten");
        std::fs::write(&file, [7; 10]).unwrap();
        let location = Path::from_absolute_path(&file).unwrap();
        let store = LocalFiles::default();
        let head = || GetOptions::new().with_head(true);
        assert!(store.metadata(&location, &head()).is_some());
        let of_library = store.files.head(&location).await.unwrap();
        assert_eq!(store.head(&location).await.unwrap(), of_library);
        let another = head().with_if_match(Some("another".to_owned()));
        assert!(store.get_opts(&location, another).await.is_err());
        for missing in [folder.path(), &folder.path().join("none")] {
            let location = Path::from_absolute_path(missing).unwrap();
            assert_eq!(store.metadata(&location, &head()), None);
            let error = store.head(&location).await.unwrap_err();
            assert!(matches!(error, object_store::Error::NotFound { .. }), "{error}");
        }
    }

    #[tokio::test]
    #[expect(clippy::reversed_empty_ranges, reason = "the request has this range")]
    async fn read_beyond_the_file_is_refused_before_allocation() {
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

    /// What cannot be read has the error of the library's store, and the rest its bytes.
    #[rstest]
    #[case::within(vec![0..10, 4000..9000, 20_000..20_001])]
    #[case::overlapping(vec![0..10_000, 5..6, 9000..20_001])]
    #[case::none(vec![])]
    #[case::empty(vec![0..10, 5..5])]
    #[case::empty_beyond_the_end(vec![30_000..30_000])]
    #[case::over_the_end(vec![0..10, 20_000..20_002])]
    #[case::behind_the_end(vec![20_001..20_005])]
    #[tokio::test]
    async fn ranges_are_those_of_the_library(
        #[case] ranges: Vec<Range<u64>>,
        #[values("file", "folder", "missing")] name: &str,
        #[values(Direct::Auto, Direct::Always)] direct: Direct,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..20_001_u32).map(|at| at.to_le_bytes()[0]).collect();
        std::fs::write(folder.path().join("file"), bytes).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let location = Path::from_absolute_path(folder.path().join(name)).unwrap();
        let reads = LocalReads::default();
        reads.apply(IoOptions { direct, ..IoOptions::default() }).unwrap();
        let store = LocalFiles::new(reads);
        let found = store.get_ranges(&location, &ranges).await;
        let of_library = store.files.get_ranges(&location, &ranges).await;
        match (found, of_library) {
            (Ok(found), Ok(of_library)) => assert_eq!(found, of_library),
            (Err(found), Err(of_library)) => assert_eq!(found.to_string(), of_library.to_string()),
            (found, of_library) => panic!("{found:?} instead of {of_library:?}"),
        }
    }

    #[tokio::test]
    async fn reads_of_files_are_done_by_the_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 3 << 20]).unwrap();
        let local = LocalReads::default();
        // One that is small enough for the thread that asks, and one that is not.
        for range in [1..4000, 5..3 << 20] {
            let ranges = std::slice::from_ref(&range);
            let read = reads::read(&local, path.clone(), ranges).await.unwrap();
            assert_eq!(read[0].len() as u64, range.end - range.start);
            assert!(read[0].iter().all(|byte| *byte == 7));
        }
    }

    /// Makes a footer with an index in each of two places.
    fn with_indexes(places: [u64; 2]) -> Vec<u8> {
        // Encodes numbers of up to 56 bits.
        let varint = |number: u64| {
            (0..8).map(move |byte| {
                let seven = u8::try_from(number >> (7 * byte) & 0x7f).unwrap();
                if byte < 7 { seven | 0x80 } else { seven }
            })
        };
        // One row group, its chunks, and the start and length of each index.
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

    /// Reads the tail of a file with two such indexes; the one at `corrupt` declares many pages.
    async fn read(places: [u64; 2], corrupt: Option<u64>) -> Result<Vec<Bytes>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.parquet");
        let file = std::fs::File::create(&path).unwrap();
        let footer = with_indexes(places);
        let start = places.into_iter().filter(|place| *place < 1 << 32).max().unwrap() + 100;
        for place in places.into_iter().filter(|place| *place < start) {
            file.write_all_at(&INDEX, place).unwrap();
        }
        if let Some(place) = corrupt {
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
        // The footer is of the same version as the tail.
        assert_eq!(read(100..101).await, [0][..]);
        assert_eq!(read(100..101).await, [9][..]);
        std::fs::write(&path, file(7)).unwrap();
        read(101..109).await;
        std::fs::write(&path, [9; 109]).unwrap();
        assert_eq!(read(0..1).await, [9][..]);
        assert_eq!(read(100..101).await, [9][..]);
    }

    #[tokio::test]
    async fn footer_is_checked_when_the_tail_is_read() {
        let near = [1 << 10, 1 << 20];
        assert_eq!(read(near, None).await.unwrap().len(), 1);
        // A reader would read everything between the two.
        let error = read([4, FREE_BYTES + 100], None).await.unwrap_err();
        assert!(format!("{error:?}").contains("6 bytes, in bytes 4 to"), "{error:?}");
        let error = read(near, Some(near[1])).await.unwrap_err();
        assert!(format!("{error:?}").contains("127 items in 3 bytes"), "{error:?}");
        // The other one is declared after the end of the file.
        let error = read([1 << 10, 1 << 40], None).await.unwrap_err();
        assert!(format!("{error:?}").contains("of a file of"), "{error:?}");
    }
}
