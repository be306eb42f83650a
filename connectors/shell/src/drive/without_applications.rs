// SPDX-License-Identifier: Apache-2.0
//! Serves a store without applications, in a program that is built without them.

use std::sync::Arc;

use nearscan_drive::Drive;
use nearscan_remote::Applications;
use nearscan_store::Store;

use crate::{engine_args::EngineArgs, failure::Result};

/// The applications of a store, of which this program has none.
#[derive(Debug)]
pub(super) struct Hosted;

impl Hosted {
    pub(super) async fn open(_: &EngineArgs, _: &Store, _: &Arc<dyn Drive>) -> Result<Self> {
        Ok(Self)
    }

    pub(super) fn applications(&self) -> Option<Applications> {
        None
    }
}
