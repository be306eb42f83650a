// SPDX-License-Identifier: Apache-2.0
//! Tests that the suite passes a right drive, and detects each flaw.

use std::ops::ControlFlow;

use nearscan_conformance::{Options, check, check_watched, check_with};
use rstest::rstest;

use crate::fake::{Fake, Flaw};

#[test]
fn right_drive_passes() {
    let report = check(&Fake::new(Flaw::Nothing));
    assert!(report.is_clean(), "{report}");
    assert!(report.skipped.is_empty(), "{report}");
    assert!(report.cases > 2000, "{report}");
    assert!(report.with_rows() > 800, "{report}");
    // Overflow is requested, and comes from the random cases too.
    assert!(report.ends["status Overflow"] > 60, "{report}");
    assert!(report.ends["merged rows"] > 150, "{report}");
    assert!(report.ends["status NotSorted"] >= 2, "{report}");
}

#[test]
fn right_drive_that_is_busy_passes() {
    for prefix in ["sizes", "merged random", "lifecycle"] {
        let options = Options { prefix: prefix.to_owned(), ..Options::default() };
        let report = check_with(&Fake::shared(), &options);
        assert!(report.is_clean(), "{report}");
    }
}

#[rstest]
#[case(Flaw::NullIsZero, "nulls")]
#[case(Flaw::NullIsZero, "random")]
#[case(Flaw::NotOfNullIsTrue, "logic: negated verdict")]
#[case(Flaw::NotOfNullIsTrue, "random")]
#[case(Flaw::DropsLastRow, "sizes: 1025 rows")]
#[case(Flaw::DropsLastRow, "limits")]
#[case(Flaw::SumIsOneOff, "functions")]
#[case(Flaw::SumIsOneOff, "keys")]
#[case(Flaw::SwapsRows, "sizes: 1024 rows")]
#[case(Flaw::IgnoresOverflow, "arithmetic: overflow")]
#[case(Flaw::IgnoresOverflow, "slot overflow")]
#[case(Flaw::IgnoresOverflow, "arithmetic: 128 bits")]
#[case(Flaw::IgnoresLimit, "limits")]
#[case(Flaw::RefusesGroups, "keys")]
#[case(Flaw::RefusesGroups, "cardinality")]
#[case(Flaw::BelievesDamage, "damaged")]
#[case(Flaw::ForgetsRowsKept, "sizes: 1 rows")]
#[case(Flaw::AnswersAnother, "sizes: 1 rows")]
#[case(Flaw::IgnoresRoom, "shapes: no room")]
#[case(Flaw::IgnoresRoom, "packed room: too little")]
#[case(Flaw::IsCompactUnasked, "sizes: 1 rows")]
#[case(Flaw::CutsQuotientsOff, "divisions")]
#[case(Flaw::CutsQuotientsOff, "random")]
#[case(Flaw::TakesDistinctForDifferent, "distinct")]
#[case(Flaw::TakesDistinctForDifferent, "random")]
#[case(Flaw::TakesACharacterForAny, "patterns")]
#[case(Flaw::MixesExtremesUp, "extremes")]
#[case(Flaw::MixesExtremesUp, "random")]
#[case(Flaw::IgnoresRanges, "outside")]
#[case(Flaw::CutsTiesOff, "tops")]
#[case(Flaw::CutsTiesOff, "random")]
#[case(Flaw::PutsNullsLast, "tops")]
#[case(Flaw::AddsFromTheEnd, "float sums")]
#[case(Flaw::PutsLaterInputsFirst, "merged inputs")]
#[case(Flaw::PutsLaterInputsFirst, "merged random")]
#[case(Flaw::KeepsDuplicates, "merged distinct")]
#[case(Flaw::KeepsDuplicates, "merged strings: distinct")]
#[case(Flaw::PutsNullsLast, "merged types")]
#[case(Flaw::SortsByItself, "merged failures: an input is turned round")]
#[case(Flaw::SortsByItself, "merged failures: two rows are swapped")]
#[case(Flaw::LeavesFailedInputsOut, "merged failures: one scan")]
fn flaw_of_results_is_detected(#[case] flaw: Flaw, #[case] prefix: &str) {
    let only = |flaw| {
        let options = Options { prefix: prefix.to_owned(), ..Options::default() };
        check_with(&Fake::new(flaw), &options)
    };
    let right = only(Flaw::Nothing);
    assert!(right.is_clean(), "{right}");
    let wrong = only(flaw);
    assert!(!wrong.failures.is_empty(), "{wrong}");
    assert_eq!(wrong.cases, right.cases);
}

#[rstest]
#[case(Flaw::IgnoresVersion, &[
    "lifecycle: a file of another version",
    "lifecycle: a merge with a file of another version",
])]
#[case(Flaw::FindsEverything, &["lifecycle: a file that is not there"])]
#[case(Flaw::IsGoneWhenAskedAgain, &[
    "lifecycle: many commands at once",
    "lifecycle: cancelled commands",
    "lifecycle: dropped tickets",
    "lifecycle: cancelled merges",
])]
fn flaw_of_the_life_cycle_is_detected(#[case] flaw: Flaw, #[case] names: &[&str]) {
    let options = Options { prefix: "lifecycle".to_owned(), ..Options::default() };
    let report = check_with(&Fake::new(flaw), &options);
    let failed: Vec<&str> = report.failures.iter().map(|failed| failed.name.as_str()).collect();
    assert_eq!(failed, names, "{report}");
}

#[test]
fn report_without_case_is_not_clean() {
    let options = Options { prefix: "no such case".to_owned(), ..Options::default() };
    assert!(!check_with(&Fake::new(Flaw::Nothing), &options).is_clean());
}

#[test]
fn progress_callback_sees_each_case_and_can_end_the_suite() {
    let drive = Fake::new(Flaw::Nothing);
    let options = Options { random_cases: 8, prefix: "random".to_owned(), ..Options::default() };
    let mut told = Vec::new();
    let report = check_watched(&drive, &options, &mut |report, name| {
        told.push((report.cases, name.to_owned()));
        if told.len() == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let cases: Vec<u64> = told.iter().map(|(cases, _)| *cases).collect();
    assert_eq!((cases, report.cases), (vec![0, 1, 2, 3, 4], 4));
    assert!(told.iter().all(|(_, name)| name.starts_with("random: ")), "{told:?}");
}

#[test]
fn files_are_in_the_requested_folder() {
    let folder = std::env::temp_dir().join(format!("nearscan-suite-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = Options {
        random_cases: 4,
        prefix: "random".to_owned(),
        folder: Some(folder.clone()),
        ..Options::default()
    };
    let mut folders = 0;
    let report = check_watched(&Fake::new(Flaw::Nothing), &options, &mut |_, _| {
        folders += std::fs::read_dir(&folder).unwrap().count();
        ControlFlow::Continue(())
    });
    let left = std::fs::read_dir(&folder).unwrap().count();
    std::fs::remove_dir(&folder).unwrap();
    assert!(report.is_clean(), "{report}");
    // Two of the four cases are of rows, which are asked for plain and compact.
    assert_eq!((folders, left), (6, 0));
}
