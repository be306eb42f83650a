// SPDX-License-Identifier: Apache-2.0
//! Plans the requests to the media that load the inputs of a unit into device memory.
//!
//! Chunks that are close together are read as one span, since a small request costs more than the
//! bytes between them, and a span has the same layout in device memory as in its file. Long spans
//! are cut into requests that a drive keeps in flight beside each other.
//!
//! # Invariants
//!
//! - Every byte of every input is in one span, and at the place that [`MediaPlan::places`] says.
//! - Spans do not meet, neither in a file nor in device memory, and begin and end on a block, or at
//!   the end of their file.
//! - The plan is a function of the inputs: host and drive come to the same.

use crate::input::{InputRef, Version};

/// Reads that go past the cache of the host begin and end on a multiple of this.
pub const BLOCK_BYTES: u64 = 4096;

/// Bytes between two chunks up to which both are read at once. A request of a block takes 80 us
/// and is one of eight in flight; in 10 us the media give 32 KiB.
pub const GAP_BYTES_MAX: u64 = 32 << 10;

/// Bytes of a request at most. Three of them in flight are as fast as any number.
pub const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// A run of bytes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The number that the drive gave the file.
    pub file_id: u64,
    /// The version of the file at planning time.
    pub version: Version,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// First byte in the device memory of the inputs.
    pub place: u64,
}

impl Span {
    /// Sizes of the requests that read it, in their order.
    pub fn requests(&self) -> impl Iterator<Item = u64> {
        let length = self.length;
        (0..length.div_ceil(REQUEST_BYTES_MAX))
            .map(move |index| (length - index * REQUEST_BYTES_MAX).min(REQUEST_BYTES_MAX))
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// The blocks that a range of a file is on.
    fn around(file_id: u64, version: Version, offset: u64, length: u64) -> Self {
        let first = offset - offset % BLOCK_BYTES;
        let end = offset.saturating_add(length);
        let last = end.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX);
        // A file that ends sooner has no more; if its declared end is inside of a chunk, the whole
        // chunk is requested.
        let last = last.min(version.size_bytes.max(end));
        Self { file_id, version, offset: first, length: last.saturating_sub(first), place: 0 }
    }

    /// Whether `next`, which begins no sooner in the same order, is worth reading at once.
    fn reaches(&self, next: &Self) -> bool {
        (self.file_id, self.version) == (next.file_id, next.version)
            && next.offset <= self.end().saturating_add(GAP_BYTES_MAX)
    }
}

/// The requests to the media, and the place of each input in the memory after them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaPlan {
    /// The spans, in the order of file and offset.
    pub spans: Vec<Span>,
    /// Of each input its first byte in device memory.
    pub places: Vec<u64>,
    /// Bytes of device memory for all inputs.
    pub bytes: u64,
}

impl MediaPlan {
    /// The plan for these inputs. What is no range of a file gets a place, and no span.
    pub fn of(inputs: &[InputRef]) -> Self {
        let mut ranges: Vec<Span> = inputs.iter().filter_map(span_of).collect();
        ranges.sort_unstable_by_key(|span| {
            (span.file_id, span.version.size_bytes, span.version.stamp, span.offset)
        });
        let mut spans: Vec<Span> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match spans.last_mut() {
                Some(span) if span.reaches(&range) => {
                    span.length = span.end().max(range.end()).saturating_sub(span.offset);
                }
                _ => spans.push(range),
            }
        }
        let mut bytes = 0;
        for span in &mut spans {
            span.place = bytes;
            bytes = block_behind(bytes, span.length);
        }
        let mut places = Vec::with_capacity(inputs.len());
        for input in inputs {
            let inside = span_of(input).and_then(|range| {
                let span = spans.iter().find(|span| {
                    (span.file_id, span.version) == (range.file_id, range.version)
                        && span.offset <= range.offset
                        && range.end() <= span.end()
                })?;
                let InputRef::FileRange { offset, .. } = input else { return None };
                Some(span.place.saturating_add(offset - span.offset))
            });
            places.push(inside.unwrap_or_else(|| {
                let place = bytes;
                bytes = block_behind(bytes, input.length().unwrap_or(0));
                place
            }));
        }
        Self { spans, places, bytes }
    }

    /// Bytes that are read from the media.
    pub fn media_bytes(&self) -> u64 {
        self.spans.iter().map(|span| span.length).fold(0, u64::saturating_add)
    }

    /// Sizes of all requests.
    pub fn requests(&self) -> impl Iterator<Item = u64> {
        self.spans.iter().flat_map(Span::requests)
    }
}

