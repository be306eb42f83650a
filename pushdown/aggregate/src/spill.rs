// SPDX-License-Identifier: Apache-2.0
//! Appends blocks to a file, partition by partition, and reads it section by section.
//!
//! ```text
//! partition = sections of rows, sections of groups
//! section   = count (8 bytes), columns, keys
//! keys      = words
//!           | length of all keys (8 bytes), their ends, their hashes, their bytes
//!           | views, count of words (8 bytes), words, hashes, count of buffers (8 bytes),
//!             length (8 bytes) and bytes of each buffer
//! ```
//!
//! A section ends at [`Limits::section_rows`](crate::Limits) rows, or some 100 KiB, so that neither
//! writing nor reading takes much memory, however many rows a partition has. Numbers are in the
//! order of this machine's bytes: a file does not outlive its query.

use std::{
    fmt,
    io::{self, Write},
    ops::Range,
    sync::Arc,
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

/// Bytes at which a section ends.
const SECTION_BYTES: usize = 1 << 17;

/// Rows that are added to a section before its bytes are looked at.
const STEP_ROWS: usize = 256;

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
    file: Arc<dyn SpillReader>,
    kind: Kind,
    sections: Vec<Section>,
    /// Where the sections of each partition end, `[partitions]`.
    ends: Vec<u32>,
    bytes: u64,
}

/// Rows or groups of one partition, in a file.
#[derive(Debug)]
pub(crate) struct Section {
    contents: Contents,
    offset: u64,
    pub(crate) bytes: usize,
    rows: usize,
}

/// Writes blocks to `writer`, whose next byte is at `offset` of the file that `file` reads.
///
/// # Errors
/// If they cannot be written.
pub fn write_blocks(
    shape: &Shape,
    blocks: &[Block],
    writer: &mut dyn Write,
    offset: u64,
    file: Arc<dyn SpillReader>,
) -> Result<Spilled> {
    match blocks.iter().map(|block| block.keys.kind()).max().unwrap_or(Kind::Word) {
        Kind::Word => SpillWriter::<Words<u64>>::write(shape, blocks, writer, offset, file),
        Kind::Wide => SpillWriter::<Words<u128>>::write(shape, blocks, writer, offset, file),
        Kind::Text => SpillWriter::<TextKeys>::write(shape, blocks, writer, offset, file),
        Kind::Bytes => SpillWriter::<ByteKeys>::write(shape, blocks, writer, offset, file),
    }
}

/// Writes blocks with keys of one kind.
struct SpillWriter<'a, K> {
    shape: &'a Shape,
    writer: &'a mut dyn Write,
    offset: u64,
    sections: Vec<Section>,
    /// Rows of the section that is not written yet.
    keys: K,
    columns: Vec<Column>,
    buffer: Vec<u8>,
}

impl<'a, K: StoredKeys> SpillWriter<'a, K> {
    fn write(
        shape: &'a Shape,
        blocks: &[Block],
        writer: &'a mut dyn Write,
        offset: u64,
        file: Arc<dyn SpillReader>,
    ) -> Result<Spilled> {
        let (sections, columns, buffer) = (Vec::new(), Vec::new(), Vec::new());
        let mut this =
            Self { shape, writer, offset, sections, keys: K::default(), columns, buffer };
        let mut ends = Vec::with_capacity(shape.partitions());
        for partition in 0..shape.partitions() {
            for contents in [Contents::Rows, Contents::Groups] {
                this.columns = columns_of(shape, contents);
                for block in blocks.iter().filter(|block| block.contents == contents) {
                    this.push(block, block.rows_of(partition..partition + 1))?;
                }
                this.end_section(contents)?;
            }
            // A section takes bytes of a file, and 2^32 of them more than any file has.
            ends.push(u32::try_from(this.sections.len()).unwrap_or(u32::MAX));
        }
        this.writer.flush()?;
        let bytes = this.offset - offset;
        Ok(Spilled {
            file,
            kind: K::default().into_any().kind(),
            sections: this.sections,
            ends,
            bytes,
        })
    }

