// SPDX-License-Identifier: Apache-2.0
//! Merges the blocks of all collectors, some partitions at a time.
//!
//! Partitions with few rows are merged together with the next. If the memory for the groups of such
//! a range is refused, it is merged in shares, each by a pass over all of its rows: half of the
//! groups, or a quarter, and so on. A share that was returned stays so.

use std::{ops::Range, sync::Arc};

use crate::{
    block::Block,
    error::{Error, Result},
    keys::Kind,
    merging::{Groups, Merging, Share, merging},
    shape::Shape,
    spill::Spilled,
};

/// Rows that are merged in a step, about: some tenths of a millisecond.
const STEP_ROWS: usize = 1 << 13;

/// The blocks of all collectors, of which each partition of the output takes its rows.
#[derive(Debug)]
pub struct Blocks {
    shape: Arc<Shape>,
    kind: Kind,
    blocks: Vec<Block>,
    spilled: Vec<Spilled>,
    /// Rows of each partition, `[partitions]`.
    rows: Vec<usize>,
}

impl Blocks {
    /// Blocks in memory, and in files.
    #[must_use]
    pub fn new(shape: Arc<Shape>, blocks: Vec<Block>, spilled: Vec<Spilled>) -> Self {
        let kinds = blocks.iter().map(|block| block.keys.kind());
        let kind = kinds.chain(spilled.iter().map(Spilled::kind)).max().unwrap_or(Kind::Word);
        let rows_of = |partition: usize| {
            let partitions = || partition..partition + 1;
            let in_memory = blocks.iter().map(|block| block.rows_of(partitions()).len());
            let in_files = spilled.iter().map(|spilled| spilled.rows_of(partitions()));
            in_memory.chain(in_files).sum()
        };
        let rows = (0..shape.partitions()).map(rows_of).collect();
        Self { shape, kind, blocks, spilled, rows }
    }

    /// The partitions of a partition of the output.
    fn partitions_of(&self, output: usize) -> Range<usize> {
        let radix = self.shape.radix();
        output * radix..(output + 1) * radix
    }

    /// The partitions that are merged next: until there are enough rows.
    fn next_range(&self, left: &Range<usize>) -> Range<usize> {
        let mut rows = 0;
        let mut end = left.start;
        while end < left.end && rows < self.shape.limits.merged_rows {
            rows += self.rows[end];
            end += 1;
        }
        left.start..end
    }
}

/// What a merger did.
#[derive(Debug)]
pub enum Step {
    /// It has merged some rows.
    Rows,
    /// These groups are complete.
    Groups(Groups),
    /// Nothing is left.
    Done,
}

/// Merges the blocks of one partition of the output.
#[derive(Debug)]
pub struct Merger {
    blocks: Arc<Blocks>,
    /// Partitions that are still to be merged.
    left: Range<usize>,
    /// The share of the next groups.
    share: Share,
    current: Option<Current>,
}

/// A range of partitions that is being merged.
#[derive(Debug)]
struct Current {
    partitions: Range<usize>,
    merging: Box<dyn Merging>,
    /// Blocks in memory that were merged.
    blocks: usize,
    /// Files of which all sections were merged, and sections of the next.
    files: usize,
    sections: usize,
}

impl Merger {
    /// Merges the blocks of a partition of the output.
    #[must_use]
    pub fn new(blocks: Arc<Blocks>, output: usize) -> Self {
        let left = blocks.partitions_of(output);
        Self { blocks, left, share: Share::ALL, current: None }
    }

    /// Merges some rows. `may_hold` is asked whether so many bytes may be held from now on, for
    /// groups and what is read of a file; the groups that were returned before do not count.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even the smallest share of a range may be held, and those of
    /// reading files.
    pub fn step(&mut self, may_hold: &mut dyn FnMut(usize) -> bool) -> Result<Step> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => {
                let partitions = self.blocks.next_range(&self.left);
                if partitions.is_empty() {
                    return Ok(Step::Done);
                }
                let merging = merging(&self.blocks.shape, self.blocks.kind);
                Current { partitions, merging, blocks: 0, files: 0, sections: 0 }
            }
        };
        let mut rows = 0;
        while rows < STEP_ROWS {
            match self.merge_next(&mut current, may_hold)? {
                Merged::Rows(count) => rows += count,
                Merged::Refused { bytes } => {
                    self.share = self.share.first_half().ok_or(Error::Memory { bytes })?;
                    return Ok(Step::Rows);
                }
                Merged::All => {
                    match self.share.next() {
                        Some(share) => self.share = share,
                        None => {
                            self.left.start = current.partitions.end;
                            self.share = self.share.restarted();
                        }
                    }
                    return Ok(Step::Groups(Groups::new(&self.blocks.shape, current.merging)));
                }
            }
        }
        self.current = Some(current);
        Ok(Step::Rows)
    }

    /// Merges the rows of the next block or section.
    fn merge_next(
        &self,
        current: &mut Current,
        may_hold: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Merged> {
        let Blocks { shape, blocks, spilled, .. } = &*self.blocks;
        let partitions = current.partitions.clone();
        let rows = if let Some(block) = blocks.get(current.blocks) {
            current.blocks += 1;
            let rows = block.rows_of(partitions);
            current.merging.add(shape, block, rows.clone(), self.share);
            rows.len()
        } else if let Some(file) = spilled.get(current.files) {
            let Some(section) = file.sections_of(partitions).get(current.sections) else {
                (current.files, current.sections) = (current.files + 1, 0);
                return Ok(Merged::Rows(0));
            };
            current.sections += 1;
            // The bytes, and what they are decoded to.
            let bytes = current.merging.memory_bytes() + 2 * section.bytes;
            if !may_hold(bytes) {
                return Ok(Merged::Refused { bytes });
            }
            let block = file.read(shape, section)?;
            let rows = block.rows();
            current.merging.add(shape, &block, rows.clone(), self.share);
            rows.len()
        } else {
            return Ok(Merged::All);
        };
        let bytes = current.merging.memory_bytes();
        Ok(match may_hold(bytes) {
            true => Merged::Rows(rows),
            false => Merged::Refused { bytes },
        })
    }
}

/// What came of a block or section.
enum Merged {
    /// So many rows were merged.
    Rows(usize),
    /// The memory was refused.
    Refused { bytes: usize },
    /// There was none.
    All,
}
