// SPDX-License-Identifier: Apache-2.0
//! Combines the report: the builds, the tables, the judgement, and the parameters.

use std::ops::ControlFlow;

use nearscan_emulator::timing::{ASSUMPTIONS, MODEL_VERSION, Parameter, Parameters};
use serde_json::{Value, json};

use crate::{
    builds,
    data::Data,
    error::Result,
    fast::{self, Fast},
    host::Host,
    judge::{Figure, Judgement},
    runs::Runs,
    table::{Cell, Table},
    tables,
};

/// Elements of each job, unless asked otherwise: at the highest rate that a build of the study
/// reaches, about 1.1 a nanosecond, a start of 150 us (the study's bound) takes a hundredth of so
/// many.
pub const DEFAULT_ELEMENTS: u64 = 1 << 24;
/// Elements of a job, at most: the run then takes about twelve arrays of a GiB.
pub const ELEMENTS_MAX: u64 = 1 << 28;
/// Share of the shortest run that a start may take for it not to count.
const START_SHARE_MAX: f64 = 0.01;

/// Seed of the arrays, unless asked otherwise.
pub const DEFAULT_SEED: u64 = 1;

/// The options of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Elements of each job, [`ELEMENTS_MAX`] at most.
    pub elements: u64,
    /// The seed of the arrays.
    pub seed: u64,
    /// Whether loops of this machine are measured too.
    pub host: HostLoops,
}

/// Whether loops of this machine are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostLoops {
    /// They are.
    Measured,
    /// They are not.
    Omitted,
}

/// The results.
#[derive(Debug, Clone)]
pub struct Report {
    options: Options,
    /// Times of all builds.
    pub runs: Runs,
    /// Rates of the fast set.
    pub fast: Fast,
    /// Loops of this machine.
    pub host: Option<Host>,
    /// The judgement.
    pub judgement: Judgement,
    /// The study's tables beside ours.
    pub tables: Vec<Table>,
}

impl Report {
    /// Makes the arrays, measures the host, and runs every build and the fast set, calling `watch`
    /// with a name before each of [`run_count`] runs.
    ///
    /// # Errors
    /// When an answer is wrong or a kernel fails, and when `watch` breaks.
    pub fn new(options: Options, watch: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Self> {
        let elements = usize::try_from(options.elements.min(ELEMENTS_MAX)).unwrap_or(usize::MAX);
        let data = Data::new(elements, options.seed);
        let golden = data.golden();
        let host = match options.host {
            HostLoops::Measured => Some(Host::measure(&data, &golden)?),
            HostLoops::Omitted => None,
        };
        let parameters = Parameters::default();
        let runs = Runs::new((&data, &golden), &parameters, &builds::all(), watch)?;
        let fast = Fast::new((&data, &golden), &parameters, watch)?;
        let judgement = Judgement::new(&runs, &fast);
        let tables = tables::all(&runs, &fast, host.as_ref());
        Ok(Self { options, runs, fast, host, judgement, tables })
    }

    /// Whether every figure that is compared, every shape and every target holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.judgement.holds()
    }

    /// Share of the shortest run that a start would take, which is not counted.
    fn start_share(&self) -> Option<f64> {
        Some(self.runs.parameters.setup_ns / 1e9 / self.runs.shortest_seconds()?)
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.banner();
        for table in self.tables.iter().chain(&tables::judged(&self.judgement)) {
            text.push_str(&format!("\n{table}"));
        }
        text.push_str(&format!("\n{}", parameters(&self.runs.parameters)));
        text.push_str("\nStructural choices, which no parameter holds\n");
        for assumption in ASSUMPTIONS {
            text.push_str(&format!("  - {assumption}\n"));
        }
        text.push_str(&format!("\n{}\n", self.verdict()));
        text
    }

    /// Returns the text above the tables.
    fn banner(&self) -> String {
        let Options { elements, seed, .. } = self.options;
        let mut text = format!(
            "The kernels of the SmartSSD study: {elements} elements a job, seed {seed}\n\
             {} builds were run as compiled C++ and gave the right answers, and so did {} of the \
             fast set.\n\
             Their times are modelled from what they counted: model version {MODEL_VERSION}, loop \
             schedules assumed, nothing synthesised.\n",
            self.runs.run_count(),
            self.fast.run_count()
        );
        if let Some(share) = self.start_share() {
            let setup_us = self.runs.parameters.setup_ns / 1e3;
            let percent = 100.0 * share;
            let end = if share < START_SHARE_MAX {
                "."
            } else {
                ": too much for figures of arrays so short."
            };
            text.push_str(&format!(
                "A start ({setup_us:.0} us) is not counted; it would be {percent:.2} % of the \
                 shortest run of the study's{end}\n"
            ));
        }
        text
    }

    /// The last line.
    fn verdict(&self) -> String {
        let Judgement { compared, shapes, targets, .. } = &self.judgement;
        let missed = compared.iter().filter(|figure| !figure.holds()).map(|figure| &*figure.name);
        let absent = shapes.iter().filter(|shape| !shape.holds).map(|shape| shape.name);
        let unmet = targets.iter().filter(|target| !target.holds).map(|target| &*target.name);
        let failed: Vec<&str> = missed.chain(absent).chain(unmet).collect();
        match failed.as_slice() {
            [] => {
                let (figures, shapes, targets) = (compared.len(), shapes.len(), targets.len());
                format!("{figures} figures, {shapes} shapes and {targets} targets hold.")
            }
            _ => format!("These do not hold: {}.", failed.join("; ")),
        }
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Options { elements, seed, .. } = self.options;
        let figure = |figure: &Figure| {
            json!({
                "figure": figure.name,
                "study": figure.study,
                "modelled": figure.modelled,
                "error": figure.error(),
                "holds": figure.holds(),
            })
        };
        let list = |figures: &[Figure]| -> Vec<Value> { figures.iter().map(figure).collect() };
        let parameter = |Parameter { name, value, source, meaning }: Parameter| {
            json!({
                "name": name,
                "value": value,
                "source": source.to_string(),
                "meaning": meaning,
            })
        };
        let parameters: Vec<Value> =
            self.runs.parameters.table().into_iter().map(parameter).collect();
        json!({
            "elements": elements,
            "seed": seed,
            "builds_run": self.runs.run_count(),
            "fast_runs": self.fast.run_count(),
            "start_share": self.start_share(),
            "time_source": "modelled",
            "schedules": "assumed",
            "tables": self.tables,
            "calibrated": list(&self.judgement.calibrated),
            "compared": list(&self.judgement.compared),
            "shapes": self.judgement.shapes,
            "targets": self.judgement.targets,
            "holds": self.holds(),
            "parameters": parameters,
            "assumptions": ASSUMPTIONS,
            "host": self.host,
            "versions": { "nearscan": env!("CARGO_PKG_VERSION"), "model": MODEL_VERSION },
        })
    }
}

/// Returns the number of runs of a report.
#[must_use]
pub fn run_count() -> usize {
    builds::all().len() + fast::RUN_COUNT
}

fn parameters(parameters: &Parameters) -> Table {
    let columns = [("name", "name"), ("value", "value"), ("source", "source")];
    let mut table = Table::new("parameters", "Parameters of the model", &columns);
    for Parameter { name, value, source, .. } in parameters.table() {
        let shown = if value >= 1e6 { format!("{value:e}") } else { value.to_string() };
        table.rows.push(vec![Cell::text(name), Cell::text(shown), Cell::text(source)]);
    }
    table
}

#[cfg(test)]
mod tests;
