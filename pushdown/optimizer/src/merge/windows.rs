// SPDX-License-Identifier: Apache-2.0
//! Splits a merge of many sorted units into windows: smaller merges that follow one another.
//!
//! A drive merges a few inputs at a time, in its own memory. So the keys are cut into spans, in
//! order, such that few units have keys in each; a unit that reaches over a cut is read once on
//! either side of it. Units whose keys do not overlap need no merge at all: each is a window.
//!
//! ```text
//! keys        0        10        20        30
//! unit 0      |---------|
//! unit 1           |---------|
//! unit 2                          |---|
//! windows     |  0, 1        |    | 2 |          with two inputs or more
//!             | 0 | 0, 1 | 1 |                   never: two inputs suffice
//! ```
//!
//! # Invariants
//!
//! - Each row of each unit is in exactly one window.
//! - No key of a window is equal to or behind one of the next, so rows that tie on the first key
//!   are merged together.

use std::cmp::{max, min};

/// The position of a key in the order of a sort: ascending, nulls included. See [`rank`].
pub(crate) type Rank = i128;

/// The rank of NULLs that come first.
pub(crate) const NULLS_FIRST: Rank = Rank::MIN;

/// The rank of NULLs that come last.
pub(crate) const NULLS_LAST: Rank = Rank::MAX;

/// The rank of a number.
pub(crate) fn rank(number: i64, descending: bool) -> Rank {
    let number = Rank::from(number);
    if descending { -number } else { number }
}

/// The ranks from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: Rank,
    pub(crate) last: Rank,
}

impl Span {
    /// Every rank there is.
    pub(crate) const ALL: Self = Self { first: NULLS_FIRST, last: NULLS_LAST };

    /// The ranks of all numbers, whichever way they are sorted.
    pub(crate) const fn of_numbers() -> Self {
        // The negative of the least number has no place among those of 64 bits.
        Self { first: i64::MIN as Rank, last: -(i64::MIN as Rank) }
    }

    /// The smallest span with both in it.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { first: min(self.first, other.first), last: max(self.last, other.last) }
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// A sorted unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// The ranks of its first keys.
    pub(crate) span: Span,
    /// Device memory that it needs.
    pub(crate) bytes: u64,
}

/// The limits of one merge, and whether units may be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// Inputs of one merge.
    pub(crate) inputs_max: usize,
    /// Device memory of one merge.
    pub(crate) bytes_max: u64,
    /// Whether a unit can be read in part, by a range of its first key.
    pub(crate) can_cut: bool,
}

/// Units that are merged at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// Which runs, by number, in the order of their numbers.
    pub(crate) runs: Vec<usize>,
    /// The rows of them that belong to the window; all rows when nothing was cut.
    pub(crate) part: Option<Span>,
}

/// The windows of `runs`, in the order of their keys; nothing when more runs than a drive can merge
/// overlap in one place.
pub(crate) fn windows(runs: &[Run], terms: Terms) -> Option<Vec<Window>> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|run| (runs[*run].span.first, *run));
    let mut found = Vec::new();
    let mut cluster: Vec<usize> = Vec::new();
    let mut reach: Option<Span> = None;
    for run in order {
        let span = runs[run].span;
        match reach.filter(|reach| reach.overlaps(span)) {
            Some(before) => reach = Some(before.with(span)),
            None => {
                found.extend(windows_of_cluster(runs, std::mem::take(&mut cluster), terms)?);
                reach = Some(span);
            }
        }
        cluster.push(run);
    }
    found.extend(windows_of_cluster(runs, cluster, terms)?);
    Some(found)
}

/// The windows of runs that overlap, each with another.
fn windows_of_cluster(runs: &[Run], mut cluster: Vec<usize>, terms: Terms) -> Option<Vec<Window>> {
    cluster.sort_unstable();
    if cluster.is_empty() {
        return Some(Vec::new());
    }
    // A single unit is not merged, however large it is.
    if cluster.len() == 1 || fits(runs, &cluster, terms) {
        return Some(vec![Window { runs: cluster, part: None }]);
    }
    if !terms.can_cut {
        return None;
    }
    let mut ends: Vec<Rank> = cluster.iter().map(|run| runs[*run].span.last).collect();
    // In front of a unit that begins there is a place to cut, too.
    ends.extend(cluster.iter().filter_map(|run| runs[*run].span.first.checked_sub(1)));
    ends.sort_unstable();
    ends.dedup();
    let whole = cluster.iter().map(|run| runs[*run].span).reduce(Span::with)?;
    let mut first = whole.first;
    let mut found = Vec::new();
    while first <= whole.last {
        let part_to = |last: Rank| Span { first, last };
        let within = |last: &&Rank| **last >= first && **last <= whole.last;
        let last = ends
            .iter()
            .filter(within)
            .copied()
            .take_while(|last| fits(runs, &overlapping(runs, &cluster, part_to(*last)), terms));
        let part = part_to(last.last()?);
        found.push(Window { runs: overlapping(runs, &cluster, part), part: Some(part) });
        match part.last.checked_add(1) {
            Some(next) => first = next,
            None => break,
        }
    }
    Some(found)
}

fn overlapping(runs: &[Run], cluster: &[usize], part: Span) -> Vec<usize> {
    cluster.iter().copied().filter(|run| runs[*run].span.overlaps(part)).collect()
}

