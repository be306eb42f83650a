// SPDX-License-Identifier: Apache-2.0
//! Types that all rules of this crate share: how a rule of DataFusion is held, and how a rule reads
//! at every statement which corrections are on.

use std::sync::Arc;

use datafusion::{
    common::config::ConfigOptions, optimizer::OptimizerRule,
    physical_optimizer::PhysicalOptimizerRule,
};

use crate::set::CorrectionSet;

/// Returns the corrections that are on in a session with these options.
pub type ReadCorrections = fn(&ConfigOptions) -> CorrectionSet;

/// A rule for logical plans in DataFusion's representation.
pub(crate) type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

/// A rule for physical plans in DataFusion's representation.
pub(crate) type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Returns the corrections that are on.
pub(crate) fn enabled_by(read: ReadCorrections, options: &ConfigOptions) -> CorrectionSet {
    read(options)
}
