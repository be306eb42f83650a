// SPDX-License-Identifier: Apache-2.0
//! Implements [`Outbound`]: the right of a stream to write.
//!
//! It holds no bytes. A write first asks the link for room, waits until the link has carried as
//! many bytes, and then writes them. Room that a cancelled write leaves is for the next one: at
//! most one piece of a stream, so it cannot add up.

use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::{Link, alarm::Alarm};

/// The right to write.
#[derive(Debug)]
pub(super) struct Outbound {
    link: Link,
    granted: Grant,
    alarm: Alarm,
}

/// Bytes that may be written from a time on.
#[derive(Debug, Default)]
struct Grant {
    bytes: usize,
    /// Nothing once it has come.
    at: Option<Instant>,
}

impl Outbound {
    pub(super) fn new(link: &Link) -> Self {
        Self { link: link.clone(), granted: Grant::default(), alarm: Alarm::new(link.timers) }
    }

    /// Whether writes have to ask.
    pub(super) fn is_limited(&self) -> bool {
        self.link.outbound().is_some()
    }

    /// How many of `wanted` bytes may be written now: at least one.
    pub(super) fn poll_grant(&mut self, cx: &mut Context<'_>, wanted: usize) -> Poll<usize> {
        let Some(bucket) = self.link.outbound() else { return Poll::Ready(wanted) };
        if self.granted.bytes == 0 {
            let bytes = wanted.min(bucket.chunk_bytes());
            let at = bucket.reserve(Instant::now(), bytes);
            self.granted = Grant { bytes, at: Some(at) };
        }
        while let Some(at) = self.granted.at {
            if at <= Instant::now() {
                self.granted.at = None;
            } else {
                ready!(self.alarm.poll_until(cx, at));
            }
        }
        Poll::Ready(self.granted.bytes.min(wanted))
    }

    /// Uses up what was written.
    pub(super) fn written(&mut self, bytes: usize) {
        self.granted.bytes = self.granted.bytes.saturating_sub(bytes);
    }
}
