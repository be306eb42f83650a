// SPDX-License-Identifier: Apache-2.0
//! Implements [`Rows`], the result of a scan on its way to an application.

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use nearscan::Query;
use nearscan_applications::{Batches, Encoding, Refusal};
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, Receiver, Sender},
    task::JoinHandle,
};

use crate::{
    encode::{Encoder, parts},
    error::{ended, refusal},
    snapshot::Snapshot,
};

/// Pieces that wait for the application.
const PIECES_WAITING: usize = 2;

type Piece = Result<Bytes, Refusal>;

/// Pieces of a result. Dropping it cancels the query.
#[derive(Debug)]
pub(crate) struct Rows {
    pieces: Receiver<Piece>,
    /// None once it has ended.
    query: Option<JoinHandle<()>>,
}

impl Rows {
    /// Runs a query over the objects of a snapshot.
    pub(crate) fn start(
        runtime: &Handle,
        query: Query,
        encoding: Encoding,
        snapshot: Snapshot,
    ) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES_WAITING);
        let query = runtime.spawn(async move {
            if let Err(refusal) = run(&query, encoding, &sender).await {
                // Whoever has left is not told.
                drop(sender.send(Err(refusal)).await);
            }
            drop(snapshot);
        });
        Self { pieces, query: Some(query) }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if let Some(query) = &self.query {
            query.abort();
        }
    }
}

/// Sends the rows of a query, until all are sent or their reader has left.
async fn run(query: &Query, encoding: Encoding, sender: &Sender<Piece>) -> Result<(), Refusal> {
    let mut batches = query.stream().await.map_err(|error| refusal(&error))?;
    let mut encoder = Encoder::new(encoding, &batches.schema())?;
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| refusal(&error))?;
        for part in parts(&batch)? {
            let piece = encoder.piece(&part)?;
            if sender.send(Ok(piece)).await.is_err() {
                return Ok(());
            }
        }
    }
    if let Some(last) = encoder.last()? {
        drop(sender.send(Ok(last)).await);
    }
    Ok(())
}

#[async_trait]
impl Batches for Rows {
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        match self.pieces.recv().await {
            Some(piece) => piece.map(Some),
            // A query that panics ends without a word.
            None => match self.query.take() {
                Some(query) => query.await.map(|()| None).map_err(|error| ended(&error)),
                None => Ok(None),
            },
        }
    }
}
