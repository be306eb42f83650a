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

    /// The smallest kept buffer that is large enough, and no larger than twice the bytes: what is
    /// in use is not much more than what was asked for. If there is none, the largest one of those
    /// that are too small is freed, which the next one takes the place of.
    fn find(&self, length: usize) -> Option<Vec<u8>> {
        let mut kept = self.lock();
        let sizes = || kept.buffers.iter().enumerate().map(|(index, buffer)| (buffer.len(), index));
        let fitting = sizes().filter(|(size, _)| (length..=2 * length).contains(size)).min();
        if let Some((_, index)) = fitting {
            return Some(kept.take(index));
        }
        if let Some((size, index)) = sizes().filter(|(size, _)| *size < length).max() {
            drop(kept.take(index));
            kept.all_bytes -= size;
        }
        None
    }
}

impl Kept {
    fn take(&mut self, index: usize) -> Vec<u8> {
        let memory = self.buffers.swap_remove(index);
        self.bytes -= memory.len();
        memory
    }

    /// Keeps a buffer, in the place of larger ones if there is no room, or frees it.
    fn put(&mut self, memory: Vec<u8>) {
        while self.bytes + memory.len() > KEPT_BYTES_MAX {
            let largest = self.buffers.iter().enumerate().max_by_key(|(_, buffer)| buffer.len());
            let Some((index, _)) = largest.filter(|(_, largest)| largest.len() > memory.len())
            else {
                self.all_bytes -= memory.len();
                return;
            };
            self.all_bytes -= self.take(index).len();
        }
        self.bytes += memory.len();
        self.buffers.push(memory);
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
        let memory = std::mem::take(&mut self.memory);
        self.pool.lock().put(memory);
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
    fn buffer_of_more_than_twice_the_bytes_is_left_for_larger_requests() {
        let buffers = Buffers::default();
        let large = buffers.take(100);
        let start = large.as_ref().as_ptr();
        drop(large);
        assert_ne!(buffers.take(49).as_ref().as_ptr(), start);
        assert_eq!(buffers.take(90).as_ref().as_ptr(), start);
    }

    #[test]
    fn small_buffer_takes_the_place_of_a_large_one_in_a_full_pool() {
        let buffers = Buffers::default();
        let small = buffers.take(10);
        drop(buffers.take(KEPT_BYTES_MAX));
        drop(small);
        assert_eq!(buffers.all_bytes(), 10);
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
