// SPDX-License-Identifier: Apache-2.0
//! Defines the decision about a scan, and its reason.

use std::fmt;

/// The reason why a scan (or the part of a plan above it) stays on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeepReason {
    /// `nearscan.pushdown.mode` is `off`.
    ModeOff,
    /// No drive is attached, or none with the name that the settings ask for.
    NoDrive,
    /// No drive holds the file.
    NotOnDrive,
    /// A file's footer is not known.
    NoFacts,
    /// The drive does not read the type of a column.
    Type,
    /// A column chunk has an encoding that the drive does not read.
    Encoding,
    /// A column chunk has a codec that the drive does not read.
    Codec,
    /// An expression has no counterpart in a command.
    Expression,
    /// An aggregate function has no counterpart in a command.
    Function,
    /// A sum of floating point would be added in another order.
    FloatOrder,
    /// An operator above relies on the order of rows.
    Ordering,
    /// The scan has an option without a counterpart in a command.
    ScanOption,
    /// There are more groups than the drive has memory for.
    GroupCardinality,
    /// A dictionary is too large for the drive.
    DictionarySize,
    /// A column is nested.
    Nested,
    /// The cost model prefers the host.
    Cost,
    /// The fragment failed on the drive too often.
    Quarantine,
}

impl KeepReason {
    /// Every reason with the word that EXPLAIN shows.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::ModeOff, "mode_off"),
        (Self::NoDrive, "no_drive"),
        (Self::NotOnDrive, "not_on_drive"),
        (Self::NoFacts, "no_facts"),
        (Self::Type, "type"),
        (Self::Encoding, "encoding"),
        (Self::Codec, "codec"),
        (Self::Expression, "expression"),
        (Self::Function, "function"),
        (Self::FloatOrder, "float_order"),
        (Self::Ordering, "ordering"),
        (Self::ScanOption, "scan_option"),
        (Self::GroupCardinality, "group_cardinality"),
        (Self::DictionarySize, "dictionary_size"),
        (Self::Nested, "nested"),
        (Self::Cost, "cost"),
        (Self::Quarantine, "quarantine"),
    ];

    /// The word that EXPLAIN shows.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(reason, _)| *reason == self).map_or("", |(_, word)| word)
    }
}

/// A reason with a detail.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Why.
    pub reason: KeepReason,
    /// The detail, in a few words.
    pub detail: String,
    /// The estimates that decided, if the reason is the cost.
    pub costs: Option<Costs>,
}

impl Kept {
    /// A reason with its detail.
    pub fn new(reason: KeepReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), costs: None }
    }

    /// The host is estimated to be faster.
    pub fn for_cost(costs: Costs) -> Self {
        Self { reason: KeepReason::Cost, detail: costs.to_string(), costs: Some(costs) }
    }

    /// The fragment failed on the drive too often.
    pub fn for_quarantine() -> Self {
        Self::new(KeepReason::Quarantine, "it failed on the drive too often")
    }

    /// The rates of the drive are unknown.
    pub fn for_want_of_rates() -> Self {
        Self::new(KeepReason::Cost, "the drive's speed is not known yet")
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kept={}", self.reason.word())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// Estimates of the cost model for a scan, or for a merge with its scans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// On the drive, in ns.
    pub drive_ns: f64,
    /// On the host, in ns.
    pub host_ns: f64,
    /// Number of the snapshot that the drive's rates are from.
    pub snapshot: u64,
}

impl Costs {
    /// The estimates for a part of a scan on one drive and the rest on others, which run at the
    /// same time unless the rows have to be `in_order`.
    #[must_use]
    pub(crate) fn and(self, other: Self, in_order: bool) -> Self {
        Self {
            drive_ns: match in_order {
                true => self.drive_ns + other.drive_ns,
                false => self.drive_ns.max(other.drive_ns),
            },
            host_ns: self.host_ns + other.host_ns,
            snapshot: self.snapshot,
        }
    }

    /// Whether the drive is to be preferred.
    pub fn prefer_drive(&self) -> bool {
        self.drive_ns <= self.host_ns
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: f64| ns / 1e6;
        write!(f, "drive {:.3} ms, host {:.3} ms", ms(self.drive_ns), ms(self.host_ns))
    }
}

/// The decision about a scan.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It runs on a drive, or its row groups on several.
    Offload {
        /// The names of the drives, at least one.
        drives: Vec<String>,
    },
    /// It stays.
    Keep(Kept),
}

