// SPDX-License-Identifier: Apache-2.0
//! Reads a column chunk as batches of values.

use std::{collections::VecDeque, sync::Arc};

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::{Chunk, Detail, Encoding, PhysicalType, Status};

use crate::{
    buffers::Buffers,
    decode::{
        bitmap::BitmapBuilder, delta_lengths::DeltaLengths, delta_strings::DeltaStrings,
        levels::Levels, numbers::PageNumbers, reading, runs::Runs, strings::PageStrings,
    },
    dictionary::Dictionary,
    error::Stop,
    pages::{DataPage, Page, Pages, RawPage},
    selection::Selection,
    string_batch::StringBatch,
    values::{Numbers, Strings, View},
    vector::{Coded, Vector},
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

/// The page that is being read.
#[derive(Debug)]
struct OpenPage {
    rows_left: usize,
    levels: Levels,
    /// Nulls that are still to come, if the header said how many there are.
    nulls_left: Option<usize>,
    values: PageValues,
}

#[derive(Debug)]
enum PageValues {
    Codes(Runs),
    Numbers(PageNumbers),
    Strings(PageStrings),
    DeltaLengths(DeltaLengths),
    DeltaStrings(DeltaStrings),
    /// Of a page of which only the levels are read.
    NotRead,
}

/// The values of a batch that are not null.
enum Dense {
    Codes(Vec<u32>),
    /// As [`reading::apply`] leaves them.
    Numbers(Vec<i64>),
    Strings(StringBatch),
    /// Only their number counts.
    NotRead,
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
        Ok(self.vector(dense, validity, rows))
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
        Ok(self.vector(dense, validity, count))
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
            let piece = left.min(page.rows_left);
            let count = page.levels.read(piece, levels)?;
            self.read_values(&mut page.values, count, dense)?;
            page.rows_left -= piece;
            if let Some(nulls) = &mut page.nulls_left {
                *nulls = nulls.checked_sub(piece - count).ok_or(Status::Corrupt)?;
            }
            match page.rows_left {
                0 if page.nulls_left.is_some_and(|nulls| nulls > 0) => return Err(Status::Corrupt),
                0 => {}
                _ => self.page = Some(page),
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
            if !matches!(page.values, PageValues::Codes(_)) {
                return Ok(false);
            }
            left = left.saturating_sub(page.rows_left);
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
            if self.raw_dictionary.replace(raw).is_some() {
                return Err(Status::Corrupt);
            }
        }
    }

    fn open_raw(&mut self, raw: &RawPage) -> Result<OpenPage, Status> {
        if self.reads_only_levels {
            let (levels, nulls_left) = self.pages.open_levels(raw)?;
            let values = PageValues::NotRead;
            return Ok(OpenPage { rows_left: raw.rows, levels, nulls_left, values });
        }
        self.open_dictionary()?;
        match self.pages.open(raw)? {
            Page::Data(page) => self.open_page(page),
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
            let piece = self.to_skip.min(page.rows_left);
            self.to_skip -= piece;
            if piece == page.rows_left {
                self.page = None;
            } else {
                page.skip(piece)?;
            }
        }
        Ok(())
    }

    fn open_page(&self, page: DataPage) -> Result<OpenPage, Status> {
        let DataPage { rows, levels, nulls, encoding, values } = page;
        let count = || levels.count(rows);
        let values = match (encoding, self.chunk.physical_type) {
            (Encoding::PlainDictionary | Encoding::RleDictionary, _) => {
                // A page of nulls may have no indexes, not even their width.
                let width = u32::from(values.first().copied().unwrap_or(0));
                if width > 32 {
                    return Err(Status::Corrupt);
                }
                PageValues::Codes(Runs::new(values.slice(values.len().min(1)..), width))
            }
            (Encoding::Plain, PhysicalType::ByteArray) => {
                PageValues::Strings(PageStrings::new(values))
            }
            (Encoding::DeltaLengthByteArray, PhysicalType::ByteArray) => {
                PageValues::DeltaLengths(DeltaLengths::open(values, count()?)?)
            }
            (Encoding::DeltaByteArray, PhysicalType::ByteArray) => {
                PageValues::DeltaStrings(DeltaStrings::open(values, count()?)?)
            }
            (encoding, _) => {
                PageValues::Numbers(PageNumbers::open(&self.chunk, encoding, values, count)?)
            }
        };
        Ok(OpenPage { rows_left: rows, levels, nulls_left: nulls, values })
    }

    /// Appends the next `count` values of a page.
    fn read_values(
        &self,
        values: &mut PageValues,
        count: usize,
        dense: &mut Dense,
    ) -> Result<(), Status> {
        if count == 0 {
            return Ok(());
        }
        match values {
            PageValues::Codes(runs) => {
                let dictionary = self.dictionary.as_ref().ok_or(Status::Corrupt)?;
                if let Dense::Codes(codes) = dense {
                    let start = codes.len();
                    runs.read(count, codes)?;
                    return dictionary.check(&codes[start..]);
                }
                let mut codes = Vec::with_capacity(count);
                runs.read(count, &mut codes)?;
                dictionary.check(&codes)?;
                dense.decode(dictionary, &codes)?;
            }
            PageValues::Numbers(numbers) => {
                let values = dense.numbers(self.dictionary.as_deref());
                let start = values.len();
                numbers.read(count, values)?;
                reading::apply(&mut values[start..], &self.chunk)?;
            }
            PageValues::Strings(strings) => {
                let batch = dense.strings(self.dictionary.as_deref())?;
                let (buffer, views) = batch.page(strings.bytes())?;
                strings.read(count, buffer, views)?;
            }
            PageValues::DeltaLengths(strings) => {
                strings.read(count, dense.strings(self.dictionary.as_deref())?)?;
            }
            PageValues::DeltaStrings(strings) => {
                let batch = dense.strings(self.dictionary.as_deref())?;
                strings.read(count, batch, self.pages.buffers())?;
            }
            PageValues::NotRead => {}
        }
        Ok(())
    }

    /// Moves values to the rows that are not null.
    fn vector(&self, dense: Dense, validity: Option<BooleanBuffer>, rows: usize) -> Vector {
        match (dense, &self.dictionary) {
            (Dense::Codes(codes), Some(dictionary)) if dictionary.len() > 0 => {
                let codes = spread(codes, validity.as_ref());
                Vector::Coded(Coded::new(Arc::clone(dictionary), codes, validity))
            }
            (Dense::NotRead, _) => Vector::Validity(validity),
            // Every row is null.
            (Dense::Codes(_), _) if self.chunk.physical_type == PhysicalType::ByteArray => {
                let views = vec![View::default(); rows];
                Vector::Strings(Strings { buffers: Vec::new(), views, validity })
            }
            (Dense::Codes(_), _) => Vector::Numbers(Numbers::narrow(vec![0; rows], validity)),
            (Dense::Numbers(values), _) => {
                let values = reading::widen(spread(values, validity.as_ref()), &self.chunk);
                Vector::Numbers(Numbers { values, validity })
            }
            (Dense::Strings(batch), _) => {
                let (buffers, views) = batch.finish();
                let views = spread(views, validity.as_ref());
                Vector::Strings(Strings { buffers, views, validity })
            }
        }
    }
}

