// SPDX-License-Identifier: Apache-2.0
//! Packs the keys of a row, so that comparing and hashing them is one operation.
//!
//! - `layout`: where each key column is in the packed key.
//! - `words`: keys in an integer of 64 or 128 bits.
//! - `texts`: keys of one text and up to 128 bits.
//! - `bytes`: keys in a string of bytes, for several texts and whatever is wider.
//!
//! A nullable column has a bit beside its value, whose bits are then 0. The bits are above all
//! values: as long as no key was NULL, values of 64 bits are packed in 64, and such a key is
//! widened by zeros when one is.

mod bytes;
mod layout;
mod texts;
mod words;

use std::{borrow::Cow, ops::Range};

use arrow::array::ArrayRef;

pub(crate) use bytes::ByteKeys;
pub use layout::KeyLayout;
pub(crate) use layout::Kind;
pub(crate) use texts::TextKeys;
pub(crate) use words::{Words, words_of_one};

use crate::error::Result;

/// The keys of many rows or groups.
pub(crate) trait Keys: Clone + Default + Send + Sync {
    /// Number of keys.
    fn len(&self) -> usize;

    /// Bytes of memory that they have.
    fn memory_bytes(&self) -> usize;

    /// Bytes of that which are in use.
    fn used_bytes(&self) -> usize;

    /// Removes all keys, and keeps the memory.
    fn clear(&mut self);

    /// Appends the keys of rows with these hashes.
    fn push_rows(&mut self, layout: &KeyLayout, columns: &[ArrayRef], hashes: &[u64])
    -> Result<()>;

    /// Appends a key of others.
    fn push_key(&mut self, others: &Self, key: usize);

    /// Appends the keys of others in a range.
    fn push_range(&mut self, others: &Self, range: Range<usize>);

    /// The keys at these places, in this order.
    fn gather(&self, order: &[u32]) -> Self;

    /// A hash of a key, for tables: its high bits are the best.
    fn hash(&self, key: usize) -> u64;

    /// Whether a key is that of others.
    fn is_same(&self, key: usize, others: &Self, other: usize) -> bool;

    /// The key columns of a range.
    fn to_arrays(&self, layout: &KeyLayout, range: Range<usize>) -> Result<Vec<ArrayRef>>;

    /// The keys as any kind.
    fn into_any(self) -> AnyKeys;

    /// The keys in any kind, if they are of this one.
    fn of_any(keys: &AnyKeys) -> Option<&Self>;

    /// A range of keys, if they are of this kind, or of one that is widened to it; and where it is
    /// in the keys that are returned.
    fn slice_of_any(keys: &AnyKeys, range: Range<usize>) -> Option<(Cow<'_, Self>, Range<usize>)> {
        Some((Cow::Borrowed(Self::of_any(keys)?), range))
    }
}

/// Keys of any kind.
#[derive(Debug, Clone)]
pub(crate) enum AnyKeys {
    Word(Words<u64>),
    Wide(Words<u128>),
    Text(TextKeys),
    Bytes(ByteKeys),
}

/// Evaluates an expression over keys of any kind.
macro_rules! with_keys {
    ($any:expr, $keys:ident => $body:expr) => {
        match $any {
            $crate::keys::AnyKeys::Word($keys) => $body,
            $crate::keys::AnyKeys::Wide($keys) => $body,
            $crate::keys::AnyKeys::Text($keys) => $body,
            $crate::keys::AnyKeys::Bytes($keys) => $body,
        }
    };
}
pub(crate) use with_keys;

impl AnyKeys {
    pub(crate) fn len(&self) -> usize {
        with_keys!(self, keys => keys.len())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        with_keys!(self, keys => keys.memory_bytes())
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Word(_) => Kind::Word,
            Self::Wide(_) => Kind::Wide,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
        }
    }
}
