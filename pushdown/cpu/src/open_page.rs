// SPDX-License-Identifier: Apache-2.0
//! Reads a decompressed page of values from its first row to its last.

use nearscan_command::{Chunk, Encoding, PhysicalType, Status};

use crate::{
    buffers::Buffers,
    decode::{
        bitmap::BitmapBuilder, delta_lengths::DeltaLengths, delta_strings::DeltaStrings,
        levels::Levels, numbers::PageNumbers, reading, runs::Runs, strings::PageStrings,
    },
    dense::Dense,
    dictionary::Dictionary,
    pages::DataPage,
};

/// A page that is being read.
#[derive(Debug)]
pub(crate) struct OpenPage {
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

impl OpenPage {
    /// The page of a chunk, at its first row.
    ///
    /// # Errors
    /// [`Status::Corrupt`], and [`Status::Encoding`] for an encoding that the type does not have.
    pub(crate) fn new(chunk: &Chunk, page: DataPage) -> Result<Self, Status> {
        let DataPage { rows, levels, nulls, encoding, values } = page;
        let count = || levels.count(rows);
        let values = match (encoding, chunk.physical_type) {
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
                PageValues::Numbers(PageNumbers::open(chunk, encoding, values, count)?)
            }
        };
        Ok(Self { rows_left: rows, levels, nulls_left: nulls, values })
    }

    /// A page of which only the levels are read.
    pub(crate) const fn of_levels(rows: usize, levels: Levels, nulls: Option<usize>) -> Self {
        Self { rows_left: rows, levels, nulls_left: nulls, values: PageValues::NotRead }
    }

    /// Rows that were neither read nor skipped.
    pub(crate) const fn rows_left(&self) -> usize {
        self.rows_left
    }

    /// Whether the values are codes of a dictionary.
    pub(crate) const fn has_codes(&self) -> bool {
        matches!(self.values, PageValues::Codes(_))
    }

    /// Appends the next `rows` rows, at most those that are left: their levels, and the values of
    /// those that are not null, whose number is returned.
    ///
    /// # Errors
    /// A status if there are fewer, or they cannot be decoded.
    pub(crate) fn read(
        &mut self,
        rows: usize,
        source: &Source<'_>,
        dense: &mut Dense,
        levels: &mut BitmapBuilder,
    ) -> Result<usize, Status> {
        let count = self.levels.read(rows, levels)?;
        if count > 0 {
            self.values.read(count, source, dense)?;
        }
        self.take(rows, count)?;
        match (self.rows_left, self.nulls_left) {
            (0, Some(1..)) => Err(Status::Corrupt),
            _ => Ok(count),
        }
    }

    /// Skips `rows` rows, fewer than are left.
    ///
    /// # Errors
    /// A status if that cannot be decoded.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<(), Status> {
        let count = self.levels.skip(rows)?;
        self.take(rows, count)?;
        match &mut self.values {
            PageValues::Codes(runs) => runs.skip(count),
            PageValues::Numbers(numbers) => numbers.skip(count),
            PageValues::Strings(strings) => strings.skip(count),
            PageValues::DeltaLengths(strings) => strings.skip(count),
            PageValues::DeltaStrings(strings) => strings.skip(count),
            PageValues::NotRead => Ok(()),
        }
    }

    /// Counts rows as done, `count` of which are not null.
    fn take(&mut self, rows: usize, count: usize) -> Result<(), Status> {
        self.rows_left -= rows;
        if let Some(nulls) = &mut self.nulls_left {
            *nulls = nulls.checked_sub(rows - count).ok_or(Status::Corrupt)?;
        }
        Ok(())
    }
}

/// What the values of a page are read with.
pub(crate) struct Source<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) dictionary: Option<&'a Dictionary>,
    /// Memory of strings that are in no page.
    pub(crate) buffers: &'a Buffers,
}

impl PageValues {
    /// Appends the next `count` values.
    fn read(&mut self, count: usize, source: &Source<'_>, dense: &mut Dense) -> Result<(), Status> {
        let Source { chunk, dictionary, buffers } = *source;
        match self {
            Self::Codes(runs) => {
                let dictionary = dictionary.ok_or(Status::Corrupt)?;
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
            Self::Numbers(numbers) => {
                let values = dense.numbers(dictionary);
                let start = values.len();
                numbers.read(count, values)?;
                reading::apply(&mut values[start..], chunk)?;
            }
            Self::Strings(strings) => {
                let (buffer, views) = dense.strings(dictionary)?.page(strings.bytes())?;
                strings.read(count, buffer, views)?;
            }
            Self::DeltaLengths(strings) => strings.read(count, dense.strings(dictionary)?)?,
            Self::DeltaStrings(strings) => {
                strings.read(count, dense.strings(dictionary)?, buffers)?;
            }
            Self::NotRead => {}
        }
        Ok(())
    }
}
