// SPDX-License-Identifier: Apache-2.0
//! Reads the end of a Parquet file at once: tail, footer and page indexes.
//!
//! A reader of a Parquet file requests the tail, then the footer, then the page indexes. The footer
//! is checked when the tail is read, so it is in memory already, and so are short indexes. They are
//! kept for the next requests, so that a footer takes one task on a blocking thread, where
//! DataFusion's reader alone takes three.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt, path::Path};

use bytes::Bytes;

use super::{
    FREE_BYTES, MAGIC, TAIL_BYTES,
    footer::{self, Indexes},
};
use crate::corruption::Corruption;

/// Largest span of the page indexes, in bytes, that is read at once.
const INDEX_BYTES: u64 = 256 << 10;

/// Ranges at most this far apart are read by one request.
const NEAR_BYTES: u64 = 4096;

/// Bytes of a file, with their offset.
pub(crate) type Part = (u64, Bytes);

/// The end of a Parquet file.
#[derive(Debug)]
pub(super) struct Ending {
    /// The length of the footer, and the magic word.
    pub(super) tail: Bytes,
    /// The footer, and the page indexes if they are short.
    pub(super) parts: Vec<Part>,
}

/// The reason why the end of a file could not be read.
#[derive(Debug)]
pub(super) enum EndingError {
    Io(io::Error),
    Corrupt(Corruption),
}

impl From<io::Error> for EndingError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Corruption> for EndingError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

/// Reads and checks the footer of a file that ends at byte `end`; nothing if it is not a Parquet
/// file. `name` is the file's name in errors.
///
/// # Errors
/// If the file cannot be read, or its footer would make its reader allocate too much.
pub(super) fn read(path: &Path, name: &str, end: u64) -> Result<Option<Ending>, EndingError> {
    let file = File::open(path)?;
    let Some(footer_end) = end.checked_sub(TAIL_BYTES) else { return Ok(None) };
    if file.metadata()?.len() != end {
        return Ok(None);
    }
    let tail = bytes(&file, &(footer_end..end))?;
    let Some(start) = footer_start(name, &tail, end)? else { return Ok(None) };
    let footer = bytes(&file, &(start..footer_end))?;
    let indexes = check_footer(name, &footer, start, end)?;
    let mut parts = vec![(start, footer)];
    let Some((range, _)) = indexes.span() else { return Ok(Some(Ending { tail, parts })) };
    let heads = if range.end - range.start <= INDEX_BYTES {
        parts.push((range.start, bytes(&file, &range)?));
        parts[1..].to_vec()
    } else {
        let spans = spans_of_heads(&indexes).into_iter();
        let read = spans.map(|span| Ok((span.start, bytes(&file, &span)?)));
        read.collect::<io::Result<Vec<Part>>>()?
    };
    check_heads(name, &indexes, &heads)?;
    Ok(Some(Ending { tail, parts }))
}

/// Returns the offset of the footer in a file that ends at byte `end`, with `last` as its last
/// bytes; nothing if it is no Parquet file.
///
/// # Errors
/// If the footer would be longer than the file.
pub(crate) fn footer_start(name: &str, last: &[u8], end: u64) -> Result<Option<u64>, Corruption> {
    let Some((length, MAGIC)) = last.last_chunk::<8>().map(|tail| tail.split_at(4)) else {
        return Ok(None);
    };
    let Some((length, footer_end)) = length.first_chunk().zip(end.checked_sub(TAIL_BYTES)) else {
        return Ok(None);
    };
    let length = u64::from(u32::from_le_bytes(*length));
    let start = footer_end.checked_sub(length).ok_or_else(|| {
        let what = format!("it declares {length} bytes in a file of {end}");
        corrupt(name, "footer", footer_end, &what)
    })?;
    Ok(Some(start))
}

/// Walks a footer that starts at byte `start` of a file that ends at byte `end`; gives where the
/// indexes of pages are.
///
/// # Errors
/// If its reader would allocate too much for it, or for the indexes.
pub(crate) fn check_footer(
    name: &str,
    footer: &[u8],
    start: u64,
    end: u64,
) -> Result<Indexes, Corruption> {
    let indexes = footer::walk(footer).map_err(|what| corrupt(name, "footer", start, &what))?;
    if let Some((range, needed)) = indexes.span()
        && (range.end > end || needed > end || range.end - range.start > needed + FREE_BYTES)
    {
        let what = format!(
            "they declare {needed} bytes, in bytes {} to {} of a file of {end}",
            range.start, range.end
        );
        return Err(corrupt(name, "page indexes", range.start, &what));
    }
    Ok(indexes)
}

/// The bytes to read for [`check_heads`]: of heads that are near to one another, all at once.
pub(crate) fn spans_of_heads(indexes: &Indexes) -> Vec<Range<u64>> {
    let mut heads: Vec<Range<u64>> = indexes.offsets.iter().map(head_of).collect();
    heads.sort_unstable_by_key(|head| head.start);
    let near = heads.chunk_by(|one, next| next.start <= one.end + NEAR_BYTES);
    let span = |near: &[Range<u64>]| {
        let end = near.iter().map(|head| head.end).max();
        near[0].start..end.unwrap_or(near[0].end)
    };
    near.map(span).collect()
}

/// Checks the heads of page indexes.
///
/// # Errors
/// If a reader would allocate too much for one.
pub(crate) fn check_heads(name: &str, indexes: &Indexes, heads: &[Part]) -> Result<(), Corruption> {
    for index in &indexes.offsets {
        let head = heads.iter().find_map(|(start, bytes)| part(*start, bytes, &head_of(index)));
        let checked = footer::check_offsets(&head.unwrap_or_default(), index.end - index.start);
        checked.map_err(|what| corrupt(name, "page index", index.start, &what))?;
    }
    Ok(())
}

fn corrupt(name: &str, part: &str, offset: u64, what: &str) -> Corruption {
    Corruption {
        file: name.to_owned(),
        chunk: None,
        offset: Some(offset),
        what: format!("the {part} cannot be read: {what}"),
    }
}

/// Returns the bytes of a range, if they are part of those that start at `start`.
fn part(start: u64, bytes: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let first = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let last = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (first <= last && last <= bytes.len()).then(|| bytes.slice(first..last))
}

/// Returns the part of an index that is checked.
fn head_of(index: &Range<u64>) -> Range<u64> {
    index.start..index.start + (index.end - index.start).min(footer::HEAD_BYTES)
}

fn bytes(file: &File, range: &Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}
