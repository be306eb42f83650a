// SPDX-License-Identifier: Apache-2.0
//! Chooses where windows begin, by the ranges of the row groups of all inputs.
//!
//! ```text
//! keys        0        10        20        30        40
//! orders      |-----------------||------------------|
//! lineitem    |-------||--------||---------||-------|
//! windows     |       ||        ||         ||       |
//! ```
//!
//! A row group that reaches over a cut is read on either side of it, so a cut costs its rows. Among
//! the keys that make a window of about the wanted size, the cheapest one is taken.
//!
//! # Invariants
//!
//! - Any cuts give the same rows; they differ in the work only.

use std::collections::BTreeMap;

use crate::fused::{Cuts, KeyBounds};

/// Rows of a window, where there are enough: their groups, or the table of one side of a join, take
/// a few MB, about what a core has of the cache. Not measured.
const WINDOW_ROWS: u64 = 1 << 20;

/// Rows of a window, at least, so that opening its row groups and starting its operators is a small
/// part of its time. Assumed: some 0.1 ms, and ten times as long for these rows.
const WINDOW_ROWS_MIN: u64 = 1 << 14;

/// Windows of a partition that make up for windows of different size.
const WINDOWS_OF_PARTITION: u64 = 8;

/// Windows of a partition, at least.
const WINDOWS_OF_PARTITION_MIN: usize = 2;

/// The share of rows that may be read again. Assumed: to distribute all of them by their keys costs
/// about as much as to read a quarter of them.
const READ_AGAIN_DIVISOR_MAX: u64 = 4;

/// Of a row group with NULL only the key is read again, in the first window.
const NULL_READ_DIVISOR: u64 = 8;

/// How often wider windows are tried, of twice the rows.
const WIDENINGS: u32 = 2;

/// A row group of an input.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) bounds: KeyBounds,
    pub(super) rows: u64,
}

/// A key at which a window can begin.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    key: i64,
    /// Rows of row groups that begin before it.
    begun: u64,
    /// Rows of row groups that end before it.
    ended: u64,
}

impl Place {
    /// Rows that are read on either side.
    const fn cost(self) -> u64 {
        self.begun - self.ended
    }

    /// Rows before it, about.
    const fn position(self) -> u64 {
        self.ended + self.cost() / 2
    }
}

/// The windows of some row groups, for an operator of so many partitions; nothing if too many rows
/// would be read again, or there would be too few windows to keep the partitions busy.
pub(super) fn cuts(groups: &[Group], partitions: usize) -> Option<Cuts> {
    let total: u64 = groups.iter().map(|group| group.rows).sum();
    let places = places(groups);
    let partitions_wanted = (partitions as u64).saturating_mul(WINDOWS_OF_PARTITION).max(1);
    let rows = (total / partitions_wanted).clamp(WINDOW_ROWS_MIN, WINDOW_ROWS);
    let tried = (0..=WIDENINGS).map(|widening| chosen(&places, total, rows << widening));
    let mut cuts = tried.map(|chosen| Cuts::new(with_null_window(chosen, groups)));
    cuts.find(|cuts| is_worthwhile(cuts, groups, total, partitions))
}

/// The keys at which row groups begin, or behind which they end, in ascending order.
fn places(groups: &[Group]) -> Vec<Place> {
    // Rows of row groups that begin, and that end, directly before a key.
    let mut rows_at: BTreeMap<i64, [u64; 2]> = BTreeMap::new();
    for Group { bounds, rows } in groups {
        let Some(span) = &bounds.span else { continue };
        for (side, key) in [*span.start(), *span.end()].into_iter().enumerate() {
            rows_at.entry(key).or_default();
            if let Some(after) = key.checked_add(1) {
                rows_at.entry(after).or_default()[side] += rows;
            }
        }
    }
    let spans = groups.iter().filter_map(|group| group.bounds.span.as_ref());
    let Some(last) = spans.map(|span| *span.end()).max() else { return Vec::new() };
    let mut place = Place::default();
    let after = |(key, [begun, ended]): (i64, [u64; 2])| {
        place = Place { key, begun: place.begun + begun, ended: place.ended + ended };
        place
    };
    // Behind the last key there is no window.
    rows_at.into_iter().filter(|(key, _)| *key <= last).map(after).collect()
}

