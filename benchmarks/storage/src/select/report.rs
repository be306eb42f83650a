// SPDX-License-Identifier: Apache-2.0
//! Shows the response times of both ways, and the bound of the pushed one, as text and as JSON.

use std::{num::NonZeroU64, time::Duration};

use serde_json::{Value, json};

use super::Codec;
use crate::spread::Spread;

/// The longest response time of a pushed SELECT, as a multiple of its bound.
pub(super) const OVER_BOUND_MAX: f64 = 1.2;

/// The share of the response time that a pushed SELECT saves where its bound allows it.
pub(super) const LESS_MIN: f64 = 0.9;

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Pairs for each row.
    pub rounds: u32,
    /// The compression of the table's pages.
    pub codec: Codec,
    /// The settings, with their pairs.
    pub rows: Vec<Row>,
}

/// The pairs of one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Rows of the table.
    pub table_rows: u64,
    /// The rate of the link in bytes a second.
    pub link: NonZeroU64,
    /// The share of the rows in the answer.
    pub selectivity: f64,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

/// A turn of each way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The host has read the columns.
    pub host: Run,
    /// The server's drive has scanned them.
    pub pushed: Run,
}

/// One run of the SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Run {
    /// From the text of the statement to its last row, measured.
    pub response: Duration,
    /// Bytes that came over the link.
    pub received_bytes: u64,
    /// The time in which the server's drive scanned, measured by it; none on the host.
    pub scan: Duration,
}

impl Row {
    pub(super) fn new(table_rows: u64, link: NonZeroU64, selectivity: f64) -> Self {
        Self { table_rows, link, selectivity, pairs: Vec::new() }
    }

    fn median(&self, of: impl Fn(&Pair) -> f64) -> f64 {
        Spread::of(self.pairs.iter().map(of)).median
    }

    /// The response time on the host in seconds.
    #[must_use]
    pub fn host_s(&self) -> f64 {
        self.median(|pair| pair.host.response.as_secs_f64())
    }

    /// The response time of the pushed SELECT in seconds.
    #[must_use]
    pub fn pushed_s(&self) -> f64 {
        self.median(|pair| pair.pushed.response.as_secs_f64())
    }

    /// The share of the response time that is saved, pair by pair.
    #[must_use]
    pub fn less(&self) -> Spread {
        let less = |pair: &Pair| {
            1.0 - pair.pushed.response.as_secs_f64() / pair.host.response.as_secs_f64()
        };
        Spread::of(self.pairs.iter().map(less))
    }

    /// Bytes that came over the link: on the host, and pushed.
    #[must_use]
    pub fn received_bytes(&self) -> [f64; 2] {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 bytes")]
        let bytes = |bytes: u64| bytes as f64;
        [
            self.median(|pair| bytes(pair.host.received_bytes)),
            self.median(|pair| bytes(pair.pushed.received_bytes)),
        ]
    }

    /// The time of the server's scan in seconds: the least of all runs, since the same processor
    /// also sends.
    #[must_use]
    pub fn scan_s(&self) -> f64 {
        let scans = self.pairs.iter().map(|pair| pair.pushed.scan.as_secs_f64());
        scans.min_by(f64::total_cmp).unwrap_or_default()
    }

    /// The time in seconds below which no pushed SELECT can be: that of the scan, or of its answer
    /// on the link.
    #[must_use]
    pub fn bound_s(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        let link = self.link.get() as f64;
        self.scan_s().max(self.received_bytes()[1] / link)
    }

    /// Whether the response time is at most 1.2 times its bound.
    #[must_use]
    pub fn is_near_bound(&self) -> bool {
        self.pushed_s() <= OVER_BOUND_MAX * self.bound_s()
    }

    /// Whether 90 % is saved; none where the bound does not allow it.
    #[must_use]
    pub fn is_less(&self) -> Option<bool> {
        let is_allowed = OVER_BOUND_MAX * self.bound_s() <= (1.0 - LESS_MIN) * self.host_s();
        is_allowed.then(|| self.less().median >= LESS_MIN)
    }
}

