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

/// Bytes that a side may take whatever the pool says: joins below and above may have taken all of
/// it, and with less a join reads its other side too often.
const BYTES_MIN: usize = 4 << 20;

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
    let budget = budget(pool, share);
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
        if collected.batches.is_empty() || total <= BYTES_MIN {
            memory.grow(charge);
        } else if total > budget {
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

fn budget(pool: &dyn MemoryPool, share: Share) -> usize {
    match (share, pool.memory_limit()) {
        (Share::OfPartitions(partitions), MemoryLimit::Finite(limit)) => {
            let free = limit.saturating_sub(pool.reserved());
            (free / 2 / partitions.max(1)).max(BYTES_MIN)
        }
        (Share::Everything, _) | (_, MemoryLimit::Infinite | MemoryLimit::Unknown) => usize::MAX,
    }
}
