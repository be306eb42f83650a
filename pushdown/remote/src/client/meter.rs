// SPDX-License-Identifier: Apache-2.0
//! Learns how fast the link to a server is, from the bytes of objects that come over it.
//!
//! The rate is that of one stream. Streams that share the link, and a reader that is slower than
//! it, make it look slower than it is, so that more work is left to the drive.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Bytes of the least read that tells the rate: less comes out of the buffers of the system.
const BYTES_MIN: u64 = 4 << 20;

/// Reads over which the rate is a moving mean.
const READS: u64 = 4;

/// How fast a link was so far.
#[derive(Debug, Default)]
pub(super) struct LinkMeter {
    /// Bytes a second; 0 while it is not known.
    rate: AtomicU64,
}

impl LinkMeter {
    /// Takes note of a read.
    pub(super) fn observe(&self, bytes: u64, elapsed: Duration) {
        let ns = elapsed.as_nanos().max(1);
        let Ok(rate) = u64::try_from(u128::from(bytes) * 1_000_000_000 / ns) else { return };
        if bytes < BYTES_MIN || rate == 0 {
            return;
        }
        let mean = |known: u64| match known {
            0 => Some(rate),
            known => Some(known - known / READS + rate / READS),
        };
        // A lost update is one read of many.
        self.rate.fetch_update(Ordering::Relaxed, Ordering::Relaxed, mean).unwrap_or(0);
    }

    /// Bytes a second, once they were measured.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        match self.rate.load(Ordering::Relaxed) {
            0 => None,
            rate => Some(rate as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_that_of_large_reads_and_follows_them() {
        let meter = LinkMeter::default();
        meter.observe(BYTES_MIN - 1, Duration::from_nanos(1));
        assert_eq!(meter.bytes_per_s(), None);
        meter.observe(100_000_000, Duration::from_millis(250));
        assert_eq!(meter.bytes_per_s(), Some(4e8));
        meter.observe(100_000_000, Duration::from_millis(500));
        assert_eq!(meter.bytes_per_s(), Some(3.5e8));
    }
}
