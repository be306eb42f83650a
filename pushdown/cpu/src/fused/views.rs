// SPDX-License-Identifier: Apache-2.0
//! Collects byte strings in an Arrow array of views, which refer to pages and dictionaries.
//!
//! A view of 16 bytes has the length of a string, and either the string itself, if that is at most
//! 12 bytes long, or its first four bytes and its place in a buffer. Those of a dictionary are made
//! once for each entry. Nothing is copied, unless the strings of an array are a small part of the
//! buffers that they would keep in memory.

use std::{mem::take, sync::Arc};

use arrow::{
    array::{ArrayRef, BinaryViewArray, StringViewArray, make_view},
    buffer::{Buffer, NullBuffer, ScalarBuffer},
};
use bytes::Bytes;
use nearscan_command::Status;

use crate::{
    dictionary::Dictionary,
    entry_views::{INLINE_BYTES_MAX, are_utf8},
    error::Stop,
    values::{Strings, is_set},
    vector::{Coded, Vector},
};

/// Lowest bit of the number of the buffer in the view of a longer string.
const BUFFER_SHIFT: u32 = 64;

/// Strings that take less than one part in so many of their buffers are copied to a buffer of their
/// own.
const USED_PARTS_MAX: usize = 2;

/// A column of byte strings that is being collected.
#[derive(Debug)]
pub(super) struct ViewBuilder {
    is_text: bool,
    /// Each is in one of `buffers`, or in itself; of a text it is valid UTF-8.
    views: Vec<u128>,
    buffers: Vec<Bytes>,
}

impl ViewBuilder {
    /// Of texts.
    pub(super) const fn of_text() -> Self {
        Self { is_text: true, views: Vec::new(), buffers: Vec::new() }
    }

    /// Of any bytes.
    pub(super) const fn of_bytes() -> Self {
        Self { is_text: false, views: Vec::new(), buffers: Vec::new() }
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
        let (Some(entries), Some(strings)) = (dictionary.entry_views(), dictionary.strings())
        else {
            return Err(Stop::status(Status::Unsupported));
        };
        if self.is_text && !entries.is_utf8 {
            return Err(Stop::status(Status::Corrupt));
        }
        let codes = coded.codes[..rows].iter();
        let buffer = match strings.buffers.first() {
            Some(bytes) if entries.has_long => self.buffer(bytes),
            _ => 0,
        };
        if buffer == 0 {
            self.views.extend(codes.map(|code| entries.views[*code as usize]));
        } else {
            let place = u128::from(buffer) << BUFFER_SHIFT;
            self.views.extend(codes.map(|code| in_buffer(entries.views[*code as usize], place)));
        }
        Ok(())
    }

    fn push_strings(&mut self, strings: &Strings, rows: usize) -> Result<(), Stop> {
        if self.is_text && !are_utf8(strings, rows) {
            return Err(Stop::status(Status::Corrupt));
        }
        let buffers: Vec<u32> = strings.buffers.iter().map(|bytes| self.buffer(bytes)).collect();
        self.views.reserve(rows);
        for row in 0..rows {
            let bytes = match is_set(strings.validity.as_ref(), row) {
                true => strings.get(row),
                false => &[],
            };
            let place = &strings.views[row];
            let buffer = buffers.get(place.buffer as usize).copied().unwrap_or(0);
            self.views.push(make_view(bytes, buffer, place.start));
        }
        Ok(())
    }

    /// The number of a buffer.
    fn buffer(&mut self, bytes: &Bytes) -> u32 {
        let is_same =
            |other: &Bytes| other.as_ptr() == bytes.as_ptr() && other.len() == bytes.len();
        let index = self.buffers.iter().rposition(is_same).unwrap_or_else(|| {
            self.buffers.push(bytes.clone());
            self.buffers.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Drops the strings behind the first `rows`.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.views.truncate(rows);
    }

    /// The array of all strings; the builder is empty then.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
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

/// The view of a string in buffer 0, moved to another buffer, whose number is at its place in
/// `place`; a short string is in no buffer.
fn in_buffer(view: u128, place: u128) -> u128 {
    let [length @ .., _, _, _, _, _, _, _, _, _, _, _, _] = view.to_le_bytes();
    match u32::from_le_bytes(length) as usize > INLINE_BYTES_MAX {
        true => view | place,
        false => view,
    }
}
