// SPDX-License-Identifier: Apache-2.0
//! Writes an object in parts. They are sent in the order in which they were put; one that comes
//! before its turn waits in memory.

use std::{collections::BTreeMap, sync::Arc};

use ::object_store::{
    Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart, path::Path,
};
use async_trait::async_trait;
use nearscan_store::ObjectInfo;
use tokio::sync::Mutex;

use super::failed;
use crate::client::{ObjectError, ObjectUpload};

/// An object on its way.
#[derive(Debug)]
pub(super) struct Upload {
    location: Path,
    /// Parts that were put.
    count: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// None once it was ended, or a part could not be sent.
    upload: Option<ObjectUpload>,
    /// The number of the part whose turn it is.
    next: u64,
    waiting: BTreeMap<u64, PutPayload>,
}

impl State {
    /// Sends the parts whose turn it is.
    async fn send(&mut self) -> std::result::Result<(), Option<ObjectError>> {
        while let Some(payload) = self.waiting.remove(&self.next) {
            let mut upload = self.upload.take().ok_or(None)?;
            for part in payload {
                upload.send(part).await.map_err(Some)?;
            }
            self.upload = Some(upload);
            self.next += 1;
        }
        Ok(())
    }
}

impl Upload {
    pub(super) fn new(location: Path, upload: ObjectUpload) -> Self {
        let state = State { upload: Some(upload), next: 0, waiting: BTreeMap::new() };
        Self { location, count: 0, state: Arc::new(Mutex::new(state)) }
    }
}

fn ended() -> Error {
    let source = "the upload was ended, or a part of it was not sent".into();
    Error::Generic { store: "drive", source }
}

/// What an object store says of an object that was put.
pub(super) fn result_of(info: &ObjectInfo) -> PutResult {
    PutResult { e_tag: Some(info.version.to_string()), version: None }
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let number = self.count;
        self.count += 1;
        let (state, location) = (Arc::clone(&self.state), self.location.clone());
        Box::pin(async move {
            let mut state = state.lock().await;
            state.waiting.insert(number, data);
            let sent = state.send().await;
            sent.map_err(|error| error.map_or_else(ended, |error| failed(&location, error)))
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let upload = {
            let mut state = self.state.lock().await;
            if state.next != self.count {
                return Err(ended());
            }
            state.upload.take().ok_or_else(ended)?
        };
        let info = upload.finish().await.map_err(|error| failed(&self.location, error))?;
        Ok(result_of(&info))
    }

    async fn abort(&mut self) -> Result<()> {
        drop(self.state.lock().await.upload.take());
        Ok(())
    }
}
