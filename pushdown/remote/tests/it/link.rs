// SPDX-License-Identifier: Apache-2.0
//! Tests throttled streams over real sockets: by the clock, and against a link that the kernel
//! makes slow.

use std::{
    num::NonZeroU64,
    process::{Child, Command as Process, Stdio},
    time::Duration,
};

use nearscan_drive::clock::Stopwatch;
use nearscan_remote::{Link, LinkLimit};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::bench::wait;

/// The rate of the tests: 200 Mbit, which any machine's loopback device exceeds by far.
const BYTES_PER_S: u64 = 25_000_000;

/// Bytes that come before the measurement, so that no bucket is full when it begins.
const WARM_UP_BYTES: u64 = 2_000_000;

/// Bytes whose time is measured: half a second.
const MEASURED_BYTES: u64 = 12_500_000;

fn link(latency: Duration) -> Link {
    Link::new(LinkLimit { bytes_per_s: NonZeroU64::new(BYTES_PER_S), latency })
}

/// Reads so many bytes.
async fn swallow(from: &mut (impl AsyncRead + Unpin), bytes: u64) {
    let mut buffer = vec![0; 1 << 18];
    let mut rest = bytes;
    while rest > 0 {
        let wanted = buffer.len().min(usize::try_from(rest).unwrap());
        let count = from.read(&mut buffer[..wanted]).await.unwrap();
        assert!(count > 0, "the sender is gone");
        rest -= count as u64;
    }
}

/// Bytes a second that come out of a stream.
async fn rate_of(mut from: impl AsyncRead + Unpin) -> f64 {
    swallow(&mut from, WARM_UP_BYTES).await;
    let watch = Stopwatch::start();
    swallow(&mut from, MEASURED_BYTES).await;
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    let bytes = MEASURED_BYTES as f64;
    bytes / watch.elapsed().as_secs_f64()
}

/// Both ends of a connection on the loopback device.
async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (near, far) = (near.unwrap(), far.unwrap().0);
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    (near, far)
}

/// Writes until the other end is gone.
async fn pour(mut into: TcpStream) {
    let bytes = vec![7; 1 << 18];
    while into.write_all(&bytes).await.is_ok() {}
}

/// Bytes a second over a throttled connection.
async fn throttled_rate() -> f64 {
    let (near, far) = connection().await;
    let pouring = tokio::spawn(pour(far));
    let rate = rate_of(link(Duration::from_millis(1)).throttle(near)).await;
    pouring.abort();
    rate
}

#[test]
fn throttled_socket_keeps_its_rate_by_the_clock() {
    let share = wait(throttled_rate()) / 25e6;
    // A busy machine may be slower; none may be faster.
    assert!((0.7..1.03).contains(&share), "{share}");
}

#[test]
fn answer_over_a_throttled_socket_takes_a_round_trip_by_the_clock() {
    let latency = Duration::from_micros(500);
    wait(async {
        let (near, mut far) = connection().await;
        let mut near = link(latency).throttle(near);
        let echo = tokio::spawn(async move {
            let mut byte = [0];
            while far.read_exact(&mut byte).await.is_ok() {
                far.write_all(&byte).await.unwrap();
            }
        });
        let mut times = Vec::new();
        for _ in 0..50 {
            let watch = Stopwatch::start();
            near.write_all(&[1]).await.unwrap();
            near.read_exact(&mut [0]).await.unwrap();
            times.push(watch.elapsed());
        }
        times.sort_unstable();
        assert!(times[0] >= 2 * latency, "{times:?}");
        assert!(times[25] <= 3 * latency, "{times:?}");
        drop(near);
        echo.await.unwrap();
    });
}

/// A network namespace with a link to this one, which the kernel makes slow.
struct Namespace {
    name: String,
    /// Of this end of the link.
    address: String,
}

impl Namespace {
    /// Makes one; otherwise the reason why not.
    fn make() -> Result<Self, String> {
        let id = std::process::id();
        let (name, ours, theirs) = (format!("nsd{id}"), format!("nsa{id}"), format!("nsb{id}"));
        run(&format!("ip netns add {name}"))?;
        // Gone with the namespace from here on; the address is one of those for benchmarks.
        let subnet = format!("198.18.{}", id % 256);
        let made = Self { name: name.clone(), address: format!("{subnet}.1") };
        run(&format!("ip link add {ours} type veth peer name {theirs} netns {name}"))?;
        run(&format!("ip addr add {subnet}.1/24 dev {ours}"))?;
        run(&format!("ip link set {ours} up"))?;
        run(&format!("ip -n {name} addr add {subnet}.2/24 dev {theirs}"))?;
        run(&format!("ip -n {name} link set {theirs} up"))?;
        let rate = BYTES_PER_S * 8;
        let limit = format!("tbf rate {rate}bit burst 128kb latency 50ms");
        run(&format!("tc -n {name} qdisc add dev {theirs} root {limit}"))?;
        Ok(made)
    }

    /// Starts a process in it that sends without end.
    fn pour(&self, port: u16) -> Sender {
        let script = format!("exec cat /dev/zero > /dev/tcp/{}/{port}", self.address);
        let mut process = Process::new("ip");
        process.args(["netns", "exec", &self.name, "bash", "-c", &script]);
        Sender(process.stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(run(&format!("ip netns del {}", self.name)));
    }
}

/// A process, killed on drop.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs a command; what it says when it fails.
fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output = Process::new(words.next().unwrap_or_default()).args(words).output();
    match output {
        Err(error) => Err(format!("{line}: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[test]
fn throttled_socket_is_as_fast_as_a_link_that_the_kernel_slows_down() {
    let namespace = match Namespace::make() {
        Ok(namespace) => namespace,
        Err(why) => {
            let test = "link::throttled_socket_is_as_fast_as_a_link_that_the_kernel_slows_down";
            nearscan_skip::skip(test, &format!("no slow link can be made here ({why})"));
            return;
        }
    };
    let (ours, kernels) = wait(async {
        let listener = TcpListener::bind((namespace.address.as_str(), 0)).await.unwrap();
        let _sender = namespace.pour(listener.local_addr().unwrap().port());
        let (stream, _) = listener.accept().await.unwrap();
        let kernels = rate_of(stream).await;
        (throttled_rate().await, kernels)
    });
    let share = ours / kernels;
    assert!((0.85..1.15).contains(&share), "{ours} and {kernels} bytes a second");
}
