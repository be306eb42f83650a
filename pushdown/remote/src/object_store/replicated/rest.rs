// SPDX-License-Identifier: Apache-2.0
//! Goes on with a read at the replica when the server goes while the bytes are on their way.
//!
//! # Invariants
//!
//! - The bytes are those of one version: the replica is asked by the tag of the answer that began.

use std::ops::Range;

use ::object_store::{GetOptions, GetRange, GetResult, GetResultPayload, Result, path::Path};
use bytes::Bytes;
use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{ReplicatedStore, is_unreachable, with_reason};

/// The bytes of an answer, which go on at the replica if the server goes meanwhile.
pub(super) fn going_on(store: &ReplicatedStore, location: &Path, got: GetResult) -> GetResult {
    let (meta, range, attributes) = (got.meta.clone(), got.range.clone(), got.attributes.clone());
    let rest = Rest {
        store: store.clone(),
        location: location.clone(),
        tag: meta.e_tag.clone(),
        range: range.clone(),
        bytes: got.into_stream(),
    };
    let next = |mut rest: Rest| async move { Ok(rest.next().await?.map(|bytes| (bytes, rest))) };
    let payload = GetResultPayload::Stream(stream::try_unfold(rest, next).boxed());
    GetResult { payload, meta, range, attributes }
}

/// The bytes of a range that have not come.
struct Rest {
    store: ReplicatedStore,
    location: Path,
    tag: Option<String>,
    range: Range<u64>,
    bytes: BoxStream<'static, Result<Bytes>>,
}

impl Rest {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let error = match self.bytes.try_next().await {
            Ok(Some(bytes)) => {
                self.range.start += bytes.len() as u64;
                return Ok(Some(bytes));
            }
            Err(error) if is_unreachable(&error) => error,
            ended => return ended,
        };
        let rest = Some(GetRange::Bounded(self.range.clone()));
        let options = GetOptions::new().with_range(rest).with_if_match(self.tag.clone());
        let got = self.store.get_at_replica(&self.location, &options).await;
        let got = got.map_err(|reason| with_reason(error, &reason))?;
        self.bytes = got.into_stream();
        let bytes = self.bytes.try_next().await?;
        self.range.start += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Ok(bytes)
    }
}
