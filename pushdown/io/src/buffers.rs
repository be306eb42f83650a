// SPDX-License-Identifier: Apache-2.0
//! Lends aligned buffers to reads of ranges, and takes them back for later ones.
//!
//! A fresh buffer costs a page fault for each of its pages, which takes longer than copying the
//! bytes from the page cache. So a scan, whose chunks are of similar lengths, uses its buffers
//! again. What is lent and what is kept is charged; what is kept is bounded.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::Error,
    pool::{Charge, Charged},
    target::{Aligned, BLOCK, Target},
};

/// The buffers of one scan; cheap to clone. They are freed with the last clone and the last lent
/// buffer.
#[derive(Debug, Clone)]
pub struct Buffers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    charge: Arc<dyn Charge>,
    kept_bytes_max: usize,
    kept: Mutex<Vec<Owned>>,
}

#[derive(Debug)]
struct Owned {
    buffer: Aligned,
    _charged: Charged,
}

/// A buffer that returns to where it was lent when it is dropped.
pub(crate) struct Lent {
    /// None only while it is dropped.
    owned: Option<Owned>,
    home: Buffers,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lent").field(&self.owned).finish()
    }
}

impl Buffers {
    /// Buffers that are charged to `charge`, of which `kept_bytes_max` bytes are kept for later
    /// reads.
    #[must_use]
    pub fn new(charge: Arc<dyn Charge>, kept_bytes_max: usize) -> Self {
        Self(Arc::new(Shared { charge, kept_bytes_max, kept: Mutex::default() }))
    }

    /// Lends a buffer of at least `bytes` bytes: the smallest one that is kept and long enough,
    /// else a new one in place of the longest.
    ///
    /// # Errors
    /// [`Error::Memory`] if the charge is refused, also after all that is kept was freed.
    pub(crate) fn lend(&self, bytes: usize) -> Result<Lent, Error> {
        let found = {
            let mut kept = self.kept();
            let fits = kept.iter().enumerate().filter(|(_, it)| it.buffer.capacity() >= bytes);
            let best = fits.min_by_key(|(_, it)| it.buffer.capacity()).map(|(index, _)| index);
            best.map(|index| kept.swap_remove(index))
        };
        let owned = match found {
            Some(owned) => owned,
            None => self.make(bytes)?,
        };
        Ok(Lent { owned: Some(owned), home: self.clone() })
    }

    fn make(&self, bytes: usize) -> Result<Owned, Error> {
        {
            // All of them are too short.
            let mut kept = self.kept();
            let lengths = kept.iter().enumerate();
            let longest = lengths.max_by_key(|(_, it)| it.buffer.capacity());
            longest.map(|(index, _)| index).map(|index| kept.swap_remove(index));
        }
        // A little more, so that it is long enough for the next one too.
        let step = (bytes.checked_next_power_of_two().unwrap_or(BLOCK) / 8).max(BLOCK);
        let bytes = bytes.checked_next_multiple_of(step).unwrap_or(bytes);
        let charged = match Charged::take(&self.0.charge, bytes as u64) {
            Ok(charged) => charged,
            Err(_) => {
                self.kept().clear();
                Charged::take(&self.0.charge, bytes as u64)?
            }
        };
        Ok(Owned { buffer: Aligned::new(bytes)?, _charged: charged })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Owned>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.owned.as_ref().map_or(&[], |owned| owned.buffer.as_ref())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(owned) = self.owned.take() else { return };
        let mut kept = self.home.kept();
        let bytes: usize = kept.iter().map(|it| it.buffer.capacity()).sum();
        if bytes.saturating_add(owned.buffer.capacity()) <= self.home.0.kept_bytes_max {
            kept.push(owned);
        }
    }
}

// SAFETY: as `Aligned`, which stays in place when it is moved.
unsafe impl Target for Lent {
    fn pointer(&self) -> *mut u8 {
        self.owned.as_ref().map_or(std::ptr::null_mut(), |owned| owned.buffer.pointer())
    }

    fn length(&self) -> usize {
        self.owned.as_ref().map_or(0, |owned| owned.buffer.length())
    }

    unsafe fn set_filled(&mut self, bytes: usize) {
        if let Some(owned) = &mut self.owned {
            // SAFETY: the caller's.
            unsafe { owned.buffer.set_filled(bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Unlimited;

    fn start(lent: &Lent) -> *mut u8 {
        lent.pointer()
    }

    #[test]
    fn smallest_buffer_that_is_long_enough_is_lent_again() {
        let buffers = Buffers::new(Arc::new(Unlimited), 1 << 20);
        let lent = [90_000, 30_000, 60_000].map(|bytes| buffers.lend(bytes).unwrap());
        let starts = lent.each_ref().map(start);
        drop(lent);
        assert_eq!(start(&buffers.lend(50_000).unwrap()), starts[2]);
        assert_eq!(start(&buffers.lend(70_000).unwrap()), starts[0]);
        // None is long enough: a new one takes the place of the longest.
        drop(buffers.lend(200_000).unwrap());
        let lengths: Vec<usize> = buffers.kept().iter().map(|it| it.buffer.capacity()).collect();
        assert_eq!(lengths.len(), 3);
        assert!(lengths.iter().all(|length| *length < 90_000 || *length >= 200_000), "{lengths:?}");
    }

    #[test]
    fn buffers_beyond_the_bound_are_freed() {
        let buffers = Buffers::new(Arc::new(Unlimited), 100_000);
        drop([60_000, 60_000].map(|bytes| buffers.lend(bytes).unwrap()));
        assert_eq!(buffers.kept().len(), 1);
    }
}
