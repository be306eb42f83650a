// SPDX-License-Identifier: Apache-2.0
//! Counts tests from the output of their runners.
//!
//! Three sources are understood: the lines of libtest (also printed by libtest-mimic), the summary
//! of nextest, and an exit status, which counts as one test.

use std::process::ExitCode;

/// The counts of passed, failed and skipped tests, over any number of runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: usize,
    /// Of a test, by its name; or of a step, of a build, of a forbidden skip.
    failures: Vec<String>,
    skipped: Vec<Skip>,
}

/// A test that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) name: String,
    pub(super) reason: String,
}

/// The form in which a suite reports its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Libtest,
    Nextest,
    ExitStatus,
}

impl Skip {
    /// Reads lines `name<TAB>reason`; a name that occurs twice counts once.
    pub(super) fn parse_log(log: &str) -> Vec<Self> {
        let mut skips: Vec<Self> = Vec::new();
        for line in log.lines().filter(|line| !line.trim().is_empty()) {
            let (name, reason) = line.split_once('\t').unwrap_or((line, NO_REASON));
            if !skips.iter().any(|skip| skip.name == name) {
                skips.push(Self { name: name.to_owned(), reason: reason.to_owned() });
            }
        }
        skips
    }
}

const NO_REASON: &str = "no reason given";

impl Tally {
    /// One failure, as a message.
    pub(crate) fn of_failure(message: String) -> Self {
        Self { failures: vec![message], ..Self::default() }
    }

    /// A whole suite that did not run.
    pub(super) fn of_skip(name: &str, reason: String) -> Self {
        Self { skipped: vec![Skip { name: name.to_owned(), reason }], ..Self::default() }
    }

    /// One test that is a program.
    pub(super) fn of_exit(name: &str, is_success: bool) -> Self {
        if is_success {
            Self { passed: 1, ..Self::default() }
        } else {
            Self::of_failure(format!("{name} did not succeed"))
        }
    }

    /// Adds another run.
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skipped.extend(other.skipped);
    }

    /// Makes skips of tests that their runner took for passed.
    pub(super) fn reclassify(&mut self, skips: Vec<Skip>) {
        self.passed = self.passed.saturating_sub(skips.len());
        self.skipped.extend(skips);
    }

    /// Makes failures of the skips that are not accepted.
    pub(super) fn refuse_skips(&mut self, is_refused: fn(&Skip) -> bool) {
        let (refused, accepted) =
            std::mem::take(&mut self.skipped).into_iter().partition(is_refused);
        self.skipped = accepted;
        let refused: Vec<Skip> = refused;
        self.failures.extend(refused.into_iter().map(|skip| {
            format!(
                "{} was skipped, though installation would let it run: {}",
                skip.name, skip.reason
            )
        }));
    }

    /// Whether no test failed.
    fn is_success(&self) -> bool {
        self.failed_count() == 0
    }

    /// All failures.
    pub(super) fn failed_count(&self) -> usize {
        self.failures.len()
    }

    /// Returns the number of tests that passed.
    pub(crate) fn passed_count(&self) -> usize {
        self.passed
    }

    /// The test that failed first.
    pub(crate) fn first_failure(&self) -> Option<&str> {
        self.failures.first().map(String::as_str)
    }

    /// Returns the text that is printed at the end: failures, skips, and the one closing line.
    pub(super) fn report(&self) -> String {
        let mut report = String::new();
        for failure in &self.failures {
            report.push_str(&format!("failed: {failure}\n"));
        }
        for skip in &self.skipped {
            report.push_str(&format!("skipped: {} ({})\n", skip.name, skip.reason));
        }
        let (passed, failed, skipped) = (self.passed, self.failed_count(), self.skipped.len());
        report.push_str(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
        report
    }

    /// Prints the report and gives the exit status of the program.
    pub(crate) fn close(&self) -> ExitCode {
        println!("{}", self.report());
        if self.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Reads the output of one run, line by line.
#[derive(Debug)]
pub(crate) struct Reader {
    format: Format,
    tally: Tally,
    /// Ignored tests of the libtest binary that is running.
    ignored: Vec<Skip>,
    /// Failed tests of that binary.
    failed: Vec<String>,
}

impl Reader {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, tally: Tally::default(), ignored: Vec::new(), failed: Vec::new() }
    }

    pub(crate) fn line(&mut self, line: &str) {
        match self.format {
            Format::Libtest => self.libtest(line.trim()),
            Format::Nextest => self.nextest(line.trim()),
            Format::ExitStatus => {}
        }
    }

    pub(crate) fn finish(self) -> Tally {
        self.tally
    }

    /// `test NAME ... ignored, REASON`, and at the end of a binary
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in
    /// ...`.
    fn libtest(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let (_, counts) = result.split_once(". ").unwrap_or(("", result));
            self.tally.passed += count_before(counts, "passed");
            let mut failed = std::mem::take(&mut self.failed);
            failed.resize_with(count_before(counts, "failed"), || "a test of libtest".to_owned());
            self.tally.failures.extend(failed);
            let mut ignored = std::mem::take(&mut self.ignored);
            ignored.resize_with(count_before(counts, "ignored"), || unnamed("a test of libtest"));
            self.tally.skipped.extend(ignored);
        } else if let Some(name) = outcome_of(line, " ... FAILED") {
            self.failed.push(name.to_owned());
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ignored"))
        {
            // Libtest writes `, REASON`, libtest-mimic ` (REASON)`.
            let of_mimic = || outcome.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
            let reason = outcome.strip_prefix(", ").or_else(of_mimic).unwrap_or(NO_REASON);
            self.ignored.push(Skip { name: name.trim().to_owned(), reason: reason.to_owned() });
        }
    }

    /// `Summary [ 1.2s] 10 tests run: 9 passed (1 slow), 1 failed, 2 skipped`.
    fn nextest(&mut self, line: &str) {
        let Some(summary) = line.strip_prefix("Summary [") else {
            return;
        };
        let Some((_, counts)) = summary.split_once(" run: ") else {
            return;
        };
        self.tally.passed += count_before(counts, "passed");
        for word in ["failed", "timed out", "exec failed"] {
            let failed = (0..count_before(counts, word)).map(|_| "a test of nextest".to_owned());
            self.tally.failures.extend(failed);
        }
        let skipped = count_before(counts, "skipped");
        self.tally.skipped.extend((0..skipped).map(|_| unnamed("a test of nextest")));
    }
}

