// SPDX-License-Identifier: Apache-2.0
//! Attaches the [`EqualityColumns`] of predicates to the files of scans, as a rule of the physical
//! optimizer.
//!
//! It runs twice: before scans are placed on drives or fused, where it gives the [`FileFacts`] of
//! the files the bounds of these columns, because such scans prune row groups by these facts; and
//! at the end, when the predicates of all other scans are complete.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{
        physical_plan::{
            FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
        },
        source::DataSourceExec,
    },
    execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::ExecutionPlan,
};
use nearscan_corrections::Correction;
use nearscan_optimizer::{FileFacts, NearscanOptions, PushdownRule};

use super::{equality::EqualityColumns, scan::parquet_scan_of, statistics};

/// Attaches the [`EqualityColumns`] to the files of each Parquet scan. No later rule may change the
/// predicates of scans.
#[derive(Debug)]
pub(super) struct MarkEqualityColumns;

impl MarkEqualityColumns {
    /// Puts the rule into a session that is being built, before scans are placed, and at the end.
    pub(super) fn install(state: &mut SessionStateBuilder) {
        let rules = &mut state.physical_optimizers().get_or_insert_default().rules;
        if let Some(slot) = rules.iter().position(|rule| rule.name() == PushdownRule::NAME) {
            rules.insert(slot, Arc::new(Self));
        }
        state.physical_optimizer_rules().get_or_insert_default().push(Arc::new(Self));
    }
}

impl PhysicalOptimizerRule for MarkEqualityColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_sound =
            NearscanOptions::corrections_of(options).contains(Correction::RemoveUnsoundStatistics);
        let marked = plan.transform_down(|node| {
            let Some(scan) = parquet_scan_of(&node) else { return Ok(Transformed::no(node)) };
            let columns = equality_columns(scan);
            let has_marks = scan
                .file_groups
                .iter()
                .flat_map(FileGroup::iter)
                .any(|file| file.extensions.contains::<EqualityColumns>());
            if columns.is_empty() && !has_marks {
                return Ok(Transformed::no(node));
            }
            let scan = marked(scan.clone(), &columns, is_sound)?;
            Ok(Transformed::yes(DataSourceExec::from_data_source(scan) as _))
        })?;
        Ok(marked.data)
    }

    fn name(&self) -> &'static str {
        "MarkEqualityColumns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the scan with columns attached to its files; facts get the bounds of these columns if
/// the others are removed from them.
fn marked(
    scan: FileScanConfig,
    columns: &EqualityColumns,
    is_sound: bool,
) -> Result<FileScanConfig> {
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let files = group.files().iter().cloned().map(|mut file| -> Result<_> {
            if is_sound && let Some(facts) = file.extensions.get::<FileFacts>() {
                let metadata = statistics::of_row_groups(Arc::clone(&facts.stated), columns)?;
                let facts = FileFacts { metadata, ..facts.clone() };
                file.extensions.insert(facts);
            }
            file.extensions.insert(columns.clone());
            Ok(file)
        });
        let mut marked = FileGroup::new(files.collect::<Result<_>>()?);
        if let Some(statistics) = group.file_statistics(None) {
            marked = marked.with_statistics(Arc::new(statistics.clone()));
        }
        groups.push(marked);
    }
    Ok(FileScanConfigBuilder::from(scan).with_file_groups(groups).build())
}

fn equality_columns(scan: &FileScanConfig) -> EqualityColumns {
    let source = scan.file_source.downcast_ref::<ParquetSource>();
    let predicate = source.and_then(FileSource::filter);
    predicate
        .map(|predicate| EqualityColumns::of(&predicate, scan.file_schema()))
        .unwrap_or_default()
}
