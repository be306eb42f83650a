// SPDX-License-Identifier: Apache-2.0
//! Tests throttled streams in virtual time: how fast they are, and that they lose nothing.

use std::{
    io,
    num::NonZeroU64,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use proptest::prelude::*;
use rstest::rstest;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex},
    time::{Instant, timeout},
};

use super::*;

/// Bytes that wait between the two ends of a stream: as much as a socket holds.
const SOCKET_BYTES: usize = 256 << 10;

const SECOND: Duration = Duration::from_secs(1);
const MB: u64 = 1_000_000;

fn link(bytes_per_s: u64, latency: Duration) -> Link {
    let limit = LinkLimit { bytes_per_s: NonZeroU64::new(bytes_per_s), latency };
    Link::with_timers(limit, Timers::Runtime)
}

/// A stream whose near end is throttled.
fn over(link: &Link) -> (Throttled<DuplexStream>, DuplexStream) {
    let (near, far) = duplex(SOCKET_BYTES);
    (link.throttle(near), far)
}

/// Writes until the other end is gone.
async fn pour(mut into: impl AsyncWrite + Unpin) {
    let bytes = vec![7; 1 << 20];
    while into.write_all(&bytes).await.is_ok() {}
}

/// Bytes that can be read from now on within `time`.
async fn count_for(mut from: impl AsyncRead + Unpin, time: Duration) -> u64 {
    let (mut count, mut buffer) = (0, vec![0; 1 << 20]);
    let read = async {
        loop {
            count += from.read(&mut buffer).await.unwrap() as u64;
        }
    };
    let Err(_elapsed) = timeout(time, read).await;
    count
}

fn assert_within(part: f64, count: u64, expected: u64) {
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    let share = count as f64 / expected as f64;
    assert!((share - 1.0).abs() <= part, "{count} instead of {expected} bytes");
}

#[rstest]
#[case(10 * MB, 0)]
#[case(20 * MB, 20)]
#[case(100 * MB, 0)]
#[case(100 * MB, 1)]
#[tokio::test(start_paused = true)]
async fn reading_keeps_the_rate(#[case] rate: u64, #[case] latency_ms: u64) {
    let latency = Duration::from_millis(latency_ms);
    let (mut near, far) = over(&link(rate, latency));
    let far = tokio::spawn(pour(far));
    // The latency delays the first byte, and no more.
    let start = Instant::now();
    near.read_exact(&mut [0; 1]).await.unwrap();
    assert!(start.elapsed() >= 2 * latency, "{:?}", start.elapsed());
    assert!(start.elapsed() <= 2 * latency + Duration::from_millis(1), "{:?}", start.elapsed());
    assert_within(0.02, count_for(near, SECOND).await, rate);
    far.await.unwrap();
}

