// SPDX-License-Identifier: Apache-2.0
//! Splits a read into pieces of one request each, serves what is in the page cache, and continues
//! what came short.
//!
//! Each piece goes one way: cached pages are copied at once, a piece that is mostly cached is read
//! through the cache, any other past it if offset and memory are on blocks. A last piece that does
//! not end on a block is direct too if the memory has room for the whole block; else its end, less
//! than a block, is a piece of its own through the cache.

use crate::{
    backend::Memory,
    file::{Access, Cached, File},
    options::{Direct, Options},
    sys::Alignment,
    target::{BLOCK, Registered, Target},
};

/// A part of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) access: Access,
    /// In the file.
    pub(crate) offset: u64,
    /// In the memory.
    pub(crate) place: usize,
    /// Bytes that the read needs of it.
    pub(crate) wanted: usize,
    /// Bytes that may be requested: for a direct piece, whole blocks.
    pub(crate) room: usize,
    /// Bytes that are there.
    pub(crate) done: usize,
    /// Requests that ended without a byte, in a row.
    pub(crate) idle: u32,
}

/// The state of a piece after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Complete,
    /// It needs another request.
    Short,
    /// The file ended.
    End,
}

impl Piece {
    /// First byte of its next request, counted from its own first byte: a direct request starts on
    /// a block, so it may read some bytes again.
    fn from(&self) -> usize {
        match self.access {
            Access::Buffered => self.done,
            Access::Direct => self.done - self.done % BLOCK,
        }
    }

    /// Offset of the next request in the file.
    pub(crate) fn next_offset(&self) -> u64 {
        self.offset.saturating_add(self.from() as u64)
    }

    /// Memory of the next request, in that of the read.
    pub(crate) fn next_memory(&self, memory: &Whole) -> Memory {
        let from = self.from();
        Memory {
            // A pointer into the memory: pieces are within it.
            pointer: memory.pointer.wrapping_add(self.place + from),
            length: u32::try_from(self.room - from).unwrap_or(u32::MAX),
            registered: memory.registered,
        }
    }

    /// Notes that a request gave `bytes`.
    pub(crate) fn advance(&mut self, bytes: usize) -> Progress {
        let reached = self.from() + bytes.min(self.room - self.from());
        if reached <= self.done {
            return Progress::End;
        }
        self.idle = 0;
        self.done = reached;
        if self.done >= self.wanted { Progress::Complete } else { Progress::Short }
    }

    /// Reads the rest through the cache, where the file system refuses direct reads after all.
    pub(crate) fn buffer(&mut self) {
        self.access = Access::Buffered;
        self.room = self.wanted;
    }
}

/// The memory of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    pub(crate) pointer: *mut u8,
    pub(crate) registered: Option<Registered>,
}

// SAFETY: as `Memory`.
unsafe impl Send for Whole {}

/// A range of a file that goes to the start of a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) file: &'a File,
    pub(crate) offset: u64,
    /// At most the buffer's length.
    pub(crate) bytes: usize,
}

impl Wanted<'_> {
    /// Copies what is cached to the buffer and plans the rest.
    pub(crate) fn pieces(&self, target: &impl Target, options: &Options) -> Vec<Piece> {
        let request_bytes = usize::try_from(options.request_bytes).unwrap_or(BLOCK);
        let alignment = self.alignment(target, options.direct);
        let mut pieces = Vec::new();
        let mut place = 0;
        while place < self.bytes {
            let bytes = request_bytes.min(self.bytes - place);
            let room = target.length() - place;
            let piece = Part { wanted: *self, place, bytes, room };
            piece.plan(target, options.direct, alignment, &mut pieces);
            place += bytes;
        }
        pieces
    }

    /// The alignment that direct pieces have to keep; none if there can be no direct piece.
    fn alignment(&self, target: &impl Target, direct: Direct) -> Option<Alignment> {
        if direct == Direct::Never {
            return None;
        }
        let alignment = self.file.alignment()?;
        let is_aligned = target.pointer().addr().is_multiple_of(alignment.memory)
            && self.offset.is_multiple_of(alignment.offset as u64)
            && BLOCK.is_multiple_of(alignment.offset);
        is_aligned.then_some(alignment)
    }
}

/// At most one request's share of a read.
struct Part<'a> {
    wanted: Wanted<'a>,
    place: usize,
    bytes: usize,
    /// From its place to the end of the buffer.
    room: usize,
}

impl Part<'_> {
    fn plan(
        &self,
        target: &impl Target,
        direct: Direct,
        alignment: Option<Alignment>,
        pieces: &mut Vec<Piece>,
    ) {
        let Some(alignment) = alignment else {
            // A missing page is read into the cache, which is where this piece is read from.
            let done = self.copy_cached(target, 0, self.bytes);
            self.add_buffered(done, pieces);
            return;
        };
        let cached = match direct {
            Direct::Always => Cached::Few,
            Direct::Auto | Direct::Never => self.wanted.file.cached(self.offset(), self.length()),
        };
        match cached {
            Cached::All => {
                let done = self.copy_cached(target, 0, self.bytes);
                self.add_buffered(done, pieces);
            }
            Cached::Most => self.add_buffered(0, pieces),
            Cached::Few => self.add_direct(alignment, pieces),
            Cached::Unknown => {
                // One page is asked for: a page is all that a wrong guess reads twice.
                let first = self.bytes.min(BLOCK);
                if self.copy_cached(target, 0, first) < first {
                    self.add_direct(alignment, pieces);
                    return;
                }
                let done = self.copy_cached(target, first, self.bytes);
                self.add_buffered(done, pieces);
            }
        }
    }

    fn offset(&self) -> u64 {
        self.wanted.offset.saturating_add(self.place as u64)
    }

    fn length(&self) -> u64 {
        self.bytes as u64
    }

    /// Copies cached bytes of `from..to`; the bytes that are there then, from the part's start.
    fn copy_cached(&self, target: &impl Target, from: usize, to: usize) -> usize {
        if from >= to {
            return from;
        }
        let offset = self.offset().saturating_add(from as u64);
        let pointer = target.pointer().wrapping_add(self.place + from);
        // SAFETY: `from..to` of this part is within the target's memory, which no read owns yet.
        let copied = unsafe { self.wanted.file.read_cached(offset, pointer, to - from) };
        from + copied.unwrap_or(0)
    }

    fn add_buffered(&self, done: usize, pieces: &mut Vec<Piece>) {
        if done < self.bytes {
            pieces.push(Piece {
                access: Access::Buffered,
                offset: self.offset(),
                place: self.place,
                wanted: self.bytes,
                room: self.bytes,
                done,
                idle: 0,
            });
        }
    }

    fn add_direct(&self, alignment: Alignment, pieces: &mut Vec<Piece>) {
        let whole = self.bytes.next_multiple_of(alignment.offset);
        let room =
            if whole <= self.room { whole } else { self.bytes - self.bytes % alignment.offset };
        let direct = self.bytes.min(room);
        if direct > 0 {
            pieces.push(Piece {
                access: Access::Direct,
                offset: self.offset(),
                place: self.place,
                wanted: direct,
                room,
                done: 0,
                idle: 0,
            });
        }
        if direct < self.bytes {
            let tail = Part {
                place: self.place + direct,
                bytes: self.bytes - direct,
                room: self.room - direct,
                ..*self
            };
            tail.add_buffered(0, pieces);
        }
    }
}
