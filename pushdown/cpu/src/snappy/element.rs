// SPDX-License-Identifier: Apache-2.0
//! Decompresses one element with all checks: what a body means is decided here.

use nearscan_command::Status;

/// Lengths of literals up to this one are in the tag.
pub(super) const TAG_LITERAL_MAX: usize = 60;

/// Bytes that are copied at once instead of fewer, if there is room.
const CHUNK_BYTES: usize = 16;

/// How far a body is decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes of the body that were read.
    pub(super) read: usize,
    /// Bytes of the output that were written.
    pub(super) written: usize,
}

/// Decompresses the element at `place`, which is in the body.
///
/// # Errors
/// [`Status::Corrupt`] if the body ends in it, or it does not fit what was written or is to be.
#[inline]
pub(super) fn element(body: &[u8], out: &mut [u8], place: Place) -> Result<Place, Status> {
    let (tag, rest) = body[place.read..].split_first().ok_or(Status::Corrupt)?;
    let high = usize::from(tag >> 2);
    let (length, offset_bytes) = match tag & 3 {
        0 => return literal(body, out, place),
        1 => (high % 8 + 4, 1),
        2 => (high + 1, 2),
        _ => (high + 1, 4),
    };
    let low = number(rest.get(..offset_bytes).ok_or(Status::Corrupt)?);
    // Of an offset in one byte the tag has three more bits.
    let offset = if offset_bytes == 1 { ((high / 8) << 8) | low } else { low };
    let Place { read, written } = place;
    if offset == 0 || offset > written || length > out.len() - written {
        return Err(Status::Corrupt);
    }
    let chunk: Option<[u8; CHUNK_BYTES]> = out[written - offset..].first_chunk().copied();
    match (chunk, out[written..].first_chunk_mut()) {
        (Some(bytes), Some(room)) if length <= offset.min(CHUNK_BYTES) => *room = bytes,
        _ => (written..written + length).for_each(|at| out[at] = out[at - offset]),
    }
    Ok(Place { read: read + 1 + offset_bytes, written: written + length })
}

/// Decompresses the element at `place`, which is a literal.
///
/// # Errors
/// [`Status::Corrupt`] if the body ends in it, or it does not fit what is to be written.
pub(super) fn literal(body: &[u8], out: &mut [u8], place: Place) -> Result<Place, Status> {
    let (tag, rest) = body[place.read..].split_first().ok_or(Status::Corrupt)?;
    let last = usize::from(tag >> 2);
    // The codes behind the lengths say in how many bytes the length is.
    let length_bytes = (last + 1).saturating_sub(TAG_LITERAL_MAX);
    let length = match rest.get(..length_bytes).ok_or(Status::Corrupt)? {
        [] => last + 1,
        bytes => number(bytes).saturating_add(1),
    };
    let rest = &rest[length_bytes..];
    let bytes = rest.get(..length).ok_or(Status::Corrupt)?;
    let room = &mut out[place.written..];
    match (rest.first_chunk::<CHUNK_BYTES>(), room.first_chunk_mut()) {
        (Some(bytes), Some(room)) if length <= CHUNK_BYTES => *room = *bytes,
        _ => room.get_mut(..length).ok_or(Status::Corrupt)?.copy_from_slice(bytes),
    }
    let read = place.read + 1 + length_bytes + length;
    Ok(Place { read, written: place.written + length })
}

/// Up to four bytes, little-endian.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte))
}
