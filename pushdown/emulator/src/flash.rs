// SPDX-License-Identifier: Apache-2.0
//! Models read disturb: it counts the reads of each block of flash, and reports blocks that are
//! read so often that their data have to be relocated.
//!
//! A read of a page disturbs the other pages of its block a little. A controller counts the reads
//! of each block since it was programmed, and copies the data elsewhere before too many have
//! happened, after which the counter starts anew. Here that are two events at a time: `hot-block`,
//! and `garbage-collection` with the bytes that are relocated.
//!
//! Each file begins on a block of its own and is contiguous: block *i* of a file has the
//! bytes from *i* times [`block_bytes`] on. Blocks are numbered as the translation layer shows
//! them, so a relocation does not change a block's number. A span of a command reads each of its
//! pages once. A new version of a file is on fresh blocks.
//!
//! # What this module does not do
//!
//! It moves no byte and charges no time for a relocation, keeps neither spare blocks nor erase
//! counts, and does not spread a file over the dies of the drive. Writes are not modelled, so no
//! block is collected for its invalid pages. Counters begin with 0 when the drive is opened.
//!
//! # Invariants
//!
//! - Which events there are is a function of the commands that have read and of the threshold: of
//!   commands that run at the same time the order does not matter, because the reads of a request
//!   beyond the threshold count for the relocated block. Only the order of the events of different
//!   blocks is that of the reads.
//! - Only blocks that were read have a counter, and those of a file that is gone are forgotten: as
//!   soon as there are as many files with counters as 4,096, or twice as many as were
//!   left the last time.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use nearscan_command::{Span, Version};
use nearscan_drive::{FileTable, FlashEvent, FlashEventKind, FlashLog};

use crate::timing::{Parameter, Source};

/// Bytes of a page, the unit of a read.
pub const PAGE_BYTES: u64 = 16 << 10;

/// Pages of a block, the unit of an erasure and of a relocation.
pub const BLOCK_PAGES: u64 = 768;

/// Reads of a block's pages at which it is relocated, unless the drive's URL says otherwise.
/// From the System Architecture guide of QNX Neutrino, on read degradation in its ETFS: most
/// devices support about 100,000 reads before a bit may be lost.
pub const HOT_BLOCK_READS: u32 = 100_000;

/// Events that a drive keeps for its readers.
pub const EVENTS_MAX: usize = 4096;

/// Files with counters among which those that are gone are looked for first, as in the table of
/// files: each is looked at twice on average.
const GONE_AMONG_MIN: usize = 4096;

/// Bits of a block's number that count the blocks of one file; the bits above are the file.
const FILE_BITS: u32 = 32;

/// Bytes of a block.
#[must_use]
pub const fn block_bytes() -> u64 {
    PAGE_BYTES * BLOCK_PAGES
}

/// The numbers of this model with their sources; none of them changes a time.
#[must_use]
pub fn parameters() -> [Parameter; 3] {
    let row = |name, value, source, meaning| Parameter { name, value, source, meaning };
    [
        row(
            "flash_page_bytes",
            PAGE_BYTES as f64,
            Source::Assumed,
            "Bytes of a page of flash, as TLC NAND with 64 layers commonly has it.",
        ),
        row(
            "flash_block_pages",
            BLOCK_PAGES as f64,
            Source::Assumed,
            "Pages of a block: 64 layers of 4 strings with 3 bits a cell.",
        ),
        row(
            "hot_block_reads",
            f64::from(HOT_BLOCK_READS),
            Source::Published,
            "Reads of a block's pages until it is relocated: what the manual of QNX's ETFS says \
             most devices stand. 0: reads are not counted.",
        ),
    ]
}

/// The blocks of a drive's flash that were read, and their events.
#[derive(Debug)]
pub(crate) struct Flash {
    hot_block_reads: u64,
    files: Mutex<Files>,
    log: FlashLog,
}

/// The files of which blocks were read.
#[derive(Debug)]
struct Files {
    by_number: HashMap<u64, Blocks>,
    /// As soon as there are so many, those that are gone are forgotten.
    full: usize,
}

/// Blocks of one version of a file.
#[derive(Debug)]
struct Blocks {
    version: Version,
    /// Reads since the block was programmed, by its place in the file.
    reads: HashMap<u64, u64>,
}

impl Default for Files {
    fn default() -> Self {
        Self { by_number: HashMap::new(), full: GONE_AMONG_MIN }
    }
}

