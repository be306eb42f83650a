// SPDX-License-Identifier: Apache-2.0
//! Collects byte strings in an Arrow array of views, which refer to pages and dictionaries.
//!
//! A view of 16 bytes has the length of a string, and either the string itself, if that is at most
//! 12 bytes long, or its first four bytes and its place in a buffer. Those of a dictionary are made
//! once for each entry. Strings are copied only if they are a small part of the buffers that they
//! would keep in memory: where few rows are kept, at once, so that memory does not grow by a page
//! for each of them, else when the array is finished.

use std::{mem::take, sync::Arc};

use arrow::{
    array::{ArrayRef, BinaryViewArray, StringViewArray, make_view},
    buffer::{Buffer, NullBuffer, ScalarBuffer},
};
use bytes::Bytes;
use nearscan_command::Status;

use crate::{
    dictionary::Dictionary,
    entry_views::{INLINE_BYTES_MAX, are_utf8, is_utf8},
    error::Stop,
    values::{Strings, is_set},
    vector::{Coded, Vector},
};

/// Lowest bit of the number of the buffer in the view of a longer string.
const BUFFER_SHIFT: u32 = 64;

/// Strings of an array that take less than one part in so many of their buffers are copied to a
/// buffer of their own.
const USED_PARTS_MAX: usize = 2;

/// Strings of a batch that take less than one part in so many of their buffers are copied at once:
/// a whole batch takes more of most pages and dictionaries.
const SPARSE_PARTS_MIN: usize = 16;

/// Bytes of copies in a buffer, but for one that is longer.
const COPIES_BYTES_MAX: usize = 1 << 20;

/// A column of byte strings that is being collected.
#[derive(Debug)]
pub(super) struct ViewBuilder {
    is_text: bool,
    /// Each is in one of `buffers`, or in itself; of a text it is valid UTF-8.
    views: Vec<u128>,
    /// An empty one stands for the copies that are being collected.
    buffers: Vec<Bytes>,
    copies: Vec<u8>,
    /// Where the copies will be in `buffers`.
    copies_at: Option<usize>,
}

impl ViewBuilder {
    /// Of texts.
    pub(super) const fn of_text() -> Self {
        Self::new(true)
    }

    /// Of any bytes.
    pub(super) const fn of_bytes() -> Self {
        Self::new(false)
    }

    const fn new(is_text: bool) -> Self {
        Self {
            is_text,
            views: Vec::new(),
            buffers: Vec::new(),
            copies: Vec::new(),
            copies_at: None,
        }
    }

    /// Appends the strings of `rows` rows.
    ///
    /// # Errors
    /// [`Status::Corrupt`] for a text that is not UTF-8; the strings may then be there in part.
    pub(super) fn push(&mut self, vector: &Vector, rows: usize) -> Result<(), Stop> {
        match vector {
            Vector::Strings(strings) => self.push_strings(strings, rows),
            Vector::Coded(coded) => self.push_coded(coded, rows),
            Vector::Numbers(_) | Vector::Truth(_) | Vector::Validity(_) | Vector::Unused => {
                Err(Stop::status(Status::Unsupported))
            }
        }
    }

    fn push_coded(&mut self, coded: &Coded, rows: usize) -> Result<(), Stop> {
        let dictionary: &Dictionary = &coded.dictionary;
        let Some(strings) = dictionary.strings() else {
            return Err(Stop::status(Status::Unsupported));
        };
        let codes = &coded.codes[..rows];
        if rows < dictionary.len() / SPARSE_PARTS_MIN {
            let validity = coded.validity.as_ref();
            let entry = |row| is_set(validity, row).then(|| strings.get(codes[row] as usize));
            return self.push_copies((0..rows).map(entry));
        }
        let Some(entries) = dictionary.entry_views() else {
            return Err(Stop::status(Status::Unsupported));
        };
        if self.is_text && !entries.is_utf8 {
            return Err(Stop::status(Status::Corrupt));
        }
        let buffer = match strings.buffers.first() {
            Some(bytes) if entries.has_long => self.buffer(bytes),
            _ => 0,
        };
        let codes = codes.iter();
        if buffer == 0 {
            self.views.extend(codes.map(|code| entries.views[*code as usize]));
        } else {
            let place = u128::from(buffer) << BUFFER_SHIFT;
            self.views.extend(codes.map(|code| in_buffer(entries.views[*code as usize], place)));
        }
        Ok(())
    }

