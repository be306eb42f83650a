// SPDX-License-Identifier: Apache-2.0
//! Defines the result of a command: a header, then blocks of columns.
//!
//! A block holds up to [`BLOCK_ROWS_MAX`](crate::limits::BLOCK_ROWS_MAX) rows. Behind its header
//! stand the columns one after the other, each part padded to 8 bytes:
//!
//! ```text
//! validity   [ceil(rows / 64)] u64, bit r of word r / 64 is 1 where row r is not null
//! values     [rows] of the column's width, little endian; null rows hold zero
//!
//! of byte strings, instead of values
//! ends       [rows] u32, where each string ends
//! bytes      string r is bytes[ends[r - 1] .. ends[r]]
//! ```
//!
//! That is a plain block. A compact one has the same columns in fewer bits, and is expanded when it
//! is read, so that no reader needs to know of it; a result may have blocks of both forms.
//!
//! [`ResultView`] checks everything before it gives out a row: lengths, counts and both checksums.

use std::borrow::Cow;

use crate::{
    compact::{ColumnsReader, Expanded},
    envelope::Envelope,
    error::Error,
    layout::{
        BLOCK_HEADER_BYTES, BlockHeader, FORMAT_MAJOR, FORMAT_MINOR, RESULT_HEADER_BYTES,
        RESULT_MAGIC, Record, ResultRecord,
    },
    limits,
    status::Status,
    types::{BlockForm, Width},
    unit::OUTPUT_BYTES_MAX,
    wire::{check_version, join, read, split},
};

/// Counters of the work of a kernel's stages. See [`ResultRecord`] for the meaning of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the layout table documents each counter")]
pub struct Counters {
    pub filter_iterations: u32,
    pub project_iterations: u32,
    pub aggregate_iterations: u32,
    pub write_iterations: u32,
    pub decode_iterations_lane_max: u32,
    pub dictionary_iterations_lane_max: u32,
    pub page_iterations_lane_max: u32,
    pub memory_read_iterations: u32,
    pub memory_reads: u32,
    pub dictionary_pairs: u32,
    pub loader_iterations_max: u32,
    pub loader_words: u32,
    pub memory_write_iterations: u32,
    pub memory_waits: u32,
    pub memory_writes: u32,
    pub lines_read: u64,
    pub pages: u64,
    pub bytes_decompressed: u64,
    pub snappy_tokens: u64,
    pub snappy_tokens_lane_max: u64,
    pub values_decoded: u64,
    pub decode_steps_lane_max: u64,
    pub dictionary_entries: u64,
    pub dictionary_reads: u64,
    pub rows_filtered: u64,
    pub rows_projected: u64,
    pub rows_aggregated: u64,
    pub string_words: u64,
    pub payload_words: u64,
    pub blocks: u64,
    pub key_words: u64,
}

/// The place in a unit of work at which a failure was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// The column of the fragment.
    pub column: u32,
    /// The page of its chunk, dictionary page included.
    pub page: u32,
    /// The byte of its chunk.
    pub offset: u64,
}

/// The start of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultHeader {
    /// The outcome; anything but [`Status::Ok`] voids the payload.
    pub status: Status,
    /// The place of the failure, if it is known.
    pub detail: Option<Detail>,
    /// Which command this answers.
    pub command_id: u128,
    /// Which attempt of it.
    pub attempt: u32,
    /// In which epoch of the drive.
    pub epoch: u64,
    /// Rows read.
    pub rows_in: u64,
    /// Rows the predicate kept.
    pub rows_kept: u64,
    /// Rows in the payload.
    pub rows_out: u64,
    /// Bytes after the header.
    pub payload_bytes: u64,
    /// CRC-32C of them.
    pub payload_checksum: u32,
    /// First row of the unit that is not in the payload.
    pub continuation_row: u64,
    /// Counters of the work of the stages.
    pub counters: Counters,
}

impl ResultHeader {
    /// Bytes of an encoded header.
    pub const BYTES: u64 = RESULT_HEADER_BYTES as u64;

    /// A header that answers `envelope` with `status` and nothing else.
    pub fn failed(envelope: &Envelope, status: Status) -> Self {
        Self {
            status,
            detail: None,
            command_id: envelope.command_id,
            attempt: envelope.attempt,
            epoch: envelope.epoch,
            rows_in: 0,
            rows_kept: 0,
            rows_out: 0,
            payload_bytes: 0,
            payload_checksum: crc32c::crc32c(&[]),
            continuation_row: 0,
            counters: Counters::default(),
        }
    }

