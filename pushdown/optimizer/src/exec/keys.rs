// SPDX-License-Identifier: Apache-2.0
//! Extends fragments by the keys of joins above, and finds units in which there is none of them.
//!
//! It does so when a unit is about to be bound: the build side of the join has been read by then,
//! or the unit is run as planned. A set is cut to the values that the unit's row group has, and
//! left out if the drive has no room for it. This is sound because the operators above do not want
//! rows without a partner, and the join still drops those that come back: from units that were run
//! without the keys, or because a filter passes more than keys.

use std::{ops::RangeInclusive, sync::Arc};

use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    physical_expr::PhysicalExpr,
    physical_plan::ExecutionPlan,
};
use nearscan_command::{Fragment, KeyBits, KeyFilter, Operand, Output, limits};
use nearscan_cpu::fused::JoinKeys;

use super::{fallback::find_file, pushed::Pushed, trial::Filters};
use crate::{
    facts::FileFacts,
    lower::aggregate::Meaning,
    scan::Scan,
    units::{PlannedUnit, chunk_metadata, column_range},
};

/// Keys of a join above a scan on a drive.
#[derive(Debug, Clone)]
pub(crate) struct UnitKeys {
    /// The identity of the join's dynamic filter.
    pub(crate) join: u64,
    /// The join's dynamic filter, if the scan has to say that it has it.
    pub(crate) announced: Option<Arc<dyn PhysicalExpr>>,
    /// The column of the fragment that the join compares with them.
    pub(crate) column: u16,
    pub(crate) keys: Arc<JoinKeys>,
    /// What is known of the column, for each unit of each partition.
    pub(crate) values: Arc<ColumnValues>,
}

/// The values of a column in each unit of each partition.
#[derive(Debug, Default)]
pub(crate) struct ColumnValues {
    units: Vec<Vec<Option<UnitValues>>>,
    /// Whether statistics may rule units out.
    prunes: bool,
}

/// The values of a column in a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnitValues {
    range: RangeInclusive<i64>,
    has_nulls: bool,
}

/// The place of a unit: its partition, and its place there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) partition: usize,
    pub(crate) unit: usize,
}

impl ColumnValues {
    /// Those of column `name` as the footers of the files have them that `plan` scans.
    pub(crate) fn find(plan: &Arc<dyn ExecutionPlan>, pushed: &Pushed, name: &str) -> Self {
        let mut values = Self::default();
        let visited = plan.apply(|node| {
            let Some(scan) = Scan::of(node) else { return Ok(TreeNodeRecursion::Continue) };
            values.prunes = scan.source.table_parquet_options().global.pruning;
            let of_unit = |unit: &PlannedUnit| of_unit(&scan, unit, name);
            let of_partition = |units: &Vec<PlannedUnit>| units.iter().map(of_unit).collect();
            values.units = pushed.partitions.iter().map(of_partition).collect();
            Ok(TreeNodeRecursion::Stop)
        });
        debug_assert!(visited.is_ok(), "the visitor does not fail");
        values
    }

    /// The range of all values, if that of every unit is known.
    pub(crate) fn range(&self) -> Option<RangeInclusive<i64>> {
        let mut all: Option<(i64, i64)> = None;
        for unit in self.units.iter().flatten() {
            let UnitValues { range, .. } = unit.as_ref()?;
            let (first, last) = (*range.start(), *range.end());
            all = Some(all.map_or((first, last), |all| (all.0.min(first), all.1.max(last))));
        }
        all.map(|(first, last)| first..=last)
    }

    fn at(&self, place: Place) -> Option<&UnitValues> {
        self.units.get(place.partition)?.get(place.unit)?.as_ref()
    }
}

fn of_unit(scan: &Scan<'_>, unit: &PlannedUnit, name: &str) -> Option<UnitValues> {
    let facts = find_file(scan, unit)?.extensions.get::<FileFacts>()?;
    let group = facts.metadata.row_groups().get(usize::try_from(unit.row_group).ok()?)?;
    let data_type = scan.table_schema().field_with_name(name).ok()?.data_type();
    let (first, last) = column_range([group], name, data_type)??;
    let nulls = chunk_metadata(group, name)?.statistics()?.null_count_opt();
    Some(UnitValues { range: first..=last, has_nulls: nulls != Some(0) })
}

