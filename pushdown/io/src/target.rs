// SPDX-License-Identifier: Apache-2.0
//! Defines the memory that reads write to: the trait [`Target`], and the aligned buffer that this
//! crate allocates itself.

use std::{
    alloc::{Layout, alloc, dealloc},
    fmt,
    ptr::NonNull,
};

use crate::{error::Error, sys};

/// Bytes to which buffers are aligned: a multiple of every disk's block that is known.
pub const BLOCK: usize = 4096;

/// Bytes of a large page, to which longer buffers are aligned. A device is given each page apart
/// that is not next to the last one in its memory: of 1 MiB in small pages up to 256 pieces.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Memory that the kernel, or a device, writes to while a read runs.
///
/// It is moved into the read and given back when the read has ended. A read that was dropped keeps
/// it until the kernel has let go of it.
///
/// # Safety
/// From the first call until the value is dropped, `pointer` and `length` give the same values also
/// when the value is moved, and writes to these bytes are allowed, from any thread. Nothing else
/// reads or writes them while the value is owned by a read.
pub unsafe trait Target: Send + 'static {
    /// First byte.
    fn pointer(&self) -> *mut u8;

    /// Number of bytes.
    fn length(&self) -> usize;

    /// Notes that a read has filled the first `bytes`.
    ///
    /// # Safety
    /// They were written to.
    unsafe fn set_filled(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// The place among the buffers that a ring may have registered.
    fn registered(&self) -> Option<Registered> {
        None
    }
}

/// Names a part of a pool that is registered as one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// The pool, by a number that is unique in this process.
    pub(crate) pool: u64,
    /// The number of the part.
    pub(crate) index: u16,
}

// SAFETY: the bytes of a vector stay in place when it is moved, and its owner alone reaches them.
unsafe impl Target for Vec<u8> {
    fn pointer(&self) -> *mut u8 {
        self.as_ptr().cast_mut()
    }

    fn length(&self) -> usize {
        self.len()
    }
}

/// A buffer aligned to [`BLOCK`], whose bytes can be seen as far as they were read.
pub struct Aligned {
    memory: NonNull<u8>,
    layout: Layout,
    filled: usize,
}

// SAFETY: it owns its memory like a `Vec<u8>`.
unsafe impl Send for Aligned {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// Allocates at least `capacity` bytes; none of them can be seen before a read.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory.
    pub fn new(capacity: usize) -> Result<Self, Error> {
        let none = || Error::Memory {
            bytes: capacity as u64,
            reason: "the system has no memory".to_owned(),
        };
        let capacity = capacity.max(1).checked_next_multiple_of(BLOCK).ok_or_else(none)?;
        let layout = layout(capacity).ok_or_else(none)?;
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc(layout) };
        let memory = NonNull::new(memory).ok_or_else(none)?;
        if layout.align() == LARGE_PAGE {
            // Before the first write, which is when pages come to be.
            sys::expect_large_pages(memory.as_ptr(), capacity);
        }
        Ok(Self { memory, layout, filled: 0 })
    }

    /// Bytes that fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.layout.size()
    }
}

/// The layout of a buffer of whole blocks.
pub(crate) fn layout(bytes: usize) -> Option<Layout> {
    let align = if bytes >= LARGE_PAGE { LARGE_PAGE } else { BLOCK };
    Layout::from_size_align(bytes, align).ok()
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: this many bytes were written (`set_filled`), and no read owns the buffer now.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.filled) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl fmt::Debug for Aligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aligned")
            .field("capacity", &self.layout.size())
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

// SAFETY: the memory stays in place until the buffer is dropped, and its owner alone reaches it.
unsafe impl Target for Aligned {
    fn pointer(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    fn length(&self) -> usize {
        self.layout.size()
    }

    unsafe fn set_filled(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.layout.size(), "more bytes than there is room for");
        self.filled = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_is_aligned_and_shows_nothing_that_was_not_read() {
        for capacity in [0, 1, BLOCK, BLOCK + 1] {
            let buffer = Aligned::new(capacity).unwrap();
            assert_eq!(buffer.pointer().align_offset(BLOCK), 0);
            assert!(buffer.capacity() >= capacity && buffer.capacity().is_multiple_of(BLOCK));
            assert!(buffer.as_ref().is_empty());
        }
        assert!(matches!(Aligned::new(usize::MAX), Err(Error::Memory { .. })));
    }
}
