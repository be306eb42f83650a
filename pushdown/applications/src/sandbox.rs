// SPDX-License-Identifier: Apache-2.0
//! Compiles components, and runs their calls within limits.
//!
//! A call runs on a thread of its own, so that what it computes and the files that it reads and
//! writes hold nobody else up. It ends by itself, by a trap, when its fuel is used up, or when its
//! time is over: a thread advances the epoch, at which running code looks at the clock of its call;
//! and a call that waits in the host is dropped. Compiled code is kept in memory only.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nearscan_drive::clock::pause;
use tokio::{runtime::Handle, sync::Semaphore};
use wasmtime::{
    Config, Engine, EngineWeak, Store, Trap, UpdateDeadline,
    component::{Component, ComponentExportIndex, HasSelf, InstancePre, Linker},
};

use crate::{
    bindings::{Host_, nearscan::drive::types},
    call::{CallClock, Level},
    error::{Error, Result},
    fault::Fault,
    host::Guest,
    limits::{HOST_CALL_BYTES_MAX, STACK_BYTES},
    manifest::Entry,
};

/// How often running code looks at its clock; it is late by that at most.
const TICK: Duration = Duration::from_millis(10);

/// The stack of the host's functions that a call uses, beside its own.
const HOST_STACK_BYTES: usize = 1 << 20;

/// What a component is asked to do.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Command { arguments: Vec<String>, body: Vec<u8> },
    Schema { arguments: Vec<String> },
    Produce { arguments: Vec<String> },
    Handle(types::Event),
}

impl Work {
    pub(crate) fn entry(&self) -> Entry {
        match self {
            Self::Command { .. } => Entry::Command,
            Self::Schema { .. } | Self::Produce { .. } => Entry::Table,
            Self::Handle(_) => Entry::Handler,
        }
    }

    fn function(&self) -> &'static str {
        match self {
            Self::Command { .. } => "run",
            Self::Schema { .. } => "schema",
            Self::Produce { .. } => "produce",
            Self::Handle(_) => "handle",
        }
    }
}

/// The end of a call.
#[derive(Debug)]
pub(crate) struct Done {
    /// The answer, or the application's words why there is none; or the rule that it broke.
    pub(crate) outcome: std::result::Result<std::result::Result<Vec<u8>, String>, Fault>,
    pub(crate) log: Vec<(Level, String)>,
}

/// A compiled component.
pub(crate) struct Compiled {
    instance: InstancePre<Guest>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").finish_non_exhaustive()
    }
}

impl Compiled {
    /// The function of a piece of work; none if the component does not have it.
    fn function(&self, entry: Entry, function: &str) -> Option<ComponentExportIndex> {
        let component = self.instance.component();
        let interface = component.get_export_index(None, entry.interface())?;
        component.get_export_index(Some(&interface), function)
    }

    /// Whether it can be called as something.
    pub(crate) fn has(&self, entry: Entry) -> bool {
        let functions: &[&str] = match entry {
            Entry::Command => &["run"],
            Entry::Table => &["schema", "produce"],
            Entry::Handler => &["handle"],
        };
        functions.iter().all(|function| self.function(entry, function).is_some())
    }
}

/// Compiles and runs components.
pub(crate) struct Sandbox {
    engine: Engine,
    linker: Linker<Guest>,
    /// By the hash of the component.
    compiled: Mutex<HashMap<String, Arc<Compiled>>>,
    permits: Arc<Semaphore>,
    calls_max: usize,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl Sandbox {
    /// A sandbox with so many calls at the same time.
    pub(crate) fn new(calls_max: usize) -> Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(true).epoch_interruption(true).max_wasm_stack(STACK_BYTES);
        config.async_stack_size(STACK_BYTES + HOST_STACK_BYTES);
        let engine = Engine::new(&config).map_err(Error::sandbox)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(Error::sandbox)?;
        Host_::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)
            .map_err(Error::sandbox)?;
        tick(engine.weak())?;
        let permits = Arc::new(Semaphore::new(calls_max));
        Ok(Self { engine, linker, compiled: Mutex::default(), permits, calls_max })
    }

    /// The compiled code of a component; blocks while it is compiled.
    pub(crate) fn compile(&self, hash: &str, component: &[u8]) -> Result<Arc<Compiled>> {
        if let Some(compiled) = self.compiled(hash) {
            return Ok(compiled);
        }
        let wrong = |error: wasmtime::Error| Error::Component { reason: format!("{error:#}") };
        // `Component::new` would take the text format too, if that were built in.
        let component = Component::from_binary(&self.engine, component).map_err(wrong)?;
        let instance = self.linker.instantiate_pre(&component).map_err(wrong)?;
        let compiled = Arc::new(Compiled { instance });
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(hash.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }

    /// The compiled code of a hash, if it is in memory.
    pub(crate) fn compiled(&self, hash: &str) -> Option<Arc<Compiled>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    /// Forgets compiled code; calls that run go on.
    pub(crate) fn forget(&self, hash: &str) {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    /// Makes a call, once fewer than the most calls run. It waits as long for that as the call may
    /// take: a query that reads several tables could otherwise wait for itself. If the future is
    /// dropped, the call is stopped.
    pub(crate) async fn call(
        &self,
        compiled: Arc<Compiled>,
        patience: Duration,
        make: impl FnOnce() -> Guest,
        work: Work,
    ) -> Result<Done> {
        let acquiring = tokio::time::timeout(patience, Arc::clone(&self.permits).acquire_owned());
        let busy = |_| Error::Busy { calls_max: self.calls_max };
        let permit = acquiring.await.map_err(busy)?.map_err(|_| Error::Closed)?;
        let (engine, guest, runtime) = (self.engine.clone(), make(), Handle::current());
        let abandoned = Abandon(Arc::clone(&guest.clock));
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let (clock, log) = (Arc::clone(&guest.clock), Arc::clone(&guest.log));
            let outcome = runtime.block_on(run(&engine, &compiled, guest, work, &clock));
            Done { outcome, log: log.take() }
        });
        let done = running.await.map_err(Error::sandbox);
        drop(abandoned);
        done
    }
}

