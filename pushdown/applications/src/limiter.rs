// SPDX-License-Identifier: Apache-2.0
//! Limits the memory and the tables of a call, over all instances of its component.
//!
//! A growth beyond the limit ends the call: an application that goes on after it was refused memory
//! is rare, and one that does not notice would end with a less clear fault.

use wasmtime::ResourceLimiter;

use crate::{fault::Fault, limits::Limits};

/// Core instances of one component, with the adapters of WASI.
const INSTANCES_MAX: usize = 100;

/// What a call has of memory and tables.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Limits,
    memory_bytes: u64,
    table_elements: u64,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory_bytes: 0, table_elements: 0 }
    }
}

/// The sum after one of its parts has grown.
fn grown(sum: u64, current: usize, desired: usize) -> u64 {
    sum.saturating_sub(current as u64).saturating_add(desired as u64)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let (wanted, limit) =
            (grown(self.memory_bytes, current, desired), self.limits.memory_bytes);
        if wanted > limit {
            return Err(wasmtime::Error::new(Fault::Memory { wanted, limit }));
        }
        self.memory_bytes = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let (wanted, limit) =
            (grown(self.table_elements, current, desired), self.limits.table_elements);
        if wanted > limit {
            return Err(wasmtime::Error::new(Fault::Table { wanted, limit }));
        }
        self.table_elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        INSTANCES_MAX
    }

    fn memories(&self) -> usize {
        INSTANCES_MAX
    }
}
