// SPDX-License-Identifier: Apache-2.0
//! Measures the speed of one core: it decodes and filters a row group, merges sorted rows, and
//! converts a result to an array.
//!
//! All data is in memory and fits in the caches, like a batch of a query. The row group has the
//! columns of TPC-H that queries filter by: numbers in dictionaries, over Snappy, read as
//! DataFusion reads them. One pass over narrow columns and one over a wide column separate the cost
//! of a value from that of a byte. Each part runs for a fixed time, and its fastest pass counts.
//!
//! Files, the host's link to them and aggregates are not measured.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use datafusion::{
    arrow::{
        array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, Scalar},
        compute::{filter_record_batch, kernels::cmp},
        datatypes::SchemaRef,
    },
    execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool},
    parquet::{
        arrow::{ArrowWriter, ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder},
        basic::Compression,
        file::properties::WriterProperties,
    },
    physical_expr::{LexOrdering, PhysicalSortExpr, expressions::col},
    physical_plan::{
        SendableRecordBatchStream,
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet},
        sorts::streaming_merge::StreamingMergeBuilder,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{TryStreamExt, executor::block_on, stream};
use nearscan_drive::{Load, RateSource, clock::Stopwatch, fit::Sums};
use nearscan_optimizer::cost::CoreRates;

/// Time of each of the four parts; with the preparation the total stays below 150 ms.
const PART: Duration = Duration::from_millis(25);

/// Rows of the row group.
const ROWS: i64 = 32_768;

/// Rows of a batch, DataFusion's default.
const BATCH_ROWS: usize = 8192;

/// Inputs of the merge, and batches of each.
const INPUTS: i64 = 8;
const INPUT_BATCHES: usize = 2;

/// Words of the result: more than fit in a core's own caches.
const RESULT_WORDS: u64 = 1 << 19;

/// The rate of a cost too small to be measured.
const UNLIMITED: f64 = 1e12;

/// Measures the rates of one core; nothing if a part failed, which the query will then report.
pub(super) fn core_rates() -> Option<CoreRates> {
    let file = row_group()?;
    let mut sums = Sums::default();
    for columns in [&[0, 1, 2][..], &[3][..]] {
        let (load, ns) = decoding(&file, columns)?;
        sums.add(&load, ns);
    }
    let decode = sums.fit(RateSource::Measured, None)?;
    let per_s = |ns: f64| if ns > 0.0 { (1e9 / ns).min(UNLIMITED) } else { UNLIMITED };
    Some(CoreRates {
        decode_bytes_per_s: per_s(decode.ns_per_media_byte),
        decode_values_per_s: per_s(decode.ns_per_row),
        merge_rows_per_s: per_s(merging_ns()?),
        result_bytes_per_s: per_s(copying_ns()?),
    })
}

/// Runs passes for the time of a part, at least one, and returns the time of the fastest in ns.
fn fastest(mut pass: impl FnMut() -> Option<()>) -> Option<u64> {
    let whole = Stopwatch::start();
    let mut least = u64::MAX;
    while least == u64::MAX || whole.elapsed() < PART {
        let watch = Stopwatch::start();
        pass()?;
        least = least.min(watch.measured().ns.max(1));
    }
    Some(least)
}

/// Returns a pseudo-random number for a position.
fn mixed(place: i64) -> i64 {
    place.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F) >> 33
}

/// The file: three narrow columns, of 50, 11 and 2500 numbers, and a wide one of many.
fn row_group() -> Option<Bytes> {
    let of = |limit: i64| -> ArrayRef {
        Arc::new((0..ROWS).map(|row| mixed(row).rem_euclid(limit)).collect::<Int64Array>())
    };
    let columns = [("quantity", 50), ("discount", 11), ("shipdate", 2500), ("price", 1_000_000)];
    let batch = columns.map(|(name, limit)| (name, of(limit)));
    let batch = RecordBatch::try_from_iter(batch).ok()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(1 << 20)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).ok()?;
    writer.write(&batch).ok()?;
    writer.close().ok()?;
    Some(file.into())
}

