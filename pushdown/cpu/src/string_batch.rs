// SPDX-License-Identifier: Apache-2.0
//! Collects the byte strings of a batch while they are read: as places in pages and dictionaries,
//! and in buffers for strings that no page has as a whole.

use bytes::Bytes;
use nearscan_command::Status;

use crate::{
    buffers::{Buffer, Buffers},
    values::{Strings, View},
};

/// Bytes behind a [`Room`] that may be overwritten, so that short strings are copied at a fixed
/// width.
pub(crate) const ROOM_SLACK: usize = 32;

/// Bytes that the strings of a batch may repeat of the ones before them: 8 KiB for each of 8192
/// rows. A few bytes of a page can stand for any number of long strings.
const REPEATED_BYTES_MAX: usize = 64 << 20;

/// Bytes of the first buffer of a batch at least; the next ones are twice as long each, since many
/// short stretches of a page may be read.
const BUFFER_BYTES_MIN: usize = 16 << 10;

/// Bytes up to which buffers are longer than what they are made for.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// The byte strings of a batch, in the order of its rows.
#[derive(Debug, Default)]
pub(crate) struct StringBatch {
    buffers: Vec<Bytes>,
    views: Vec<View>,
    open: Option<OpenBuffer>,
    /// Of all buffers.
    repeated_bytes: usize,
}

/// The buffer that strings are put together in.
#[derive(Debug)]
struct OpenBuffer {
    /// Its place among the buffers, where nothing is yet.
    number: usize,
    buffer: Buffer,
    used: usize,
}

/// Bytes of strings that are put together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringBytes {
    /// Of all strings.
    pub(crate) all: usize,
    /// Those that strings have in common with the ones before them.
    pub(crate) repeated: usize,
}

/// Room for strings that are put together.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    /// The bytes, and [`ROOM_SLACK`] more.
    pub(crate) bytes: &'a mut [u8],
    /// The place of the first byte, of no length.
    pub(crate) first: View,
    pub(crate) views: &'a mut Vec<View>,
}

impl StringBatch {
    /// The number of a page, and the places, to which its strings are to be appended.
    ///
    /// # Errors
    /// [`Status::Corrupt`] if there are too many.
    pub(crate) fn page(&mut self, page: &Bytes) -> Result<(u32, &mut Vec<View>), Status> {
        let is_page = |last: &Bytes| last.as_ptr() == page.as_ptr() && last.len() == page.len();
        if !self.buffers.last().is_some_and(is_page) {
            self.buffers.push(page.clone());
        }
        Ok((buffer_number(self.buffers.len() - 1)?, &mut self.views))
    }

    /// Appends entries of a dictionary.
    ///
    /// # Errors
    /// [`Status::Corrupt`] if there are too many buffers.
    pub(crate) fn entries(&mut self, entries: &Strings, codes: &[u32]) -> Result<(), Status> {
        let shift = buffer_number(self.buffers.len())?;
        self.buffers.extend(entries.buffers.iter().cloned());
        self.views.extend(codes.iter().map(|code| {
            let view = entries.views[*code as usize];
            View { buffer: view.buffer + shift, ..view }
        }));
        Ok(())
    }

    /// Room for strings of so many bytes, in memory of `pool`.
    ///
    /// # Errors
    /// [`Status::Encoding`] if the batch repeats too many bytes.
    pub(crate) fn room(&mut self, bytes: StringBytes, pool: &Buffers) -> Result<Room<'_>, Status> {
        self.repeated_bytes = self.repeated_bytes.saturating_add(bytes.repeated);
        let end = u32::try_from(bytes.all.saturating_add(ROOM_SLACK));
        if self.repeated_bytes > REPEATED_BYTES_MAX || end.is_err() {
            return Err(Status::Encoding);
        }
        let needed = bytes.all + ROOM_SLACK;
        let length = self.open.as_ref().map_or(0, |open| open.buffer.as_ref().len());
        let has_room = |open: &OpenBuffer| length - open.used >= needed;
        let open = match self.open.take() {
            Some(open) if has_room(&open) => open,
            full => {
                full.into_iter().for_each(|full| self.close(full));
                let usual = (length * 2).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
                let number = self.buffers.len();
                self.buffers.push(Bytes::new());
                OpenBuffer { number, buffer: pool.take(needed.max(usual)), used: 0 }
            }
        };
        let OpenBuffer { number: buffer, buffer: memory, used } = self.open.insert(open);
        let start = *used;
        *used += bytes.all;
        let place = |at: usize| u32::try_from(at).map_err(|_| Status::Encoding);
        let first = View { buffer: place(*buffer)?, start: place(start)?, length: 0 };
        let bytes = &mut memory.bytes_mut()[start..][..needed];
        Ok(Room { bytes, first, views: &mut self.views })
    }

    /// The buffers, and the places of the strings in them.
    pub(crate) fn finish(mut self) -> (Vec<Bytes>, Vec<View>) {
        self.open.take().into_iter().for_each(|open| self.close(open));
        (self.buffers, self.views)
    }

    fn close(&mut self, full: OpenBuffer) {
        let OpenBuffer { number, buffer, used } = full;
        if let Some(place) = self.buffers.get_mut(number) {
            *place = buffer.freeze().slice(..used);
        }
    }
}