    fn push(&mut self, block: &Block, mut rows: Range<usize>) -> Result<()> {
        while !rows.is_empty() {
            let room = self.shape.limits.section_rows.saturating_sub(self.keys.len());
            let some = rows.start..rows.end.min(rows.start + room.clamp(1, STEP_ROWS));
            rows.start = some.end;
            if let Some((keys, key_rows)) = K::slice_of_any(&block.keys, some.clone()) {
                self.keys.push_range(&keys, key_rows);
            }
            for (column, values) in self.columns.iter_mut().zip(&block.columns) {
                column.push_range(values, some.clone());
            }
            let values: usize = self.columns.iter().map(Column::used_bytes).sum();
            if self.keys.len() >= self.shape.limits.section_rows
                || self.keys.used_bytes() + values >= SECTION_BYTES
            {
                self.end_section(block.contents)?;
            }
        }
        Ok(())
    }

    /// Writes the rows that there are.
    fn end_section(&mut self, contents: Contents) -> Result<()> {
        let keys = std::mem::take(&mut self.keys);
        let rows = keys.len();
        if rows == 0 {
            return Ok(());
        }
        self.buffer.clear();
        put(&mut self.buffer, &[rows as u64]);
        for column in &mut self.columns {
            with_values!(column, values => put(&mut self.buffer, values), ());
            column.clear();
        }
        keys.store(&mut self.buffer);
        self.writer.write_all(&self.buffer)?;
        let bytes = self.buffer.len();
        self.sections.push(Section { contents, offset: self.offset, bytes, rows });
        self.offset += bytes as u64;
        Ok(())
    }
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
    /// Bytes in the file.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of memory, of where the rows are.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.sections.capacity() * size_of::<Section>() + size_of_val(&self.ends[..])
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// The sections of some partitions.
    pub(crate) fn sections_of(&self, partitions: Range<usize>) -> &[Section] {
        let end = |partitions: usize| match partitions {
            0 => 0,
            _ => self.ends[partitions - 1] as usize,
        };
        &self.sections[end(partitions.start)..end(partitions.end)]
    }

    pub(crate) fn rows_of(&self, partitions: Range<usize>) -> usize {
        self.sections_of(partitions).iter().map(|section| section.rows).sum()
    }

    /// The rows of a section.
    pub(crate) fn read(&self, shape: &Shape, section: &Section) -> Result<Block> {
        let mut buffer = vec![0; section.bytes];
        self.file.read_at(section.offset, &mut buffer)?;
        let bytes = &mut &buffer[..];
        let count = take_count(bytes)?;
        let mut columns = columns_of(shape, section.contents);
        for column in &mut columns {
            with_values!(column, values => *values = take(bytes, count)?, ());
        }
        let keys = match self.kind {
            Kind::Word => Words::<u64>::load(bytes, count)?.into_any(),
            Kind::Wide => Words::<u128>::load(bytes, count)?.into_any(),
            Kind::Text => TextKeys::load(bytes, count)?.into_any(),
            Kind::Bytes => ByteKeys::load(bytes, count)?.into_any(),
        };
        Ok(Block::of_one_partition(section.contents, keys, columns))
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

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;
    use crate::{
        keys::KeyLayout,
        shape::{Fold, State, Values},
    };

    #[derive(Debug)]
    struct Unread;

    impl SpillReader for Unread {
        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn sections_of_rows_of_one_width_have_as_many_rows_each() {
        let sum = State { fold: Fold::Sum, argument: 0, values: Values::I64 };
        let layout = KeyLayout::new([(DataType::Int64, false)]).unwrap();
        let shape = Shape::new(layout, vec![sum; 5], 1);
        let rows = 40_000;
        let columns = vec![Column::I64(vec![1; rows]); 5];
        let keys = Words(vec![7_u64; rows]);
        let block = Block::sorted(Contents::Rows, &shape, &keys, &columns, &vec![0; rows]);
        let spilled = write_blocks(&shape, &[block], &mut Vec::new(), 0, Arc::new(Unread)).unwrap();
        let sections: Vec<usize> = spilled.sections.iter().map(|section| section.rows).collect();
        let (last, others) = sections.split_last().unwrap();
        // A row has 48 bytes.
        let expected = (SECTION_BYTES / 48).next_multiple_of(STEP_ROWS);
        assert!(others.iter().all(|rows| *rows == expected), "{sections:?}");
        assert_eq!(others.iter().sum::<usize>() + last, rows);
    }
}
