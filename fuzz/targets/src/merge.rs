// SPDX-License-Identifier: Apache-2.0
//! Implements the target `merge`: the merge kernel on any command and any results of scans.
//!
//! The right result is a stable sort of the rows of all inputs.

use std::sync::atomic::AtomicU32;

use nearscan_command::{
    Merge, ResultHeader, ResultView, Row, SortKey, Status, Width,
    layout::{merge as merge_flags, section, sort},
};
use nearscan_conformance::evaluator::{Verdict, evaluate_merge};
use nearscan_models::Error;

use crate::{
    call::Call,
    drives::rows,
    kernel::{lines, result_in},
    sign,
};

/// Most rows that a command may declare; the kernel trusts the numbers that it reads.
const ROWS_MAX: u64 = u64::MAX - 1;
/// Steps of a command.
const STEPS_MAX: u64 = (1 << 20) - 1;
/// Bytes of output that a call is given; one that wants more is not run.
const ROOM_BYTES_MAX: u64 = 1 << 20;
/// The contents of the output before a call.
const UNTOUCHED: u64 = 0xa5a5_5a5a_c3c3_3c3c;

/// Runs the merge kernel on a call. Whether its rows were compared.
///
/// # Panics
/// When the kernel breaks one of its promises, or its rows are not those of a plain sort.
pub fn merge(bytes: &[u8]) -> bool {
    let Some(mut call) = Call::parse(bytes) else { return false };
    sign::results(&mut call.memory);
    sign::bound(&mut call.command, ROWS_MAX, STEPS_MAX);
    sign::command(&mut call.command);
    run(&call).is_some()
}

fn run(call: &Call) -> Option<()> {
    let form = Form::read(&call.command);
    let room_bytes = form.as_ref().map_or(1 << 16, |form| form.bytes_max);
    if room_bytes > ROOM_BYTES_MAX {
        return None;
    }
    let mut output = vec![UNTOUCHED; usize::try_from(room_bytes / 8).ok()?];
    let input = lines(&call.memory);
    let ended = nearscan_models::merge(&call.command, &input, &mut output, &AtomicU32::new(0));
    match ended {
        Ok(()) => {}
        Err(Error::OutOfRange | Error::OutputTooShort { .. }) => return None,
        Err(Error::Deadlock) => panic!("the processes of the merge kernel wait for each other"),
    }
    let result = result_in(&output);
    let header = ResultHeader::decode(&result).expect("checked before");
    if header.status != Status::Ok {
        return None;
    }
    let form = form.expect("a command that the kernel takes has all its sections");
    let view = ResultView::parse(&result, &form.widths).expect("a merged result is a result");
    assert!(header.rows_out <= header.rows_kept, "more rows than the inputs have");
    let inputs = form.inputs.iter().map(|(offset, length)| {
        let start = usize::try_from(*offset).ok()?;
        call.memory.get(start..start.checked_add(usize::try_from(*length).ok()?)?)
    });
    let inputs = inputs.map(|bytes| verdict(bytes?, &form.widths));
    let inputs: Vec<Verdict> = inputs.collect::<Option<_>>()?;
    form.compare(&view, &inputs);
    Some(())
}

/// The contents of an input; `None` if the host would refuse it.
fn verdict(bytes: &[u8], widths: &[Width]) -> Option<Verdict> {
    let view = ResultView::parse(bytes, widths).ok()?;
    let rows_kept = view.header.rows_kept;
    if view.header.status != Status::Ok || !holds_truth(&view, widths) {
        return None;
    }
    let rows = rows_of_any(&view, widths)?;
    Some(Verdict { rows: Some(rows), overflow_allowed: false, outside_allowed: false, rows_kept })
}

/// Whether truth values are 0 or 1, as all that writes results makes them.
fn holds_truth(view: &ResultView<'_>, widths: &[Width]) -> bool {
    let columns = view.blocks.iter().flat_map(|block| block.columns.iter().zip(widths));
    columns
        .filter(|(_, width)| **width == Width::Bool)
        .all(|(column, _)| column.values.iter().all(|byte| *byte <= 1))
}

/// The rows, unless something null holds more than nothing.
fn rows_of_any(view: &ResultView<'_>, widths: &[Width]) -> Option<Vec<Row>> {
    let is_zero = view.blocks.iter().all(|block| {
        block.columns.iter().all(|column| {
            (0..block.rows as usize).all(|row| {
                column.is_valid(row)
                    || column.number(row).unwrap_or(0) == 0
                        && column.string(row).is_none_or(<[u8]>::is_empty)
            })
        })
    });
    is_zero.then(|| rows(view, widths))
}

