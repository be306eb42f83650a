// SPDX-License-Identifier: Apache-2.0
//! Opens the row groups of one partition in turn, and reads their column chunks.
//!
//! Chunks of later row groups that are not in the page cache are read ahead, while the scan
//! processes what it has: those columns that the row group before was read for. What is cached is
//! copied when it is needed, when it is not yet pushed out of the processor's cache.
//!
//! # Invariants
//! - A row group is handed out once, and not if statistics rule it out by then.
//! - Every buffer is charged to the memory pool of the query. If there is no room, nothing is read
//!   ahead.

use std::{
    collections::VecDeque, error::Error as StdError, fs, ops::Range, result::Result, sync::Arc,
};

use bytes::Bytes;
use datafusion::{
    execution::{
        TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_plan::metrics::Count,
};
use nearscan_command::Chunk;
use nearscan_drive::file_version;
use nearscan_io::{Buffers, Charge, Error, File, RangeRead};

use super::{
    prune::RowGroupPruner,
    share::Share,
    work::{Fused, FusedUnit},
};
use crate::{PushdownContext, reads::LocalReader, units::PlannedUnit};

/// Bytes that are read ahead at most, but for the last row group: a device gives them in a few
/// milliseconds, which is as long as a row group is processed.
const AHEAD_BYTES_MAX: u64 = 16 << 20;

/// Row groups that are read ahead at most.
const AHEAD_UNITS_MAX: usize = 16;

/// Row groups of its own that a partition leaves for others to take: what was read ahead cannot be
/// taken any more.
const LEFT_MIN: usize = 2;

/// Bytes of buffers that are kept for later chunks.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The row groups of one partition.
#[derive(Debug)]
pub(super) struct RowGroupReader {
    fused: Arc<Fused>,
    share: Share,
    pruner: RowGroupPruner,
    pruned: Count,
    /// None if there is no reader of local files: then DataFusion reads all.
    reader: Option<LocalReader>,
    buffers: Buffers,
    /// Row groups that are read ahead.
    ahead: VecDeque<OpenUnit>,
    /// The columns that the row group before was read for.
    columns_before: Vec<usize>,
    /// The columns that this row group was read for, so far.
    columns: Vec<usize>,
}

/// A row group that is being read.
#[derive(Debug)]
pub(super) struct OpenUnit {
    /// Its partition and its place there.
    pub(super) at: (usize, usize),
    /// None if the row group cannot be read here.
    file: Option<File>,
    /// Columns that are being read.
    reads: Vec<(usize, RangeRead)>,
    /// Columns that were found in the page cache, or begun to be read, before they were needed.
    looked_up: Vec<usize>,
    /// Bytes of `reads`.
    bytes: u64,
}

impl OpenUnit {
    /// Whether it can be read here.
    pub(super) const fn is_readable(&self) -> bool {
        self.file.is_some()
    }
}

impl RowGroupReader {
    /// The row groups that `share` gives.
    pub(super) fn new(
        fused: &Arc<Fused>,
        share: Share,
        pruner: RowGroupPruner,
        pruned: Count,
        task: &TaskContext,
    ) -> Self {
        let context = task.session_config().get_extension::<PushdownContext>();
        let consumer = MemoryConsumer::new("FusedScanExec chunks");
        let charge = PoolCharge(consumer.register(task.memory_pool()));
        Self {
            fused: Arc::clone(fused),
            share,
            pruner,
            pruned,
            reader: context.and_then(|context| context.reads.reader().ok()),
            buffers: Buffers::new(Arc::new(charge), KEPT_BYTES_MAX),
            ahead: VecDeque::new(),
            columns_before: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// The next row group; none at the end.
    pub(super) fn next(&mut self) -> Option<OpenUnit> {
        // A row group that was dropped was read for none.
        if !self.columns.is_empty() {
            std::mem::swap(&mut self.columns_before, &mut self.columns);
            self.columns.clear();
        }
        loop {
            if let Some(unit) = self.ahead.pop_front() {
                if !self.pruner.is_dynamic() || !self.rules_out(unit.at) {
                    return Some(unit);
                }
            } else {
                let at = self.share.next()?;
                if !self.rules_out(at) {
                    return Some(self.open(at));
                }
            }
        }
    }

    /// Reads columns of a row group; the bytes come in the order of the columns.
    ///
    /// # Errors
    /// [`Error::Memory`] if the query's memory pool has no room for them, and those of reads.
    pub(super) async fn read(
        &mut self,
        unit: &mut OpenUnit,
        columns: &[usize],
    ) -> Result<Vec<(usize, Bytes)>, Error> {
        // Before any read ahead, which must not take the memory that these need.
        for column in columns {
            self.begin(unit, *column)?;
        }
        self.columns.extend(columns);
        self.read_ahead();
        let mut read = Vec::with_capacity(columns.len());
        for column in columns {
            if let Some(index) = unit.reads.iter().position(|(of, _)| of == column) {
                let (_, bytes) = unit.reads.swap_remove(index);
                read.push((*column, bytes.await?));
            }
        }
        Ok(read)
    }

    /// Reads a range of the file of a row group.
    ///
    /// # Errors
    /// [`Error::Memory`] if the query's memory pool has no room for it, and those of reads.
    pub(super) async fn read_range(
        &self,
        unit: &OpenUnit,
        range: &Range<u64>,
    ) -> Result<Bytes, Error> {
        let (Some(local), Some(file)) = (&self.reader, &unit.file) else {
            return Err(Error::Closed);
        };
        local.reader.read_range(file, range, &self.buffers)?.await
    }

    /// Begins to read later row groups, as far as they are not in the page cache.
    fn read_ahead(&mut self) {
        let mut bytes = 0;
        for mut unit in std::mem::take(&mut self.ahead) {
            self.begin_ahead(&mut unit);
            bytes += unit.bytes;
            self.ahead.push_back(unit);
        }
        // Behind a row group that is in the page cache the others probably are too.
        while bytes < AHEAD_BYTES_MAX
            && self.ahead.len() < AHEAD_UNITS_MAX
            && self.ahead.back().is_none_or(|last| last.bytes > 0)
            && let Some(at) = self.share.next_of_own(LEFT_MIN)
        {
            if self.rules_out(at) {
                continue;
            }
            let mut unit = self.open(at);
            self.begin_ahead(&mut unit);
            bytes += unit.bytes;
            self.ahead.push_back(unit);
        }
    }

    /// Begins to read those columns of a later row group that are not in the page cache.
    fn begin_ahead(&self, unit: &mut OpenUnit) {
        for column in self.columns_before.iter().chain(&self.columns) {
            if unit.looked_up.contains(column) {
                continue;
            }
            unit.looked_up.push(*column);
            let range = self.unit(unit.at).and_then(|it| it.planned.chunks.get(*column)).map(range);
            let is_cold = |(file, range): (&File, &Range<u64>)| !file.is_cached(range);
            if unit.file.as_ref().zip(range.as_ref()).is_some_and(is_cold)
                && self.begin(unit, *column).is_err()
            {
                return;
            }
        }
    }

    /// Begins to read a column, if it is not being read yet.
    fn begin(&self, unit: &mut OpenUnit, column: usize) -> Result<(), Error> {
        if unit.reads.iter().any(|(of, _)| *of == column) {
            return Ok(());
        }
        let chunk = self.unit(unit.at).and_then(|it| it.planned.chunks.get(column));
        let (Some(LocalReader { reader, .. }), Some(file), Some(chunk)) =
            (&self.reader, &unit.file, chunk)
        else {
            return Err(Error::Closed);
        };
        let read = reader.read_range(file, &range(chunk), &self.buffers)?;
        unit.reads.push((column, read));
        unit.bytes += chunk.length;
        Ok(())
    }

    fn open(&self, at: (usize, usize)) -> OpenUnit {
        let planned = self.unit(at).map(|unit| &unit.planned).filter(|unit| unit.kept.is_none());
        let file = self.reader.as_ref().zip(planned).and_then(|(reader, unit)| open(reader, unit));
        OpenUnit { at, file, reads: Vec::new(), looked_up: Vec::new(), bytes: 0 }
    }

    /// Whether statistics rule a row group out; it is counted then.
    fn rules_out(&mut self, at: (usize, usize)) -> bool {
        let fused = Arc::clone(&self.fused);
        let is_ruled_out = fused.unit(at).is_some_and(|unit| self.pruner.rules_out(unit));
        if is_ruled_out {
            self.pruned.add(1);
        }
        is_ruled_out
    }

    fn unit(&self, at: (usize, usize)) -> Option<&FusedUnit> {
        self.fused.unit(at)
    }
}

/// The bytes of a chunk in its file.
fn range(chunk: &Chunk) -> Range<u64> {
    chunk.offset..chunk.offset.saturating_add(chunk.length)
}

/// Opens the file of a row group, if it is still the one that was planned.
fn open(reader: &LocalReader, unit: &PlannedUnit) -> Option<File> {
    let file = fs::File::open(&unit.file.path).ok()?;
    let version = file_version(&file.metadata().ok()?);
    let is_planned = version == unit.file.version;
    is_planned.then(|| reader.adopt(&unit.file.path, file, version.size_bytes))
}

/// Charges buffers to the memory pool of a query.
#[derive(Debug)]
struct PoolCharge(MemoryReservation);

impl Charge for PoolCharge {
    fn try_grow(&self, bytes: u64) -> Result<(), Box<dyn StdError + Send + Sync>> {
        Ok(self.0.try_grow(usize::try_from(bytes)?)?)
    }

    fn shrink(&self, bytes: u64) {
        self.0.shrink(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}
