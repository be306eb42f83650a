// SPDX-License-Identifier: Apache-2.0
//! Writes blocks to a file, partition by partition, and reads single partitions of it.
//!
//! ```text
//! partition = section of rows, section of groups
//! section   = count (8 bytes), columns, keys
//! keys      = words
//!           | length of all keys (8 bytes), their ends, their hashes, their bytes
//!           | views, count of words (8 bytes), words, hashes, count of buffers (8 bytes),
//!             length (8 bytes) and bytes of each buffer
//! ```
//!
//! Numbers are in the order of this machine's bytes: a file does not outlive its query.

use std::{
    fmt,
    io::{self, Write},
    ops::Range,
};

use arrow::buffer::Buffer;
use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::{
    block::{Block, Contents},
    column::{Column, with_values},
    error::{Error, Result},
    keys::{ByteKeys, Keys, Kind, TextKeys, Words},
    shape::Shape,
};

/// A file that blocks were written to.
pub trait SpillReader: fmt::Debug + Send + Sync {
    /// Fills `buffer` with the bytes at an offset.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Blocks in a file.
#[derive(Debug)]
pub struct Spilled {
    file: Box<dyn SpillReader>,
    kind: Kind,
    partitions: Vec<Place>,
}

/// Where a partition is in its file.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    bytes: usize,
    rows: usize,
}

/// Writes blocks; `reader` makes the reader of what was written.
///
/// # Errors
/// If they cannot be written.
pub fn write_blocks<W: Write>(
    shape: &Shape,
    blocks: Vec<Block>,
    mut writer: W,
    reader: impl FnOnce(W) -> Result<Box<dyn SpillReader>>,
) -> Result<Spilled> {
    let kind = blocks.iter().map(|block| block.keys.kind()).max().unwrap_or(Kind::Word);
    let blocks: Vec<Block> = match kind {
        Kind::Wide => blocks.into_iter().map(Block::widened).collect(),
        Kind::Word | Kind::Text | Kind::Bytes => blocks,
    };
    let mut offset = 0;
    let mut partitions = Vec::with_capacity(shape.partitions());
    let mut buffer = Vec::new();
    for partition in 0..shape.partitions() {
        buffer.clear();
        let mut rows = 0;
        for contents in [Contents::Rows, Contents::Groups] {
            let blocks = blocks.iter().filter(|block| block.contents == contents);
            let slices: Vec<_> =
                blocks.map(|block| (block, block.rows_of(partition..partition + 1))).collect();
            rows += match kind {
                Kind::Word => put_section::<Words<u64>>(shape, contents, &slices, &mut buffer),
                Kind::Wide => put_section::<Words<u128>>(shape, contents, &slices, &mut buffer),
                Kind::Text => put_section::<TextKeys>(shape, contents, &slices, &mut buffer),
                Kind::Bytes => put_section::<ByteKeys>(shape, contents, &slices, &mut buffer),
            };
        }
        writer.write_all(&buffer)?;
        partitions.push(Place { offset, bytes: buffer.len(), rows });
        offset += buffer.len() as u64;
    }
    writer.flush()?;
    Ok(Spilled { file: reader(writer)?, kind, partitions })
}

/// Appends the rows of blocks with the same contents, and returns their number.
fn put_section<K: StoredKeys>(
    shape: &Shape,
    contents: Contents,
    slices: &[(&Block, Range<usize>)],
    buffer: &mut Vec<u8>,
) -> usize {
    let mut keys = K::default();
    let mut columns = columns_of(shape, contents);
    for (block, rows) in slices {
        if let Some(block_keys) = K::of_any(&block.keys) {
            keys.push_range(block_keys, rows.clone());
        }
        for (column, values) in columns.iter_mut().zip(&block.columns) {
            column.push_range(values, rows.clone());
        }
    }
    put(buffer, &[keys.len() as u64]);
    columns.iter().for_each(|column| with_values!(column, values => put(buffer, values), ()));
    let count = keys.len();
    keys.store(buffer);
    count
}

fn columns_of(shape: &Shape, contents: Contents) -> Vec<Column> {
    let states = shape.states.iter();
    match contents {
        Contents::Rows => states.map(Column::of_rows).collect(),
        Contents::Groups => states.map(Column::of_groups).collect(),
    }
}

fn put<T: Pod>(buffer: &mut Vec<u8>, values: &[T]) {
    buffer.extend_from_slice(cast_slice(values));
}

/// Takes so many values off the front of the bytes.
fn take<T: Pod>(bytes: &mut &[u8], count: usize) -> Result<Vec<T>> {
    let length = count.checked_mul(size_of::<T>());
    let (values, rest) = length
        .and_then(|length| bytes.split_at_checked(length))
        .ok_or(Error::Damaged { what: "it is too short" })?;
    *bytes = rest;
    let mut taken = vec![T::zeroed(); count];
    cast_slice_mut(&mut taken).copy_from_slice(values);
    Ok(taken)
}

