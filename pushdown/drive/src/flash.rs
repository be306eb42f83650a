// SPDX-License-Identifier: Apache-2.0
//! Describes events of a drive's flash, and keeps the latest of them for readers.
//!
//! A drive numbers its events from 1 when it is opened. It keeps a bounded number of them in a
//! [`FlashLog`], and any number of readers poll it, each with the number of the last event that it
//! has seen.
//!
//! # What this module does not do
//!
//! Events have no time: an emulated drive has no clock, and its modelled time belongs to commands.
//! They are not durable: whoever needs them for longer stores them.
//!
//! # Invariants
//!
//! - Numbers have no gap, and an event keeps its number. So a reader whose next event is not the
//!   one behind its last knows how many were dropped in between.
//! - Neither a slow reader nor none makes the log longer.

use std::{
    collections::VecDeque,
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// An event of the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlashEvent {
    /// Its number: 1 for the first event after the drive was opened, and one more for each.
    pub number: u64,
    /// The number of the block of flash, unique within the drive. It stays the same when the data
    /// are relocated: it counts blocks as the flash translation layer shows them.
    pub block: u64,
    /// What happened to the block.
    pub kind: FlashEventKind,
}

/// What happened to a block of flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlashEventKind {
    /// It was read so often that its data have to be relocated.
    HotBlock {
        /// The file whose data the block has.
        file: Arc<Path>,
        /// The first byte of the block in the file.
        offset: u64,
        /// Bytes of the file in the block.
        bytes: u64,
        /// Reads of its pages since it was programmed, or last relocated.
        reads: u64,
    },
    /// Its valid data were relocated, and it was erased.
    GarbageCollection {
        /// Bytes that were relocated.
        bytes: u64,
    },
}

impl FlashEventKind {
    /// The name of the kind, as handlers of events filter by it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HotBlock { .. } => "hot-block",
            Self::GarbageCollection { .. } => "garbage-collection",
        }
    }

    /// Describes the event in words of the form `name=value`, with a space in between. `named` is
    /// the file as its reader knows it, such as the name of an object; it comes last, because it
    /// may have spaces.
    #[must_use]
    pub fn detail(&self, named: impl FnOnce(&Path) -> String) -> String {
        match self {
            Self::HotBlock { file, offset, bytes, reads } => {
                format!("offset={offset} bytes={bytes} reads={reads} file={}", named(file))
            }
            Self::GarbageCollection { bytes } => format!("bytes={bytes}"),
        }
    }
}

/// The event with the path of the file, for the logs of this machine.
impl fmt::Display for FlashEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, block, kind } = self;
        let detail = kind.detail(|file| file.display().to_string());
        write!(f, "{number} {} block={block} {detail}", kind.name())
    }
}

/// The latest events of a drive's flash.
#[derive(Debug)]
pub struct FlashLog {
    events_max: usize,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<FlashEvent>,
    /// The number of the last event; 0 before the first.
    last: u64,
}

impl FlashLog {
    /// A log of at most so many events; the oldest are dropped first.
    #[must_use]
    pub fn new(events_max: usize) -> Self {
        Self { events_max, ring: Mutex::default() }
    }

    /// Numbers events of these blocks and keeps them, in this order and with none in between.
    pub fn record(&self, events: impl IntoIterator<Item = (u64, FlashEventKind)>) {
        let mut ring = self.ring();
        for (block, kind) in events {
            ring.last += 1;
            let number = ring.last;
            ring.events.push_back(FlashEvent { number, block, kind });
            if ring.events.len() > self.events_max {
                ring.events.pop_front();
            }
        }
    }

    /// Returns the events with numbers above `after` that are still kept, in the order of their
    /// numbers.
    #[must_use]
    pub fn after(&self, after: u64) -> Vec<FlashEvent> {
        let ring = self.ring();
        let first = ring.events.partition_point(|event| event.number <= after);
        ring.events.range(first..).cloned().collect()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(blocks: impl IntoIterator<Item = u64>) -> Vec<(u64, FlashEventKind)> {
        let event = |block| (block, FlashEventKind::GarbageCollection { bytes: 4096 });
        blocks.into_iter().map(event).collect()
    }

    fn numbers(log: &FlashLog, after: u64) -> Vec<u64> {
        log.after(after).iter().map(|event| event.number).collect()
    }

    #[test]
    fn events_are_numbered_from_one_and_come_once_to_each_reader() {
        let log = FlashLog::new(8);
        assert_eq!(log.after(0), []);
        log.record(collected([7, 9]));
        assert_eq!(numbers(&log, 0), [1, 2]);
        log.record(collected([7]));
        // One reader has seen two of them, the other none.
        assert_eq!(numbers(&log, 2), [3]);
        assert_eq!(numbers(&log, 0), [1, 2, 3]);
        assert_eq!(numbers(&log, 3), []);
        assert_eq!(numbers(&log, u64::MAX), []);
        let blocks: Vec<u64> = log.after(0).iter().map(|event| event.block).collect();
        assert_eq!(blocks, [7, 9, 7]);
    }

    #[test]
    fn reader_that_lags_sees_the_gap_in_the_numbers() {
        let log = FlashLog::new(3);
        log.record(collected(0..2));
        assert_eq!(numbers(&log, 0), [1, 2]);
        log.record(collected(2..10));
        // It has seen up to 2 and goes on at 8: 5 were dropped.
        assert_eq!(numbers(&log, 2), [8, 9, 10]);
        assert_eq!(numbers(&log, 9), [10]);
    }

    #[test]
    fn log_without_room_keeps_nothing_and_goes_on_numbering() {
        let log = FlashLog::new(0);
        log.record(collected(0..4));
        assert_eq!((log.after(0), log.ring().last), (vec![], 4));
    }

    #[test]
    fn detail_names_the_file_last_and_as_its_reader_does() {
        let file: Arc<Path> = Path::new("/data/a b.parquet").into();
        let hot = FlashEventKind::HotBlock { file, offset: 4096, bytes: 100, reads: 7 };
        assert_eq!(
            hot.detail(|_| "raw/a b".to_owned()),
            "offset=4096 bytes=100 reads=7 file=raw/a b"
        );
        let event = FlashEvent { number: 3, block: 5, kind: hot };
        let shown = "3 hot-block block=5 offset=4096 bytes=100 reads=7 file=/data/a b.parquet";
        assert_eq!(event.to_string(), shown);
        let collected = FlashEventKind::GarbageCollection { bytes: 100 };
        assert_eq!(collected.detail(|_| "no file".to_owned()), "bytes=100");
    }
}
