// SPDX-License-Identifier: Apache-2.0
//! Decodes the bodies of pages from bytes to values.
//!
//! ```text
//! runs           runs and bit-packed groups: levels, dictionary indexes, truth values
//! bitmap         bitmaps that grow by a few bits
//! levels         which rows of a page are not null
//! delta          differences of integers
//! delta_lengths  byte strings whose lengths are differences
//! delta_strings  byte strings that are differences themselves
//! entries        numbers of a dictionary, looked up in its page
//! numbers        plain, split into streams, and the meaning of stored bytes
//! strings        byte strings, as places in their page
//! ```
//!
//! A decoder holds a page's bytes and a place in them, and appends the requested number of values;
//! a missing value is [`Status::Corrupt`](nearscan_command::Status::Corrupt). So allocations and
//! loops are bounded by the rows that are left, not by what a page declares.

pub(crate) mod bitmap;
pub(crate) mod bits;
pub(crate) mod delta;
pub(crate) mod delta_lengths;
pub(crate) mod delta_strings;
pub(crate) mod entries;
pub(crate) mod levels;
pub(crate) mod numbers;
pub(crate) mod reading;
pub(crate) mod runs;
pub(crate) mod strings;
