// SPDX-License-Identifier: Apache-2.0
//! Cuts texts of others off.

use std::borrow::Cow;

/// What shows that a text was cut.
pub(crate) const CUT: &str = "...";

/// As much of a text as `bytes_max` allows, which is more than [`CUT`] has.
pub(crate) fn cut(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(CUT.len()));
    Cow::Owned(format!("{}{CUT}", &text[..end]))
}
