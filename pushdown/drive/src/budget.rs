// SPDX-License-Identifier: Apache-2.0
//! Charges host memory that a drive uses for a query: the engine implements [`Budget`] over the
//! query's memory pool.

use std::{fmt::Debug, sync::Arc};

/// Grants host memory.
pub trait Budget: Send + Sync + Debug {
    /// Takes `bytes`; returns false if there is not enough.
    fn try_grow(&self, bytes: u64) -> bool;

    /// Returns `bytes` to the budget.
    fn shrink(&self, bytes: u64);
}

/// A budget without a limit, for tests and tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

impl Budget for Unlimited {
    fn try_grow(&self, _bytes: u64) -> bool {
        true
    }

    fn shrink(&self, _bytes: u64) {}
}

/// Bytes taken from a budget, returned on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<dyn Budget>,
    bytes: u64,
}

impl Reservation {
    /// Takes `bytes` from `budget`; `None` when there is not enough.
    pub fn take(budget: &Arc<dyn Budget>, bytes: u64) -> Option<Self> {
        budget.try_grow(bytes).then(|| Self { budget: Arc::clone(budget), bytes })
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes above `bytes` to the budget.
    pub fn shrink_to(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.budget.shrink(surplus);
        self.bytes -= surplus;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.shrink(self.bytes);
    }
}

/// Bytes with the host memory that they are charged for; both are released together.
#[derive(Debug)]
pub struct Charged {
    bytes: Vec<u8>,
    _memory: Reservation,
}

impl Charged {
    /// Bytes that `memory` was taken for.
    pub fn new(bytes: Vec<u8>, memory: Reservation) -> Self {
        Self { bytes, _memory: memory }
    }

    /// Adds bytes that the memory was taken for too.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::completion::Outcome;
    use crate::error::Failure;

    #[derive(Debug)]
    struct Limited(AtomicU64);

    impl Budget for Limited {
        fn try_grow(&self, bytes: u64) -> bool {
            self.0
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(bytes))
                .is_ok()
        }

        fn shrink(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::SeqCst);
        }
    }

    #[test]
    fn dropped_reservation_returns_its_bytes() {
        let limited = Arc::new(Limited(AtomicU64::new(100)));
        let budget: Arc<dyn Budget> = Arc::<Limited>::clone(&limited);
        let mut first = Reservation::take(&budget, 80).unwrap();
        assert!(Reservation::take(&budget, 30).is_none());
        first.shrink_to(60);
        assert_eq!(limited.0.load(Ordering::SeqCst), 40);
        drop(first);
        assert_eq!(limited.0.load(Ordering::SeqCst), 100);
    }
    #[test]
    fn result_is_charged_until_its_last_holder_drops_it() {
        let limited = Arc::new(Limited(AtomicU64::new(100)));
        let budget: Arc<dyn Budget> = Arc::<Limited>::clone(&limited);
        let Outcome::Finished(result) = Outcome::charged(vec![7; 80], &budget) else {
            panic!("there was room for it")
        };
        let part = result.slice(..1);
        drop(result);
        assert_eq!(limited.0.load(Ordering::SeqCst), 20);
        let refused = Outcome::charged(vec![7; 30], &budget);
        assert_eq!(refused, Outcome::Failed(Failure::HostMemory { needed_bytes: 30 }));
        drop(part);
        assert_eq!(limited.0.load(Ordering::SeqCst), 100);
    }
}
