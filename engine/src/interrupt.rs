// SPDX-License-Identifier: Apache-2.0
//! Interrupts a query: by a handle, or after a timeout.
//!
//! A future that is polled with the query detects both and wakes its task. An interrupted query
//! ends with one error, and drops what it runs.

use std::time::Duration;

use futures::future::{BoxFuture, Either, FutureExt, pending, select};
use tokio::sync::watch;

use crate::error::Error;

/// Cancels a query, from any task or thread; clones cancel the same one.
#[derive(Debug, Clone)]
pub struct CancelHandle(watch::Sender<bool>);

impl CancelHandle {
    /// Cancels the query, which ends with [`Error::Cancelled`]. It has no effect on a query that
    /// has ended or is already cancelled.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether the query was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }
}

/// The events that may end a query early.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    pub(crate) cancel: CancelHandle,
    pub(crate) timeout: Option<Duration>,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self { cancel: CancelHandle(watch::Sender::new(false)), timeout: None }
    }
}

impl Interrupts {
    /// Waits for the first event; the timeout starts at this call.
    pub(crate) fn first(&self) -> BoxFuture<'static, Error> {
        let mut cancelled = self.cancel.0.subscribe();
        let cancel = async move {
            let is_cancelled = cancelled.wait_for(|is_cancelled| *is_cancelled).await.is_ok();
            match is_cancelled {
                true => Error::Cancelled,
                // All handles are dropped, so that the query cannot be cancelled.
                false => pending().await,
            }
        };
        let Some(after) = self.timeout else { return cancel.boxed() };
        let time = tokio::time::sleep(after);
        async move {
            match select(Box::pin(cancel), Box::pin(time)).await {
                Either::Left((error, _)) => error,
                Either::Right(_) => Error::Timeout { after },
            }
        }
        .boxed()
    }
}

/// Runs a future until it ends or is interrupted.
pub(crate) async fn until<T>(
    interrupt: &mut BoxFuture<'static, Error>,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    match select(interrupt, std::pin::pin!(work)).await {
        Either::Left((error, _)) => Err(error),
        Either::Right((output, _)) => Ok(output),
    }
}
