// SPDX-License-Identifier: Apache-2.0
//! Compares the pages of a chunk with those of its page index.

use bytes::Bytes;
use nearscan_command::Chunk;

use crate::{buffers::Buffers, pages::Pages};

/// Whether the pages of values in `bytes`, a whole chunk of `rows` rows, begin with these rows, by
/// their headers; not if a header cannot be read.
#[must_use]
pub fn has_pages_at(chunk: &Chunk, bytes: &Bytes, rows: u64, first_rows: &[u64]) -> bool {
    let mut pages = Pages::new(*chunk, bytes.clone(), rows, Buffers::default());
    let mut first_rows = first_rows.iter();
    let mut row = 0;
    loop {
        match pages.next_raw() {
            // A dictionary.
            Ok(Some(page)) if page.rows == 0 => {}
            Ok(Some(page)) if first_rows.next() == Some(&row) => row += page.rows as u64,
            Ok(Some(_)) | Err(_) => return false,
            Ok(None) => return first_rows.next().is_none(),
        }
    }
}