    fn push_strings(&mut self, strings: &Strings, rows: usize) -> Result<(), Stop> {
        let string = |row| is_set(strings.validity.as_ref(), row).then(|| strings.get(row));
        let used: usize = strings.views[..rows].iter().map(|view| view.length as usize).sum();
        let all: usize = strings.buffers.iter().map(Bytes::len).sum();
        if used < all / SPARSE_PARTS_MIN {
            return self.push_copies((0..rows).map(string));
        }
        if self.is_text && !are_utf8(strings, rows) {
            return Err(Stop::status(Status::Corrupt));
        }
        let buffers: Vec<u32> = strings.buffers.iter().map(|bytes| self.buffer(bytes)).collect();
        self.views.reserve(rows);
        for row in 0..rows {
            let place = &strings.views[row];
            let buffer = buffers.get(place.buffer as usize).copied().unwrap_or(0);
            self.views.push(make_view(string(row).unwrap_or_default(), buffer, place.start));
        }
        Ok(())
    }

    /// Appends copies of strings; of a null row there is none.
    fn push_copies<'a>(
        &mut self,
        strings: impl Iterator<Item = Option<&'a [u8]>>,
    ) -> Result<(), Stop> {
        for string in strings {
            let bytes = string.unwrap_or_default();
            if self.is_text && !is_utf8(bytes) {
                return Err(Stop::status(Status::Corrupt));
            }
            let (buffer, start) = match bytes.len() > INLINE_BYTES_MAX {
                true => self.copy(bytes),
                false => (0, 0),
            };
            self.views.push(make_view(bytes, buffer, start));
        }
        Ok(())
    }

    /// Copies a string; gives the number of its buffer, and where it starts there.
    fn copy(&mut self, bytes: &[u8]) -> (u32, u32) {
        if self.copies.len() + bytes.len() > COPIES_BYTES_MAX {
            self.end_copies();
        }
        let buffers = &mut self.buffers;
        let index = *self.copies_at.get_or_insert_with(|| {
            buffers.push(Bytes::new());
            buffers.len() - 1
        });
        let start = self.copies.len();
        self.copies.extend_from_slice(bytes);
        (number(index), number(start))
    }

    /// Makes a buffer of the copies.
    fn end_copies(&mut self) {
        let copies = take(&mut self.copies);
        if let Some(index) = self.copies_at.take() {
            self.buffers[index] = Bytes::from(copies);
        }
    }

    /// The number of a buffer.
    fn buffer(&mut self, bytes: &Bytes) -> u32 {
        let is_same =
            |other: &Bytes| other.as_ptr() == bytes.as_ptr() && other.len() == bytes.len();
        let index = self.buffers.iter().rposition(is_same).unwrap_or_else(|| {
            self.buffers.push(bytes.clone());
            self.buffers.len() - 1
        });
        number(index)
    }

    /// Drops the strings behind the first `rows`.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.views.truncate(rows);
    }

    /// The array of all strings; the builder is empty then.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        self.end_copies();
        let views = ScalarBuffer::from(take(&mut self.views));
        let all: usize = self.buffers.iter().map(Bytes::len).sum();
        let buffers: Vec<Buffer> = take(&mut self.buffers).into_iter().map(Buffer::from).collect();
        if self.is_text {
            // SAFETY: `push` makes each view of a string that is in the buffer that the view names
            // and was checked to be UTF-8, also those of null rows.
            let array = unsafe { StringViewArray::new_unchecked(views, buffers, nulls) };
            match array.total_buffer_bytes_used() < all / USED_PARTS_MAX {
                true => Arc::new(array.gc()),
                false => Arc::new(array),
            }
        } else {
            // SAFETY: `push` makes each view of bytes that are in the buffer that the view names.
            let array = unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) };
            match array.total_buffer_bytes_used() < all / USED_PARTS_MAX {
                true => Arc::new(array.gc()),
                false => Arc::new(array),
            }
        }
    }
}

