// SPDX-License-Identifier: Apache-2.0
//! Collects one side of a join within a budget of memory.

use arrow::array::RecordBatch;
use datafusion::{
    error::Result,
    execution::{
        SendableRecordBatchStream,
        memory_pool::{MemoryLimit, MemoryPool, MemoryReservation},
    },
    physical_plan::spill::get_record_batch_memory_size,
};
use futures::StreamExt;

/// Bytes that a side may take whatever the pool says, because joins below and above may have taken
/// all of it: with much less, a join reads its other side too often. Under a low limit it is a
/// small part of the limit, since many joins may take it at once.
const BYTES_MIN: usize = 4 << 20;
const MIN_OF_LIMIT: usize = 32;

/// Bytes of DataFusion's hash table for a row of the build side: an entry of 12 to 24 bytes in a
/// table that is at least 7/16 full, and 4 in the chain.
const TABLE_BYTES_PER_ROW: usize = 48;

/// How much of the memory a side may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Half of what is free when it begins, divided among as many partitions: the joins that its
    /// rows go on to need some too.
    OfPartitions(usize),
    /// What the pool grants; the query ends when it grants no more.
    Everything,
}

/// The rows of a side, or some of them.
pub(super) struct Collected {
    pub(super) batches: Vec<RecordBatch>,
    /// Bytes of the batches, once of the twice that are charged: DataFusion's join copies them.
    pub(super) bytes: usize,
    /// The rows that did not fit, if there are more.
    pub(super) refused: Option<RecordBatch>,
}

/// Collects rows, `first` and those of a stream, until all are there or memory is short, and
/// charges them to `memory`. At least one batch is taken.
///
/// # Errors
/// Those of the stream; with [`Share::Everything`] that of the pool.
pub(super) async fn collect(
    rows: &mut SendableRecordBatchStream,
    first: Option<RecordBatch>,
    memory: &MemoryReservation,
    pool: &dyn MemoryPool,
    share: Share,
) -> Result<Collected> {
    let Budget { least, most } = Budget::of(pool, share);
    let mut collected = Collected { batches: Vec::new(), bytes: 0, refused: None };
    let mut next = first;
    loop {
        let batch = match next.take() {
            Some(batch) => batch,
            None => match rows.next().await {
                Some(batch) => batch?,
                None => return Ok(collected),
            },
        };
        let bytes = get_record_batch_memory_size(&batch);
        let charge = 2 * bytes + batch.num_rows() * TABLE_BYTES_PER_ROW;
        let total = memory.size() + charge;
        if collected.batches.is_empty() || total <= least {
            memory.grow(charge);
        } else if total > most {
            collected.refused = Some(batch);
            return Ok(collected);
        } else if let Err(error) = memory.try_grow(charge) {
            if share == Share::Everything {
                return Err(error);
            }
            collected.refused = Some(batch);
            return Ok(collected);
        }
        collected.bytes += bytes;
        collected.batches.push(batch);
    }
}

/// Bytes that a side may take.
struct Budget {
    /// Whatever the pool says.
    least: usize,
    /// If the pool grants it.
    most: usize,
}

impl Budget {
    fn of(pool: &dyn MemoryPool, share: Share) -> Self {
        let MemoryLimit::Finite(limit) = pool.memory_limit() else {
            return Self { least: BYTES_MIN, most: usize::MAX };
        };
        let least = (limit / MIN_OF_LIMIT).min(BYTES_MIN);
        match share {
            Share::Everything => Self { least, most: usize::MAX },
            Share::OfPartitions(partitions) => {
                let free = limit.saturating_sub(pool.reserved());
                Self { least, most: (free / 2 / partitions.max(1)).max(least) }
            }
        }
    }
}