#[rstest]
#[case(10 * MB, 0)]
#[case(20 * MB, 20)]
#[case(100 * MB, 1)]
#[tokio::test(start_paused = true)]
async fn writing_keeps_the_rate(#[case] rate: u64, #[case] latency_ms: u64) {
    let (near, far) = over(&link(rate, Duration::from_millis(latency_ms)));
    let near = tokio::spawn(pour(near));
    assert_within(0.02, count_for(far, SECOND).await, rate);
    near.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn directions_do_not_share_the_rate() {
    let (near, far) = over(&link(20 * MB, Duration::from_millis(2)));
    let (near_read, near_write) = tokio::io::split(near);
    let (far_read, far_write) = tokio::io::split(far);
    let writers = [tokio::spawn(pour(near_write)), tokio::spawn(pour(far_write))];
    let (inbound, outbound) =
        tokio::join!(count_for(near_read, SECOND), count_for(far_read, SECOND));
    assert_within(0.02, inbound, 20 * MB);
    assert_within(0.02, outbound, 20 * MB);
    writers.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn streams_share_the_rate_of_their_link_evenly() {
    let link = link(40 * MB, Duration::from_millis(1));
    let (first, first_far) = over(&link);
    let (second, second_far) = over(&link.clone());
    tokio::spawn(pour(first_far));
    tokio::spawn(pour(second_far));
    let (first, second) = tokio::join!(count_for(first, SECOND), count_for(second, SECOND));
    assert_within(0.02, first + second, 40 * MB);
    assert_within(0.1, first, 20 * MB);

    let (first, first_far) = over(&link);
    let (second, second_far) = over(&link);
    tokio::spawn(pour(first));
    tokio::spawn(pour(second));
    let (first, second) = tokio::join!(count_for(first_far, SECOND), count_for(second_far, SECOND));
    assert_within(0.02, first + second, 40 * MB);
    assert_within(0.1, first, 20 * MB);
}

/// Answers each byte.
async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut byte = [0];
    while stream.read_exact(&mut byte).await.is_ok() {
        stream.write_all(&byte).await.unwrap();
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Duration {
    let start = Instant::now();
    stream.write_all(&[1]).await.unwrap();
    stream.read_exact(&mut [0]).await.unwrap();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn answer_takes_a_round_trip_whichever_end_is_throttled() {
    let latency = Duration::from_millis(5);
    let link = link(MB, latency);
    let (near, far) = over(&link);
    tokio::spawn(echo(far));
    assert_eq!(ask(near).await, 2 * latency);
    let (near, far) = over(&link);
    tokio::spawn(echo(near));
    assert_eq!(ask(far).await, 2 * latency);
    let (near, far) = duplex(SOCKET_BYTES);
    tokio::spawn(echo(link.throttle(far)));
    let other = self::link(MB, latency);
    assert_eq!(ask(other.throttle(near)).await, 4 * latency);
}

#[tokio::test(start_paused = true)]
async fn end_of_the_stream_comes_after_the_last_byte_and_late_too() {
    let (mut near, mut far) = over(&link(MB, Duration::from_millis(5)));
    far.write_all(b"last words").await.unwrap();
    drop(far);
    let start = Instant::now();
    let mut read = Vec::new();
    near.read_to_end(&mut read).await.unwrap();
    assert_eq!(read, b"last words");
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    // It stays at its end.
    assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0);
}

/// A stream that gives these bytes, then fails.
struct Broken(&'static [u8]);

impl AsyncRead for Broken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        buf.put_slice(std::mem::take(&mut self.0));
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn error_comes_after_the_bytes_before_it() {
    let mut near = link(MB, Duration::from_millis(5)).throttle(Broken(b"some"));
    let mut four = [0; 4];
    near.read_exact(&mut four).await.unwrap();
    assert_eq!(&four, b"some");
    let error = near.read(&mut four).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test(start_paused = true)]
async fn reader_that_is_not_there_holds_its_peer_up() {
    let (mut near, mut far) = over(&link(0, LATENCY_MAX));
    let reader = tokio::spawn(async move { near.read(&mut [0; 8]).await });
    let (mut written, bytes) = (0, vec![0; 1 << 20]);
    let write = async {
        loop {
            written += far.write(&bytes).await.unwrap();
        }
    };
    assert!(timeout(SECOND, write).await.is_err());
    assert_eq!(written, QUEUE_BYTES_MAX + SOCKET_BYTES);
    reader.abort();
}

#[tokio::test(start_paused = true)]
async fn writer_that_shuts_down_has_lost_nothing() {
    let (mut near, mut far) = over(&link(MB, Duration::from_millis(5)));
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    near.write_all(&bytes).await.unwrap();
    near.shutdown().await.unwrap();
    drop(near);
    let mut read = Vec::new();
    far.read_to_end(&mut read).await.unwrap();
    assert!(read == bytes);
}

#[tokio::test(start_paused = true)]
async fn stream_without_limit_is_passed_through() {
    let (near, mut far) = over(&Link::new(LinkLimit::NONE));
    assert!(near.way.is_none() && near.is_write_vectored());
    let start = Instant::now();
    let mut near = near;
    near.write_all(&[5; 1000]).await.unwrap();
    far.read_exact(&mut [0; 1000]).await.unwrap();
    far.write_all(&[5; 1000]).await.unwrap();
    assert_eq!(near.read(&mut [0; 2000]).await.unwrap(), 1000);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn bytes_that_its_streams_have_read_are_counted() {
    let link = Link::new(LinkLimit::NONE);
    for count in [3_u64, 40_000] {
        let (mut stream, mut peer) = over(&link);
        let sent = vec![7; usize::try_from(count).unwrap()];
        let (wrote, read) = tokio::join!(peer.write_all(&sent), async {
            let mut received = vec![0; sent.len()];
            stream.read_exact(&mut received).await
        });
        wrote.unwrap();
        read.unwrap();
        stream.write_all(b"not counted").await.unwrap();
    }
    assert_eq!(link.read_bytes(), 40_003);
}

#[test]
fn limit_is_stated_and_a_latency_is_bounded() {
    let latency = Duration::from_secs(3600);
    let link = link(MB, latency);
    assert_eq!(link.limit().latency, LATENCY_MAX);
    assert_eq!(link.limit().bytes_per_s, NonZeroU64::new(MB));
}

/// One transfer of a property.
#[derive(Debug, Clone)]
struct Transfer {
    rate: u64,
    latency_us: u64,
    socket_bytes: usize,
    writes: Vec<usize>,
    reads: Vec<usize>,
    /// A read or write is given up after so much time, and begun anew.
    patience_us: u64,
    throttled: End,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Reader,
    Writer,
}

fn transfers() -> impl Strategy<Value = Transfer> {
    let size = || prop_oneof![1..20_usize, 1..5_000_usize, 60_000..140_000_usize];
    let rate = prop_oneof![Just(0), Just(100_000), Just(10 * MB), Just(1000 * MB)];
    let fields = (
        rate,
        prop_oneof![Just(0_u64), 1..20_000_u64],
        1..100_000_usize,
        prop::collection::vec(size(), 0..20),
        prop::collection::vec(size(), 1..20),
        1..30_000_u64,
        prop_oneof![Just(End::Reader), Just(End::Writer)],
    );
    fields.prop_map(|(rate, latency_us, socket_bytes, writes, reads, patience_us, throttled)| {
        Transfer { rate, latency_us, socket_bytes, writes, reads, patience_us, throttled }
    })
}

/// Writes all of `bytes` in pieces; a write that takes long is given up and begun anew.
async fn send(
    mut into: impl AsyncWrite + Unpin,
    bytes: &[u8],
    sizes: &[usize],
    patience: Duration,
) {
    let mut rest = bytes;
    for size in sizes {
        let (mut piece, later) = rest.split_at(*size);
        while !piece.is_empty() {
            if let Ok(written) = timeout(patience, into.write(piece)).await {
                piece = &piece[written.unwrap()..];
            }
        }
        into.flush().await.unwrap();
        rest = later;
    }
    into.shutdown().await.unwrap();
}

/// Reads to the end; a read that takes long is given up and begun anew.
async fn receive(mut from: impl AsyncRead + Unpin, sizes: &[usize], patience: Duration) -> Vec<u8> {
    let mut read = Vec::new();
    for size in sizes.iter().cycle() {
        let mut buffer = vec![0; *size];
        match timeout(patience, from.read(&mut buffer)).await.map(Result::unwrap) {
            Ok(0) => break,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(_elapsed) => {}
        }
    }
    read
}

async fn arrives_whole(transfer: &Transfer) {
    let total: usize = transfer.writes.iter().sum();
    let bytes: Vec<u8> = (0..total).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let patience = Duration::from_micros(transfer.patience_us);
    let link = link(transfer.rate, Duration::from_micros(transfer.latency_us));
    let (near, far) = duplex(transfer.socket_bytes);
    let (writes, reads) = (&transfer.writes, &transfer.reads);
    let start = Instant::now();
    let both = async {
        match transfer.throttled {
            End::Reader => {
                let near = link.throttle(near);
                tokio::join!(send(far, &bytes, writes, patience), receive(near, reads, patience)).1
            }
            End::Writer => {
                let near = link.throttle(near);
                tokio::join!(send(near, &bytes, writes, patience), receive(far, reads, patience)).1
            }
        }
    };
    let read = timeout(Duration::from_secs(3600), both).await.expect("the transfer ends");
    assert!(read == bytes, "{} instead of {total} bytes", read.len());
    let beyond_burst = (total as u64).saturating_sub((64 << 10).max(transfer.rate / 200));
    if let Some(ns) = (beyond_burst * 1_000_000_000).checked_div(transfer.rate) {
        assert!(start.elapsed() >= Duration::from_nanos(ns), "{:?}", start.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_bytes_arrive_in_order_though_reads_and_writes_are_cancelled(transfer in transfers()) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(arrives_whole(&transfer));
    }
}
