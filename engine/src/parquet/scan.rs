// SPDX-License-Identifier: Apache-2.0
//! Finds the scans of Parquet files in physical plans.

use std::sync::Arc;

use datafusion::{
    datasource::{
        physical_plan::{FileScanConfig, ParquetSource},
        source::DataSourceExec,
    },
    physical_plan::ExecutionPlan,
};

/// Returns the scan in a node, if it reads Parquet files.
pub(crate) fn parquet_scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let exec = plan.downcast_ref::<DataSourceExec>()?;
    exec.downcast_to_file_source::<ParquetSource>().map(|(config, _source)| config)
}
