// SPDX-License-Identifier: Apache-2.0
//! Keeps the memory of parts of objects that were sent or used, for those that are read next: new
//! memory would cost a page fault for each of its pages, which takes longer than the read.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Bytes of a buffer, and so of the longest part: few enough that what was read is still in the
/// processor's cache when it is sent.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// Buffers that are kept while nobody uses them.
const KEPT: usize = 32;

/// Buffers for the parts of all streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

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
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = kept.unwrap_or_else(|| vec![0; BUFFER_BYTES]);
        Buffer { length: length.min(bytes.len()), bytes, home: self.clone() }
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
        let mut kept = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_is_used_again_once_nobody_has_its_bytes() {
        let buffers = Buffers::default();
        let mut first = buffers.take(5);
        first.as_mut().copy_from_slice(b"first");
        let place = first.as_ref().as_ptr();
        let sent = first.freeze();
        let part = sent.slice(1..3);
        drop(sent);
        assert_ne!(buffers.take(4).as_ref().as_ptr(), place);
        assert_eq!(&part[..], b"ir");
        drop(part);
        let again = buffers.take(BUFFER_BYTES + 1);
        assert_eq!((again.as_ref().as_ptr(), again.as_ref().len()), (place, BUFFER_BYTES));
    }

    #[test]
    fn no_more_buffers_are_kept_than_stated() {
        let buffers = Buffers::default();
        let many: Vec<Buffer> = (0..KEPT + 3).map(|_| buffers.take(1)).collect();
        drop(many);
        assert_eq!(buffers.0.lock().unwrap().len(), KEPT);
    }
}
