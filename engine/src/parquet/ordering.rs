// SPDX-License-Identifier: Apache-2.0
//! Verifies the sort orders that Parquet files declare.
//!
//! DataFusion takes the order that the first row group of a file declares (`sorting_columns`) as
//! the order of the whole file, and removes sorts that are redundant under it. But row groups may
//! each be sorted and still overlap. So this module keeps only the leading keys of a declared order
//! that the bounds of consecutive row groups confirm. An order that the user declares
//! (`WITH ORDER`) is not verified.

use std::cmp::Ordering;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, UInt64Array, make_comparator},
        compute::SortOptions,
        datatypes::Schema,
    },
    parquet::{
        arrow::arrow_reader::statistics::StatisticsConverter, file::metadata::ParquetMetaData,
    },
    physical_expr::{LexOrdering, PhysicalSortExpr, expressions::Column},
};

use super::statistics::has_sound_bounds;

/// Returns the leading keys of a declared ordering that the footer confirms; nothing if it confirms
/// none.
pub(super) fn verified(
    footer: &ParquetMetaData,
    schema: &Schema,
    declared: &LexOrdering,
) -> Option<LexOrdering> {
    let keys = ordered_keys(footer, schema, declared);
    LexOrdering::new(declared.iter().take(keys).cloned())
}

/// Returns the number of leading keys of `ordering` by which the rows of a file are sorted, given
/// that each row group is sorted.
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
        // Rows with an equal key are in two row groups, so nothing is known of the order of later
        // keys.
        Some(Ordering::Equal) => 1,
        Some(Ordering::Less) => keys,
        Some(Ordering::Greater) | None => 0,
    }
}

/// Compares the greatest key of each row group with the least of the next: all less, at most equal,
/// or greater somewhere; nothing if the footer does not state them.
fn follow(metadata: &ParquetMetaData, schema: &Schema, key: &PhysicalSortExpr) -> Option<Ordering> {
    let name = key.expr.downcast_ref::<Column>()?.name();
    let descriptor = metadata.file_metadata().schema_descr();
    let converter = StatisticsConverter::try_new(name, schema, descriptor).ok()?;
    if !converter.parquet_column_index().is_some_and(|leaf| has_sound_bounds(metadata, leaf)) {
        return None;
    }
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

/// Whether only the row group at the end where NULLs sort has NULLs.
fn nulls_fit(nulls: &UInt64Array, options: SortOptions) -> bool {
    let end = if options.nulls_first { 0 } else { nulls.len() - 1 };
    let none = |at: usize| nulls.is_valid(at) && nulls.value(at) == 0;
    (0..nulls.len()).all(|at| at == end || none(at))
}
