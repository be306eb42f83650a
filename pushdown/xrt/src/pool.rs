// SPDX-License-Identifier: Apache-2.0
//! Pools buffers for reuse, because the runtime keeps a part of each until the device is closed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::handles::{Buffer, BufferPlace, CallFailed, Device};

/// Bytes of the smallest buffers.
const BYTES_MIN: usize = 64 << 10;

/// Most bytes of unused buffers that are kept.
const KEPT_BYTES_MAX: usize = 1 << 30;

/// Buffers of a device.
#[derive(Debug)]
pub(crate) struct Pool {
    device: Arc<Device>,
    /// Bytes that all buffers may have together.
    bytes_max: usize,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    buffers: HashMap<(BufferPlace, usize), Vec<Buffer>>,
    bytes: usize,
    /// Bytes of all buffers, those in use included.
    allocated: usize,
    /// Nothing comes back any more.
    closed: bool,
}

impl Idle {
    /// Takes everything out.
    fn drain(&mut self) -> Vec<Buffer> {
        self.allocated -= self.bytes;
        self.bytes = 0;
        self.buffers.drain().flat_map(|(_, buffers)| buffers).collect()
    }
}

impl Pool {
    /// Buffers of a device, with so many bytes together.
    pub(crate) fn new(device: Arc<Device>, bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { device, bytes_max, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer for so many bytes. Its contents are those of its last use.
    ///
    /// # Errors
    /// If the device has no memory left, even without the unused buffers.
    pub(crate) fn take(&self, place: BufferPlace, bytes: usize) -> Result<Pooled<'_>, CallFailed> {
        let bytes = class(bytes);
        let found = {
            let mut idle = self.idle();
            let found = idle.buffers.get_mut(&(place, bytes)).and_then(Vec::pop);
            if found.is_some() {
                idle.bytes -= bytes;
            }
            found
        };
        let buffer = match found {
            Some(buffer) => buffer,
            None => self.make(place, bytes)?,
        };
        Ok(Pooled { pool: self, buffer: Some(buffer) })
    }

    /// Makes a buffer; first frees unused ones if memory is short: the runtime writes to standard
    /// output when it runs out of memory.
    fn make(&self, place: BufferPlace, bytes: usize) -> Result<Buffer, CallFailed> {
        let free = |mut idle: MutexGuard<'_, Idle>| {
            let drained = idle.drain();
            drop(idle);
            drained.into_iter().for_each(Buffer::close);
        };
        let idle = self.idle();
        if idle.allocated + bytes > self.bytes_max {
            free(idle);
        } else {
            drop(idle);
        }
        let buffer = self.device.buffer(place, bytes).or_else(|_| {
            free(self.idle());
            self.device.buffer(place, bytes)
        })?;
        self.idle().allocated += bytes;
        Ok(buffer)
    }

    fn give_back(&self, buffer: Buffer) {
        let bytes = buffer.len();
        let mut idle = self.idle();
        if idle.closed || idle.bytes + bytes > KEPT_BYTES_MAX {
            idle.allocated -= bytes;
            drop(idle);
            buffer.close();
            return;
        }
        idle.bytes += bytes;
        idle.buffers.entry((buffer.place, bytes)).or_default().push(buffer);
    }

    /// Frees unused buffers; those that are returned later are freed then.
    pub(crate) fn close(&self) {
        let drained = {
            let mut idle = self.idle();
            idle.closed = true;
            idle.drain()
        };
        drained.into_iter().for_each(Buffer::close);
    }
}

/// Sizes of buffers are quarters of powers of two, so that one fits the next command too.
fn class(bytes: usize) -> usize {
    let bytes = bytes.max(BYTES_MIN);
    let power = bytes.checked_next_power_of_two().unwrap_or(bytes);
    bytes.checked_next_multiple_of(power / 8).unwrap_or(bytes)
}

/// A buffer that goes back to its pool.
#[derive(Debug)]
pub(crate) struct Pooled<'a> {
    pool: &'a Pool,
    buffer: Option<Buffer>,
}

impl Pooled<'_> {
    /// Never gives the buffer back: the device may still touch it.
    pub(crate) fn write_off(mut self) {
        // A buffer does not close itself.
        self.buffer = None;
    }
}

impl std::ops::Deref for Pooled<'_> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        match &self.buffer {
            Some(buffer) => buffer,
            None => unreachable!("a buffer leaves its holder when that is dropped"),
        }
    }
}

impl std::ops::DerefMut for Pooled<'_> {
    fn deref_mut(&mut self) -> &mut Buffer {
        match &mut self.buffer {
            Some(buffer) => buffer,
            None => unreachable!("a buffer leaves its holder when that is dropped"),
        }
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.give_back(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, 65536)]
    #[case(65536, 65536)]
    #[case(65537, 81920)]
    #[case(100_000, 114_688)]
    #[case(1 << 20, 1 << 20)]
    #[case((1 << 20) + 1, 5 << 18)]
    fn sizes_waste_a_fifth_at_most(#[case] bytes: usize, #[case] expected: usize) {
        assert_eq!(class(bytes), expected);
    }
}
