// SPDX-License-Identifier: Apache-2.0
//! Sums up all runs: counts by kind of fault, and every bad run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use crate::{
    limits::{End, LIMITS_MIB, Limited},
    walk::{Run, Verdict},
};

/// The name of the row of runs with all kinds of faults.
pub const MIXTURES: &str = "mixtures";

/// The name of the row of runs into quarantine and out of it.
pub const QUARANTINE: &str = "quarantine";

/// Counts of one kind of fault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Runs.
    pub runs: u64,
    /// Queries.
    pub queries: BTreeSet<&'static str>,
    /// Faults that struck.
    pub struck: u64,
    /// Runs in which the drive delivered all units all the same.
    pub carried: u64,
    /// Runs in which units came back to the host.
    pub pushed_back: u64,
    /// Units that came back, by reason.
    pub reasons: BTreeMap<String, u64>,
    /// Fragments that were in quarantine afterwards.
    pub quarantined: usize,
    /// Runs that ended in an error.
    pub errors: u64,
    /// Runs with wrong rows, without an end, or with a panic.
    pub wrong: u64,
    /// Runs that left something behind.
    pub leaks: u64,
}

/// All runs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tally {
    /// Counts by kind of fault, in the order in which they came.
    pub kinds: Vec<(String, Row)>,
    /// Runs that were not good.
    pub bad: Vec<Run>,
    /// Queries under limits of memory.
    pub limits: Vec<Limited>,
}

impl Tally {
    /// Counts a run.
    pub fn add(&mut self, kind: &str, run: Run) {
        match self.kinds.iter_mut().find(|(name, _)| name == kind) {
            Some((_, row)) => row.add(&run),
            None => {
                let mut row = Row::default();
                row.add(&run);
                self.kinds.push((kind.to_owned(), row));
            }
        }
        if !run.is_good() {
            self.bad.push(run);
        }
    }

    /// Whether all went well.
    pub fn is_good(&self) -> bool {
        self.bad.is_empty() && self.limits.iter().all(Limited::is_good)
    }

    /// Counts of all kinds.
    pub fn total(&self) -> Row {
        let mut total = Row::default();
        for (_, row) in &self.kinds {
            total.runs += row.runs;
            total.queries.extend(&row.queries);
            total.struck += row.struck;
            total.carried += row.carried;
            total.pushed_back += row.pushed_back;
            for (word, count) in &row.reasons {
                *total.reasons.entry(word.clone()).or_default() += count;
            }
            total.quarantined += row.quarantined;
            total.errors += row.errors;
            total.wrong += row.wrong;
            total.leaks += row.leaks;
        }
        total
    }
}

impl Row {
    fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.queries.insert(run.case);
        self.struck += run.struck;
        for (word, count) in &run.pushed_back {
            *self.reasons.entry(word.clone()).or_default() += count;
        }
        self.quarantined += run.quarantined;
        match &run.verdict {
            Verdict::Right if run.pushed_back.is_empty() => self.carried += 1,
            Verdict::Right => self.pushed_back += 1,
            Verdict::Failed(_) | Verdict::ServerGone(_) => self.errors += 1,
            Verdict::Wrong(_) | Verdict::Broken(_) => self.wrong += 1,
        }
        self.leaks += u64::from(!run.leaks.is_empty());
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let reasons: Vec<String> =
            self.reasons.iter().map(|(word, count)| format!("{word} {count}")).collect();
        writeln!(
            f,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.queries.len(),
            self.runs,
            self.struck,
            self.carried,
            self.pushed_back,
            reasons.join(", "),
            self.quarantined,
            self.errors,
            self.wrong,
            self.leaks
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kinds.is_empty() {
            writeln!(
                f,
                "| fault | queries | runs | struck | drive delivers all | units come back | \
                 units by reason | fragments quarantined | errors | wrong | leaks |"
            )?;
            writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|")?;
            for (name, row) in &self.kinds {
                row.write(f, name)?;
            }
            self.total().write(f, "all")?;
        }
        if !self.limits.is_empty() {
            write_limits(f, &self.limits)?;
        }
        for run in &self.bad {
            let Run { case, faults, seed, verdict, leaks, .. } = run;
            writeln!(f, "{case} faults={faults} seed={seed}: {verdict:?}, left: {leaks:?}")?;
        }
        for run in self.limits.iter().filter(|run| !run.is_good()) {
            writeln!(f, "{run:?}")?;
        }
        Ok(())
    }
}