/// Keys at which windows of about `rows` begin.
fn chosen(places: &[Place], total: u64, rows: u64) -> Vec<i64> {
    let mut keys = Vec::new();
    let mut before = 0;
    let mut rest = places;
    while total.saturating_sub(before) > rows + rows / 2 {
        let start = rest.partition_point(|place| place.position() < before + rows / 2);
        rest = &rest[start..];
        let end = rest.partition_point(|place| place.position() <= before + rows + rows / 2);
        // Where a row group is longer than a window, behind it.
        let near = &rest[..end.max(1).min(rest.len())];
        let distance = |place: &Place| place.position().abs_diff(before + rows);
        let Some(best) = near.iter().min_by_key(|place| (place.cost(), distance(place))) else {
            break;
        };
        let Place { key, .. } = *best;
        keys.push(key);
        before = best.position();
        rest = &rest[rest.partition_point(|place| place.key <= key)..];
    }
    keys
}

/// The keys, and the least key of all if there may be NULL, which then has a window of its own.
fn with_null_window(mut keys: Vec<i64>, groups: &[Group]) -> Vec<i64> {
    let spans = groups.iter().filter_map(|group| group.bounds.span.as_ref());
    let least = spans.map(|span| *span.start()).min().filter(|least| *least > i64::MIN);
    let has_null = groups.iter().any(|group| group.bounds.may_have_null);
    if let Some(least) = least.filter(|least| has_null && keys.first() != Some(least)) {
        keys.insert(0, least);
    }
    keys
}

