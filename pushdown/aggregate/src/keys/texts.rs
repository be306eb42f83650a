// SPDX-License-Identifier: Apache-2.0
//! Implements keys of one text, or string of bytes, and up to 128 bits beside it.
//!
//! A text is a view as Arrow has it: one of up to 12 bytes is in the view, of a longer one the view
//! has the length, the first four bytes, and its place in a buffer. Rows have the views and buffers
//! of their arrays, so that no text is copied before its group is known to be new, or its row is
//! put into a block; the copies are in buffers of our own.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryViewArray, ByteView, GenericByteViewArray, StringViewArray,
    },
    buffer::{Buffer, NullBuffer, ScalarBuffer},
    compute::cast,
    datatypes::{ByteViewType, DataType},
};

use super::{
    AnyKeys, Keys,
    layout::{KeyColumn, KeyLayout, Value},
    words::{bits_column, pack},
};
use crate::error::{Error, Result};

/// Bytes of a text that are in its view.
const INLINE_BYTES_MAX: u32 = 12;

/// The view of NULL: no text is so long.
const NULL: u128 = u32::MAX as u128;

/// Bytes of a buffer of copies, unless a text is longer.
const COPY_BYTES: usize = 1 << 20;

/// Keys of a text and of bits.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextKeys {
    /// The text of each key, `[keys]`.
    pub(crate) views: Vec<u128>,
    /// The bits of each key, `[keys]`; none if the text is the only column.
    pub(crate) words: Vec<u128>,
    /// Bits of the hash of each key, `[keys]`.
    pub(crate) hashes: Vec<u32>,
    /// What the views are of, except for those of the last buffer.
    pub(crate) buffers: Vec<Buffer>,
    /// The last buffer: copies of texts.
    copies: Vec<u8>,
    /// Bytes of the texts that are not in their views.
    text_bytes: usize,
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are the length")]
const fn is_long(view: u128) -> bool {
    let length = view as u32;
    length > INLINE_BYTES_MAX && length != u32::MAX
}

/// The view of a text in another buffer, at another place.
fn moved(view: u128, buffer: usize, offset: usize) -> u128 {
    let mut view = ByteView::from(view);
    // There are fewer buffers than texts, and a buffer has less than 4 GiB.
    view.buffer_index = u32::try_from(buffer).unwrap_or(u32::MAX);
    view.offset = u32::try_from(offset).unwrap_or(u32::MAX);
    view.as_u128()
}

impl TextKeys {
    /// The bytes of a text that is not in its view.
    #[inline]
    fn text(&self, view: u128) -> &[u8] {
        let view = ByteView::from(view);
        let start = view.offset as usize;
        let buffer = match self.buffers.get(view.buffer_index as usize) {
            Some(buffer) => buffer.as_slice(),
            None => &self.copies,
        };
        &buffer[start..start + view.length as usize]
    }

    /// Appends a text of others, which is copied.
    #[inline]
    fn push_text(&mut self, others: &Self, view: u128) {
        if !is_long(view) {
            self.views.push(view);
            return;
        }
        let text = others.text(view);
        if self.copies.len() + text.len() > COPY_BYTES.max(self.copies.capacity()) {
            self.end_buffer();
        }
        self.views.push(moved(view, self.buffers.len(), self.copies.len()));
        self.copies.extend_from_slice(text);
        self.text_bytes += text.len();
    }

    fn end_buffer(&mut self) {
        if !self.copies.is_empty() {
            self.buffers.push(Buffer::from_vec(std::mem::take(&mut self.copies)));
        }
    }

    /// Whether the texts of two keys are the same.
    #[inline]
    fn is_same_text(&self, view: u128, others: &Self, other: u128) -> bool {
        /// Length and first bytes.
        const HEAD: u128 = u64::MAX as u128;
        match is_long(view) {
            false => view == other,
            true => view & HEAD == other & HEAD && self.text(view) == others.text(other),
        }
    }

    /// Appends the views of an array, NULL where it is.
    fn push_views<T: ByteViewType>(&mut self, array: &GenericByteViewArray<T>) {
        self.end_buffer();
        let shift = (self.buffers.len() as u128) << 64;
        let mut text_bytes = 0;
        self.views.extend(array.views().iter().map(|view| match is_long(*view) {
            true => {
                text_bytes += ByteView::from(*view).length as usize;
                view + shift
            }
            false => *view,
        }));
        self.text_bytes += text_bytes;
        self.buffers.extend(array.data_buffers().iter().cloned());
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            let first = self.views.len() - array.len();
            for (view, is_valid) in self.views[first..].iter_mut().zip(nulls.iter()) {
                if !is_valid {
                    *view = NULL;
                }
            }
        }
    }

    /// The texts of a range as an array.
    fn array(&self, data_type: &DataType, range: Range<usize>) -> Result<ArrayRef> {
        let views = &self.views[range];
        let nulls: NullBuffer = views.iter().map(|view| *view != NULL).collect();
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        // Only the buffers that are needed, so that a slice of many groups does not keep them all.
        let places = views.iter().filter(|view| is_long(**view));
        let places = places.map(|view| ByteView::from(*view).buffer_index as usize);
        let first = places.clone().min().unwrap_or(0);
        let last = places.max().map_or(0, |last| last + 1);
        let mut buffers: Vec<Buffer> =
            self.buffers[first.min(self.buffers.len())..last.min(self.buffers.len())].to_vec();
        if last > self.buffers.len() {
            buffers.push(Buffer::from_slice_ref(&self.copies));
        }
        let shift = (first as u128) << 64;
        let views = views.iter().map(|view| match *view {
            NULL => 0,
            view if is_long(view) => view - shift,
            view => view,
        });
        let views = ScalarBuffer::from(views.collect::<Vec<_>>());
        let of_bytes = matches!(data_type, DataType::Binary | DataType::BinaryView);
        let array: ArrayRef = match of_bytes {
            true => Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?),
            false => Arc::new(StringViewArray::try_new(views, buffers, nulls)?),
        };
        match array.data_type() == data_type {
            true => Ok(array),
            false => Ok(cast(&array, data_type)?),
        }
    }

    /// The keys of these parts, after a check that each text is in its buffer.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    pub(crate) fn of_parts(
        views: Vec<u128>,
        words: Vec<u128>,
        hashes: Vec<u32>,
        buffers: Vec<Buffer>,
    ) -> Result<Self> {
        let is_sound = |view: &u128| {
            let view = ByteView::from(*view);
            let end = view.offset as usize + view.length as usize;
            buffers.get(view.buffer_index as usize).is_some_and(|buffer| end <= buffer.len())
        };
        if !views.iter().filter(|view| is_long(**view)).all(is_sound) {
            return Err(Error::Damaged { what: "its texts end elsewhere" });
        }
        let text_bytes = buffers.iter().map(Buffer::len).sum();
        Ok(Self { views, words, hashes, buffers, copies: Vec::new(), text_bytes })
    }

    /// Ends the last buffer, so that all texts are in `buffers`.
    pub(crate) fn ended(mut self) -> Self {
        self.end_buffer();
        self
    }
}

