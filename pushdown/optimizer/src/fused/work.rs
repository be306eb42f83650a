// SPDX-License-Identifier: Apache-2.0
//! Describes the work of a fused scan: the plan, its row groups, and the sources of its output.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::physical_expr::{PhysicalExpr, expressions::Column};
use nearscan_command::{Operand, Output};
use nearscan_cpu::fused::ScanPlan;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::{
    exec::Replaced,
    lower::aggregate::{Meaning, Source},
    pruning::Pruning,
    units::PlannedUnit,
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

    /// The column of the fragment that an output is, if it is one.
    pub(super) fn column_of_output(&self, output: usize) -> Option<usize> {
        let rows = self.rows.as_ref()?;
        let read = match &rows.computed {
            None => output,
            Some(computed) => computed.get(output)?.downcast_ref::<Column>()?.index(),
        };
        let source = rows.sources.get(read).filter(|it| it.meaning != Meaning::FolderValue)?;
        let Output::Rows { columns, .. } = &self.scan.fragment.output else { return None };
        match columns.get(source.column)?.operand {
            Operand::Column(column) => Some(usize::from(column)),
            _ => None,
        }
    }
}
