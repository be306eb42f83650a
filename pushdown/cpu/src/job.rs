// SPDX-License-Identifier: Apache-2.0
//! Runs one command, from its chunks to its result.

use std::{fs::File, io, os::unix::fs::FileExt, time::Duration};

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::{
    Aggregate, Command, Counters, Fragment, InputRef, Operand, Output, ResultHeader, Status,
};
use nearscan_drive::{CancelWord, Failure, FileTable, clock::Stopwatch};

use crate::{
    buffers::Buffers, chunk::ChunkReader, error::Stop, floats::AdditionOrder, groups::States,
    key_set::KeySet, program::Prepared, rows::RowOutput, scope::Scope, selection::Selection,
    shared::Memory, values::intersect, vector::Vector,
};

/// Rows of a batch: a column of numbers takes 64 KiB, so a handful of them stay in the second
/// cache.
const BATCH_ROWS: usize = 8192;

/// The cancellation and the timeout of a job.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) cancel: CancelWord,
    pub(crate) since: Stopwatch,
    pub(crate) timeout: Duration,
}

impl Limits {
    /// # Errors
    /// [`Failure::Cancelled`] and [`Failure::Timeout`].
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_set() {
            return Err(Failure::Cancelled.into());
        }
        if self.since.elapsed() > self.timeout {
            return Err(Failure::Timeout.into());
        }
        Ok(())
    }
}

/// Runs a command; gives the bytes of its result. `media_bytes` counts what was read, whatever the
/// end.
///
/// # Errors
/// The reason why there is no result with rows.
pub(crate) fn run(
    command: &Command,
    files: &FileTable,
    memory: &Memory,
    limits: &Limits,
    media_bytes: &mut u64,
) -> Result<Vec<u8>, Stop> {
    limits.check()?;
    let mut readers = open_chunks(command, files, memory, limits, media_bytes)?;
    let fragment = &command.fragment;
    let mut work = Work::new(command);
    let mut left = command.unit.rows;
    while left > 0 && !work.is_done() {
        limits.check()?;
        let rows = usize::try_from(left).unwrap_or(BATCH_ROWS).min(BATCH_ROWS);
        let columns = readers.iter_mut().map(|reader| reader.read(rows));
        let columns: Vec<Vector> = columns.collect::<Result<_, _>>()?;
        work.batch(fragment, columns, rows)?;
        left -= rows as u64;
    }
    if left == 0 {
        readers.into_iter().try_for_each(ChunkReader::finish)?;
    }
    let bytes = work.finish(command)?;
    if bytes.len() as u64 > command.output.bytes_max() {
        return Err(Stop::status(Status::OutputFull));
    }
    Ok(bytes)
}

/// Reads every chunk of the unit and opens it.
fn open_chunks(
    command: &Command,
    files: &FileTable,
    memory: &Memory,
    limits: &Limits,
    media_bytes: &mut u64,
) -> Result<Vec<ChunkReader>, Stop> {
    let unit = &command.unit;
    let mut readers = Vec::with_capacity(unit.chunks.len());
    for (column, chunk) in unit.chunks.iter().enumerate() {
        limits.check()?;
        let Some(InputRef::FileRange { file_id, version, offset, .. }) =
            unit.inputs.get(usize::from(chunk.input))
        else {
            // Leases, objects, blocks and outputs of other commands are not a file on the host.
            return Err(Stop::status(Status::Unsupported));
        };
        let file = files.open(*file_id, *version)?;
        let from = offset.saturating_add(chunk.offset);
        let bytes = file.read(|file| read_range(file, from, chunk.length, &memory.chunks))?;
        *media_bytes += chunk.length;
        readers.push(ChunkReader::open(column, chunk, bytes, unit.rows, memory.pages.clone()));
    }
    Ok(readers)
}

/// Reads bytes of a file, and allocates memory only if the file has them.
fn read_range(file: &File, from: u64, length: u64, buffers: &Buffers) -> io::Result<Bytes> {
    let size = file.metadata()?.len();
    if from.checked_add(length).is_none_or(|end| end > size) {
        let reason = format!("{length} bytes from {from} of a file of {size}");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
    }
    let mut buffer = buffers.take(usize::try_from(length).map_err(io::Error::other)?);
    file.read_exact_at(buffer.bytes_mut(), from)?;
    Ok(buffer.freeze())
}

/// The state that is kept between batches.
struct Work<'a> {
    predicate: Prepared,
    projection: Prepared,
    /// The key filters, each with its column.
    keys: Vec<(usize, KeySet)>,
    /// Which columns are looked at after the predicate.
    is_used: Vec<bool>,
    sink: Sink<'a>,
    rows_kept: u64,
    counters: Counters,
}

enum Sink<'a> {
    States(States),
    Rows(RowOutput<'a>),
}

