// SPDX-License-Identifier: Apache-2.0
//! Implements [`Throttled`], a stream that is as fast as its link.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use super::{Link, LinkLimit, inbound::Inbound, outbound::Outbound};

/// A stream over a [`Link`]. The module says what it delays.
#[derive(Debug)]
pub struct Throttled<IO> {
    io: IO,
    /// Nothing when the link has no limit.
    pub(super) way: Option<Box<Way>>,
    /// Those of the link.
    read_bytes: Arc<AtomicU64>,
}

/// Both directions.
#[derive(Debug)]
pub(super) struct Way {
    inbound: Inbound,
    outbound: Outbound,
}

impl<IO> Throttled<IO> {
    pub(super) fn new(link: &Link, io: IO) -> Self {
        let way = (link.limit() != LinkLimit::NONE)
            .then(|| Box::new(Way { inbound: Inbound::new(link), outbound: Outbound::new(link) }));
        Self { io, way, read_bytes: Arc::clone(&link.read_bytes) }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Throttled<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, way, read_bytes } = &mut *self;
        let before = buf.filled().len();
        let polled = match way {
            Some(way) => way.inbound.poll_read(io, cx, buf),
            None => Pin::new(io).poll_read(cx, buf),
        };
        let count = buf.filled().len() - before;
        read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        polled
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Throttled<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { io, way, .. } = &mut *self;
        let io = Pin::new(io);
        match way {
            Some(way) if !bytes.is_empty() => {
                let granted = ready!(way.outbound.poll_grant(cx, bytes.len()));
                let written = ready!(io.poll_write(cx, &bytes[..granted]))?;
                way.outbound.written(written);
                Poll::Ready(Ok(written))
            }
            _ => io.poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_write_vectored() {
            return Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.poll_write(cx, first.map_or(&[], |slice| slice))
    }

    fn is_write_vectored(&self) -> bool {
        let is_limited = self.way.as_ref().is_some_and(|way| way.outbound.is_limited());
        !is_limited && self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<IO: Connected> Connected for Throttled<IO> {
    type ConnectInfo = IO::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.io.connect_info()
    }
}
