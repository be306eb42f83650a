// SPDX-License-Identifier: Apache-2.0
//! Refuses requests about applications, in a program that is built without them.

use std::sync::Arc;

use arrow_flight::FlightData;
use bytes::Bytes;
use nearscan_drive::{Budget, FlashEvent};
use tokio::sync::mpsc;
use tonic::Status;

use super::{gate::Reach, upload::Upload};
use crate::protocol::applications::{Application, Call, Install, Run, Watch};

/// The applications of a store, of which this program has none.
#[derive(Debug, Clone)]
pub enum Applications {}

/// The applications of a server, which has none.
#[derive(Debug, Clone)]
pub(super) struct Installed;

fn without<T>() -> Result<T, Status> {
    let text = "the program of the server was built without applications; \
                build it with --features applications";
    Err(Status::unimplemented(text))
}

impl Installed {
    pub(super) fn new(_: Option<Applications>) -> Self {
        Self
    }

    pub(super) fn are_served(&self) -> bool {
        false
    }

    pub(super) fn changed(&self) {}

    pub(super) fn publish(&self, _: &FlashEvent) -> Result<(), Status> {
        Ok(())
    }

    pub(super) fn seen(&self) -> Result<Option<u64>, Status> {
        Ok(None)
    }

    pub(super) async fn act(&self, _: &str, _: &Bytes, _: Reach) -> Result<Vec<u8>, Status> {
        without()
    }

    pub(super) async fn install(
        &self,
        _: Install,
        _: Upload,
        _: &Arc<dyn Budget>,
    ) -> Result<Application, Status> {
        without()
    }

    pub(super) async fn run(
        &self,
        _: Run,
        _: Reach,
        _: Upload,
        _: &Arc<dyn Budget>,
    ) -> Result<Bytes, Status> {
        without()
    }

    pub(super) async fn table(
        &self,
        _: Call,
        _: Reach,
        _: &mpsc::Sender<Result<FlightData, Status>>,
    ) -> Result<(), Status> {
        without()
    }

    pub(super) async fn watch(
        &self,
        _: Watch,
        _: &mpsc::Sender<Result<FlightData, Status>>,
    ) -> Result<(), Status> {
        without()
    }
}
