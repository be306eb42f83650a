// SPDX-License-Identifier: Apache-2.0
//! Holds the rows of an application's table on their way to a query.

use tokio::{sync::mpsc, task::JoinHandle};

use crate::error::{Error, Result};

/// The rows of an application's table. Dropping it ends the call.
#[derive(Debug)]
pub struct TableStream {
    pieces: mpsc::Receiver<Vec<u8>>,
    call: Option<JoinHandle<Result<()>>>,
}

impl TableStream {
    pub(crate) fn new(pieces: mpsc::Receiver<Vec<u8>>, call: JoinHandle<Result<()>>) -> Self {
        Self { pieces, call: Some(call) }
    }

    /// The next piece of one Arrow IPC stream; none at the end. The bytes are an application's:
    /// anything can be in them.
    ///
    /// # Errors
    /// Those of [`Applications::run`](crate::Applications::run). After an error there are no more
    /// pieces.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(piece) = self.pieces.recv().await {
            return Ok(Some(piece));
        }
        match self.call.take() {
            Some(call) => call.await.map_err(Error::sandbox)?.map(|()| None),
            None => Ok(None),
        }
    }
}

impl Drop for TableStream {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            call.abort();
        }
    }
}
