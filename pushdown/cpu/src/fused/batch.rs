// SPDX-License-Identifier: Apache-2.0
//! Holds the rows of a batch while conjuncts drop some of them.

use crate::{chunk::ChunkReader, error::Stop, selection::Selection, vector::Vector};

/// The columns of a batch, each read when it is needed, of the rows that are left.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Rows of the batch before any was dropped.
    rows: usize,
    /// The rows that are left; `None` for all.
    selected: Option<Vec<u32>>,
    /// `[columns]`, each `[selected]`; [`Vector::Unused`] if it was not read, or is not needed any
    /// more.
    columns: Vec<Vector>,
    /// Which columns were read.
    is_read: Vec<bool>,
}

impl Batch {
    /// A batch of the next `rows` rows.
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let unused = std::iter::repeat_with(|| Vector::Unused).take(columns).collect();
        Self { rows, selected: None, columns: unused, is_read: vec![false; columns] }
    }

    /// Rows before any was dropped.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that are left.
    pub(super) fn len(&self) -> usize {
        self.selected.as_ref().map_or(self.rows, Vec::len)
    }

    /// The columns; those that were not read are unused.
    pub(super) fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Whether a column was read.
    pub(super) fn has_read(&self, column: usize) -> bool {
        self.is_read[column]
    }

    /// Drops all rows.
    pub(super) fn drop_all(&mut self) {
        self.selected = Some(Vec::new());
        self.columns.fill_with(|| Vector::Unused);
    }

    /// Reads a column, if it was not read yet.
    ///
    /// # Errors
    /// A status if it cannot be decoded.
    pub(super) fn read(&mut self, column: usize, reader: &mut ChunkReader) -> Result<(), Stop> {
        if self.is_read[column] {
            return Ok(());
        }
        self.columns[column] = match &self.selected {
            None => reader.read(self.rows)?,
            Some(rows) => reader.read_selected(self.rows, rows)?,
        };
        self.is_read[column] = true;
        Ok(())
    }

    /// Skips the rows of the columns that were not read.
    pub(super) fn skip_others(&self, readers: &mut [Option<ChunkReader>], skipped: &mut [usize]) {
        for (column, reader) in readers.iter_mut().enumerate() {
            match reader {
                _ if self.is_read[column] => {}
                Some(reader) => reader.skip(self.rows),
                None => skipped[column] += self.rows,
            }
        }
    }

    /// Keeps the rows of `kept`, which are places among those that are left. Columns that are not
    /// `needed` any more are dropped.
    pub(super) fn keep(&mut self, kept: &Selection, needed: &[bool]) {
        self.selected = Some(match &self.selected {
            None => kept.places(),
            Some(rows) => kept.pick(rows),
        });
        for (column, vector) in self.columns.iter_mut().enumerate() {
            *vector = match needed[column] {
                true if !matches!(vector, Vector::Unused) => vector.gather(kept),
                _ => Vector::Unused,
            };
        }
    }
}
