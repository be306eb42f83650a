// SPDX-License-Identifier: Apache-2.0
//! Defines [`ScanPlan`], what a scan computes, and [`RowFilter`].

use std::{error::Error, fmt::Debug, sync::Arc};

use arrow::{
    array::{ArrayRef, BooleanArray},
    datatypes::DataType,
};
use nearscan_command::{Fragment, Operand, Output};

use super::{conjuncts::only_tested_for_null, keys::JoinKeys};

/// A condition that a fragment cannot express.
pub trait RowFilter: Debug + Send + Sync {
    /// The columns of the fragment that it reads.
    fn columns(&self) -> &[usize];

    /// Whether it can fail, or depends on more than its columns: then it only sees rows that every
    /// condition before it kept.
    fn is_fallible(&self) -> bool;

    /// Whether it only saves work, so that it may be left out where it drops too few rows.
    fn is_optional(&self) -> bool {
        false
    }

    /// Cost of a row, relative to a comparison of a number with a constant. Of two that drop the
    /// same share of rows the cheaper one is evaluated first.
    fn cost(&self) -> f64 {
        16.0
    }

    /// Whether it keeps every row at the moment, so that its columns need not be read for it.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether each of `rows` rows is kept; NULL drops a row. `columns` are in the order of
    /// [`RowFilter::columns`].
    ///
    /// # Errors
    /// Those of the condition; they fail the query.
    fn evaluate(
        &self,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<BooleanArray, Box<dyn Error + Send + Sync>>;
}

/// What a scan computes of each row group.
#[derive(Debug, Clone)]
pub struct ScanPlan {
    /// Columns, predicate, key filters and output. Limits of the command format do not apply.
    /// Columns of rows are columns of the fragment, not steps; a limit or a top is ignored.
    pub fragment: Fragment,
    /// The type of each column of the fragment as an array.
    pub types: Vec<DataType>,
    /// Further conditions; all of them must hold. Those that are not fallible may be evaluated in
    /// any order, and the others after them, in this order.
    pub filters: Vec<Arc<dyn RowFilter>>,
    /// Columns of the fragment, and the keys of the joins on them: rows without a partner may be
    /// dropped, once all keys are known. Keys of several columns are their [`key_tuples`].
    ///
    /// [`key_tuples`]: super::key_tuples
    pub keys: Vec<(Vec<usize>, Arc<JoinKeys>)>,
}

impl ScanPlan {
    /// The columns whose values nothing needs, only which of them are NULL, `[columns]`.
    pub(super) fn columns_only_tested_for_null(&self, is_output: &[bool]) -> Vec<bool> {
        let mut is_only = only_tested_for_null(&self.fragment.predicate, &self.fragment);
        let filters = self.filters.iter().flat_map(|filter| filter.columns().iter().copied());
        let keys = self.keys.iter().flat_map(|(columns, _)| columns.iter().copied());
        let key_filters = self.fragment.key_filters.iter();
        let keys = keys.chain(key_filters.map(|filter| usize::from(filter.column)));
        filters.chain(keys).for_each(|column| is_only[column] = false);
        is_only.iter_mut().zip(is_output).for_each(|(is_only, is_output)| *is_only &= !is_output);
        is_only
    }

    /// The columns that the output consists of, if it is rows.
    pub(super) fn row_columns(&self) -> Option<Vec<usize>> {
        match &self.fragment.output {
            Output::Rows { columns, .. } => {
                let columns = columns.iter().filter_map(|column| match column.operand {
                    Operand::Column(column) => Some(usize::from(column)),
                    _ => None,
                });
                Some(columns.collect())
            }
            Output::States { .. } => None,
        }
    }
}
