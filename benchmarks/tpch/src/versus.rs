// SPDX-License-Identifier: Apache-2.0
//! Compares the modelled time of an emulated drive with that of a host that reads the same bytes
//! over the same link and decodes them with its cores.
//!
//! Both sides are modelled, the host from what a core of this machine was measured to decode as
//! DataFusion reads. Beside it stands what fused scans take, which is measured. Only scans count:
//! joins, sorts and final aggregates are the host's on either side.

use nearscan::{HostRates, Modelled, Schedule};
use serde::Serialize;

/// The work of the drive's scans of a query, in rows and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scanned {
    /// Bytes read from the media.
    pub media_bytes: u64,
    /// Values decoded: rows of each column.
    pub values: u64,
    /// Bytes sent to the host.
    pub link_bytes: u64,
}

/// A query on the drive and on a host without one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Versus {
    /// Modelled time of the drive, in seconds.
    pub drive_seconds: f64,
    /// The same if its kernel never waited for device memory, in seconds: with `drive_seconds` the
    /// ends of a band.
    pub ideal_seconds: f64,
    /// The resource that most of that time went to.
    pub limit: String,
    /// The source of the schedules of that stage of the kernel; nothing if the limit is another.
    pub schedule: Option<&'static str>,
    /// Share of that time in which the media were busy: 1 when nothing else was waited for.
    pub media_share: f64,
    /// Modelled time of the host with all of its cores, in seconds.
    pub host_seconds: f64,
    /// Measured time of the same scans as fused scans without a drive, spread over all cores of the
    /// host, in seconds; nothing where it was not measured.
    pub fused_measured_seconds: Option<f64>,
    /// Cores that the host would keep busy with decoding while the drive runs, less those that
    /// take its results.
    pub cores_freed: f64,
    /// Cores with which the host would take as long as the drive; nothing when no number of cores
    /// would do, since its link is slower.
    pub cores_equal: Option<f64>,
}

impl Versus {
    /// Compares the drive with a host.
    #[must_use]
    pub fn new(drive: &Modelled, scanned: &Scanned, host: &HostRates) -> Self {
        let drive_seconds = seconds(drive.makespan_ns());
        let core_seconds = amount(scanned.media_bytes) / host.core.decode_bytes_per_s
            + amount(scanned.values) / host.core.decode_values_per_s;
        let taking_seconds = amount(scanned.link_bytes) / host.core.result_bytes_per_s;
        let link_seconds = amount(scanned.media_bytes) / host.media_bytes_per_s;
        Self {
            drive_seconds,
            ideal_seconds: seconds(drive.ideal().makespan_ns()),
            limit: drive.limit().to_string(),
            schedule: drive.limit_schedule().map(Schedule::name),
            media_share: seconds(drive.media_ns) / drive_seconds,
            host_seconds: link_seconds.max(core_seconds / host.cores),
            fused_measured_seconds: None,
            cores_freed: (core_seconds - taking_seconds) / drive_seconds,
            cores_equal: (link_seconds <= drive_seconds).then(|| core_seconds / drive_seconds),
        }
    }

    /// The heading of the table, one line.
    #[must_use]
    pub fn heading(cores: f64) -> String {
        let host = format!("host, {cores}");
        let fused = format!("fused, {cores}");
        format!(
            "{:<5} {:>9} {:>9} {:>6} {:<29} {:>9} {:>6} {:>9} {:>6} {:>11} {:>11}",
            "query",
            "drive ms",
            "ideal ms",
            "media",
            "limit",
            host,
            "ratio",
            fused,
            "ratio",
            "cores freed",
            "cores equal"
        )
    }

    /// The row of the table, one line.
    #[must_use]
    pub fn row(&self, query: u32) -> String {
        let limit = match self.schedule {
            Some(schedule) => format!("{}, {schedule}", self.limit),
            None => self.limit.clone(),
        };
        let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "none".to_owned());
        let fused = self.fused_measured_seconds;
        format!(
            "{:<5} {:>9.2} {:>9.2} {:>5.0}% {limit:<29} {:>9.2} {:>6.2} {:>9} {:>6} {:>11.1} {:>11}",
            format!("q{query:02}"),
            self.drive_seconds * 1e3,
            self.ideal_seconds * 1e3,
            self.media_share * 1e2,
            self.host_seconds * 1e3,
            self.host_seconds / self.drive_seconds,
            or_none(fused.map(|seconds| format!("{:.2}", seconds * 1e3))),
            or_none(fused.map(|seconds| format!("{:.2}", seconds / self.drive_seconds))),
            self.cores_freed,
            or_none(self.cores_equal.map(|cores| format!("{cores:.1}"))),
        )
    }
}

/// Exact up to 2^53, which no run reaches.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
fn amount(amount: u64) -> f64 {
    amount as f64
}

fn seconds(ns: u64) -> f64 {
    amount(ns) / 1e9
}

#[cfg(test)]
mod tests {
    use nearscan::CoreRates;

    use super::*;

    /// A tenth of a second of the media for a gigabyte, and of one core a second.
    fn versus(cores: usize) -> Versus {
        let drive = crate::report::tests::modelled(100_000_000);
        let core = CoreRates {
            decode_bytes_per_s: 2e9,
            decode_values_per_s: 1e8,
            merge_rows_per_s: 1.0,
            result_bytes_per_s: 1e9,
        };
        let scanned =
            Scanned { media_bytes: 1_000_000_000, values: 50_000_000, link_bytes: 10_000_000 };
        Versus::new(&drive, &scanned, &HostRates::new(cores, core))
    }

    #[test]
    fn host_decodes_with_its_cores_until_its_link_is_the_limit() {
        let two = versus(2);
        assert!((two.host_seconds - 0.5).abs() < 1e-9, "{two:?}");
        assert!((two.cores_freed - 9.9).abs() < 1e-9, "{two:?}");
        // 3.2 GB/s.
        assert!((versus(64).host_seconds - 0.3125).abs() < 1e-9);
        // No number of cores makes up for the link.
        assert_eq!(two.cores_equal, None);
    }

    #[test]
    fn row_lines_up_with_the_heading() {
        let measured = Versus { fused_measured_seconds: Some(0.06), ..versus(2) };
        for (compared, expected) in [(versus(2), " none   none "), (measured, " 60.00   0.60 ")] {
            let row = compared.row(6);
            assert_eq!(row.chars().count(), Versus::heading(2.0).chars().count(), "{row}");
            assert!(row.contains(expected) && row.ends_with("none"), "{row}");
        }
    }
}
