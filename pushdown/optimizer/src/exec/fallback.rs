// SPDX-License-Identifier: Apache-2.0
//! Runs the replaced plan, restricted to one row group.

use std::{path::Path, sync::Arc};

use datafusion::{
    common::{
        internal_err,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{
        listing::PartitionedFile,
        physical_plan::{FileGroup, FileScanConfigBuilder, parquet::ParquetAccessPlan},
        source::DataSourceExec,
    },
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::{ExecutionPlan, execute_stream, repartition::RepartitionExec},
};

use parquet::arrow::arrow_reader::RowSelector;

use crate::{facts::FileFacts, scan::Scan, units::PlannedUnit};

/// Runs the replaced plan over one unit.
pub(crate) fn execute_unit(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    execute_stream(restrict(plan, unit, Pruning::AsPlanned)?, context)
}

/// Runs the replaced plan over one unit without pruning by statistics.
pub(crate) fn execute_whole_unit(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    execute_stream(restrict(plan, unit, Pruning::Off)?, context)
}

/// Runs the replaced plan over the rows from `first` on of one unit.
pub(crate) fn execute_rest(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
    first: u64,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    execute_stream(restrict_to(plan, unit, first, Pruning::AsPlanned)?, context)
}

/// Whether a scan may prune by statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pruning {
    AsPlanned,
    Off,
}

/// `plan` with its scan reading one row group of one file, in one partition.
fn restrict(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
    pruning: Pruning,
) -> Result<Arc<dyn ExecutionPlan>> {
    restrict_to(plan, unit, 0, pruning)
}

/// `plan` with its scan reading the rows from `first` on of one row group, in one partition.
fn restrict_to(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
    first: u64,
    pruning: Pruning,
) -> Result<Arc<dyn ExecutionPlan>> {
    let restricted = Arc::clone(plan).transform_up(|node| {
        if let Some(repartition) = node.downcast_ref::<RepartitionExec>() {
            return Ok(Transformed::yes(Arc::clone(repartition.input())));
        }
        let Some(scan) = Scan::of(&node) else { return Ok(Transformed::no(node)) };
        let Some(file) = find_file(&scan, unit) else {
            return internal_err!("{} is not a file of the scan", unit.file);
        };
        let mut access = ParquetAccessPlan::new_none(unit.row_group_count as usize);
        access.scan(unit.row_group as usize);
        if first > 0 {
            let size = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
            let rest = vec![
                RowSelector::skip(size(first)),
                RowSelector::select(size(unit.rows.saturating_sub(first))),
            ];
            access.scan_selection(unit.row_group as usize, rest.into());
        }
        let mut file = file.clone();
        file.range = None;
        file.extensions.insert(access);
        let mut config = FileScanConfigBuilder::from(scan.config.clone());
        if pruning == Pruning::Off {
            // Statistics can also prune a whole file.
            file.statistics = None;
            let mut options = scan.source.table_parquet_options().clone();
            options.global.pruning = false;
            options.global.enable_page_index = false;
            options.global.bloom_filter_on_read = false;
            let source = scan.source.clone().with_table_parquet_options(options);
            config = config.with_source(Arc::new(source));
        }
        let config = config.with_file_groups(vec![FileGroup::new(vec![file])]).build();
        Ok(Transformed::yes(DataSourceExec::from_data_source(config) as Arc<dyn ExecutionPlan>))
    })?;
    Ok(restricted.data)
}

/// Returns the scan's file of a unit; it is found by its path, which is kept by serialisation. In a
/// scan of objects of several servers the paths begin with the server.
pub(crate) fn find_file<'a>(scan: &Scan<'a>, unit: &PlannedUnit) -> Option<&'a PartitionedFile> {
    let mut files = scan.config.file_groups.iter().flat_map(|group| group.files());
    let path = &unit.file.path;
    let of_servers = unit.file.server.as_ref().map(|it| format!("/{it}{}", path.display()));
    files.find(|file| match file.extensions.get::<FileFacts>() {
        Some(facts) => facts.file == unit.file,
        None => {
            let found = format!("/{}", file.object_meta.location);
            Path::new(&found) == path || of_servers.as_ref().is_some_and(|path| *path == found)
        }
    })
}