    /// The header's bytes, checksum included.
    pub fn encode(&self) -> Vec<u8> {
        let (command_id_low, command_id_high) = split(self.command_id);
        let counters = &self.counters;
        let mut record = ResultRecord {
            magic: RESULT_MAGIC,
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            status: self.status.code(),
            payload_checksum: self.payload_checksum,
            detail_column: self.detail.map_or(u32::MAX, |detail| detail.column),
            detail_page: self.detail.map_or(0, |detail| detail.page),
            detail_offset: self.detail.map_or(0, |detail| detail.offset),
            attempt: self.attempt,
            command_id_low,
            command_id_high,
            epoch: self.epoch,
            rows_in: self.rows_in,
            rows_kept: self.rows_kept,
            rows_out: self.rows_out,
            payload_bytes: self.payload_bytes,
            continuation_row: self.continuation_row,
            filter_iterations: counters.filter_iterations,
            project_iterations: counters.project_iterations,
            aggregate_iterations: counters.aggregate_iterations,
            write_iterations: counters.write_iterations,
            decode_iterations_lane_max: counters.decode_iterations_lane_max,
            dictionary_iterations_lane_max: counters.dictionary_iterations_lane_max,
            page_iterations_lane_max: counters.page_iterations_lane_max,
            memory_read_iterations: counters.memory_read_iterations,
            memory_reads: counters.memory_reads,
            dictionary_pairs: counters.dictionary_pairs,
            loader_iterations_max: counters.loader_iterations_max,
            loader_words: counters.loader_words,
            memory_write_iterations: counters.memory_write_iterations,
            memory_waits: counters.memory_waits,
            memory_writes: counters.memory_writes,
            lines_read: counters.lines_read,
            pages: in_32_bits(counters.pages),
            bytes_decompressed: counters.bytes_decompressed,
            snappy_tokens: in_32_bits(counters.snappy_tokens),
            snappy_tokens_lane_max: in_32_bits(counters.snappy_tokens_lane_max),
            values_decoded: counters.values_decoded,
            decode_steps_lane_max: counters.decode_steps_lane_max,
            dictionary_entries: in_32_bits(counters.dictionary_entries),
            dictionary_reads: counters.dictionary_reads,
            rows_filtered: in_32_bits(counters.rows_filtered),
            rows_projected: in_32_bits(counters.rows_projected),
            rows_aggregated: in_32_bits(counters.rows_aggregated),
            string_words: counters.string_words,
            payload_words: counters.payload_words,
            blocks: in_32_bits(counters.blocks),
            key_words: in_32_bits(counters.key_words),
            ..ResultRecord::default()
        };
        let mut bytes = Vec::with_capacity(RESULT_HEADER_BYTES as usize);
        record.encode(&mut bytes);
        record.header_checksum = crc32c::crc32c(&bytes);
        bytes.clear();
        record.encode(&mut bytes);
        bytes
    }

    /// Reads a header and checks its checksum.
    ///
    /// # Errors
    /// Too few bytes, another format, a wrong checksum, an unknown status.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let record: ResultRecord = read(bytes, 0, "result header")?;
        if record.magic != RESULT_MAGIC {
            return Err(Error::Magic { part: "result" });
        }
        check_version(record.format_major, record.format_minor)?;
        let mut unsigned = Vec::with_capacity(RESULT_HEADER_BYTES as usize);
        ResultRecord { header_checksum: 0, ..record }.encode(&mut unsigned);
        let actual = crc32c::crc32c(&unsigned);
        if actual != record.header_checksum {
            let expected = record.header_checksum;
            return Err(Error::Checksum { part: "result header", expected, actual });
        }
        Ok(Self {
            status: Status::from_code(record.status)?,
            detail: (record.detail_column != u32::MAX).then_some(Detail {
                column: record.detail_column,
                page: record.detail_page,
                offset: record.detail_offset,
            }),
            command_id: join(record.command_id_low, record.command_id_high),
            attempt: record.attempt,
            epoch: record.epoch,
            rows_in: record.rows_in,
            rows_kept: record.rows_kept,
            rows_out: record.rows_out,
            payload_bytes: record.payload_bytes,
            payload_checksum: record.payload_checksum,
            continuation_row: record.continuation_row,
            counters: Counters {
                filter_iterations: record.filter_iterations,
                project_iterations: record.project_iterations,
                aggregate_iterations: record.aggregate_iterations,
                write_iterations: record.write_iterations,
                decode_iterations_lane_max: record.decode_iterations_lane_max,
                dictionary_iterations_lane_max: record.dictionary_iterations_lane_max,
                page_iterations_lane_max: record.page_iterations_lane_max,
                memory_read_iterations: record.memory_read_iterations,
                memory_reads: record.memory_reads,
                dictionary_pairs: record.dictionary_pairs,
                loader_iterations_max: record.loader_iterations_max,
                loader_words: record.loader_words,
                memory_write_iterations: record.memory_write_iterations,
                memory_waits: record.memory_waits,
                memory_writes: record.memory_writes,
                lines_read: record.lines_read,
                pages: record.pages.into(),
                bytes_decompressed: record.bytes_decompressed,
                snappy_tokens: record.snappy_tokens.into(),
                snappy_tokens_lane_max: record.snappy_tokens_lane_max.into(),
                values_decoded: record.values_decoded,
                decode_steps_lane_max: record.decode_steps_lane_max,
                dictionary_entries: record.dictionary_entries.into(),
                dictionary_reads: record.dictionary_reads,
                rows_filtered: record.rows_filtered.into(),
                rows_projected: record.rows_projected.into(),
                rows_aggregated: record.rows_aggregated.into(),
                string_words: record.string_words,
                payload_words: record.payload_words,
                blocks: record.blocks.into(),
                key_words: record.key_words.into(),
            },
        })
    }
}

