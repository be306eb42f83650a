// SPDX-License-Identifier: Apache-2.0
//! The columns of a row group: their values, and how each is written.

use nearscan_command::{Chunk, Row};

use crate::pages::{ChunkLayout, WrittenChunk};

pub use crate::values::{Presence, Values};

/// A column and how its chunk is written.
#[derive(Debug, Clone)]
pub struct ColumnData {
    /// The values of the column.
    pub values: Values,
    /// The layout of the chunk that is written.
    pub layout: ChunkLayout,
}

impl ColumnData {
    /// The description of the chunk in a command, once it is written at this place of an input.
    pub fn chunk(&self, written: &WrittenChunk, input: u16, offset: u64) -> Chunk {
        Chunk {
            input,
            offset,
            length: written.bytes.len() as u64,
            uncompressed_bytes: written.uncompressed_bytes,
            physical_type: self.values.physical_type(),
            definition_level_max: match self.layout.presence {
                Presence::Required => 0,
                Presence::Optional => 1,
            },
            codec: self.layout.codec,
            encodings: written.encodings,
            dictionary_bytes: written.dictionary_bytes,
            reading: self.values.reading(),
        }
    }
}

/// The columns of one row group.
#[derive(Debug, Clone)]
pub struct Table {
    /// All of the same length.
    pub columns: Vec<ColumnData>,
    /// Rows; matters when there is no column.
    pub rows: usize,
}

impl Table {
    /// A table of these columns; its rows are those of the first one.
    pub fn new(columns: Vec<ColumnData>) -> Self {
        let rows = columns.first().map_or(0, |column| column.values.len());
        Self { columns, rows }
    }

    /// The rows, for the evaluator.
    pub fn rows(&self) -> Vec<Row> {
        (0..self.rows)
            .map(|row| self.columns.iter().map(|column| column.values.value(row)).collect())
            .collect()
    }
}
