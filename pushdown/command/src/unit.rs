// SPDX-License-Identifier: Apache-2.0
//! Defines [`Unit`], the chunks of one row group that a fragment reads.

use crate::{
    error::{Error, Place},
    fragment::{Aggregate, Fragment, Function, Output},
    input::InputRef,
    limits,
    program::{Operand, limit},
    types::{Codec, Encoding, Encodings, PhysicalType, ReadAs, Reading, ValueKind, Width},
};

/// One column chunk: its place, and the facts of the file's footer.
///
/// The range is the whole chunk, dictionary page and page headers included: the drive parses the
/// pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Which input of the unit.
    pub input: u16,
    /// First byte in the input.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Bytes of its pages when decompressed.
    pub uncompressed_bytes: u64,
    /// The representation of values.
    pub physical_type: PhysicalType,
    /// 0 for a required column, 1 for one that may be null.
    pub definition_level_max: u8,
    /// The compression of pages.
    pub codec: Codec,
    /// Which encodings may occur in data pages. If none but those of indexes and levels, a drive
    /// may rely on it that every value is in the dictionary.
    pub encodings: Encodings,
    /// Bytes of the dictionary page at its start, the page's header included; 0 where the footer
    /// does not say.
    pub dictionary_bytes: u32,
    /// The reading of stored values as numbers.
    pub reading: Reading,
}

/// One unit of work: the chunks of one row group, in the order of the fragment's columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unit {
    /// Rows of the row group.
    pub rows: u64,
    /// The ranges of bytes that hold the chunks.
    pub inputs: Vec<InputRef>,
    /// One for each column of the fragment.
    pub chunks: Vec<Chunk>,
}

/// Scratch of one lane, in bytes from the start of the scratch range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LaneScratch {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Unit {
    /// Bytes of compressed pages that the unit reads.
    pub fn media_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.length).sum()
    }

    /// Checks the unit against the fragment it shall be bound to.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self, fragment: &Fragment) -> Result<(), Error> {
        limit("inputs", self.inputs.len(), limits::INPUTS_MAX)?;
        let extents = self.inputs.iter().map(InputRef::extent_count).sum();
        limit("extents", extents, limits::EXTENTS_MAX)?;
        if self.rows > limits::UNIT_ROWS_MAX {
            return Err(Error::Limit {
                what: "rows in a unit",
                actual: self.rows,
                limit: limits::UNIT_ROWS_MAX,
            });
        }
        if self.chunks.len() != fragment.columns.len() {
            return Err(Error::Inconsistent { what: "a unit has one chunk for each column" });
        }
        for (index, (chunk, column)) in self.chunks.iter().zip(&fragment.columns).enumerate() {
            let place = Place::Column(u32::try_from(index).unwrap_or(u32::MAX));
            chunk.check(column.kind, &self.inputs, place)?;
            if fragment.sums_floats_of(index) && chunk.reading.rule != ReadAs::FloatOrder {
                return Err(Error::Kind { place, expected: "a column of floats" });
            }
        }
        Ok(())
    }

    /// Scratch of each lane: a dictionary's values (or references) when it does not fit on chip or
    /// its codes are group keys, the byte strings that the output shows, and a page whose values
    /// are split into streams.
    pub(crate) fn scratch(&self, fragment: &Fragment) -> Vec<LaneScratch> {
        let mut at = 0;
        self.chunks
            .iter()
            .enumerate()
            .map(|(index, chunk)| {
                let entry_bytes = chunk.physical_type.plain_bytes_min(chunk.reading.length);
                let entries = (chunk.uncompressed_bytes.checked_div(entry_bytes).unwrap_or(0))
                    .min(u64::from(limits::DICTIONARY_ENTRIES_MAX));
                let streams = match chunk.encodings.contains(Encoding::ByteStreamSplit) {
                    // Each stream starts on its own line.
                    true => chunk.uncompressed_bytes + u64::from(limits::FIXED_BYTES_MAX) * 64,
                    false => 0,
                };
                let strings = match chunk.physical_type {
                    // Each string is padded to 8 bytes and has lost its 4-byte length.
                    PhysicalType::ByteArray if fragment.shows_bytes_of(index) => {
                        chunk.uncompressed_bytes.saturating_mul(2)
                    }
                    _ => 0,
                };
                let slots = entries * DICTIONARY_SLOT_BYTES;
                let bytes = (slots + strings + streams).next_multiple_of(64);
                let lane = LaneScratch { offset: at, bytes };
                at += bytes;
                lane
            })
            .collect()
    }

    /// Bytes of device memory that the unit needs beside input and output.
    pub fn scratch_bytes(&self, fragment: &Fragment) -> u64 {
        self.scratch(fragment).iter().map(|lane| lane.bytes).sum()
    }

    /// Room for the largest result that is reasonable: every row kept, strings as long as they are
    /// in the file, but not more than [`OUTPUT_BYTES_MAX`]. A result that needs more ends with
    /// [`Status::OutputFull`](crate::Status::OutputFull).
    pub fn output_bytes(&self, fragment: &Fragment) -> u64 {
        let (rows, strings) = match &fragment.output {
            Output::States { keys, .. } => {
                let shown = self.chunks.iter().enumerate();
                let shown = shown.filter(|(index, _)| fragment.shows_bytes_of(*index));
                let longest = shown
                    .filter(|(_, chunk)| chunk.physical_type == PhysicalType::ByteArray)
                    .map(|(_, chunk)| chunk.uncompressed_bytes)
                    .sum::<u64>();
                match keys.is_empty() {
                    // The least and the greatest.
                    true => (1, longest * 2),
                    false => (u64::from(limits::GROUPS_MAX).min(self.rows.max(1)), longest * 64),
                }
            }
            Output::Rows { columns, limit, .. } => {
                let of = |operand| match operand {
                    Operand::Column(column) => self.chunks.get(usize::from(column)),
                    _ => None,
                };
                let strings = columns
                    .iter()
                    .filter(|column| column.width == Width::Bytes)
                    .filter_map(|column| of(column.operand))
                    .map(|chunk| chunk.uncompressed_bytes.saturating_mul(4).max(self.rows * 32))
                    .sum::<u64>();
                (self.rows.min(limit.unwrap_or(u64::MAX)), strings)
            }
        };
        let row_bytes: u64 = fragment
            .output_widths()
            .iter()
            .map(|width| u64::from(width.bytes().unwrap_or(4)) + 1)
            .sum();
        let blocks = rows / u64::from(limits::BLOCK_ROWS_MAX) + 1;
        let columns = fragment.output_widths().len() as u64;
        (256 + blocks * (16 + columns * 64) + rows * row_bytes + strings)
            .next_multiple_of(64)
            .min(OUTPUT_BYTES_MAX)
    }
}