/// A counter in the 32 bits that it has in a record, where it stops.
fn in_32_bits(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One column of a [`Block`]: parts of the result, or expanded ones.
#[derive(Debug, Clone)]
pub struct BlockColumn<'a> {
    /// Width of its values.
    pub width: Width,
    /// One bit a row, `[ceil(rows / 64) * 8]` bytes, least significant first.
    pub validity: Cow<'a, [u8]>,
    /// `[rows, width.bytes()]`; of byte strings `[rows]` u32 ends.
    pub values: Cow<'a, [u8]>,
    /// The bytes of byte strings.
    pub bytes: Cow<'a, [u8]>,
}

impl BlockColumn<'_> {
    /// Whether row `row` is not null.
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// The number in row `row`, null or not; `None` for byte strings and after the end.
    pub fn number(&self, row: usize) -> Option<i128> {
        let size = self.width.bytes()? as usize;
        let bytes = self.values.get(row * size..row * size + size)?;
        Some(match *bytes {
            [a] => i128::from(a),
            [a, b, c, d] => i128::from(i32::from_le_bytes([a, b, c, d])),
            _ if size == 8 => i128::from(i64::from_le_bytes(bytes.try_into().ok()?)),
            _ => i128::from_le_bytes(bytes.try_into().ok()?),
        })
    }

    /// End of byte string `row`, in bytes.
    pub fn end(&self, row: usize) -> Option<u32> {
        let bytes = self.values.get(row * 4..row * 4 + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The byte string in row `row`, empty for null; `None` for numbers and after the end.
    pub fn string(&self, row: usize) -> Option<&[u8]> {
        if self.width != Width::Bytes {
            return None;
        }
        let start = match row.checked_sub(1) {
            Some(before) => self.end(before)?,
            None => 0,
        };
        self.bytes.get(start as usize..self.end(row)? as usize)
    }
}

/// Some rows of a payload.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Rows, 1 to [`BLOCK_ROWS_MAX`](limits::BLOCK_ROWS_MAX).
    pub rows: u32,
    /// The columns in output order, checked to hold `rows` values each.
    pub columns: Vec<BlockColumn<'a>>,
}

/// A result whose every length and checksum has been checked.
#[derive(Debug, Clone)]
pub struct ResultView<'a> {
    /// The header.
    pub header: ResultHeader,
    /// The payload; empty unless the status is [`Status::Ok`].
    pub blocks: Vec<Block<'a>>,
}

impl<'a> ResultView<'a> {
    /// Reads `bytes` as the result of a fragment with these output widths.
    ///
    /// Compact blocks are expanded, to [`OUTPUT_BYTES_MAX`] bytes in all: no command asks for a
    /// result that is larger when it is plain.
    ///
    /// # Errors
    /// Any inconsistency: a corrupt result is detected.
    pub fn parse(bytes: &'a [u8], widths: &[Width]) -> Result<Self, Error> {
        Self::parse_within(bytes, widths, OUTPUT_BYTES_MAX)
    }

