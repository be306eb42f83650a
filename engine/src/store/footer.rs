// SPDX-License-Identifier: Apache-2.0
//! Bounds the memory that a Parquet footer makes its reader allocate.
//!
//! The `parquet` crate allocates memory for the declared number of row groups, of children of a
//! schema element, of pages in an index, and for all bytes between the first and the last index;
//! and it recurses into a schema to any depth. So [`walk`] parses a footer before the crate does.
//! To see the same lists as the crate, it requires that each field of the format has its type, and
//! refuses encodings that the crate misreads. The crate then allocates at most some hundred times
//! the length of the footer.
//!
//! The meaning of the numbers is not checked here, but in [`validate`](crate::parquet).

mod fields;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fields::{FILE, Fields, Kind, ROW_GROUP, SCHEMA_ELEMENT};

/// Largest depth of nested structures; a footer has six, and unknown fields may have more.
const DEPTH_MAX: u32 = 64;

/// Largest depth of nested groups in a schema.
const SCHEMA_DEPTH_MAX: usize = 100;

/// Largest number of row groups of a file: their ordinals are signed 16-bit numbers from 0 on.
const ROW_GROUPS_MAX: u64 = 1 << 15;

/// Bytes of an index that [`check_offsets`] looks at.
pub(super) const HEAD_BYTES: u64 = 12;

/// The ranges of the page indexes in the file, as the footer declares them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexes {
    /// Offset indexes.
    pub(super) offsets: Vec<Range<u64>>,
    /// Column indexes.
    pub(super) bounds: Vec<Range<u64>>,
}

impl Indexes {
    /// Returns the range from the first to the last index, and the sum of their bytes.
    pub(super) fn span(&self) -> Option<(Range<u64>, u64)> {
        let all = || self.offsets.iter().chain(&self.bounds);
        let start = all().map(|range| range.start).min()?;
        let end = all().map(|range| range.end).max()?;
        let bytes = all().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
        Some((start..end, bytes))
    }
}

/// Parses a footer, and returns the ranges of its page indexes.
///
/// # Errors
/// The reason why the footer is invalid.
pub(super) fn walk(footer: &[u8]) -> Result<Indexes, String> {
    let mut walk = Walk { rest: footer, indexes: Indexes::default() };
    walk.structure(FILE, DEPTH_MAX)?;
    Ok(walk.indexes)
}

/// Checks the number of pages in an offset index against its length: on its fast path the crate
/// allocates memory for them first. `head` has the first bytes of the index.
///
/// # Errors
/// If there cannot be so many.
pub(super) fn check_offsets(head: &[u8], bytes: u64) -> Result<(), String> {
    const LIST_OF_FIELD_1: u8 = 1 << 4 | wire::LIST;
    let Some((&LIST_OF_FIELD_1, rest)) = head.split_first() else { return Ok(()) };
    let mut walk = Walk { rest, indexes: Indexes::default() };
    match walk.list_header()? {
        (_, pages) if pages > bytes => Err(too_many(pages, bytes)),
        _ => Ok(()),
    }
}

/// Types of the Thrift compact protocol.
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
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

struct Walk<'a> {
    rest: &'a [u8],
    indexes: Indexes,
}

