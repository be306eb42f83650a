// SPDX-License-Identifier: Apache-2.0
//! Runs requests that are written to the command object, and writes the answers to the response
//! object, for hosts that have nothing but access to files.
//!
//! ```text
//! _system/commands/command    lines of the host: a request each
//! _system/commands/response   lines of this service: an answer each
//! _system/commands/answered   the ids of requests that were answered; written by the service alone
//! ```
//!
//! A line counts once its line feed is there. A request is known by its id: it is run again only if
//! the server ends between the run and the answer. The host may append to the command object or
//! replace it, and may empty both objects.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nearscan_store::{Condition, Error as StoreError, ObjectPath, Store};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    calls::{Caller, Calls},
    error::{Error, Result},
    journal::{Journal, Wake, What},
    request::{Answer, Request, answered, id_of_garbage},
    sandbox::Work,
    system::{self, COMMANDS},
};

/// The object that the host writes.
const COMMAND: &str = "command";

/// The object that it reads.
const RESPONSE: &str = "response";

const ANSWERED: &str = "answered";

/// The longest command object, in bytes; of a longer one nothing is run.
const COMMAND_BYTES_MAX: u64 = 1 << 20;

/// The length of the response object from which on its older half is dropped.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// The length of the list of ids from which on those are dropped that are in no request any more.
const ANSWERED_BYTES_MAX: u64 = 1 << 20;

/// Requests that run at the same time.
const PARALLEL_MAX: usize = 4;

/// The command service.
#[derive(Debug)]
pub(crate) struct Commands {
    store: Store,
    calls: Arc<Calls>,
    journal: Arc<Journal>,
    wake: Arc<Wake>,
    /// Ids of requests that were answered or will be.
    taken: Mutex<HashSet<String>>,
    look: Duration,
}

/// A line of the command object.
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) request: std::result::Result<Request, String>,
}

