// SPDX-License-Identifier: Apache-2.0
//! Keeps the memory of chunks and pages for the next ones: a fresh allocation of this size costs a
//! page fault every 4 KiB, which is more than reading or decompressing takes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Bytes that a pool keeps at most, for later buffers.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// A pool of buffers, shared by those that it gave out.
#[derive(Debug, Clone, Default)]
pub struct Buffers(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    /// Of `buffers`.
    bytes: usize,
    /// Of all buffers, those in use too.
    all_bytes: usize,
}

/// A buffer of a pool, to be filled; it returns to the pool when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    /// At least `length` bytes.
    memory: Vec<u8>,
    length: usize,
    pool: Buffers,
}

impl Buffers {
    /// A buffer of `length` bytes of any value.
    pub fn take(&self, length: usize) -> Buffer {
        let memory = self.find(length).unwrap_or_else(|| {
            self.lock().all_bytes += length;
            // Of zeros from the system, which are not written before they are needed.
            vec![0; length]
        });
        Buffer { memory, length, pool: self.clone() }
    }

    /// Bytes of all buffers: those in use, and those that are kept.
    pub fn all_bytes(&self) -> usize {
        self.lock().all_bytes
    }

    /// Frees the buffers that are kept.
    pub fn free_kept(&self) {
        let mut kept = self.lock();
        kept.all_bytes -= kept.bytes;
        kept.bytes = 0;
        kept.buffers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest kept buffer that is large enough; if there is none, the largest one is freed,
    /// which the next one takes the place of.
    fn find(&self, length: usize) -> Option<Vec<u8>> {
        let mut kept = self.lock();
        let fits = kept.buffers.iter().enumerate().filter(|(_, buffer)| buffer.len() >= length);
        let best = fits.min_by_key(|(_, buffer)| buffer.len());
        let best = best.or_else(|| kept.buffers.iter().enumerate().max_by_key(|(_, it)| it.len()));
        let index = best.map(|(index, _)| index)?;
        let memory = kept.buffers.swap_remove(index);
        kept.bytes -= memory.len();
        if memory.len() < length {
            kept.all_bytes -= memory.len();
            return None;
        }
        Some(memory)
    }
}

impl Buffer {
    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.length]
    }

    /// The bytes, shared; the memory returns to the pool after the last use.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut kept = self.pool.lock();
        let bytes = kept.bytes + self.memory.len();
        if bytes <= KEPT_BYTES_MAX {
            kept.bytes = bytes;
            kept.buffers.push(std::mem::take(&mut self.memory));
        } else {
            kept.all_bytes -= self.memory.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_after_the_last_use() {
        let buffers = Buffers::default();
        let mut first = buffers.take(100);
        first.bytes_mut().fill(7);
        let start = first.as_ref().as_ptr();
        let shared = first.freeze();
        let part = shared.slice(10..20);
        drop(shared);
        assert_ne!(buffers.take(50).as_ref().as_ptr(), start);
        assert_eq!(part, [7; 10][..]);
        drop(part);
        let again = buffers.take(80);
        assert_eq!((again.as_ref().as_ptr(), again.as_ref().len()), (start, 80));
    }

    #[test]
    fn smallest_buffer_that_is_large_enough_is_taken() {
        let buffers = Buffers::default();
        let made = [30, 10, 20].map(|length| buffers.take(length));
        let starts = made.each_ref().map(|buffer| buffer.as_ref().as_ptr());
        drop(made);
        assert_eq!(buffers.take(15).as_ref().as_ptr(), starts[2]);
        let large = buffers.take(2 * KEPT_BYTES_MAX);
        drop(large);
        assert!(buffers.0.lock().unwrap().bytes <= KEPT_BYTES_MAX);
    }

    #[test]
    fn bytes_are_those_in_use_and_those_kept() {
        let buffers = Buffers::default();
        let used = buffers.take(100);
        drop(buffers.take(30));
        assert_eq!(buffers.all_bytes(), 130);
        // In place of the short one.
        drop(buffers.take(50));
        assert_eq!(buffers.all_bytes(), 150);
        buffers.free_kept();
        assert_eq!(buffers.all_bytes(), 100);
        drop(used);
        buffers.free_kept();
        drop(buffers.take(2 * KEPT_BYTES_MAX));
        assert_eq!(buffers.all_bytes(), 0);
    }
}
