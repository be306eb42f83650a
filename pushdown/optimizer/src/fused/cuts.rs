// SPDX-License-Identifier: Apache-2.0
//! Defines windows of a scan: ranges of a column, and which of them a row group has rows in.
//!
//! # Invariants
//!
//! - Each key is in exactly one window, and NULL in the first one.

use std::{ops::RangeInclusive, sync::Arc};

use arrow::{compute::SortOptions, datatypes::SchemaRef};
use datafusion::{
    common::{ScalarValue, internal_err},
    error::Result,
    physical_expr::{LexOrdering, Partitioning, PhysicalSortExpr, expressions::Column},
    physical_plan::{RangePartitioning, SplitPoint},
};

/// Where windows begin, except for the first one: keys in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cuts(Arc<[i64]>);

/// The keys of one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) keys: RangeInclusive<i64>,
    pub(super) has_null: bool,
}

/// What a footer says of the keys of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyBounds {
    /// The range of the keys; none if all are NULL.
    pub(crate) span: Option<RangeInclusive<i64>>,
    pub(crate) may_have_null: bool,
}

/// The windows of a scan.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// The column of the fragment that is cut.
    pub(super) column: usize,
    /// The output that it is.
    pub(super) output: usize,
    pub(super) cuts: Cuts,
}

impl Cuts {
    /// Windows that begin with these keys, in ascending order.
    pub(crate) fn new(keys: Vec<i64>) -> Self {
        debug_assert!(keys.is_sorted_by(|key, next| key < next), "each window has a key");
        Self(keys.into())
    }

    /// The number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.0.len() + 1
    }

    /// The window of a key.
    fn window_of(&self, key: i64) -> usize {
        self.0.partition_point(|cut| *cut <= key)
    }

    /// The windows that rows of a row group may be in, in ascending order.
    pub(crate) fn windows_of(&self, bounds: &KeyBounds) -> Vec<usize> {
        let mut windows: Vec<usize> = match &bounds.span {
            Some(span) => (self.window_of(*span.start())..=self.window_of(*span.end())).collect(),
            None => Vec::new(),
        };
        if bounds.may_have_null && windows.first() != Some(&0) {
            windows.insert(0, 0);
        }
        windows
    }

    /// The keys of a window.
    pub(super) fn window(&self, window: usize) -> Window {
        let before = window.checked_sub(1).and_then(|before| self.0.get(before));
        let first = before.copied().unwrap_or(i64::MIN);
        let last = self.0.get(window).map_or(i64::MAX, |next| next.saturating_sub(1));
        Window { keys: first..=last, has_null: window == 0 }
    }

    /// The partitioning of rows of which the column `output` is cut.
    fn partitioning(&self, schema: &SchemaRef, output: usize) -> Result<Partitioning> {
        let Some(field) = schema.fields().get(output) else {
            return internal_err!("the scan has no column {output}");
        };
        let options = SortOptions { descending: false, nulls_first: true };
        let column = Arc::new(Column::new(field.name(), output));
        let Some(ordering) = LexOrdering::new([PhysicalSortExpr::new(column, options)]) else {
            return internal_err!("windows have a key");
        };
        let split_points = self.0.iter().map(|cut| {
            let cut = ScalarValue::Int64(Some(*cut)).cast_to(field.data_type())?;
            Ok(SplitPoint::new(vec![cut]))
        });
        let split_points = split_points.collect::<Result<_>>()?;
        Ok(Partitioning::Range(RangePartitioning::try_new(ordering, split_points)?))
    }
}

impl KeyBounds {
    /// Those of a row group of which nothing is known.
    pub(super) const UNKNOWN: Self = Self { span: Some(i64::MIN..=i64::MAX), may_have_null: true };
}

impl Windows {
    /// The number of windows.
    pub(super) fn count(&self) -> usize {
        self.cuts.windows()
    }

    /// The partitioning of the scan's rows.
    pub(super) fn partitioning(&self, schema: &SchemaRef) -> Result<Partitioning> {
        self.cuts.partitioning(schema, self.output)
    }
}
