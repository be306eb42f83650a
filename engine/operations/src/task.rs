// SPDX-License-Identifier: Apache-2.0
//! Ends work with whoever waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use nearscan_applications::Refusal;
use tokio::task::JoinHandle;

use crate::error::ended;

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop<T>(JoinHandle<Result<T, Refusal>>);

impl<T> AbortOnDrop<T> {
    pub(crate) fn new(task: JoinHandle<Result<T, Refusal>>) -> Self {
        Self(task)
    }

    /// Waits for the task.
    pub(crate) async fn join(mut self) -> Result<T, Refusal> {
        (&mut self.0).await.unwrap_or_else(|error| Err(ended(&error)))
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Who comes first, the thread that commits or the caller that leaves. Dropping the caller's half
/// takes the permission back.
#[derive(Debug)]
pub(crate) struct Permission(Arc<AtomicBool>);

/// The half of the thread that commits.
#[derive(Debug)]
pub(crate) struct Permit(Arc<AtomicBool>);

/// A permission, and the half of the thread that needs it.
pub(crate) fn permission() -> (Permission, Permit) {
    let is_taken = Arc::new(AtomicBool::new(false));
    (Permission(Arc::clone(&is_taken)), Permit(is_taken))
}

impl Permit {
    /// Takes the permission.
    ///
    /// # Errors
    /// If the caller has left.
    pub(crate) fn take(&self) -> Result<(), Refusal> {
        match self.0.swap(true, Ordering::AcqRel) {
            false => Ok(()),
            true => Err(Refusal::Unavailable("the caller has left".to_owned())),
        }
    }
}

impl Drop for Permission {
    fn drop(&mut self) {
        // What was taken stays so.
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_is_taken_once_the_caller_is_there_and_not_after_it_has_left() {
        let (permission, permit) = permission();
        assert!(permit.take().is_ok());
        drop(permission);
        let (permission, permit) = super::permission();
        drop(permission);
        assert!(permit.take().is_err());
    }
}