impl Files {
    /// The counters of a version of a file.
    fn blocks(&mut self, table: &FileTable, file_id: u64, version: Version) -> &mut Blocks {
        if !self.by_number.contains_key(&file_id) && self.by_number.len() >= self.full {
            let is_there = |file_id| table.path(file_id).is_some_and(|path| path.exists());
            self.by_number.retain(|file_id, _| is_there(*file_id));
            self.full = GONE_AMONG_MIN.max(2 * self.by_number.len());
        }
        let fresh = || Blocks { version, reads: HashMap::new() };
        let blocks = self.by_number.entry(file_id).or_insert_with(fresh);
        if blocks.version != version {
            *blocks = fresh();
        }
        blocks
    }
}

impl Flash {
    /// Flash whose blocks are relocated after so many reads; with 0 never.
    pub(crate) fn new(hot_block_reads: u32) -> Self {
        Self {
            hot_block_reads: hot_block_reads.into(),
            files: Mutex::default(),
            log: FlashLog::new(EVENTS_MAX),
        }
    }

    /// The events with numbers above `after`.
    pub(crate) fn events(&self, after: u64) -> Vec<FlashEvent> {
        self.log.after(after)
    }

    /// Counts the reads of a span that the media have read.
    pub(crate) fn count(&self, table: &FileTable, span: &Span) {
        if self.hot_block_reads == 0 {
            return;
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = files.blocks(table, span.file_id, span.version);
        let end = span.offset.saturating_add(span.length).div_ceil(PAGE_BYTES);
        let mut page = span.offset / PAGE_BYTES;
        while page < end {
            let block = page / BLOCK_PAGES;
            let behind = end.min((block + 1) * BLOCK_PAGES);
            let reads = blocks.reads.entry(block).or_default();
            let total = *reads + (behind - page);
            *reads = total % self.hot_block_reads;
            for _ in 0..total / self.hot_block_reads {
                self.relocate(table, span, block);
            }
            page = behind;
        }
    }

    /// Reports that a block was hot and that its data were relocated.
    fn relocate(&self, table: &FileTable, span: &Span, block: u64) {
        let offset = block * block_bytes();
        let bytes = block_bytes().min(span.version.size_bytes.saturating_sub(offset));
        let path = table.path(span.file_id).unwrap_or_default();
        let (file, reads): (Arc<Path>, _) = (path.into(), self.hot_block_reads);
        let number = (span.file_id << FILE_BITS) | block;
        self.log.record([
            (number, FlashEventKind::HotBlock { file, offset, bytes, reads }),
            (number, FlashEventKind::GarbageCollection { bytes }),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use nearscan_drive::{FileRef, Placement};

    use super::*;

    const BLOCKS: u64 = 3;

    fn span(file_id: u64, offset: u64, length: u64) -> Span {
        // The last block is not full.
        let version = Version { size_bytes: BLOCKS * block_bytes() - 4096, stamp: 1 };
        Span { file_id, version, offset, length, place: 0 }
    }

    fn page_of(file_id: u64, block: u64) -> Span {
        span(file_id, block * block_bytes(), PAGE_BYTES)
    }

    /// Block, offset, bytes and reads of the hot blocks, in the order of their events.
    fn hot(flash: &Flash) -> Vec<(u64, u64, u64, u64)> {
        let hot = flash.events(0).into_iter().filter_map(|event| match event.kind {
            FlashEventKind::HotBlock { offset, bytes, reads, .. } => {
                Some((event.block, offset, bytes, reads))
            }
            FlashEventKind::GarbageCollection { .. } => None,
        });
        hot.collect()
    }

    fn count(flash: &Flash, span: Span, times: u32) {
        let table = FileTable::default();
        (0..times).for_each(|_| flash.count(&table, &span));
    }

    #[test]
    fn block_is_hot_at_the_threshold_and_counted_anew() {
        let flash = Flash::new(10);
        count(&flash, page_of(0, 1), 9);
        assert_eq!(hot(&flash), []);
        count(&flash, page_of(0, 1), 1);
        let event = (1, block_bytes(), block_bytes(), 10);
        assert_eq!(hot(&flash), [event]);
        count(&flash, page_of(0, 1), 9);
        assert_eq!(hot(&flash), [event]);
        count(&flash, page_of(0, 1), 1);
        assert_eq!(hot(&flash), [event, event]);
    }

    #[test]
    fn hot_block_is_relocated_at_once() {
        let flash = Flash::new(1);
        count(&flash, page_of(2, 2), 1);
        let events = flash.events(0);
        let block = (2 << FILE_BITS) | 2;
        assert_eq!(events.iter().map(|event| event.block).collect::<Vec<_>>(), [block; 2]);
        // The file ends 4096 bytes before the block does.
        let collected = FlashEventKind::GarbageCollection { bytes: block_bytes() - 4096 };
        assert_eq!((events[1].number, &events[1].kind), (2, &collected));
    }

    #[test]
    fn span_counts_for_each_block_the_pages_that_it_touches() {
        // Two pages of block 0, all of block 1, and one of block 2.
        let around = span(0, block_bytes() - PAGE_BYTES - 1, PAGE_BYTES + block_bytes() + 2);
        let reads = |threshold| {
            let flash = Flash::new(threshold);
            count(&flash, around, 1);
            hot(&flash).iter().map(|(block, ..)| *block).collect::<Vec<_>>()
        };
        assert_eq!(reads(2), [vec![0], vec![1; 384]].concat());
        assert_eq!(reads(768), [1]);
        assert_eq!(reads(769), [0u64; 0]);
        assert_eq!(reads(1), [vec![0; 2], vec![1; 768], vec![2]].concat());
    }

    #[test]
    fn blocks_of_files_are_counted_apart() {
        let flash = Flash::new(3);
        for file in 0..2 {
            count(&flash, page_of(file, 0), 2);
        }
        assert_eq!(hot(&flash), []);
        count(&flash, page_of(1, 0), 1);
        assert_eq!(hot(&flash), [(1 << FILE_BITS, 0, block_bytes(), 3)]);
    }

    #[test]
    fn new_version_of_a_file_is_on_fresh_blocks() {
        let flash = Flash::new(3);
        count(&flash, page_of(0, 0), 2);
        let version = Version { stamp: 2, ..page_of(0, 0).version };
        let rewritten = Span { version, ..page_of(0, 0) };
        count(&flash, rewritten, 2);
        assert_eq!(hot(&flash), []);
        count(&flash, rewritten, 1);
        assert_eq!(hot(&flash).len(), 1);
    }

    #[test]
    fn events_are_the_same_in_whatever_order_the_reads_come() {
        let wide = span(0, 5, block_bytes());
        let mut spans: Vec<Span> = (0..100).map(|number| page_of(number % 2, 0)).collect();
        spans.extend([wide; 7]);
        let seen = |spans: &[Span]| {
            let flash = Flash::new(50);
            spans.iter().for_each(|span| count(&flash, *span, 1));
            let mut hot = hot(&flash);
            hot.sort_unstable();
            hot
        };
        let first = seen(&spans);
        spans.reverse();
        assert_eq!(seen(&spans), first);
        // 7 * 768 + 50 of block 0, 7 of block 1, 50 of the other file.
        assert_eq!(first.len(), 108 + 1);
    }

    #[test]
    fn log_keeps_the_latest_events() {
        let flash = Flash::new(1);
        count(&flash, page_of(0, 0), 4000);
        let events = flash.events(0);
        assert_eq!((events.len(), events[0].number), (EVENTS_MAX, 8001 - EVENTS_MAX as u64));
    }

    #[test]
    fn counters_of_files_that_are_gone_are_forgotten_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let table = FileTable::default();
        let place = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, name).unwrap();
            let file = FileRef::local(path.clone(), page_of(0, 0).version);
            let Placement::Here { file_id } = table.locate(&file) else { panic!("{name}") };
            (file_id, path)
        };
        let ((kept, _), (removed, path)) = (place("kept"), place("removed"));
        let flash = Flash::new(3);
        for file in [kept, kept, removed, removed] {
            flash.count(&table, &page_of(file, 0));
        }
        std::fs::remove_file(path).unwrap();
        // Numbers that the table has forgotten.
        for file in (100..).take(3 * GONE_AMONG_MIN) {
            flash.count(&table, &page_of(file, 0));
            assert!(flash.files.lock().unwrap().by_number.len() <= GONE_AMONG_MIN);
        }
        assert!(!flash.files.lock().unwrap().by_number.contains_key(&removed));
        flash.count(&table, &page_of(kept, 0));
        assert_eq!(hot(&flash), [(kept << FILE_BITS, 0, block_bytes(), 3)]);
    }

    #[test]
    fn nothing_is_counted_without_a_threshold() {
        let flash = Flash::new(0);
        count(&flash, page_of(0, 0), 100);
        assert!(flash.files.lock().unwrap().by_number.is_empty());
        assert_eq!(flash.events(0), []);
    }

    #[test]
    fn span_at_the_end_of_all_offsets_is_counted_without_overflow() {
        let flash = Flash::new(1);
        count(&flash, span(u64::MAX, u64::MAX - 10, u64::MAX), 1);
        count(&flash, span(0, 0, 0), 1);
        let block = u64::MAX / block_bytes();
        let number = (u64::MAX << FILE_BITS) | block;
        assert_eq!(hot(&flash), [(number, block * block_bytes(), 0, 1)]);
    }
}