fn is_worthwhile(cuts: &Cuts, groups: &[Group], total: u64, partitions: usize) -> bool {
    let mut of_window = vec![0; cuts.windows()];
    for Group { bounds, rows } in groups {
        for window in cuts.windows_of(bounds) {
            let is_of_null = window == 0 && bounds.may_have_null && bounds.span.is_some();
            of_window[window] += if is_of_null { rows / NULL_READ_DIVISOR } else { *rows };
        }
    }
    let read: u64 = of_window.iter().sum();
    let longest = of_window.iter().copied().max().unwrap_or(0);
    cuts.windows() >= partitions.saturating_mul(WINDOWS_OF_PARTITION_MIN)
        && read.saturating_sub(total) <= total / READ_AGAIN_DIVISOR_MAX
        // One partition would work alone at the end.
        && longest <= total / (partitions as u64).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROWS: u64 = 20_000;

    fn group(first: i64, last: i64) -> Group {
        Group { bounds: KeyBounds { span: Some(first..=last), may_have_null: false }, rows: ROWS }
    }

    fn groups(count: i64, of: impl Fn(i64) -> (i64, i64)) -> Vec<Group> {
        (0..count).map(of).map(|(first, last)| group(first, last)).collect()
    }

    /// Rows that are read more than once.
    fn read_again(cuts: &Cuts, groups: &[Group]) -> u64 {
        let again = |group: &Group| (cuts.windows_of(&group.bounds).len() as u64 - 1) * group.rows;
        groups.iter().map(again).sum()
    }

    #[test]
    fn disjoint_row_groups_are_cut_between_them() {
        let groups = groups(10, |at| (at * 10, at * 10 + 9));
        let cuts = cuts(&groups, 2).unwrap();
        assert_eq!(cuts, Cuts::new((1..10).map(|at| at * 10).collect()));
        assert_eq!(read_again(&cuts, &groups), 0);
    }

    #[test]
    fn row_groups_that_share_a_key_with_the_next_are_cut_at_a_little_cost() {
        let groups = groups(40, |at| (at * 10, at * 10 + 10));
        let cuts = cuts(&groups, 2).unwrap();
        assert!((4..=20).contains(&cuts.windows()), "{cuts:?}");
        assert!(read_again(&cuts, &groups) <= 10 * ROWS, "{cuts:?}");
    }

    #[test]
    fn two_inputs_are_cut_where_row_groups_of_both_begin() {
        let mut all = groups(40, |at| (at * 10, at * 10 + 9));
        all.extend(groups(10, |at| (at * 40, at * 40 + 39)));
        // An eighth of the rows makes a window.
        let cuts = cuts(&all, 1).unwrap();
        assert!(cuts.windows() >= 4, "{cuts:?}");
        assert_eq!(read_again(&cuts, &all), 0, "{cuts:?}");
    }

    #[test]
    fn many_rows_are_cut_into_windows_of_the_wanted_size() {
        let mut groups = groups(1000, |at| (at * 10, at * 10 + 9));
        groups.iter_mut().for_each(|group| group.rows = WINDOW_ROWS / 10);
        assert_eq!(cuts(&groups, 8).unwrap().windows(), 100);
    }

    #[test]
    fn null_has_a_window_of_its_own() {
        let mut groups = groups(10, |at| (at * 10, at * 10 + 9));
        groups[3].bounds.may_have_null = true;
        let cuts = cuts(&groups, 2).unwrap();
        assert_eq!(cuts.windows(), 11);
        assert_eq!(cuts.windows_of(&groups[0].bounds), [1]);
        assert_eq!(cuts.windows_of(&groups[3].bounds), [0, 4]);
        let nothing_else = KeyBounds { span: None, may_have_null: true };
        assert_eq!(cuts.windows_of(&nothing_else), [0]);
    }

    #[test]
    fn row_groups_that_overlap_everywhere_have_no_windows() {
        assert_eq!(cuts(&groups(50, |_| (0, 1000)), 2), None);
        assert_eq!(cuts(&groups(50, |at| (at, at + 20)), 2), None);
        assert_eq!(cuts(&[], 2), None);
    }

    #[test]
    fn row_group_without_bounds_overlaps_everything() {
        let mut groups = groups(10, |at| (at * 10, at * 10 + 9));
        groups[0].bounds = KeyBounds { span: Some(i64::MIN..=i64::MAX), may_have_null: true };
        assert_eq!(cuts(&groups, 2), None);
        groups[0].rows = 1000;
        assert!(cuts(&groups, 2).is_some());
    }

    #[test]
    fn too_few_or_uneven_windows_are_refused() {
        let mut groups = groups(10, |at| (at * 10, at * 10 + 9));
        assert_eq!(cuts(&groups, 6), None);
        groups[3].rows = 11 * ROWS;
        assert_eq!(cuts(&groups, 2), None);
    }

    proptest! {
        #[test]
        fn windows_are_in_order_and_reread_within_the_limit(
            spans in prop::collection::vec((-500i64..500, 0i64..60, 0u64..40_000), 0..80),
            partitions in 1usize..4,
        ) {
            let of = |(first, length, rows): &(i64, i64, u64)| {
                Group { rows: *rows, ..group(*first, first + length) }
            };
            let groups: Vec<Group> = spans.iter().map(of).collect();
            if let Some(cuts) = cuts(&groups, partitions) {
                let total: u64 = groups.iter().map(|group| group.rows).sum();
                prop_assert!(read_again(&cuts, &groups) <= total / READ_AGAIN_DIVISOR_MAX);
                prop_assert!(cuts.windows() >= 2 * partitions);
                for Group { bounds, .. } in &groups {
                    let windows = cuts.windows_of(bounds);
                    prop_assert!(windows.is_sorted_by(|window, next| window + 1 == *next));
                    prop_assert!(windows.iter().all(|window| *window < cuts.windows()));
                }
            }
        }
    }
}
