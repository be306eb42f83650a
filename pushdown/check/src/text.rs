// SPDX-License-Identifier: Apache-2.0
//! Formats the report as text: two lines on the drive, the suite, and the table of figures.

use std::fmt;

use crate::report::Report;

const TITLES: [&str; 7] =
    ["parameter", "unit", "model", "modelled", "measured", "ratio", "how it was measured"];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (identity, can) = (&self.identity, &self.capabilities);
        writeln!(f, "{}: {} ({})", identity.kind, identity.model, identity.uuid)?;
        let merges = match can.merge_inputs_max {
            0 => "no merges".to_owned(),
            inputs => format!("merges of {inputs} scans of {} columns", can.merge_columns_max),
        };
        writeln!(
            f,
            "{} columns and {} steps of a command, {merges}, {} commands in flight, {} MiB",
            can.columns_max,
            can.steps_max,
            can.in_flight_max,
            can.memory_bytes >> 20
        )?;
        match &self.conformance {
            Some(report) => write!(f, "\nconformance: {report}")?,
            None => writeln!(f, "\nconformance: not run")?,
        }
        writeln!(f)?;
        let rows: Vec<[String; 7]> = self.rows();
        let widths: [usize; 7] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].len()).max().unwrap_or(0)
        });
        for row in &rows {
            let cells =
                row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
                    0 | 1 => format!("{cell:width$}"),
                    6 => cell.clone(),
                    _ => format!("{cell:>width$}"),
                });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  "))?;
        }
        for left in &self.left {
            writeln!(f, "{}: left out: {}", left.name, left.reason)?;
        }
        if let Some(reason) = self.why_ended() {
            writeln!(f, "\nThe benchmarks ended before they were done: {reason}")?;
        }
        match self.is_modelled() {
            true => writeln!(
                f,
                "\nThe drive is emulated. Its times are in the column modelled, and the ratio is \
                 theirs.\nThe column measured is the wall time of the simulation: it says nothing \
                 of a card."
            ),
            false => writeln!(f, "\nTimes are measured; the ratio is theirs to the model's."),
        }
    }
}

impl Report {
    fn rows(&self) -> Vec<[String; 7]> {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        let mut rows = vec![TITLES.map(str::to_owned)];
        rows.extend(self.figures.iter().map(|figure| {
            let measured = figure.found.measured.value();
            let modelled = figure.found.modelled.value();
            let found = if self.is_modelled() { modelled } else { measured };
            let ratio = found.map(|found| format!("{:.3}", found / figure.model));
            [
                figure.name.to_owned(),
                figure.unit.to_owned(),
                number(figure.model),
                shown(modelled),
                shown(measured),
                ratio.unwrap_or_else(|| "-".to_owned()),
                figure.how.to_owned(),
            ]
        }));
        rows
    }
}

/// Four digits, as the timing model's page writes numbers.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.3e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}