fn buffer_number(index: usize) -> Result<u32, Status> {
    u32::try_from(index).map_err(|_| Status::Corrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends one string that is put together.
    fn append(batch: &mut StringBatch, pool: &Buffers, string: &[u8]) -> Result<View, Status> {
        let all = string.len();
        let room = batch.room(StringBytes { all, repeated: 0 }, pool)?;
        assert_eq!(room.bytes.len(), all + ROOM_SLACK);
        room.bytes.fill(b'?');
        room.bytes[..all].copy_from_slice(string);
        let view = View { length: u32::try_from(all).unwrap(), ..room.first };
        room.views.push(view);
        Ok(view)
    }

    #[test]
    fn strings_of_pages_dictionaries_and_buffers_keep_their_order() {
        let pool = Buffers::default();
        let mut batch = StringBatch::default();
        let page = Bytes::from_static(b"one two");
        let entries = Strings {
            buffers: vec![Bytes::from_static(b"three")],
            views: vec![View { buffer: 0, start: 1, length: 4 }],
            validity: None,
        };
        for _ in 0..2 {
            let (buffer, views) = batch.page(&page).unwrap();
            views.push(View { buffer, start: 4, length: 3 });
        }
        append(&mut batch, &pool, b"four").unwrap();
        batch.entries(&entries, &[0, 0]).unwrap();
        append(&mut batch, &pool, b"").unwrap();
        // Longer than the buffer.
        let long = [b'x'; 3 * BUFFER_BYTES_MIN];
        append(&mut batch, &pool, &long).unwrap();
        append(&mut batch, &pool, b"six").unwrap();
        let (buffers, views) = batch.finish();
        // The page, the dictionary, and a buffer before, of and behind the long string.
        assert_eq!(buffers.len(), 5);
        let strings = Strings { buffers, views, validity: None };
        let expected: [&[u8]; 8] = [b"two", b"two", b"four", b"hree", b"hree", b"", &long, b"six"];
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(strings.get(row), *expected, "row {row}");
        }
    }

    #[test]
    fn short_strings_share_buffers_of_the_pool() {
        let pool = Buffers::default();
        let mut batch = StringBatch::default();
        for _ in 0..1000 {
            append(&mut batch, &pool, &[b'a'; 100]).unwrap();
        }
        let (buffers, views) = batch.finish();
        assert_eq!((buffers.len(), views.len()), (3, 1000));
        // Only what is used counts.
        assert_eq!(buffers.iter().map(Bytes::len).sum::<usize>(), 100_000);
        assert!(pool.all_bytes() >= 100_000);
    }

    #[test]
    fn repeated_bytes_of_a_batch_are_bounded() {
        let pool = Buffers::default();
        let mut batch = StringBatch::default();
        let mut repeat = |all, repeated| {
            let room = batch.room(StringBytes { all, repeated }, &pool);
            room.map(|room| room.bytes.len())
        };
        assert_eq!(repeat(5, REPEATED_BYTES_MAX - 1), Ok(5 + ROOM_SLACK));
        assert_eq!(repeat(1, 1), Ok(1 + ROOM_SLACK));
        assert_eq!(repeat(1, 1), Err(Status::Encoding));
        let mut batch = StringBatch::default();
        let all = u32::MAX as usize;
        let room = batch.room(StringBytes { all, repeated: 0 }, &pool);
        assert_eq!(room.map(|room| room.bytes.len()), Err(Status::Encoding));
    }
}