impl Pushed {
    /// The column of the fragment that an output is, if rows can be dropped by it: of states a key
    /// can be one. None where a limit counts rows.
    pub(crate) fn key_column(&self, output: usize) -> Option<u16> {
        let source = self.replaced.sources().get(output)?;
        let is_number = match source.meaning {
            // Of a type that is no float, the number itself.
            Meaning::Number | Meaning::FloatOrder => true,
            Meaning::AverageCount | Meaning::FolderValue => false,
        };
        if self.fetch.is_some() || !is_number {
            return None;
        }
        let operand = match &self.fragment.output {
            Output::Rows { columns, limit: None, top: None } => columns.get(source.column)?.operand,
            Output::Rows { .. } => return None,
            Output::States { keys, .. } => keys.get(source.column)?.operand,
        };
        match operand {
            Operand::Column(column) => Some(column),
            _ => None,
        }
    }
}

/// The key filters of a unit.
#[derive(Debug, Default)]
pub(super) struct UnitFilters {
    filters: Vec<KeyFilter>,
    /// Which keys they are of.
    pub(super) given: Filters,
    /// Keys that have no filter because it would drop hardly a row.
    needless: Filters,
}

impl UnitFilters {
    /// Those that a drive takes beside the ones of a fragment: `bytes_max` bytes of filters, and
    /// none that is `left_out`.
    pub(super) fn of(
        fragment: &Fragment,
        keys: &[UnitKeys],
        left_out: Filters,
        place: Place,
        bytes_max: u64,
    ) -> Self {
        let mut left = bytes_max.saturating_sub(fragment.key_bits_bytes());
        let room = (limits::KEY_FILTERS_MAX as usize).saturating_sub(fragment.key_filters.len());
        let mut unit = Self { needless: left_out, ..Self::default() };
        for (at, keys) in keys.iter().enumerate() {
            if left_out.meets(Filters::at(at)) {
                continue;
            }
            let range = keys.values.at(place).map(|values| &values.range);
            let bits = |bytes_max| keys.keys.bits(range, bytes_max);
            if unit.narrow(keys.column, || bits(bytes_max)) {
                unit.given = unit.given.with(Filters::at(at));
            } else if let Some(bits) = bits(left).filter(|_| unit.filters.len() < room) {
                left = left.saturating_sub(bits.bytes());
                unit.filters.push(KeyFilter { column: keys.column, keys: bits });
                unit.given = unit.given.with(Filters::at(at));
            } else if keys.keys.drop_few(range) {
                unit.needless = unit.needless.with(Filters::at(at));
            }
        }
        unit
    }

    /// Narrows the filter of other keys of a column by `bits`, if both can be one: it takes the
    /// room of one, and a drive looks a row up once.
    fn narrow(&mut self, column: u16, bits: impl FnOnce() -> Option<KeyBits>) -> bool {
        let mut of_column = self.filters.iter_mut().filter(|filter| filter.column == column);
        let Some(filter) = of_column.next() else { return false };
        match bits().and_then(|bits| filter.keys.and(&bits)) {
            Some(both) => {
                filter.keys = both;
                true
            }
            None => false,
        }
    }

    /// Whether the bounds of the keys at a place are needless: a filter of the keys drops more, or
    /// even that would drop hardly a row.
    pub(super) fn make_bounds_needless(&self, place: usize) -> bool {
        self.given.with(self.needless).meets(Filters::at(place))
    }

    /// A fragment with them.
    pub(super) fn in_fragment(self, fragment: Arc<Fragment>) -> Arc<Fragment> {
        if self.filters.is_empty() {
            return fragment;
        }
        let mut fragment = Arc::unwrap_or_clone(fragment);
        fragment.key_filters.extend(self.filters);
        Arc::new(fragment)
    }
}

/// Whether no row of a unit has one of the keys. Rows with NULL are wanted.
pub(super) fn rule_out(keys: &[UnitKeys], place: Place) -> bool {
    keys.iter().any(|keys| {
        let values = keys.values.at(place).filter(|values| keys.values.prunes && !values.has_nulls);
        values.is_some_and(|values| !keys.keys.may_have(&values.range))
    })
}
