// SPDX-License-Identifier: Apache-2.0
//! Describes what is linked into an image of the card: one description of the kernels, and all that
//! must agree with it.
//!
//! ```text
//!                  kernels, arguments, ports, banks, units, lanes
//!                                     |
//!        +----------------+-----------+------------+------------------+
//!    indexes of       metadata     xclbin for    v++ command       what the host
//!    arguments         (XML)       emulation     and config        expects of a file
//! ```
//!
//! - [`description`] is the one description.
//! - [`configuration`] writes what `v++` reads, [`metadata`] what XRT reads, [`xclbin`] the file.
//! - [`parse`] reads a file back, and [`image`] says whether it is one of ours.
//!
//! # What is not here
//!
//! No kernel, no runtime, no file system: bytes in, bytes out. The bitstream of an image for
//! emulation is a marker: the kernels are compiled into the program that stands for the card, which
//! finds them by name.
//!
//! # Invariants
//!
//! - An image is a function of its description and of the kernels' sources, on every machine.
//! - Any bytes given to the parser end in an image or an error.
#![forbid(unsafe_code)]

pub mod configuration;
pub mod description;
pub mod image;
pub mod metadata;
pub mod parse;
pub mod xclbin;

pub use description::{Argument, IMAGES, ImageDescription, Kernel};
pub use image::{Image, ImageError, Unit};
pub use parse::{ParseError, Target, Xclbin};

/// Hash of the sources of the kernels that this was built beside.
pub const KERNELS_HASH: &str = env!("NEARSCAN_KERNELS_HASH");