/// The blocks of an input; of an empty one none.
fn span_of(input: &InputRef) -> Option<Span> {
    match *input {
        InputRef::FileRange { file_id, version, offset, length } if length > 0 => {
            Some(Span::around(file_id, version, offset, length))
        }
        _ => None,
    }
}

/// The start of the first block that begins at least `length` bytes behind `from`.
fn block_behind(from: u64, length: u64) -> u64 {
    let end = from.saturating_add(length);
    end.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: Version = Version { size_bytes: 10 << 20, stamp: 1 };

    fn range(file_id: u64, offset: u64, length: u64) -> InputRef {
        InputRef::FileRange { file_id, version: VERSION, offset, length }
    }

    fn spans(inputs: &[InputRef]) -> Vec<(u64, u64, u64)> {
        let plan = MediaPlan::of(inputs);
        plan.spans.iter().map(|span| (span.file_id, span.offset, span.length)).collect()
    }

    #[test]
    fn neighbouring_chunks_are_one_request_with_the_layout_of_the_file() {
        let plan = MediaPlan::of(&[range(0, 9000, 1000), range(0, 5000, 4000)]);
        assert_eq!(plan.spans.len(), 1);
        assert_eq!((plan.spans[0].offset, plan.spans[0].length), (4096, 8192));
        assert_eq!(plan.places, [9000 - 4096, 5000 - 4096]);
        assert_eq!(plan.bytes, 8192);
    }

    #[test]
    fn gap_is_read_when_request_would_cost_more() {
        let near = range(0, 8192 + GAP_BYTES_MAX, 4096);
        assert_eq!(spans(&[range(0, 0, 8192), near]), [(0, 0, 12_288 + GAP_BYTES_MAX)]);
        let far = range(0, 12_288 + GAP_BYTES_MAX, 4096);
        assert_eq!(spans(&[range(0, 0, 8192), far.clone()]).len(), 2);
        // Another file is never near.
        assert_eq!(spans(&[range(0, 0, 8192), range(1, 8192, 4096)]).len(), 2);
    }

    #[test]
    fn spans_apart_in_the_file_are_apart_in_memory() {
        let plan = MediaPlan::of(&[range(0, 5 << 20, 100), range(0, 100, 5000)]);
        assert_eq!(plan.places, [8192, 100]);
        assert_eq!((plan.bytes, plan.media_bytes()), (12_288, 12_288));
    }

    #[test]
    fn long_spans_are_cut_into_requests() {
        let plan = MediaPlan::of(&[range(0, 4096, (2 << 20) + 1)]);
        assert_eq!(plan.requests().collect::<Vec<_>>(), [1 << 20, 1 << 20, 4096]);
    }

    #[test]
    fn requests_end_at_the_end_of_the_file() {
        let end = VERSION.size_bytes;
        assert_eq!(spans(&[range(0, end - 10, 10)]), [(0, end - 4096, 4096)]);
        let short = Version { size_bytes: 9000, stamp: 0 };
        let chunk = InputRef::FileRange { file_id: 0, version: short, offset: 8500, length: 500 };
        assert_eq!(spans(&[chunk]), [(0, 8192, 808)]);
    }

    #[test]
    fn empty_input_or_other_than_a_file_has_no_request() {
        let device = InputRef::DeviceRange { lease: 0, offset: 0, length: 100 };
        let plan = MediaPlan::of(&[device, range(0, 50, 0), range(0, 50, 10)]);
        assert_eq!(plan.spans.len(), 1);
        assert_eq!(plan.places, [4096, 8192, 50]);
        assert_eq!(plan.media_bytes(), 4096);
    }

    #[test]
    fn any_range_is_planned_without_overflow() {
        let version = Version { size_bytes: u64::MAX, stamp: 0 };
        let wild = InputRef::FileRange { file_id: 0, version, offset: u64::MAX - 5, length: 50 };
        let plan = MediaPlan::of(&[wild.clone(), wild, range(0, 0, u64::MAX)]);
        assert_eq!(plan.places.len(), 3);
    }
}
