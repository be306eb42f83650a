// SPDX-License-Identifier: Apache-2.0
//! Implements [`Scan`], which runs a [`ScanPlan`] over row groups.

use std::{collections::VecDeque, iter, ops::Range, sync::Arc};

use arrow::array::ArrayRef;
use bytes::Bytes;
use nearscan_command::{Chunk, Envelope, Output, ResultHeader, Status};

use super::{
    arrays::ColumnBuilder, batch::Batch, error::ScanError, plan::ScanPlan, predicate::Predicate,
};
use crate::{
    buffers::Buffers, chunk::ChunkReader, floats::AdditionOrder, groups::States, job::used_columns,
    program::Prepared, scope::Scope,
};

/// Rows of a batch: a column of numbers takes 64 KiB, so a handful of them stay in the second
/// cache.
const BATCH_ROWS: usize = 8192;

/// What a scan did last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It needs the bytes of some columns: [`Scan::needs`].
    NeedsBytes,
    /// It has processed a batch.
    Batch,
    /// All rows of the row group are processed.
    Done,
}

/// Runs a plan over row groups, one after the other.
#[derive(Debug)]
pub struct Scan {
    plan: Arc<ScanPlan>,
    predicate: Predicate,
    projection: Prepared,
    /// Which columns the projection or the output needs.
    is_output: Vec<bool>,
    /// Columns of which only definition levels are read.
    reads_only_levels: Vec<bool>,
    sink: Sink,
    readers: Vec<Option<ChunkReader>>,
    /// Rows that were skipped in columns without bytes.
    skipped: Vec<usize>,
    chunks: Vec<Chunk>,
    rows: u64,
    rows_done: u64,
    /// Where rows may be kept, from `rows_done` on.
    candidates: VecDeque<Range<u64>>,
    /// A batch whose predicate is evaluated, but whose output columns have no bytes yet.
    waiting: Option<Batch>,
    /// Of all row groups.
    rows_kept: u64,
    /// `rows_kept` before this row group.
    rows_kept_before: u64,
    pages_skipped: u64,
    buffers: Buffers,
}

#[derive(Debug)]
enum Sink {
    Rows { columns: Vec<usize>, builders: Vec<ColumnBuilder>, rows: usize },
    States(Option<Box<States>>),
}

impl Scan {
    /// A scan that has no row group yet.
    pub fn new(plan: Arc<ScanPlan>) -> Self {
        let is_output = used_columns(&plan.fragment);
        let sink = match plan.row_columns() {
            Some(columns) => {
                let builders =
                    columns.iter().map(|column| ColumnBuilder::new(&plan.types[*column]));
                Sink::Rows { builders: builders.collect(), columns, rows: 0 }
            }
            None => Sink::States(None),
        };
        Self {
            predicate: Predicate::new(&plan, is_output.clone()),
            projection: Prepared::new(&plan.fragment, &plan.fragment.projection),
            reads_only_levels: plan.columns_only_tested_for_null(&is_output),
            is_output,
            sink,
            readers: Vec::new(),
            skipped: Vec::new(),
            chunks: Vec::new(),
            rows: 0,
            rows_done: 0,
            candidates: VecDeque::new(),
            waiting: None,
            rows_kept: 0,
            rows_kept_before: 0,
            pages_skipped: 0,
            buffers: Buffers::default(),
            plan,
        }
    }

    /// Begins a row group of `rows` rows with these column chunks, in the order of the fragment's
    /// columns. Rows that earlier row groups have added to the output stay.
    ///
    /// `candidates` are the rows that the predicate may keep, as ranges that ascend and do not
    /// overlap; the others are skipped. `None` is all of them.
    pub fn open(&mut self, rows: u64, chunks: Vec<Chunk>, candidates: Option<Vec<Range<u64>>>) {
        self.predicate.next_row_group();
        self.projection.forget_dictionaries();
        self.readers = chunks.iter().map(|_| None).collect();
        self.skipped = vec![0; chunks.len()];
        self.chunks = chunks;
        self.rows = rows;
        self.rows_done = 0;
        self.candidates = match candidates {
            Some(ranges) => ranges.into(),
            None => iter::once(0..rows).collect(),
        };
        self.rows_kept_before = self.rows_kept;
        self.waiting = None;
        if let Sink::States(states) = &mut self.sink
            && let Output::States { keys, aggregates } = &self.plan.fragment.output
        {
            let new = States::new(keys, aggregates, AdditionOrder::Any, u64::MAX);
            *states = Some(Box::new(new));
        }
    }

    /// The columns whose bytes are needed to go on: at first those of the predicate, and the others
    /// once a row is kept.
    pub fn needs(&self) -> Vec<usize> {
        let mut needs: Vec<usize> = match self.waiting.is_some() || self.predicate.is_empty() {
            true => (0..self.chunks.len()).filter(|column| self.is_output[*column]).collect(),
            false => self.predicate.columns().collect(),
        };
        needs.sort_unstable();
        needs.dedup();
        needs.retain(|column| self.readers[*column].is_none());
        needs
    }

    /// Lets go of the chunks of the row group, of which no row is processed any more. Rows and
    /// states that are ready stay.
    pub fn close(&mut self) {
        self.readers.clear();
        self.chunks.clear();
        self.waiting = None;
        self.rows = self.rows_done;
    }

    /// The memory of pages.
    pub const fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Gives the bytes of a column chunk.
    pub fn give(&mut self, column: usize, bytes: Bytes) {
        let buffers = self.buffers.clone();
        let mut reader = ChunkReader::open(column, &self.chunks[column], bytes, self.rows, buffers);
        if self.reads_only_levels[column] {
            reader = reader.of_levels();
        }
        reader.skip(self.skipped[column]);
        self.readers[column] = Some(reader);
    }

