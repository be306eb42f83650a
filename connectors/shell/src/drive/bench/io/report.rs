// SPDX-License-Identifier: Apache-2.0
//! Shows measured rates of reads: a table for each case with the ratios of the best modes below it,
//! and the same as JSON.

use std::path::{Path, PathBuf};

use nearscan::units::format_bytes;
use nearscan_io::{
    Error, Feature, File,
    bench::{Case, Mode, Order, Plan, Row, Table},
};
use nearscan_kernels::{Cell, Column, Table as Shown};
use serde_json::{Value, json};

/// What was measured, of which file.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) file: PathBuf,
    file_bytes: u64,
    /// Whether reads went past the page cache.
    has_direct: bool,
    pub(super) plan: Plan,
    pub(super) table: Table,
}

/// The modes with one request in flight, and with several.
const ONE: [Mode; 2] = [Mode::Sync, Mode::SyncPool];
const MANY: [Mode; 3] = [Mode::Async, Mode::AsyncRegistered, Mode::AsyncShared];
const FIO: [Mode; 2] = [Mode::FioSync, Mode::FioAsync];

/// All modes, in the order of the table.
pub(super) const MODES: [Mode; 7] = [
    Mode::Sync,
    Mode::SyncPool,
    Mode::Async,
    Mode::AsyncRegistered,
    Mode::AsyncShared,
    Mode::FioSync,
    Mode::FioAsync,
];

/// The name for people.
pub(super) fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Sync => "sync",
        Mode::SyncPool => "sync, large pages",
        Mode::Async => "async",
        Mode::AsyncRegistered => "registered",
        Mode::AsyncShared => "shared",
        Mode::FioSync => "fio psync",
        Mode::FioAsync => "fio io_uring",
    }
}

/// The name for programs.
fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Sync => "sync",
        Mode::SyncPool => "sync_pool",
        Mode::Async => "async",
        Mode::AsyncRegistered => "registered",
        Mode::AsyncShared => "shared",
        Mode::FioSync => "fio_sync",
        Mode::FioAsync => "fio_async",
    }
}

/// The name of an order.
pub(super) fn order(order: Order) -> &'static str {
    match order {
        Order::Random => "random",
        Order::Sequential => "sequential",
    }
}

/// A rate that people read.
pub(super) fn megabytes(bytes_per_second: u64) -> f64 {
    bytes_per_second as f64 / 1e6
}

impl Report {
    /// Adds the facts about the file.
    ///
    /// # Errors
    /// If it is not there any more.
    pub(super) fn new(file: &Path, plan: Plan, table: Table) -> Result<Self, Error> {
        let opened = File::open(file)?;
        let (file_bytes, has_direct) = (opened.length()?, opened.has_direct());
        Ok(Self { file: file.to_owned(), file_bytes, has_direct, plan, table })
    }

    /// The rate of a mode at a depth, if it was measured.
    pub(super) fn rate(&self, case: Case, mode: Mode, depth: u32) -> Option<u64> {
        let is_it = |row: &&Row| (row.case, row.mode, row.depth) == (case, mode, depth);
        self.table.rows.iter().find(is_it).map(|row| row.bytes_per_second)
    }

    /// The highest rate of some modes.
    fn best(&self, case: Case, modes: &[Mode]) -> Option<u64> {
        let rows = self.table.rows.iter();
        let rows = rows.filter(|row| row.case == case && modes.contains(&row.mode));
        rows.map(|row| row.bytes_per_second).max()
    }

    fn ratio(&self, case: Case, of: &[Mode], to: &[Mode]) -> Option<f64> {
        let to = self.best(case, to).filter(|rate| *rate > 0)?;
        Some(self.best(case, of)? as f64 / to as f64)
    }

    fn async_over_sync(&self, case: Case) -> Option<f64> {
        self.ratio(case, &MANY, &ONE)
    }

    fn ours_over_fio(&self, case: Case) -> Option<f64> {
        self.ratio(case, &[&ONE[..], &MANY[..]].concat(), &FIO)
    }

