// SPDX-License-Identifier: Apache-2.0
//! Keeps the registered handlers, each with the number of the last change that it has seen.
//!
//! A handler is an object of the system; its cursor is an attribute of it. The cursor is never
//! ahead of what was handled, so after a crash some events are delivered again and none is lost.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use nearscan_store::{Condition, Error as StoreError, Store};

use crate::{
    error::{Error, Result},
    event::Event,
    handler::{Beginning, Handler},
    journal::{Journal, What},
    system::{self, HANDLERS},
};

/// The attribute with the number of the last change that was handled.
const CURSOR: &str = "cursor";

/// The most handlers.
const HANDLERS_MAX: usize = 1000;

/// A registered handler.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) handler: Handler,
    /// All changes up to this one were handled, or are of no interest.
    position: AtomicU64,
    /// The position that a restart begins with.
    durable: AtomicU64,
}

impl Registered {
    fn new(handler: Handler, position: u64) -> Self {
        let durable = AtomicU64::new(position);
        Self { handler, position: AtomicU64::new(position), durable }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    pub(crate) fn advance(&self, to: u64) {
        self.position.store(to, Ordering::Release);
    }

    /// How many changes would be read again after a crash.
    pub(crate) fn behind(&self) -> u64 {
        self.position().saturating_sub(self.durable.load(Ordering::Acquire))
    }
}

/// All handlers.
#[derive(Debug)]
pub(crate) struct Handlers {
    store: Store,
    all: RwLock<BTreeMap<String, Arc<Registered>>>,
}

impl Handlers {
    /// Reads what is registered.
    pub(crate) fn open(store: &Store, journal: &Journal) -> Result<Self> {
        let mut all = BTreeMap::new();
        for info in store.list(&system::collection(HANDLERS)?, "", None, HANDLERS_MAX)? {
            let name = info.path.name().to_owned();
            let text = store.reader(&info.path)?.read_all()?;
            let attributes = store.attributes(&info.path)?;
            let cursor = attributes.get(CURSOR).and_then(|value| read_cursor(value));
            match (Handler::read(&text), cursor) {
                (Ok(handler), Some(cursor)) => {
                    all.insert(name, Arc::new(Registered::new(handler, cursor)));
                }
                (Err(reason), _) => journal.note(&name, What::Failed { reason }),
                (Ok(_), None) => {
                    let reason = "the handler has no cursor".to_owned();
                    journal.note(&name, What::Failed { reason });
                }
            }
        }
        Ok(Self { store: store.clone(), all: RwLock::new(all) })
    }

    fn lock(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Registered>>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Registered>> {
        self.lock().values().cloned().collect()
    }

    /// A handler that is registered.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Registered>> {
        let missing = || Error::NotFound { what: format!("handler {name}") };
        self.lock().get(name).cloned().ok_or_else(missing)
    }

    /// Whether a handler gets an event.
    pub(crate) fn is_wanted(&self, event: &Event) -> bool {
        self.lock().values().any(|registered| registered.handler.filter.matches(event))
    }

    /// The names of the handlers of an application.
    pub(crate) fn of(&self, application: &str) -> Vec<String> {
        let all = self.all();
        let of = all.iter().filter(|registered| registered.handler.application == application);
        of.map(|registered| registered.handler.name.clone()).collect()
    }

    /// The last change that all handlers have seen.
    pub(crate) fn seen(&self) -> Result<u64> {
        let last = self.store.last_change()?;
        let durable = |registered: &Arc<Registered>| registered.durable.load(Ordering::Acquire);
        Ok(self.lock().values().map(durable).min().map_or(last, |seen| seen.min(last)))
    }

    pub(crate) fn add(&self, handler: Handler, beginning: Beginning) -> Result<Arc<Registered>> {
        handler.check()?;
        let what = || format!("handler {}", handler.name);
        if self.lock().len() >= HANDLERS_MAX {
            let (what, reason) = ("handler", format!("there are {HANDLERS_MAX} already"));
            return Err(Error::Invalid { what, reason });
        }
        let path = system::object(HANDLERS, &handler.name)?;
        let position = match beginning {
            Beginning::Now => self.store.last_change()?,
            Beginning::Oldest => self.oldest()?,
            Beginning::After(number) => number.min(self.store.last_change()?),
        };
        let text = serde_json::to_vec(&handler)
            .map_err(|error| Error::Invalid { what: "handler", reason: error.to_string() })?;
        let written = self.store.writer(&path, Condition::Absent).and_then(|mut writer| {
            writer.write(&text)?;
            writer.attribute(CURSOR, position.to_string().as_bytes())?;
            writer.commit()
        });
        match written {
            Ok(_) => {}
            Err(StoreError::Exists { .. }) => return Err(Error::Exists { what: what() }),
            Err(error) => return Err(error.into()),
        }
        let registered = Arc::new(Registered::new(handler, position));
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(registered.handler.name.clone(), Arc::clone(&registered));
        Ok(registered)
    }

    /// The last change before the log begins.
    fn oldest(&self) -> Result<u64> {
        match self.store.changes(0, 0) {
            Ok(_) => Ok(0),
            Err(StoreError::Forgotten { forgotten, .. }) => Ok(forgotten),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.get(name)?;
        self.store.remove(&system::object(HANDLERS, name)?, Condition::Always)?;
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }

    /// Makes the position of a handler durable. That is a change of an object itself.
    pub(crate) fn save(&self, registered: &Registered) -> Result<()> {
        let position = registered.position();
        let path = system::object(HANDLERS, &registered.handler.name)?;
        self.store.set_attribute(&path, CURSOR, position.to_string().as_bytes())?;
        registered.durable.store(position, Ordering::Release);
        Ok(())
    }
}

fn read_cursor(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
