// SPDX-License-Identifier: Apache-2.0
//! Reports a run, as a table and as JSON.
//!
//! Measured seconds and modelled seconds have their own columns and are never added. With an
//! emulated drive the banner says so above the table.

use std::{collections::BTreeMap, fmt::Write as _};

use nearscan::{HostRates, units::format_bytes};
use serde::{Deserialize, Serialize, Serializer};

use crate::{answers::Difference, machine::Machine, versus::Versus};

/// Whether the answer of a query was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// It is the stored one, in every run.
    Ok,
    /// It is another one.
    Wrong(Difference),
    /// The query failed; the text is the rendered error.
    Failed(String),
    /// No answer is stored for this scale factor.
    Unchecked,
}

/// The source of the times of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// Everything was read from a clock.
    Measured,
    /// Seconds were read from a clock while an emulator simulated the drive; drive time is
    /// modelled.
    Composed,
}

/// The result of one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryReport {
    /// Number of the query.
    pub query: u32,
    /// Measured wall time of each run.
    pub seconds: Vec<f64>,
    /// Rows of the answer.
    pub rows: u64,
    /// Whether the answer was right.
    pub answer: Checked,
    /// Units of work that ran on drives, in the last run.
    pub units_drive: u64,
    /// Units of work meant for drives that ran on the CPU, in the last run.
    pub units_cpu: u64,
    /// Bytes that drives read from their media, in the last run.
    pub media_bytes: u64,
    /// Bytes that crossed the links to drives, in the last run.
    pub link_bytes: u64,
    /// Time of emulated drives, computed by their model, in the last run.
    pub modelled_seconds: Option<f64>,
    /// The drive compared with a host without one, in the last run.
    pub versus: Option<Versus>,
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Commit of the checkout the program was run in.
    pub commit: Option<String>,
    /// Whether files of the checkout differed from the commit.
    pub dirty: Option<bool>,
    /// The machine of the measurements.
    pub machine: Machine,
    /// Scale factor.
    pub scale_factor: f64,
    /// Drives, as the user wrote them; none if all ran on the host.
    pub drive: Option<String>,
    /// The source of the times.
    pub time_source: TimeSource,
    /// Settings that were in force.
    pub settings: BTreeMap<String, String>,
    /// The queries, in the order in which they ran.
    pub queries: Vec<QueryReport>,
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Checked {
    /// The word for it in tables and JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Wrong(_) | Self::Failed(_) => "wrong",
            Self::Unchecked => "unchecked",
        }
    }
}

impl QueryReport {
    /// The median of the runs, in seconds; none if the query never ran to its end.
    #[must_use]
    pub fn median_seconds(&self) -> Option<f64> {
        median(&self.seconds)
    }

    /// The heading of the table, one line.
    #[must_use]
    pub fn heading() -> String {
        format!(
            "{:<5} {:>10} {:>9} {:<9} {:>8} {:>8} {:>11} {:>11} {:>10}",
            "query", "seconds", "rows", "answer", "on drive", "on cpu", "media", "link", "modelled"
        )
    }

    /// The row of the table, one line.
    #[must_use]
    pub fn row(&self) -> String {
        let seconds = |value: Option<f64>, places: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.places$}"))
        };
        format!(
            "{:<5} {:>10} {:>9} {:<9} {:>8} {:>8} {:>11} {:>11} {:>10}",
            format!("q{:02}", self.query),
            seconds(self.median_seconds(), 3),
            self.rows,
            self.answer.word(),
            self.units_drive,
            self.units_cpu,
            format_bytes(self.media_bytes),
            format_bytes(self.link_bytes),
            seconds(self.modelled_seconds, 6),
        )
    }
}

/// The value in the middle, or between the two in the middle; none of none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(values[middle - 1].midpoint(values[middle])),
    }
}

