// SPDX-License-Identifier: Apache-2.0
//! Packs and expands the columns of compact blocks.
//!
//! A block has at most 1024 rows, so the numbers of a column lie close together: they are stored as
//! differences from the least one, in as many bits as the greatest difference has (frame of
//! reference). Equal numbers take none. Lengths of byte strings are numbers like others; strings
//! that repeat are sent once a result and referred to by codes, in the order of their first use.
//!
//! ```text
//! CompactColumnRecord (16 B)
//! validity   [ceil(rows / 64)] u64, only if a row is null
//! values     [rows] of `bits` bits each, the lowest first; null rows hold 0
//! lengths    of codes: [strings] of `length_bits` bits each
//! bytes      of lengths and codes
//! ```
//!
//! Each part is padded with zeros to 8 bytes.
//!
//! # What this module does not do
//!
//! It knows nothing of blocks, headers and checksums: those are `result` and `columnar`.
//!
//! # Invariants
//!
//! - Any bytes expand to values of the width of their column, or are refused; nothing is allocated
//!   beyond the room for the expanded result.
//! - What is packed expands to the same bytes as the plain form has.

mod bits;
mod read;
mod write;

pub(crate) use read::{ColumnsReader, Expanded};
pub(crate) use write::{ColumnPacker, PlainColumn};
