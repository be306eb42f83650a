// SPDX-License-Identifier: Apache-2.0
//! Writes an object in parts, which are sent in the order in which they were put, whichever is
//! polled first.

use std::{mem, sync::Arc};

use ::object_store::{
    Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart, path::Path,
};
use async_trait::async_trait;
use nearscan_store::ObjectInfo;
use tokio::sync::{Mutex, oneshot};

use super::failed;
use crate::client::ObjectUpload;

/// An object on its way.
#[derive(Debug)]
pub(super) struct Upload {
    location: Path,
    /// None once it was ended.
    upload: Arc<Mutex<Option<ObjectUpload>>>,
    /// Told when the last part so far was sent.
    last: oneshot::Receiver<()>,
}

impl Upload {
    pub(super) fn new(location: Path, upload: ObjectUpload) -> Self {
        let (sent, last) = oneshot::channel();
        // Nothing is in front of the first part.
        sent.send(()).unwrap_or(());
        Self { location, upload: Arc::new(Mutex::new(Some(upload))), last }
    }
}

fn ended() -> Error {
    let source = "the upload was ended, or a part of it was not sent".into();
    Error::Generic { store: "drive", source }
}

/// What an object store says of an object that was put.
pub(super) fn result_of(info: &ObjectInfo) -> PutResult {
    let version = info.version.to_string();
    PutResult { e_tag: Some(version.clone()), version: Some(version) }
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (sent, last) = oneshot::channel();
        let before = mem::replace(&mut self.last, last);
        let (upload, location) = (Arc::clone(&self.upload), self.location.clone());
        Box::pin(async move {
            before.await.map_err(|_| ended())?;
            let mut upload = upload.lock().await;
            let open = upload.as_mut().ok_or_else(ended)?;
            for part in data {
                open.send(part).await.map_err(|error| failed(&location, error))?;
            }
            sent.send(()).unwrap_or(());
            Ok(())
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        (&mut self.last).await.map_err(|_| ended())?;
        let upload = self.upload.lock().await.take().ok_or_else(ended)?;
        let info = upload.finish().await.map_err(|error| failed(&self.location, error))?;
        Ok(result_of(&info))
    }

    async fn abort(&mut self) -> Result<()> {
        drop(self.upload.lock().await.take());
        Ok(())
    }
}
