// SPDX-License-Identifier: Apache-2.0
//! Ends work with whoever waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
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
pub(crate) struct Permission(Arc<AtomicU8>);

/// The half of the thread that commits.
#[derive(Debug)]
pub(crate) struct Permit(Arc<AtomicU8>);

const GIVEN: u8 = 0;
const TAKEN: u8 = 1;
const REVOKED: u8 = 2;

/// A permission, and the half of the thread that needs it.
pub(crate) fn permission() -> (Permission, Permit) {
    let state = Arc::new(AtomicU8::new(GIVEN));
    (Permission(Arc::clone(&state)), Permit(state))
}

impl Permit {
    /// Takes the permission.
    ///
    /// # Errors
    /// If the caller has left.
    pub(crate) fn take(&self) -> Result<(), Refusal> {
        let taken = self.0.compare_exchange(GIVEN, TAKEN, Ordering::AcqRel, Ordering::Acquire);
        taken.map(drop).map_err(|_| Refusal::Unavailable("the caller has left".to_owned()))
    }
}

impl Drop for Permission {
    fn drop(&mut self) {
        // What was taken stays so.
        let revoking = self.0.compare_exchange(GIVEN, REVOKED, Ordering::AcqRel, Ordering::Acquire);
        drop(revoking);
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
