// SPDX-License-Identifier: Apache-2.0
//! Decompresses the elements of a body that are far from both ends.
//!
//! There, a few bytes too many can be read and written: most elements become one load and one store
//! of a fixed width, and what is too many is overwritten by the next ones. The time that is left
//! goes to waiting for the next tag, whose place depends on the tag before, and to wrong guesses of
//! what kind comes next. Therefore:
//!
//! - The next bytes of the body are loaded before an element is copied, and from behind both forms
//!   of a copy, before it is known which one this is.
//! - A short literal and the copy behind it, which is what numbers become, are one step.
//! - Lengths are in a table, but offsets are computed: more loads delay the one of the next tag.
//! - A short literal and a copy from eight bytes before it, which is what ascending keys become,
//!   are put together in a register: loading bytes that two stores have just written takes long.
//!
//! # Invariants
//!
//! - A step starts with at least [`READ_ROOM`] bytes to read, [`WRITE_ROOM`] bytes to write, and
//!   [`WRITTEN_MIN`] bytes that are written. Every access without a check is within these.
//! - Reading and writing only advance, by what the elements have.

use std::hint::select_unpredictable;

use nearscan_command::Status;

use super::{
    element::{Place, TAG_LITERAL_MAX, literal},
    forms::{COPY_MAX, FORMS, Form, NARROW_MAX},
};

/// Bytes that a step reads at most: a literal with its tag, and the word behind.
const READ_ROOM: usize = 1 + TAG_LITERAL_MAX + size_of::<u64>();

/// Bytes that a step writes at most: a short literal, and a copy in words, of the last one of which
/// one byte counts.
const WRITE_ROOM: usize = SHORT_MAX + COPY_MAX - 1 + size_of::<u64>();

/// Bytes that are written before a step, for those that repeat the last word.
const WRITTEN_MIN: usize = size_of::<u64>();

/// Bytes of a literal that is one step with the copy behind it: both are then in a word, of which
/// at most the last byte has to be read again.
const SHORT_MAX: usize = 4;

/// The bits of all bytes but one of the longest short literal.
const SHORT_SHIFT_MAX: u64 = 8 * (SHORT_MAX as u64 - 1);

/// The greatest tag of a short literal.
const SHORT_TAG_MAX: u64 = (SHORT_MAX as u64 - 1) << 2;

/// The greatest tag of a literal whose length is in the tag.
const LITERAL_TAG_MAX: u64 = (TAG_LITERAL_MAX as u64 - 1) << 2;

/// The kind and the offset in the tag of a copy and the byte behind, and those of a copy with an
/// offset of one byte that is 8.
const STRIDE_MASK: u64 = 0xffe3;
const STRIDE: u64 = 0x0801;

/// Decompresses elements from `place` on, until an end is near, or one of another kind comes.
///
/// # Errors
/// [`Status::Corrupt`] for an element that cannot be.
#[inline]
pub(super) fn elements(body: &[u8], out: &mut [u8], place: Place) -> Result<Place, Status> {
    let is_far = place.written >= WRITTEN_MIN
        && body.len().saturating_sub(READ_ROOM) > place.read
        && out.len().saturating_sub(WRITE_ROOM) > place.written;
    // SAFETY: this was checked.
    if is_far { unsafe { far_elements(body, out, place) } } else { Ok(place) }
}

