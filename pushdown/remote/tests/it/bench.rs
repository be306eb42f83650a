// SPDX-License-Identifier: Apache-2.0
//! Provides a server for the tests, in this process or another one.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command as Process, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use nearscan_command::{Command, Envelope};
use nearscan_conformance::sample::{self, PATIENCE, Sample};
use nearscan_drive::{
    Completion, Drive, Outcome, Refusal, Session, SessionSpec, Ticket, Unlimited,
    clock::{self, Stopwatch},
};
use nearscan_emulator::{Config, Emulator};
use nearscan_remote::{Address, Error, Listener, Options, RemoteDrive, ServerOptions, serve};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Waits until something is so.
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let watch = Stopwatch::start();
    while !is_so() {
        assert!(watch.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        clock::pause(Duration::from_millis(5));
    }
}

/// Waits for a future.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await }).unwrap()
}

/// Which way a connection goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Tcp,
    Unix,
}

/// A folder, and an address in it or on the loopback device.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) address: Address,
}

impl Place {
    pub(crate) fn new(way: Way) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = match way {
            Way::Tcp => Address::Tcp("127.0.0.1:0".to_owned()),
            Way::Unix => Address::Unix(folder.path().join("drive")),
        };
        Self { folder, address }
    }
}

/// A server in this process.
pub(crate) struct Served {
    pub(crate) place: Place,
    pub(crate) address: Address,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Served {
    pub(crate) fn start(drive: Arc<dyn Drive>, way: Way) -> Self {
        let options = ServerOptions { grace: Duration::from_secs(1), ..ServerOptions::default() };
        Self::with(drive, Place::new(way), options)
    }

    pub(crate) fn with(drive: Arc<dyn Drive>, place: Place, options: ServerOptions) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let wanted = place.address.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = Listener::bind(&wanted).await?;
                bound.send(listener.address().clone()).unwrap();
                serve(drive, listener, options, async { drop(stopped.await) }).await
            })
        });
        let address = address.recv_timeout(PATIENCE).unwrap();
        Self { place, address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> RemoteDrive {
        RemoteDrive::connect(&self.address, options()).unwrap()
    }

    /// Asks the server to stop.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits for its end.
    pub(crate) fn stop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.begin_stop();
    }
}

/// Options under which a peer that is gone is noticed soon, and a busy machine is not taken for it.
pub(crate) fn options() -> Options {
    Options {
        call_timeout: Duration::from_secs(20),
        keep_alive_interval: Duration::from_millis(200),
        keep_alive_timeout: Duration::from_secs(2),
        reconnect_max: Duration::from_millis(200),
        ..Options::default()
    }
}

/// An emulated drive with these faults.
pub(crate) fn emulated(faults: &str) -> Arc<Emulator> {
    Arc::new(Emulator::open(Config::from_parameters([("faults", faults)]).unwrap()))
}

/// Another process of `examples/peer.rs`, killed on drop.
pub(crate) struct Peer {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// The program.
    pub(crate) fn path() -> PathBuf {
        let tests = std::env::current_exe().unwrap();
        let path = tests.ancestors().nth(2).unwrap().join("examples/peer");
        // `cargo test NAME` leaves examples out, `cargo test -- NAME` does not.
        assert!(path.exists(), "{} is built by `cargo test` without a name", path.display());
        path
    }

    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut process = Process::new(Self::path());
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// A server of an emulated drive, which listens.
    pub(crate) fn serve(place: &Place, parameters: &[&str]) -> (Self, Address) {
        let address = place.address.to_string();
        let arguments = [&["serve"], parameters, &["--listen", &address]].concat();
        let mut peer = Self::start(&arguments);
        let line = peer.line();
        let address = line.strip_prefix("listening on ").unwrap().parse().unwrap();
        (peer, address)
    }

    /// The next line that it writes.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends it without a chance to clear up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(process_id: u32, name: &str) {
    let arguments = [format!("-{name}"), process_id.to_string()];
    assert!(Process::new("kill").args(arguments).status().unwrap().success());
}

/// Whether a process is there and is more than a name that its parent has yet to hear of.
pub(crate) fn is_running(process_id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// The envelope of the next command in this session.
pub(crate) fn numbered(session: &dyn Session) -> Envelope {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    sample::envelope(session, NEXT.fetch_add(1, Ordering::Relaxed).into())
}

pub(crate) fn submit(session: &dyn Session, command: &Command) -> Result<Ticket, Refusal> {
    sample::submit(session, command.clone(), PATIENCE)
}

/// Runs a command that has to be taken.
pub(crate) fn run(session: &dyn Session, command: &Command) -> Completion {
    sample::run(session, command.clone()).unwrap()
}

/// Runs `SELECT sum(n)` in its own session, and checks what it gives.
pub(crate) fn sums_up(drive: &dyn Drive) -> bool {
    let sample = Sample::common(100);
    let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
    let Ok(session) = drive.open_session(spec) else { return false };
    let command = sample.sum(drive, numbered(&*session));
    let completion = run(&*session, &command);
    let view = completion.check(&command).unwrap();
    assert_eq!(view.blocks[0].columns[0].number(0), Some(99 * 100 / 2));
    true
}

/// The reason of a failure that says that the drive is gone.
pub(crate) fn gone(completion: &Completion) -> &str {
    match &completion.outcome {
        Outcome::Failed(nearscan_drive::Failure::Gone { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Whether there is nothing in a folder.
pub(crate) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}