fn write_limits(f: &mut fmt::Formatter<'_>, all: &[Limited]) -> fmt::Result {
    writeln!(
        f,
        "| limit | queries | rows, off | rows, force | memory error, off | memory error, \
                 force | force alone fails | wrong | leaks |"
    )?;
    writeln!(f, "|---|---|---|---|---|---|---|---|---|")?;
    for limit in LIMITS_MIB {
        let of_limit: Vec<&Limited> = all.iter().filter(|run| run.limit_mib == limit).collect();
        let count = |is: &dyn Fn(&Limited) -> bool| of_limit.iter().filter(|run| is(run)).count();
        let is_bad = |end: &End| matches!(end, End::Bad(_));
        writeln!(
            f,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            limit.map_or_else(|| "none".to_owned(), |mib| format!("{mib} MiB")),
            of_limit.len(),
            count(&|run| run.off == End::Rows),
            count(&|run| run.force == End::Rows),
            count(&|run| run.off == End::Memory),
            count(&|run| run.force == End::Memory),
            count(&Limited::is_worse),
            count(&|run| is_bad(&run.off) || is_bad(&run.force)),
            count(&|run| !run.leaks.is_empty()),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(verdict: Verdict, reasons: &[(&str, u64)], leaks: &[&str]) -> Run {
        Run {
            case: "q06",
            faults: "hang@1".to_owned(),
            seed: 0,
            submitted: 4,
            struck: 1,
            units_drive: 3,
            units_cpu: 1,
            quarantined: 2,
            pushed_back: reasons.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect(),
            verdict,
            leaks: leaks.iter().map(|leak| (*leak).to_owned()).collect(),
        }
    }

    #[test]
    fn runs_are_counted_by_outcome() {
        let mut tally = Tally::default();
        tally.add("hang", run(Verdict::Right, &[("timeout", 2)], &[]));
        tally.add("slow", run(Verdict::Right, &[], &[]));
        assert!(tally.is_good());
        let total = tally.total();
        assert_eq!((total.runs, total.struck, total.carried, total.pushed_back), (2, 2, 1, 1));
        assert!(
            tally.to_string().contains("| hang | 1 | 1 | 1 | 0 | 1 | timeout 2 | 2 | 0 | 0 | 0 |")
        );
    }

    #[test]
    fn wrong_row_error_and_leak_are_bad_and_reported() {
        for (verdict, leaks) in [
            (Verdict::Wrong("2".to_owned()), &[][..]),
            (Verdict::Failed("no".to_owned()), &[]),
            (Verdict::Broken("panicked"), &[]),
            (Verdict::Right, &["1 tasks"]),
        ] {
            let mut tally = Tally::default();
            tally.add("hang", run(verdict, &[], leaks));
            assert!(!tally.is_good());
            assert!(tally.to_string().contains("q06 faults=hang@1 seed=0: "), "{tally}");
        }
    }

    #[test]
    fn drive_must_not_need_more_memory_than_the_host() {
        let limited = |off, force| {
            let limits =
                vec![Limited { case: "q06", limit_mib: Some(1), off, force, leaks: vec![] }];
            Tally { limits, ..Tally::default() }.is_good()
        };
        assert!(limited(End::Rows, End::Rows) && limited(End::Memory, End::Memory));
        assert!(limited(End::Memory, End::Rows));
        assert!(!limited(End::Rows, End::Memory));
        assert!(!limited(End::Rows, End::Bad("panicked".to_owned())));
    }
}