impl OpenPage {
    /// Skips `rows` rows, fewer than are left.
    fn skip(&mut self, rows: usize) -> Result<(), Status> {
        let count = self.levels.skip(rows)?;
        self.rows_left -= rows;
        if let Some(nulls) = &mut self.nulls_left {
            *nulls = nulls.checked_sub(rows - count).ok_or(Status::Corrupt)?;
        }
        match &mut self.values {
            PageValues::Codes(runs) => runs.skip(count),
            PageValues::Numbers(numbers) => numbers.skip(count),
            PageValues::Strings(strings) => strings.skip(count),
            PageValues::DeltaLengths(strings) => strings.skip(count),
            PageValues::DeltaStrings(strings) => strings.skip(count),
            PageValues::NotRead => Ok(()),
        }
    }
}

impl Dense {
    /// The numbers, those decoded that were codes so far.
    fn numbers(&mut self, dictionary: Option<&Dictionary>) -> &mut Vec<i64> {
        if let Self::Codes(codes) = self {
            let values = dictionary.map(|dictionary| dictionary.stored(codes));
            *self = Self::Numbers(values.unwrap_or_default());
        }
        match self {
            Self::Numbers(values) => values,
            Self::Codes(_) | Self::Strings(_) | Self::NotRead => {
                unreachable!("a chunk has values of one kind")
            }
        }
    }

    /// The strings, those decoded that were codes so far.
    fn strings(&mut self, dictionary: Option<&Dictionary>) -> Result<&mut StringBatch, Status> {
        if let Self::Codes(codes) = self {
            let codes = std::mem::take(codes);
            *self = Self::Strings(StringBatch::default());
            if let Some(dictionary) = dictionary.filter(|_| !codes.is_empty()) {
                self.decode(dictionary, &codes)?;
            }
        }
        match self {
            Self::Strings(batch) => Ok(batch),
            Self::Codes(_) | Self::Numbers(_) | Self::NotRead => {
                unreachable!("a chunk has values of one kind")
            }
        }
    }

    /// Appends entries of a dictionary to values that are not codes.
    fn decode(&mut self, dictionary: &Dictionary, codes: &[u32]) -> Result<(), Status> {
        match self {
            Self::Codes(all) => all.extend_from_slice(codes),
            Self::Numbers(values) => values.extend(dictionary.stored(codes)),
            Self::NotRead => {}
            Self::Strings(batch) => {
                if let Some(entries) = dictionary.strings() {
                    batch.entries(entries, codes)?;
                }
            }
        }
        Ok(())
    }
}

/// Moves values to the rows that are not null; the others get a default.
fn spread<T: Copy + Default>(values: Vec<T>, validity: Option<&BooleanBuffer>) -> Vec<T> {
    let Some(validity) = validity else { return values };
    let mut out = vec![T::default(); validity.len()];
    for (row, value) in validity.set_indices().zip(values) {
        out[row] = value;
    }
    out
}
