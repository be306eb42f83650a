// SPDX-License-Identifier: Apache-2.0
//! Implements keys in an integer of 64 or 128 bits.

use std::{
    borrow::Cow,
    ops::{BitOrAssign, Range},
};

use arrow::{
    array::{Array, ArrayData, ArrayRef, BooleanArray, make_array},
    buffer::{Buffer, NullBuffer},
    datatypes::{ArrowNativeType, DataType},
};

use super::{
    AnyKeys, Keys,
    layout::{KeyColumn, KeyLayout, Value},
};
use crate::error::{Error, Result};

/// An unsigned integer that keys are packed in.
pub(crate) trait Word: Copy + Default + Eq + BitOrAssign + Send + Sync + 'static {
    /// A word of these bits; those that do not fit are lost.
    fn of(bits: u128) -> Self;

    /// The word with 64 bits moved up by `shift`.
    fn of_shifted(bits: u64, shift: u32) -> Self;

    /// The 64 bits above `shift`.
    fn shifted(self, shift: u32) -> u64;

    /// All bits.
    fn wide(self) -> u128;

    /// A hash whose high bits depend on every bit.
    fn hash(self) -> u64;
}

/// An odd number without a pattern in its bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of the product with the multiplier, so that each bit of the result depends on all.
#[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
const fn folded(word: u64) -> u64 {
    let product = word as u128 * MULTIPLIER as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

impl Word for u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the contract")]
    fn of(bits: u128) -> Self {
        bits as Self
    }

    fn of_shifted(bits: u64, shift: u32) -> Self {
        bits << shift
    }

    fn shifted(self, shift: u32) -> u64 {
        self >> shift
    }

    fn wide(self) -> u128 {
        u128::from(self)
    }

    fn hash(self) -> u64 {
        // The second product spreads the bits once more: those of small numbers are alike above.
        folded(self).wrapping_mul(MULTIPLIER)
    }
}

impl Word for u128 {
    fn of(bits: u128) -> Self {
        bits
    }

    fn of_shifted(bits: u64, shift: u32) -> Self {
        Self::from(bits) << shift
    }

    #[expect(clippy::cast_possible_truncation, reason = "the contract")]
    fn shifted(self, shift: u32) -> u64 {
        (self >> shift) as u64
    }

