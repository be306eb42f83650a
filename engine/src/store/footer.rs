// SPDX-License-Identifier: Apache-2.0
//! How much a Parquet footer makes its reader make room for.
//!
//! The `parquet` crate makes room for as many row groups as a footer says, for as many elements as
//! one of the schema has below it, for as many pages as an index says, for all that lies between
//! the first and the last index, and it follows a schema as deep as that goes. So a footer is
//! walked before it gets there. For the walk to see the lists that the crate will see, each field
//! that the format knows must have its kind, and nothing stands there that the crate misreads.
//! What a footer then takes is at most some hundred times its own length.
//!
//! What the numbers mean is not looked at here: see [`validate`](crate::parquet).

mod fields;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fields::{FILE, Fields, Kind, ROW_GROUP, SCHEMA_ELEMENT};

/// Structures in structures; a footer has six, and what is not known of it may have more.
const DEPTH_MAX: u32 = 64;

/// Groups of a schema in one another.
const SCHEMA_DEPTH_MAX: usize = 100;

/// Row groups of a file: they are numbered from 0 on, in 16 bits with a sign.
const ROW_GROUPS_MAX: u64 = 1 << 15;

/// Bytes of an index that [`check_offsets`] looks at.
pub(super) const HEAD_BYTES: u64 = 12;

/// Where the indexes of pages are that a footer speaks of, in the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexes {
    /// Of where the pages are.
    pub(super) offsets: Vec<Range<u64>>,
    /// Of the bounds of their values.
    pub(super) bounds: Vec<Range<u64>>,
}

impl Indexes {
    /// All between the first and the last of them, and the bytes of each added up.
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
    let mut walk = Walk { rest: footer, indexes: Indexes::default() };
    walk.structure(FILE, DEPTH_MAX)?;
    Ok(walk.indexes)
}

/// Holds the number of pages in an index of where they are against its length: in its fast way the
/// crate makes room for them first. `head` are the first bytes of the index.
///
/// # Errors
/// When there cannot be so many.
pub(super) fn check_offsets(head: &[u8], bytes: u64) -> Result<(), String> {
    const LIST_OF_FIELD_1: u8 = 1 << 4 | wire::LIST;
    let Some((&LIST_OF_FIELD_1, rest)) = head.split_first() else { return Ok(()) };
    let mut walk = Walk { rest, indexes: Indexes::default() };
    match walk.list_header()? {
        (_, pages) if pages > bytes => Err(too_many(pages, bytes)),
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
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

struct Walk<'a> {
    rest: &'a [u8],
    indexes: Indexes,
}

impl Walk<'_> {
    /// A structure. Of an element of the schema gives how many there are below it.
    fn structure(&mut self, fields: Fields, depth: u32) -> Result<u64, String> {
        let below = depth.checked_sub(1).ok_or("structures are too deep in one another")?;
        let mut last = 0i16;
        // Of the two indexes.
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
                    children = u64::try_from(count).map_err(|_| {
                        format!("an element of the schema is said to have {count} below it")
                    })?;
                }
                (Some(Kind::Schema), wire::LIST) => self.schema(below)?,
                (Some(Kind::RowGroups), wire::LIST) => {
                    let (kind, count) = self.list()?;
                    if count > ROW_GROUPS_MAX {
                        return Err(format!("it is said to have {count} row groups"));
                    }
                    self.items(kind, count, ROW_GROUP, below)?;
                }
                (Some(expected), _) => {
                    return Err(format!("field {last} is no {}", expected.name()));
                }
            }
        }
        let Indexes { offsets, bounds } = &mut self.indexes;
        for (ranges, place) in [offsets, bounds].into_iter().zip(starts.into_iter().zip(lengths)) {
            // For the crate, too, there is no index where one of the two is missing or negative.
            if let (Some(start), Some(bytes)) = place {
                ranges.push(start..start.saturating_add(bytes));
            }
        }
        Ok(children)
    }

    /// The elements of a schema, each before those below it.
    fn schema(&mut self, depth: u32) -> Result<(), String> {
        let (kind, count) = self.list()?;
        if kind != wire::STRUCT {
            return self.items(kind, count, &[], depth);
        }
        // How many are still to come, at each level.
        let mut levels = vec![1];
        for left in (0..count).rev() {
            let children = self.structure(SCHEMA_ELEMENT, depth)?;
            if children > left {
                return Err(format!(
                    "an element of the schema is said to have {children} below it of {left}"
                ));
            }
            while levels.pop_if(|level| *level == 0).is_some() {}
            if let Some(level) = levels.last_mut() {
                *level -= 1;
            }
            levels.push(children);
            if levels.len() > SCHEMA_DEPTH_MAX {
                return Err("the schema is too deep".to_owned());
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
            other => Err(format!("there is a value of kind {other}")),
        }
    }

    fn items(&mut self, kind: u8, count: u64, fields: Fields, depth: u32) -> Result<(), String> {
        let below = depth.checked_sub(1).ok_or("lists are too deep in one another")?;
        if count > 0 && matches!(kind, wire::TRUE | wire::FALSE) {
            // The crate takes them for nothing, and what follows for something else.
            return Err("there is a list of truth values".to_owned());
        }
        (0..count).try_for_each(|_| self.value(kind, fields, below))
    }

    /// The kind of the items, and how many; of them each has a byte at least.
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

    /// An integer that the crate keeps in 32 bits.
    fn small(&mut self) -> Result<i32, String> {
        i32::try_from(self.integer()?).map_err(|_| "a number has more than 32 bits".to_owned())
    }
}

fn too_many(items: u64, bytes: u64) -> String {
    format!("a list is said to have {items} items in {bytes} bytes")
}