/// The loop of [`elements`].
///
/// # Safety
/// There are [`READ_ROOM`] and [`WRITE_ROOM`] behind `place`, and [`WRITTEN_MIN`] bytes before.
#[inline(never)]
unsafe fn far_elements(body: &[u8], out: &mut [u8], place: Place) -> Result<Place, Status> {
    let (read_max, written_max) = (body.len() - READ_ROOM, out.len() - WRITE_ROOM);
    let Place { read, written } = place;
    // SAFETY: there is room to read.
    let word = unsafe { word_at(body, read) };
    let mut steps = Steps { body, out, read, written, word };
    while steps.read <= read_max && steps.written <= written_max {
        let tag = steps.word & 0xff;
        let bits = if kind(tag) != 0 {
            // SAFETY: there is room to read.
            unsafe { steps.copy_next() }
        } else if tag <= SHORT_TAG_MAX {
            // SAFETY: there is room to read and to write, and a word was written.
            match unsafe { steps.pair() } {
                Some(bits) => bits,
                None => continue,
            }
        } else if tag <= LITERAL_TAG_MAX {
            // SAFETY: there is room to read and to write.
            unsafe { steps.literal() };
            continue;
        } else {
            steps.long_literal()?;
            continue;
        };
        // SAFETY: there is room to write, after a short literal too.
        if !unsafe { steps.copy(bits) }? {
            break;
        }
    }
    Ok(Place { read: steps.read, written: steps.written })
}

/// How far the fast loop is.
struct Steps<'a> {
    body: &'a [u8],
    out: &'a mut [u8],
    read: usize,
    written: usize,
    /// The eight bytes of the body from `read` on; the last one may be 0 instead.
    word: u64,
}

