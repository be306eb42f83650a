// SPDX-License-Identifier: Apache-2.0
//! Keeps the memory of parts of objects that were sent or used, for those that are read next: new
//! memory would cost a page fault for each of its pages, which takes longer than the read.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Bytes of the longest part: few enough that what was read is still in the processor's cache when
/// it is sent.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// Bytes of the buffers that are kept, the small ones first. Twice as many as those before, so that
/// a part holds less than twice its bytes while it waits for a slow client.
const SIZES: [usize; 3] = [BUFFER_BYTES / 4, BUFFER_BYTES / 2, BUFFER_BYTES];

/// Bytes from which on a part is in a buffer that is kept. Fewer are in memory of their own, which
/// the allocator has at hand.
const KEPT_BYTES_MIN: usize = SIZES[0] / 2 + 1;

/// Unused buffers of each size that are kept, at most.
const KEPT: usize = 32;

/// Buffers for the parts of all streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers(Arc<Mutex<[Vec<Vec<u8>>; SIZES.len()]>>);

/// A buffer that goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
    home: Buffers,
}

impl Buffers {
    /// A buffer of so many bytes, at most [`BUFFER_BYTES`]. It holds what somebody has left there.
    pub(crate) fn take(&self, length: usize) -> Buffer {
        let length = length.min(BUFFER_BYTES);
        let of_size = |size: usize| {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner)[size].pop();
            kept.unwrap_or_else(|| vec![0; SIZES[size]])
        };
        let size = SIZES.iter().position(|size| length <= *size);
        let bytes = match size.filter(|_| length >= KEPT_BYTES_MIN) {
            Some(size) => of_size(size),
            None => vec![0; length],
        };
        Buffer { length, bytes, home: self.clone() }
    }
}

impl Buffer {
    /// Its bytes, to be written.
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// Its bytes, to be sent.
    pub(crate) fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(size) = SIZES.iter().position(|size| self.bytes.len() == *size) else { return };
        let mut kept = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept[size].len() < KEPT {
            kept[size].push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn buffer_is_used_again_once_nobody_has_its_bytes() {
        let buffers = Buffers::default();
        let mut first = buffers.take(BUFFER_BYTES - 1);
        first.as_mut()[..5].copy_from_slice(b"first");
        let place = first.as_ref().as_ptr();
        let sent = first.freeze();
        let part = sent.slice(1..3);
        drop(sent);
        assert_ne!(buffers.take(BUFFER_BYTES).as_ref().as_ptr(), place);
        assert_eq!(&part[..], b"ir");
        drop(part);
        let again = buffers.take(BUFFER_BYTES + 1);
        assert_eq!((again.as_ref().as_ptr(), again.as_ref().len()), (place, BUFFER_BYTES));
    }

    #[rstest]
    #[case(0)]
    #[case(1)]
    #[case(KEPT_BYTES_MIN - 1)]
    #[case(KEPT_BYTES_MIN)]
    #[case(SIZES[0])]
    #[case(SIZES[0] + 1)]
    #[case(SIZES[1] + 1)]
    #[case(BUFFER_BYTES)]
    fn buffer_holds_less_than_twice_its_bytes(#[case] length: usize) {
        let buffers = Buffers::default();
        for _ in 0..2 {
            let buffer = buffers.take(length);
            assert_eq!(buffer.as_ref().len(), length);
            assert!(buffer.bytes.capacity() <= 2 * length, "{}", buffer.bytes.capacity());
        }
    }

    #[test]
    fn no_more_buffers_are_kept_than_stated() {
        let buffers = Buffers::default();
        let lengths = [1, KEPT_BYTES_MIN, BUFFER_BYTES / 2, BUFFER_BYTES];
        let many: Vec<Buffer> = lengths
            .iter()
            .cycle()
            .take(4 * (KEPT + 3))
            .map(|length| buffers.take(*length))
            .collect();
        drop(many);
        assert_eq!(buffers.0.lock().unwrap().each_ref().map(Vec::len), [KEPT; SIZES.len()]);
    }
}
