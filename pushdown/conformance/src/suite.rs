// SPDX-License-Identifier: Apache-2.0
//! Runs all cases against one drive.

use std::{ops::ControlFlow, path::PathBuf};

use nearscan_drive::Drive;

use crate::{
    case::{Case, MergeCase},
    cases,
    executor::Executor,
    fragments::random_case,
    random::Random,
    report::Report,
};

/// The cases to run, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Seed of the random cases; the report names it.
    pub seed: u64,
    /// Random fragments over random data; beside four of them a random merge.
    pub random_cases: u32,
    /// Only cases whose name starts so.
    pub prefix: String,
    /// The parent of the folder for the files of the cases, for a drive that does not hold those in
    /// the system's folder of temporary files.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 20_240_229, random_cases: 400, prefix: String::new(), folder: None }
    }
}

/// Random scans for each random merge, which has several of them.
const MERGES_ONE_IN: u32 = 4;

/// A case that is run and judged.
enum Trial {
    Scan(Box<Case>),
    Merge(MergeCase),
}

impl Trial {
    /// The same with its subject before its name.
    fn named(self, group: &str) -> Self {
        match self {
            Self::Scan(case) => {
                Self::Scan(Box::new(Case { name: format!("{group}: {}", case.name), ..*case }))
            }
            Self::Merge(case) => {
                Self::Merge(MergeCase { name: format!("{group}: {}", case.name), ..case })
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Scan(case) => &case.name,
            Self::Merge(case) => &case.name,
        }
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
    check_watched(drive, options, &mut |_, _| ControlFlow::Continue(()))
}

/// Does the same as [`check_with`], and calls `watch` before each case with the report so far and
/// the case's name. The suite ends early if `watch` returns so; the report covers the cases that
/// ran.
pub fn check_watched(
    drive: &dyn Drive,
    options: &Options,
    watch: &mut dyn FnMut(&Report, &str) -> ControlFlow<()>,
) -> Report {
    let mut report = Report { seed: options.seed, ..Report::default() };
    match Executor::open(drive, options.folder.as_deref()) {
        Ok(mut executor) => {
            // The callback that ended the suite knows that it is incomplete.
            let _ended = run_all(&mut executor, options, &mut report, watch);
        }
        Err(description) => report.failed("open", description),
    }
    report
}

fn run_all(
    executor: &mut Executor<'_>,
    options: &Options,
    report: &mut Report,
    watch: &mut dyn FnMut(&Report, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let prefix = options.prefix.as_str();
    let may_match = |group: &str| group.starts_with(prefix) || prefix.starts_with(group);
    let mut run = |group: &str, work: Trial| {
        let work = work.named(group);
        if work.name().starts_with(prefix) {
            watch(report, work.name())?;
            match work {
                Trial::Scan(case) => executor.run(&case, report),
                Trial::Merge(case) => executor.run_merge(&case, report),
            }
        }
        ControlFlow::Continue(())
    };
    for (group, cases) in cases::GROUPS.iter().filter(|(group, _)| may_match(group)) {
        let mut cases = cases().into_iter().flat_map(Case::in_all_forms);
        cases.try_for_each(|case| run(group, Trial::Scan(Box::new(case))))?;
    }
    for (group, cases) in cases::MERGE_GROUPS.iter().filter(|(group, _)| may_match(group)) {
        cases().into_iter().try_for_each(|case| run(group, Trial::Merge(case)))?;
    }
    for number in 0..options.random_cases {
        // Each case has its own seed, so that one alone can be run again.
        let seed = options.seed.wrapping_add(u64::from(number));
        if may_match("random") {
            let case = random_case(&mut Random::new(seed), seed);
            let mut forms = case.in_all_forms();
            forms.try_for_each(|case| run("random", Trial::Scan(Box::new(case))))?;
        }
        if may_match("merged random") && number < options.random_cases / MERGES_ONE_IN {
            let case = cases::random_merge(&mut Random::new(seed), seed);
            run("merged random", Trial::Merge(case))?;
        }
    }
    if may_match("lifecycle") {
        watch(report, "lifecycle")?;
        cases::lifecycle(executor, report);
    }
    ControlFlow::Continue(())
}
