// SPDX-License-Identifier: Apache-2.0
//! Describes the work of a fused scan: the plan, its row groups, and the sources of its output.

use std::{ops::RangeInclusive, sync::Arc};

use arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::physical_expr::{PhysicalExpr, expressions::Column};
use nearscan_command::{Operand, Output};
use nearscan_cpu::fused::ScanPlan;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::cuts::Windows;
use crate::{
    exec::Replaced,
    lower::aggregate::{Meaning, Source},
    pruning::Pruning,
    units::{PlannedUnit, chunk_metadata, column_range},
};

/// The work of a fused scan.
#[derive(Debug, Clone)]
pub(crate) struct Fused {
    /// Name of the table.
    pub(crate) table: String,
    /// What is computed of each row group.
    pub(crate) scan: Arc<ScanPlan>,
    /// The row groups of each partition.
    pub(crate) partitions: Vec<Vec<FusedUnit>>,
    /// The columns of the files.
    pub(crate) files: SchemaRef,
    /// Whether statistics may rule row groups out.
    pub(crate) prunes: bool,
    /// The predicate over statistics.
    pub(crate) pruning: Option<Arc<Pruning>>,
    /// The conditions on its rows, over the table.
    pub(crate) conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows after which a partition may stop.
    pub(crate) fetch: Option<usize>,
    /// Whether an operator above relies on the order of a partition's rows.
    pub(crate) is_ordered: bool,
    /// Rows of a batch, at least, but for the last one.
    pub(crate) batch_rows: usize,
    /// The sources of the output's columns, if it is states.
    pub(crate) states: Option<Replaced>,
    /// The output's columns, if it is rows.
    pub(crate) rows: Option<RowOutput>,
    /// The windows that the partitions are, if they are any.
    pub(crate) windows: Option<Windows>,
}

/// A row group, and the footer of its file.
#[derive(Debug, Clone)]
pub(crate) struct FusedUnit {
    pub(crate) planned: PlannedUnit,
    /// With bounds that are sound for the scan's predicate.
    pub(crate) footer: Arc<ParquetMetaData>,
}

impl FusedUnit {
    /// The row group in the footer.
    pub(crate) fn metadata(&self) -> Option<&RowGroupMetaData> {
        self.footer.row_groups().get(usize::try_from(self.planned.row_group).ok()?)
    }
}

/// The columns of rows.
#[derive(Debug, Clone)]
pub(crate) struct RowOutput {
    /// The source of each column that is read.
    pub(crate) sources: Vec<Source>,
    /// The field of each of them.
    pub(crate) fields: Vec<FieldRef>,
    /// The outputs as expressions over them; none if they are the outputs.
    pub(crate) computed: Option<Vec<Arc<dyn PhysicalExpr>>>,
}

impl Fused {
    /// A row group, by its partition and its place there.
    pub(super) fn unit(&self, (partition, place): (usize, usize)) -> Option<&FusedUnit> {
        self.partitions.get(partition)?.get(place)
    }

    /// The column of the fragment that an output is, if it is one; of states a key can be one.
    pub(super) fn column_of_output(&self, output: usize) -> Option<usize> {
        let is_read = |source: &&Source| source.meaning != Meaning::FolderValue;
        let operand = match (&self.rows, &self.states, &self.scan.fragment.output) {
            (Some(rows), _, Output::Rows { columns, .. }) => {
                let read = match &rows.computed {
                    None => output,
                    Some(computed) => computed.get(output)?.downcast_ref::<Column>()?.index(),
                };
                columns.get(rows.sources.get(read).filter(is_read)?.column)?.operand
            }
            (None, Some(states), Output::States { keys, .. }) => {
                keys.get(states.sources().get(output).filter(is_read)?.column)?.operand
            }
            _ => return None,
        };
        match operand {
            Operand::Column(column) => Some(usize::from(column)),
            _ => None,
        }
    }

    /// The range of a column's values in row groups, if all their footers have it and there is one.
    pub(super) fn range_of<'a>(
        &self,
        column: usize,
        groups: impl IntoIterator<Item = &'a RowGroupMetaData>,
    ) -> Option<RangeInclusive<i64>> {
        let name = &self.scan.fragment.columns.get(column)?.name;
        let data_type = self.scan.types.get(column)?;
        column_range(groups, name, data_type)?.map(|(first, last)| first..=last)
    }

    /// The NULLs of a column in a row group, if its footer says how many there are.
    pub(super) fn nulls_of(&self, column: usize, group: &RowGroupMetaData) -> Option<u64> {
        let name = &self.scan.fragment.columns.get(column)?.name;
        chunk_metadata(group, name)?.statistics()?.null_count_opt()
    }
}
