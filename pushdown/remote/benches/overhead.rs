// SPDX-License-Identifier: Apache-2.0
//! What it costs to have a drive elsewhere: a command on the CPU drive in this process, and on the
//! same drive behind a Unix socket and behind TCP over the loopback device.
//!
//! The command scans a hundred rows, so nearly all of its time is what surrounds it. `alone` is the
//! median time of one command at a time; `queued` is the time for each of many that are in flight
//! together. `open` is the time to open a session, which a query does once for each partition.
//! `result` sends eight million bytes of rows, again one command at a time. Without `--bench`, as
//! under `cargo test`, a run is tiny, to see that it runs.
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use nearscan_command::{
    Aggregate, Chunk, Column, Command, Envelope, Fragment, InputRef, Operand, Output, PhysicalType,
    Program, Reading, RowColumn, Unit, ValueKind, Width,
};
use nearscan_conformance::Values;
use nearscan_conformance::pages::{ChunkLayout, write_chunk};
use nearscan_cpu::{CpuDrive, Options as CpuOptions};
use nearscan_drive::clock::Stopwatch;
use nearscan_drive::{
    Drive, FileRef, Outcome, Placement, Session, SessionSpec, Submission, Ticket, Unlimited,
};
use nearscan_remote::{Address, Listener, Options, RemoteDrive, ServerOptions, serve};
use tokio::sync::oneshot;

/// How much is done for each line.
struct Amount {
    commands: u32,
    rows: i64,
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
    let small = Sample::write(folder.path(), 100);
    let large = Sample::write(folder.path(), amount.rows);
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

/// A server on threads of its own, which ends with the process: it has the drive for good.
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

/// A file with one column: the numbers below `rows`.
struct Sample {
    file: FileRef,
    chunk: Chunk,
    rows: u64,
}

impl Sample {
    fn write(folder: &Path, rows: i64) -> Self {
        let layout = ChunkLayout::common();
        let written = write_chunk(&Values::integers(0..rows), &layout);
        let path = folder.join(rows.to_string());
        std::fs::write(&path, &written.bytes).unwrap();
        let chunk = Chunk {
            input: 0,
            offset: 0,
            length: written.bytes.len() as u64,
            uncompressed_bytes: written.uncompressed_bytes,
            physical_type: PhysicalType::Int64,
            definition_level_max: 1,
            codec: layout.codec,
            encodings: written.encodings,
            reading: Reading::PLAIN,
        };
        Self { file: FileRef::of(&path).unwrap(), chunk, rows: u64::try_from(rows).unwrap() }
    }

    fn command(&self, drive: &dyn Drive, session: &dyn Session, output: &Output) -> Command {
        let Placement::Here { file_id } = drive.locate(&self.file) else { panic!("it is there") };
        let fragment = Fragment {
            columns: vec![Column::new("n", ValueKind::Integer)],
            predicate: Program::default(),
            projection: Program::default(),
            literals: vec![],
            tests: vec![],
            output: output.clone(),
        };
        let (version, length) = (self.file.version, self.chunk.length);
        let input = InputRef::FileRange { file_id, version, offset: 0, length };
        let unit = Unit { rows: self.rows, inputs: vec![input], chunks: vec![self.chunk] };
        let envelope = Envelope { epoch: session.epoch(), ..Envelope::default() };
        Command::bind(&fragment, unit, envelope).unwrap()
    }
}

fn open(drive: &dyn Drive) -> Arc<dyn Session> {
    let budget = Arc::new(Unlimited);
    drive.open_session(SessionSpec { query_id: 1, tenant: 0, budget }).unwrap()
}

fn submit(session: &dyn Session, command: &Command, number: u32) -> Ticket {
    let mut command = command.clone();
    command.envelope.command_id = number.into();
    let lease = session.lease(command.device_bytes()).unwrap();
    let timeout = Duration::from_secs(60);
    session.submit(Submission { work: command.into(), lease, timeout }).unwrap()
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
    let count = Output::States { keys: vec![], aggregates: vec![Aggregate::count_rows()] };
    let columns = vec![RowColumn { operand: Operand::Column(0), width: Width::W64 }];
    let rows = Output::Rows { columns, limit: None, top: None };
    let session = open(drive);
    let command = small.command(drive, &*session, &count);
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
    let opened = median(amount.commands / 10, |_| drop(open(drive)));
    let command = large.command(drive, &*session, &rows);
    let result = median(amount.results, |number| finish(submit(&*session, &command, number)));
    println!("{name:12} {alone:>10.1?} {queued:>10.1?} {opened:>10.1?} {result:>10.1?}");
}