impl Steps<'_> {
    /// Takes a copy, whose tag and offset it returns, and reads on behind it.
    ///
    /// # Safety
    /// There is [`READ_ROOM`].
    #[inline(always)]
    unsafe fn copy_next(&mut self) -> u64 {
        let bits = self.word;
        // The word behind both forms is loaded before it is known which one this is.
        // SAFETY: there is room to read.
        let word = unsafe { word_at(self.body, self.read + 2) };
        self.word = select_unpredictable(bits & 1 != 0, word, word >> 8);
        self.read += 1 + kind(bits);
        bits
    }

    /// Writes a short literal, and takes the copy behind it, if that is not written too.
    ///
    /// # Safety
    /// There are [`READ_ROOM`] and [`WRITE_ROOM`], and [`WRITTEN_MIN`] bytes are written.
    #[inline(always)]
    unsafe fn pair(&mut self) -> Option<u64> {
        // Eight times the length less one.
        let shift = (self.word << 1) & 0x18;
        let bits = (self.word >> 16) >> shift;
        let length = small((self.word >> 2) & 3) + 1;
        let text = self.word >> 8;
        self.read += 2 + length + kind(bits);
        // SAFETY: there is room to read.
        self.word = unsafe { word_at(self.body, self.read) };
        if shift == SHORT_SHIFT_MAX && bits & 2 != 0 {
            // The second byte of the offset is the last one of the word.
            // SAFETY: as before.
            let [last]: [u8; 1] = unsafe { load(self.body, self.read - 1) };
            // SAFETY: as before.
            unsafe { self.short_literal(text, length) };
            return Some(bits | (u64::from(last) << 16));
        }
        if bits & STRIDE_MASK != STRIDE {
            // SAFETY: as before.
            unsafe { self.short_literal(text, length) };
            return Some(bits);
        }
        // The copy repeats the last eight bytes, in which the literal has replaced the first ones.
        let kept = !0xff << shift;
        // SAFETY: a word was written.
        let last = unsafe { word_at(self.out, self.written - size_of::<u64>()) };
        let word = ((text & !kept) | (last & kept)).to_le_bytes();
        // SAFETY: there is room to write.
        unsafe { store(self.out, self.written, word) };
        // SAFETY: as before.
        unsafe { store(self.out, self.written + size_of::<u64>(), word) };
        self.written += length + FORMS[small(bits & 0xff)].length as usize;
        None
    }

    /// Writes a short literal.
    ///
    /// # Safety
    /// There is [`WRITE_ROOM`].
    #[inline(always)]
    unsafe fn short_literal(&mut self, text: u64, length: usize) {
        // SAFETY: the caller says so.
        unsafe { store(self.out, self.written, text.to_le_bytes()) };
        self.written += length;
    }

    /// Writes a literal whose length is in its tag.
    ///
    /// # Safety
    /// There are [`READ_ROOM`] and [`WRITE_ROOM`].
    #[inline(always)]
    unsafe fn literal(&mut self) {
        let length = small((self.word >> 2) & 63) + 1;
        // SAFETY: there is room to read.
        self.word = unsafe { word_at(self.body, self.read + 1 + length) };
        // SAFETY: as before.
        let bytes: [u8; COPY_MAX] = unsafe { load(self.body, self.read + 1) };
        // SAFETY: there is room to write.
        unsafe { store(self.out, self.written, bytes) };
        self.read += 1 + length;
        self.written += length;
    }

    /// Writes a literal whose length is behind its tag.
    fn long_literal(&mut self) -> Result<(), Status> {
        let place = Place { read: self.read, written: self.written };
        let Place { read, written } = literal(self.body, self.out, place)?;
        (self.read, self.written) = (read, written);
        if self.body.len() - read >= READ_ROOM {
            // SAFETY: this was checked.
            self.word = unsafe { word_at(self.body, read) };
        }
        Ok(())
    }

    /// Does a copy; false for what is left to the careful loop.
    ///
    /// # Safety
    /// There is [`WRITE_ROOM`] less a short literal.
    #[inline(always)]
    unsafe fn copy(&mut self, bits: u64) -> Result<bool, Status> {
        let Form { length, offset_min } = FORMS[small(bits & 0xff)];
        let short = ((bits & 0xe0) << 3) | ((bits >> 8) & 0xff);
        let offset = small(select_unpredictable(bits & 1 != 0, short, (bits >> 8) & 0xffff));
        let length = length as usize;
        if offset < offset_min as usize {
            // SAFETY: there is room to write.
            return unsafe { self.odd_copy(bits, Span { offset, length }) };
        }
        let from = self.written.checked_sub(offset).ok_or(Status::Corrupt)?;
        // SAFETY: what is before `written` is followed by room.
        let bytes: [u8; NARROW_MAX] = unsafe { load(self.out, from) };
        // SAFETY: there is room to write.
        unsafe { store(self.out, self.written, bytes) };
        self.written += length;
        Ok(true)
    }

    /// Does a copy that is long or overlaps what it becomes; false for what is left to the careful
    /// loop.
    ///
    /// # Safety
    /// There is [`WRITE_ROOM`] less a short literal.
    #[inline(always)]
    unsafe fn odd_copy(&mut self, bits: u64, span: Span) -> Result<bool, Status> {
        let Span { offset, length } = span;
        if length == 0 {
            // A literal behind a literal is read again as such.
            self.read -= 1 + kind(bits);
            // SAFETY: this is within what the step could read.
            self.word = unsafe { word_at(self.body, self.read) };
            return Ok(kind(bits) == 0);
        }
        if offset == 0 || offset > self.written {
            return Err(Status::Corrupt);
        }
        if offset < length {
            // SAFETY: there is room to write, and the offset was checked.
            unsafe { repeat(self.out, self.written, span) };
        } else {
            let from = self.written - offset;
            // SAFETY: what is before `written` is followed by room.
            let bytes: [u8; COPY_MAX / 2] = unsafe { load(self.out, from) };
            // SAFETY: there is room to write.
            unsafe { store(self.out, self.written, bytes) };
            if length > COPY_MAX / 2 {
                // SAFETY: as before.
                let bytes: [u8; COPY_MAX / 2] = unsafe { load(self.out, from + COPY_MAX / 2) };
                // SAFETY: as before.
                unsafe { store(self.out, self.written + COPY_MAX / 2, bytes) };
            }
        }
        self.written += length;
        Ok(true)
    }
}

/// What is copied: `length` bytes from `offset` bytes before.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: usize,
    length: usize,
}