    /// Rows of the row group that were processed.
    pub const fn rows_done(&self) -> u64 {
        self.rows_done
    }

    /// Rows that were kept, of all row groups.
    pub const fn rows_kept(&self) -> u64 {
        self.rows_kept
    }

    /// Takes the number of pages that were not decompressed, because no row of theirs was needed.
    pub const fn take_pages_skipped(&mut self) -> u64 {
        std::mem::replace(&mut self.pages_skipped, 0)
    }

    /// Rows in the output, if it consists of rows.
    pub const fn rows_ready(&self) -> usize {
        match &self.sink {
            Sink::Rows { rows, .. } => *rows,
            Sink::States(_) => 0,
        }
    }

    /// Processes the next batch.
    ///
    /// # Errors
    /// [`ScanError`]; the batch has then added nothing to rows, or all rows are done and something
    /// is wrong behind them. States are lost.
    pub fn advance(&mut self) -> Result<Progress, ScanError> {
        if self.rows_done == self.rows {
            return Ok(Progress::Done);
        }
        if !self.needs().is_empty() {
            return Ok(Progress::NeedsBytes);
        }
        let mut batch = match self.waiting.take() {
            Some(batch) => batch,
            None => {
                let rows = self.next_candidates();
                let mut batch = Batch::new(rows, self.chunks.len());
                if rows > 0 {
                    self.predicate.apply(&mut batch, &mut self.readers)?;
                }
                batch
            }
        };
        if batch.len() > 0 {
            let is_missing =
                |column: usize| self.is_output[column] && self.readers[column].is_none();
            if (0..self.chunks.len()).any(is_missing) {
                self.waiting = Some(batch);
                return Ok(Progress::NeedsBytes);
            }
            self.take(&mut batch)?;
        }
        batch.skip_others(&mut self.readers, &mut self.skipped);
        self.rows_done += batch.rows() as u64;
        if self.rows_done < self.rows {
            return Ok(Progress::Batch);
        }
        for reader in self.readers.iter_mut().flatten() {
            reader.check_rest()?;
            self.pages_skipped += reader.pages_skipped();
        }
        Ok(Progress::Done)
    }

    /// Skips rows up to the next one that may be kept; gives the rows of the batch from there on,
    /// none at the end of the row group.
    fn next_candidates(&mut self) -> usize {
        while self.candidates.front().is_some_and(|range| range.end <= self.rows_done) {
            self.candidates.pop_front();
        }
        let range = self.candidates.front().map_or(self.rows..self.rows, Range::clone);
        let start = range.start.clamp(self.rows_done, self.rows);
        let gap = usize::try_from(start - self.rows_done).unwrap_or(usize::MAX);
        if gap > 0 {
            let chunks = self.chunks.len();
            Batch::new(gap, chunks).skip_others(&mut self.readers, &mut self.skipped);
            self.rows_done = start;
        }
        let rows = range.end.min(self.rows).saturating_sub(start);
        usize::try_from(rows).unwrap_or(BATCH_ROWS).min(BATCH_ROWS)
    }

    /// Adds the rows of a batch to the output.
    fn take(&mut self, batch: &mut Batch) -> Result<(), ScanError> {
        for (column, reader) in self.readers.iter_mut().enumerate() {
            if let Some(reader) = reader.as_mut().filter(|_| self.is_output[column]) {
                batch.read(column, reader)?;
            }
        }
        let rows = batch.len();
        match &mut self.sink {
            Sink::Rows { columns, builders, rows: ready } => {
                let before = *ready;
                for (index, column) in columns.iter().enumerate() {
                    if let Err(error) = builders[index].append(&batch.columns()[*column], rows) {
                        builders[..=index].iter_mut().for_each(|builder| builder.truncate(before));
                        return Err(error);
                    }
                }
                *ready += rows;
            }
            Sink::States(states) => {
                let steps = self.projection.run(batch.columns(), rows)?;
                let literals = &self.plan.fragment.literals;
                let scope = Scope { columns: batch.columns(), steps: &steps, literals };
                if let Some(states) = states {
                    states.update(&scope, rows)?;
                }
            }
        }
        self.rows_kept += rows as u64;
        Ok(())
    }

    /// Takes the rows of the output, as columns in the order of the plan, and their number.
    ///
    /// # Errors
    /// If Arrow refuses an array.
    pub fn take_rows(&mut self) -> Result<(Vec<ArrayRef>, usize), ScanError> {
        match &mut self.sink {
            Sink::Rows { builders, rows, .. } => {
                let arrays = builders.iter_mut().map(ColumnBuilder::finish);
                Ok((arrays.collect::<Result<_, _>>()?, std::mem::take(rows)))
            }
            Sink::States(_) => Ok((Vec::new(), 0)),
        }
    }

    /// Takes the states of the row group, as a result of the command format.
    ///
    /// # Errors
    /// [`Status::Overflow`] if a state does not fit its width.
    pub fn take_states(&mut self) -> Result<Vec<u8>, ScanError> {
        let Sink::States(states) = &mut self.sink else { return Ok(Vec::new()) };
        let Some(states) = states.take() else { return Ok(Vec::new()) };
        let header = ResultHeader {
            rows_in: self.rows,
            rows_kept: self.rows_kept - self.rows_kept_before,
            continuation_row: self.rows,
            ..ResultHeader::failed(&Envelope::default(), Status::Ok)
        };
        Ok(states.finish(&self.plan.fragment, header)?)
    }
}