    /// The same, but compact blocks are expanded to `room` bytes in all: what the command had asked
    /// for.
    ///
    /// # Errors
    /// As [`Self::parse`], and [`Error::Limit`] when the rows take more.
    pub fn parse_within(bytes: &'a [u8], widths: &[Width], room: u64) -> Result<Self, Error> {
        let header = ResultHeader::decode(bytes)?;
        if header.status != Status::Ok {
            return Ok(Self { header, blocks: Vec::new() });
        }
        let start = RESULT_HEADER_BYTES as usize;
        let payload = usize::try_from(header.payload_bytes)
            .ok()
            .and_then(|length| bytes.get(start..)?.get(..length))
            .ok_or(Error::Truncated {
                part: "result payload",
                needed: header.payload_bytes,
                available: (bytes.len() - start) as u64,
            })?;
        let actual = crc32c::crc32c(payload);
        if actual != header.payload_checksum {
            let expected = header.payload_checksum;
            return Err(Error::Checksum { part: "result payload", expected, actual });
        }
        let mut blocks = Vec::new();
        let mut rest = payload;
        let mut rows = 0;
        let mut compact = ColumnsReader::new(widths.len(), room);
        while !rest.is_empty() {
            let (block, behind) = read_block(rest, widths, header.rows_out - rows, &mut compact)?;
            rows += u64::from(block.rows);
            blocks.push(block);
            rest = behind;
        }
        if rows != header.rows_out {
            return Err(OTHER_ROWS);
        }
        Ok(Self { header, blocks })
    }
}

/// Of blocks that have other rows than their header says.
const OTHER_ROWS: Error = Error::Inconsistent { what: "the blocks do not hold the rows announced" };

/// Reads the block at the start of `bytes`, of at most `rows_left` rows.
fn read_block<'a>(
    bytes: &'a [u8],
    widths: &[Width],
    rows_left: u64,
    compact: &mut ColumnsReader<'a>,
) -> Result<(Block<'a>, &'a [u8]), Error> {
    let header: BlockHeader = read(bytes, 0, "block")?;
    if header.rows == 0 || header.rows > limits::BLOCK_ROWS_MAX {
        return Err(Error::Limit {
            what: "rows in a block",
            actual: u64::from(header.rows),
            limit: u64::from(limits::BLOCK_ROWS_MAX),
        });
    }
    if u64::from(header.rows) > rows_left {
        return Err(OTHER_ROWS);
    }
    let (block, behind) = bytes
        .split_at_checked(header.bytes as usize)
        .filter(|_| header.bytes >= BLOCK_HEADER_BYTES)
        .ok_or_else(|| Error::Truncated {
            part: "block",
            needed: u64::from(header.bytes.max(BLOCK_HEADER_BYTES)),
            available: bytes.len() as u64,
        })?;
    let mut rest = &block[BLOCK_HEADER_BYTES as usize..];
    let rows = header.rows as usize;
    let form = u32::try_from(header.form).unwrap_or(u32::MAX);
    let form = BlockForm::from_code(form)?;
    let mut columns = Vec::with_capacity(widths.len());
    for (index, &width) in widths.iter().enumerate() {
        columns.push(match form {
            BlockForm::Plain => read_plain(width, rows, &mut rest)?,
            BlockForm::Compact => {
                let Expanded { validity, values, bytes } =
                    compact.column(index, width, rows, &mut rest)?;
                let [validity, values, bytes] = [validity, values, bytes].map(Cow::Owned);
                BlockColumn { width, validity, values, bytes }
            }
        });
    }
    if !rest.is_empty() {
        return Err(Error::Inconsistent { what: "a block is longer than its columns" });
    }
    Ok((Block { rows: header.rows, columns }, behind))
}

/// Reads the column at the start of `rest` and moves `rest` behind it.
fn read_plain<'a>(
    width: Width,
    rows: usize,
    rest: &mut &'a [u8],
) -> Result<BlockColumn<'a>, Error> {
    let mut take = |length: usize| {
        let padded = length.next_multiple_of(8);
        let Some((part, behind)) = rest.split_at_checked(padded) else {
            let available = rest.len() as u64;
            return Err(Error::Truncated { part: "block", needed: padded as u64, available });
        };
        *rest = behind;
        Ok(Cow::Borrowed(&part[..length]))
    };
    let validity = take(rows.div_ceil(64) * 8)?;
    let values = take(rows * width.bytes().unwrap_or(4) as usize)?;
    let mut column = BlockColumn { width, validity, values, bytes: Cow::Borrowed(&[]) };
    if width == Width::Bytes {
        let mut ends = (0..rows).map(|row| column.end(row).unwrap_or(u32::MAX));
        if !ends.clone().is_sorted() {
            return Err(Error::Inconsistent { what: "the ends of byte strings decrease" });
        }
        let end = ends.next_back().unwrap_or(0);
        column.bytes = take(end as usize)?;
    }
    Ok(column)
}

