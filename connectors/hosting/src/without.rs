// SPDX-License-Identifier: Apache-2.0
//! Has no applications, in a program that is built without them.

use std::{path::Path, sync::Arc};

use nearscan::{EngineBuilder, drive::Drive};
use nearscan_remote::Applications;
use nearscan_store::Store;

use crate::{Error, Language};

/// The applications of a store, of which this program has none.
#[derive(Debug)]
pub struct Hosted;

impl Hosted {
    /// Opens nothing.
    ///
    /// # Errors
    /// None.
    pub async fn open(
        _: EngineBuilder,
        _: Option<usize>,
        _: &Store,
        _: &Arc<dyn Drive>,
    ) -> Result<Self, Error> {
        Ok(Self)
    }

    /// None.
    #[must_use]
    pub fn applications(&self) -> Option<Applications> {
        None
    }
}

/// Writes no application.
///
/// # Errors
/// [`Error::NotBuilt`].
pub fn new_application(_: &Path, _: Language, _: &str) -> Result<(), Error> {
    Err(Error::NotBuilt)
}

/// Makes no component.
///
/// # Errors
/// [`Error::NotBuilt`].
pub fn pack(_: &[u8]) -> Result<Vec<u8>, Error> {
    Err(Error::NotBuilt)
}
