// SPDX-License-Identifier: Apache-2.0
//! Describes where the time of a statement went: planning and execution, reads of files, drives.
//!
//! What a model says has a line of its own and is never added to what was measured.

use std::time::Duration;

use nearscan::{QueryProfile, units::format_bytes};

/// The wall time of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Until the first operator could run.
    pub(crate) planning: Duration,
    /// From then until the last row was written.
    pub(crate) execution: Duration,
}

/// Returns the lines about a statement that returned so many rows.
pub(crate) fn describe(times: Times, rows: u64, profile: Option<&QueryProfile>) -> String {
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut text = format!(
        "time: {} s (planning {}, execution {}), {rows} {noun}",
        seconds(times.planning + times.execution),
        seconds(times.planning),
        seconds(times.execution),
    );
    let Some(profile) = profile else { return text };
    let read = profile.total("bytes_scanned").unwrap_or(0);
    if read > 0 {
        text.push_str(&format!("\n      host: {} read", format_bytes(read)));
        if let Some(waited) = profile.total("read_time").filter(|waited| *waited > 0) {
            let waited = seconds(Duration::from_nanos(waited));
            text.push_str(&format!(", {waited} s of waiting for it, summed over threads"));
        }
    }
    let drive = profile.pushdown();
    if drive.units_drive > 0 {
        text.push_str(&format!(
            "\n      drive: {} of {} units, {} of the media, {} over the link",
            drive.units_drive,
            drive.units_drive + drive.units_cpu,
            format_bytes(drive.media_bytes),
            format_bytes(drive.link_bytes),
        ));
        if let Some(measured) = drive.drive_time_measured {
            text.push_str(&format!(", {} s measured, summed over units", seconds(measured)));
        }
    }
    if let (Some(time), Some(modelled)) = (drive.drive_time_modelled, drive.modelled) {
        let limit = modelled.limit_with_schedule();
        text.push_str(&format!("\n      modelled: {} s on the drive ({limit})", seconds(time)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_without_profile_has_one_line() {
        let times =
            Times { planning: Duration::from_millis(4), execution: Duration::from_millis(1230) };
        let expected = "time: 1.234 s (planning 0.004, execution 1.230), 1 row";
        assert_eq!(describe(times, 1, None), expected);
        assert!(describe(times, 2, None).ends_with("2 rows"));
    }
}
