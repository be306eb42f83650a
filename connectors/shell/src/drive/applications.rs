// SPDX-License-Identifier: Apache-2.0
//! Opens the applications of a store that is served. In a program that is built without them the
//! module of the same name in `without_applications.rs` takes the place of this one.

use std::{sync::Arc, time::Duration};

use nearscan::Engine;
use nearscan_applications::{Applications, Options, Subject};
use nearscan_drive::Drive;
use nearscan_operations::Operations;
use nearscan_store::{Store, StoreDrive};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::{
    engine_args::EngineArgs,
    failure::{Failure, Result, say},
};

/// The time between two looks for events of the flash.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Threads need as much stack as those of queries.
const STACK_SIZE: usize = 8 << 20;

/// The applications of a store. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Hosted {
    applications: Applications,
    flash: JoinHandle<()>,
    /// Queries and applications run on its threads, so that those of the network stay free.
    runtime: Option<Runtime>,
}

impl Hosted {
    /// Opens the applications of a store, which scan its objects with a drive.
    pub(super) async fn open(
        engine: &EngineArgs,
        store: &Store,
        drive: &Arc<dyn Drive>,
    ) -> Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.thread_stack_size(STACK_SIZE).enable_all();
        if let Some(threads) = engine.threads {
            builder.worker_threads(threads.get());
        }
        let runtime = builder.build().map_err(|error| Failure::threads(&error))?;
        let drive: Arc<dyn Drive> = Arc::new(StoreDrive::new(Arc::clone(drive), store.clone()));
        let usage = |error: nearscan::Error| Failure::usage(&error);
        let attached = engine.builder().attach("store", Arc::clone(&drive));
        let built: Engine = attached.map_err(usage)?.build().await.map_err(usage)?;
        let operations = Arc::new(Operations::new(built, store, runtime.handle()));
        let (objects, handle) = (store.clone(), runtime.handle().clone());
        // It reads the store.
        let opening = tokio::task::spawn_blocking(move || {
            Applications::open(&objects, operations, &handle, Options::default())
        });
        let opened = opening.await.map_err(|error| Failure::panicked(&error))?;
        let applications = opened.map_err(|error| {
            Failure::Usage(format!("error: the applications cannot be opened\n  detail: {error}"))
        })?;
        let flash = runtime.spawn(publish_events_of(drive, applications.clone()));
        Ok(Self { applications, flash, runtime: Some(runtime) })
    }

    /// The applications.
    pub(super) fn applications(&self) -> Option<Applications> {
        Some(self.applications.clone())
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.flash.abort();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Publishes the events of a drive's flash. Their numbers are of one opening of the drive, so it
/// begins with the first after a restart.
async fn publish_events_of(drive: Arc<dyn Drive>, applications: Applications) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(LOOK_AFTER).await;
        let (drive, applications) = (Arc::clone(&drive), applications.clone());
        let published = tokio::task::spawn_blocking(move || {
            for event in drive.flash_events(seen) {
                let detail = event.kind.detail(|file| file.display().to_string());
                let (kind, block) = (event.kind.name().to_owned(), event.block);
                if applications.publish(Subject::Flash { kind, block, detail }).is_err() {
                    // There are too many that nobody has handled: it is tried again.
                    return seen;
                }
                if event.number > seen + 1 {
                    let missed = event.number - seen - 1;
                    say(&format!("warning: {missed} events of the flash were missed"));
                }
                seen = event.number;
            }
            seen
        });
        seen = published.await.unwrap_or(seen);
    }
}
