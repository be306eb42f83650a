// SPDX-License-Identifier: Apache-2.0
//! For programs that hold, serve or check drives: drives without an engine, and what a process
//! needs before it may hold a card.
//!
//! The program `nearscan` is one. A program that embeds the engine needs none of this: it names its
//! drives to [`EngineBuilder::drive`](crate::EngineBuilder::drive).

pub use crate::drives::{attach_drive, emulation_image, leave, open_drive, prepare_process};
