// SPDX-License-Identifier: Apache-2.0
//! Implements what an application may call, with the rights of its call.
//!
//! A function that is refused says so, and the application goes on. The functions on objects block
//! the thread of the call, which is no thread of the async runtime.

mod attributes;
mod guest;
mod objects;
mod output;
mod services;
mod tables;
mod wasi;

pub(crate) use guest::{Drive, Guest};
