// SPDX-License-Identifier: Apache-2.0
//! Decompresses bodies in Snappy's raw format.
//!
//! A body is the length of what it becomes, as a varint, and elements: literals, which are copied
//! from the body, and copies, which repeat up to 64 bytes from some offset before.
//!
//! ```text
//! near an end     elements one by one, with all checks               element.rs
//! between them    steps of wide copies, which know the common forms  fast.rs, forms.rs
//! ```
//!
//! # What this module does not do
//!
//! It does not compress, and does not know the framed format, which Parquet files do not have.
//!
//! # Invariants
//!
//! - Any body ends in its bytes or in [`Status::Corrupt`]; nothing is read outside of the body and
//!   the output, and nothing is written outside of the output.
//! - After an error the output holds any bytes.
//! - What the fast loop does not know it leaves to the careful one, so that one place decides.

mod element;
#[expect(unsafe_code, reason = "copies without bounds checks gain a fifth in the bench `snappy`")]
mod fast;
mod forms;
#[cfg(test)]
mod tests;

use nearscan_command::Status;

use element::{Place, element};

/// Bytes that a length can take.
const LENGTH_BYTES_MAX: usize = 5;

/// The number of bytes that `body` says it becomes.
///
/// # Errors
/// [`Status::Corrupt`] if it does not start with a length.
pub fn length(body: &[u8]) -> Result<usize, Status> {
    preamble(body).map(|(length, _)| length)
}

/// Decompresses `body` into `out`, which it must fill.
///
/// # Errors
/// [`Status::Corrupt`] if it does not, or is not a body.
pub fn decompress(body: &[u8], out: &mut [u8]) -> Result<(), Status> {
    let (length, read) = preamble(body)?;
    if length != out.len() {
        return Err(Status::Corrupt);
    }
    let mut place = Place { read, written: 0 };
    while place.read < body.len() {
        place = element(body, out, place)?;
        place = fast::elements(body, out, place)?;
    }
    if place.written == length { Ok(()) } else { Err(Status::Corrupt) }
}

/// The length at the start of `body`, and how many bytes it takes.
fn preamble(body: &[u8]) -> Result<(usize, usize), Status> {
    let mut length = 0;
    for (index, byte) in body.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let length = u32::try_from(length).map_err(|_| Status::Corrupt)?;
            return Ok((length as usize, index + 1));
        }
    }
    Err(Status::Corrupt)
}
