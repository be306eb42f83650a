// SPDX-License-Identifier: Apache-2.0
//! Has the applications of a store. In a program that is built without them `without.rs` takes the
//! place of this module.

use std::{path::Path, sync::Arc};

use nearscan::{EngineBuilder, drive::Drive};
use nearscan_applications::{Applications, Options};
use nearscan_operations::Operations;
use nearscan_store::{Store, StoreDrive};
use tokio::runtime::{Builder, Runtime};

use crate::{Error, Language};

/// Threads need as much stack as those of queries.
const STACK_SIZE: usize = 8 << 20;

/// The applications of a store. They end when this is dropped.
#[derive(Debug)]
pub struct Hosted {
    applications: Applications,
    /// Queries and applications run on its threads, so that those of the network stay free.
    _runtime: Background,
}

impl Hosted {
    /// Opens the applications of a store, which scan its objects with a drive, in an engine with
    /// these settings and on so many threads.
    ///
    /// # Errors
    /// [`Error::Threads`], [`Error::Engine`], or [`Error::Applications`].
    pub async fn open(
        engine: EngineBuilder,
        threads: Option<usize>,
        store: &Store,
        drive: &Arc<dyn Drive>,
    ) -> Result<Self, Error> {
        let mut builder = Builder::new_multi_thread();
        builder.thread_stack_size(STACK_SIZE).enable_all();
        if let Some(threads) = threads {
            builder.worker_threads(threads);
        }
        let runtime = builder.build().map_err(Error::Threads)?;
        let handle = runtime.handle().clone();
        let runtime = Background(Some(runtime));
        let drive: Arc<dyn Drive> = Arc::new(StoreDrive::new(Arc::clone(drive), store.clone()));
        let engine = engine.attach("store", drive)?.build().await?;
        let operations = Arc::new(Operations::new(engine, store, &handle));
        let (objects, of_calls) = (store.clone(), handle.clone());
        // It reads the store.
        let opening = tokio::task::spawn_blocking(move || {
            Applications::open(&objects, operations, &of_calls, Options::default())
        });
        let opened = opening.await.map_err(|error| Error::Applications(error.to_string()))?;
        let applications = opened.map_err(|error| failed(&error))?;
        Ok(Self { applications, _runtime: runtime })
    }

    /// The applications.
    #[must_use]
    pub fn applications(&self) -> Option<Applications> {
        Some(self.applications.clone())
    }
}

/// A runtime that is left to end by itself: whoever drops it may be on a thread of another one,
/// which must not wait.
#[derive(Debug)]
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn failed(error: &nearscan_applications::Error) -> Error {
    Error::Applications(error.to_string())
}

/// Writes the files of a new application into a folder, which is made if it is not there. No file
/// is replaced.
///
/// # Errors
/// [`Error::Applications`] for a name that is none, or a file that is there.
pub fn new_application(folder: &Path, language: Language, name: &str) -> Result<(), Error> {
    use nearscan_applications::Language as Known;
    let language = match language {
        Language::C => Known::C,
        Language::Python => Known::Python,
        Language::Rust => Known::Rust,
    };
    nearscan_applications::new_application(folder, language, name).map_err(|error| failed(&error))
}

/// Makes a component of the module that a C compiler writes.
///
/// # Errors
/// [`Error::Applications`] if the module is no application.
pub fn pack(module: &[u8]) -> Result<Vec<u8>, Error> {
    nearscan_applications::pack(module).map_err(|error| failed(&error))
}