/// A merge in the form that a kernel reads, as far as a plain sort needs it.
struct Form {
    merge: Merge,
    widths: Vec<Width>,
    /// Offset and length of each.
    inputs: Vec<(u64, u64)>,
    part: u64,
    parts: u64,
    bytes_max: u64,
}

impl Form {
    /// Reads what the kernel reads; `None` for what is no such command.
    fn read(command: &[u8]) -> Option<Self> {
        let records = |kind, bytes| records_of(command, kind, bytes);
        let how = number(records(section::MERGE, 8)?.first()?, 0, 2)?;
        let key = |record: &&[u8]| {
            let flags = number(record, 2, 2)?;
            Some(SortKey {
                column: u16::try_from(number(record, 0, 2)?).ok()?,
                descending: flags & u64::from(sort::DESCENDING) != 0,
                nulls_first: flags & u64::from(sort::NULLS_FIRST) != 0,
            })
        };
        let keys = records(section::MERGE_KEYS, 8)?;
        let width =
            |record: &&[u8]| Width::from_code(u8::try_from(number(record, 2, 2)?).ok()?).ok();
        let widths = records(section::OUTPUT_COLUMNS, 8)?;
        let input = |record: &&[u8]| Some((number(record, 24, 8)?, number(record, 32, 8)?));
        let inputs = records(section::INPUTS, 64)?;
        let part = records(section::MERGE_PART, 8)?;
        let part =
            part.first().and_then(|record| Some((number(record, 0, 2)?, number(record, 2, 2)?)));
        let (part, parts) = part.unwrap_or((0, 1));
        Some(Self {
            merge: Merge {
                keys: keys.iter().map(key).collect::<Option<_>>()?,
                distinct: how & u64::from(merge_flags::DISTINCT) != 0,
            },
            widths: widths.iter().map(width).collect::<Option<_>>()?,
            inputs: inputs.iter().map(input).collect::<Option<_>>()?,
            part,
            parts,
            bytes_max: number(records(section::OUTPUT, 64)?.first()?, 24, 8)?,
        })
    }

    /// Holds the kernel's rows against those of a sort.
    fn compare(&self, view: &ResultView<'_>, inputs: &[Verdict]) {
        let sorted = evaluate_merge(&Merge { distinct: false, ..self.merge.clone() }, inputs);
        // An input that contradicts its order where this part does not look is another's to notice.
        let Some(all) = sorted.rows else {
            assert!(self.parts > 1, "the kernel has merged what is not sorted");
            return;
        };
        let total = all.len() as u64;
        assert_eq!(view.header.rows_kept, total, "rows of all inputs");
        let place = |part: u64| usize::try_from(total * part / self.parts).unwrap_or(usize::MAX);
        let (first, end) = (place(self.part), place(self.part + 1));
        let mut expected = all[first..end].to_vec();
        if self.merge.distinct {
            // All columns are keys, so rows that are equal in them are equal.
            let before = first.checked_sub(1).map(|before| &all[before]);
            let repeats = expected.iter().take_while(|row| Some(*row) == before).count();
            expected.drain(..repeats);
            expected.dedup();
        }
        let found = rows(view, &self.widths);
        assert!(found == expected, "the kernel has {found:?}, a sort gives {expected:?}");
    }
}

/// The records of a section, none if it is not there; `None` when it does not lie in the command.
fn records_of(command: &[u8], kind: u16, bytes: usize) -> Option<Vec<&[u8]>> {
    let count = number(command, 20, 2)?;
    for index in 0..usize::try_from(count).ok()? {
        let entry = command.get(128 + 16 * index..)?;
        if number(entry, 0, 2)? != u64::from(kind) {
            continue;
        }
        let records = usize::try_from(number(entry, 4, 4)?).ok()?;
        let offset = usize::try_from(number(entry, 8, 4)?).ok()?;
        let end = offset.checked_add(records.checked_mul(bytes)?)?;
        return Some(command.get(offset..end)?.chunks_exact(bytes).collect());
    }
    Some(Vec::new())
}

/// A number of up to 8 bytes, little endian.
fn number(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let mut whole = [0; 8];
    whole[..length].copy_from_slice(bytes.get(offset..)?.get(..length)?);
    Some(u64::from_le_bytes(whole))
}
