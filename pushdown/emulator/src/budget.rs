// SPDX-License-Identifier: Apache-2.0
//! Reads the ledger of the kernels' resources, `fpga_kernels/budget.toml`, and checks whether a
//! design fits the part.
//!
//! Nothing was synthesised: the ledger states the source of each stage's figures, and a design that
//! does not fit by it is refused all the same.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

/// Amounts of the part's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Resources {
    /// Look-up tables.
    pub lut: u32,
    /// Block RAMs of 36 Kbit.
    pub bram: u32,
    /// URAMs.
    pub uram: u32,
    /// Multipliers.
    pub dsp: u32,
    /// Ports of the memory bank.
    pub ports: u32,
}

impl Resources {
    /// Each resource with its name.
    pub const fn named(&self) -> [(&'static str, u32); 5] {
        [
            ("lut", self.lut),
            ("bram", self.bram),
            ("uram", self.uram),
            ("dsp", self.dsp),
            ("ports", self.ports),
        ]
    }
}

/// The part, and how much of it a design may use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// All of it.
    #[serde(flatten)]
    pub resources: Resources,
    /// Share that is left beside the shell.
    pub dynamic_share: f64,
    /// Share of that which may be filled and still be routed.
    pub fill_share: f64,
}

/// The resources of a stage, each time it is built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Stage {
    /// The group that it is built with: one for each scan unit, lane, merge unit.
    pub per: String,
    /// Its name.
    pub name: String,
    /// The resources of one instance.
    #[serde(flatten)]
    pub resources: Resources,
    /// `counted`, `rtl` or `assumed`.
    pub source: String,
    /// The source of the figures.
    pub why: String,
}

/// The stages of a design, as counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Design {
    /// Its name.
    pub name: String,
    /// Resources of which it needs more than it may use, as the ledger has it.
    #[serde(default)]
    pub over: Vec<String>,
    /// Number of instances of each group of stages.
    pub counts: BTreeMap<String, u32>,
}

/// A resource of which a design needs too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Its name.
    pub resource: &'static str,
    /// The amount that the design needs.
    pub needed: u64,
    /// The amount that a design may use.
    pub usable: u64,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, needed, usable } = self;
        write!(f, "{needed} of {usable} {}", resource.to_uppercase())
    }
}

/// The ledger.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Ledger {
    /// The part.
    pub part: Part,
    /// All stages of all kernels.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
    /// Designs of interest.
    #[serde(rename = "design")]
    pub designs: Vec<Design>,
}

impl Ledger {
    /// The ledger of our kernels, as it was when this was compiled.
    ///
    /// # Errors
    /// When the file is no ledger, which a test sees first.
    pub fn of_kernels() -> Result<Self, toml::de::Error> {
        toml::from_str(include_str!("../../../fpga_kernels/budget.toml"))
    }

    /// The resources of which a design needs more than it may use; none when it fits.
    pub fn over(&self, counts: &BTreeMap<String, u32>) -> Vec<Over> {
        let resources = self.part.resources.named().into_iter().enumerate();
        let over = resources.filter_map(|(index, (resource, of_part))| {
            let of_stage = |stage: &Stage| {
                let count = counts.get(&stage.per).copied().unwrap_or(0);
                let (_, each) = stage.resources.named()[index];
                u64::from(count) * u64::from(each)
            };
            let needed: u64 = self.stages.iter().map(of_stage).sum();
            let usable = self.usable(resource, of_part);
            (needed > usable).then_some(Over { resource, needed, usable })
        });
        over.collect()
    }

    /// The amount of a resource that a design may use; no port goes to the shell.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of what there is"
    )]
    fn usable(&self, resource: &str, of_part: u32) -> u64 {
        match resource {
            "ports" => u64::from(of_part),
            _ => (f64::from(of_part) * self.part.dynamic_share * self.part.fill_share) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_resource_is_named_with_its_amounts() {
        let ledger = Ledger::of_kernels().unwrap();
        let counts = BTreeMap::from([("study_unit".to_owned(), 16)]);
        let over: Vec<String> = ledger.over(&counts).iter().map(Over::to_string).collect();
        assert_eq!(over, ["16 of 15 PORTS"]);
        assert!(ledger.over(&BTreeMap::new()).is_empty());
    }
}