fn unnamed(name: &str) -> Skip {
    Skip { name: name.to_owned(), reason: NO_REASON.to_owned() }
}

/// The name in a line `test NAME ... OUTCOME`.
fn outcome_of<'a>(line: &'a str, outcome: &str) -> Option<&'a str> {
    line.strip_prefix("test ")?.strip_suffix(outcome).map(str::trim)
}

/// The number that is right before `word` in a list such as `3 passed; 1 failed`, or 0.
fn count_before(counts: &str, word: &str) -> usize {
    counts
        .split([';', ',', ':'])
        .find_map(|part| {
            let (count, rest) = part.trim().split_once(' ')?;
            let rest = rest.split(" (").next().unwrap_or(rest);
            (rest == word).then(|| count.parse().ok()).flatten()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(format: Format, text: &str) -> Tally {
        let mut reader = Reader::new(format);
        text.lines().for_each(|line| reader.line(line));
        reader.finish()
    }

    #[test]
    fn sums_the_binaries_of_libtest() {
        let text = "
running 3 tests
test a::b ... ok
test c ... FAILED
test d ... ignored, needs a card
test far::f   ... ignored (no drive (yet))
test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s
test src/lib.rs - e (line 3) ... ignored
test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.1s
";
        let tally = read(Format::Libtest, text);
        assert_eq!(
            tally.report(),
            "failed: c\nskipped: d (needs a card)\nskipped: far::f (no drive (yet))\n\
             skipped: src/lib.rs - e (line 3) (no reason given)\n\
             5 passed, 1 failed, 3 skipped"
        );
        assert!(!tally.is_success());
    }

    #[test]
    fn counts_ignored_tests_whose_lines_are_missing() {
        let text = "test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out";
        assert_eq!(read(Format::Libtest, text).skipped.len(), 2);
    }

    #[rstest]
    #[case("Summary [   0.2s] 3 tests run: 3 passed, 0 skipped", (3, 0, 0))]
    #[case("Summary [  10.2s] 9 tests run: 7 passed (1 slow), 2 failed, 4 skipped", (7, 2, 4))]
    #[case("Summary [   1.0s] 2 tests run: 1 passed, 1 timed out, 0 skipped", (1, 1, 0))]
    #[case("Summary of something else: 3 passed", (0, 0, 0))]
    fn reads_the_summary_of_nextest(#[case] line: &str, #[case] expected: (usize, usize, usize)) {
        let tally = read(Format::Nextest, &format!("    {line}\n"));
        assert_eq!((tally.passed, tally.failed_count(), tally.skipped.len()), expected);
    }

    #[test]
    fn program_is_one_test() {
        assert_eq!(Tally::of_exit("scan", true).report(), "1 passed, 0 failed, 0 skipped");
        assert_eq!(
            Tally::of_exit("scan", false).report(),
            "failed: scan did not succeed\n0 passed, 1 failed, 0 skipped"
        );
    }

    #[test]
    fn test_that_skipped_itself_did_not_pass() {
        let mut tally = Tally { passed: 5, ..Tally::default() };
        tally.reclassify(Skip::parse_log("a\tneeds clang\nb\tno card\na\tneeds clang\n\n"));
        assert_eq!(
            tally.report(),
            "skipped: a (needs clang)\nskipped: b (no card)\n3 passed, 0 failed, 2 skipped"
        );
        assert!(tally.is_success());

        tally.refuse_skips(|skip| skip.reason.starts_with("needs"));
        assert_eq!(
            tally.report(),
            "failed: a was skipped, though installation would let it run: needs clang\n\
             skipped: b (no card)\n3 passed, 1 failed, 1 skipped"
        );
        assert!(!tally.is_success());
    }
}