/// Copies from an offset that is less than the length, so that what is copied repeats.
///
/// # Safety
/// `WRITTEN_MIN` bytes and the offset are before `written`; behind it there is [`WRITE_ROOM`] less
/// a short literal.
#[inline(never)]
unsafe fn repeat(out: &mut [u8], written: usize, span: Span) {
    /// By offset: what repeats that many bytes in a word, and the bytes of whole repetitions.
    const REPEATS: [(u64, usize); 9] = [
        (0, 8),
        (0x0101_0101_0101_0101, 8),
        (0x0001_0001_0001_0001, 8),
        (0x0001_0000_0100_0001, 6),
        (0x0000_0001_0000_0001, 8),
        (0x0000_0100_0000_0001, 5),
        (0x0001_0000_0000_0001, 6),
        (0x0100_0000_0000_0001, 7),
        (1, 8),
    ];
    let Span { offset, length } = span;
    let end = written + length;
    if let Some((factor, step)) = REPEATS.get(offset) {
        // SAFETY: a word was written.
        let last = unsafe { word_at(out, written - size_of::<u64>()) };
        let word = (last >> (64 - 8 * offset)).wrapping_mul(*factor).to_le_bytes();
        let mut at = written;
        while at < end {
            // SAFETY: there is room behind the last byte.
            unsafe { store(out, at, word) };
            at += step;
        }
    } else if offset < NARROW_MAX {
        // SAFETY: as the caller says.
        unsafe { repeat_blocks::<8>(out, written, span) };
    } else {
        // SAFETY: as the caller says.
        unsafe { repeat_blocks::<NARROW_MAX>(out, written, span) };
    }
}

/// Copies in blocks that are not longer than the offset.
///
/// # Safety
/// As of [`repeat`].
#[inline(always)]
unsafe fn repeat_blocks<const N: usize>(out: &mut [u8], written: usize, span: Span) {
    debug_assert!(span.offset >= N);
    for at in (written..written + span.length).step_by(N) {
        // SAFETY: what is before `at` is followed by room.
        let block: [u8; N] = unsafe { load(out, at - span.offset) };
        // SAFETY: there is room behind the last byte.
        unsafe { store(out, at, block) };
    }
}

/// The kind of the element with this tag: 0 is a literal, and 1 and 2 are copies with an offset in
/// so many bytes.
#[inline(always)]
const fn kind(tag: u64) -> usize {
    small(tag & 3)
}

/// A few bits of a word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the callers take a few of the lowest bits")]
const fn small(bits: u64) -> usize {
    bits as usize
}

/// The word at an offset in bytes.
///
/// # Safety
/// It is in `bytes`.
#[inline(always)]
unsafe fn word_at(bytes: &[u8], at: usize) -> u64 {
    // SAFETY: the caller says so.
    u64::from_le_bytes(unsafe { load(bytes, at) })
}

/// The bytes from `at` on.
///
/// # Safety
/// They are in `bytes`.
#[inline(always)]
unsafe fn load<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    debug_assert!(bytes.get(at..).is_some_and(|rest| rest.len() >= N));
    // SAFETY: the caller says that this is in `bytes`.
    let start = unsafe { bytes.as_ptr().add(at) };
    // SAFETY: the caller says that this many bytes follow; an array of bytes has no alignment.
    unsafe { start.cast::<[u8; N]>().read() }
}

/// Writes `block` from `at` on.
///
/// # Safety
/// It fits in `bytes`.
#[inline(always)]
unsafe fn store<const N: usize>(bytes: &mut [u8], at: usize, block: [u8; N]) {
    debug_assert!(bytes.get(at..).is_some_and(|rest| rest.len() >= N));
    // SAFETY: the caller says that this is in `bytes`.
    let start = unsafe { bytes.as_mut_ptr().add(at) };
    // SAFETY: the caller says that this many bytes follow; an array of bytes has no alignment.
    unsafe { start.cast::<[u8; N]>().write(block) };
}