/// Decodes some columns and filters by the first; returns the work and its time in ns.
fn decoding(file: &Bytes, columns: &[usize]) -> Option<(Load, u64)> {
    let builder = || ParquetRecordBatchReaderBuilder::try_new(file.clone()).ok();
    let chunks = builder()?.metadata().row_group(0).columns().to_vec();
    let media_bytes = columns.iter().map(|column| chunks[*column].byte_range().1).sum();
    let below: Scalar<Int64Array> = Int64Array::new_scalar(5);
    let ns = fastest(|| {
        let builder = builder()?;
        let mask = ProjectionMask::leaves(builder.parquet_schema(), columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().ok()?;
        for batch in reader {
            let batch = batch.ok()?;
            let kept = cmp::lt(batch.column(0), &below).ok()?;
            std::hint::black_box(filter_record_batch(&batch, &kept).ok()?);
        }
        Some(())
    })?;
    let rows = u64::try_from(ROWS).ok()? * columns.len() as u64;
    Some((Load { media_bytes, rows, ..Load::default() }, ns))
}

/// Time of merging one row of two numbers out of a few sorted inputs, in ns.
fn merging_ns() -> Option<f64> {
    let inputs: Vec<Vec<RecordBatch>> = (0..INPUTS).map(sorted).collect::<Option<_>>()?;
    let schema = inputs.first()?.first()?.schema();
    let rows: usize = inputs.iter().flatten().map(RecordBatch::num_rows).sum();
    let ns = fastest(|| block_on(merged(&inputs, &schema)))?;
    Some(to_f64(ns) / to_f64(rows as u64))
}

/// Batches with keys that ascend in small steps.
fn sorted(input: i64) -> Option<Vec<RecordBatch>> {
    let mut key = input;
    (0..INPUT_BATCHES)
        .map(|_| {
            let keys: Int64Array = (0..BATCH_ROWS)
                .map(|_| {
                    key += mixed(key).rem_euclid(2 * INPUTS);
                    key
                })
                .collect();
            let values: ArrayRef = Arc::new(keys.clone());
            RecordBatch::try_from_iter([("key", Arc::new(keys) as ArrayRef), ("value", values)])
                .ok()
        })
        .collect()
}

async fn merged(inputs: &[Vec<RecordBatch>], schema: &SchemaRef) -> Option<()> {
    let key = PhysicalSortExpr::new_default(col("key", schema).ok()?);
    let ordering = LexOrdering::new([key])?;
    let streams = inputs.iter().map(|batches| {
        let batches = stream::iter(batches.clone().into_iter().map(Ok));
        let adapter = RecordBatchStreamAdapter::new(Arc::clone(schema), batches);
        Box::pin(adapter) as SendableRecordBatchStream
    });
    let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    let mut merged = StreamingMergeBuilder::new()
        .with_streams(streams.collect())
        .with_schema(Arc::clone(schema))
        .with_expressions(&ordering)
        .with_metrics(BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0))
        .with_batch_size(BATCH_ROWS)
        .with_reservation(MemoryConsumer::new("calibration").register(&pool))
        .build()
        .ok()?;
    while let Some(batch) = merged.try_next().await.ok()? {
        std::hint::black_box(batch);
    }
    Some(())
}

/// Time of turning one byte of a result into an array of decimals, as TPC-H has them, in ns.
fn copying_ns() -> Option<f64> {
    let words: Vec<u8> = (0..RESULT_WORDS).flat_map(u64::to_le_bytes).collect();
    let ns = fastest(|| {
        let (words, _) = words.as_chunks::<8>();
        let values = words.iter().map(|word| i128::from(i64::from_le_bytes(*word)));
        let array = Decimal128Array::from_iter_values(values);
        (std::hint::black_box(array).len() == words.len()).then_some(())
    })?;
    Some(to_f64(ns) / to_f64(RESULT_WORDS * 8))
}

/// Exact up to 2^53 ns, three months.
#[expect(clippy::cast_precision_loss, reason = "times and counts are far below 2^53")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_rates_are_plausible() {
        let rates = core_rates().unwrap();
        let CoreRates {
            decode_bytes_per_s,
            decode_values_per_s,
            merge_rows_per_s,
            result_bytes_per_s,
        } = rates;
        for rate in [decode_bytes_per_s, decode_values_per_s, merge_rows_per_s, result_bytes_per_s]
        {
            // The range is from a debug build on a busy machine to a cost too small to be measured.
            assert!((1e4..=UNLIMITED).contains(&rate), "{rates:?}");
        }
        assert!(decode_bytes_per_s.min(decode_values_per_s) < UNLIMITED, "{rates:?}");
    }

    #[test]
    fn row_group_has_narrow_columns_and_a_wide_one() {
        let file = row_group().unwrap();
        let bytes = |columns| decoding(&file, columns).unwrap().0.media_bytes;
        assert!(bytes(&[3]) > 2 * bytes(&[0, 1, 2]));
        let (load, ns) = decoding(&file, &[0, 1, 2]).unwrap();
        assert_eq!(load.rows, 3 * 32_768);
        assert!(ns > 0);
    }

    #[test]
    fn merge_returns_all_rows_in_order() {
        let inputs: Vec<_> = (0..INPUTS).map(|input| sorted(input).unwrap()).collect();
        for batch in inputs.iter().flatten() {
            let keys = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            assert!(keys.values().is_sorted());
        }
        let schema = inputs[0][0].schema();
        assert_eq!(block_on(merged(&inputs, &schema)), Some(()));
    }
}
