// SPDX-License-Identifier: Apache-2.0
//! Shows the progress of a long statement: rows and bytes read, their rate, and the time left.
//!
//! The figures are those of [`Progress`]; where it knows no total, only the amount read is shown.
//! Work with a known number of parts shows a bar.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget};
use nearscan::{
    AmountRead, Progress, datafusion::physical_plan::ExecutionPlan, drive::clock::Stopwatch,
    units::format_bytes,
};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::engine_args::ProgressWhen;

/// Queries shorter than this show nothing.
const DELAY: Duration = Duration::from_millis(500);

/// Time between two updates of the line.
const PERIOD: Duration = Duration::from_millis(200);

/// A bar of so many parts, which is shown only if standard error is a terminal.
pub(crate) fn bar(when: ProgressWhen, parts: u64) -> ProgressBar {
    let target = match (when, io::stderr().is_terminal()) {
        (ProgressWhen::Off, _) | (_, false) => ProgressDrawTarget::hidden(),
        (ProgressWhen::Auto | ProgressWhen::On, true) => ProgressDrawTarget::stderr(),
    };
    ProgressBar::with_draw_target(Some(parts), target)
}

/// Watches one statement.
pub(crate) struct QueryProgress {
    shown: Option<Shown>,
}

struct Shown {
    /// None while the statement is being planned.
    progress: Option<Progress>,
    stopwatch: Stopwatch,
    ticks: Interval,
    line: Line,
    is_visible: bool,
}

/// The placement of the line on the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Over the line before it.
    InPlace,
    /// Below the line before it, for output that is no terminal.
    Below,
}

impl QueryProgress {
    /// Watches `plan` if progress is to be shown at all.
    pub(crate) fn new(when: ProgressWhen, plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self::over(when, || Some(Progress::of(plan)))
    }

    /// Watches the planning of a statement, which has a duration only.
    pub(crate) fn of_planning(when: ProgressWhen) -> Self {
        Self::over(when, || None)
    }

    fn over(when: ProgressWhen, progress: impl FnOnce() -> Option<Progress>) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let line = match (when, is_terminal) {
            (ProgressWhen::Off, _) | (ProgressWhen::Auto, false) => return Self { shown: None },
            (_, true) => Line::InPlace,
            (ProgressWhen::On, false) => Line::Below,
        };
        let mut ticks = interval(if line == Line::InPlace { PERIOD } else { DELAY });
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            shown: Some(Shown {
                progress: progress(),
                stopwatch: Stopwatch::start(),
                ticks,
                line,
                is_visible: false,
            }),
        }
    }

    /// Waits for `next` and keeps the line up to date meanwhile.
    pub(crate) async fn watch<T>(&mut self, next: impl Future<Output = T>) -> T {
        let Some(shown) = &mut self.shown else { return next.await };
        let mut next = std::pin::pin!(next);
        loop {
            tokio::select! {
                biased;
                item = &mut next => return item,
                _ = shown.ticks.tick() => shown.update(),
            }
        }
    }

    /// Takes the line away before something else is written.
    pub(crate) fn hide(&mut self) {
        if let Some(shown) = &mut self.shown
            && shown.is_visible
            && shown.line == Line::InPlace
        {
            shown.is_visible = false;
            write("\r\x1b[2K");
        }
    }
}

impl Drop for QueryProgress {
    fn drop(&mut self) {
        self.hide();
    }
}

impl Shown {
    fn update(&mut self) {
        let elapsed = self.stopwatch.elapsed();
        if elapsed < DELAY {
            return;
        }
        let text = match &self.progress {
            Some(progress) => describe(progress.read(), progress.rows_total(), elapsed),
            None => format!("{:.1} s", elapsed.as_secs_f64()),
        };
        self.is_visible = true;
        match self.line {
            Line::InPlace => write(&format!("\r\x1b[2K{text}")),
            Line::Below => write(&format!("{text}\n")),
        }
    }
}

fn write(text: &str) {
    let mut stderr = io::stderr();
    // A closed output loses nothing.
    let _nobody_reads = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn describe(read: AmountRead, rows_total: Option<u64>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let mut text = format!("{seconds:.1} s, {} rows, {} read", read.rows, format_bytes(read.bytes));
    if read.bytes > 0 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate with two digits"
        )]
        let rate = (read.bytes as f64 / seconds) as u64;
        text.push_str(&format!(", {}/s", format_bytes(rate)));
    }
    if let Some(total) = rows_total.filter(|total| read.rows > 0 && read.rows < *total) {
        #[expect(clippy::cast_precision_loss, reason = "an estimate with two digits")]
        let done = read.rows as f64 / total as f64;
        let left = seconds / done - seconds;
        text.push_str(&format!(", {:.0} %, {left:.0} s left", done * 100.0));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_time_left_only_if_it_is_known() {
        let read = AmountRead { rows: 250, bytes: 2048 };
        let elapsed = Duration::from_secs(2);
        assert_eq!(describe(read, None, elapsed), "2.0 s, 250 rows, 2.0 KiB read, 1.0 KiB/s");
        let text = describe(read, Some(1000), elapsed);
        assert_eq!(text, "2.0 s, 250 rows, 2.0 KiB read, 1.0 KiB/s, 25 %, 6 s left");
        assert_eq!(describe(read, Some(250), elapsed), "2.0 s, 250 rows, 2.0 KiB read, 1.0 KiB/s");
    }
}
