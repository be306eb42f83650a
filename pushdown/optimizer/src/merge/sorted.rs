// SPDX-License-Identifier: Apache-2.0
//! The sorted units of pushed scans, and what their footers say of their keys.

use arrow::datatypes::DataType;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use parquet::file::metadata::RowGroupMetaData;

use crate::decision::{KeepReason, Kept};
use crate::exec::{MergeWindow, PushdownExec, RowsShape, UnitPlace, WindowInput, bound_unit};
use crate::exec::Replaced;
use crate::facts::FileFacts;
use crate::lower::Lowered;
use crate::merge::part::rank_of_nulls;
use crate::merge::windows::{Run, Span, Window, rank};
use crate::scan::{Scan, Stack};
use crate::units::{PlannedUnit, chunk_range};

/// A sorted unit, and where it is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortedUnit {
    pub(crate) place: UnitPlace,
    pub(crate) run: Run,
}

/// Whether the bounds of a key of this type are numbers that a unit can be cut at.
pub(crate) fn has_numbers(data_type: &DataType) -> bool {
    !data_type.is_floating() && data_type.is_primitive() && *data_type != DataType::UInt64
}

/// The units of `scans`, input by input, partition by partition, in their order.
///
/// # Errors
/// With `declared`, when a footer does not say that its row group has this order.
pub(crate) fn runs<'a>(
    scans: impl Iterator<Item = &'a PushdownExec>,
    ordering: &LexOrdering,
    declared: bool,
) -> Lowered<Vec<SortedUnit>> {
    let mut runs = Vec::new();
    for (input, scan) in scans.enumerate() {
        let footers = Footers::of(scan);
        for (partition, units) in scan.pushed().partitions.iter().enumerate() {
            for (unit, planned) in units.iter().enumerate() {
                let metadata = footers.as_ref().and_then(|footers| footers.row_group(planned));
                let keys = footers.as_ref().zip(metadata);
                let is_declared =
                    keys.is_some_and(|(footers, group)| footers.declares(group, ordering));
                if declared && !is_declared {
                    let file = planned.file.path.display();
                    let detail = format!("a row group of {file} does not say that it is sorted");
                    return Err(Kept::new(KeepReason::Ordering, detail));
                }
                let span = keys.and_then(|(footers, group)| footers.span(group, ordering.first()));
                runs.push(SortedUnit {
                    place: UnitPlace { input, partition, unit },
                    run: Run { span: span.unwrap_or(Span::ALL), bytes: device_bytes(scan, planned) },
                });
            }
        }
    }
    Ok(runs)
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

    /// The column of a row group that a key is, with its place among the leaves.
    fn leaf(&self, group: &RowGroupMetaData, key: &PhysicalSortExpr) -> Option<usize> {
        let output = key.expr.downcast_ref::<Column>()?.index();
        let column = self.shape.outputs.get(output)?.downcast_ref::<Column>()?;
        let name = self.shape.table_schema.fields().get(column.index())?.name();
        let is_named = |chunk: &parquet::file::metadata::ColumnChunkMetaData| {
            chunk.column_path().parts() == [name.clone()]
        };
        group.columns().iter().position(is_named)
    }

    /// Whether a row group says that it is sorted this way.
    fn declares(&self, group: &RowGroupMetaData, ordering: &LexOrdering) -> bool {
        let Some(declared) = group.sorting_columns() else { return false };
        let agrees = |(key, sorting): (&PhysicalSortExpr, &parquet::file::metadata::SortingColumn)| {
            self.leaf(group, key) == usize::try_from(sorting.column_idx).ok()
                && key.options.descending == sorting.descending
                && key.options.nulls_first == sorting.nulls_first
        };
        declared.len() >= ordering.len() && ordering.iter().zip(declared).all(agrees)
    }

    /// The ranks of a key in a row group; nothing when its footer does not tell.
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
