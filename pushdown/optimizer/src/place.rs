// SPDX-License-Identifier: Apache-2.0
//! Units on a drive: whether each row group's chunks can be read there, and how much they move.

use nearscan_command::{Chunk, Fragment, Key, Output, ValueKind, Width, limits};
use nearscan_drive::Placement;

use crate::cost::Volume;
use crate::decide::DriveView;
use crate::decision::{KeepReason, Kept};
use crate::lower::Lowered;
use crate::scan::Stack;
use crate::units::{
    PlannedUnit, RowGroup, ScanUnits, chunk_metadata, chunk_of, dictionary_bytes, kept_by,
};

/// The units of a fragment on one drive.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Partition by partition, those for the host among them.
    pub(crate) partitions: Vec<Vec<PlannedUnit>>,
    /// How many are for the host, and why the first of them is.
    pub(crate) kept: Option<(usize, Kept)>,
}

/// The units of `stack` on a drive. What it cannot run is planned for the host, row group by row
/// group.
///
/// # Errors
/// When it can run none of them.
pub(crate) fn place_units(
    drive: &DriveView,
    stack: &Stack<'_>,
    units: &ScanUnits<'_>,
    fragment: &Fragment,
) -> Lowered<Placed> {
    let mut placed = Placed { partitions: Vec::new(), kept: None };
    let mut on_drive = 0;
    for partition in units.deal(stack.partitions) {
        let mut planned = Vec::with_capacity(partition.len());
        for unit in partition {
            let chunks = match chunks_on(drive, stack, unit, fragment) {
                Ok(chunks) => {
                    on_drive += 1;
                    Ok(chunks)
                }
                Err(kept) => {
                    let reason = kept.reason;
                    placed.kept.get_or_insert((0, kept)).0 += 1;
                    Err(reason)
                }
            };
            planned.push(planned_unit(unit, chunks));
        }
        placed.partitions.push(planned);
    }
    match placed.kept {
        Some((_, kept)) if on_drive == 0 => Err(kept),
        _ => Ok(placed),
    }
}

fn planned_unit(unit: &RowGroup<'_>, chunks: Result<Vec<Chunk>, KeepReason>) -> PlannedUnit {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    PlannedUnit {
        file: unit.facts.file.clone(),
        row_group: count(unit.index),
        row_group_count: count(unit.facts.metadata.num_row_groups()),
        rows: u64::try_from(unit.metadata().num_rows()).unwrap_or(0),
        folder_values: unit.file.partition_values.clone(),
        kept: chunks.as_ref().err().copied(),
        chunks: chunks.unwrap_or_default(),
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
        let chunk = chunk_of(unit, column, schema)?;
        let about = format!("column {}", column.name);
        drive.capabilities.admits_chunk(&chunk).map_err(|refused| kept_by(refused, &about))?;
        check_dictionary(drive, unit, fragment, index)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}

/// Refuses dictionaries that the drive has no room for, as far as the footer tells.
fn check_dictionary(
    drive: &DriveView,
    unit: &RowGroup<'_>,
    fragment: &Fragment,
    index: usize,
) -> Lowered<()> {
    let column = &fragment.columns[index];
    let Some(chunk) = chunk_metadata(unit, &column.name) else { return Ok(()) };
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

/// What a page header and a codec may add to a dictionary of numbers.
const NUMBERS_SLACK_BYTES: u64 = 128;

/// Share of rows that a filter is assumed to keep, as DataFusion assumes.
const KEPT_SHARE_PERCENT: u64 = 20;

/// What a fragment moves on the drive.
pub(crate) fn volume(planned: &[Vec<PlannedUnit>], fragment: &Fragment) -> Volume {
    let mut volume = Volume::default();
    let strings: u64 = 32;
    let row_bytes: u64 = fragment
        .output_widths()
        .iter()
        .map(|width: &Width| width.bytes().map_or(strings, u64::from))
        .sum();
    for unit in planned.iter().flatten().filter(|unit| unit.kept.is_none()) {
        volume.units += 1;
        volume.rows += unit.rows;
        volume.media_bytes += unit.chunks.iter().map(|chunk| chunk.length).sum::<u64>();
        let rows_out = match &fragment.output {
            Output::States { keys, .. } if keys.is_empty() => 1,
            Output::States { .. } => 16,
            Output::Rows { top: Some(top), .. } => top_rows(unit.rows, top.count),
            Output::Rows { limit, .. } => {
                let share = if fragment.predicate.is_empty() { 100 } else { KEPT_SHARE_PERCENT };
                (unit.rows * share / 100).min(limit.unwrap_or(u64::MAX))
            }
        };
        volume.result_bytes += 256 + rows_out * row_bytes;
    }
    volume
}

/// Rows that a stream of `rows` in random order lets through to the first `count`:
/// `count * (1 + ln(rows / count))`, a doubling counted as 0.7.
fn top_rows(rows: u64, count: u32) -> u64 {
    let count = u64::from(count);
    let doublings = u64::from(rows.checked_div(count).unwrap_or(0).max(1).ilog2());
    (count + count * doublings * 7 / 10).min(rows)
}