    /// The report for people.
    pub(super) fn to_text(&self) -> String {
        let rounds = match self.plan.rounds {
            1 => "one round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        };
        let mut text = format!(
            "{}, {}: reads {}, MB/s, measured, {rounds}\n",
            self.file.display(),
            format_bytes(self.file_bytes),
            if self.has_direct { "direct (O_DIRECT)" } else { "through the page cache" },
        );
        if !self.has_direct {
            text.push_str("The file system has no direct reads.\n");
        }
        if let Feature::Off { reason } = &self.table.ring {
            text.push_str(&format!("There are no figures of io_uring: {reason}\n"));
        }
        if let Feature::Off { reason } = &self.table.fio {
            text.push_str(&format!("There are no figures of fio: {reason}\n"));
        }
        for case in &self.plan.cases {
            text.push_str(&format!("\n{}", self.shown(*case)));
        }
        text
    }

    /// The table of one case. What has one request in flight is apart from the depths.
    fn shown(&self, case: Case) -> Shown {
        let column = |name: String, heading: String| Column { name, heading };
        let depth = |depth: &u32| column(format!("depth_{depth}"), format!("depth {depth}"));
        let mut columns = vec![
            column("mode".to_owned(), "mode".to_owned()),
            column("one".to_owned(), "one at a time".to_owned()),
        ];
        columns.extend(self.plan.depths.iter().map(depth));
        let cell =
            |rate: Option<u64>| rate.map_or(Cell::Nothing, |rate| Cell::Number(megabytes(rate), 0));
        let row = |mode: Mode| {
            let is_one = matches!(mode, Mode::Sync | Mode::SyncPool | Mode::FioSync);
            let one = is_one.then(|| self.rate(case, mode, 1)).flatten();
            let many = |depth: &u32| (!is_one).then(|| self.rate(case, mode, *depth)).flatten();
            let rates = std::iter::once(one).chain(self.plan.depths.iter().map(many));
            std::iter::once(Cell::Text(name(mode).to_owned())).chain(rates.map(cell)).collect()
        };
        let was_measured = |mode: &Mode| self.best(case, &[*mode]).is_some();
        let times = |ratio: Option<f64>| {
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let ratios = format!(
            "async/sync {}, ours/fio {} (the best of each)",
            times(self.async_over_sync(case)),
            times(self.ours_over_fio(case)),
        );
        Shown {
            name: "reads",
            title: format!(
                "{} blocks of {}, {} a round",
                order(case.order),
                format_bytes(case.block_bytes.into()),
                format_bytes(case.round_bytes),
            ),
            columns,
            rows: MODES.into_iter().filter(was_measured).map(row).collect(),
            notes: vec![ratios],
        }
    }

    /// The report for programs.
    pub(super) fn to_json(&self) -> Value {
        let feature = |feature: &Feature| match feature {
            Feature::On => Value::Null,
            Feature::Off { reason } => json!(reason),
        };
        let row = |row: &Row| {
            json!({
                "block_bytes": row.case.block_bytes,
                "order": order(row.case.order),
                "round_bytes": row.case.round_bytes,
                "mode": word(row.mode),
                "depth": row.depth,
                "bytes_per_second": row.bytes_per_second,
                "rounds": row.rounds,
            })
        };
        let ratio = |case: &Case| {
            json!({
                "block_bytes": case.block_bytes,
                "order": order(case.order),
                "async_over_sync": self.async_over_sync(*case),
                "ours_over_fio": self.ours_over_fio(*case),
            })
        };
        json!({
            "file": self.file.display().to_string(),
            "file_bytes": self.file_bytes,
            "direct": self.has_direct,
            "time_source": "measured",
            "rounds": self.plan.rounds,
            "without_ring": feature(&self.table.ring),
            "without_fio": feature(&self.table.fio),
            "rows": self.table.rows.iter().map(row).collect::<Vec<_>>(),
            "ratios": self.plan.cases.iter().map(ratio).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use nearscan_io::bench::Peer;

    const CASE: Case = Case { block_bytes: 65_536, order: Order::Random, round_bytes: 1 << 20 };

    pub(in super::super) fn sample() -> Report {
        let row = |mode, depth, megabytes: u64| Row {
            case: CASE,
            mode,
            depth,
            bytes_per_second: megabytes * 1_000_000,
            rounds: vec![megabytes * 1_000_000],
        };
        let rows = vec![
            row(Mode::Sync, 1, 500),
            row(Mode::SyncPool, 1, 400),
            row(Mode::Async, 1, 450),
            row(Mode::Async, 8, 900),
            row(Mode::AsyncShared, 1, 440),
            row(Mode::AsyncShared, 8, 1000),
            row(Mode::FioSync, 1, 510),
            row(Mode::FioAsync, 1, 480),
            row(Mode::FioAsync, 8, 1250),
        ];
        Report {
            file: "f.bin".into(),
            file_bytes: 3 << 20,
            has_direct: true,
            plan: Plan { cases: vec![CASE], depths: vec![1, 8], rounds: 1, fio: Peer::IfThere },
            table: Table { rows, fio: Feature::On, ring: Feature::On },
        }
    }

    #[test]
    fn text_has_a_column_for_one_at_a_time_and_for_each_depth() {
        let expected = "\
f.bin, 3.0 MiB: reads direct (O_DIRECT), MB/s, measured, one round

random blocks of 64.0 KiB, 1.0 MiB a round
  mode               one at a time  depth 1  depth 8
  sync                         500        -        -
  sync, large pages            400        -        -
  async                          -      450      900
  shared                         -      440     1000
  fio psync                    510        -        -
  fio io_uring                   -      480     1250
  async/sync 2.00, ours/fio 0.80 (the best of each)
";
        assert_eq!(sample().to_text(), expected);
    }

    #[test]
    fn what_is_missing_is_said_and_has_no_ratio() {
        let mut report = sample();
        report.has_direct = false;
        report.table.rows.retain(|row| ONE.contains(&row.mode));
        report.table.fio = Feature::Off { reason: "it is not there".to_owned() };
        report.table.ring = Feature::Off { reason: "it is forbidden".to_owned() };
        let text = report.to_text();
        for part in [
            "reads through the page cache",
            "no direct reads",
            "no figures of io_uring: it is forbidden\n",
            "no figures of fio: it is not there\n",
            "async/sync -, ours/fio -",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = report.to_json();
        assert_eq!(json["without_fio"], "it is not there");
        assert_eq!(json["ratios"][0]["async_over_sync"], Value::Null);
    }
}
