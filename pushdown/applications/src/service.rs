// SPDX-License-Identifier: Apache-2.0
//! Offers the applications of a store to a server: install, start, call, watch.
//!
//! Functions that are not `async` block, so an async server calls them on threads of its own.

mod events;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_store::Store;
use tokio::{
    runtime::Handle,
    sync::{broadcast, mpsc},
    task::JoinHandle,
};

use crate::{
    calls::{Caller, Calls},
    commands::Commands,
    dead_letters::DeadLetters,
    dispatcher::{Delivery, Dispatcher},
    error::{Error, Result},
    handlers::{Handlers, Registered},
    host::Drive,
    journal::{Journal, Notice, Wake, What},
    limits::{Limits, MESSAGE_BYTES_MAX},
    manifest::Entry,
    publisher::Publisher,
    registry::{Application, Checked, Package, Registry, Replace, State},
    rights::Rights,
    sandbox::{Sandbox, Work},
    signature::Trust,
    system,
    table_stream::TableStream,
    tables::Tables,
};

/// Pieces of a table that wait for their reader.
const PIECES_WAITING: usize = 4;

/// How a server runs its applications.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most that a manifest may ask for.
    pub ceiling: Limits,
    /// Calls at the same time; others wait. With the largest memory it bounds what all have.
    pub calls_max: usize,
    /// Whose packages are taken.
    pub trust: Trust,
    /// How events are delivered.
    pub delivery: Delivery,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ceiling: Limits::ceiling(),
            calls_max: 32,
            trust: Trust::default(),
            delivery: Delivery::default(),
        }
    }
}

/// A request to an application.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its body.
    pub body: Vec<u8>,
    /// What the caller may do, which restricts what the application may do for it; without them the
    /// rights of the application are all.
    pub rights: Option<Rights>,
}

/// The applications of a store; clones are the same.
#[derive(Clone)]
pub struct Applications(Arc<Inner>);

struct Inner {
    store: Store,
    options: Options,
    runtime: Handle,
    calls: Arc<Calls>,
    dispatcher: Arc<Dispatcher>,
    /// Held while applications and handlers are installed or removed.
    changing: Mutex<()>,
    tasks: Mutex<Tasks>,
}

/// What runs beside the requests.
#[derive(Default)]
struct Tasks {
    commands: Option<JoinHandle<()>>,
    handlers: HashMap<String, JoinHandle<()>>,
}

impl fmt::Debug for Applications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applications").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        for task in tasks.commands.iter().chain(tasks.handlers.values()) {
            task.abort();
        }
    }
}

impl Applications {
    /// Opens the applications of a store: makes their collections, the command object and the
    /// response object if they are not there, and goes on to deliver events. Requests run on the
    /// runtime; without one of the handles this ends.
    ///
    /// # Errors
    /// An error of the store or the sandbox.
    pub fn open(
        store: &Store,
        tables: Arc<dyn Tables>,
        runtime: &Handle,
        options: Options,
    ) -> Result<Self> {
        system::create(store)?;
        let (journal, wake) = (Arc::new(Journal::default()), Arc::new(Wake::default()));
        let handlers = Arc::new(Handlers::open(store, &journal)?);
        let registry = Arc::new(Registry::open(store, &journal)?);
        let publisher = Arc::new(Publisher::new(
            store.clone(),
            Arc::clone(&handlers),
            Arc::clone(&journal),
            Arc::clone(&wake),
        ));
        let causes = crate::causes::Causes::default();
        let drive = Arc::new(Drive { store: store.clone(), tables, causes, publisher });
        let sandbox = Arc::new(Sandbox::new(options.calls_max)?);
        let calls = Arc::new(Calls { drive, sandbox, registry, journal: Arc::clone(&journal) });
        let dispatcher = Arc::new(Dispatcher {
            store: store.clone(),
            calls: Arc::clone(&calls),
            handlers,
            dead_letters: DeadLetters::new(store),
            journal,
            wake: Arc::clone(&wake),
            delivery: options.delivery,
        });
        let look = options.delivery.look;
        let commands = Arc::new(Commands::open(Arc::clone(&calls), wake, look)?);
        let tasks = Tasks { commands: Some(runtime.spawn(commands.serve())), ..Tasks::default() };
        let inner = Inner {
            store: store.clone(),
            options,
            runtime: runtime.clone(),
            calls,
            dispatcher,
            changing: Mutex::default(),
            tasks: Mutex::new(tasks),
        };
        let applications = Self(Arc::new(inner));
        for registered in applications.0.dispatcher.handlers.all() {
            applications.follow(registered);
        }
        Ok(applications)
    }

    fn journal(&self) -> &Journal {
        &self.0.calls.journal
    }