impl Keys for TextKeys {
    fn len(&self) -> usize {
        self.views.len()
    }

    fn memory_bytes(&self) -> usize {
        let words = self.views.capacity() + self.words.capacity();
        words * size_of::<u128>()
            + self.hashes.capacity() * size_of::<u32>()
            + self.text_bytes.max(self.copies.capacity())
    }

    fn used_bytes(&self) -> usize {
        size_of_val(&self.views[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.hashes[..])
            + self.text_bytes
    }

    fn clear(&mut self) {
        self.views.clear();
        self.words.clear();
        self.hashes.clear();
        self.buffers.clear();
        self.copies.clear();
        self.text_bytes = 0;
    }

    fn push_rows(
        &mut self,
        layout: &KeyLayout,
        columns: &[ArrayRef],
        hashes: &[u64],
    ) -> Result<()> {
        // The high bits choose neither the partition of the output nor that within.
        #[expect(clippy::cast_possible_truncation, reason = "the bits that are wanted")]
        self.hashes.extend(hashes.iter().map(|hash| (*hash ^ hash.rotate_right(32)) as u32));
        for (column, array) in layout.columns().iter().zip(columns) {
            if !matches!(column.value, Value::Text(_)) {
                continue;
            }
            if array.data_type() != &column.data_type || array.len() != hashes.len() {
                return Err(Error::Type { found: array.data_type().clone() });
            }
            if column.null.is_none() && array.logical_null_count() > 0 {
                return Err(Error::Null);
            }
            match array.data_type() {
                DataType::Utf8View => self.push_views(array.as_string_view()),
                DataType::BinaryView => self.push_views(array.as_binary_view()),
                DataType::Utf8 => {
                    self.push_views(cast(array, &DataType::Utf8View)?.as_string_view());
                }
                _ => self.push_views(cast(array, &DataType::BinaryView)?.as_binary_view()),
            }
        }
        if layout.has_bits() {
            let before = self.words.len();
            self.words.resize(before + hashes.len(), 0);
            pack(layout, columns, &mut self.words[before..])?;
        }
        Ok(())
    }

    #[inline]
    fn push_key(&mut self, others: &Self, key: usize) {
        self.push_text(others, others.views[key]);
        self.words.extend(others.words.get(key));
        self.hashes.push(others.hashes[key]);
    }

    fn push_range(&mut self, others: &Self, range: Range<usize>) {
        range.for_each(|key| self.push_key(others, key));
    }

    fn gather(&self, order: &[u32]) -> Self {
        let words = if self.words.is_empty() { 0 } else { order.len() };
        let mut keys = Self {
            views: Vec::with_capacity(order.len()),
            words: Vec::with_capacity(words),
            hashes: Vec::with_capacity(order.len()),
            // All texts are in one buffer, unless that is too long for a view.
            copies: Vec::with_capacity(self.text_bytes.min(u32::MAX as usize)),
            ..Self::default()
        };
        order.iter().for_each(|place| keys.push_key(self, *place as usize));
        keys.ended()
    }

    #[inline]
    fn hash(&self, key: usize) -> u64 {
        u64::from(self.hashes[key]) << 32
    }

    #[inline]
    fn is_same(&self, key: usize, others: &Self, other: usize) -> bool {
        self.hashes[key] == others.hashes[other]
            && self.words.get(key) == others.words.get(other)
            && self.is_same_text(self.views[key], others, others.views[other])
    }

    fn to_arrays(&self, layout: &KeyLayout, range: Range<usize>) -> Result<Vec<ArrayRef>> {
        let array_of = |column: &KeyColumn| match column.value {
            Value::Text(_) => self.array(&column.data_type, range.clone()),
            Value::Bits { .. } => bits_column(layout, column, &self.words[range.clone()]),
        };
        layout.columns().iter().map(array_of).collect()
    }

    fn into_any(self) -> AnyKeys {
        AnyKeys::Text(self)
    }

    fn of_any(keys: &AnyKeys) -> Option<&Self> {
        match keys {
            AnyKeys::Text(keys) => Some(keys),
            _ => None,
        }
    }
}
