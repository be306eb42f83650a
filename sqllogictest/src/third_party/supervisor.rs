// SPDX-License-Identifier: Apache-2.0
//! Runs every file in a separate process, with limits of time and memory.
//!
//! A process may panic, overflow its stack, run out of memory, never end, or not start: what it did
//! until then counts, the rest of its records is unsupported, and the next file goes on. A file
//! that ends early runs once more with pushdown off, which says whose fault it is. It is not
//! pushdown's if the file gets no further without it; a crash is excused by a crash only.
//!
//! A process ends when this one does: it listens to its input, which then ends.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader},
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use nearscan::drive::clock::Stopwatch;

use super::{
    directive::Dialect,
    report::{Counts, End, FileReport, Off, Report},
    runner::Mode,
    worker::Event,
};
use crate::error::{Error, Result};

/// The extensions of files of tests.
const EXTENSIONS: &[&str] = &["slt", "test", "test_slow"];

/// The time limits that a file has which is late on the drive alone.
const MORE_TIME: u32 = 4;

/// The reason why the records after the end of a process were not run.
const LOST: &str = "behind the record that ended the file";

/// The files of a run, and the conditions that they run under.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program that has [`super::worker::run`] behind `--worker`.
    pub program: PathBuf,
    /// Folder with the files, at any depth.
    pub folder: PathBuf,
    /// Only paths below the folder that this pattern fits, with `*` for any text.
    pub filter: Option<String>,
    /// Folder that paths in the files start from.
    pub directory: PathBuf,
    /// Files that run at the same time.
    pub threads: NonZero<usize>,
    /// The place where queries run.
    pub mode: Mode,
    /// The time limit of a file.
    pub time_limit: Duration,
    /// Address space that a process may have, in KiB; none for as much as there is.
    pub memory_limit_kib: Option<u64>,
}

/// Runs all files; `seen` is called with each as it ends.
///
/// # Errors
/// If the folder cannot be read or has no such file.
pub fn run(plan: &Plan, seen: &(dyn Fn(&FileReport) + Sync)) -> Result<Report> {
    let files = files(plan)?;
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..plan.threads.get() {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run_file(plan, file);
                    seen(&report);
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
                }
            });
        }
    });
    let reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    let folder = plan.folder.to_string_lossy().into_owned();
    Ok(Report::new(folder, plan.mode.name().to_owned(), reports))
}

/// The files of a plan, as paths below its folder.
fn files(plan: &Plan) -> Result<Vec<PathBuf>> {
    let error = |source| Error::File { path: plan.folder.clone(), source };
    let mut files = Vec::new();
    collect(&plan.folder, Path::new(""), &mut files).map_err(error)?;
    files.retain(|file| match &plan.filter {
        Some(filter) => fits(&file.to_string_lossy(), filter),
        None => true,
    });
    files.sort();
    if files.is_empty() {
        return Err(error(io::Error::new(io::ErrorKind::NotFound, "it has no such files")));
    }
    Ok(files)
}

fn collect(folder: &Path, below: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, below) = (entry.path(), below.join(entry.file_name()));
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        // A link to a folder could lead back here.
        if entry.file_type()?.is_dir() {
            collect(&path, &below, files)?;
        } else if EXTENSIONS.contains(&extension.as_ref()) {
            files.push(below);
        }
    }
    Ok(())
}

/// Whether a pattern fits a whole text; `*` matches any text, slashes too.
fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The report of a file, with the records that its process began.
struct Watched {
    report: FileReport,
    /// Records that it began, and one more if it was through.
    begun: u64,
}

impl Watched {
    /// Whether this end of a file is also that of the file with pushdown off, or one that comes
    /// before it: an end before that is not evidence against the drive. A slow process has not
    /// crashed.
    fn is_excused_by(&self, off: &Self) -> bool {
        let is_like = match (&self.report.end, &off.report.end) {
            (End::Crashed(_), End::Crashed(_)) => true,
            (End::TimeLimit(_), End::Crashed(_) | End::TimeLimit(_)) => true,
            (_, End::Whole) | (End::Crashed(_), End::TimeLimit(_)) | (End::Whole, _) => false,
        };
        is_like && off.begun <= self.begun
    }
}

/// Runs a file, and once more with pushdown off if it ends early.
fn run_file(plan: &Plan, file: &Path) -> FileReport {
    let mut forced = watch(plan, file, plan.mode, plan.time_limit);
    if forced.report.end == End::Whole || plan.mode == Mode::Off {
        return forced.report;
    }
    let off = watch(plan, file, Mode::Off, plan.time_limit);
    // Time is that of this machine, and a query that also runs with pushdown off takes twice of it.
    if !forced.is_excused_by(&off) && matches!(forced.report.end, End::TimeLimit(_)) {
        forced = watch(plan, file, plan.mode, plan.time_limit * MORE_TIME);
        forced.report.ran_again = true;
    }
    if forced.report.end != End::Whole {
        forced.report.same_end_off = Some(forced.is_excused_by(&off));
    }
    forced.report
}

