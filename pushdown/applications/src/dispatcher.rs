// SPDX-License-Identifier: Apache-2.0
//! Delivers events to handlers, in the manner of a reader of the log of changes.
//!
//! ```text
//! position   a window of changes           the rest of the log
//!     |------------------------------|---------------------
//!          a1 b1 . a2 . c1              a1 before a2; b1 and c1 beside them
//! ```
//!
//! A handler takes a window of changes, delivers those that its filter matches, and then advances.
//! Events of one object are delivered one after the other, those of others at the same time, up to
//! a bound. An event is tried again after a while, and becomes a dead letter after the last
//! attempt. So the window ends whatever happens, unless the application is not started or there are
//! too many dead letters: then the handler waits, and nothing is lost.
//!
//! A chain of handlers that cause one another's events ends after [`DEPTH_MAX`] of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use nearscan_store::{Change, Error as StoreError, Store};
use tokio::sync::watch;

use crate::{
    calls::{AtFault, Caller, Calls},
    dead_letters::{DeadLetters, Kept},
    error::{Error, Result},
    event::{Event, Kind, Subject},
    fault::Fault,
    handlers::{Handlers, Registered},
    journal::{Journal, Wake, What},
    rights::{self, Access},
    sandbox::Work,
    system::{EVENTS, SYSTEM},
};

/// Changes that are read at once.
const WINDOW: usize = 64;

/// Changes without interest after which the position is made durable, which is a change itself.
const UNSAVED_MAX: u64 = 1000;

/// The longest chain of handlers; the event that would begin a longer one is a dead letter.
pub const DEPTH_MAX: u32 = 8;

/// How deliveries are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// How often an event is tried.
    pub attempts_max: u32,
    /// The wait before the second attempt; it doubles before each further one.
    pub backoff_first: Duration,
    /// The longest wait.
    pub backoff_max: Duration,
    /// Events of different objects that one handler gets at the same time.
    pub parallel_max: usize,
    /// The polling interval of the log of changes, for changes without a notification.
    pub look: Duration,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            attempts_max: 5,
            backoff_first: Duration::from_millis(50),
            backoff_max: Duration::from_secs(5),
            parallel_max: 4,
            look: Duration::from_millis(100),
        }
    }
}

impl Delivery {
    fn backoff(&self, attempt: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.backoff_first.saturating_mul(doubled).min(self.backoff_max)
    }
}

/// Delivers events.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) store: Store,
    pub(crate) calls: Arc<Calls>,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) journal: Arc<Journal>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) delivery: Delivery,
}

impl Dispatcher {
    /// Delivers the events of a handler, until the future is dropped.
    pub(crate) async fn follow(self: Arc<Self>, registered: Arc<Registered>) {
        let mut wake = self.wake.listen();
        loop {
            match self.window(&registered).await {
                Ok(Progress::More) => {}
                Ok(Progress::AtEnd) => self.wait(&mut wake).await,
                Err(error) => {
                    let reason = error.to_string();
                    self.journal.note(&registered.handler.name, What::Failed { reason });
                    tokio::time::sleep(self.delivery.backoff_max).await;
                }
            }
        }
    }

    /// Waits until something may have changed.
    async fn wait(&self, wake: &mut watch::Receiver<()>) {
        // It ends by the time too: not every change is told of.
        let _ = tokio::time::timeout(self.delivery.look, wake.changed()).await;
    }

    async fn window(self: &Arc<Self>, registered: &Arc<Registered>) -> Result<Progress> {
        let (this, of) = (Arc::clone(self), Arc::clone(registered));
        let reading = tokio::task::spawn_blocking(move || this.read(&of));
        let Some(Window { last, count, events }) = reading.await.map_err(Error::sandbox)?? else {
            return Ok(Progress::More);
        };
        if count == 0 {
            return Ok(Progress::AtEnd);
        }
        let handled = !events.is_empty();
        let groups = stream::iter(in_groups(events));
        groups
            .for_each_concurrent(self.delivery.parallel_max.max(1), |group| async move {
                for event in group {
                    self.deliver(registered, &event).await;
                }
            })
            .await;
        registered.advance(last);
        if handled || registered.behind() >= UNSAVED_MAX {
            let (this, of) = (Arc::clone(self), Arc::clone(registered));
            let saving = tokio::task::spawn_blocking(move || this.save(&of));
            saving.await.map_err(Error::sandbox)??;
        }
        Ok(if count < WINDOW { Progress::AtEnd } else { Progress::More })
    }

