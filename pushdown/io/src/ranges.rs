// SPDX-License-Identifier: Apache-2.0
//! Joins near ranges of a file to spans, each of which is one read.
//!
//! The default bound of a gap is [`crate::GAP_BYTES`].

use std::ops::Range;

use bytes::Bytes;

use crate::{begin, error::Error};

/// Spans grow by joining up to this length: whoever keeps one range keeps the memory of its span.
const SPAN_BYTES_MAX: u64 = 16 << 20;

/// What to read for a list of ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spans {
    /// In ascending order of their first bytes; none is empty.
    pub(crate) spans: Vec<Range<u64>>,
    /// For each range the number of its span; none for an empty range.
    pub(crate) of: Vec<Option<usize>>,
}

impl Spans {
    /// The bytes of each range, as parts of those of the spans.
    pub(crate) fn cut(&self, ranges: &[Range<u64>], buffers: &[Bytes]) -> Vec<Bytes> {
        let of_range = |(range, span): (&Range<u64>, &Option<usize>)| {
            let Some(span) = *span else { return Bytes::new() };
            let start = self.spans[span].start;
            let at = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
            buffers[span].slice(at(range.start)..at(range.end))
        };
        ranges.iter().zip(&self.of).map(of_range).collect()
    }
}

/// Joins ranges with at most `gap_bytes` between them.
///
/// # Errors
/// [`Error::Range`] for a range that ends before it begins or fits in no memory.
pub(crate) fn join(ranges: &[Range<u64>], gap_bytes: u64) -> Result<Spans, Error> {
    for range in ranges {
        begin::place(range)?;
    }
    let mut order: Vec<usize> = (0..ranges.len()).filter(|at| !ranges[*at].is_empty()).collect();
    order.sort_by_key(|at| (ranges[*at].start, ranges[*at].end));
    let mut spans: Vec<Range<u64>> = Vec::new();
    let mut of = vec![None; ranges.len()];
    for at in order {
        let range = &ranges[at];
        match spans.last_mut() {
            Some(span) if is_near(span, range, gap_bytes) => span.end = span.end.max(range.end),
            _ => spans.push(range.clone()),
        }
        of[at] = Some(spans.len() - 1);
    }
    Ok(Spans { spans, of })
}

/// Whether to read a range together with a span that begins no later.
fn is_near(span: &Range<u64>, range: &Range<u64>, gap_bytes: u64) -> bool {
    let is_within = range.end <= span.end;
    let is_close = range.start <= span.end.saturating_add(gap_bytes);
    is_within || (is_close && range.end - span.start <= SPAN_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn some(spans: &[usize]) -> Vec<Option<usize>> {
        spans.iter().copied().map(Some).collect()
    }

    #[rstest]
    #[case::apart(vec![0..10, 21..30], vec![0..10, 21..30], some(&[0, 1]))]
    #[case::near(vec![0..10, 20..30], vec![0..30], some(&[0, 0]))]
    #[case::unordered(vec![50..60, 0..9, 15..20], vec![0..20, 50..60], some(&[1, 0, 0]))]
    #[case::inside(vec![0..100, 10..20, 105..110], vec![0..110], some(&[0, 0, 0]))]
    #[case::empty(vec![5..5, 0..1], vec![0..1], vec![None, Some(0)])]
    #[case::none(vec![], vec![], vec![])]
    fn near_ranges_are_one_span(
        #[case] ranges: Vec<Range<u64>>,
        #[case] spans: Vec<Range<u64>>,
        #[case] of: Vec<Option<usize>>,
    ) {
        assert_eq!(join(&ranges, 10).unwrap(), Spans { spans, of });
    }

    #[test]
    fn long_spans_do_not_grow() {
        let ranges = [0..SPAN_BYTES_MAX, SPAN_BYTES_MAX..SPAN_BYTES_MAX + 1];
        assert_eq!(join(&ranges, 10).unwrap().spans, ranges);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "this is what is refused")]
    fn range_that_ends_before_it_begins_is_refused() {
        let refused = join(&[0..1, 9..3], 10);
        assert!(matches!(refused, Err(Error::Range { start: 9, end: 3 })), "{refused:?}");
    }
}
