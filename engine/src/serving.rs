// SPDX-License-Identifier: Apache-2.0
//! Opens drives without an engine, and prepares a process to hold a card, for programs that hold,
//! serve or check drives.
//!
//! The program `nearscan` is one. A program that embeds the engine does not need this module: it
//! passes the URLs of its drives to [`EngineBuilder::drive`](crate::EngineBuilder::drive).

pub use crate::drives::{
    attach_drive, connect_server, emulation_image, leave, open_drive, prepare_process,
};
