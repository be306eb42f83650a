// SPDX-License-Identifier: Apache-2.0
//! Plans and runs deep statements without overflowing the stack.
//!
//! The parser, the planner and the evaluation of expressions are recursive, and operators open and
//! poll their inputs. Threads usually have two megabytes of stack, and a stack overflow aborts the
//! process. So:
//!
//! - chains of AND and OR are balanced before anything recurses into them;
//! - statements with other long chains are refused;
//! - a deep statement or plan is planned on a larger stack
//!   ([`on_enough_stack`]), which is mapped only for it;
//! - a deep plan is executed with a new piece of stack at every few hundred operators.

pub(crate) mod chains;
pub(crate) mod plan;
pub(crate) mod statement;

pub use plan::levels;

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

/// Most bytes of stack that planning takes for one level. Measured with the statements of
/// `engine/tests/it/deep.rs`; frames of a debug build are several times as large.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 32 << 10 } else { 12 << 10 };

/// Bytes that planning takes whatever the depth.
const BASE_BYTES: usize = 256 << 10;

/// Runs `work` with enough stack for so many levels; on the current stack if that is large enough.
pub fn on_enough_stack<T>(levels: usize, work: impl FnOnce() -> T) -> T {
    let needed = BASE_BYTES + levels.saturating_mul(LEVEL_BYTES);
    stacker::maybe_grow(needed, needed + BASE_BYTES, work)
}

/// Runs a future that is polled with enough stack for so many levels.
pub async fn with_enough_stack<T>(levels: usize, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    std::future::poll_fn(|context| poll(levels, work.as_mut(), context)).await
}

fn poll<T>(
    levels: usize,
    work: Pin<&mut impl Future<Output = T>>,
    context: &mut Context<'_>,
) -> Poll<T> {
    on_enough_stack(levels, || work.poll(context))
}
