// SPDX-License-Identifier: Apache-2.0
//! Defines what a driver is told: reads to begin, and reads to cancel.

use std::fmt;

use crate::{
    file::File,
    job::Job,
    piece::{Piece, Whole},
};

/// A read to begin.
pub(crate) struct Start {
    pub(crate) number: u64,
    pub(crate) file: File,
    /// Its range, for errors.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) memory: Whole,
    /// Not empty, and within the memory.
    pub(crate) pieces: Vec<Piece>,
    /// Owns the memory.
    pub(crate) job: Box<dyn Job>,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").field("number", &self.number).finish_non_exhaustive()
    }
}

/// What a driver is to do.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) starts: Vec<Start>,
    /// Reads to cancel, because their futures were dropped.
    pub(crate) cancelled: Vec<u64>,
    /// Whether all reads are to end.
    pub(crate) is_closed: bool,
}

impl Orders {
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty() && self.cancelled.is_empty()
    }
}
