// SPDX-License-Identifier: Apache-2.0
//! Keeps what the partitions of one execution of an operator share.
//!
//! An operator may be executed several times, and each partition is a stream of its own. Those of
//! one execution have the same task context, and each partition is in it once.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::execution::TaskContext;

/// The executions of an operator.
#[derive(Debug)]
pub(crate) struct Executions<T>(Mutex<Vec<Execution<T>>>);

/// One execution.
#[derive(Debug)]
struct Execution<T> {
    context: Weak<TaskContext>,
    shared: Arc<T>,
    /// Whether each partition has started, `[partitions]`.
    has_started: Vec<bool>,
}

impl<T> Default for Executions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Executions<T> {
    /// What the partitions of an execution share, for one of so many that starts; `new` makes it
    /// for the first of them. It is dropped with the last of their streams; if some of them never
    /// start, with the operator, or when another execution starts and the context is gone.
    pub(crate) fn start(
        &self,
        context: &Arc<TaskContext>,
        partitions: usize,
        partition: usize,
        new: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut executions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        executions.retain(|execution| execution.context.strong_count() > 0);
        let is_free = |execution: &&mut Execution<T>| {
            std::ptr::eq(execution.context.as_ptr(), Arc::as_ptr(context))
                && execution.has_started.get(partition) == Some(&false)
        };
        let shared = match executions.iter_mut().find(is_free) {
            Some(execution) => {
                execution.has_started[partition] = true;
                Arc::clone(&execution.shared)
            }
            None => {
                let mut has_started = vec![false; partitions];
                if let Some(started) = has_started.get_mut(partition) {
                    *started = true;
                }
                let (context, shared) = (Arc::downgrade(context), Arc::new(new()));
                executions.push(Execution { context, shared: Arc::clone(&shared), has_started });
                shared
            }
        };
        executions.retain(|execution| execution.has_started.contains(&false));
        shared
    }
}
