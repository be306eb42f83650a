// SPDX-License-Identifier: Apache-2.0
//! How much a Parquet footer makes its reader make room for.
//!
//! The `parquet` crate makes room for as many row groups as a footer says, for as many pages as an
//! index says, and for all that lies between the first and the last index. So a footer is walked
//! before it gets there: no list may have more items than bytes behind it. For the walk to see the
//! lists that the crate will see, each field that the format knows must have its kind.
//!
//! What the numbers mean is not looked at here: see [`guard`](crate::guard).

mod fields;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fields::{FILE, Fields, Kind};

/// Structures in structures; a footer has six.
const DEPTH_MAX: u32 = 16;

/// Where the indexes of pages are that a footer speaks of, in the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes {
    /// Of where the pages are.
    pub(super) offsets: Vec<Range<u64>>,
    /// Of the bounds of their values.
    pub(super) bounds: Vec<Range<u64>>,
}

impl Indexes {
    /// All between the first and the last of them, and their bytes.
    pub(super) fn span(&self) -> Option<(Range<u64>, u64)> {
        let all = || self.offsets.iter().chain(&self.bounds);
        let start = all().map(|range| range.start).min()?;
        let end = all().map(|range| range.end).max()?;
        let bytes = all().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
        Some((start..end, bytes))
    }
}

/// Walks a footer.
///
/// # Errors
/// Says what cannot be.
pub(super) fn walk(footer: &[u8]) -> Result<Indexes, String> {
    let mut walk = Walk::of(footer);
    walk.structure(FILE, DEPTH_MAX)?;
    Ok(walk.indexes)
}

/// Holds the number of pages in an index of where they are against its length: one that the crate
/// does not read in its fast way is held against it there.
///
/// # Errors
/// When there cannot be so many.
pub(super) fn check_offsets(index: &[u8]) -> Result<(), String> {
    const LIST_OF_FIELD_1: u8 = 1 << 4 | wire::LIST;
    match index.split_first() {
        Some((&LIST_OF_FIELD_1, rest)) => Walk::of(rest).list_header().map(drop),
        _ => Ok(()),
    }
}

/// Kinds as they are written.
mod wire {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BYTES: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

struct Walk<'a> {
    rest: &'a [u8],
    indexes: Indexes,
}

impl<'a> Walk<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, indexes: Indexes::default() }
    }

    fn structure(&mut self, fields: Fields, depth: u32) -> Result<(), String> {
        let below = depth.checked_sub(1).ok_or("structures are too deep in one another")?;
        let mut last = 0i16;
        // Of the two indexes.
        let (mut starts, mut lengths) = ([None; 2], [None; 2]);
        loop {
            let head = self.byte()?;
            if head & 0xf == wire::STOP {
                break;
            }
            let id = match head >> 4 {
                0 => i16::try_from(self.integer()?).ok(),
                step => last.checked_add(i16::from(step)),
            };
            last = id.ok_or("the number of a field is too large")?;
            let known = usize::try_from(last).ok().and_then(|id| id.checked_sub(1));
            let known = known.and_then(|at| fields.get(at)).copied().flatten();
            let kind = head & 0xf;
            let fields = match (known, kind) {
                (None, _)
                | (Some(Kind::Bool), wire::TRUE | wire::FALSE)
                | (Some(Kind::Byte), wire::BYTE)
                | (Some(Kind::Int), wire::I16..=wire::I64)
                | (Some(Kind::Double), wire::DOUBLE)
                | (Some(Kind::Bytes), wire::BYTES) => &[],
                (Some(Kind::List(fields)), wire::LIST)
                | (Some(Kind::Struct(fields)), wire::STRUCT) => fields,
                (Some(Kind::IndexStart(index)), wire::I16..=wire::I64) => {
                    starts[index as usize] = Some(self.integer()?);
                    continue;
                }
                (Some(Kind::IndexBytes(index)), wire::I16..=wire::I64) => {
                    lengths[index as usize] = Some(self.integer()?);
                    continue;
                }
                (Some(expected), _) => {
                    return Err(format!("field {last} is no {}", expected.name()));
                }
            };
            self.value(kind, fields, below)?;
        }
        let Indexes { offsets, bounds } = &mut self.indexes;
        for (ranges, place) in [offsets, bounds].into_iter().zip(starts.into_iter().zip(lengths)) {
            // The crate finds what is missing or negative.
            if let (Some(start), Some(bytes)) = place
                && let (Ok(start), Ok(bytes)) = (u64::try_from(start), u64::try_from(bytes))
            {
                ranges.push(start..start.saturating_add(bytes));
            }
        }
        Ok(())
    }

    /// A value of a field.
    fn value(&mut self, kind: u8, fields: Fields, depth: u32) -> Result<(), String> {
        match kind {
            // In a field the kind is the value.
            wire::TRUE | wire::FALSE => Ok(()),
            wire::BYTE => self.byte().map(drop),
            wire::I16..=wire::I64 => self.integer().map(drop),
            wire::DOUBLE => self.bytes(8),
            wire::BYTES => {
                let length = self.varint()?;
                self.bytes(length)
            }
            wire::LIST | wire::SET => {
                let below = depth.checked_sub(1).ok_or("lists are too deep in one another")?;
                let (kind, items) = self.list_header()?;
                for _ in 0..items {
                    match kind {
                        wire::TRUE | wire::FALSE => self.bytes(1)?,
                        kind => self.value(kind, fields, below)?,
                    }
                }
                Ok(())
            }
            wire::STRUCT => self.structure(fields, depth),
            other => Err(format!("there is a value of kind {other}")),
        }
    }

    /// The kind of the items, and how many.
    fn list_header(&mut self) -> Result<(u8, u64), String> {
        let head = self.byte()?;
        let items = match head >> 4 {
            15 => self.varint()?,
            items => u64::from(items),
        };
        match self.rest.len() as u64 {
            // An item has a byte at least.
            bytes if items <= bytes => Ok((head & 0xf, items)),
            bytes => Err(format!("a list is said to have {items} items in {bytes} bytes")),
        }
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.rest.split_off_first().copied().ok_or_else(|| "it ends early".to_owned())
    }

    fn bytes(&mut self, count: u64) -> Result<(), String> {
        let there = usize::try_from(count).ok().and_then(|count| self.rest.split_off(..count));
        there
            .map(drop)
            .ok_or_else(|| format!("a text is said to have {count} bytes of {}", self.rest.len()))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }

    fn integer(&mut self) -> Result<i64, String> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}
