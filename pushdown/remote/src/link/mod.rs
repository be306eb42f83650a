// SPDX-License-Identifier: Apache-2.0
//! Makes connections as slow as a link would: [`Link`] is one, [`Throttled`] a stream over it.
//!
//! It shows on one machine what a drive behind a real link is worth. It is no model of a network:
//! nothing is lost or reordered, and opening a connection takes no time on it.
//!
//! One throttled end is enough. Its writes and its reads each pass a bucket with the rate of the
//! link, and each byte that it reads is given out after the latency of both directions. So whoever
//! sends a request and waits for the answer waits as long as on the link; only the request alone is
//! early, by the latency of one direction. The reading end bears it all because bytes that wait to
//! be written would need somebody to write them after the writer has gone, and a flush that waits
//! for them would stop the sender for the time of the latency each time. When both ends are
//! throttled, by two links, the latencies add up and the lower rate holds.
//!
//! # Invariants
//!
//! - All bytes arrive once and in order, and the end of the stream comes after the last of them.
//!   What is written is handed on before the write returns: flushing, shutting down and dropping
//!   lose nothing.
//! - A direction never carries more than its rate and one bucket, however many streams share it.
//! - A stream holds at most [`QUEUE_BYTES_MAX`] bytes; then its peer is not read.
//! - Without a limit a stream is passed through, without a copy.

mod alarm;
mod bucket;
mod inbound;
mod limit;
mod outbound;
mod stream;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub use alarm::Timers;
use bucket::Bucket;
pub use inbound::QUEUE_BYTES_MAX;
pub use limit::{LATENCY_MAX, LimitError, LinkLimit};
pub use stream::Throttled;

/// A link with a rate and a latency. Clones are the same link: the streams of all of them share its
/// rate. They are all on the same side of it.
#[derive(Debug, Clone)]
pub struct Link {
    limit: LinkLimit,
    timers: Timers,
    /// Nothing for a link without a rate.
    buckets: Option<Arc<Buckets>>,
    /// Bytes that all streams have read so far.
    read_bytes: Arc<AtomicU64>,
}

/// Both directions of a link.
#[derive(Debug)]
struct Buckets {
    inbound: Bucket,
    outbound: Bucket,
}

impl Link {
    /// A link that nothing uses yet.
    pub fn new(limit: LinkLimit) -> Self {
        Self::with_timers(limit, Timers::Fine)
    }

    /// The same, with a choice of timers: in virtual time it has to be [`Timers::Runtime`].
    pub fn with_timers(limit: LinkLimit, timers: Timers) -> Self {
        let limit = LinkLimit { latency: limit.latency.min(LATENCY_MAX), ..limit };
        let buckets = limit.bytes_per_s.map(|rate| {
            Arc::new(Buckets { inbound: Bucket::new(rate), outbound: Bucket::new(rate) })
        });
        Self { limit, timers, buckets, read_bytes: Arc::default() }
    }

    /// How fast it is.
    pub fn limit(&self) -> LinkLimit {
        self.limit
    }

    /// Bytes that all of its streams have read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// A stream over the link. It has to be used within a runtime of tokio that has timers.
    pub fn throttle<IO>(&self, io: IO) -> Throttled<IO> {
        Throttled::new(self, io)
    }

    /// The time by which bytes that are read are late.
    fn round_trip(&self) -> Duration {
        self.limit.latency * 2
    }

    fn inbound(&self) -> Option<&Bucket> {
        self.buckets.as_deref().map(|buckets| &buckets.inbound)
    }

    fn outbound(&self) -> Option<&Bucket> {
        self.buckets.as_deref().map(|buckets| &buckets.outbound)
    }
}

#[cfg(test)]
mod tests;
