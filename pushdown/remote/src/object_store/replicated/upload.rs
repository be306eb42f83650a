// SPDX-License-Identifier: Apache-2.0
//! Writes an object in parts, and forgets what was seen of it before.

use ::object_store::{MultipartUpload, PutPayload, PutResult, Result, UploadPart, path::Path};
use async_trait::async_trait;

use super::ReplicatedStore;

/// An upload at whose end the object is forgotten as it was before.
#[derive(Debug)]
pub(super) struct Forgetting {
    pub(super) store: ReplicatedStore,
    pub(super) location: Path,
    pub(super) upload: Box<dyn MultipartUpload>,
}

#[async_trait]
impl MultipartUpload for Forgetting {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.upload.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let completed = self.upload.complete().await;
        self.store.seen.forget(&self.store.address, &self.location);
        completed
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}