impl<'a> Work<'a> {
    fn new(command: &'a Command) -> Self {
        let fragment = &command.fragment;
        let bytes_max = command.output.bytes_max();
        Self {
            predicate: Prepared::new(fragment, &fragment.predicate),
            projection: Prepared::new(fragment, &fragment.projection),
            keys: key_sets(fragment),
            is_used: used_columns(fragment),
            sink: match &fragment.output {
                Output::States { keys, aggregates } => {
                    Sink::States(States::new(keys, aggregates, AdditionOrder::OfRows, bytes_max))
                }
                Output::Rows { columns, limit, top } => {
                    Sink::Rows(RowOutput::new(columns, *limit, *top, bytes_max, command.form))
                }
            },
            rows_kept: 0,
            counters: Counters::default(),
        }
    }

    fn is_done(&self) -> bool {
        match &self.sink {
            Sink::States(_) => false,
            Sink::Rows(output) => output.is_full(),
        }
    }

    fn batch(
        &mut self,
        fragment: &Fragment,
        columns: Vec<Vector>,
        rows: usize,
    ) -> Result<(), Stop> {
        self.counters.values_decoded += (columns.len() * rows) as u64;
        let (columns, rows) = self.keep(columns, rows)?;
        if rows == 0 {
            return Ok(());
        }
        let steps = self.projection.run(&columns, rows)?;
        if !self.projection.is_empty() {
            self.counters.rows_projected += rows as u64;
        }
        let scope = Scope { columns: &columns, steps: &steps, literals: &fragment.literals };
        match &mut self.sink {
            Sink::States(states) => states.update(&scope, rows),
            Sink::Rows(output) => output.update(&scope, rows),
        }
    }

    /// The rows that the predicate and the key filters keep: as they are when these are all, else
    /// gathered.
    fn keep(&mut self, columns: Vec<Vector>, rows: usize) -> Result<(Vec<Vector>, usize), Stop> {
        let wanted = match &self.sink {
            Sink::States(_) => usize::MAX,
            Sink::Rows(output) => usize::try_from(output.rows_left()).unwrap_or(usize::MAX),
        };
        let mut selection = None;
        match self.verdict(&columns, rows)? {
            Some(is_kept) => {
                let kept = is_kept.count_set_bits();
                self.rows_kept += kept as u64;
                if kept < rows {
                    selection = Some(Selection::of(&is_kept, kept, wanted));
                }
            }
            None => self.rows_kept += rows as u64,
        }
        if selection.is_none() && wanted < rows {
            selection = Some(Selection::first(wanted));
        }
        let Some(selection) = selection else {
            return Ok((columns, rows));
        };
        let gathered = columns.iter().zip(&self.is_used).map(|(column, is_used)| match is_used {
            true => column.gather(&selection),
            false => Vector::Unused,
        });
        Ok((gathered.collect(), selection.len()))
    }

    /// Which rows are kept; `None` when nothing decides about them.
    fn verdict(&mut self, columns: &[Vector], rows: usize) -> Result<Option<BooleanBuffer>, Stop> {
        let mut is_kept = None;
        if !self.predicate.is_empty() {
            self.counters.rows_filtered += rows as u64;
            if let Some(Vector::Truth(verdict)) = self.predicate.run(columns, rows)?.pop() {
                is_kept = Some(verdict.is_true);
            }
        }
        for (column, keys) in &self.keys {
            if let Some(column) = columns.get(*column) {
                is_kept = intersect(is_kept.as_ref(), Some(&keys.passes(column, rows)));
            }
        }
        Ok(is_kept)
    }

    fn finish(self, command: &Command) -> Result<Vec<u8>, Stop> {
        let header = ResultHeader {
            rows_in: command.unit.rows,
            rows_kept: self.rows_kept,
            continuation_row: command.unit.rows,
            counters: self.counters,
            ..ResultHeader::failed(&command.envelope, Status::Ok)
        };
        match self.sink {
            Sink::States(states) => states.finish(&command.fragment, header),
            Sink::Rows(output) => Ok(output.finish(header)),
        }
    }
}

/// The sets of a fragment's key filters, each with its column.
fn key_sets(fragment: &Fragment) -> Vec<(usize, KeySet)> {
    let filters = fragment.key_filters.iter();
    filters.map(|filter| (usize::from(filter.column), KeySet::of(filter))).collect()
}

/// Which columns the projection, the slots, the keys or the output refer to.
pub(crate) fn used_columns(fragment: &Fragment) -> Vec<bool> {
    let mut is_used = vec![false; fragment.columns.len()];
    let mut mark = |column: u16| {
        if let Some(slot) = is_used.get_mut(usize::from(column)) {
            *slot = true;
        }
    };
    let mut operand = |operand: Operand| match operand {
        Operand::Column(column) => mark(column),
        Operand::Test(test) => {
            if let Some(test) = fragment.tests.get(usize::from(test)) {
                mark(test.column);
            }
        }
        Operand::Step(_) | Operand::Literal(_) | Operand::Null | Operand::None => {}
    };
    for step in &fragment.projection.steps {
        [step.a, step.b, step.c].into_iter().for_each(&mut operand);
    }
    match &fragment.output {
        Output::States { keys, aggregates } => {
            aggregates.iter().for_each(|slot: &Aggregate| operand(slot.operand));
            keys.iter().for_each(|key| operand(key.operand));
        }
        Output::Rows { columns, top, .. } => {
            columns.iter().for_each(|column| operand(column.operand));
            top.iter().for_each(|top| operand(top.operand));
        }
    }
    is_used
}
