// SPDX-License-Identifier: Apache-2.0
//! Implements [`Shared`]: what the drive, its sessions and its tasks know together, which is
//! whether there is a connection, what runs, what is leased, and what the server said last.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nearscan_drive::{Capabilities, CostSnapshot, Identity, Lease, Refusal, clock::Stopwatch};
use tokio::sync::watch;

use super::{
    Options,
    connection::{Connection, Opened},
    meter::LinkMeter,
};
use crate::{address::Address, link::Link};

/// The age up to which a snapshot is not asked for again: the queries that are planned within it
/// are as good as at once, and each would wait for the server.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(50);

/// Whether there is a connection.
#[derive(Debug)]
pub(super) enum State {
    Connected(Arc<Connection>),
    /// It was lost, and another is sought.
    Lost(String),
    /// The drive was shut down.
    Closed,
}

/// The state that the drive, its sessions and its tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) address: Address,
    pub(super) options: Options,
    /// All connections, one after the other, are over it.
    pub(super) link: Link,
    /// How fast the link was so far.
    pub(super) meter: LinkMeter,
    pub(super) identity: Identity,
    pub(super) capabilities: Capabilities,
    state: RwLock<State>,
    /// Commands that were handed over and have not ended.
    pub(super) in_flight: watch::Sender<u32>,
    /// Device memory that this client has leased.
    pub(super) leased_bytes: AtomicU64,
    said: Mutex<Said>,
}

impl Shared {
    /// What is known once there is a connection.
    pub(super) fn new(address: &Address, options: Options, link: Link, opened: Opened) -> Self {
        let Opened { connection, identity, capabilities, snapshot } = opened;
        Self {
            address: address.clone(),
            options,
            link,
            meter: LinkMeter::default(),
            identity,
            capabilities,
            state: RwLock::new(State::Connected(connection)),
            in_flight: watch::Sender::new(0),
            leased_bytes: AtomicU64::new(0),
            said: Mutex::new(Said::now(snapshot)),
        }
    }

    /// The connection, or why there is none.
    pub(super) fn connection(&self) -> Result<Arc<Connection>, Refusal> {
        let gone = |reason: String| Refusal::Gone { reason };
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Connected(connection) => Ok(Arc::clone(connection)),
            State::Lost(reason) => Err(gone(format!("{}: {reason}", self.address))),
            State::Closed => Err(gone("it was shut down".to_owned())),
        }
    }

    /// Changes the state, unless the drive was shut down; gives whether it was changed.
    pub(super) fn set(&self, next: State) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let is_open = !matches!(*state, State::Closed);
        if is_open {
            *state = next;
        }
        is_open
    }

    /// A place for a command, if the server has one for it.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Place> {
        let entered = self.in_flight.send_if_modified(|count| {
            let has_room = *count < self.capabilities.in_flight_max;
            *count += u32::from(has_room);
            has_room
        });
        entered.then(|| Place(Arc::clone(self)))
    }

    pub(super) fn lease(self: &Arc<Self>, needed_bytes: u64) -> Result<Lease, Refusal> {
        let limit = match self.capabilities.memory_bytes {
            // It is the host's, and the server charges it.
            0 => u64::MAX,
            limit => limit,
        };
        let take = |leased: u64| leased.checked_add(needed_bytes).filter(|sum| *sum <= limit);
        match self.leased_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => {
                let shared = Arc::clone(self);
                Ok(Lease::new(needed_bytes, move |bytes| {
                    shared.leased_bytes.fetch_sub(bytes, Ordering::AcqRel);
                }))
            }
            Err(_) => Err(Refusal::LowMemory { needed_bytes }),
        }
    }

    /// A snapshot of the drive, as it is behind the link: results pass the slower of two links.
    fn behind_link(&self, snapshot: CostSnapshot) -> CostSnapshot {
        let limit = self.link.limit().bytes_per_s.map(|rate| rate.get() as f64);
        let link = self.meter.bytes_per_s().or(limit);
        let link_bytes_per_s = match (snapshot.link_bytes_per_s, link) {
            (Some(drive), Some(link)) => Some(drive.min(link)),
            (rate, None) | (None, rate) => rate,
        };
        CostSnapshot { link_bytes_per_s, ..snapshot }
    }

    /// Takes note of a snapshot that the server gives.
    pub(super) fn note(&self, snapshot: CostSnapshot) {
        *self.said() = Said::now(snapshot);
    }

    /// Whether the server has to be asked for a snapshot.
    pub(super) fn has_old_snapshot(&self) -> bool {
        self.said().since.elapsed() > SNAPSHOT_AGE_MAX
    }

    /// The last snapshot, as it is behind the link.
    pub(super) fn snapshot(&self) -> CostSnapshot {
        let said = self.said().snapshot.clone();
        self.behind_link(said)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The snapshot that the server gave last.
#[derive(Debug)]
struct Said {
    snapshot: CostSnapshot,
    since: Stopwatch,
}

impl Said {
    fn now(snapshot: CostSnapshot) -> Self {
        Self { snapshot, since: Stopwatch::start() }
    }
}

/// A place among the commands in flight, released on drop.
#[derive(Debug)]
pub(super) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.in_flight.send_modify(|count| *count -= 1);
    }
}
