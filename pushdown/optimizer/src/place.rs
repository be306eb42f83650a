// SPDX-License-Identifier: Apache-2.0
//! Places units on a drive: it checks whether the drive can read each row group's chunks, and
//! estimates their volume.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use nearscan_command::{
    Chunk, Encodings, Fragment, Key, Output, ResultHeader, ValueKind, Width, limits,
};
use nearscan_drive::Placement;

use crate::{
    cost::{HostRates, UnitEstimate, Volume, estimate, estimate_of_server},
    decision::{Costs, KeepReason, Kept},
    encoded::encoded,
    exec::bound_unit,
    join_order,
    lower::Lowered,
    planning::DriveView,
    scan::Stack,
    units::{
        PlannedUnit, RowGroup, ScanUnits, chunk_metadata, chunk_of, dictionary_bytes, kept_by,
        looks_keys_up_by_row,
    },
};

/// The units of a fragment on one drive, or on several after [`Placed::add`].
#[derive(Debug)]
pub(crate) struct Placed {
    /// Partition by partition, those for the host among them.
    pub(crate) partitions: Vec<Vec<PlannedUnit>>,
    /// The number of units for the host, and the reason of the first; of the first that a drive
    /// has, if there is one.
    pub(crate) kept: Option<(usize, Kept)>,
}

impl Placed {
    /// Whether some of the units are not on the drive, and may be on another one.
    pub(crate) fn is_partly_elsewhere(&self) -> bool {
        self.partitions.iter().flatten().any(is_elsewhere)
    }

    /// Adds the units that another drive has, which is the one with the number `drive`, to those
    /// that were placed before.
    pub(crate) fn add(&mut self, other: Self, drive: usize) {
        let theirs = other.partitions.into_iter().flatten();
        for (ours, theirs) in self.partitions.iter_mut().flatten().zip(theirs) {
            if is_elsewhere(ours) && !is_elsewhere(&theirs) {
                *ours = PlannedUnit { drive, ..theirs };
            }
        }
        let left = self.partitions.iter().flatten().filter(|unit| unit.kept.is_some()).count();
        let is_other = |kept: &(usize, Kept)| kept.1.reason != KeepReason::NotOnDrive;
        let kept = other.kept.filter(is_other).or_else(|| self.kept.take());
        self.kept = kept.filter(|_| left > 0).map(|(_, kept)| (left, kept));
    }

    /// Notes why a drive refused to run its units, which are left for the host.
    pub(crate) fn keep_for(
        &mut self,
        drive: &str,
        refused: &Kept,
        units: &ScanUnits<'_>,
        partitions: usize,
    ) {
        let row_groups = units.deal(partitions).into_iter().flatten();
        let mut is_about_one = false;
        for (unit, row_group) in self.partitions.iter_mut().flatten().zip(row_groups) {
            let placement = row_group.facts.placement(drive);
            if is_elsewhere(unit) && matches!(placement, Some(Placement::Here { .. })) {
                unit.kept = Some(refused.reason);
                is_about_one = true;
            }
        }
        if let Some((_, kept)) = &mut self.kept
            && is_about_one
            && kept.reason == KeepReason::NotOnDrive
        {
            kept.clone_from(refused);
        }
    }

    /// The estimates for all units on the drive, those of each one noted at it. An exchange of the
    /// drive's images is in those for all.
    ///
    /// # Errors
    /// If the rates of the drive are unknown.
    pub(crate) fn weigh(
        &mut self,
        drive: &DriveView,
        host: &HostRates,
        fragment: &Fragment,
        share: KeptShare,
    ) -> Lowered<Costs> {
        let is_of_server = |unit: &PlannedUnit| unit.kept.is_none() && unit.file.server.is_some();
        let estimate = match self.partitions.iter().flatten().any(is_of_server) {
            true => estimate_of_server,
            false => estimate,
        };
        let mut all = Volume::default();
        for unit in self.partitions.iter_mut().flatten().filter(|unit| unit.kept.is_none()) {
            let alone = volume(unit, fragment, share);
            let costs = estimate(&alone, &drive.snapshot, host);
            unit.estimate = costs.as_ref().map(UnitEstimate::of);
            all = all.with(alone);
        }
        let mut costs =
            estimate(&all, &drive.snapshot, host).ok_or_else(Kept::for_want_of_rates)?;
        costs.drive_ns += drive.snapshot.exchange_ns_of_scan(fragment.columns.len());
        Ok(costs)
    }
}

/// Whether a unit is for the host because the drive does not have its file.
fn is_elsewhere(unit: &PlannedUnit) -> bool {
    unit.kept == Some(KeepReason::NotOnDrive)
}