fn fits(runs: &[Run], some: &[usize], terms: Terms) -> bool {
    let bytes = some.iter().fold(0u64, |sum, run| sum.saturating_add(runs[*run].bytes));
    some.len() <= terms.inputs_max && bytes <= terms.bytes_max
}

impl Window {
    /// The part of a run that belongs to the window; nothing when all of it does. The first and the
    /// last part of a run are unbounded, so that a wrong footer does not lose a row.
    pub(crate) fn part_of(&self, run: Span) -> Option<Span> {
        let part = self.part.filter(|part| !part.contains(run))?;
        let first = if part.first <= run.first { NULLS_FIRST } else { part.first };
        let last = if run.last <= part.last { NULLS_LAST } else { part.last };
        Some(Span { first, last })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(first: Rank, last: Rank) -> Run {
        Run { span: Span { first, last }, bytes: 1 }
    }

    fn terms(inputs_max: usize) -> Terms {
        Terms { inputs_max, bytes_max: u64::MAX, can_cut: true }
    }

    fn whole(runs: &[usize]) -> Window {
        Window { runs: runs.to_vec(), part: None }
    }

    fn part(runs: &[usize], first: Rank, last: Rank) -> Window {
        Window { runs: runs.to_vec(), part: Some(Span { first, last }) }
    }

    #[test]
    fn units_that_do_not_overlap_are_separate_windows() {
        let runs = [run(20, 29), run(0, 9), run(10, 19)];
        let expected = [whole(&[1]), whole(&[2]), whole(&[0])];
        assert_eq!(windows(&runs, terms(2)).unwrap(), expected);
    }

    #[test]
    fn units_that_share_one_key_are_merged() {
        let runs = [run(0, 9), run(9, 19), run(20, 20)];
        assert_eq!(windows(&runs, terms(2)).unwrap(), [whole(&[0, 1]), whole(&[2])]);
    }

    #[test]
    fn chain_of_too_many_units_is_cut_where_units_end_or_begin() {
        let runs = [run(0, 10), run(5, 20), run(15, 30)];
        let expected = [part(&[0, 1], 0, 14), part(&[1, 2], 15, 30)];
        assert_eq!(windows(&runs, terms(2)).unwrap(), expected);
    }

    #[test]
    fn two_long_files_side_by_side_are_read_little_more_than_once() {
        let file = |shift: Rank| (0..40).map(move |at| run(at * 10 + shift, at * 10 + 9 + shift));
        let runs: Vec<Run> = file(0).chain(file(5)).collect();
        let found = windows(&runs, terms(16)).unwrap();
        let reads: usize = found.iter().map(|window| window.runs.len()).sum();
        assert!((80..=90).contains(&reads), "{reads} reads of 80 units");
    }

    #[test]
    fn too_many_units_that_overlap_in_one_key_have_no_windows() {
        let runs = [run(0, 10), run(0, 10), run(0, 10)];
        assert_eq!(windows(&runs, terms(2)), None);
        let fixed = Terms { can_cut: false, ..terms(2) };
        assert_eq!(windows(&[run(0, 10), run(5, 20), run(15, 30)], fixed), None);
        let small = Terms { bytes_max: 1, ..terms(3) };
        assert_eq!(windows(&runs, small), None);
    }

    #[test]
    fn null_is_a_key_of_a_window() {
        let runs = [run(0, NULLS_LAST), run(3, NULLS_LAST), run(NULLS_FIRST, NULLS_LAST)];
        assert_eq!(windows(&runs, terms(3)).unwrap(), [whole(&[0, 1, 2])]);
        assert_eq!(windows(&runs, terms(2)), None);
    }

    #[test]
    fn only_units_across_a_cut_are_read_in_part() {
        let window = part(&[0, 1], 0, 14);
        assert_eq!(window.part_of(Span { first: 0, last: 10 }), None);
        let front = Span { first: NULLS_FIRST, last: 14 };
        assert_eq!(window.part_of(Span { first: 5, last: 20 }), Some(front));
        let middle = window.part_of(Span { first: -5, last: 20 });
        assert_eq!(middle, window.part);
        assert_eq!(whole(&[0]).part_of(Span::ALL), None);
    }

    proptest! {
        #[test]
        fn each_key_of_each_unit_is_in_one_window(
            spans in prop::collection::vec((-20i64..20, 0i64..12), 0..12),
            inputs_max in 1usize..6,
        ) {
            let runs: Vec<Run> = spans
                .iter()
                .map(|(first, length)| run(rank(*first, false), rank(first + length, false)))
                .collect();
            if let Some(found) = windows(&runs, terms(inputs_max)) {
                for (number, Run { span, .. }) in runs.iter().enumerate() {
                    for key in span.first..=span.last {
                        let of_key = |window: &&Window| {
                            let holds = |part: Span| part.first <= key && key <= part.last;
                            let is_run = window.runs.contains(&number);
                            is_run && window.part_of(*span).is_none_or(holds)
                        };
                        prop_assert_eq!(found.iter().filter(of_key).count(), 1);
                    }
                }
                let mut reached = None;
                for window in &found {
                    prop_assert!(window.runs.len() <= inputs_max || window.runs.len() == 1);
                    let spans = window.runs.iter().map(|run| runs[*run].span);
                    let whole = spans.reduce(Span::with).unwrap();
                    let part = window.part.unwrap_or(whole);
                    let (first, last) = (max(part.first, whole.first), min(part.last, whole.last));
                    prop_assert!(reached.is_none_or(|before| before < first));
                    reached = Some(last);
                }
            }
        }
    }
}
