// SPDX-License-Identifier: Apache-2.0
//! Shows the delays, as text and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::Kill;
use crate::spread::Spread;

/// The longest delay that is aimed at.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(5);

/// What was measured. Every object that was acknowledged is a table with all of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Bytes of CSV of all objects.
    pub bytes: u64,
    /// Whether the server was killed.
    pub kill: Kill,
    /// The objects in the order of their writes.
    pub ingested: Vec<Ingested>,
}

/// An object that became a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ingested {
    /// Its number.
    pub number: u64,
    /// When its write was acknowledged, since the start of the first write.
    pub acknowledged: Duration,
    /// The time from that to the first right answer.
    pub delay: Duration,
}

impl Report {
    /// The delays in seconds.
    #[must_use]
    pub fn delay_s(&self) -> Spread {
        Spread::of(self.ingested.iter().map(|it| it.delay.as_secs_f64()))
    }

    /// The longest delay.
    #[must_use]
    pub fn delay_max(&self) -> Duration {
        self.ingested.iter().map(|it| it.delay).max().unwrap_or_default()
    }

    /// Whether each object was a table within five seconds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.delay_max() <= DELAY_MAX
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let count = self.ingested.len();
        let megabytes = self.bytes / 1_000_000;
        let written = self.ingested.iter().map(|it| it.acknowledged).max().unwrap_or_default();
        let killed = match self.kill {
            Kill::InTheMiddle => "the server was killed once and started again",
            Kill::Never => "the server was not killed",
        };
        let delay = self.delay_s();
        format!(
            "{count} CSV objects of {megabytes} MB in all, written in {:.1} s; {killed}\n\
             {count} tables with all their rows, none lost\n\
             from the acknowledgement to the first right answer, measured: median {:.2} s, \
             quartiles {:.2} to {:.2} s, longest {:.2} s\n",
            written.as_secs_f64(),
            delay.median,
            delay.lower,
            delay.upper,
            self.delay_max().as_secs_f64(),
        )
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let objects = self.ingested.iter().map(|it| {
            json!({
                "number": it.number,
                "acknowledged_seconds": it.acknowledged.as_secs_f64(),
                "delay_seconds": it.delay.as_secs_f64(),
            })
        });
        json!({
            "csv_bytes": self.bytes,
            "is_killed": self.kill == Kill::InTheMiddle,
            "objects": objects.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_says_the_longest_delay_and_whether_it_is_short_enough() {
        let ingested = |number, ms| Ingested {
            number,
            acknowledged: Duration::from_millis(100 * number),
            delay: Duration::from_millis(ms),
        };
        let mut report = Report {
            bytes: 30_000_000,
            kill: Kill::InTheMiddle,
            ingested: vec![ingested(0, 400), ingested(1, 5_000), ingested(2, 600)],
        };
        assert!(report.holds());
        let text = report.to_text();
        assert!(text.starts_with("3 CSV objects of 30 MB in all, written in 0.2 s;"), "{text}");
        assert!(text.contains("median 0.60 s, quartiles 0.60 to 5.00 s, longest 5.00 s"), "{text}");
        report.ingested.push(ingested(3, 5_001));
        assert!(!report.holds());
    }
}