/// Most bytes of a dictionary entry in scratch: a value or reference, then the outcomes of string
/// tests, if its column has any.
pub const DICTIONARY_SLOT_BYTES: u64 = 16;

/// The largest room for a result that a host requests: a sixteenth of the device's 4 GiB.
pub const OUTPUT_BYTES_MAX: u64 = 256 << 20;

impl Chunk {
    fn check(&self, kind: ValueKind, inputs: &[InputRef], place: Place) -> Result<(), Error> {
        let Some(input) = inputs.get(usize::from(self.input)) else {
            return Err(Error::Index {
                what: "input",
                index: u64::from(self.input),
                count: inputs.len() as u64,
            });
        };
        if self.physical_type.kind() != kind {
            return Err(Error::Kind { place, expected: "a physical type of the column's kind" });
        }
        self.reading.check(self.physical_type, place)?;
        self.encodings.check()?;
        if self.definition_level_max > 1 {
            return Err(Error::Limit {
                what: "definition levels",
                actual: u64::from(self.definition_level_max),
                limit: 1,
            });
        }
        let length = self.length.max(self.uncompressed_bytes);
        if length > limits::CHUNK_BYTES_MAX {
            return Err(Error::Limit {
                what: "bytes in a column chunk",
                actual: length,
                limit: limits::CHUNK_BYTES_MAX,
            });
        }
        let end = self.offset.checked_add(self.length);
        match (end, input.length()) {
            (Some(end), Some(length)) if end <= length => Ok(()),
            (Some(_), None) => Ok(()),
            _ => Err(Error::Inconsistent { what: "a column chunk ends behind its input" }),
        }
    }
}

impl Reading {
    fn check(&self, physical_type: PhysicalType, place: Place) -> Result<(), Error> {
        let fits = match physical_type {
            PhysicalType::Boolean | PhysicalType::ByteArray => self.rule == ReadAs::Signed,
            PhysicalType::Int32 | PhysicalType::Int64 => {
                matches!(self.rule, ReadAs::Signed | ReadAs::Unsigned)
            }
            PhysicalType::Float | PhysicalType::Double => self.rule == ReadAs::FloatOrder,
            PhysicalType::FixedLenByteArray => self.rule == ReadAs::BigEndian,
        };
        let length = u32::from(self.length);
        let has_length = match physical_type {
            PhysicalType::FixedLenByteArray => (1..=limits::FIXED_BYTES_MAX).contains(&length),
            _ => length == 0,
        };
        match fits && has_length && self.bits <= 64 {
            true => Ok(()),
            false => Err(Error::Kind { place, expected: "a reading of the column's stored type" }),
        }
    }
}

impl Fragment {
    /// Whether this column is added up as one of floats.
    fn sums_floats_of(&self, column: usize) -> bool {
        let Output::States { aggregates, .. } = &self.output else { return false };
        let is_this = |operand| match operand {
            Operand::Column(index) => usize::from(index) == column,
            _ => false,
        };
        let sums_floats = |slot: &Aggregate| slot.function == Function::SumFloat;
        aggregates.iter().any(|slot| sums_floats(slot) && is_this(slot.operand))
    }

    /// Whether the output shows the byte strings of this column.
    pub(crate) fn shows_bytes_of(&self, column: usize) -> bool {
        match &self.output {
            Output::States { keys, aggregates } => {
                let is_this = |operand| match operand {
                    Operand::Column(index) => usize::from(index) == column,
                    _ => false,
                };
                let is_extreme =
                    |slot: &Aggregate| matches!(slot.function, Function::Min | Function::Max);
                keys.iter().any(|key| is_this(key.operand))
                    || aggregates.iter().any(|slot| is_extreme(slot) && is_this(slot.operand))
            }
            Output::Rows { columns, .. } => columns.iter().any(|output| match output.operand {
                Operand::Column(index) => usize::from(index) == column,
                _ => false,
            }),
        }
    }
}
