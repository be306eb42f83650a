// SPDX-License-Identifier: Apache-2.0
//! Implements [`KeyShares`]: what the keys of joins are estimated to leave of the rows of scans.
//!
//! Joins pass the keys of their build sides to scans below their probe sides. A drive that looks
//! them up sends fewer rows, so where a scan runs depends on them.

use std::{collections::HashMap, sync::Arc};

use datafusion::physical_plan::ExecutionPlan;
use nearscan_join_order::{CostModel, Estimates};

use super::{region::Region, seen::Stage};
use crate::scan::Scan;

/// The share of the rows of each scan that the keys of joins leave, where that is known.
///
/// Scans are told apart by their address: those of two reads of one table are alike in all else.
#[derive(Debug, Default)]
pub(crate) struct KeyShares(HashMap<usize, f64>);

impl KeyShares {
    /// Estimates the shares for the scans of a plan whose joins are in order.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut shares = Self::default();
        shares.visit(plan, 1.0);
        shares
    }

    /// The share of a scan.
    pub(crate) fn of_scan(&self, scan: &Scan<'_>) -> f64 {
        self.0.get(&address(scan)).copied().unwrap_or(1.0)
    }

    /// `share` is what joins above leave of the rows of `plan`.
    fn visit(&mut self, plan: &Arc<dyn ExecutionPlan>, share: f64) {
        let Some(region) = Region::of(plan, Stage::Planned) else {
            if let Some(scan) = Scan::of(plan) {
                self.0.insert(address(&scan), share);
            }
            // Of several inputs it is not known which the keys come from.
            let children = plan.children();
            let share = if children.len() == 1 { share } else { 1.0 };
            children.into_iter().for_each(|child| self.visit(child, share));
            return;
        };
        let query = region.query();
        let shares = query
            .as_ref()
            .and_then(|query| Estimates::of(query).ok()?.key_shares(&CostModel::default()));
        for (place, relation) in region.relations.iter().enumerate() {
            let own = shares.as_ref().and_then(|shares| shares.get(place)).copied();
            // What joins above the region leave is not told to its relations: an estimate that is
            // too high keeps a scan on the host.
            self.visit(relation, own.unwrap_or(1.0));
        }
    }
}

fn address(scan: &Scan<'_>) -> usize {
    std::ptr::from_ref(scan.config).addr()
}
