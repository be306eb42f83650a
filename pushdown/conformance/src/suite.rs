// SPDX-License-Identifier: Apache-2.0
//! All cases against one drive.

use nearscan_drive::Drive;

use crate::case::Case;
use crate::cases;
use crate::executor::Executor;
use crate::fragments::random_case;
use crate::random::Random;
use crate::report::Report;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Seed of the random cases; the report names it.
    pub seed: u64,
    /// Random fragments over random data.
    pub random_cases: u32,
    /// Only cases whose name starts so.
    pub prefix: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 20_240_229, random_cases: 400, prefix: String::new() }
    }
}

/// Runs the whole suite.
pub fn check(drive: &dyn Drive) -> Report {
    check_with(drive, &Options::default())
}

/// Runs the suite, or part of it.
///
/// It can run from several threads at once on the same drive.
pub fn check_with(drive: &dyn Drive, options: &Options) -> Report {
    let mut report = Report { seed: options.seed, ..Report::default() };
    let mut executor = match Executor::open(drive) {
        Ok(executor) => executor,
        Err(description) => {
            report.failed("open", description);
            return report;
        }
    };
    let prefix = options.prefix.as_str();
    let may_match = |group: &str| group.starts_with(prefix) || prefix.starts_with(group);
    let mut run = |group: &str, case: Case| {
        let case = Case { name: format!("{group}: {}", case.name), ..case };
        if case.name.starts_with(prefix) {
            executor.run(&case, &mut report);
        }
    };
    for (group, cases) in cases::GROUPS.iter().filter(|(group, _)| may_match(group)) {
        cases().into_iter().for_each(|case| run(group, case));
    }
    for number in 0..options.random_cases {
        // Each case has its own seed, so that one alone can be run again.
        let seed = options.seed.wrapping_add(u64::from(number));
        if may_match("random") {
            run("random", random_case(&mut Random::new(seed), seed));
        }
    }
    if may_match("lifecycle") {
        cases::lifecycle(&mut executor, &mut report);
    }
    report
}