/// The number of a buffer, or of a byte of one.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The view of a string in buffer 0, moved to another buffer, whose number is at its place in
/// `place`; a short string is in no buffer.
fn in_buffer(view: u128, place: u128) -> u128 {
    let [length @ .., _, _, _, _, _, _, _, _, _, _, _, _] = view.to_le_bytes();
    match u32::from_le_bytes(length) as usize > INLINE_BYTES_MAX {
        true => view | place,
        false => view,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use rstest::rstest;

    use super::*;
    use crate::values::View;

    const STRING_BYTES: usize = 20;

    /// A page of strings of letters, each of `length` bytes.
    fn page(strings: usize, length: usize) -> Bytes {
        (b'a'..=b'z').cycle().take(strings).flat_map(|letter| vec![letter; length]).collect()
    }

    /// The strings of a page at `rows`, with a NULL behind them.
    fn strings(page: &Bytes, length: usize, rows: &[usize]) -> Vector {
        let view =
            |row: &usize| View { buffer: 0, start: number(row * length), length: number(length) };
        let views = rows.iter().map(view).chain([View::default()]);
        let validity = (0..=rows.len()).map(|row| row < rows.len()).collect();
        let (buffers, views) = (vec![page.clone()], views.collect());
        Vector::Strings(Strings { buffers, views, validity: Some(validity) })
    }

    #[rstest]
    #[case::few(&[3, 70], true)]
    #[case::many(&[1, 2, 3, 4, 5, 6, 7, 8, 9], false)]
    fn page_is_let_go_if_few_of_its_strings_are_kept(
        #[case] rows: &[usize],
        #[case] is_let_go: bool,
    ) {
        let page = page(100, STRING_BYTES);
        let mut builder = ViewBuilder::of_text();
        for _ in 0..2 {
            builder.push(&strings(&page, STRING_BYTES, rows), rows.len() + 1).unwrap();
        }
        assert_eq!(page.is_unique(), is_let_go);
        let array = builder.finish(None);
        let text = |row: &usize| std::str::from_utf8(&page[row * STRING_BYTES..][..STRING_BYTES]);
        let once = || rows.iter().map(|row| text(row).unwrap()).chain([""]);
        let expected: Vec<&str> = once().chain(once()).collect();
        assert_eq!(array.as_string_view().iter().flatten().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn copies_of_long_strings_take_several_buffers() {
        let length = COPIES_BYTES_MAX * 2 / 3;
        let page = page(60, length);
        let mut builder = ViewBuilder::of_bytes();
        let short = strings(&Bytes::from(vec![b'x'; 400]), STRING_BYTES, &[0]);
        builder.push(&strings(&page, length, &[5, 7, 9]), 3).unwrap();
        builder.push(&short, 1).unwrap();
        let array = builder.finish(None);
        let array = array.as_binary_view();
        for (row, of) in [5, 7, 9].into_iter().enumerate() {
            assert!(array.value(row) == &page[of * length..][..length], "{row}");
        }
        assert_eq!(array.value(3), [b'x'; STRING_BYTES]);
        assert_eq!(array.data_buffers().len(), 3);
    }

    #[test]
    fn copy_of_text_that_is_not_utf8_is_corrupt() {
        let page = Bytes::from(vec![0xff; 1000]);
        let mut builder = ViewBuilder::of_text();
        let pushed = builder.push(&strings(&page, STRING_BYTES, &[1]), 2);
        assert!(matches!(pushed, Err(Stop::Status { status: Status::Corrupt, .. })));
    }
}