    fn registry(&self) -> &Registry {
        &self.0.calls.registry
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.0.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow(&self, registered: Arc<Registered>) {
        let name = registered.handler.name.clone();
        let following = Arc::clone(&self.0.dispatcher).follow(registered);
        self.tasks().handlers.insert(name, self.0.runtime.spawn(following));
    }

    /// Installs a package: it is checked, compiled, and then there as a whole.
    ///
    /// # Errors
    /// [`Error::Manifest`], [`Error::Limit`], [`Error::Hash`], [`Error::Signature`],
    /// [`Error::Component`], [`Error::NoEntry`] if the component lacks an entry of its manifest,
    /// [`Error::Exists`], or an error of the store.
    pub fn install(&self, package: Package, replace: Replace) -> Result<Application> {
        let Options { ceiling, trust, .. } = &self.0.options;
        let checked = Checked::new(package, ceiling, trust)?;
        let (name, sha256) = (checked.manifest.name.clone(), checked.sha256.clone());
        if replace == Replace::Never && self.registry().get(&name).is_ok() {
            return Err(Error::Exists { what: format!("application {name}") });
        }
        // Others are started and stopped meanwhile.
        let compiled = self.compile(&checked);
        let _changing = self.changing();
        let before = self.registry().get(&name).ok();
        let installed = compiled.and_then(|()| self.registry().install(checked, replace));
        for hash in before.iter().map(|before| &before.sha256).chain([&sha256]) {
            self.forget_unused(hash);
        }
        let installed = installed?;
        let version = installed.manifest.version.clone();
        self.journal().note(&name, What::Installed { version });
        self.0.dispatcher.wake.ring();
        Ok(installed)
    }

    fn compile(&self, checked: &Checked) -> Result<()> {
        let compiled = self.0.calls.sandbox.compile(&checked.sha256, checked.component())?;
        let lacks = |entry: &&Entry| !compiled.has(**entry);
        match checked.manifest.entries.iter().find(lacks) {
            None => Ok(()),
            Some(entry) => {
                let (name, entry) = (checked.manifest.name.clone(), entry.name());
                Err(Error::NoEntry { name, entry })
            }
        }
    }

    fn forget_unused(&self, sha256: &str) {
        if !self.registry().has(sha256) {
            self.0.calls.sandbox.forget(sha256);
        }
    }

    /// Removes an application; its calls that run are stopped.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InUse`] if handlers are registered for it, or an error of the
    /// store.
    pub fn remove(&self, name: &str) -> Result<()> {
        let _changing = self.changing();
        let handlers = self.0.dispatcher.handlers.of(name).join(", ");
        if !handlers.is_empty() {
            return Err(Error::InUse { name: name.to_owned(), handlers });
        }
        let removed = self.registry().remove(name)?;
        self.forget_unused(&removed.sha256);
        self.journal().note(name, What::Removed);
        Ok(())
    }

    /// Lets an application be called.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the store.
    pub fn start(&self, name: &str) -> Result<()> {
        self.set_state(name, State::Started, What::Started)
    }

    /// Ends that an application can be called; its calls that run are stopped. Its events wait.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the store.
    pub fn stop(&self, name: &str) -> Result<()> {
        self.set_state(name, State::Stopped, What::Stopped)
    }

    fn set_state(&self, name: &str, state: State, what: What) -> Result<()> {
        let _changing = self.changing();
        if self.registry().get(name)?.state == state {
            return Ok(());
        }
        self.registry().set_state(name, state)?;
        self.journal().note(name, what);
        self.0.dispatcher.wake.ring();
        Ok(())
    }

    /// Lists the applications by name.
    #[must_use]
    pub fn list(&self) -> Vec<Application> {
        self.registry().all()
    }

    /// Describes an application.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn application(&self, name: &str) -> Result<Application> {
        self.registry().get(name)
    }

    /// Calls an application with a request. If the future is dropped, the call is stopped.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotStarted`], [`Error::NoEntry`], [`Error::TooLarge`],
    /// [`Error::Busy`], [`Error::Failed`] with the application's words, [`Error::Fault`], or an
    /// error of the store.
    pub async fn run(&self, name: &str, request: Request) -> Result<Vec<u8>> {
        let Request { arguments, body, rights } = request;
        let texts: usize = arguments.iter().map(String::len).sum();
        let length = body.len().saturating_add(texts);
        if length > MESSAGE_BYTES_MAX {
            let (what, length, limit) = ("the request", length as u64, MESSAGE_BYTES_MAX as u64);
            return Err(Error::TooLarge { what, length, limit });
        }
        let caller = Caller { rights, ..Caller::default() };
        self.0.calls.call(name, Work::Command { arguments, body }, caller).await
    }

    /// The schema of an application's table, as an Arrow IPC stream without batches. The bytes are
    /// an application's: anything can be in them.
    ///
    /// # Errors
    /// Those of [`Applications::run`].
    pub async fn table_schema(
        &self,
        name: &str,
        arguments: Vec<String>,
        rights: Option<Rights>,
    ) -> Result<Vec<u8>> {
        let caller = Caller { rights, ..Caller::default() };
        self.0.calls.call(name, Work::Schema { arguments }, caller).await
    }

    /// The rows of an application's table. The call begins at once, and waits for its reader.
    #[must_use]
    pub fn table(&self, name: &str, arguments: Vec<String>, rights: Option<Rights>) -> TableStream {
        let (output, pieces) = mpsc::channel(PIECES_WAITING);
        let (calls, name) = (Arc::clone(&self.0.calls), name.to_owned());
        let caller = Caller { rights, output: Some(output), ..Caller::default() };
        let call = self.0.runtime.spawn(async move {
            calls.call(&name, Work::Produce { arguments }, caller).await.map(drop)
        });
        TableStream::new(pieces, call)
    }

    /// Notifies the dispatcher that the store has changed, so that it need not wait for its next
    /// poll. It costs next to nothing.
    pub fn changed(&self) {
        self.0.dispatcher.wake.ring();
    }

    /// The notices after a number that are still kept, and those to come.
    #[must_use]
    pub fn watch(&self, after: u64) -> (Vec<Notice>, broadcast::Receiver<Notice>) {
        self.journal().watch(after)
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }
}
