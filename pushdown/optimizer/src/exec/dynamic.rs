// SPDX-License-Identifier: Apache-2.0
//! Narrows fragments by dynamic filters: predicates that a join or a top-k above updates while it
//! runs.
//!
//! They reduce what the drive reads, from the first unit after they are known. Only conjuncts with
//! a counterpart in a command are used (bounds, IN lists); others, such as hash table look-ups, are
//! ignored. This is sound because the operator that owns the filter still checks every row. A
//! conjunct that a key filter of the same join implies is ignored too: a list of some fifty keys
//! takes a drive many times as long as a look-up of them. So is one of keys that have no filter
//! because nearly all values are among them: its column would be looked up for every row.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::{
    common::tree_node::{Transformed, TreeNode},
    error::Result,
    physical_expr::{PhysicalExpr, expressions::DynamicFilterPhysicalExpr, utils::collect_columns},
};
use nearscan_command::Fragment;

use crate::{
    exec::pushed::RowsShape,
    fused::dynamic_ids,
    lower::{FragmentBuilder, builder::Target},
    scan::{split, substitute},
};

/// Whether an expression contains a dynamic filter.
pub(crate) fn is_dynamic(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.exists(|node| Ok(node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some()))
        .unwrap_or(false)
}

/// A fragment narrowed by dynamic filters, rebuilt only when they have changed.
#[derive(Debug)]
pub(crate) struct Narrowing {
    fragment: Arc<Fragment>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    latest: Mutex<Option<(String, Arc<Fragment>)>>,
}

impl Narrowing {
    /// No narrowing yet.
    pub(crate) fn new(fragment: Arc<Fragment>, filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self { fragment, filters, latest: Mutex::new(None) }
    }

    /// Returns the fragment, narrowed by the current filters. `is_needless` tells whether bounds of
    /// the keys of a join, by the identity of its filter, are needless for a column of the rows.
    pub(crate) fn current(
        &self,
        shape: Option<&RowsShape>,
        is_needless: impl Fn(u64, usize) -> bool,
    ) -> Arc<Fragment> {
        let Some(shape) = shape.filter(|_| !self.filters.is_empty()) else {
            return Arc::clone(&self.fragment);
        };
        let conjuncts = self.snapshot(is_needless);
        let key = conjuncts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" AND ");
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, fragment)) = latest.as_ref()
            && *known == key
        {
            return Arc::clone(fragment);
        }
        let narrowed = Arc::new(self.narrow(&conjuncts, shape));
        *latest = Some((key, Arc::clone(&narrowed)));
        narrowed
    }

    /// The conjuncts of all filters, each dynamic one replaced by what it is now, but for those
    /// that are needless for all of their columns.
    fn snapshot(&self, is_needless: impl Fn(u64, usize) -> bool) -> Vec<Arc<dyn PhysicalExpr>> {
        let current = |filter: &Arc<dyn PhysicalExpr>| -> Result<Arc<dyn PhysicalExpr>> {
            let resolved = Arc::clone(filter).transform_up(|node| match node
                .downcast_ref::<DynamicFilterPhysicalExpr>(
            ) {
                Some(dynamic) => Ok(Transformed::yes(dynamic.current()?)),
                None => Ok(Transformed::no(node)),
            })?;
            Ok(resolved.data)
        };
        let mut conjuncts = Vec::new();
        for filter in &self.filters {
            let Ok(now) = current(filter) else { continue };
            let joins = dynamic_ids(filter);
            let is_left_out = |conjunct: &Arc<dyn PhysicalExpr>| {
                let columns = collect_columns(conjunct);
                let is_of_join = |column: usize| joins.iter().any(|it| is_needless(*it, column));
                !columns.is_empty() && columns.iter().all(|column| is_of_join(column.index()))
            };
            conjuncts.extend(split(&now).into_iter().filter(|conjunct| !is_left_out(conjunct)));
        }
        conjuncts
    }

    fn narrow(&self, conjuncts: &[Arc<dyn PhysicalExpr>], shape: &RowsShape) -> Fragment {
        let mut narrowed = Fragment::clone(&self.fragment);
        for conjunct in conjuncts {
            if let Some(narrower) = Self::exactly(&narrowed, conjunct, shape) {
                narrowed = narrower;
            }
        }
        narrowed
    }

    /// Returns the fragment with `conjunct` added to its predicate; nothing if the conjunct has no
    /// counterpart, or refers to columns that the fragment does not read: chunks are planned for
    /// the columns of the fragment only.
    pub(crate) fn exactly(
        fragment: &Fragment,
        conjunct: &Arc<dyn PhysicalExpr>,
        shape: &RowsShape,
    ) -> Option<Fragment> {
        let over_table = substitute(conjunct, &shape.outputs)?;
        let mut builder =
            FragmentBuilder::narrowing(fragment, &shape.table_schema, shape.file_columns);
        let verdict = builder.lower_truth(Target::Predicate, over_table.as_ref()).ok()?;
        builder.keep_where(verdict);
        let narrowed = builder.finish(fragment.output.clone()).ok()?;
        (narrowed.columns == fragment.columns).then_some(narrowed)
    }
}
