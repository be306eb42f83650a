// SPDX-License-Identifier: Apache-2.0
//! Accounts for device memory: leases are taken from it, and nothing is allocated.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use nearscan_drive::{Lease, Refusal};

/// Device memory: how much is free.
#[derive(Debug)]
pub(crate) struct Memory {
    free: Arc<AtomicU64>,
    bytes: u64,
}

impl Memory {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { free: Arc::new(AtomicU64::new(bytes)), bytes }
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.free.load(Ordering::Acquire)
    }

    /// Whether every lease was released.
    pub(crate) fn is_whole(&self) -> bool {
        self.free_bytes() == self.bytes
    }

    /// Sets `needed_bytes` aside.
    pub(crate) fn lease(&self, needed_bytes: u64) -> Result<Lease, Refusal> {
        let take = |free: u64| free.checked_sub(needed_bytes);
        match self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => {
                let free = Arc::clone(&self.free);
                Ok(Lease::new(needed_bytes, move |bytes| {
                    free.fetch_add(bytes, Ordering::AcqRel);
                }))
            }
            Err(_) => Err(Refusal::LowMemory { needed_bytes }),
        }
    }
}
