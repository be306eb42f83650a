// SPDX-License-Identifier: Apache-2.0
//! Cuts a scan into windows, of which each is a partition.
//!
//! Row groups of files that are written in the order of a column have ranges that hardly overlap.
//! A partition reads the row groups whose range overlaps its window, and drops the rows of others
//! from those that go beyond it. NULL is in the first window.
//!
//! # What this module does not do
//!
//! It does not choose where windows begin; see `clustered/cut.rs`.
//!
//! # Invariants
//!
//! - Each row is in the partition of exactly one window: the one that its key is in.
//! - Every key that is read is compared with the bounds of its row group. One beyond them would be
//!   missing from its window, so it ends the query.

use std::{
    error::Error,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch},
    buffer::BooleanBuffer,
    compute::{cast, filter_record_batch},
    datatypes::{DataType, Int64Type},
};
use datafusion::{
    common::{exec_datafusion_err, internal_err},
    error::{DataFusionError, Result},
};
use nearscan_command::ReadAs;
use nearscan_cpu::fused::RowFilter;

use super::{
    cuts::{Cuts, KeyBounds, Window, Windows},
    keys::is_key_type,
    work::{Fused, FusedUnit},
};
use crate::units::PlannedUnit;

/// Which keys rows of a window may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowKeys {
    /// The range of the keys that are not NULL.
    pub(crate) span: RangeInclusive<i64>,
    /// Rows of the row groups that are read for the window.
    pub(crate) rows: u64,
}

impl Fused {
    /// The column of the fragment that an output is, if the scan can be cut into windows by it.
    pub(crate) fn window_column(&self, output: usize) -> Option<usize> {
        let can_be_cut = self.rows.is_some()
            && self.fetch.is_none()
            && !self.is_ordered
            && self.windows.is_none();
        let is_key = |column: &usize| self.scan.types.get(*column).is_some_and(is_key_type);
        self.column_of_output(output).filter(is_key).filter(|_| can_be_cut)
    }

    /// What the footer says of a column in a row group.
    pub(crate) fn key_bounds(&self, column: usize, unit: &FusedUnit) -> KeyBounds {
        self.known_bounds(column, unit).unwrap_or(KeyBounds::UNKNOWN)
    }

    fn known_bounds(&self, column: usize, unit: &FusedUnit) -> Option<KeyBounds> {
        // A column that cannot be read here may store its values in another way.
        let chunk = unit.planned.chunks.get(column).filter(|_| unit.planned.kept.is_none())?;
        let data_type = self.scan.types.get(column)?;
        // Windows of unsigned numbers under a wider signed type are not tested.
        if chunk.reading.rule == ReadAs::Unsigned && !data_type.is_unsigned_integer() {
            return None;
        }
        let group = unit.metadata()?;
        let nulls = self.nulls_of(column, group);
        let span = match nulls == Some(unit.planned.rows) {
            true => None,
            false => Some(self.range_of(column, [group]).filter(|span| !span.is_empty())?),
        };
        Some(KeyBounds { span, may_have_null: nulls != Some(0) })
    }

    /// The range of a column's values in a partition, if all footers have it and there is one.
    pub(super) fn range_in_partition(
        &self,
        column: usize,
        partition: usize,
    ) -> Option<RangeInclusive<i64>> {
        let units = self.partitions.get(partition)?.iter();
        let groups = units.map(FusedUnit::metadata).collect::<Option<Vec<_>>>()?;
        let range = self.range_of(column, groups)?;
        let windows = self.windows.as_ref().filter(|windows| windows.column == column);
        let Some(window) = windows.map(|windows| windows.cuts.window(partition)) else {
            return Some(range);
        };
        let first = *range.start().max(window.keys.start());
        Some(first..=*range.end().min(window.keys.end()))
    }

    /// The keys that rows of a partition may have, if it is a window of this output.
    pub(crate) fn keys_of_window(&self, output: usize, partition: usize) -> Option<WindowKeys> {
        let windows = self.windows.as_ref().filter(|windows| windows.output == output)?;
        let (units, window) =
            (self.partitions.get(partition)?, windows.cuts.window(partition).keys);
        let bounds = units.iter().map(|unit| self.key_bounds(windows.column, unit));
        let spans = bounds.filter_map(|bounds| bounds.span);
        let span =
            spans.reduce(|all, span| *all.start().min(span.start())..=*all.end().max(span.end()));
        let span = span.map_or(RangeInclusive::new(0, -1), |span| {
            *span.start().max(window.start())..=*span.end().min(window.end())
        });
        Some(WindowKeys { span, rows: units.iter().map(|unit| unit.planned.rows).sum() })
    }

    /// The scan with a partition for each window of an output.
    ///
    /// # Errors
    /// If it cannot be cut by that output.
    pub(super) fn windowed(&self, output: usize, cuts: Cuts) -> Result<Self> {
        let Some(column) = self.window_column(output) else {
            return internal_err!("the scan of {} cannot be cut by column {output}", self.table);
        };
        let mut partitions: Vec<Vec<FusedUnit>> = vec![Vec::new(); cuts.windows()];
        for unit in self.partitions.iter().flatten() {
            for window in cuts.windows_of(&self.key_bounds(column, unit)) {
                if let Some(units) = partitions.get_mut(window) {
                    units.push(unit.clone());
                }
            }
        }
        let windows = Some(Windows { column, output, cuts });
        Ok(Self { partitions, windows, ..self.clone() })
    }
}

