// SPDX-License-Identifier: Apache-2.0
//! Reads a column chunk as batches of values.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use nearscan_command::{Chunk, Detail, Status};

use crate::{
    buffers::Buffers,
    decode::bitmap::BitmapBuilder,
    dense::Dense,
    dictionary::Dictionary,
    error::Stop,
    open_page::{OpenPage, Source},
    pages::{Page, Pages, RawPage},
    selection::Selection,
    vector::Vector,
};

/// Of so many rows at least one is selected if all of them are decoded: decoding a row costs a
/// small part of what finding a single one costs.
const SPARSE_ROWS_MIN: usize = 32;

/// Reads a chunk from its first row to its last.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    /// Which column of the fragment, for details of a status.
    column: usize,
    chunk: Chunk,
    pages: Pages,
    /// The dictionary page, as long as no page of values was opened.
    raw_dictionary: Option<RawPage>,
    dictionary: Option<Arc<Dictionary>>,
    page: Option<OpenPage>,
    /// Pages of values behind it whose headers were read.
    upcoming: VecDeque<RawPage>,
    /// Whether only definition levels are read.
    reads_only_levels: bool,
    /// Rows to skip before the next one that is read.
    to_skip: usize,
    /// Pages that were never decompressed, because all of their rows were skipped.
    pages_skipped: u64,
}

impl ChunkReader {
    /// A reader of `bytes`, which are the whole chunk; pages are decompressed into `buffers`.
    pub(crate) fn open(
        column: usize,
        chunk: &Chunk,
        bytes: Bytes,
        rows: u64,
        buffers: Buffers,
    ) -> Self {
        let pages = Pages::new(*chunk, bytes, rows, buffers);
        Self {
            column,
            chunk: *chunk,
            pages,
            raw_dictionary: None,
            dictionary: None,
            page: None,
            upcoming: VecDeque::new(),
            reads_only_levels: false,
            to_skip: 0,
            pages_skipped: 0,
        }
    }

    /// The same reader, but of [`Vector::Validity`]: no value is decoded or checked.
    pub(crate) const fn of_levels(mut self) -> Self {
        self.reads_only_levels = true;
        self
    }

    /// Skips the next `rows` rows. Pages are decompressed only if a row of theirs is read.
    pub(crate) const fn skip(&mut self, rows: usize) {
        self.to_skip += rows;
    }

    /// Pages that were never decompressed.
    pub(crate) const fn pages_skipped(&self) -> u64 {
        self.pages_skipped
    }

    /// The next `rows` values, `[rows]`; as codes when all of them are.
    ///
    /// # Errors
    /// A status when there are fewer, or they cannot be decoded.
    pub(crate) fn read(&mut self, rows: usize) -> Result<Vector, Stop> {
        self.read_rows(rows).map_err(|status| self.stop(status))
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// A status when something is.
    pub(crate) fn finish(mut self) -> Result<(), Stop> {
        loop {
            return match self.pages.next() {
                Ok(None) if self.page.is_none() && self.upcoming.is_empty() => Ok(()),
                // Of a chunk without rows.
                Ok(Some(Page::Dictionary { .. })) => continue,
                Ok(_) => Err(self.stop(Status::Corrupt)),
                Err(status) => Err(self.stop(status)),
            };
        }
    }

    /// Checks the headers of pages that were not read, after the last row was read or skipped.
    ///
    /// # Errors
    /// A status when they do not fit the chunk.
    pub(crate) fn check_rest(&mut self) -> Result<(), Stop> {
        match self.pages.check_rest() {
            Ok(pages) => {
                self.pages_skipped += (pages + self.upcoming.len()) as u64;
                Ok(())
            }
            Err(status) => Err(self.stop(status)),
        }
    }

    fn stop(&self, status: Status) -> Stop {
        let (page, offset) = self.pages.place();
        let column = u32::try_from(self.column).unwrap_or(u32::MAX);
        Stop::Status { status, detail: Some(Detail { column, page, offset: offset as u64 }) }
    }

    /// The values at `selected` of the next `rows` rows, in ascending order, `[selected]`. Pages
    /// without a selected row are not decompressed if the selection is sparse.
    ///
    /// # Errors
    /// As [`ChunkReader::read`].
    pub(crate) fn read_selected(&mut self, rows: usize, selected: &[u32]) -> Result<Vector, Stop> {
        if selected.len() * SPARSE_ROWS_MIN > rows {
            return Ok(self.read(rows)?.gather(&Selection::rows(selected)));
        }
        self.read_sparse(rows, selected).map_err(|status| self.stop(status))
    }

    fn read_rows(&mut self, rows: usize) -> Result<Vector, Status> {
        let mut levels = self.levels(rows);
        let mut dense = self.no_values(rows);
        let present = self.append_rows(rows, &mut dense, &mut levels)?;
        let validity = (present < rows).then(|| levels.finish());
        Ok(dense.into_vector(&self.chunk, self.dictionary.as_ref(), validity, rows))
    }

    fn read_sparse(&mut self, rows: usize, selected: &[u32]) -> Result<Vector, Status> {
        let count = selected.len();
        let mut levels = self.levels(count);
        let mut dense = self.no_values(count);
        let (mut at, mut present) = (0, 0);
        // Runs of rows that follow each other.
        for run in selected.chunk_by(|row, next| *next == row + 1) {
            let first = run.first().map_or(0, |row| *row as usize);
            self.skip(first - at);
            present += self.append_rows(run.len(), &mut dense, &mut levels)?;
            at = first + run.len();
        }
        self.skip(rows - at);
        let validity = (present < count).then(|| levels.finish());
        Ok(dense.into_vector(&self.chunk, self.dictionary.as_ref(), validity, count))
    }

    /// No values yet, with room for those of `rows` rows.
    fn no_values(&self, rows: usize) -> Dense {
        match self.reads_only_levels {
            true => Dense::NotRead,
            false => Dense::Codes(Vec::with_capacity(rows)),
        }
    }

    fn levels(&self, rows: usize) -> BitmapBuilder {
        BitmapBuilder::with_capacity(if self.chunk.definition_level_max > 0 { rows } else { 0 })
    }

    /// Appends the next `rows` rows; gives how many of them are not null.
    fn append_rows(
        &mut self,
        rows: usize,
        dense: &mut Dense,
        levels: &mut BitmapBuilder,
    ) -> Result<usize, Status> {
        self.skip_now()?;
        let (mut left, mut present) = (rows, 0);
        while left > 0 {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.next_page()?,
            };
            let piece = left.min(page.rows_left());
            let source = Source {
                chunk: &self.chunk,
                dictionary: self.dictionary.as_deref(),
                buffers: self.pages.buffers(),
            };
            let count = page.read(piece, &source, dense, levels)?;
            if page.rows_left() > 0 {
                self.page = Some(page);
            }
            left -= piece;
            present += count;
        }
        Ok(present)
    }