    /// Reads the next window; none if some of it was forgotten.
    fn read(&self, registered: &Registered) -> Result<Option<Window>> {
        let position = registered.position();
        let changes = match self.store.changes(position, WINDOW) {
            Ok(changes) => changes,
            Err(StoreError::Forgotten { forgotten, .. }) => {
                let missed = What::Missed { up_to: forgotten };
                self.journal.note(&registered.handler.name, missed);
                registered.advance(forgotten);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let (last, count) =
            (changes.last().map_or(position, |change| change.sequence), changes.len());
        let mut events = Vec::new();
        for change in &changes {
            events.extend(self.event(change)?.filter(|event| self.is_for(registered, event)));
        }
        Ok(Some(Window { last, count, events }))
    }

    /// The event of a change; none for those that are the dispatcher's own.
    fn event(&self, change: &Change) -> Result<Option<Event>> {
        let collection = change.path.collection();
        if (collection.partition(), collection.name()) != (SYSTEM, EVENTS) {
            let depth = self.calls.drive.causes.depth(&change.path, change.sequence);
            return Ok(Some(Event::of_change(change, depth)));
        }
        match Kind::from(change.kind) {
            Kind::Created => {
                match self.calls.drive.publisher.read(&change.path, change.sequence) {
                    // It will never be readable, and the others must not wait for it.
                    Err(error @ Error::Damaged { .. }) => {
                        self.journal.note("", What::Failed { reason: error.to_string() });
                        Ok(None)
                    }
                    read => read,
                }
            }
            Kind::Written
            | Kind::Removed
            | Kind::AttributesChanged
            | Kind::Flash
            | Kind::Application
            | Kind::Fault => Ok(None),
        }
    }

    /// Whether the filter matches, and the application may read the object.
    fn is_for(&self, registered: &Registered, event: &Event) -> bool {
        if !registered.handler.filter.matches(event) {
            return false;
        }
        let Subject::Object { collection, .. } = &event.subject else { return true };
        let application = self.calls.registry.get(&registered.handler.application);
        match (application, rights::collection(collection)) {
            (Ok(application), Ok(path)) => {
                application.manifest.rights().allows(&path, Access::Read)
            }
            _ => false,
        }
    }

    fn save(&self, registered: &Arc<Registered>) -> Result<()> {
        // It may have been unregistered meanwhile, and another one registered.
        let found = self.handlers.get(&registered.handler.name);
        if !found.is_ok_and(|found| Arc::ptr_eq(&found, registered)) {
            return Ok(());
        }
        self.handlers.save(registered)?;
        let seen = self.handlers.seen()?;
        self.calls.drive.causes.forget(seen);
        self.calls.drive.publisher.forget(seen)
    }

    /// Delivers an event, and ends when it is handled or a dead letter.
    async fn deliver(self: &Arc<Self>, registered: &Arc<Registered>, event: &Event) {
        let handler = &registered.handler;
        let mut wake = self.wake.listen();
        let mut attempt = 1;
        let (attempts, reason, fault) = loop {
            if event.depth >= DEPTH_MAX {
                let reason = format!("{DEPTH_MAX} handlers in a chain have led to the event");
                break (0, reason, None);
            }
            let error = match self.attempt(&handler.application, event, attempt).await {
                Ok(()) => {
                    let handled = What::Handled { sequence: event.sequence, attempt };
                    return self.journal.note(&handler.name, handled);
                }
                Err(
                    Error::NotStarted { .. }
                    | Error::Busy { .. }
                    | Error::Fault { fault: Fault::Stopped, .. },
                ) => {
                    self.wait(&mut wake).await;
                    continue;
                }
                Err(error) => error,
            };
            if attempt >= self.delivery.attempts_max {
                let reason = error.to_string();
                let Error::Fault { fault, .. } = error else { break (attempt, reason, None) };
                break (attempt, reason, Some(fault));
            }
            tokio::time::sleep(self.delivery.backoff(attempt)).await;
            attempt += 1;
        };
        self.bury(registered, event, attempts, reason).await;
        if let Some(fault) = fault {
            // One event for all attempts: else a handler of faults that has faults itself would
            // make more of them at each step of the chain.
            self.calls.publish(&handler.application, &fault, event.depth + 1).await;
        }
    }

    /// One attempt.
    pub(crate) async fn attempt(
        &self,
        application: &str,
        event: &Event,
        attempt: u32,
    ) -> Result<()> {
        let work = Work::Handle(event.for_attempt(attempt));
        let (depth, at_fault) = (event.depth + 1, AtFault::Note);
        let caller = Caller { depth, at_fault, ..Caller::default() };
        self.calls.call(application, work, caller).await.map(drop)
    }

    /// Makes an event a dead letter, once there is room for it.
    async fn bury(
        self: &Arc<Self>,
        registered: &Arc<Registered>,
        event: &Event,
        attempts: u32,
        reason: String,
    ) {
        let name = &registered.handler.name;
        let mut is_held = false;
        loop {
            let (this, handler, event, why) =
                (Arc::clone(self), name.clone(), event.clone(), reason.clone());
            let keeping = tokio::task::spawn_blocking(move || {
                this.dead_letters.keep(&handler, &event, attempts, &why)
            });
            match keeping.await.map_err(Error::sandbox).flatten() {
                Ok(Kept::Yes) => break,
                Ok(Kept::Full) if is_held => {}
                Ok(Kept::Full) => self.journal.note(name, What::Held),
                Err(error) => {
                    self.journal.note(name, What::Failed { reason: error.to_string() });
                }
            }
            is_held = true;
            tokio::time::sleep(self.delivery.backoff_max).await;
        }
        self.journal.note(name, What::DeadLetter { sequence: event.sequence, reason });
    }
}

/// Whether the log goes on.
enum Progress {
    More,
    AtEnd,
}

/// A part of the log.
struct Window {
    last: u64,
    count: usize,
    events: Vec<Event>,
}

/// The events of each object, in their order.
fn in_groups(events: Vec<Event>) -> Vec<Vec<Event>> {
    let mut groups: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in events {
        groups.entry(event.key()).or_default().push(event);
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let delivery = Delivery {
            backoff_first: Duration::from_millis(10),
            backoff_max: Duration::from_millis(35),
            ..Delivery::default()
        };
        let waits: Vec<u128> =
            [1, 2, 3, 100].map(|attempt| delivery.backoff(attempt).as_millis()).to_vec();
        assert_eq!(waits, [10, 20, 35, 35]);
    }
}