impl Walk<'_> {
    /// Parses a structure. Of a schema element, returns the number of its children.
    fn structure(&mut self, fields: Fields, depth: u32) -> Result<u64, String> {
        let below = depth.checked_sub(1).ok_or("structures are nested too deeply")?;
        let mut last = 0i16;
        // Ranges of the two indexes.
        let (mut starts, mut lengths) = ([None; 2], [None; 2]);
        let mut children = 0;
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
            match (known, kind) {
                (None, _)
                | (Some(Kind::Bool), wire::TRUE | wire::FALSE)
                | (Some(Kind::Byte), wire::BYTE)
                | (Some(Kind::Int), wire::I16..=wire::I64)
                | (Some(Kind::Double), wire::DOUBLE)
                | (Some(Kind::Bytes), wire::BYTES) => self.value(kind, &[], below)?,
                (Some(Kind::List(fields)), wire::LIST)
                | (Some(Kind::Struct(fields)), wire::STRUCT) => self.value(kind, fields, below)?,
                (Some(Kind::IndexStart(index)), wire::I16..=wire::I64) => {
                    starts[index as usize] = u64::try_from(self.integer()?).ok();
                }
                (Some(Kind::IndexBytes(index)), wire::I16..=wire::I64) => {
                    lengths[index as usize] = u64::try_from(self.small()?).ok();
                }
                (Some(Kind::Children), wire::I16..=wire::I64) => {
                    let count = self.small()?;
                    children = u64::try_from(count)
                        .map_err(|_| format!("a schema element declares {count} children"))?;
                }
                (Some(Kind::Schema), wire::LIST) => self.schema(below)?,
                (Some(Kind::RowGroups), wire::LIST) => {
                    let (kind, count) = self.list()?;
                    if count > ROW_GROUPS_MAX {
                        return Err(format!("it declares {count} row groups"));
                    }
                    self.items(kind, count, ROW_GROUP, below)?;
                }
                (Some(expected), _) => {
                    return Err(format!("field {last} is not of type {}", expected.name()));
                }
            }
        }
        let Indexes { offsets, bounds } = &mut self.indexes;
        for (ranges, place) in [offsets, bounds].into_iter().zip(starts.into_iter().zip(lengths)) {
            // Like the crate, ignores an index whose start or length is missing or negative.
            if let (Some(start), Some(bytes)) = place {
                ranges.push(start..start.saturating_add(bytes));
            }
        }
        Ok(children)
    }

    /// Parses the elements of a schema, parents before children.
    fn schema(&mut self, depth: u32) -> Result<(), String> {
        let (kind, count) = self.list()?;
        if kind != wire::STRUCT {
            return self.items(kind, count, &[], depth);
        }
        // Number of remaining children, at each level.
        let mut levels = vec![1];
        for left in (0..count).rev() {
            let children = self.structure(SCHEMA_ELEMENT, depth)?;
            if children > left {
                return Err(format!(
                    "a schema element declares {children} children, but {left} elements are left"
                ));
            }
            while levels.pop_if(|level| *level == 0).is_some() {}
            if let Some(level) = levels.last_mut() {
                *level -= 1;
            }
            levels.push(children);
            if levels.len() > SCHEMA_DEPTH_MAX {
                return Err("the schema is nested too deeply".to_owned());
            }
        }
        Ok(())
    }

    /// Parses a value of a field.
    fn value(&mut self, kind: u8, fields: Fields, depth: u32) -> Result<(), String> {
        match kind {
            // The type of a field is its value.
            wire::TRUE | wire::FALSE => Ok(()),
            wire::BYTE => self.byte().map(drop),
            wire::I16..=wire::I64 => self.integer().map(drop),
            wire::DOUBLE => self.bytes(8),
            wire::UUID => self.bytes(16),
            wire::BYTES => {
                let length = self.varint()?;
                self.bytes(length)
            }
            wire::LIST | wire::SET => {
                let (kind, count) = self.list()?;
                self.items(kind, count, fields, depth)
            }
            wire::MAP => {
                let count = self.varint()?;
                if count > self.rest.len() as u64 {
                    return Err(too_many(count, self.rest.len() as u64));
                }
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.items(kinds >> 4, 1, &[], depth)?;
                    self.items(kinds & 0xf, 1, &[], depth)?;
                }
                Ok(())
            }
            wire::STRUCT => self.structure(fields, depth).map(drop),
            other => Err(format!("a value has the unknown type {other}")),
        }
    }

    fn items(&mut self, kind: u8, count: u64, fields: Fields, depth: u32) -> Result<(), String> {
        let below = depth.checked_sub(1).ok_or("lists are nested too deeply")?;
        if count > 0 && matches!(kind, wire::TRUE | wire::FALSE) {
            // The crate reads no bytes for the items, and so misreads the following fields.
            return Err("a list has boolean items".to_owned());
        }
        (0..count).try_for_each(|_| self.value(kind, fields, below))
    }

    /// Parses the header of a list: the type and the number of its items, each of which has a byte
    /// at least.
    fn list(&mut self) -> Result<(u8, u64), String> {
        let (kind, count) = self.list_header()?;
        match self.rest.len() as u64 {
            bytes if count <= bytes => Ok((kind, count)),
            bytes => Err(too_many(count, bytes)),
        }
    }

    fn list_header(&mut self) -> Result<(u8, u64), String> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Ok((head & 0xf, count))
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.rest.split_off_first().copied().ok_or_else(|| "it ends early".to_owned())
    }

    fn bytes(&mut self, count: u64) -> Result<(), String> {
        let there = usize::try_from(count).ok().and_then(|count| self.rest.split_off(..count));
        there
            .map(drop)
            .ok_or_else(|| format!("a string declares {count} bytes of {}", self.rest.len()))
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

    /// Parses an integer that the crate stores in 32 bits.
    fn small(&mut self) -> Result<i32, String> {
        i32::try_from(self.integer()?).map_err(|_| "a number has more than 32 bits".to_owned())
    }
}

fn too_many(items: u64, bytes: u64) -> String {
    format!("a list declares {items} items in {bytes} bytes")
}
