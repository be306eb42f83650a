// SPDX-License-Identifier: Apache-2.0
//! Finds the sorted units of pushed scans, and the bounds of their keys in the footers.

use arrow::datatypes::DataType;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr, expressions::Column};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData, SortingColumn};

use crate::{
    exec::{MergeWindow, PushdownExec, Replaced, RowsShape, UnitPlace, WindowInput, bound_unit},
    facts::FileFacts,
    merge::{
        part::rank_of_nulls,
        windows::{Run, Span, Window, rank},
    },
    scan::{Scan, Stack},
    units::{PlannedUnit, chunk_range},
};

/// A sorted unit, and its place in the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortedUnit {
    pub(crate) place: UnitPlace,
    pub(crate) run: Run,
}

/// Whether the bounds of a key of this type are numbers that a unit can be cut at.
pub(crate) fn has_numbers(data_type: &DataType) -> bool {
    !data_type.is_floating() && data_type.is_primitive() && *data_type != DataType::UInt64
}

/// Whether the footer of each unit's row group says that it has this order.
pub(crate) fn declares(scan: &PushdownExec, ordering: &LexOrdering) -> bool {
    let Some(footers) = Footers::of(scan) else { return false };
    let declares = |unit: &PlannedUnit| {
        footers.row_group(unit).is_some_and(|group| footers.declares(group, ordering))
    };
    scan.pushed().partitions.iter().flatten().all(declares)
}

/// The units of `scans`, input by input, partition by partition, in their order; `key` is the first
/// that they are sorted by.
pub(crate) fn runs<'a>(
    scans: impl Iterator<Item = &'a PushdownExec>,
    key: &PhysicalSortExpr,
) -> Vec<SortedUnit> {
    let mut runs = Vec::new();
    for (input, scan) in scans.enumerate() {
        let footers = Footers::of(scan);
        let span = |unit: &PlannedUnit| {
            let footers = footers.as_ref()?;
            footers.span(footers.row_group(unit)?, key)
        };
        for (partition, units) in scan.pushed().partitions.iter().enumerate() {
            runs.extend(units.iter().enumerate().map(|(unit, planned)| SortedUnit {
                place: UnitPlace { input, partition, unit },
                run: Run {
                    span: span(planned).unwrap_or(Span::ALL),
                    bytes: device_bytes(scan, planned),
                },
            }));
        }
    }
    runs
}

/// Windows over runs as windows over the units that they are.
pub(crate) fn windows_of_units(windows: &[Window], runs: &[SortedUnit]) -> Vec<MergeWindow> {
    let input = |window: &Window, run: usize| WindowInput {
        place: runs[run].place,
        part: window.part_of(runs[run].run.span),
    };
    windows
        .iter()
        .map(|window| MergeWindow {
            inputs: window.runs.iter().map(|run| input(window, *run)).collect(),
        })
        .collect()
}

/// Device memory of a unit in a merge: what its scan needs, and its rows once more where they are
/// merged into.
fn device_bytes(scan: &PushdownExec, planned: &PlannedUnit) -> u64 {
    let fragment = scan.fragment();
    let unit = bound_unit(planned, 0);
    let output = unit.output_bytes(fragment).saturating_mul(2);
    unit.media_bytes().saturating_add(unit.scratch_bytes(fragment)).saturating_add(output)
}

/// The footers of a pushed scan.
struct Footers<'a> {
    scan: Scan<'a>,
    shape: &'a RowsShape,
}

impl<'a> Footers<'a> {
    fn of(exec: &'a PushdownExec) -> Option<Self> {
        let stack = Stack::read(exec.replaced())?;
        match &exec.pushed().replaced {
            Replaced::Rows(shape) => Some(Self { scan: stack.scan, shape }),
            Replaced::States { .. } => None,
        }
    }

    fn row_group(&self, unit: &PlannedUnit) -> Option<&'a RowGroupMetaData> {
        let files = self.scan.config.file_groups.iter().flat_map(|group| group.files());
        let mut facts = files.filter_map(|file| file.extensions.get::<FileFacts>());
        let facts = facts.find(|facts| facts.file == unit.file)?;
        facts.metadata.row_groups().get(unit.row_group as usize)
    }

    /// Returns the leaf column of a row group for a key.
    fn leaf(&self, group: &RowGroupMetaData, key: &PhysicalSortExpr) -> Option<usize> {
        let output = key.expr.downcast_ref::<Column>()?.index();
        let column = self.shape.outputs.get(output)?.downcast_ref::<Column>()?;
        let name = self.shape.table_schema.fields().get(column.index())?.name();
        let is_named = |chunk: &ColumnChunkMetaData| chunk.column_path().parts() == [name.clone()];
        group.columns().iter().position(is_named)
    }

    /// Whether a row group says that it is sorted this way.
    fn declares(&self, group: &RowGroupMetaData, ordering: &LexOrdering) -> bool {
        let Some(declared) = group.sorting_columns() else { return false };
        let agrees = |(key, sorting): (&PhysicalSortExpr, &SortingColumn)| {
            self.leaf(group, key) == usize::try_from(sorting.column_idx).ok()
                && key.options.descending == sorting.descending
                && key.options.nulls_first == sorting.nulls_first
        };
        declared.len() >= ordering.len() && ordering.iter().zip(declared).all(agrees)
    }

    /// The ranks of a key in a row group; nothing if its footer does not state them.
    fn span(&self, group: &RowGroupMetaData, key: &PhysicalSortExpr) -> Option<Span> {
        let leaf = self.leaf(group, key)?;
        let chunk = group.columns().get(leaf)?;
        let output = key.expr.downcast_ref::<Column>()?.index();
        let data_type = self.shape.outputs.get(output)?.data_type(&self.shape.table_schema).ok()?;
        if !has_numbers(&data_type) {
            return None;
        }
        let nulls = rank_of_nulls(key);
        let nulls = Span { first: nulls, last: nulls };
        let Some((least, greatest)) = chunk_range(chunk, &data_type)? else { return Some(nulls) };
        let of = |number| rank(number, key.options.descending);
        let (a, b) = (of(least), of(greatest));
        let numbers = Span { first: a.min(b), last: a.max(b) };
        let has_none = chunk.statistics()?.null_count_opt() == Some(0);
        Some(if has_none { numbers } else { numbers.with(nulls) })
    }
}
