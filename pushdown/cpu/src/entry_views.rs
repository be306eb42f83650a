// SPDX-License-Identifier: Apache-2.0
//! Makes Arrow views of the byte strings of a dictionary, once for all rows, and checks strings for
//! UTF-8.

use arrow::array::make_view;

use crate::values::Strings;

/// Bytes of the longest string that a view has in itself.
pub(crate) const INLINE_BYTES_MAX: usize = 12;

/// The views of the entries of a dictionary, in buffer 0.
#[derive(Debug)]
pub(crate) struct EntryViews {
    /// `[entries]`
    pub(crate) views: Vec<u128>,
    /// Whether all of them are UTF-8.
    pub(crate) is_utf8: bool,
    /// Whether a view refers to the buffer.
    pub(crate) has_long: bool,
}

impl EntryViews {
    /// Those of the entries of a dictionary, which are in one buffer.
    pub(crate) fn of(entries: &Strings) -> Self {
        let rows = 0..entries.views.len();
        let views =
            rows.clone().map(|row| make_view(entries.get(row), 0, entries.views[row].start));
        Self {
            views: views.collect(),
            is_utf8: are_utf8(entries, rows.len()),
            has_long: rows.into_iter().any(|row| entries.get(row).len() > INLINE_BYTES_MAX),
        }
    }
}

/// Bytes per string up to which a whole stretch of a page is looked at rather than each string.
const STRETCH_BYTES_MAX: usize = 256;

/// Whether the strings of the first `rows` rows are UTF-8.
pub(crate) fn are_utf8(strings: &Strings, rows: usize) -> bool {
    // The stretch of the one buffer with all strings, and the lengths between them: bytes below 128
    // as long as no string is longer than that.
    if let ([buffer], Some(first), Some(last)) =
        (&*strings.buffers, strings.views.first(), strings.views[..rows].last())
        && strings.validity.is_none()
    {
        let stretch = first.start as usize..(last.start + last.length) as usize;
        let is_short = stretch.len() <= rows * STRETCH_BYTES_MAX;
        if is_short && buffer.get(stretch).is_some_and(<[u8]>::is_ascii) {
            return true;
        }
    }
    (0..rows).all(|row| is_utf8(strings.get(row)))
}

/// Whether a string is UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    bytes.is_ascii() || simdutf8::basic::from_utf8(bytes).is_ok()
}