/// The units of `stack` on a drive, but for those that were placed `before` on another. What it
/// cannot run is planned for the host, row group by row group.
///
/// # Errors
/// If it can run none of them.
pub(crate) fn place_units(
    drive: &DriveView,
    stack: &Stack<'_>,
    units: &ScanUnits<'_>,
    fragment: &Fragment,
    before: Option<&Placed>,
) -> Lowered<Placed> {
    let mut placed = Placed { partitions: Vec::new(), kept: None };
    let mut on_drive = 0;
    for (at, partition) in units.deal(stack.partitions).into_iter().enumerate() {
        let mut planned = Vec::with_capacity(partition.len());
        for (number, unit) in partition.into_iter().enumerate() {
            let known = before.and_then(|placed| placed.partitions.get(at)?.get(number));
            if known.is_some_and(|known| !is_elsewhere(known)) {
                planned.push(PlannedUnit::new(unit, Err(KeepReason::NotOnDrive)));
                continue;
            }
            let chunks = match chunks_on(drive, stack, unit, fragment) {
                Ok(chunks) => {
                    on_drive += 1;
                    Ok(chunks)
                }
                Err(kept) => {
                    let reason = kept.reason;
                    let (count, first) = placed.kept.get_or_insert_with(|| (0, kept.clone()));
                    *count += 1;
                    if first.reason == KeepReason::NotOnDrive {
                        *first = kept;
                    }
                    Err(reason)
                }
            };
            let mut unit_planned = PlannedUnit::new(unit, chunks);
            if unit_planned.kept.is_none() {
                unit_planned.encoded = encoded(unit, fragment);
            }
            planned.push(unit_planned);
        }
        placed.partitions.push(planned);
    }
    match placed.kept {
        Some((_, kept)) if on_drive == 0 => Err(kept),
        _ => Ok(placed),
    }
}

/// The column chunks of a unit, if the drive can read them.
fn chunks_on(
    drive: &DriveView,
    stack: &Stack<'_>,
    unit: &RowGroup<'_>,
    fragment: &Fragment,
) -> Lowered<Vec<Chunk>> {
    match unit.facts.placement(&drive.name) {
        Some(Placement::Here { .. }) => {}
        Some(Placement::NotHere { reason }) => {
            return Err(Kept::new(KeepReason::NotOnDrive, reason.clone()));
        }
        None => return Err(Kept::new(KeepReason::NotOnDrive, "the drive was not asked")),
    }
    let schema = stack.scan.table_schema();
    let mut chunks = Vec::with_capacity(fragment.columns.len());
    for (index, column) in fragment.columns.iter().enumerate() {
        let chunk = chunk_of(unit, column, schema, Encodings::ALL)?;
        let about = format!("column {}", column.name);
        drive.capabilities.admits_chunk(&chunk).map_err(|refused| kept_by(refused, &about))?;
        check_dictionary(drive, unit, fragment, index)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}

/// Refuses dictionaries that do not fit in the drive's memory, as far as the footer states their
/// size.
fn check_dictionary(
    drive: &DriveView,
    unit: &RowGroup<'_>,
    fragment: &Fragment,
    index: usize,
) -> Lowered<()> {
    let column = &fragment.columns[index];
    let Some(chunk) = chunk_metadata(unit.metadata(), &column.name) else { return Ok(()) };
    let bytes = dictionary_bytes(chunk);
    let is_key = match &fragment.output {
        Output::States { keys, .. } => {
            keys.iter().filter_map(Key::code_column).any(|key| usize::from(key) == index)
        }
        Output::Rows { .. } => false,
    };
    let about = |limit: u64| {
        format!("the dictionary of {} has {bytes} bytes, the limit is {limit}", column.name)
    };
    // Numbers are at least as long as this in any dictionary that has too many of them, if it is
    // compressed at all well.
    let narrow = match column.kind {
        ValueKind::Integer => u64::from(limits::GROUPS_MAX) * 8 + NUMBERS_SLACK_BYTES,
        ValueKind::Bytes => u64::MAX,
    };
    let key_bytes_max = drive.capabilities.key_dictionary_bytes_max.min(narrow);
    if is_key && bytes > key_bytes_max {
        let detail = about(key_bytes_max);
        return Err(Kept::new(KeepReason::GroupCardinality, detail));
    }
    if bytes > drive.capabilities.dictionary_bytes_max {
        let detail = about(drive.capabilities.dictionary_bytes_max);
        return Err(Kept::new(KeepReason::DictionarySize, detail));
    }
    Ok(())
}

/// Bytes that a page header and a codec may add to a dictionary of numbers.
const NUMBERS_SLACK_BYTES: u64 = 128;

/// Share of rows that a filter is assumed to keep where the rows of the table are not known: the
/// default of DataFusion's filters.
const KEPT_SHARE_PERCENT: u64 = 20;

/// Rows that a filter keeps of all rows that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptShare {
    kept: u64,
    of: u64,
    /// Whether keys of joins are among what drops rows. Which columns they are of is not known
    /// before the scan is placed.
    has_keys: bool,
}