    /// Opens the next page of values.
    fn next_page(&mut self) -> Result<OpenPage, Status> {
        let raw = self.next_raw()?;
        self.open_raw(&raw)
    }

    /// The dictionary of the next `rows` rows that are not skipped, if all of them are codes, and
    /// every entry can be read. None of their pages is decompressed.
    ///
    /// # Errors
    /// A status when the dictionary cannot be decoded, or headers do not fit the chunk.
    pub(crate) fn dictionary_ahead(&mut self, rows: usize) -> Result<Option<&Dictionary>, Stop> {
        match self
            .are_codes_ahead(rows)
            .and_then(|are| are.then(|| self.open_dictionary()).transpose())
        {
            Ok(None) => Ok(None),
            Ok(Some(())) => Ok(self.dictionary.as_deref().filter(|it| !it.has_faults())),
            Err(status) => Err(self.stop(status)),
        }
    }

    /// Whether the next rows are codes, those that are skipped included.
    fn are_codes_ahead(&mut self, rows: usize) -> Result<bool, Status> {
        if self.reads_only_levels {
            return Ok(false);
        }
        let mut left = self.to_skip + rows;
        if let Some(page) = &self.page {
            if !page.has_codes() {
                return Ok(false);
            }
            left = left.saturating_sub(page.rows_left());
        }
        let mut index = 0;
        while left > 0 {
            if index == self.upcoming.len() {
                let raw = self.read_raw()?;
                self.upcoming.push_back(raw);
            }
            let page = &self.upcoming[index];
            if !page.has_codes() {
                return Ok(false);
            }
            left = left.saturating_sub(page.rows);
            index += 1;
        }
        Ok(true)
    }

    /// The next page of values, not yet decompressed.
    fn next_raw(&mut self) -> Result<RawPage, Status> {
        match self.upcoming.pop_front() {
            Some(raw) => Ok(raw),
            None => self.read_raw(),
        }
    }

    /// Reads the header of the next page of values; takes a dictionary in on the way.
    fn read_raw(&mut self) -> Result<RawPage, Status> {
        loop {
            let raw = self.pages.next_raw()?.ok_or(Status::Corrupt)?;
            if raw.rows > 0 {
                return Ok(raw);
            }
            // It is in front of all pages of codes.
            let is_late = self.page.as_ref().is_some_and(OpenPage::has_codes)
                || self.upcoming.iter().any(RawPage::has_codes);
            if is_late || self.raw_dictionary.replace(raw).is_some() {
                return Err(Status::Corrupt);
            }
        }
    }

    fn open_raw(&mut self, raw: &RawPage) -> Result<OpenPage, Status> {
        if self.reads_only_levels {
            let (levels, nulls_left) = self.pages.open_levels(raw)?;
            return Ok(OpenPage::of_levels(raw.rows, levels, nulls_left));
        }
        self.open_dictionary()?;
        match self.pages.open(raw)? {
            Page::Data(page) => OpenPage::new(&self.chunk, page),
            Page::Dictionary { .. } => Err(Status::Corrupt),
        }
    }

    /// Decodes the dictionary, if there is one that was not decoded yet.
    fn open_dictionary(&mut self) -> Result<(), Status> {
        if let Some(page) = self.raw_dictionary.take()
            && let Page::Dictionary { bytes, entries } = self.pages.open(&page)?
        {
            let dictionary = Dictionary::read(&self.chunk, bytes, entries)?;
            self.dictionary = Some(Arc::new(dictionary));
        }
        Ok(())
    }

    /// Skips the rows that are to be skipped.
    fn skip_now(&mut self) -> Result<(), Status> {
        while self.to_skip > 0 {
            let Some(page) = &mut self.page else {
                let raw = self.next_raw()?;
                if raw.rows <= self.to_skip {
                    self.to_skip -= raw.rows;
                    self.pages_skipped += 1;
                } else {
                    self.page = Some(self.open_raw(&raw)?);
                }
                continue;
            };
            let piece = self.to_skip.min(page.rows_left());
            self.to_skip -= piece;
            if piece == page.rows_left() {
                self.page = None;
            } else {
                page.skip(piece)?;
            }
        }
        Ok(())
    }
}
