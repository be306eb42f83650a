// SPDX-License-Identifier: Apache-2.0
//! Converts panics of libraries into errors.
//!
//! Libraries that read files panic on some corrupt ones, and a query must not end the process of
//! its user.

use std::{any::Any, panic::AssertUnwindSafe};

use datafusion::common::DataFusionError;
use futures::FutureExt;

use crate::error::{Error, Result};

/// Runs a future to its end, and converts a panic in it into an error.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T> {
    let ended = AssertUnwindSafe(future).catch_unwind().await;
    ended.map_err(|panic| Error::from(from_panic(&*panic)))
}

/// Returns the text of a panic as an internal error.
pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> DataFusionError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    DataFusionError::Internal(text.unwrap_or("a panic without a message").to_owned())
}
