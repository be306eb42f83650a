// SPDX-License-Identifier: Apache-2.0
//! Describes the work of an operator: the fragment, its units, and the sources of its output.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;
use nearscan_command::Fragment;

use crate::{
    decision::Costs,
    lower::aggregate::{Meaning, Source},
    units::PlannedUnit,
};

/// The sources of the output's columns.
#[derive(Debug, Clone)]
pub(crate) enum Replaced {
    /// A partial aggregate.
    States {
        /// The source of each column of its schema.
        sources: Vec<Source>,
    },
    /// Rows.
    Rows(RowsShape),
}

impl Replaced {
    /// Returns the source of each column of the output.
    pub(crate) fn sources(&self) -> &[Source] {
        match self {
            Self::States { sources } => sources,
            Self::Rows(shape) => &shape.sources,
        }
    }

    /// Whether an operator above may rely on the order of the rows.
    pub(crate) fn keeps_order(&self) -> bool {
        self.rows_shape().is_some_and(|shape| shape.in_order)
    }

    /// Returns the shape of rows; nothing for states.
    pub(crate) fn rows_shape(&self) -> Option<&RowsShape> {
        match self {
            Self::Rows(shape) => Some(shape),
            Self::States { .. } => None,
        }
    }

    /// Whether a column of the output is known without the drive.
    pub(crate) fn has_folder_values(&self) -> bool {
        self.sources().iter().any(|source| source.meaning == Meaning::FolderValue)
    }
}

/// The shape of the outputs of rows.
#[derive(Debug, Clone)]
pub(crate) struct RowsShape {
    /// The source of each output.
    pub(crate) sources: Vec<Source>,
    /// The outputs as expressions over the table, to lower dynamic filters.
    pub(crate) outputs: Vec<Arc<dyn PhysicalExpr>>,
    /// The table.
    pub(crate) table_schema: SchemaRef,
    /// Its columns that are in the files.
    pub(crate) file_columns: usize,
    /// Whether the scan declares an order, or has to keep that of its files. An operator above may
    /// rely on it although the key is no output.
    pub(crate) in_order: bool,
}

/// The work of a [`PushdownExec`].
#[derive(Debug, Clone)]
pub(crate) struct Pushed {
    /// Names of the drives, at least one; units say which is theirs.
    pub(crate) drives: Vec<String>,
    /// Name of the table.
    pub(crate) table: String,
    /// The query, for the log.
    pub(crate) query_id: u128,
    /// The fragment.
    pub(crate) fragment: Arc<Fragment>,
    /// The source of the output.
    pub(crate) replaced: Replaced,
    /// The units of each partition.
    pub(crate) partitions: Vec<Vec<PlannedUnit>>,
    /// The predicate for EXPLAIN.
    pub(crate) filter: String,
    /// Rows after which a partition may stop.
    pub(crate) fetch: Option<usize>,
    /// The estimates, if the cost model was asked.
    pub(crate) costs: Option<Costs>,
}

impl Pushed {
    /// Name of the first drive.
    pub(crate) fn first_drive(&self) -> &str {
        self.drives.first().map_or("", String::as_str)
    }

    /// Name of the drive of a unit.
    pub(crate) fn drive_of(&self, unit: &PlannedUnit) -> &str {
        self.drives.get(unit.drive).map_or("", String::as_str)
    }
}