impl Commands {
    /// Makes the two objects if they are not there, and reads what was answered.
    pub(crate) fn open(calls: Arc<Calls>, wake: Arc<Wake>, look: Duration) -> Result<Self> {
        let store = calls.drive.store.clone();
        let mut found = HashSet::new();
        for name in [COMMAND, RESPONSE, ANSWERED] {
            let path = object(name)?;
            match store.put(&path, b"", Condition::Absent) {
                Ok(_) | Err(StoreError::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        found.extend(answered(&store.reader(&object(RESPONSE)?)?.read_all()?));
        found.extend(ids(&store.reader(&object(ANSWERED)?)?.read_all()?));
        let journal = Arc::clone(&calls.journal);
        Ok(Self { store, calls, journal, wake, taken: Mutex::new(found), look })
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<String>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs requests, until the future is dropped.
    pub(crate) async fn serve(self: Arc<Self>) {
        let mut wake = self.wake.listen();
        let permits = Arc::new(Semaphore::new(PARALLEL_MAX));
        // Those that run end with this future.
        let mut running = JoinSet::new();
        let mut seen = None;
        loop {
            match self.look_for(&mut seen).await {
                Ok(lines) => {
                    for line in lines {
                        running.spawn(Arc::clone(&self).answer(line, Arc::clone(&permits)));
                    }
                }
                Err(error) => {
                    self.journal.note(COMMAND, What::Failed { reason: error.to_string() });
                    seen = None;
                }
            }
            while running.try_join_next().is_some() {}
            // It ends by the time too: not every change is told of.
            let _ = tokio::time::timeout(self.look, wake.changed()).await;
        }
    }

    /// The lines that were not taken yet, if the object has changed since the last look.
    async fn look_for(self: &Arc<Self>, seen: &mut Option<u64>) -> Result<Vec<Line>> {
        let (this, last) = (Arc::clone(self), *seen);
        let looking = tokio::task::spawn_blocking(move || this.read(last));
        let Some((version, lines)) = looking.await.map_err(Error::sandbox)?? else {
            return Ok(Vec::new());
        };
        *seen = Some(version);
        Ok(lines)
    }

    fn read(&self, seen: Option<u64>) -> Result<Option<(u64, Vec<Line>)>> {
        let path = object(COMMAND)?;
        let info = match self.store.info(&path) {
            Ok(info) => info,
            // The host may remove it; it is made again.
            Err(StoreError::NotFound { .. }) => self.store.put(&path, b"", Condition::Absent)?,
            Err(error) => return Err(error.into()),
        };
        if seen == Some(info.version) {
            return Ok(None);
        }
        let reader = self.store.reader(&path)?;
        let version = reader.info().version;
        if reader.info().length > COMMAND_BYTES_MAX {
            let reason = format!("the command object has more than {COMMAND_BYTES_MAX} bytes");
            let line = Line { id: format!("?length-{version}"), request: Err(reason) };
            return Ok(Some((version, vec![line])));
        }
        let bytes = reader.read_all()?;
        self.tidy(&bytes)?;
        let mut taken = self.taken();
        let lines = lines(&bytes).filter(|line| taken.insert(line.id.clone())).collect();
        Ok(Some((version, lines)))
    }

    /// Keeps the service's own objects short.
    fn tidy(&self, commands: &[u8]) -> Result<()> {
        let path = object(ANSWERED)?;
        if self.store.info(&path)?.length > ANSWERED_BYTES_MAX {
            let present: HashSet<String> = lines(commands).map(|line| line.id).collect();
            let answered: HashSet<String> = ids(&self.store.reader(&path)?.read_all()?).collect();
            let is_needed = |id: &&String| present.contains(*id);
            let kept = answered.iter().filter(is_needed).flat_map(|id| line_of_id(id)).collect();
            let kept: Vec<u8> = kept;
            self.store.put(&path, &kept, Condition::Always)?;
            self.taken().retain(|id| present.contains(id) || !answered.contains(id));
        }
        let path = object(RESPONSE)?;
        match self.store.reader(&path) {
            Ok(reader) if reader.info().length > RESPONSE_BYTES_MAX => {
                let half = reader.read(reader.info().length / 2..reader.info().length)?;
                let start = half.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let condition = Condition::Version(reader.info().version);
                match self.store.put(&path, &half[start..], condition) {
                    // The host has changed it meanwhile.
                    Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a request, and answers it.
    async fn answer(self: Arc<Self>, line: Line, permits: Arc<Semaphore>) {
        let Ok(_permit) = permits.acquire().await else { return };
        let id = line.id;
        let answer = match line.request.and_then(|request| Ok((request.body()?, request))) {
            Ok((body, request)) => {
                let Request { application, arguments, .. } = request;
                let work = Work::Command { arguments, body };
                let outcome = self.calls.call(&application, work, Caller::default()).await;
                Answer::new(&id, outcome)
            }
            Err(reason) => Answer::refused(&id, reason),
        };
        let (this, of) = (Arc::clone(&self), id);
        let writing = tokio::task::spawn_blocking(move || this.write(&of, &answer));
        if let Err(error) = writing.await.map_err(Error::sandbox).flatten() {
            self.journal.note(COMMAND, What::Failed { reason: error.to_string() });
        }
    }

    fn write(&self, id: &str, answer: &Answer) -> Result<()> {
        let (path, line) = (object(RESPONSE)?, answer.line());
        match self.store.append(&path, &line, Condition::Always) {
            Ok(_) => {}
            // The host has removed it.
            Err(StoreError::NotFound { .. }) => {
                self.store.put(&path, &line, Condition::Always)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.store.append(&object(ANSWERED)?, &line_of_id(id), Condition::Always)?;
        Ok(())
    }
}

fn object(name: &str) -> Result<ObjectPath> {
    system::object(COMMANDS, name)
}

/// The lines that are complete and not empty.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line> {
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let lines = bytes[..complete].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).map(|line| {
        let request = Request::read(line);
        let id = match &request {
            Ok(request) => request.id.clone(),
            Err(_) => id_of_garbage(line),
        };
        Line { id, request }
    })
}

/// A line of the list of ids: the id as JSON, so that it has no line feed in it.
pub(crate) fn line_of_id(id: &str) -> Vec<u8> {
    format!("{}\n", serde_json::Value::from(id)).into_bytes()
}

pub(crate) fn ids(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}
