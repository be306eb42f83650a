// SPDX-License-Identifier: Apache-2.0
//! Implements [`Inbound`]: the bytes of a stream that have come in and are still on the link.
//!
//! Bytes are taken off the stream in pieces, no faster than the link carries them, and wait in one
//! queue until they may be read. A read that is cancelled leaves them there.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::Instant,
};

use super::{
    Link,
    alarm::Alarm,
    bucket::{Bucket, CHUNK_BYTES_MAX},
};

/// Bytes of one stream that are on the link, at most. A link with a rate has as many as it carries
/// within its latency; this bounds the others, and what is faster than 8 GB/s at a latency of 1 ms.
pub const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Pieces of one stream that are on the link, at most, whatever their size.
const PIECES_MAX: usize = 1 << 14;

/// The bytes that are on the link.
#[derive(Debug)]
pub(super) struct Inbound {
    link: Link,
    bytes: VecDeque<u8>,
    /// The pieces that the bytes are, the oldest first.
    pieces: VecDeque<Piece>,
    bytes_max: usize,
    /// Where a piece is read to; empty before the first one.
    room: Box<[u8]>,
    /// When the direction has carried the last piece; no other is taken before.
    carried_at: Option<Instant>,
    end: Option<End>,
    alarm: Alarm,
}

/// Bytes that came together.
#[derive(Debug)]
struct Piece {
    bytes: usize,
    /// When they may be read.
    at: Instant,
}

/// What is after the last byte.
#[derive(Debug)]
struct End {
    at: Instant,
    /// Told once; then the stream is at its end.
    error: Option<io::Error>,
}

impl Inbound {
    pub(super) fn new(link: &Link) -> Self {
        let carried = link.inbound().map(|bucket| {
            let bytes = bucket.bytes_within(link.round_trip());
            usize::try_from(bytes).unwrap_or(QUEUE_BYTES_MAX)
        });
        Self {
            link: link.clone(),
            bytes: VecDeque::new(),
            pieces: VecDeque::new(),
            bytes_max: carried.map_or(QUEUE_BYTES_MAX, |bytes| bytes.min(QUEUE_BYTES_MAX)),
            room: Box::default(),
            carried_at: None,
            end: None,
            alarm: Alarm::new(link.timers),
        }
    }

    pub(super) fn poll_read<IO: AsyncRead + Unpin>(
        &mut self,
        io: &mut IO,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            let now = Instant::now();
            let again_at = self.take(io, cx, now);
            if self.give(now, buf) {
                return Poll::Ready(Ok(()));
            }
            // It was found after the last piece was carried, so it is not before that.
            if let Some(end) = self.end.as_mut().filter(|end| end.at <= now) {
                return Poll::Ready(end.error.take().map_or(Ok(()), Err));
            }
            let first_at = self.pieces.front().map(|piece| piece.at);
            let end_at = self.end.as_ref().map(|end| end.at);
            let next = [again_at, first_at.or(end_at)].into_iter().flatten().min();
            // Without a time it is the stream that wakes the task.
            let Some(next) = next else { return Poll::Pending };
            ready!(self.alarm.poll_until(cx, next));
        }
    }

    /// Takes what has come in, while the link has carried what came before and there is room.
    /// Returns the time at which to try again, unless the stream or a reader brings it on.
    fn take<IO: AsyncRead + Unpin>(
        &mut self,
        io: &mut IO,
        cx: &mut Context<'_>,
        now: Instant,
    ) -> Option<Instant> {
        if self.room.is_empty() {
            let bytes = self.link.inbound().map_or(CHUNK_BYTES_MAX, Bucket::chunk_bytes);
            self.room = vec![0; bytes].into_boxed_slice();
        }
        while self.end.is_none() && self.pieces.len() < PIECES_MAX {
            let free = self.bytes_max.saturating_sub(self.bytes.len()).min(self.room.len());
            if free == 0 {
                return None;
            }
            if let Some(at) = self.carried_at.filter(|at| *at > now) {
                return Some(at);
            }
            let mut piece = ReadBuf::new(&mut self.room[..free]);
            let read = match Pin::new(&mut *io).poll_read(cx, &mut piece) {
                Poll::Pending => return None,
                Poll::Ready(read) => read,
            };
            let bytes = piece.filled().len();
            if bytes == 0 || read.is_err() {
                self.end = Some(End { at: now + self.link.round_trip(), error: read.err() });
                return None;
            }
            self.bytes.extend(piece.filled());
            let carried_at = self.link.inbound().map_or(now, |bucket| bucket.reserve(now, bytes));
            self.carried_at = Some(carried_at);
            let at = carried_at.max(now) + self.link.round_trip();
            self.pieces.push_back(Piece { bytes, at });
        }
        None
    }

    /// Hands out what may be read by now; whether there was anything.
    fn give(&mut self, now: Instant, buf: &mut ReadBuf<'_>) -> bool {
        let mut has_given = false;
        while buf.remaining() > 0
            && let Some(piece) = self.pieces.front_mut()
            && piece.at <= now
        {
            let (first, _) = self.bytes.as_slices();
            let count = piece.bytes.min(first.len()).min(buf.remaining());
            buf.put_slice(&first[..count]);
            self.bytes.drain(..count);
            piece.bytes -= count;
            if piece.bytes == 0 {
                self.pieces.pop_front();
            }
            has_given = true;
        }
        has_given
    }
}
