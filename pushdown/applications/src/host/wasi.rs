// SPDX-License-Identifier: Apache-2.0
//! Gives an application what a program of WASI expects, and nothing of the machine: no folder, no
//! socket, no name of a host, no argument, no variable, no input. What it prints goes to its log.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use nearscan_drive::clock::{Stopwatch, unix_ns};
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    HostMonotonicClock, HostWallClock, WasiCtx,
    cli::{IsTerminal, StdoutStream},
};

use crate::{call::CallLog, limits::READ_BYTES_MAX};

/// The WASI of one call.
pub(super) fn context(log: &Arc<CallLog>) -> WasiCtx {
    WasiCtx::builder()
        .stdout(Printed(Arc::clone(log)))
        .stderr(Printed(Arc::clone(log)))
        .wall_clock(DayTime)
        .monotonic_clock(SinceStart(Stopwatch::start()))
        .max_random_size(u64::from(READ_BYTES_MAX))
        // These are what they are by default; an upgrade must not change them.
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

struct DayTime;

impl HostWallClock for DayTime {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(unix_ns())
    }
}

struct SinceStart(Stopwatch);

impl HostMonotonicClock for SinceStart {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Standard output and standard error.
#[derive(Clone)]
struct Printed(Arc<CallLog>);

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Printed {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.bytes(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