impl Report {
    /// Whether all response times are as near to their bounds, and as much less than on the host,
    /// as was aimed at.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.is_near_bound() && row.is_less() != Some(false))
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let codec = match self.codec {
            Codec::None => "uncompressed",
            Codec::Snappy => "Snappy",
        };
        let mut text = format!(
            "SELECT account, name, age, sex, balance .. WHERE balance < x; Parquet, {codec}\n\
             server and client on one processor each; measured, medians of {} pairs\n\
             bound: the longer of the server's scan and of the answer's time on the link\n\n",
            self.rounds
        );
        text.push_str(
            "    rows   link MB/s   selectivity     host s   pushed s    less    bound s   \
             of bound     host MB   pushed MB\n",
        );
        for row in &self.rows {
            let [host, pushed] = row.received_bytes();
            let mark = match (row.is_near_bound(), row.is_less()) {
                (true, None | Some(true)) => "",
                (false, _) => "  beyond 1.2 of its bound",
                (true, Some(false)) => "  less than 90 % saved",
            };
            text.push_str(&format!(
                "{:>8}{:>12}{:>14}{:>11.4}{:>11.4}{:>7.1} %{:>11.4}{:>11.2}{:>12.1}{:>12.2}{mark}\n",
                shown(row.table_rows),
                row.link.get() / 1_000_000,
                row.selectivity,
                row.host_s(),
                row.pushed_s(),
                row.less().median * 100.0,
                row.bound_s(),
                row.pushed_s() / row.bound_s(),
                host / 1e6,
                pushed / 1e6,
            ));
        }
        text
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let [host, pushed] = row.received_bytes();
            let less = row.less();
            json!({
                "table_rows": row.table_rows,
                "link_bytes_per_second": row.link,
                "selectivity": row.selectivity,
                "host_seconds": row.host_s(),
                "pushed_seconds": row.pushed_s(),
                "less": {"lower": less.lower, "median": less.median, "upper": less.upper},
                "scan_seconds": row.scan_s(),
                "bound_seconds": row.bound_s(),
                "host_received_bytes": host,
                "pushed_received_bytes": pushed,
            })
        });
        json!({"rounds": self.rounds, "rows": rows.collect::<Vec<_>>()})
    }
}

/// Rows in millions where they are whole ones.
fn shown(rows: u64) -> String {
    match rows % 1_000_000 {
        0 if rows > 0 => format!("{} M", rows / 1_000_000),
        _ => rows.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A row with one pair: milliseconds of both ways and of the scan, and MB of the answer.
    fn row(host: u64, pushed: u64, scan: u64, answer: u64) -> Row {
        let ms = Duration::from_millis;
        let host = Run { response: ms(host), received_bytes: 400_000_000, scan: Duration::ZERO };
        let received_bytes = answer * 1_000_000;
        let pushed = Run { response: ms(pushed), received_bytes, scan: ms(scan) };
        let link = NonZeroU64::new(1_000_000_000).unwrap();
        Row { pairs: vec![Pair { host, pushed }], ..Row::new(2_000_000, link, 0.01) }
    }

    #[rstest]
    #[case::scan_bounds_and_most_is_saved(row(1000, 60, 50, 1), true, Some(true))]
    #[case::link_bounds(row(1000, 480, 50, 400), true, None)]
    #[case::far_from_its_bound(row(1000, 90, 50, 1), false, Some(true))]
    #[case::less_is_saved_than_the_bound_allows(row(1000, 110, 50, 1), false, Some(false))]
    fn response_time_is_held_against_its_bound_and_the_host(
        #[case] row: Row,
        #[case] is_near_bound: bool,
        #[case] is_less: Option<bool>,
    ) {
        assert_eq!((row.is_near_bound(), row.is_less()), (is_near_bound, is_less));
        let holds = is_near_bound && is_less != Some(false);
        let report = Report { rounds: 1, codec: Codec::None, rows: vec![row] };
        assert_eq!(report.holds(), holds);
        assert_eq!(report.to_text().contains("beyond 1.2 of its bound"), !is_near_bound);
    }

    #[test]
    fn report_has_a_line_for_each_setting() {
        let report = Report {
            rounds: 1,
            codec: Codec::Snappy,
            rows: vec![row(1000, 50, 40, 1), row(1000, 500, 40, 400)],
        };
        let text = report.to_text();
        let lines: Vec<&str> = text.lines().skip(5).collect();
        let expected = [
            "     2 M        1000          0.01     1.0000     0.0500   95.0 %     0.0400       \
             1.25       400.0        1.00  beyond 1.2 of its bound",
            "     2 M        1000          0.01     1.0000     0.5000   50.0 %     0.4000       \
             1.25       400.0      400.00  beyond 1.2 of its bound",
        ];
        assert_eq!(lines, expected, "{text}");
        let json = report.to_json();
        assert_eq!(json["rows"][0]["bound_seconds"], 0.04);
        assert_eq!(json["rows"][1]["pushed_received_bytes"], 4e8);
    }
}
