// SPDX-License-Identifier: Apache-2.0
//! Keeps values to the process that made them.
//!
//! After `fork` a child has the memory of its parent and none of its threads: an engine there would
//! wait forever, also in its destructor.

use std::{mem::ManuallyDrop, process};

use pyo3::prelude::*;

use crate::error::raise;

/// A value that only the process that made it may use. In another one it is never dropped.
#[derive(Debug)]
pub(crate) struct OfProcess<T> {
    /// None only in the destructor.
    value: Option<T>,
    process: u32,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), process: process::id() }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// `InterfaceError` in another process.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.value.as_ref().filter(|_| self.is_here()).ok_or_else(|| {
            raise(
                py,
                "InterfaceError",
                "the connection belongs to the process that forked this one",
                Some("a child process has none of the threads that run its queries"),
                Some("connect in the child, or start it by multiprocessing's method 'spawn'"),
            )
        })
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            let _lost = ManuallyDrop::new(self.value.take());
        }
    }
}