impl KeptShare {
    /// Returns the selectivity of the plan that `fragment` replaces, as joins above it are ordered
    /// by, or a default if the rows of its table are not known.
    pub(crate) fn of(
        plan: &Arc<dyn ExecutionPlan>,
        partitions: &[Vec<PlannedUnit>],
        fragment: &Fragment,
    ) -> Self {
        let of = partitions.iter().flatten().map(|unit| unit.rows).sum();
        if fragment.predicate.is_empty() {
            return Self { kept: of, of, has_keys: false };
        }
        match join_order::share_kept(plan) {
            Some(share) => Self { kept: of, of, has_keys: false }.times(share),
            None => Self { kept: KEPT_SHARE_PERCENT, of: 100, has_keys: false },
        }
    }

    /// The share that is left if only this part of the rows passes the keys of joins.
    pub(crate) fn with_keys(self, share: f64) -> Self {
        Self { has_keys: share < 1.0, ..self.times(share) }
    }

    /// That part of the share.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "rows of a scan are far below 2^53, and a share is not negative"
    )]
    fn times(self, share: f64) -> Self {
        Self { kept: (self.kept as f64 * share.clamp(0.0, 1.0)) as u64, ..self }
    }

    fn rows(self, rows: u64) -> u64 {
        let kept = u128::from(rows) * u128::from(self.kept) / u128::from(self.of.max(1));
        u64::try_from(kept).unwrap_or(rows)
    }

    /// Rows of a unit whose values are looked up behind the filter: all of them if keys may be
    /// looked up for each row.
    fn looked_up(self, rows: u64, chunks: &[Chunk]) -> u64 {
        match self.has_keys && chunks.iter().any(looks_keys_up_by_row) {
            true => rows,
            false => self.rows(rows),
        }
    }
}

/// Returns the volume of a unit on the drive.
pub(crate) fn volume(unit: &PlannedUnit, fragment: &Fragment, share: KeptShare) -> Volume {
    if unit.kept.is_some() {
        return Volume::default();
    }
    let row_bytes: u64 = fragment
        .output_widths()
        .iter()
        .map(|width: &Width| width.bytes().map_or(STRING_BYTES, u64::from))
        .sum();
    let result_rows = match &fragment.output {
        Output::States { keys, .. } if keys.is_empty() => 1,
        Output::States { .. } => GROUPS,
        Output::Rows { top: Some(top), .. } => top_rows(unit.rows, top.count),
        Output::Rows { limit, .. } => share.rows(unit.rows).min(limit.unwrap_or(u64::MAX)),
    };
    Volume {
        units: 1,
        requests: bound_unit(unit, 0).inputs.len() as u64,
        rows: unit.rows,
        values: unit.rows * unit.chunks.len() as u64,
        media_bytes: unit.chunks.iter().map(|chunk| chunk.length).sum(),
        encoded: unit.encoded.of_kept(share.looked_up(unit.rows, &unit.chunks), unit.rows),
        result_rows,
        result_bytes: ResultHeader::BYTES + result_rows * row_bytes,
    }
}

/// Bytes of a string in a result; an assumption.
const STRING_BYTES: u64 = 32;

/// Groups of a unit; an assumption.
const GROUPS: u64 = 16;

/// Rows that a stream of `rows` in random order lets through to the first `count`:
/// `count * (1 + ln(rows / count))`, a doubling counted as 0.7.
fn top_rows(rows: u64, count: u32) -> u64 {
    let count = u64::from(count);
    let doublings = u64::from(rows.checked_div(count).unwrap_or(0).max(1).ilog2());
    (count + count * doublings * 7 / 10).min(rows)
}

#[cfg(test)]
mod tests {
    use nearscan_command::{Codec, Encoding, PhysicalType, Reading};

    use super::*;

    #[test]
    fn keys_that_are_looked_up_by_row_need_the_values_of_all_rows() {
        let chunk = |encodings: &[Encoding]| Chunk {
            input: 0,
            offset: 0,
            length: 100,
            uncompressed_bytes: 100,
            physical_type: PhysicalType::Int64,
            definition_level_max: 0,
            codec: Codec::Snappy,
            encodings: Encodings::of(encodings.iter().copied()),
            dictionary_bytes: 50,
            reading: Reading::PLAIN,
        };
        let by_entry = [chunk(&[Encoding::Rle, Encoding::RleDictionary])];
        let by_row = [chunk(&[Encoding::Plain, Encoding::Rle, Encoding::RleDictionary])];
        let half = KeptShare { kept: 50, of: 100, has_keys: false };
        assert_eq!((half.rows(1000), half.looked_up(1000, &by_row)), (500, 500));
        let keyed = half.with_keys(0.1);
        assert_eq!((keyed.rows(1000), keyed.looked_up(1000, &by_row)), (50, 1000));
        assert_eq!(keyed.looked_up(1000, &by_entry), 50);
        let lz4 = [Chunk { codec: Codec::Lz4Raw, ..by_entry[0] }];
        assert_eq!(keyed.looked_up(1000, &lz4), 1000);
        // No join above gives keys.
        let without = half.with_keys(1.0);
        assert_eq!((without.rows(1000), without.looked_up(1000, &by_row)), (500, 500));
    }
}
