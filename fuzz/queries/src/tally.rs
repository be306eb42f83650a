// SPDX-License-Identifier: Apache-2.0
//! Counts the runs of each configuration and their outcomes, so that a drive without work is
//! visible.

use std::collections::BTreeMap;

use nearscan::QueryResult;
use serde::{Deserialize, Serialize};

/// The counts of the runs of one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Runs {
    /// All of them, those of rewrites too.
    pub runs: u64,
    /// Those that gave rows.
    pub answered: u64,
    /// Units of work that ran on a drive, and that were pushed back.
    pub units_drive: u64,
    /// See `units_drive`.
    pub units_cpu: u64,
}

/// Runs by the name of the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tally(BTreeMap<String, Runs>);

impl Runs {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.answered += other.answered;
        self.units_drive += other.units_drive;
        self.units_cpu += other.units_cpu;
    }
}

impl Tally {
    /// Notes a run of a way, with its result if it gave rows.
    pub(crate) fn count(&mut self, way: &str, result: Option<&QueryResult>) {
        let pushdown = result.map(|result| result.profile.pushdown());
        let units = pushdown.map_or((0, 0), |pushdown| (pushdown.units_drive, pushdown.units_cpu));
        let answered = u64::from(result.is_some());
        self.add(way, Runs { runs: 1, answered, units_drive: units.0, units_cpu: units.1 });
    }

    /// Adds other runs.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (way, runs) in &other.0 {
            self.add(way, *runs);
        }
    }

    fn add(&mut self, way: &str, runs: Runs) {
        self.0.entry(way.to_owned()).or_default().add(runs);
    }

    /// Those of one way.
    #[must_use]
    pub fn of(&self, way: &str) -> Runs {
        self.0.get(way).copied().unwrap_or_default()
    }

    /// Those of all ways.
    #[must_use]
    pub fn total(&self) -> Runs {
        let mut total = Runs::default();
        self.0.values().for_each(|runs| total.add(*runs));
        total
    }

    /// A line for each way.
    #[must_use]
    pub fn table(&self) -> String {
        let row = |(way, of): (&String, &Runs)| {
            let Runs { runs, answered, units_drive, units_cpu } = of;
            format!("{way:<16} {runs:>9} {answered:>9} {units_drive:>9} {units_cpu:>9}\n")
        };
        let head = ["way", "runs", "with rows", "on drives", "come back"];
        let [way, runs, answered, units_drive, units_cpu] = head;
        let head = format!("{way:<16} {runs:>9} {answered:>9} {units_drive:>9} {units_cpu:>9}\n");
        head + &self.0.iter().map(row).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_by_way() {
        let runs =
            |count| Runs { runs: count, answered: 2, units_drive: 3 * count, units_cpu: count };
        let mut tally = Tally::default();
        tally.count("off", None);
        tally.add("force", runs(1));
        let mut other = Tally::default();
        other.add("force", runs(10));
        tally.merge(&other);
        let force = Runs { runs: 11, answered: 4, units_drive: 33, units_cpu: 11 };
        assert_eq!(tally.of("force"), force);
        assert_eq!(tally.of("off"), Runs { runs: 1, ..Runs::default() });
        assert_eq!(tally.of("auto"), Runs::default());
        assert_eq!(tally.total(), Runs { runs: 12, ..force });
        let expected = "\
way                   runs with rows on drives come back
force                   11         4        33        11
off                      1         0         0         0
";
        assert_eq!(tally.table(), expected);
    }
}