/// Stops a call whose caller has cancelled it.
struct Abandon(Arc<CallClock>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Advances the epoch until the engine is gone.
fn tick(engine: EngineWeak) -> Result<()> {
    let ticking = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            pause(TICK);
        }
    };
    let thread = std::thread::Builder::new().name("nearscan-epoch".to_owned()).spawn(ticking);
    thread.map(drop).map_err(Error::sandbox)
}

async fn run(
    engine: &Engine,
    compiled: &Compiled,
    guest: Guest,
    work: Work,
    clock: &Arc<CallClock>,
) -> std::result::Result<std::result::Result<Vec<u8>, String>, Fault> {
    let limits = guest.call.limits;
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| &mut guest.limiter);
    store.set_hostcall_fuel(HOST_CALL_BYTES_MAX);
    store.set_epoch_deadline(1);
    let at_epoch = Arc::clone(clock);
    store.epoch_deadline_callback(move |_| match at_epoch.fault() {
        Some(fault) => Err(wasmtime::Error::new(fault)),
        // Between two epochs the future of the call can be dropped.
        None => Ok(UpdateDeadline::Yield(1)),
    });
    let called = async {
        store.set_fuel(limits.fuel)?;
        invoke(compiled, &mut store, work).await
    };
    let ended = tokio::select! {
        // Of a call that has ended and one that is late, the first counts.
        biased;
        ended = called => ended,
        fault = clock.ended() => return Err(fault),
    };
    ended.map_err(|error| classify(&error, limits))
}

async fn invoke(
    compiled: &Compiled,
    mut store: &mut Store<Guest>,
    work: Work,
) -> wasmtime::Result<std::result::Result<Vec<u8>, String>> {
    let instance = compiled.instance.instantiate_async(&mut store).await?;
    let missing = || Fault::Misuse { detail: "the component has no such entry".to_owned() };
    let index = compiled.function(work.entry(), work.function()).ok_or_else(missing)?;
    type Bytes = std::result::Result<Vec<u8>, String>;
    type Nothing = std::result::Result<(), String>;
    let nothing = |outcome: Nothing| outcome.map(|()| Vec::new());
    Ok(match work {
        Work::Command { arguments, body } => {
            let function =
                instance.get_typed_func::<(Vec<String>, Vec<u8>), (Bytes,)>(&mut store, index)?;
            function.call_async(&mut store, (arguments, body)).await?.0
        }
        Work::Schema { arguments } => {
            let function =
                instance.get_typed_func::<(Vec<String>,), (Bytes,)>(&mut store, index)?;
            function.call_async(&mut store, (arguments,)).await?.0
        }
        Work::Produce { arguments } => {
            let function =
                instance.get_typed_func::<(Vec<String>,), (Nothing,)>(&mut store, index)?;
            nothing(function.call_async(&mut store, (arguments,)).await?.0)
        }
        Work::Handle(event) => {
            let function =
                instance.get_typed_func::<(types::Event,), (Nothing,)>(&mut store, index)?;
            nothing(function.call_async(&mut store, (event,)).await?.0)
        }
    })
}

/// Which rule an error of the machine is about.
fn classify(error: &wasmtime::Error, limits: crate::limits::Limits) -> Fault {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return fault.clone();
    }
    if let Some(full) = error.downcast_ref::<wasmtime::component::ResourceTableError>() {
        return match full {
            wasmtime::component::ResourceTableError::Full => {
                Fault::Resources { limit: limits.resources.into() }
            }
            other => Fault::Misuse { detail: other.to_string() },
        };
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return Fault::Trap { detail: format!("it ended itself with status {}", exit.0) };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Fault::Fuel { limit: limits.fuel },
        Some(Trap::StackOverflow) => Fault::Stack { limit: STACK_BYTES as u64 },
        Some(
            trap @ (Trap::ListOutOfBounds
            | Trap::StringOutOfBounds
            | Trap::UnalignedPointer
            | Trap::InvalidDiscriminant
            | Trap::InvalidChar),
        ) => Fault::Misuse { detail: trap.to_string() },
        Some(trap) => Fault::Trap { detail: trap.to_string() },
        None => Fault::Misuse { detail: error.root_cause().to_string() },
    }
}
