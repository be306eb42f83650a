// SPDX-License-Identifier: Apache-2.0
//! Implements [`Bucket`]: the token bucket of one direction of a link, which all its streams share.
//!
//! It has no tokens to count: it knows the time until which the direction is busy, and that time is
//! never further back than a full bucket would take to be used up. A stream that asks for bytes is
//! told when the last of them has left; so streams are served in the order in which they ask, and
//! nobody has to be woken by another.

use std::{
    num::NonZeroU64,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A bucket holds what the direction carries in this time. It has to be longer than a task is
/// late after a wait, which is up to 2 ms by the runtime's timers, or the rate is lost to waiting.
const BURST: Duration = Duration::from_millis(5);

/// Bytes that a bucket holds at least: one write of the usual size leaves in one piece.
const BURST_BYTES_MIN: u64 = 64 << 10;

/// Bytes that a stream asks for at once: at most the smallest bucket.
pub(super) const CHUNK_BYTES_MAX: usize = 64 << 10;

/// Bytes that a stream asks for at once on a slow link: at least so many, and else what the link
/// carries in [`CHUNK_TIME`], so that streams take turns often.
const CHUNK_BYTES_MIN: usize = 1 << 10;

/// See [`CHUNK_BYTES_MIN`].
const CHUNK_TIME: Duration = Duration::from_millis(1);

/// One direction of a link.
#[derive(Debug)]
pub(super) struct Bucket {
    bytes_per_s: NonZeroU64,
    burst: Duration,
    /// The time until which the direction is busy; none before its first byte.
    busy_until: Mutex<Option<Instant>>,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(bytes_per_s: NonZeroU64) -> Self {
        let burst = BURST.max(time_of(BURST_BYTES_MIN, bytes_per_s));
        Self { bytes_per_s, burst, busy_until: Mutex::new(None) }
    }

    /// Bytes that a stream asks for at once, at most.
    pub(super) fn chunk_bytes(&self) -> usize {
        let bytes = u128::from(self.bytes_per_s.get()) * CHUNK_TIME.as_nanos() / 1_000_000_000;
        let bytes = usize::try_from(bytes).unwrap_or(CHUNK_BYTES_MAX);
        bytes.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
    }

    /// Bytes that the direction carries in `time`, and what the bucket holds.
    pub(super) fn bytes_within(&self, time: Duration) -> u64 {
        let ns = (time + self.burst).as_nanos();
        let bytes = u128::from(self.bytes_per_s.get()) * ns / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Takes the next place for `bytes`; returns when the last of them has left, which is in the
    /// past while the bucket is not empty.
    pub(super) fn reserve(&self, now: Instant, bytes: usize) -> Instant {
        let mut busy_until = self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that began less than a burst ago cannot show the time of a full bucket.
        let full = now.checked_sub(self.burst).unwrap_or(now);
        let start = busy_until.map_or(full, |until| until.max(full));
        let end = start + time_of(bytes as u64, self.bytes_per_s);
        *busy_until = Some(end);
        end
    }
}

/// The time that `bytes` take, rounded up: a link is never faster than its limit.
fn time_of(bytes: u64, bytes_per_s: NonZeroU64) -> Duration {
    let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bytes_per_s.get()));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(bytes_per_s: u64) -> Bucket {
        Bucket::new(NonZeroU64::new(bytes_per_s).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn full_bucket_lets_a_burst_pass_and_then_the_rate() {
        tokio::time::advance(Duration::from_secs(1)).await;
        let bucket = bucket(100_000_000);
        let now = Instant::now();
        // 500 kB are 5 ms.
        assert_eq!(bucket.reserve(now, 500_000), now);
        assert_eq!(bucket.reserve(now, 100_000), now + Duration::from_millis(1));
        assert_eq!(bucket.reserve(now, 100_000), now + Duration::from_millis(2));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_fills_the_bucket_no_further_than_full() {
        tokio::time::advance(Duration::from_secs(1)).await;
        let bucket = bucket(100_000_000);
        let start = Instant::now();
        bucket.reserve(start, 500_000);
        // Two milliseconds later it holds 200 kB.
        let now = start + Duration::from_millis(2);
        assert_eq!(bucket.reserve(now, 200_000), now);
        // An hour later it holds 500 kB.
        let now = start + Duration::from_secs(3600);
        assert_eq!(bucket.reserve(now, 600_000), now + Duration::from_millis(1));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_link_has_a_bucket_of_one_write() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let bucket = bucket(65_536);
        let now = Instant::now();
        assert_eq!(bucket.reserve(now, 65_536), now);
        assert_eq!(bucket.reserve(now, 65_536), now + Duration::from_secs(1));
    }

    #[test]
    fn chunk_is_a_millisecond_within_its_bounds() {
        assert_eq!(bucket(1).chunk_bytes(), CHUNK_BYTES_MIN);
        assert_eq!(bucket(10_000_000).chunk_bytes(), 10_000);
        assert_eq!(bucket(u64::MAX).chunk_bytes(), CHUNK_BYTES_MAX);
    }

    #[test]
    fn time_is_rounded_up() {
        assert_eq!(time_of(1, NonZeroU64::new(3_000_000_000).unwrap()), Duration::from_nanos(1));
        assert_eq!(time_of(3, NonZeroU64::new(3).unwrap()), Duration::from_secs(1));
        assert_eq!(time_of(u64::MAX, NonZeroU64::MIN), Duration::from_nanos(u64::MAX));
    }
}
