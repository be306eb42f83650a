// SPDX-License-Identifier: Apache-2.0
//! Implements the process of a hosted drive, from both sides: [`Host`] is the parent's thread that
//! starts it and starts it again, [`serve_hosted`] is what the child runs.

use std::{
    fs::DirBuilder,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nearscan_drive::{
    Drive,
    clock::{self, Stopwatch},
};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{HostOptions, Program};
use crate::{
    address::Address,
    error::Error,
    server::{Listener, ServerOptions, serve},
};

/// A process that lived so long did not die of how it was started.
const LONG: Duration = Duration::from_secs(10);

/// Time that a child may run after its parent is gone, beyond the time that serving takes to end.
const ORPHANED: Duration = Duration::from_secs(5);

/// A hosted process, and what is known of it.
#[derive(Debug)]
pub(super) struct Host {
    program: Program,
    folder: PathBuf,
    options: HostOptions,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    child: Option<Child>,
    /// The child ends when it is closed.
    stdin: Option<ChildStdin>,
    /// Which start the child is of, from 1.
    start: u64,
    /// Which start the connection is to.
    connected_start: u64,
    is_ready: bool,
    is_stopping: bool,
    has_ended: bool,
    /// Returns the last output of the process, or how it died.
    last_words: Option<String>,
    deaths: u64,
}

impl Host {
    /// Starts the thread that starts the process.
    pub(super) fn start(program: Program, options: &HostOptions) -> Result<Arc<Self>, Error> {
        let folder = std::env::temp_dir().join(format!("nearscan-{}", Uuid::new_v4().simple()));
        let host = Arc::new(Self {
            program,
            folder,
            options: options.clone(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let thread = Arc::clone(&host);
        std::thread::Builder::new()
            .name("drive host".to_owned())
            .spawn(move || thread.run())
            .map_err(Error::Threads)?;
        Ok(host)
    }

    /// Path of the socket at which the drive is served.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("drive")
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        self.lock().child.as_ref().map(Child::id)
    }

    /// Waits until clients can connect.
    pub(super) fn wait_until_ready(&self, limit: Duration) -> Result<(), Error> {
        let is_settled = |state: &mut State| !(state.is_ready || state.deaths > 0);
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, limit, is_settled);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_ready {
            return Ok(());
        }
        let reason = match &state.last_words {
            Some(words) => words.clone(),
            None => format!("it did not listen within {limit:?}"),
        };
        Err(Error::Host { program: self.program.path.clone(), reason })
    }

    /// Ends the process: closes its standard input, and kills it if that does not do. Waits for its
    /// end.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopping = true;
        drop(state.stdin.take());
        self.changed.notify_all();
        let limit = self.options.end_timeout;
        let is_there = |state: &mut State| !state.has_ended;
        let waited = self.changed.wait_timeout_while(state, limit, is_there);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            tracing::warn!("the process of a hosted drive does not end and is killed");
            kill(&mut state);
            // Its thread notices and clears up.
            let waited = self.changed.wait_timeout_while(state, limit, is_there);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The connection is to the process that runs now.
    pub(super) fn note_connection(&self) {
        let mut state = self.lock();
        state.connected_start = state.start;
    }

    /// Kills the process that the connection was to, unless it has died already.
    pub(super) fn kill_silent(&self) {
        let mut state = self.lock();
        if state.start == state.connected_start {
            kill(&mut state);
        }
    }

    /// Starts the process, waits for its end, and starts it again, until it is to stop.
    fn run(&self) {
        let mut pause = self.options.restart_min;
        while !self.lock().is_stopping {
            let watch = Stopwatch::start();
            let how = match self.run_once() {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            };
            let mut state = self.lock();
            state.deaths += 1;
            state.is_ready = false;
            if state.is_stopping {
                break;
            }
            let words = state.last_words.take();
            let words = words.map_or_else(|| how.clone(), |words| format!("{how}: {words}"));
            tracing::warn!(reason = words, "the process of a hosted drive ended");
            state.last_words = Some(words);
            self.changed.notify_all();
            if watch.elapsed() > LONG {
                pause = self.options.restart_min;
            }
            let goes_on = |state: &mut State| !state.is_stopping;
            let waited = self.changed.wait_timeout_while(state, pause, goes_on);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            pause = pause.saturating_mul(2).min(self.options.restart_max);
        }
        // A folder that cannot be removed is left to the system.
        drop(std::fs::remove_dir_all(&self.folder));
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Runs the process to its end.
    fn run_once(&self) -> io::Result<ExitStatus> {
        // A child that ends orderly takes the folder with it.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut child = Command::new(&self.program.path)
            .args(&self.program.arguments)
            .args(["--listen", &Address::Unix(self.socket()).to_string(), "--end-with-stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        {
            let mut state = self.lock();
            state.start += 1;
            state.last_words = None;
            // A stop from now on finds it; an earlier stop is not waited for.
            state.stdin = child.stdin.take().filter(|_| !state.is_stopping);
            state.child = Some(child);
        }
        std::thread::scope(|scope| {
            if let Some(stderr) = stderr {
                scope.spawn(|| self.log(stderr));
            }
            for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
                // The end of the output is that of the process.
                let Ok(line) = line else { break };
                if line.starts_with("listening") {
                    self.lock().is_ready = true;
                    self.changed.notify_all();
                }
            }
        });
        let mut state = self.lock();
        drop(state.stdin.take());
        match state.child.take() {
            Some(mut child) => {
                drop(state);
                child.wait()
            }
            None => Err(io::Error::other("it was not started")),
        }
    }

    /// Passes on what the process has to say.
    fn log(&self, stderr: impl Read) {
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { break };
            tracing::info!(target: "nearscan_remote::host", "{line}");
            // What a detail is about is known, and a hint is for who started it by hand.
            match (line.strip_prefix("  detail: "), line.starts_with("  hint: ")) {
                (Some(detail), _) => self.lock().last_words = Some(detail.to_owned()),
                (None, true) => {}
                (None, false) => self.lock().last_words = Some(line),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kill(state: &mut State) {
    if let Some(child) = &mut state.child {
        // It may have died at this moment.
        drop(child.kill());
    }
}

/// Serves a drive for the process that started this one: as [`serve`], and ends when standard input
/// does. Should ending take too long, the whole process ends all the same.
///
/// # Errors
/// Those of [`serve`].
pub async fn serve_hosted(
    drive: Arc<dyn Drive>,
    listener: Listener,
    options: ServerOptions,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let (sender, orphaned) = oneshot::channel();
    let limit = options.grace.saturating_mul(2).saturating_add(ORPHANED);
    std::thread::Builder::new()
        .name("parent".to_owned())
        .spawn(move || {
            // Nothing is said on it: its end is what counts, and an error is one.
            drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
            // The receiver is gone if serving has ended already.
            let _unheard = sender.send(());
            clock::pause(limit);
            std::process::exit(1);
        })
        .map_err(Error::Threads)?;
    let folder = match listener.address() {
        Address::Unix(path) => path.parent().map(PathBuf::from),
        Address::Tcp(_) => None,
    };
    let stop = async {
        tokio::select! {
            () = stop => {}
            // The sender is gone only with its thread, which ends with the process.
            _ = orphaned => {}
        }
    };
    let result = serve(drive, listener, options, stop).await;
    // The folder is this process's own; its parent may be gone, or have removed it.
    drop(folder.map(std::fs::remove_dir));
    result
}
