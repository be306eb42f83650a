// SPDX-License-Identifier: Apache-2.0
//! Groups rows by one number or date whose values are in a short range: the group of a key is found
//! by its place in the range (direct addressing), without a hash or a comparison.
//!
//! ```text
//! places  [last - first + 1]  number of the group with this key plus one, or 0
//! words   [groups]            packed keys, in the order in which they were found
//! states  [groups]            a column for each state
//! ```
//!
//! Groups are numbered as they are found, so that keys that come in order touch memory in order,
//! and only groups that there are have states.
//!
//! # Invariants
//!
//! - A key beyond the range is an error, never a row of another group.
//! - NULL is a group of its own, without a place in the range.
//! - A group's values are folded in the order of its rows.

use std::{ops::RangeInclusive, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    buffer::NullBuffer,
    datatypes::{DataType, Int64Type},
};

use crate::{
    block::Contents,
    column::{Column, integers},
    error::{Error, Result},
    fold::{fold, grow},
    keys::{KeyLayout, words_of_one},
    merging::Groups,
    shape::Shape,
};

/// The keys that rows may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectKeys {
    /// The range of the keys that are not NULL.
    pub span: RangeInclusive<i64>,
    /// At most so many of them are different, about.
    pub keys_max: usize,
}

impl DirectKeys {
    /// The number of places, if an index can have so many.
    #[must_use]
    pub fn places(&self) -> Option<usize> {
        if self.span.is_empty() {
            return Some(0);
        }
        let last = usize::try_from(self.span.end().abs_diff(*self.span.start())).ok()?;
        // A group has a number of 32 bits, and so has NULL.
        (last < u32::MAX as usize - 1).then(|| last + 1)
    }

    /// Groups, at most, of which one is that of NULL.
    fn groups(&self, places: usize) -> usize {
        self.keys_max.min(places) + 1
    }

    /// Bytes of memory that the groups take at most; none if there are too many places.
    #[must_use]
    pub fn memory_bytes(&self, shape: &Shape) -> Option<usize> {
        let places = self.places()?;
        let states: usize = shape.states.iter().map(Column::group_bytes).sum();
        let groups = self.groups(places).checked_mul(size_of::<u64>() + states)?;
        places.checked_mul(size_of::<u32>())?.checked_add(groups)
    }
}

/// The groups of rows with keys in a range.
#[derive(Debug)]
pub struct DirectGroups {
    shape: Arc<Shape>,
    /// Bits of a key.
    mask: u64,
    keys: DirectKeys,
    places: Vec<u32>,
    words: Vec<u64>,
    /// The group of NULL.
    null: Option<u32>,
    states: Vec<Column>,
    /// The groups of the rows of a batch, and the values of their arguments.
    groups: Vec<u32>,
    values: Vec<Column>,
}

impl DirectGroups {
    /// Whether keys of a shape can have an index: one column of integers, or of dates in days.
    #[must_use]
    pub fn takes(shape: &Shape) -> bool {
        mask_of(&shape.keys).is_some()
    }

    /// No groups yet; none if keys of the shape cannot have an index, or it would be too long.
    #[must_use]
    pub fn new(shape: Arc<Shape>, keys: DirectKeys) -> Option<Self> {
        let mask = mask_of(&shape.keys)?;
        let places = keys.places()?;
        let capacity = keys.groups(places);
        let states = shape.states.iter().map(|state| Column::of_groups(state).with_room(capacity));
        Some(Self {
            states: states.collect(),
            values: shape.states.iter().map(Column::of_rows).collect(),
            places: vec![0; places],
            words: Vec::with_capacity(capacity),
            null: None,
            groups: Vec::new(),
            mask,
            keys,
            shape,
        })
    }

    /// Adds rows: their keys, and their arguments, a column each.
    ///
    /// # Errors
    /// [`Error::Type`] if a column is not of the type that was planned, and [`Error::Range`] if a
    /// key is beyond the range; the groups are then of no use any more.
    pub fn push(&mut self, keys: &ArrayRef, arguments: &[ArrayRef]) -> Result<()> {
        self.find_groups(keys)?;
        let rows = 0..self.groups.len();
        let states = self.shape.states.iter().zip(&mut self.states).zip(&mut self.values);
        for ((state, states), values) in states {
            values.clear();
            match (&mut *values, arguments.get(state.argument)) {
                (Column::None, _) => {}
                (values, Some(argument)) => values.push(state, argument)?,
                (_, None) => debug_assert!(false, "every argument is given"),
            }
            grow(state, states, self.words.len());
            fold(state, states, Contents::Rows, values, rows.clone(), &self.groups);
        }
        Ok(())
    }

    /// All groups.
    ///
    /// # Errors
    /// [`Error::Null`] if a key was NULL that was planned not to be.
    pub fn into_groups(self) -> Result<Groups> {
        let null = self.null.map(|null| null as usize);
        let keys = words_of_one(&self.shape.keys, self.words, null)?;
        Ok(Groups::of_parts(self.shape, keys, self.states))
    }

    /// Writes down the groups of rows with these keys.
    fn find_groups(&mut self, keys: &ArrayRef) -> Result<()> {
        if !self.shape.keys.is_of(keys.data_type()) {
            return Err(Error::Type { found: keys.data_type().clone() });
        }
        let numbers = integers(keys)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        self.groups.clear();
        match numbers.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.find_values(numbers.values()),
            Some(nulls) => self.find_nullable(numbers.values(), nulls),
        }
    }

    fn find_values(&mut self, keys: &[i64]) -> Result<()> {
        let first = *self.keys.span.start();
        for key in keys {
            // One before the range wraps to a place behind it.
            let place = usize::try_from(key.wrapping_sub(first).cast_unsigned());
            let place = place.ok().and_then(|place| self.places.get_mut(place));
            let Some(place) = place else { return Err(self.beyond(*key)) };
            if *place == 0 {
                self.words.push(key.cast_unsigned() & self.mask);
                *place = number(self.words.len());
            }
            self.groups.push(*place - 1);
        }
        Ok(())
    }

    fn find_nullable(&mut self, keys: &[i64], nulls: &NullBuffer) -> Result<()> {
        for (key, is_valid) in keys.iter().zip(nulls) {
            match (is_valid, self.null) {
                (true, _) => self.find_values(std::slice::from_ref(key))?,
                (false, Some(null)) => self.groups.push(null),
                (false, None) => {
                    let null = number(self.words.len());
                    self.words.push(0);
                    self.null = Some(null);
                    self.groups.push(null);
                }
            }
        }
        Ok(())
    }

    fn beyond(&self, key: i64) -> Error {
        Error::Range { key, first: *self.keys.span.start(), last: *self.keys.span.end() }
    }
}

/// A number of groups, of which there are no more than places and NULL.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "places are fewer than 2^32 - 1")]
const fn number(groups: usize) -> u32 {
    groups as u32
}

/// The bits of a key of a layout.
fn mask_of(layout: &KeyLayout) -> Option<u64> {
    match layout.only_type()? {
        DataType::Int8 | DataType::UInt8 => Some(u64::from(u8::MAX)),
        DataType::Int16 | DataType::UInt16 => Some(u64::from(u16::MAX)),
        DataType::Int32 | DataType::UInt32 | DataType::Date32 => Some(u64::from(u32::MAX)),
        DataType::Int64 => Some(u64::MAX),
        _ => None,
    }
}