/// The drives of a scan as EXPLAIN shows them.
pub(crate) fn drives_shown(drives: &[String]) -> String {
    match drives {
        [drive] => format!("drive={drive}"),
        several => format!("drives=[{}]", several.join(", ")),
    }
}

/// A scan that the rule considered.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of the table.
    pub table: String,
    /// The decision.
    pub decision: Decision,
    /// The estimates, if the cost model was used.
    pub costs: Option<Costs>,
    /// The estimates for the merge on the drive that it is part of, likewise.
    pub merge: Option<Costs>,
    /// The part above an offloaded scan that stays on the host, and the reason.
    pub above: Option<Kept>,
    /// Number of row groups of an offloaded scan that stay on the host, and the reason of the
    /// first.
    pub units_kept: Option<(usize, Kept)>,
}

impl Candidate {
    /// A scan of a table that stays on the host.
    pub(crate) fn kept(table: String, kept: Kept) -> Self {
        Self {
            table,
            costs: kept.costs,
            decision: Decision::Keep(kept),
            merge: None,
            above: None,
            units_kept: None,
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.table)?;
        match &self.decision {
            Decision::Offload { drives } => f.write_str(&drives_shown(drives))?,
            Decision::Keep(kept) => write!(f, "{kept}")?,
        }
        if let Some((units, kept)) = &self.units_kept {
            write!(f, ", of its row groups {units} {kept}")?;
        }
        if let Some(kept) = &self.above {
            write!(f, ", above it {kept}")?;
        }
        // Of what was kept for its cost they are the detail.
        if let (Some(costs), Decision::Offload { .. }) = (&self.costs, &self.decision) {
            write!(f, ", {costs}")?;
        }
        self.merge.map_or(Ok(()), |costs| write!(f, ", merged there: {costs}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_scan_shows_reason_and_detail() {
        let candidate = Candidate {
            table: "t".to_owned(),
            decision: Decision::Keep(Kept::for_cost(HOST_WINS)),
            costs: Some(HOST_WINS),
            merge: None,
            above: None,
            units_kept: None,
        };
        assert_eq!(candidate.to_string(), "t: kept=cost (drive 2.000 ms, host 1.000 ms)");
        assert!(!HOST_WINS.prefer_drive());
    }

    const HOST_WINS: Costs = Costs { drive_ns: 2e6, host_ns: 1e6, snapshot: 1 };

    #[test]
    fn offloaded_scan_shows_its_estimates_and_those_of_its_merge() {
        let candidate = Candidate {
            table: "t".to_owned(),
            decision: Decision::Offload { drives: vec!["d".to_owned()] },
            costs: Some(Costs { drive_ns: 1e6, host_ns: 3e6, snapshot: 1 }),
            merge: Some(Costs { drive_ns: 2e6, host_ns: 4e6, snapshot: 1 }),
            above: None,
            units_kept: None,
        };
        let shown = "t: drive=d, drive 1.000 ms, host 3.000 ms, \
                     merged there: drive 2.000 ms, host 4.000 ms";
        assert_eq!(candidate.to_string(), shown);
        let above = Some(Kept::for_cost(HOST_WINS));
        let candidate = Candidate { merge: None, above, ..candidate };
        let shown = "t: drive=d, above it kept=cost (drive 2.000 ms, host 1.000 ms), \
                     drive 1.000 ms, host 3.000 ms";
        assert_eq!(candidate.to_string(), shown);
    }

    #[test]
    fn drives_of_a_scan_work_at_the_same_time_unless_its_rows_are_in_an_order() {
        let one = Costs { drive_ns: 1e6, host_ns: 3e6, snapshot: 1 };
        let other = Costs { drive_ns: 2e6, host_ns: 4e6, snapshot: 2 };
        let both = Costs { drive_ns: 2e6, host_ns: 7e6, snapshot: 1 };
        assert_eq!(one.and(other, false), both);
        assert_eq!(one.and(other, true), Costs { drive_ns: 3e6, ..both });
        assert_eq!(drives_shown(&["a".to_owned(), "b".to_owned()]), "drives=[a, b]");
    }

    #[test]
    fn every_reason_has_a_word() {
        for (reason, word) in KeepReason::ALL {
            assert_eq!(reason.word(), *word);
        }
    }
}
