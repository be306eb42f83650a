// SPDX-License-Identifier: Apache-2.0
//! The place where a query ran, by what its profile counted, not by what was planned.

use nearscan::{Candidate, Decision, QueryProfile};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it, in every row group.
    Drive,
    /// The drive read and filtered; the host did the operation, for this reason.
    Scan(&'static str),
    /// The host did all of it, for this reason.
    Cpu(&'static str),
    /// The drive gave row groups back, for these reasons.
    Back(String),
    /// The schema or the statistics of the footer left no row group to read.
    Unread,
    /// SQL has no such operation for the type; the beginning of what it says.
    Error(String),
}

impl Outcome {
    /// Reads the profile of a query over one table.
    pub(crate) fn of(profile: &QueryProfile) -> Self {
        let counted = profile.pushdown();
        let reasons = counted.pushback.iter().filter(|(_, count)| **count > 0);
        let reasons: Vec<&str> = reasons.map(|(reason, _)| reason.as_str()).collect();
        if counted.units_cpu > 0 || !reasons.is_empty() {
            return Self::Back(reasons.join(", "));
        }
        let kept = profile.decisions.iter().find_map(|candidate| match &candidate.decision {
            Decision::Keep(kept) => Some(kept.reason.word()),
            Decision::Offload { .. } => None,
        });
        let above = |candidate: &Candidate| candidate.above.as_ref().map(|it| it.reason.word());
        let above = profile.decisions.iter().find_map(above);
        match (kept, counted.units_drive, above) {
            (Some(reason), _, _) => Self::Cpu(reason),
            (None, 0, _) => {
                assert_eq!(profile.total("bytes_scanned").unwrap_or(0), 0, "{}", profile.plan);
                Self::Unread
            }
            (None, _, Some(reason)) => Self::Scan(reason),
            (None, _, None) => Self::Drive,
        }
    }

    /// Returns the reason why the drive did not do all of it.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Scan(reason) | Self::Cpu(reason) => Some(reason),
            Self::Back(reasons) => Some(reasons),
            Self::Drive | Self::Unread | Self::Error(_) => None,
        }
    }

    /// The cell of the table.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Drive => "drive".to_owned(),
            Self::Scan(reason) => format!("scan: {reason}"),
            Self::Cpu(reason) => format!("cpu: {reason}"),
            Self::Back(reasons) => format!("back: {reasons}"),
            Self::Unread => "unread".to_owned(),
            Self::Error(_) => "error".to_owned(),
        }
    }
}
