// SPDX-License-Identifier: Apache-2.0
//! Decides by the rows that units kept which key filters are left out of later units of a scan.
//!
//! The bits of a filter tell how many of the possible keys it drops, not how many rows: those of
//! frequent keys may all pass. So the rows that ended units read and kept are counted by the
//! filters that these units had. Filters that kept nearly all rows together are left out. Where
//! most rows are kept, each filter is left out of one unit as a trial, and of all further ones if
//! that unit kept hardly more; where few are, a trial would send more than a filter costs, and
//! there is none.
//!
//! Files are often written in an order, so what holds of some units need not hold of later ones:
//! after [`PERIOD`] units everything is forgotten.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Units after which all filters are given again.
const PERIOD: u64 = 16;

/// Share of the rows that a filter keeps at least when it is left out: a look-up costs the drive
/// about as much as a value of a further column, and what it drops has to save that.
const KEPT_MAX: f64 = 0.9;

/// Share of the rows that are kept at least where filters are tried: less than twice as many can
/// come back of a unit without one of them.
const TRIED_MIN: f64 = 0.5;

/// A set of the filters of a scan, by their places: a bit each. Those behind the first 64 are in no
/// set, and are never left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Filters(u64);

impl Filters {
    /// The set of the filter at a place.
    pub(super) fn at(place: usize) -> Self {
        let shift = u32::try_from(place).unwrap_or(u32::MAX);
        Self(1_u64.checked_shl(shift).unwrap_or(0))
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it has a filter of another set.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Each of its filters, as a set of its own.
    fn each(self) -> impl Iterator<Item = Self> {
        (0..64).map(|shift| Self(1 << shift)).filter(move |one| self.meets(*one))
    }
}

/// What the key filters of a scan have kept, for all partitions.
#[derive(Debug, Default)]
pub(super) struct KeyTrials {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Units that were given filters in this period.
    units: u64,
    /// Rows of the units that have ended, by the filters that they had.
    rows: BTreeMap<Filters, Rows>,
    tried: Filters,
    left_out: Filters,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    read: u64,
    kept: u64,
}

impl Rows {
    fn share_kept(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let share = self.kept as f64 / self.read.max(1) as f64;
        share
    }
}

impl KeyTrials {
    /// The filters that the next unit is not given.
    pub(super) fn next_left_out(&self) -> Filters {
        let mut state = self.lock();
        if state.units == PERIOD {
            *state = State::default();
        }
        state.units += 1;
        state.left_out.with(state.next_trial())
    }

    /// Takes in that a unit with the `given` filters read some rows and kept some of them.
    pub(super) fn note(&self, given: Filters, read: u64, kept: u64) {
        let mut state = self.lock();
        let rows = state.rows.entry(given).or_default();
        *rows = Rows { read: rows.read + read, kept: rows.kept + kept };
        state.judge();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A filter to leave out of one unit, to see whether it drops rows.
    fn next_trial(&mut self) -> Filters {
        let usual = self.rows.iter().max_by_key(|(given, rows)| (rows.read, **given));
        let Some((given, rows)) = usual else { return Filters::default() };
        let untried = given.without(self.tried).without(self.left_out);
        let next = match rows.share_kept() >= TRIED_MIN {
            true => untried.each().next().unwrap_or_default(),
            false => Filters::default(),
        };
        self.tried = self.tried.with(next);
        next
    }

    fn judge(&mut self) {
        let mut useless = Filters::default();
        for (given, rows) in &self.rows {
            if rows.share_kept() > KEPT_MAX {
                useless = useless.with(*given);
            }
            for filter in given.each() {
                let without = self.rows.get(&given.without(filter));
                let is_useless =
                    without.is_some_and(|it| rows.share_kept() > it.share_kept() * KEPT_MAX);
                if is_useless {
                    useless = useless.with(filter);
                }
            }
        }
        self.left_out = self.left_out.with(useless);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(places: &[usize]) -> Filters {
        places.iter().fold(Filters::default(), |all, place| all.with(Filters::at(*place)))
    }

    /// Units of 100 rows one after the other, with the filters 0 and 1 as far as none is left out;
    /// `kept` tells how many rows are kept with some filters. Returns those of each unit.
    fn run(trials: &KeyTrials, units: usize, kept: impl Fn(Filters) -> u64) -> Vec<Filters> {
        let unit = |_| {
            let given = set(&[0, 1]).without(trials.next_left_out());
            trials.note(given, 100, kept(given));
            given
        };
        (0..units).map(unit).collect()
    }

    #[test]
    fn filters_that_keep_nearly_all_rows_are_left_out_of_the_next_unit() {
        let given = run(&KeyTrials::default(), 3, |_| 91);
        assert_eq!(given, [set(&[0, 1]), set(&[]), set(&[])]);
    }

    #[test]
    fn filter_that_drops_no_row_beside_one_that_does_is_left_out_after_a_trial() {
        let kept = |given: Filters| if given.meets(set(&[1])) { 60 } else { 100 };
        let given = run(&KeyTrials::default(), 5, kept);
        assert_eq!(given, [set(&[0, 1]), set(&[1]), set(&[]), set(&[1]), set(&[1])]);
    }

    #[test]
    fn filters_that_drop_rows_stay_after_a_trial_of_each() {
        let kept = |given: Filters| 100 - 20 * u64::from(given.0.count_ones());
        let given = run(&KeyTrials::default(), 5, kept);
        assert_eq!(given, [set(&[0, 1]), set(&[1]), set(&[0]), set(&[0, 1]), set(&[0, 1])]);
    }

    #[test]
    fn no_filter_is_tried_where_few_rows_are_kept() {
        let given = run(&KeyTrials::default(), 16, |_| 49);
        assert!(given.iter().all(|given| *given == set(&[0, 1])), "{given:?}");
    }

    #[test]
    fn filters_are_given_again_after_a_period() {
        let given = run(&KeyTrials::default(), 18, |_| 100);
        let expected = |unit| if unit == 0 || unit == 16 { set(&[0, 1]) } else { set(&[]) };
        assert_eq!(given, (0..18).map(expected).collect::<Vec<_>>());
    }

    #[test]
    fn units_that_began_before_any_has_ended_have_all_filters() {
        let trials = KeyTrials::default();
        let left_out: Vec<_> = (0..3).map(|_| trials.next_left_out()).collect();
        assert_eq!(left_out, [Filters::default(); 3]);
    }

    #[test]
    fn filter_behind_the_first_64_is_never_left_out() {
        let trials = KeyTrials::default();
        assert_eq!(Filters::at(64), Filters::default());
        trials.note(Filters::at(64), 100, 100);
        assert!(!trials.next_left_out().meets(Filters::at(64)));
    }
}