/// One value of a row, as [`ResultWriter`] takes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// NULL.
    Null,
    /// A number or, in a column of width [`Width::Bool`], 0 or 1.
    Number(i128),
    /// A byte string.
    Bytes(Vec<u8>),
}

/// One row, a value for each output column.
pub type Row = Vec<Value>;

/// Writes plain blocks row by row: the host's side of the format, for drives that are software and
/// for tests.
#[derive(Debug)]
pub struct ResultWriter {
    widths: Vec<Width>,
    pending: Vec<Row>,
    payload: Vec<u8>,
    rows_out: u64,
    blocks: u64,
}

impl ResultWriter {
    /// A writer of rows with these widths.
    pub fn new(widths: Vec<Width>) -> Self {
        Self { widths, pending: Vec::new(), payload: Vec::new(), rows_out: 0, blocks: 0 }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Kind`]-like mismatch of a value with its column, or a number outside its width.
    pub fn push(&mut self, row: Row) -> Result<(), Error> {
        let fits = |(value, width): (&Value, &Width)| match value {
            Value::Null => true,
            Value::Number(number) => width.fits(*number),
            Value::Bytes(_) => *width == Width::Bytes,
        };
        if row.len() != self.widths.len() || !row.iter().zip(&self.widths).all(fits) {
            return Err(Error::Inconsistent { what: "a row does not fit the output's columns" });
        }
        self.pending.push(row);
        self.rows_out += 1;
        if self.pending.len() == limits::BLOCK_ROWS_MAX as usize {
            self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let start = self.payload.len();
        self.payload.resize(start + BLOCK_HEADER_BYTES as usize, 0);
        for (index, width) in self.widths.iter().enumerate() {
            write_column(&mut self.payload, *width, self.pending.iter().map(|row| &row[index]));
        }
        let mut header = Vec::new();
        BlockHeader {
            rows: u32::try_from(self.pending.len()).unwrap_or(u32::MAX),
            bytes: u32::try_from(self.payload.len() - start).unwrap_or(u32::MAX),
            form: BlockForm::Plain.code().into(),
        }
        .encode(&mut header);
        self.payload[start..start + header.len()].copy_from_slice(&header);
        self.blocks += 1;
        self.pending.clear();
    }

    /// The whole result: `header` with the payload's size, rows and checksum filled in, then the
    /// payload.
    pub fn finish(mut self, header: ResultHeader) -> Vec<u8> {
        self.flush();
        let mut counters = header.counters;
        counters.payload_words = self.payload.len() as u64 / 8;
        counters.blocks = self.blocks;
        let header = ResultHeader {
            rows_out: self.rows_out,
            payload_bytes: self.payload.len() as u64,
            payload_checksum: crc32c::crc32c(&self.payload),
            counters,
            ..header
        };
        let mut out = header.encode();
        out.append(&mut self.payload);
        out
    }
}

fn write_column<'a>(
    out: &mut Vec<u8>,
    width: Width,
    values: impl ExactSizeIterator<Item = &'a Value> + Clone,
) {
    let pad = |out: &mut Vec<u8>| out.resize(out.len().next_multiple_of(8), 0);
    let mut validity = vec![0u8; values.len().div_ceil(64) * 8];
    for (row, value) in values.clone().enumerate() {
        validity[row / 8] |= u8::from(*value != Value::Null) << (row % 8);
    }
    out.append(&mut validity);
    let mut bytes = Vec::new();
    for value in values {
        match value {
            Value::Bytes(string) => bytes.extend_from_slice(string),
            Value::Null | Value::Number(_) => {}
        }
        match (width.bytes(), value) {
            (None, _) => {
                let end = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                out.extend_from_slice(&end.to_le_bytes());
            }
            (Some(size), Value::Number(number)) => {
                out.extend_from_slice(&number.to_le_bytes()[..size as usize]);
            }
            (Some(size), _) => out.extend_from_slice(&[0; 16][..size as usize]),
        }
    }
    pad(out);
    out.append(&mut bytes);
    pad(out);
}
