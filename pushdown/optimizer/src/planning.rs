// SPDX-License-Identifier: Apache-2.0
//! Holds the inputs of a decision besides the plan: settings, drives, rates and quarantine, as
//! values.

use nearscan_drive::{Capabilities, CostSnapshot};

use crate::{cost::HostRates, settings::PushdownOptions};

/// A drive as the optimizer sees it: values only.
#[derive(Debug, Clone)]
pub struct DriveView {
    /// Its name.
    pub name: String,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// Its rates.
    pub snapshot: CostSnapshot,
}

/// The inputs of a decision besides the plan.
#[derive(Debug, Clone)]
pub struct PlanningContext {
    /// The settings.
    pub options: PushdownOptions,
    /// Attached drives, in the order of preference.
    pub drives: Vec<DriveView>,
    /// Rates of the host.
    pub host: HostRates,
    /// Fragments and merges in quarantine, by drive and hash.
    pub quarantined: Vec<(String, u64)>,
    /// The query, for the log.
    pub query_id: u128,
}

impl PlanningContext {
    /// Whether a fragment or a merge with this hash is in quarantine on a drive.
    pub(crate) fn is_quarantined(&self, drive: &str, hash: u64) -> bool {
        self.quarantined.iter().any(|(name, known)| name == drive && *known == hash)
    }
}