/// Keeps the rows of one window, and checks their keys.
#[derive(Debug)]
pub(super) struct WindowFilter {
    columns: [usize; 1],
    output: usize,
    window: Window,
    /// The row group that is being read.
    group: Mutex<Option<Arc<Group>>>,
}

/// A row group of which rows are kept.
#[derive(Debug)]
struct Group {
    bounds: KeyBounds,
    /// Whether all of its rows are in the window.
    is_whole: bool,
    /// File, row group and column, for an error.
    place: String,
}

impl WindowFilter {
    /// The filter of a partition of a scan, if that has windows.
    pub(super) fn of(fused: &Fused, partition: usize) -> Option<Arc<Self>> {
        let windows = fused.windows.as_ref()?;
        Some(Arc::new(Self {
            columns: [windows.column],
            output: windows.output,
            window: windows.cuts.window(partition),
            group: Mutex::default(),
        }))
    }

    /// Begins a row group.
    pub(super) fn begin(&self, fused: &Fused, unit: &FusedUnit) {
        let [column] = self.columns;
        let bounds = fused.key_bounds(column, unit);
        let name = fused.scan.fragment.columns.get(column).map_or("", |it| it.name.as_str());
        let PlannedUnit { file, row_group, .. } = &unit.planned;
        let place = format!("{}, row group {row_group}, column {name}", file.path.display());
        let is_in = |span: &RangeInclusive<i64>| {
            self.window.keys.contains(span.start()) && self.window.keys.contains(span.end())
        };
        let is_whole = bounds.span.as_ref().is_none_or(is_in)
            && (self.window.has_null || !bounds.may_have_null);
        let group = Some(Arc::new(Group { bounds, is_whole, place }));
        *self.group.lock().unwrap_or_else(PoisonError::into_inner) = group;
    }

    /// The rows of a batch of the scan's output that are in the window.
    ///
    /// # Errors
    /// If a key is beyond the bounds of the row group.
    pub(super) fn keep(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let Some(keys) = batch.columns().get(self.output) else {
            return internal_err!("the scan has no column {}", self.output);
        };
        Ok(filter_record_batch(batch, &self.kept(keys)?)?)
    }

    /// Which keys are in the window.
    fn kept(&self, keys: &ArrayRef) -> Result<BooleanArray> {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(group) = group else {
            return internal_err!("rows of a window come before their row group");
        };
        let cast_keys;
        let keys = match keys.data_type() {
            DataType::Int64 => keys,
            _ => {
                cast_keys = cast(keys, &DataType::Int64)?;
                &cast_keys
            }
        };
        let keys = keys.as_primitive::<Int64Type>();
        group.check(keys)?;
        let rows = keys.len();
        if group.is_whole {
            return Ok(BooleanBuffer::new_set(rows).into());
        }
        let (values, window) = (keys.values(), &self.window.keys);
        let in_window = BooleanBuffer::collect_bool(rows, |row| window.contains(&values[row]));
        Ok(match (keys.nulls(), self.window.has_null) {
            (None, _) => in_window,
            (Some(nulls), false) => &in_window & nulls.inner(),
            (Some(nulls), true) => &in_window | &!nulls.inner(),
        }
        .into())
    }
}

impl Group {
    /// Compares keys with the bounds of the footer.
    fn check(&self, keys: &Int64Array) -> Result<()> {
        // If all should be NULL, any key is beyond.
        let span = self.bounds.span.as_ref();
        let (first, last) = span.map_or((i64::MAX, i64::MIN), |span| (*span.start(), *span.end()));
        let beyond = |key: i64| (key < first) | (key > last);
        if keys.null_count() == 0 {
            // Without a branch for each key.
            let any = keys.values().iter().fold(false, |any, key| any | beyond(*key));
            if !any {
                return Ok(());
            }
        } else if !self.bounds.may_have_null {
            return Err(self.error("is NULL"));
        }
        match keys.iter().flatten().find(|key| beyond(*key)) {
            Some(key) => Err(self.error(&format!("has {key}"))),
            None => Ok(()),
        }
    }

    fn error(&self, what: &str) -> DataFusionError {
        exec_datafusion_err!("{} {what}, which the statistics of the footer rule out", self.place)
    }
}

impl RowFilter for WindowFilter {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn is_fallible(&self) -> bool {
        // It fails at rows that another condition drops, too: the file is wrong in either case.
        false
    }

    /// Less than to look up the key of a join: rows beyond the window may be beyond all keys that
    /// are known of it, so that no key would drop them, and the keys seem to be of no use.
    fn cost(&self) -> f64 {
        2.0
    }

    fn evaluate(
        &self,
        columns: Vec<ArrayRef>,
        _rows: usize,
    ) -> Result<BooleanArray, Box<dyn Error + Send + Sync>> {
        match columns.as_slice() {
            [keys] => Ok(self.kept(keys)?),
            _ => Err("a window has one key".into()),
        }
    }
}