/// Takes a number that is less than the bytes that are left.
fn take_count(bytes: &mut &[u8]) -> Result<usize> {
    let [count] = take::<u64>(bytes, 1)?[..] else {
        return Err(Error::Damaged { what: "it has no count" });
    };
    usize::try_from(count).map_err(|_| Error::Damaged { what: "its count is too large" })
}

impl Spilled {
    /// Bytes of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.partitions.last().map_or(0, |last| last.offset + last.bytes as u64)
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Bytes of a partition in the file.
    pub(crate) fn bytes_of(&self, partition: usize) -> usize {
        self.partitions[partition].bytes
    }

    pub(crate) fn rows_of(&self, partition: usize) -> usize {
        self.partitions[partition].rows
    }

    /// The rows of some partitions.
    pub(crate) fn read(&self, shape: &Shape, partitions: Range<usize>) -> Result<Vec<Block>> {
        let places = &self.partitions[partitions];
        let Some(first) = places.first() else { return Ok(Vec::new()) };
        let mut buffer = vec![0; places.iter().map(|place| place.bytes).sum()];
        self.file.read_at(first.offset, &mut buffer)?;
        let mut bytes = &buffer[..];
        let mut blocks = Vec::with_capacity(2 * places.len());
        for _ in places {
            for contents in [Contents::Rows, Contents::Groups] {
                blocks.push(self.section(shape, contents, &mut bytes)?);
            }
        }
        Ok(blocks)
    }

    fn section(&self, shape: &Shape, contents: Contents, bytes: &mut &[u8]) -> Result<Block> {
        let count = take_count(bytes)?;
        let mut columns = columns_of(shape, contents);
        for column in &mut columns {
            with_values!(column, values => *values = take(bytes, count)?, ());
        }
        let keys = match self.kind {
            Kind::Word => Words::<u64>::load(bytes, count)?.into_any(),
            Kind::Wide => Words::<u128>::load(bytes, count)?.into_any(),
            Kind::Text => TextKeys::load(bytes, count)?.into_any(),
            Kind::Bytes => ByteKeys::load(bytes, count)?.into_any(),
        };
        Ok(Block::of_one_partition(contents, keys, columns))
    }
}

/// Keys that can be written to a file.
trait StoredKeys: Keys {
    fn store(self, buffer: &mut Vec<u8>);

    fn load(bytes: &mut &[u8], count: usize) -> Result<Self>;
}

impl<W: Pod> StoredKeys for Words<W>
where
    Self: Keys,
{
    fn store(self, buffer: &mut Vec<u8>) {
        put(buffer, &self.0);
    }

    fn load(bytes: &mut &[u8], count: usize) -> Result<Self> {
        take(bytes, count).map(Self)
    }
}

impl StoredKeys for ByteKeys {
    fn store(self, buffer: &mut Vec<u8>) {
        put(buffer, &[self.bytes.len() as u64]);
        put(buffer, &self.ends);
        put(buffer, &self.hashes);
        put(buffer, &self.bytes);
    }

    fn load(bytes: &mut &[u8], count: usize) -> Result<Self> {
        let length = take_count(bytes)?;
        let ends: Vec<usize> = take(bytes, count)?;
        let hashes = take(bytes, count)?;
        let is_sound = ends.is_sorted() && ends.last().copied().unwrap_or(0) == length;
        match is_sound {
            true => Ok(Self { ends, hashes, bytes: take(bytes, length)? }),
            false => Err(Error::Damaged { what: "its keys end elsewhere" }),
        }
    }
}

impl StoredKeys for TextKeys {
    fn store(self, buffer: &mut Vec<u8>) {
        let keys = self.ended();
        put(buffer, &keys.views);
        put(buffer, &[keys.words.len() as u64]);
        put(buffer, &keys.words);
        put(buffer, &keys.hashes);
        put(buffer, &[keys.buffers.len() as u64]);
        for texts in &keys.buffers {
            put(buffer, &[texts.len() as u64]);
            put(buffer, texts.as_slice());
        }
    }

    fn load(bytes: &mut &[u8], count: usize) -> Result<Self> {
        let views = take(bytes, count)?;
        let words = take_count(bytes)?;
        if words != 0 && words != count {
            return Err(Error::Damaged { what: "its keys have no words" });
        }
        let words = take(bytes, words)?;
        let hashes = take(bytes, count)?;
        let mut buffers = Vec::new();
        for _ in 0..take_count(bytes)? {
            let length = take_count(bytes)?;
            buffers.push(Buffer::from_vec(take::<u8>(bytes, length)?));
        }
        Self::of_parts(views, words, hashes, buffers)
    }
}
