// SPDX-License-Identifier: Apache-2.0
//! Begins reads, whoever runs them: serves what is cached and makes the order for the rest.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    error::{Error, Failed},
    file::File,
    inbox::Inbox,
    options::Options,
    orders::Start,
    piece::{Wanted, Whole},
    slot::Pending,
    target::{BLOCK, Target},
};

/// A range in the aligned buffer that it is read to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// First byte in the buffer.
    pub(crate) from: usize,
    /// The byte after the last one.
    pub(crate) to: usize,
}

/// Begins a read of `bytes` bytes at `offset` to the start of `target`; none is left to be done if
/// there is no order.
pub(crate) fn read<T: Target>(
    options: &Options,
    inbox: &Arc<Inbox>,
    wanted: Wanted<'_>,
    mut target: T,
) -> (Pending<T>, Option<Start>) {
    let pieces = wanted.pieces(&target, options);
    if pieces.is_empty() {
        // SAFETY: all of it was copied from the cache.
        unsafe { target.set_filled(wanted.bytes) };
        return (Pending::ended(Ok(target)), None);
    }
    let memory = Whole { pointer: target.pointer(), registered: target.registered() };
    let number = inbox.number();
    let (pending, job) = Pending::new(target, wanted.bytes, inbox, number);
    let start = Start {
        number,
        file: wanted.file.clone(),
        offset: wanted.offset,
        bytes: wanted.bytes as u64,
        memory,
        pieces,
        job,
    };
    (pending, Some(start))
}

/// Begins a read of a range to a buffer that `make` makes of as many bytes as are needed: from the
/// block on that holds the first byte of the range.
pub(crate) fn range<T: Target>(
    options: &Options,
    inbox: &Arc<Inbox>,
    file: &File,
    range: &Range<u64>,
    make: impl FnOnce(usize) -> Result<T, Error>,
) -> Result<(Pending<T>, Place, Option<Start>), Error> {
    let place = place(range)?;
    let offset = range.start - place.from as u64;
    let buffer = make(place.to)?;
    let wanted = Wanted { file, offset, bytes: place.to };
    let (pending, start) = read(options, inbox, wanted, buffer);
    Ok((pending, place, start))
}

/// Where a range is in its buffer.
pub(crate) fn place(range: &Range<u64>) -> Result<Place, Error> {
    let wrong = || Error::Range { start: range.start, end: range.end };
    let length = range.end.checked_sub(range.start).ok_or_else(wrong)?;
    let from = usize::try_from(range.start % BLOCK as u64).map_err(|_| wrong())?;
    let length = usize::try_from(length).map_err(|_| wrong())?;
    let to = from.checked_add(length).ok_or_else(wrong)?;
    Ok(Place { from, to })
}

/// The bytes of a range whose read has ended.
pub(crate) fn bytes<T: Target + AsRef<[u8]> + Sync>(
    result: Result<T, Failed<T>>,
    place: Place,
) -> Result<Bytes, Error> {
    Ok(Bytes::from_owner(result?).slice(place.from..place.to))
}
