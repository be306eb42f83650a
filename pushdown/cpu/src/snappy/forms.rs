// SPDX-License-Identifier: Apache-2.0
//! What a tag says, as the fast loop needs it.

/// Bytes of a copy, at most.
pub(super) const COPY_MAX: usize = 64;

/// Bytes that most copies have at most.
pub(super) const NARROW_MAX: usize = 16;

/// More than an offset in two bytes can be.
const OFFSET_END: u32 = 1 << 16;

/// What the tag of a copy says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Bytes that are copied; 0 for what is not a copy with its offset in one or two bytes.
    pub(super) length: u32,
    /// The least offset from which [`NARROW_MAX`] bytes at once are right: then they are enough,
    /// and none of those that count is itself written by the copy.
    pub(super) offset_min: u32,
}

/// The forms of all tags.
pub(super) const FORMS: &[Form; 256] = &forms();

const fn forms() -> [Form; 256] {
    let mut forms = [Form { length: 0, offset_min: u32::MAX }; 256];
    let mut tag = 0;
    while tag < 256 {
        let high = tag >> 2;
        let length = match tag & 3 {
            1 => high % 8 + 4,
            2 => high + 1,
            _ => 0,
        };
        if length > 0 {
            let is_narrow = length as usize <= NARROW_MAX;
            let offset_min = if is_narrow { length } else { OFFSET_END };
            forms[tag as usize] = Form { length, offset_min };
        }
        tag += 1;
    }
    forms
}
