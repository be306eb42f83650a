// SPDX-License-Identifier: Apache-2.0
//! Room on the stack for deep statements.
//!
//! What takes a plan or an expression apart goes down into its parts, and into theirs. Threads have
//! two megabytes for that, as a rule, and a process whose stack is used up is ended. So statements
//! are planned on a stack of their own where there is less room than
//! [the deepest](crate::statement) need.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

/// What planning may need, in bytes: thirty kilobytes for each level.
const NEEDED: usize = 32 << 20;

/// A future that is polled with enough room.
pub(crate) async fn with_room<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    std::future::poll_fn(|context| poll(work.as_mut(), context)).await
}

fn poll<T>(work: Pin<&mut impl Future<Output = T>>, context: &mut Context<'_>) -> Poll<T> {
    room(|| work.poll(context))
}

/// Does something with enough room.
pub(crate) fn room<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(NEEDED, 2 * NEEDED, work)
}
