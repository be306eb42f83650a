// SPDX-License-Identifier: Apache-2.0
//! Processes that end in every way. They are shell scripts that say what a worker would.

use std::os::unix::fs::PermissionsExt;

use rstest::rstest;

use super::*;

#[rstest]
#[case("a/b.test", "*", true)]
#[case("a/b.test", "a/*", true)]
#[case("a/b.test", "*b*", true)]
#[case("a/b.test", "a/b.test", true)]
#[case("a/b.test", "a/b", false)]
#[case("a/b.test", "*.slt", false)]
#[case("a/b.test", "a*/*.test", true)]
fn patterns_fit(#[case] text: &str, #[case] pattern: &str, #[case] expected: bool) {
    assert_eq!(fits(text, pattern), expected);
}

/// Begins with the first, the second record of two; is through.
const FIRST: &str = "say '{\"opened\":[\"sqlite\",2]}'; say '{\"begins\":\"a:1\"}'\n";
const SECOND: &str = "say '{\"begins\":\"a:2\"}'\n";
const END: &str = "say '{\"closed\":[0,{}]}'\n";

const CRASH: &str = "echo why >&2; kill -SEGV $$\n";
const HANG: &str = "exec sleep 600\n";

/// Runs a file whose process does one thing when forced and another with pushdown off.
fn ends(forced: &[&str], off: &[&str]) -> FileReport {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), forced, off);
    run_file(&plan, Path::new("a.test"))
}

fn plan(folder: &Path, forced: &[&str], off: &[&str]) -> Plan {
    let program = folder.join("program");
    let (forced, off) = (forced.concat(), off.concat());
    let script = format!(
        "#!/bin/sh\nsay() {{ printf '%s\\n' \"$1\"; }}\n\
         if [ \"$4\" = force ]; then\n:\n{forced}else\n:\n{off}fi\n"
    );
    // Written by another process, for a file that is open for writing anywhere cannot be run, and
    // processes that other tests start have it open for a moment.
    let mut cat = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    io::Write::write_all(cat.stdin.as_mut().unwrap(), script.as_bytes()).unwrap();
    assert!(cat.wait().unwrap().success());
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o100, 0o100);
    Plan {
        program,
        folder: folder.to_owned(),
        filter: None,
        directory: folder.to_owned(),
        threads: NonZero::<usize>::MIN,
        mode: Mode::Force,
        time_limit: Duration::from_secs(1),
        memory_limit_kib: None,
    }
}

#[test]
fn process_that_is_through_and_ends_well_is_whole() {
    let report = ends(&[FIRST, SECOND, END], &["exit 1\n"]);
    assert_eq!((report.end, report.same_end_off), (End::Whole, None));
    assert!(!report.ran_again);
}

#[rstest]
#[case(&[FIRST, CRASH], &[FIRST, CRASH], Some(true))]
#[case(&[FIRST, SECOND, CRASH], &[FIRST, CRASH], Some(true))]
#[case(&[FIRST, CRASH], &[FIRST, SECOND, CRASH], Some(false))]
#[case(&[FIRST, CRASH], &[FIRST, SECOND, END], Some(false))]
#[case(&[FIRST, CRASH], &[FIRST, HANG], Some(false))]
#[case(&[FIRST, SECOND, END, CRASH], &[FIRST, SECOND, END], Some(false))]
#[case(&[FIRST, SECOND, END, CRASH], &[FIRST, SECOND, END, CRASH], Some(true))]
fn crash_is_excused_by_one_that_is_no_later(
    #[case] forced: &[&str],
    #[case] off: &[&str],
    #[case] expected: Option<bool>,
) {
    let report = ends(forced, off);
    assert!(matches!(report.end, End::Crashed(_)), "{:?}", report.end);
    assert_eq!(report.same_end_off, expected);
    assert!(!report.ran_again);
}

#[rstest]
#[case(&[FIRST, HANG], &[FIRST, HANG], "a:1", Some(true), false)]
#[case(&[FIRST, HANG], &[FIRST, CRASH], "a:1", Some(true), false)]
#[case(&[FIRST, HANG], &[FIRST, SECOND, HANG], "a:1", Some(false), true)]
#[case(&[FIRST, HANG], &[FIRST, SECOND, END], "a:1", Some(false), true)]
#[case(&[FIRST, SECOND, END, HANG], &[FIRST, SECOND, END], "its end", Some(false), true)]
fn process_that_is_late_runs_again_with_more_time(
    #[case] forced: &[&str],
    #[case] off: &[&str],
    #[case] place: &str,
    #[case] same_end_off: Option<bool>,
    #[case] ran_again: bool,
) {
    let report = ends(forced, off);
    assert_eq!(report.end, End::TimeLimit(place.to_owned()));
    assert_eq!((report.same_end_off, report.ran_again), (same_end_off, ran_again));
}

#[test]
fn process_that_is_late_once_is_counted() {
    let once = "if mkdir here; then exec sleep 600; fi\n";
    let report = ends(&[FIRST, once, SECOND, END], &[FIRST, SECOND, END]);
    assert_eq!((report.end, report.same_end_off, report.ran_again), (End::Whole, None, true));
}

#[test]
fn reason_of_a_crash_is_its_last_words() {
    let frames = "[ \"$RUST_BACKTRACE\" = 0 ] || echo 'at frame 7' >&2\n";
    let report = ends(&[FIRST, "echo why >&2\n", frames, "kill -SEGV $$\n"], &[FIRST, END]);
    let End::Crashed(how) = report.end else { panic!("{:?}", report.end) };
    assert!(how.starts_with("at a:1: signal: 11") && how.ends_with(": why"), "{how}");
}

#[test]
fn process_that_ends_before_its_end_has_crashed() {
    let report = ends(&[FIRST], &[FIRST, SECOND, END]);
    assert_eq!(report.end, End::Crashed("at a:1: it ended before its end".to_owned()));
    assert_eq!(report.same_end_off, Some(false));
}

#[test]
fn file_whose_process_does_not_start_does_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.test"), "").unwrap();
    fs::write(folder.path().join("b.test"), "").unwrap();
    let plan = plan(folder.path(), &[FIRST, END], &[FIRST, END]);
    let plan = Plan { directory: folder.path().join("nowhere"), ..plan };
    let report = run(&plan, &|_| {}).unwrap();
    let how: Vec<String> = report.files.iter().map(|file| format!("{:?}", file.end)).collect();
    assert_eq!(how.len(), 2);
    assert!(how.iter().all(|how| how.contains("at its start: cannot be run: ")), "{how:?}");
    assert!(!report.has_run());
}
