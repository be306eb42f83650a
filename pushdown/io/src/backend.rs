// SPDX-License-Identifier: Apache-2.0
//! Defines what carries requests to the system and brings back what came of them.
//!
//! A backend knows requests, not reads: it neither splits, continues nor repeats. It is used by one
//! thread at a time, but for its [`Interrupt`].

use std::{fmt::Debug, io, sync::Arc};

use crate::{
    file::{Access, File},
    interrupt::Interrupt,
    target::Registered,
};

/// One request to the system.
#[derive(Debug, Clone)]
pub struct Request {
    /// Names it among those in flight.
    pub token: u64,
    /// The file, which stays open for as long.
    pub file: File,
    /// Through the page cache or past it.
    pub access: Access,
    /// First byte in the file.
    pub offset: u64,
    /// Where the bytes go.
    pub memory: Memory,
}

/// Memory of one request.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// First byte.
    pub pointer: *mut u8,
    /// Number of bytes.
    pub length: u32,
    /// Its place among registered buffers.
    pub registered: Option<Registered>,
}

// SAFETY: a pointer to memory that may be written to from any thread (`Target`).
unsafe impl Send for Memory {}

/// What came of one request.
#[derive(Debug)]
pub struct Done {
    /// The request's.
    pub token: u64,
    /// The number of bytes that were read, 0 at the end of the file.
    pub result: io::Result<u32>,
}

/// Whether to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// No: only what is there.
    Never,
    /// Until something is there, or an interrupt.
    ForOne,
}

/// Carries requests.
///
/// # Safety
/// After the [`Done`] of a request was handed out, and after the backend was dropped, nothing
/// writes to the request's memory any more. If a backend cannot be sure of that when it is dropped,
/// it does not return.
pub unsafe trait Backend: Send + Debug {
    /// Takes a request; it may be sent at the next [`Backend::reap`] only.
    ///
    /// # Errors
    /// When it was not taken: the backend is broken.
    ///
    /// # Safety
    /// The memory may be written to until the request's [`Done`] was handed out, or the backend
    /// was dropped. No two requests in flight have the same token.
    unsafe fn submit(&mut self, request: Request) -> io::Result<()>;

    /// Sends what was taken, and adds to `done` what has ended.
    ///
    /// # Errors
    /// When the backend is broken: requests in flight may never end.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()>;

    /// Tries to end a request early. Its [`Done`] comes in any case.
    fn cancel(&mut self, token: u64);

    /// Ends waits.
    fn interrupt(&self) -> Arc<dyn Interrupt>;
}
