// SPDX-License-Identifier: Apache-2.0
//! Measures the overhead of a remote drive: a command on the CPU drive in this process, and on the
//! same drive behind a Unix socket and behind TCP over the loopback device.
//!
//! The command scans a hundred rows, so nearly all of its time is what surrounds it. `alone` is the
//! median time of one command at a time; `queued` is the time for each of many that are in flight
//! together. `open` is the time to open a session, which a query does once for each partition.
//! `result` sends eight million bytes of rows, again one command at a time. Without `--bench`, as
//! under `cargo test`, a run is tiny, to see that it runs.
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::executor::block_on;
use nearscan_command::Command;
use nearscan_conformance::sample::{self, PATIENCE, Sample, envelope, session};
use nearscan_cpu::{CpuDrive, Options as CpuOptions};
use nearscan_drive::{Drive, Outcome, Session, Ticket, clock::Stopwatch};
use nearscan_remote::{Address, Listener, Options, RemoteDrive, ServerOptions, serve};
use tokio::sync::oneshot;

/// The amount of work for each line of the output.
struct Amount {
    commands: u32,
    rows: u32,
    results: u32,
}

const FULL: Amount = Amount { commands: 5000, rows: 1_000_000, results: 20 };
const TINY: Amount = Amount { commands: 20, rows: 1000, results: 2 };

/// Commands in flight together.
const QUEUED: usize = 16;

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let amount = if is_full { FULL } else { TINY };
    let folder = tempfile::tempdir().unwrap();
    let small = Sample::common(100);
    let large = Sample::common(amount.rows);
    let threads = CpuOptions::default();
    let drive: Arc<dyn Drive> = Arc::new(CpuDrive::start(threads).unwrap());
    println!("{:12} {:>10} {:>10} {:>10} {:>10}", "", "alone", "queued", "open", "result");
    measure("in process", &*drive, (&small, &large), &amount);
    let socket = Address::Unix(folder.path().join("drive"));
    for (name, address) in [("unix socket", socket), ("tcp loopback", tcp())] {
        let server = Server::start(Arc::clone(&drive), &address);
        let remote = RemoteDrive::connect(&server.address, Options::default()).unwrap();
        measure(name, &remote, (&small, &large), &amount);
    }
}

fn tcp() -> Address {
    Address::Tcp("127.0.0.1:0".to_owned())
}

/// A server on its own threads, which ends with the process: it has the drive for good.
struct Server {
    address: Address,
    _stop: oneshot::Sender<()>,
}

impl Server {
    fn start(drive: Arc<dyn Drive>, address: &Address) -> Self {
        let (bound, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let address = address.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = Listener::bind(&address).await.unwrap();
                bound.send(listener.address().clone()).unwrap();
                let stop = async {
                    drop(stopped.await);
                    // The drive is shared: it is not to be shut down.
                    std::future::pending::<()>().await;
                };
                serve(drive, listener, ServerOptions::default(), stop).await.unwrap();
            });
        });
        Self { address: told.recv().unwrap(), _stop: stop }
    }
}

fn submit(session: &dyn Session, command: &Command, number: u32) -> Ticket {
    let mut command = command.clone();
    command.envelope.command_id = number.into();
    sample::submit(session, command, PATIENCE).unwrap()
}

fn finish(ticket: Ticket) {
    assert!(matches!(block_on(ticket).outcome, Outcome::Finished(_)));
}

/// The median time of a number of runs.
fn median(runs: u32, mut run: impl FnMut(u32)) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|number| {
            let watch = Stopwatch::start();
            run(number);
            watch.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// One line of the table.
fn measure(name: &str, drive: &dyn Drive, samples: (&Sample, &Sample), amount: &Amount) {
    let (small, large) = samples;
    let session = session(drive);
    let command = small.sum(drive, envelope(&*session, 0));
    (0..amount.commands / 10).for_each(|number| finish(submit(&*session, &command, number)));
    let alone = median(amount.commands, |number| finish(submit(&*session, &command, number)));
    let watch = Stopwatch::start();
    let mut tickets = VecDeque::new();
    for number in 0..amount.commands {
        if tickets.len() == QUEUED {
            tickets.pop_front().into_iter().for_each(finish);
        }
        tickets.push_back(submit(&*session, &command, number));
    }
    tickets.into_iter().for_each(finish);
    let queued = watch.elapsed() / amount.commands;
    let opened = median(amount.commands / 10, |_| drop(sample::session(drive)));
    let command = large.rows(drive, envelope(&*session, 0));
    let result = median(amount.results, |number| finish(submit(&*session, &command, number)));
    println!("{name:12} {alone:>10.1?} {queued:>10.1?} {opened:>10.1?} {result:>10.1?}");
}