/// Starts the process of a file and listens to it until it ends or has to.
fn watch(plan: &Plan, file: &Path, mode: Mode, time_limit: Duration) -> Watched {
    let mut listener = Listener::new(file);
    match listen(plan, file, mode, time_limit, &mut listener) {
        Ok(ending) => listener.close(&ending),
        Err(error) => listener.close(&Ending::Failed(format!("cannot be run: {error}"))),
    }
}

/// The outcome of a process.
enum Ending {
    /// It had to.
    Late,
    /// By itself, and said so.
    Well,
    /// In another way; says which.
    Failed(String),
}

fn listen(
    plan: &Plan,
    file: &Path,
    mode: Mode,
    time_limit: Duration,
    listener: &mut Listener,
) -> io::Result<Ending> {
    let scratch = tempfile::tempdir()?;
    let complaints = scratch.path().join("stderr");
    let watch = Stopwatch::start();
    let mut process = command(plan, file, mode, scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(&complaints)?)
        .spawn()?;
    // Nothing is written to it; it is open as long as there is a reader.
    let input = process.stdin.take();
    let mut is_late = false;
    if let Some(output) = process.stdout.take() {
        let (send, events) = mpsc::channel();
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                if let Ok(event) = serde_json::from_str(&line)
                    && send.send(event).is_err()
                {
                    break;
                }
            }
        });
        is_late = listener.listen(&events, || time_limit.saturating_sub(watch.elapsed()));
        if is_late {
            process.kill()?;
        }
        drop(events);
        // It ends with the process, and says nothing.
        let _joined = reader.join();
    }
    let status = process.wait()?;
    drop(input);
    let last_words = last_line(&fs::read(&complaints).unwrap_or_default());
    Ok(match (is_late, status.success()) {
        (true, _) => Ending::Late,
        (false, true) => Ending::Well,
        (false, false) => Ending::Failed(format!("{status}: {last_words}")),
    })
}

/// The process of a file; a shell sets its limit, for there is no other way without unsafe code.
fn command(plan: &Plan, file: &Path, mode: Mode, scratch: &Path) -> Command {
    let limit = match plan.memory_limit_kib {
        Some(kib) => format!("ulimit -v {kib} && "),
        None => String::new(),
    };
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{limit}exec \"$0\" \"$@\""))
        .arg(&plan.program)
        .arg("--worker")
        .arg(plan.folder.join(file))
        .args(["--mode", mode.name()])
        .arg("--scratch")
        .arg(scratch)
        // The last line is then the reason, not a frame of the stack.
        .env("RUST_BACKTRACE", "0")
        .current_dir(&plan.directory);
    command
}

/// The last line that says something.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut lines =
        text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("note:"));
    lines.next_back().unwrap_or("without a word").trim().to_owned()
}

/// Adds up what a process says.
struct Listener {
    path: String,
    dialect: Dialect,
    records: u64,
    begun: u64,
    done: u64,
    place: String,
    counts: Counts,
    failures: Vec<super::report::Failure>,
    closed: Option<(u64, BTreeMap<String, u64>)>,
}

impl Listener {
    fn new(file: &Path) -> Self {
        Self {
            path: file.to_string_lossy().into_owned(),
            dialect: Dialect::Sqlite,
            records: 0,
            begun: 0,
            done: 0,
            place: "its start".to_owned(),
            counts: Counts::default(),
            failures: Vec::new(),
            closed: None,
        }
    }

    /// Listens until the process says no more; returns whether its time was over before.
    fn listen(&mut self, events: &Receiver<Event>, left: impl Fn() -> Duration) -> bool {
        loop {
            match events.recv_timeout(left()) {
                Ok(event) => self.add(event),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            // A process that never stops to speak is late too.
            if left().is_zero() {
                return true;
            }
        }
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Opened(dialect, records) => {
                self.dialect = dialect;
                self.records = records as u64;
            }
            Event::Begins(place) => {
                self.begun += 1;
                self.place = place;
            }
            Event::Did(outcome) => {
                self.done += 1;
                debug_assert!(outcome.off != Off::Differs || outcome.failure.is_some());
                self.counts.add(&outcome);
                self.failures.extend(outcome.failure);
            }
            Event::Closed(copies, kept) => {
                self.begun += 1;
                self.place = "its end".to_owned();
                self.closed = Some((copies, kept));
            }
        }
    }

    fn close(mut self, ending: &Ending) -> Watched {
        let place = self.place;
        let end = match (&self.closed, ending) {
            (Some(_), Ending::Well) => End::Whole,
            (None, Ending::Well) => End::Crashed(format!("at {place}: it ended before its end")),
            (_, Ending::Late) => End::TimeLimit(place),
            (_, Ending::Failed(how)) => End::Crashed(format!("at {place}: {how}")),
        };
        if let lost @ 1.. = self.records.saturating_sub(self.done) {
            *self.counts.unsupported.entry(LOST.to_owned()).or_default() += lost;
        }
        let (copies, tables_kept) = self.closed.unwrap_or_default();
        let report = FileReport {
            path: self.path,
            dialect: self.dialect,
            end,
            same_end_off: None,
            ran_again: false,
            copies,
            tables_kept,
            counts: self.counts,
            failures: self.failures,
        };
        Watched { report, begun: self.begun }
    }
}

#[cfg(test)]
mod tests;
