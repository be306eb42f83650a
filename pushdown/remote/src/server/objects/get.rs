// SPDX-License-Identifier: Apache-2.0
//! Reads bytes of an object: its description, then parts of the ranges in their order.
//!
//! A part that is in the page cache is read at once, by whoever asks for the next one: handing it
//! to another thread and back would take longer. A thread is taken for each part that is not, and
//! none while the client is slow.

use std::ops::Range;

use bytes::Bytes;
use futures::{StreamExt, stream, stream::BoxStream};
use nearscan_store::Reader;
use prost::Message;
use tonic::Status;

use super::{Objects, blocking};
use crate::{
    buffers::{BUFFER_BYTES, Buffers},
    convert::objects::status_of,
    protocol::objects::{ObjectInfo, RANGES_MAX, Read},
};

/// Parts that are read before they are sent.
const READ_AHEAD: usize = 2;

/// An object that is about to be sent.
pub(in crate::server) struct Parts {
    /// The description of the object.
    pub(in crate::server) head: Bytes,
    /// The bytes of the ranges, in parts.
    pub(in crate::server) bytes: BoxStream<'static, Result<Bytes, Status>>,
}

/// An object that was opened, and what is asked of it.
pub(in crate::server) struct Opened {
    pub(in crate::server) reader: Reader,
    pub(in crate::server) ranges: Vec<Range<u64>>,
}

impl Objects {
    /// Opens the object that a ticket names, and checks what it asks for.
    pub(in crate::server) async fn open(&self, ticket: Read) -> Result<Opened, Status> {
        let Read { name, version, ranges, .. } = ticket;
        if ranges.len() > RANGES_MAX {
            let text = format!("{} ranges, the limit is {RANGES_MAX}", ranges.len());
            return Err(Status::invalid_argument(text));
        }
        let store = self.store.clone();
        let reader = blocking(move || store.reader(&name.object_path()?)).await?;
        let info = reader.info();
        if let Some(expected) = version
            && expected != info.version
        {
            let text = format!("object {} has version {}, not {expected}", info.path, info.version);
            return Err(Status::aborted(text));
        }
        let ranges: Vec<Range<u64>> = match ranges.is_empty() {
            true => std::iter::once(0..info.length).collect(),
            false => ranges.iter().map(|range| range.start..range.end).collect(),
        };
        for range in &ranges {
            if range.start > range.end || range.end > info.length {
                let (start, end) = (range.start, range.end);
                let text = format!("object {} has {} bytes", info.path, info.length);
                return Err(Status::out_of_range(format!("{text}, not {start} to {end}")));
            }
        }
        Ok(Opened { reader, ranges })
    }

    /// Begins to read what a ticket asks for.
    pub(in crate::server) async fn get(&self, ticket: Read) -> Result<Parts, Status> {
        let Opened { reader, ranges } = self.open(ticket).await?;
        let head = ObjectInfo::from(reader.info()).encode_to_vec().into();
        let buffers = self.buffers.clone();
        let parts = stream::iter(ranges.into_iter().flat_map(parts_of));
        let parts = parts.map(move |(offset, length)| {
            read_part(reader.clone(), buffers.clone(), offset, length)
        });
        Ok(Parts { head, bytes: parts.buffered(READ_AHEAD).boxed() })
    }
}

/// The parts of a range: where each begins, and how long it is.
fn parts_of(range: Range<u64>) -> impl Iterator<Item = (u64, usize)> {
    let starts = range.clone().step_by(BUFFER_BYTES);
    starts.map(move |start| {
        (start, usize::try_from(range.end - start).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES))
    })
}

async fn read_part(
    reader: Reader,
    buffers: Buffers,
    offset: u64,
    length: usize,
) -> Result<Bytes, Status> {
    let mut buffer = buffers.take(length);
    let read = reader.read_cached_into(offset, buffer.as_mut());
    let read = read.map_err(|error| status_of(&error))?;
    if read < length {
        let read_rest = move || {
            reader.read_into(offset + read as u64, &mut buffer.as_mut()[read..])?;
            Ok(buffer)
        };
        buffer = blocking(read_rest).await?;
    }
    Ok(buffer.freeze())
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path, sync::Arc};

    use futures::TryStreamExt;
    use nearscan_store::{CollectionPath, Condition, Disk, DiskFile, LocalDisk, Quota, Store};
    use rstest::rstest;

    use super::*;
    use crate::protocol::objects::ObjectName;

    /// A disk that has the first bytes of each read in memory, and no more.
    #[derive(Debug)]
    struct HalfCached(LocalDisk, usize);

    #[derive(Debug)]
    struct HalfCachedFile(Arc<dyn DiskFile>, usize);

    impl Disk for HalfCached {
        fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
            self.0.create(path)
        }

        fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
            Ok(Arc::new(HalfCachedFile(self.0.open(path)?, self.1)))
        }

        fn remove(&self, path: &str) -> io::Result<()> {
            self.0.remove(path)
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.rename(from, to)
        }

        fn create_folder(&self, path: &str) -> io::Result<()> {
            self.0.create_folder(path)
        }

        fn list(&self, folder: &str) -> io::Result<Vec<String>> {
            self.0.list(folder)
        }

        fn sync_folder(&self, folder: &str) -> io::Result<()> {
            self.0.sync_folder(folder)
        }
    }

    impl DiskFile for HalfCachedFile {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            self.0.read_at(offset, buffer)
        }

        fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
            let count = buffer.len().min(self.1);
            self.0.read_at(offset, &mut buffer[..count]).map_or(0, |()| count)
        }

        fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.0.write_at(offset, bytes)
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.0.set_len(length)
        }

        fn sync(&self) -> io::Result<()> {
            self.0.sync()
        }
    }

    fn with_object(root: &Path, cached: usize, bytes: &[u8]) -> (Objects, Read) {
        let store = Store::open_on(HalfCached(LocalDisk::open(root).unwrap(), cached)).unwrap();
        let collection = CollectionPath::in_default("c").unwrap();
        store.create_collection(&collection, Quota::default()).unwrap();
        let path = collection.object("o").unwrap();
        store.put(&path, bytes, Condition::Absent).unwrap();
        let name = ObjectName::from(&path);
        let read = Read { name, version: None, ranges: Vec::new(), stream: None };
        (Objects::new(store), read)
    }

    #[rstest]
    #[case::nothing(0)]
    #[case::some(1000)]
    #[case::all(usize::MAX)]
    #[tokio::test]
    async fn bytes_are_the_same_however_many_of_them_are_cached(#[case] cached: usize) {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> =
            (0..3 * BUFFER_BYTES + 7).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let (objects, read) = with_object(folder.path(), cached, &bytes);
        let parts = objects.get(read).await.unwrap();
        let parts: Vec<Bytes> = parts.bytes.try_collect().await.unwrap();
        assert_eq!(parts.len(), 4);
        assert!(parts.concat() == bytes);
    }
}