impl RunReport {
    /// Returns the text above the table: the data, the machine, the drive, and the source of the
    /// times.
    #[must_use]
    pub fn banner(&self) -> String {
        let Machine { processor, threads, .. } = &self.machine;
        let drive = self.drive.as_deref().unwrap_or("none");
        let scale = self.scale_factor;
        let mut text = format!("TPC-H scale factor {scale}, {threads} threads ({processor})\n");
        text.push_str(&format!("drive: {drive}"));
        if self.time_source == TimeSource::Composed {
            text.push_str(
                "\nthe drive is emulated: seconds are the wall time of the simulation, drive time is \
                 modelled",
            );
        }
        if self.drive.is_some() {
            text.push_str(
                "\non drive, on cpu: row groups; media: bytes that drives read; link: bytes that they \
                 send",
            );
            if self.time_source == TimeSource::Composed {
                text.push_str("; modelled: seconds of drives");
            }
        }
        text
    }

    /// Returns the text below the table: the geometric mean, counts of answers, and what failed.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = String::new();
        if let Some(mean) = self.geometric_mean_seconds() {
            let ran = self.queries.iter().filter(|query| !query.seconds.is_empty()).count();
            let _infallible = write!(text, "geometric mean {mean:.3} s over {ran} queries");
        }
        for word in ["ok", "wrong", "unchecked"] {
            let count = self.queries.iter().filter(|query| query.answer.word() == word).count();
            if count > 0 {
                let _infallible = write!(text, ", {count} {word}");
            }
        }
        for query in &self.queries {
            let name = format!("q{:02}", query.query);
            match &query.answer {
                Checked::Ok | Checked::Unchecked => {}
                Checked::Wrong(difference) => {
                    let _infallible = write!(text, "\n{name} is wrong: {difference}");
                }
                Checked::Failed(error) => {
                    let _infallible = write!(text, "\n{name} failed: {error}");
                }
            }
        }
        text
    }

    /// Returns the line about queries of which nothing went to an attached drive; nothing if there
    /// are none.
    #[must_use]
    pub fn note_on_unused_drive(&self) -> Option<String> {
        self.drive.as_ref()?;
        let is_unused = |query: &&QueryReport| query.units_drive == 0 && query.units_cpu == 0;
        match self.queries.iter().filter(is_unused).count() {
            0 => None,
            count => Some(format!(
                "no scan of {count} of the queries went to the drive; EXPLAIN says why, and\n\
                 --set nearscan.pushdown.mode=force sends all that it can run"
            )),
        }
    }

    /// Emulated drives against a host without them, a line a query; nothing where none ran.
    #[must_use]
    pub fn versus_table(&self, host: &HostRates) -> Option<String> {
        let rows =
            self.queries.iter().filter_map(|query| Some(query.versus.as_ref()?.row(query.query)));
        let rows: Vec<String> = rows.collect();
        let title = format!(
            "modelled: scans on the drive, against a host that reads the same bytes over its link\n\
             ({:.1} GB/s) and decodes with {} cores, each measured at {:.2} GB/s and {:.1} M values/s;\n\
             fused: the same scans without a drive, measured here, their time divided by the cores;\n\
             none where the host ran some of them",
            host.media_bytes_per_s / 1e9,
            host.cores,
            host.core.decode_bytes_per_s / 1e9,
            host.core.decode_values_per_s / 1e6,
        );
        let heading = Versus::heading(host.cores);
        (!rows.is_empty()).then(|| [title, heading, rows.join("\n")].join("\n"))
    }

    /// The geometric mean of the medians of all queries that ran.
    #[must_use]
    pub fn geometric_mean_seconds(&self) -> Option<f64> {
        let medians: Vec<f64> =
            self.queries.iter().filter_map(QueryReport::median_seconds).collect();
        if medians.is_empty() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are 22 queries")]
        let count = medians.len() as f64;
        Some((medians.iter().map(|seconds| seconds.ln()).sum::<f64>() / count).exp())
    }

    /// Whether no query was wrong or failed.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.queries.iter().all(|query| query.answer.word() != "wrong")
    }

    /// The report as JSON, for `--json`.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain numbers, strings and lists: there is nothing that could not be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use nearscan::{
        Modelled,
        drive::{KernelTime, ModelId, Schedules, StageTimes},
    };

    use super::*;

    /// A drive that waits for its media alone.
    pub(crate) fn modelled(media_ns: u64) -> Modelled {
        Modelled {
            model: ModelId { version: 1, config_hash: 0, schedules: Schedules::default() },
            setup_ns: 0,
            media_ns,
            bank_ns: 0,
            kernel: KernelTime::default(),
            ideal_kernel: KernelTime::default(),
            stages: StageTimes::default(),
            merge_ns: 0,
            exchange_ns: 0,
            link_ns: 0,
            compute_units: 1,
            commands: 1,
        }
    }

    fn query(number: u32, seconds: &[f64], answer: Checked) -> QueryReport {
        QueryReport {
            query: number,
            seconds: seconds.to_vec(),
            rows: 4,
            answer,
            units_drive: 53,
            units_cpu: 0,
            media_bytes: 1536,
            link_bytes: 12,
            modelled_seconds: Some(0.25),
            versus: None,
        }
    }

    fn report(queries: Vec<QueryReport>) -> RunReport {
        RunReport {
            commit: None,
            dirty: None,
            machine: Machine {
                processor: "x".to_owned(),
                threads: 2,
                memory_bytes: 0,
                system: "linux".to_owned(),
            },
            scale_factor: 1.0,
            drive: Some("emulated=emulated:".to_owned()),
            time_source: TimeSource::Composed,
            settings: BTreeMap::new(),
            queries,
        }
    }

    #[test]
    fn row_lines_up_with_the_heading() {
        let row = query(6, &[0.5, 0.1, 0.2], Checked::Ok).row();
        assert_eq!(row.len(), QueryReport::heading().len());
        let cells: Vec<&str> = row.split_whitespace().collect();
        let expected = ["q06", "0.200", "4", "ok", "53", "0", "1.5", "KiB", "12", "B", "0.250000"];
        assert_eq!(cells, expected);
    }

    #[test]
    fn wrong_answer_is_named_and_fails_the_run() {
        let difference = Difference::Rows { expected: 4, found: 3 };
        let queries = vec![
            query(1, &[0.1], Checked::Ok),
            query(2, &[0.4], Checked::Wrong(difference)),
            query(3, &[], Checked::Failed("error: x".to_owned())),
        ];
        let report = report(queries);
        assert!(!report.is_right());
        let expected = "geometric mean 0.200 s over 2 queries, 1 ok, 2 wrong\n\
                        q02 is wrong: 3 rows instead of 4\nq03 failed: error: x";
        assert_eq!(report.summary(), expected);
    }

    #[test]
    fn unused_drive_is_explained_where_one_is_attached() {
        let unused = QueryReport { units_drive: 0, ..query(1, &[0.5], Checked::Ok) };
        let mut report = report(vec![query(6, &[0.5], Checked::Ok)]);
        assert_eq!(report.note_on_unused_drive(), None);
        report.queries.push(unused);
        let note = report.note_on_unused_drive().unwrap_or_default();
        assert!(note.starts_with("no scan of 1 of the queries went to the drive"), "{note}");
        report.drive = None;
        assert_eq!(report.note_on_unused_drive(), None);
    }

    #[test]
    fn banner_says_that_an_emulated_drive_has_no_clock() {
        let mut report = report(Vec::new());
        assert!(report.banner().contains("drive time is modelled"));
        report.time_source = TimeSource::Measured;
        assert!(!report.banner().contains("modelled"));
    }

    #[test]
    fn banner_explains_the_columns_where_a_drive_is_attached() {
        let mut report = report(Vec::new());
        assert!(report.banner().contains("on drive, on cpu: row groups"), "{}", report.banner());
        report.drive = None;
        assert!(!report.banner().contains("row groups"), "{}", report.banner());
    }

    #[test]
    fn json_has_the_documented_shape() {
        let json = report(vec![query(6, &[0.5], Checked::Unchecked)]).to_json();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let expected = "commit dirty drive machine queries scale_factor settings time_source";
        assert_eq!(keys(&json), expected);
        let expected = "answer link_bytes media_bytes modelled_seconds query rows seconds units_cpu \
                        units_drive versus";
        assert_eq!(keys(&json["queries"][0]), expected);
        assert_eq!(json["queries"][0]["answer"], "unchecked");
        assert_eq!(json["time_source"], "composed");
    }
}
