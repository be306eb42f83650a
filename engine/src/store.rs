// SPDX-License-Identifier: Apache-2.0
//! Local files, read no further than they go.
//!
//! The store of `object_store` makes room for what is asked for before it looks how long the file
//! is, and what is asked for may come from a footer: a length of 2^62 would end the process. So
//! large requests are held against the file first. And who reads the end of a Parquet file will
//! decode its footer, which makes room for what that says: so it is looked at first as well
//! ([`footer`]). Everything else is that store's.

mod footer;

use std::{fmt, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::{
    self, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    coalesce_ranges, local::LocalFileSystem, path::Path,
};
use futures::stream::BoxStream;

use crate::corruption::Corruption;
use footer::HEAD_BYTES;

/// Bytes of one request for which a file need not be looked at first.
const FREE_BYTES: u64 = 64 << 20;

/// The end of a Parquet file: the length of the footer in front of it, and a magic word.
const TAIL_BYTES: u64 = 8;

/// What is this close to one another is read by one request.
const NEAR_BYTES: u64 = 4096;

/// The magic word.
const MAGIC: &[u8] = b"PAR1";

/// The files of this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalFiles(Arc<LocalFileSystem>);

impl LocalFiles {
    async fn check(&self, location: &Path, ranges: &[Range<u64>]) -> Result<()> {
        let is_backward = |range: &Range<u64>| range.start > range.end;
        let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
        let bytes = lengths.fold(0, u64::saturating_add);
        if bytes <= FREE_BYTES && !ranges.iter().any(is_backward) {
            return Ok(());
        }
        let size = self.0.head(location).await?.size;
        match ranges.iter().find(|range| is_backward(range) || range.end > size) {
            None => Ok(()),
            Some(Range { start, end }) => Err(object_store::Error::Generic {
                store: "local files",
                source: format!("file '/{location}' has {size} bytes, not bytes {start} to {end}")
                    .into(),
            }),
        }
    }

    /// Looks at the footer of a Parquet file, of which `tail` is the last that was read.
    async fn check_footer(&self, location: &Path, end: u64, tail: &Bytes) -> Result<()> {
        let Some((rest, _)) = tail.split_last_chunk::<4>() else { return Ok(()) };
        let Some((_, length)) = rest.split_last_chunk() else { return Ok(()) };
        let length = u64::from(u32::from_le_bytes(*length));
        // Other bytes may be the same.
        if self.0.head(location).await?.size != end {
            return Ok(());
        }
        let corrupt = |part: &str, offset: u64, what: String| object_store::Error::Generic {
            store: "local files",
            source: Box::new(Corruption {
                file: format!("/{location}"),
                chunk: None,
                offset: Some(offset),
                what: format!("the {part} cannot be read: {what}"),
            }),
        };
        let start = end.checked_sub(TAIL_BYTES).and_then(|start| start.checked_sub(length));
        let Some(start) = start else {
            let what = format!("it is said to have {length} bytes of the file's {end}");
            return Err(corrupt("footer", end.saturating_sub(TAIL_BYTES), what));
        };
        let bytes = self.0.get_range(location, start..end - TAIL_BYTES).await?;
        let walked = footer::walk(&bytes).map_err(|what| corrupt("footer", start, what))?;
        let Some((range, needed)) = walked.span() else { return Ok(()) };
        if range.end > end || needed > end || range.end - range.start > needed + FREE_BYTES {
            let what = format!(
                "they are said to have {needed} bytes, in bytes {} to {} of a file of {end}",
                range.start, range.end
            );
            return Err(corrupt("indexes of the pages", range.start, what));
        }
        let length = |index: &Range<u64>| index.end - index.start;
        let head = |index: &Range<u64>| index.start..index.start + length(index).min(HEAD_BYTES);
        let heads: Vec<Range<u64>> = walked.offsets.iter().map(head).collect();
        let fetch = |range| self.0.get_range(location, range);
        let read = coalesce_ranges(&heads, fetch, NEAR_BYTES).await?;
        for (index, head) in walked.offsets.iter().zip(read) {
            let checked = footer::check_offsets(&head, length(index));
            checked.map_err(|what| corrupt("index of the pages", index.start, what))?;
        }
        Ok(())
    }
}

impl fmt::Display for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(location, ranges).await?;
        let read = self.0.get_ranges(location, ranges).await?;
        for (range, bytes) in ranges.iter().zip(&read) {
            if bytes.ends_with(MAGIC) {
                self.check_footer(location, range.end, bytes).await?;
            }
        }
        Ok(read)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await
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
