// SPDX-License-Identifier: Apache-2.0
//! Holds the host's side of one call: what it is allowed, and what it has open.

use std::{fmt, sync::Arc};

use nearscan_store::{CollectionPath, Condition, ObjectInfo, ObjectPath, Store};
use tokio::sync::mpsc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    bindings::{Stop, nearscan::drive::types},
    call::{Call, CallClock, CallLog},
    causes::{Cause, Causes},
    limiter::Limiter,
    publisher::Publisher,
    refusal::Refusal,
    rights::{self, Access},
    tables::Tables,
};

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Drive {
    pub(crate) store: Store,
    pub(crate) tables: Arc<dyn Tables>,
    /// Which changes were caused by handlers.
    pub(crate) causes: Causes,
    /// Where events of applications go.
    pub(crate) publisher: Arc<Publisher>,
}

/// The host's side of one call.
pub(crate) struct Guest {
    pub(crate) drive: Arc<Drive>,
    pub(crate) call: Call,
    pub(crate) clock: Arc<CallClock>,
    pub(crate) log: Arc<CallLog>,
    /// Where a table function puts its rows.
    pub(crate) output: Option<mpsc::Sender<Vec<u8>>>,
    pub(crate) resources: ResourceTable,
    pub(crate) wasi: WasiCtx,
    pub(crate) limiter: Limiter,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("call", &self.call).finish_non_exhaustive()
    }
}

impl Guest {
    pub(crate) fn new(
        drive: &Arc<Drive>,
        call: Call,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Self {
        let clock = Arc::new(CallClock::start(&call));
        let log = Arc::new(CallLog::default());
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(call.limits.resources as usize);
        let limiter = Limiter::new(call.limits);
        let wasi = super::wasi::context(&log);
        Self { drive: Arc::clone(drive), call, clock, log, output, resources, wasi, limiter }
    }

    /// The collection of a name, if the call has the right to it.
    pub(super) fn collection(&self, name: &str, access: Access) -> Result<CollectionPath, Stop> {
        let path = rights::collection(name).map_err(Refusal::Invalid)?;
        self.call.rights.check(&path, access)?;
        Ok(path)
    }

    /// The object of a name, if the call has the right to its collection.
    pub(super) fn object(
        &self,
        collection: &str,
        name: &str,
        access: Access,
    ) -> Result<ObjectPath, Stop> {
        Ok(self.collection(collection, access)?.object(name)?)
    }

    /// Notes that a change of an object that is about to be made is this call's.
    pub(super) fn cause(&self, path: &ObjectPath) -> Result<Cause, Stop> {
        Ok(self.drive.causes.begin(&self.drive.store, path, self.call.depth)?)
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.resources }
    }
}

impl types::Host for Guest {
    fn convert_error(&mut self, stop: Stop) -> wasmtime::Result<types::Error> {
        match stop {
            Stop::Refused(refusal) => Ok(refusal.into()),
            Stop::Ended(error) => Err(error),
        }
    }
}

impl From<types::Condition> for Condition {
    fn from(condition: types::Condition) -> Self {
        match condition {
            types::Condition::Always => Self::Always,
            types::Condition::Absent => Self::Absent,
            types::Condition::Version(version) => Self::Version(version),
        }
    }
}

impl From<&ObjectInfo> for types::ObjectInfo {
    fn from(info: &ObjectInfo) -> Self {
        Self {
            collection: info.path.collection().to_string(),
            name: info.path.name().to_owned(),
            length: info.length,
            version: info.version,
            created_ns: info.created_ns,
            written_ns: info.written_ns,
        }
    }
}