    fn wide(self) -> u128 {
        self
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are hashed")]
    fn hash(self) -> u64 {
        let high = folded((self >> 64) as u64 ^ MULTIPLIER.rotate_left(32));
        (folded(self as u64) ^ high.rotate_left(29)).wrapping_mul(MULTIPLIER)
    }
}

/// Keys in words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words<W>(pub(crate) Vec<W>);

/// Implements [`Keys`] for the words of one width.
macro_rules! impl_keys {
    ($word:ty, $kind:ident $(, $slice_of_any:item)?) => {
        impl Keys for Words<$word> {
            fn len(&self) -> usize {
                self.0.len()
            }

            fn memory_bytes(&self) -> usize {
                self.0.capacity() * size_of::<$word>()
            }

            fn used_bytes(&self) -> usize {
                size_of_val(&self.0[..])
            }

            fn clear(&mut self) {
                self.0.clear();
            }

            fn push_rows(
                &mut self,
                layout: &KeyLayout,
                columns: &[ArrayRef],
                hashes: &[u64],
            ) -> Result<()> {
                let before = self.0.len();
                self.0.resize(before + hashes.len(), 0);
                pack(layout, columns, &mut self.0[before..])
            }

            fn push_key(&mut self, others: &Self, key: usize) {
                self.0.push(others.0[key]);
            }

            fn push_range(&mut self, others: &Self, range: Range<usize>) {
                self.0.extend_from_slice(&others.0[range]);
            }

            fn gather(&self, order: &[u32]) -> Self {
                Self(order.iter().map(|place| self.0[*place as usize]).collect())
            }

            #[inline]
            fn hash(&self, key: usize) -> u64 {
                Word::hash(self.0[key])
            }

            #[inline]
            fn is_same(&self, key: usize, others: &Self, other: usize) -> bool {
                self.0[key] == others.0[other]
            }

            fn to_arrays(&self, layout: &KeyLayout, range: Range<usize>) -> Result<Vec<ArrayRef>> {
                unpack(layout, &self.0[range])
            }

            fn into_any(self) -> AnyKeys {
                AnyKeys::$kind(self)
            }

            fn of_any(keys: &AnyKeys) -> Option<&Self> {
                match keys {
                    AnyKeys::$kind(keys) => Some(keys),
                    _ => None,
                }
            }

            $($slice_of_any)?
        }
    };
}
impl_keys!(u64, Word);
impl_keys!(
    u128,
    Wide,
    fn slice_of_any(keys: &AnyKeys, range: Range<usize>) -> Option<(Cow<'_, Self>, Range<usize>)> {
        match keys {
            AnyKeys::Wide(keys) => Some((Cow::Borrowed(keys), range)),
            AnyKeys::Word(keys) => {
                let count = range.len();
                let widened = keys.0[range].iter().map(|word| u128::from(*word)).collect();
                Some((Cow::Owned(Self(widened)), 0..count))
            }
            AnyKeys::Text(_) | AnyKeys::Bytes(_) => None,
        }
    }
);

/// Adds the columns to the words of their rows, which are 0; texts are not in words.
pub(super) fn pack<W: Word>(
    layout: &KeyLayout,
    columns: &[ArrayRef],
    words: &mut [W],
) -> Result<()> {
    for (column, array) in layout.columns().iter().zip(columns) {
        if array.data_type() != &column.data_type || array.len() != words.len() {
            return Err(Error::Type { found: array.data_type().clone() });
        }
        let Value::Bits { width, shift } = column.value else { continue };
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let data = array.to_data();
        let nulls = nulls.as_ref();
        match width {
            1 => {
                let bits = BooleanArray::from(data);
                let values = bits.values().iter();
                add(words, values.map(|value| W::of_shifted(u64::from(value), shift)), nulls);
            }
            8 => add(words, shifted(data.buffer::<u8>(0), shift), nulls),
            16 => add(words, shifted(data.buffer::<u16>(0), shift), nulls),
            32 => add(words, shifted(data.buffer::<u32>(0), shift), nulls),
            64 => add(words, shifted(data.buffer::<u64>(0), shift), nulls),
            // Nothing is beside a decimal but bits above it.
            _ => {
                let values = data.buffer::<i128>(0).iter();
                add(words, values.map(|value| W::of(value.cast_unsigned() << shift)), nulls);
            }
        }
        if let Some(nulls) = nulls {
            let bit = layout.null_bit(column).ok_or(Error::Null)?;
            for (word, is_valid) in words.iter_mut().zip(nulls.iter()) {
                if !is_valid {
                    *word |= W::of_shifted(1, bit);
                }
            }
        }
    }
    Ok(())
}

/// Keys of the only column of a layout, of the bits of their values; the one at `null` is NULL.
pub(crate) fn words_of_one(
    layout: &KeyLayout,
    mut words: Vec<u64>,
    null: Option<usize>,
) -> Result<AnyKeys> {
    let Some(null) = null else { return Ok(AnyKeys::Word(Words(words))) };
    let bit = layout.columns().first().and_then(|column| layout.null_bit(column));
    let bit = bit.ok_or(Error::Null)?;
    Ok(match bit < u64::BITS {
        true => {
            words[null] |= 1 << bit;
            AnyKeys::Word(Words(words))
        }
        false => {
            let mut words: Vec<u128> = words.into_iter().map(u128::from).collect();
            words[null] |= 1 << bit;
            AnyKeys::Wide(Words(words))
        }
    })
}

/// The values of a column, moved to their place in the key.
fn shifted<W: Word, T: Copy + Into<u64>>(values: &[T], shift: u32) -> impl Iterator<Item = W> {
    values.iter().map(move |value| W::of_shifted((*value).into(), shift))
}

/// Adds values to the words of their rows, but where they are NULL.
fn add<W: Word>(words: &mut [W], values: impl Iterator<Item = W>, nulls: Option<&NullBuffer>) {
    match nulls {
        None => words.iter_mut().zip(values).for_each(|(word, value)| *word |= value),
        Some(nulls) => {
            for ((word, value), is_valid) in words.iter_mut().zip(values).zip(nulls.iter()) {
                *word |= if is_valid { value } else { W::default() };
            }
        }
    }
}

/// The columns of keys.
fn unpack<W: Word>(layout: &KeyLayout, words: &[W]) -> Result<Vec<ArrayRef>> {
    layout.columns().iter().map(|column| bits_column(layout, column, words)).collect()
}

/// A column that is in words.
#[expect(clippy::cast_possible_truncation, reason = "a value has no bits beyond its width")]
pub(super) fn bits_column<W: Word>(
    layout: &KeyLayout,
    column: &KeyColumn,
    words: &[W],
) -> Result<ArrayRef> {
    let Value::Bits { width, shift } = column.value else {
        return Err(Error::Type { found: column.data_type.clone() });
    };
    // The bit is outside of a word of 64 bits only if no key is NULL.
    let bit = layout.null_bit(column).filter(|bit| (*bit as usize) < size_of::<W>() * 8);
    let is_valid = |bit: u32| move |word: &W| word.shifted(bit) & 1 == 0;
    let nulls = bit.map(|bit| words.iter().map(is_valid(bit)).collect::<NullBuffer>());
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let buffer = match width {
        1 => words
            .iter()
            .map(|word| word.shifted(shift) & 1 == 1)
            .collect::<arrow::buffer::BooleanBuffer>()
            .into_inner(),
        8 => buffer(words, |word| word.shifted(shift) as u8),
        16 => buffer(words, |word| word.shifted(shift) as u16),
        32 => buffer(words, |word| word.shifted(shift) as u32),
        64 => buffer(words, |word| word.shifted(shift)),
        _ => buffer(words, |word| (word.wide() >> shift).cast_signed()),
    };
    array(&column.data_type, words.len(), buffer, nulls)
}

fn buffer<W: Word, T: ArrowNativeType>(words: &[W], value: impl Fn(W) -> T) -> Buffer {
    Buffer::from_vec(words.iter().map(|word| value(*word)).collect::<Vec<T>>())
}

/// An array of one buffer.
pub(super) fn array(
    data_type: &DataType,
    length: usize,
    buffer: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let data = ArrayData::builder(data_type.clone()).len(length).add_buffer(buffer).nulls(nulls);
    Ok(make_array(data.build()?))
}
