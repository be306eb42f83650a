// SPDX-License-Identifier: Apache-2.0
//! Writes the rows of one side of a join to temporary files, by a hash of their keys.

use std::sync::Arc;

use arrow::{
    array::{RecordBatch, UInt32Array},
    compute::BatchCoalescer,
};
use datafusion::{
    common::hash_utils::{RandomState, create_hashes},
    error::Result,
    execution::{SendableRecordBatchStream, SpillFile},
    physical_expr::PhysicalExpr,
    physical_plan::SpillManager,
};
use futures::StreamExt;

/// Files into which rows are split at a time. Each has a buffer and an open file.
pub(super) const FILES: usize = 16;

/// Rows that are buffered for a file before they are written.
const BUFFERED_ROWS: usize = 1024;

/// Seeds of the hash of each split: of the rows of a side, of those of one file, and so on. Neither
/// is that of `RepartitionExec`, 0: its partitions would each go to some of the files only.
const SEEDS: [u64; 3] = [0x6772_6163_6531, 0x6772_6163_6532, 0x6772_6163_6533];

/// How often rows can be split.
pub(super) const DEPTH_MAX: usize = SEEDS.len();

/// Purpose of the files, for errors of whoever makes them.
const PURPOSE: &str = "GraceHashJoinExec";

/// Rows that were written.
#[derive(Clone, Default)]
pub(super) struct Spilled {
    /// None if there are no rows.
    pub(super) file: Option<Arc<dyn SpillFile>>,
    pub(super) rows: usize,
}

/// What is done with a file. DataFusion does not name the type of a file that is being written.
enum Step<'a> {
    Append(&'a RecordBatch),
    Finish,
}

type Writer = Box<dyn FnMut(Step<'_>) -> Result<Option<Arc<dyn SpillFile>>> + Send>;

/// A file that is being written, and the rows that are next.
struct Open {
    buffer: BatchCoalescer,
    /// None as long as nothing was written.
    writer: Option<Writer>,
    rows: usize,
}

/// Splits rows into [`FILES`] files.
pub(super) struct Splitter<'a> {
    keys: &'a [Arc<dyn PhysicalExpr>],
    seed: RandomState,
    files: Vec<Open>,
    manager: &'a SpillManager,
    hashes: Vec<u64>,
    /// The rows of a batch for each file.
    chosen: [Vec<u32>; FILES],
}

impl<'a> Splitter<'a> {
    /// Splits by these keys, for the time `depth`, which is less than [`DEPTH_MAX`].
    pub(super) fn new(
        manager: &'a SpillManager,
        keys: &'a [Arc<dyn PhysicalExpr>],
        depth: usize,
    ) -> Self {
        let open = || Open {
            buffer: BatchCoalescer::new(Arc::clone(manager.schema()), BUFFERED_ROWS),
            writer: None,
            rows: 0,
        };
        Self {
            keys,
            seed: RandomState::with_seed(SEEDS[depth]),
            files: std::iter::repeat_with(open).take(FILES).collect(),
            manager,
            hashes: Vec::new(),
            chosen: Default::default(),
        }
    }

    /// Adds the rows of a stream.
    pub(super) async fn add_all(&mut self, mut rows: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = rows.next().await {
            self.add(&batch?)?;
        }
        Ok(())
    }

    /// Adds rows.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.keys.iter().map(|key| key.evaluate(batch)?.into_array(rows));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        self.hashes.clear();
        self.hashes.resize(rows, 0);
        create_hashes(&keys, &self.seed, &mut self.hashes)?;
        self.chosen.iter_mut().for_each(Vec::clear);
        for (row, hash) in (0..).zip(&self.hashes) {
            self.chosen[file_of(*hash)].push(row);
        }
        for (file, chosen) in self.files.iter_mut().zip(&mut self.chosen) {
            if !chosen.is_empty() {
                file.rows += chosen.len();
                let rows = UInt32Array::from(std::mem::take(chosen));
                file.buffer.push_batch_with_indices(batch.clone(), &rows)?;
                file.write(self.manager)?;
            }
        }
        Ok(())
    }

    /// Writes what is buffered.
    pub(super) fn finish(self) -> Result<Vec<Spilled>> {
        let manager = self.manager;
        self.files.into_iter().map(|file| file.finish(manager)).collect()
    }
}

/// The file of a hash: its upper bits, which hash tables use least.
const fn file_of(hash: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "it is less than the number of files")]
    let file = (hash >> (u64::BITS - FILES.ilog2())) as usize;
    file
}

impl Open {
    /// Writes full batches.
    fn write(&mut self, manager: &SpillManager) -> Result<()> {
        while let Some(batch) = self.buffer.next_completed_batch() {
            if self.writer.is_none() {
                self.writer = Some(writer(manager)?);
            }
            if let Some(writer) = &mut self.writer {
                writer(Step::Append(&batch))?;
            }
        }
        Ok(())
    }

    fn finish(mut self, manager: &SpillManager) -> Result<Spilled> {
        self.buffer.finish_buffered_batch()?;
        self.write(manager)?;
        let file = match self.writer {
            Some(mut writer) => writer(Step::Finish)?,
            None => None,
        };
        Ok(Spilled { file, rows: self.rows })
    }
}

fn writer(manager: &SpillManager) -> Result<Writer> {
    let mut file = manager.create_in_progress_file(PURPOSE)?;
    Ok(Box::new(move |step| match step {
        Step::Append(batch) => file.append_batch(batch).map(|_| None),
        Step::Finish => file.finish(),
    }))
}
