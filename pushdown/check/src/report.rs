// SPDX-License-Identifier: Apache-2.0
//! Holds the result of a check, and formats it as JSON.
//!
//! ```text
//! {"version": 1,
//!  "drive": {"kind", "model", "uuid", "emulated"},
//!  "conformance": null | {"seed", "cases", "skipped", "failures": [name, ..]},
//!  "figures": [{"name", "unit", "parameter", "model", "how",
//!               "measured": {"value", "clock", "samples"} | null,
//!               "modelled": {"value", "samples"} | null}, ..],
//!  "left_out": [{"name", "reason"}, ..],
//!  "ended": null | "why the benchmarks ended before they were done"}
//! ```
//!
//! `clock` is `drive` or `simulation`: whether the wall time is that of a drive, or of a
//! simulation, which says nothing about a card.

use nearscan_conformance::Report as Conformance;
use nearscan_drive::{Capabilities, Drive, Identity};
use serde_json::{Value, json};

use crate::{
    error::Error,
    figures::{Figure, Found, Left, Role},
};

/// Version of the form for programs.
const VERSION: u32 = 1;

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// Identity of the drive.
    pub identity: Identity,
    /// Capabilities of the drive.
    pub capabilities: Capabilities,
    /// Result of the suite, if it was run.
    pub conformance: Option<Conformance>,
    /// The figures, in the order in which they are shown.
    pub figures: Vec<Figure>,
    /// Those that are missing.
    pub left: Vec<Left>,
    /// The reason why the micro-benchmarks ended before they were done.
    pub ended: Option<Error>,
}

impl Report {
    pub(crate) fn new(
        drive: &dyn Drive,
        conformance: Option<Conformance>,
        found: Found,
        ended: Option<Error>,
    ) -> Self {
        let Found { figures, left } = found;
        let (identity, capabilities) = (drive.identity().clone(), drive.capabilities().clone());
        Self { identity, capabilities, conformance, figures, left, ended }
    }

    /// Whether no case of the suite failed, and no command of the benchmarks.
    pub fn is_clean(&self) -> bool {
        self.ended.is_none() && self.conformance.as_ref().is_none_or(Conformance::is_clean)
    }

    /// The reason why the micro-benchmarks ended early, with what led to it.
    pub(crate) fn why_ended(&self) -> Option<String> {
        let error = self.ended.as_ref()?;
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Some(text)
    }

    /// Whether the drive reported modelled times: then times by this machine's clock are those of
    /// the simulation.
    pub fn is_modelled(&self) -> bool {
        self.figures.iter().any(|figure| !figure.found.modelled.samples().is_empty())
    }

    /// The report for programs.
    pub fn to_json(&self) -> Value {
        let conformance = self.conformance.as_ref().map(|report| {
            let failures: Vec<&str> =
                report.failures.iter().map(|failed| failed.name.as_str()).collect();
            let skipped: u64 = report.skipped.values().sum();
            json!({
                "seed": report.seed,
                "cases": report.cases,
                "skipped": skipped,
                "failures": failures,
            })
        });
        let figures: Vec<Value> = self.figures.iter().map(|figure| self.figure(figure)).collect();
        let left = self.left.iter().map(|left| json!({"name": left.name, "reason": left.reason}));
        json!({
            "version": VERSION,
            "drive": {
                "kind": self.identity.kind,
                "model": self.identity.model,
                "uuid": self.identity.uuid.to_string(),
                "emulated": self.is_modelled(),
            },
            "conformance": conformance,
            "figures": figures,
            "left_out": left.collect::<Vec<_>>(),
            "ended": self.why_ended(),
        })
    }

    fn figure(&self, figure: &Figure) -> Value {
        let (measured, modelled) = (&figure.found.measured, &figure.found.modelled);
        let clock = if self.is_modelled() { "simulation" } else { "drive" };
        json!({
            "name": figure.name,
            "unit": figure.unit,
            "parameter": figure.role == Role::Parameter,
            "model": figure.model,
            "how": figure.how,
            "measured": measured.value().map(|value| {
                json!({"value": value, "clock": clock, "samples": measured.samples()})
            }),
            "modelled": modelled.value().map(|value| {
                json!({"value": value, "samples": modelled.samples()})
            }),
        })
    }
}
