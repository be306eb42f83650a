// SPDX-License-Identifier: Apache-2.0
//! Orders that files declare and do not have.
//!
//! DataFusion takes the order that the first row group of a file declares (`sorting_columns`) as
//! the order of the whole file, and leaves out sorts that it then takes to be needless. Row groups
//! may each be sorted and overlap. So of a declared order only that stays which the footers bear
//! out: the row groups follow one another in it. An order that the user declares (`WITH ORDER`) is
//! not looked at.

use std::{cmp::Ordering, sync::Arc};

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, UInt64Array, make_comparator},
        compute::SortOptions,
        datatypes::Schema,
    },
    catalog::Session,
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{
        listing::PartitionedFile,
        physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder},
        source::DataSourceExec,
    },
    parquet::{
        arrow::arrow_reader::statistics::StatisticsConverter, file::metadata::ParquetMetaData,
    },
    physical_expr::{LexOrdering, PhysicalSortExpr, expressions::Column},
    physical_plan::ExecutionPlan,
};

use super::facts::{footer, parquet_scan_of, parquet_scans_of};

/// `plan` with its scans declaring no more order than their files have.
pub(crate) async fn check(
    plan: Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let scans = parquet_scans_of(&plan);
    let mut kept = Vec::with_capacity(scans.len());
    for scan in &scans {
        kept.push(Box::pin(kept_keys(scan, session)).await);
    }
    let mut kept = kept.into_iter();
    let plan = plan.transform_down(|node| {
        let Some(scan) = parquet_scan_of(&node) else { return Ok(Transformed::no(node)) };
        match kept.next().flatten() {
            Some(keys) => {
                let scan = with_keys(scan.clone(), keys);
                Ok(Transformed::yes(DataSourceExec::from_data_source(scan) as _))
            }
            None => Ok(Transformed::no(node)),
        }
    })?;
    Ok(plan.data)
}

/// How many keys of a scan's order its files bear out; nothing when it is all of them.
async fn kept_keys(scan: &FileScanConfig, session: &dyn Session) -> Option<usize> {
    let ordering = scan.output_ordering.first()?;
    let mut keys = ordering.len();
    for file in scan.file_groups.iter().flat_map(FileGroup::iter) {
        if keys == 0 {
            break;
        }
        keys = match footer(file, scan, session).await {
            Some(metadata) => keys.min(ordered_keys(&metadata, scan.file_schema(), ordering)),
            None => 0,
        };
    }
    (keys < ordering.len()).then_some(keys)
}

/// The scan with the first `keys` keys of its order, and of the orders of its files.
fn with_keys(scan: FileScanConfig, keys: usize) -> FileScanConfig {
    let cut = |ordering: &LexOrdering| LexOrdering::new(ordering.iter().take(keys).cloned());
    let with_cut = |file: &PartitionedFile| {
        let ordering = file.ordering.as_ref().and_then(cut);
        file.clone().with_ordering(ordering)
    };
    let groups = scan.file_groups.iter();
    let groups = groups.map(|group| FileGroup::new(group.iter().map(with_cut).collect())).collect();
    let ordering = scan.output_ordering.first().and_then(cut);
    FileScanConfigBuilder::from(scan)
        .with_file_groups(groups)
        .with_output_ordering(ordering.into_iter().collect())
        .build()
}

/// How many keys of `ordering` the rows of a file are sorted by, each row group being sorted.
fn ordered_keys(metadata: &ParquetMetaData, schema: &Schema, ordering: &LexOrdering) -> usize {
    let groups = metadata.row_groups();
    let declared = groups.first().and_then(|group| group.sorting_columns());
    let prefix = |other: Option<&Vec<_>>| match (declared, other) {
        (Some(first), Some(other)) => {
            first.iter().zip(other).take_while(|(first, other)| first == other).count()
        }
        _ => 0,
    };
    let declared_by_all = groups.iter().map(|group| prefix(group.sorting_columns())).min();
    let keys = ordering.len().min(declared_by_all.unwrap_or(0));
    if groups.len() <= 1 || keys == 0 {
        return keys;
    }
    match follow(metadata, schema, ordering.first()) {
        // Rows that have one key in common are in two row groups: nothing is known of the others.
        Some(Ordering::Equal) => 1,
        Some(Ordering::Less) => keys,
        Some(Ordering::Greater) | None => 0,
    }
}

/// How the keys of each row group lie to those of the next: all less, at most equal, or greater
/// somewhere; nothing when the footer does not tell.
fn follow(metadata: &ParquetMetaData, schema: &Schema, key: &PhysicalSortExpr) -> Option<Ordering> {
    let name = key.expr.downcast_ref::<Column>()?.name();
    let descriptor = metadata.file_metadata().schema_descr();
    let converter = StatisticsConverter::try_new(name, schema, descriptor).ok()?;
    let groups = metadata.row_groups();
    let nulls = converter.row_group_null_counts(groups).ok()?;
    let (least, greatest) =
        (converter.row_group_mins(groups).ok()?, converter.row_group_maxes(groups).ok()?);
    if least.null_count() > 0 || greatest.null_count() > 0 || !nulls_fit(&nulls, key.options) {
        return None;
    }
    let (first, last): (ArrayRef, ArrayRef) =
        if key.options.descending { (greatest, least) } else { (least, greatest) };
    let compare = make_comparator(&last, &first, key.options).ok()?;
    (1..groups.len()).map(|next| compare(next - 1, next)).max()
}

/// Whether NULLs are only in the row group at the end where they belong.
fn nulls_fit(nulls: &UInt64Array, options: SortOptions) -> bool {
    let end = if options.nulls_first { 0 } else { nulls.len() - 1 };
    let none = |at: usize| nulls.is_valid(at) && nulls.value(at) == 0;
    (0..nulls.len()).all(|at| at == end || none(at))
}
