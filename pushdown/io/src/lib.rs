// SPDX-License-Identifier: Apache-2.0
//! Reads local files with many requests in flight: through `io_uring`, or through `pread` on a few
//! threads where the kernel has no ring or refuses it.
//!
//! ```text
//! read --> what is cached: copied at once
//!      --> the rest, in pieces --> Driver --> Backend: Ring | pread threads | Faulty
//!                                    ^  short: continued, interrupted: repeated
//! Reader: one thread runs the driver of all     Local: the caller's thread runs its own
//! ```
//!
//! # What this crate does not do
//!
//! It writes nothing, knows no format, keeps no cache beside the system's, needs no async runtime
//! and reads no clock.
//!
//! # Invariants
//!
//! - A buffer is owned by its read until the kernel has let go of it: dropping a future or a reader
//!   never lets the kernel write to memory that was freed ([`Target`], [`Backend`]).
//! - A read gives all of its bytes or an error.
//! - Memory is bounded by what callers give, by [`Pool`] and by [`Buffers`], and is charged
//!   ([`Charge`]) where this crate decides how much it is.

mod backend;
mod begin;
pub mod bench;
mod buffers;
mod driver;
mod engine;
mod error;
pub mod faults;
mod file;
mod inbox;
mod interrupt;
mod job;
mod local;
mod options;
mod orders;
mod piece;
mod pool;
mod ranges;
mod reader;
mod ring;
mod slot;
mod sys;
mod target;
mod threads;

pub use backend::{Backend, Done, Memory, Request, Wait};
pub use buffers::Buffers;
pub use engine::Wrap;
pub use error::{Error, Failed};
pub use file::{Access, File};
pub use interrupt::Interrupt;
pub use local::Local;
pub use options::{
    Direct, Engine, Feature, GAP_BYTES, Options, Polling, QUEUE_DEPTH_MAX, REGISTERED_FILES_MAX,
    REQUEST_BYTES_MAX, Report, THREADS_MAX, UnknownWord,
};
pub use pool::{BUFFERS_MAX, Charge, Pool, PoolOptions, Pooled, Take, Unlimited};
pub use reader::{Builder, RangeRead, Reader};
pub use slot::{Pending, Read};
pub use sys::{is_cached, memory_bytes, read_cached, send_file};
pub use target::{Aligned, BLOCK, Registered, Target};
