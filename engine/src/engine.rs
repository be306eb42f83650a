// SPDX-License-Identifier: Apache-2.0
//! Defines the engine, which holds what all sessions share.
//!
//! Drives, memory, object stores and caches belong to an [`Engine`]; a program needs only one. An
//! engine is itself a session, the *first* one, whose tables every later session sees.

use std::{ops::Deref, sync::Arc};

use datafusion::{
    catalog::CatalogProviderList, execution::SessionStateBuilder, object_store::ObjectStore,
};
use nearscan_optimizer::LocalReads;
use url::Url;

use crate::{
    access::Access,
    drive_spec::DriveSpec,
    error::{Error, PathError, Result},
    overlay::OverlayCatalogList,
    session::Session,
};

/// Runs SQL over files and tables, with drives attached.
///
/// An engine is a handle; clones share everything. It derefs to its first [`Session`], so a program
/// with one user needs no other.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), nearscan::Error> {
/// let engine = nearscan::Engine::builder().build().await?;
/// let result = engine.sql("SELECT 1 + 1 AS two").await?.collect().await?;
/// assert_eq!(result.profile.rows, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    first: Session,
    catalogs: Arc<dyn CatalogProviderList>,
    drives: Arc<[DriveSpec]>,
}

/// Permissions of a session; by default those of the engine's first session.
#[derive(Debug, Clone, Default)]
#[must_use = "options have no effect until a session is made with them"]
pub struct SessionOptions {
    access: Access,
}

impl SessionOptions {
    /// Refuses every statement that changes data, tables, views, functions or limits: DDL, DML,
    /// COPY TO, CREATE EXTERNAL TABLE, and SET of memory, disk, threads and batches.
    pub fn read_only(mut self) -> Self {
        self.access.refuse_writes();
        self
    }

    /// Lets statements open files below a local folder, or below a URL such as
    /// `s3://bucket/prefix/`, and no others; may be called for several. Tables registered by
    /// [`Session::register`] are not affected. The server of an allowed URL is trusted: its
    /// redirects are followed.
    ///
    /// # Errors
    /// [`PathError::NotFound`] if the folder does not exist.
    pub fn allowed_root(mut self, root: &str) -> Result<Self> {
        self.access.allow(root)?;
        Ok(self)
    }
}

impl Engine {
    /// Makes an engine whose first session has the given state.
    pub(crate) fn new(
        state: SessionStateBuilder,
        catalogs: Arc<dyn CatalogProviderList>,
        drives: Vec<DriveSpec>,
        reads: LocalReads,
    ) -> Self {
        let first = Session::new(state, Arc::clone(&catalogs), Access::default(), Some(reads));
        Self { first, catalogs, drives: drives.into() }
    }

    /// Makes a session with the current settings and functions of the engine, and with its tables.
    /// Tables that the session creates or drops and settings that it changes affect no other
    /// session; it cannot change settings below `nearscan.io`, which are of the engine.
    ///
    /// A service can make one for each request: this opens no file and calls no drive.
    #[must_use]
    pub fn session(&self) -> Session {
        self.session_with(SessionOptions::default())
    }

    /// Makes a session with restricted permissions.
    #[must_use]
    pub fn session_with(&self, options: SessionOptions) -> Session {
        let state =
            SessionStateBuilder::new_from_existing(self.first.uncorrected_context().state());
        let catalogs = OverlayCatalogList::over(Arc::clone(&self.catalogs));
        Session::new(state, Arc::new(catalogs), options.access, None)
    }

    /// Adds an object store for all sessions: locations below `url`, for example `s3://bucket`, are
    /// read from it instead of a store made from the environment.
    ///
    /// # Errors
    /// [`Error::Path`] if `url` is not a valid URL.
    pub fn register_object_store(&self, url: &str, store: Arc<dyn ObjectStore>) -> Result<()> {
        let no_url = |_| Error::Path(PathError::NotLocal { url: url.to_owned() });
        let url = Url::parse(url).map_err(no_url)?;
        let runtime = self.first.uncorrected_context().runtime_env();
        runtime.register_object_store(&url, store);
        Ok(())
    }

    /// Returns the drives that the user asked for, in their order.
    #[must_use]
    pub fn drive_specs(&self) -> &[DriveSpec] {
        &self.drives
    }
}

impl Deref for Engine {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.first
    }
}
