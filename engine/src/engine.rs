// SPDX-License-Identifier: Apache-2.0
//! The engine: what all sessions share.
//!
//! Drives, memory, object stores and caches belong to an [`Engine`], which a program has one of. It
//! is also a session itself, the *first* one, whose tables every later session sees.

use std::{ops::Deref, sync::Arc};

use datafusion::{
    catalog::CatalogProviderList, execution::SessionStateBuilder, object_store::ObjectStore,
};
use url::Url;

use crate::{
    access::Access,
    drive_spec::DriveSpec,
    error::{Error, PathError, Result},
    overlay::OverlayCatalogList,
    session::Session,
};

/// Runs SQL.
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

/// What a session may do; by default what the engine's first one may.
#[derive(Debug, Clone, Default)]
#[must_use = "it does nothing until a session is made with it"]
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
    /// `s3://bucket/prefix/`, and no others; may be called for several. Tables that are registered
    /// by [`Session::register`] are not concerned. The server of an allowed URL is trusted: where
    /// it redirects to, is read.
    ///
    /// # Errors
    /// [`PathError::NotFound`] if there is no such folder.
    pub fn allowed_root(mut self, root: &str) -> Result<Self> {
        self.access.allow(root)?;
        Ok(self)
    }
}

impl Engine {
    /// An engine whose first session is made of a state.
    pub(crate) fn new(
        state: SessionStateBuilder,
        catalogs: Arc<dyn CatalogProviderList>,
        drives: Vec<DriveSpec>,
    ) -> Self {
        let first = Session::new(state, Arc::clone(&catalogs), Access::default());
        Self { first, catalogs, drives: drives.into() }
    }

    /// Makes a session: with the settings and functions that the engine has now, and with its
    /// tables. What the session creates, drops or sets is its own.
    ///
    /// A service can have one for each request: no file is opened and no drive is asked for it.
    #[must_use]
    pub fn session(&self) -> Session {
        self.session_with(SessionOptions::default())
    }

    /// Makes a session that may do less.
    #[must_use]
    pub fn session_with(&self, options: SessionOptions) -> Session {
        let state =
            SessionStateBuilder::new_from_existing(self.first.uncorrected_context().state());
        let catalogs = OverlayCatalogList::over(Arc::clone(&self.catalogs));
        Session::new(state, Arc::new(catalogs), options.access)
    }

    /// Adds a store of files for all sessions: what is below `url`, for example `s3://bucket`, is
    /// read from it, and not from a store made from the environment.
    ///
    /// # Errors
    /// [`Error::Path`] if `url` is no URL.
    pub fn register_object_store(&self, url: &str, store: Arc<dyn ObjectStore>) -> Result<()> {
        let no_url = |_| Error::Path(PathError::NotLocal { url: url.to_owned() });
        let url = Url::parse(url).map_err(no_url)?;
        let runtime = self.first.uncorrected_context().runtime_env();
        runtime.register_object_store(&url, store);
        Ok(())
    }

    /// The drives the user asked for, in that order.
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
