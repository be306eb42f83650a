// SPDX-License-Identifier: Apache-2.0
//! Bounds of floating-point columns, which files state and nobody may believe.
//!
//! The least and greatest value that a Parquet file states of a column leave NaN out. To SQL, NaN
//! is greater than every number: a row group whose greatest number is 3 may well have rows with
//! `x > 5`, a column whose least and greatest number are the same need not be constant, and
//! `max(x)` is not the greatest number. DataFusion believes the bounds in all three cases. Nothing
//! in a file says that it has no NaN, so what a scan sees has no bounds of such columns, for files,
//! row groups and pages.
//!
//! What that costs is pruning by conditions on floating-point columns.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use datafusion::{
    arrow::datatypes::Schema,
    common::{
        Result, ScalarValue, Statistics,
        stats::Precision,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{
        listing::PartitionedFile,
        physical_plan::{
            FileGroup, FileScanConfig, FileScanConfigBuilder, ParquetFileReaderFactory,
            ParquetSource,
        },
        source::DataSourceExec,
    },
    parquet::{
        arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
        basic::{LogicalType, Type},
        errors::Result as ParquetResult,
        file::{
            metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData},
            page_index::column_index::ColumnIndexMetaData,
            statistics::{Statistics as ChunkStatistics, ValueStatistics},
        },
    },
    physical_plan::{ExecutionPlan, metrics::ExecutionPlanMetricsSet},
};
use futures::{FutureExt, future::BoxFuture};

use crate::facts::parquet_scan_of;

/// `plan` with scans that know no bounds of floating-point columns.
pub(crate) fn doubt(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_down(|node| match parquet_scan_of(&node) {
        Some(scan) if has_floats(scan.file_schema()) => {
            let scan = without_bounds(scan.clone());
            Ok(Transformed::yes(DataSourceExec::from_data_source(scan) as _))
        }
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}

fn has_floats(schema: &Schema) -> bool {
    schema.flattened_fields().iter().any(|field| field.data_type().is_floating())
}

fn without_bounds(scan: FileScanConfig) -> FileScanConfig {
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let files = group.files().iter().cloned().map(|mut file| {
            file.statistics = file.statistics.map(|known| Arc::new(without_float_values(&known)));
            file
        });
        // The statistics of a group are those of its files, and are made anew.
        groups.push(FileGroup::new(files.collect()));
    }
    let source = scan.file_source.downcast_ref::<ParquetSource>().cloned();
    let known = without_float_values(&scan.statistics());
    let mut builder =
        FileScanConfigBuilder::from(scan).with_file_groups(groups).with_statistics(known);
    if let Some(source) = source
        && let Some(factory) = source.parquet_file_reader_factory()
    {
        let factory = Arc::new(Doubting(Arc::clone(factory)));
        builder = builder.with_source(Arc::new(source.with_parquet_file_reader_factory(factory)));
    }
    builder.build()
}

fn without_float_values(statistics: &Statistics) -> Statistics {
    let mut statistics = statistics.clone();
    for column in &mut statistics.column_statistics {
        for value in [&mut column.min_value, &mut column.max_value] {
            if value.get_value().is_some_and(|value: &ScalarValue| value.data_type().is_floating())
            {
                *value = Precision::Absent;
            }
        }
    }
    statistics
}

/// A footer without bounds of floating-point columns; the same one if it has none.
///
/// # Errors
/// If the footer cannot be put together again.
pub(crate) fn without_float_bounds(
    metadata: Arc<ParquetMetaData>,
) -> ParquetResult<Arc<ParquetMetaData>> {
    let columns = metadata.file_metadata().schema_descr().columns();
    let floats: Vec<bool> = columns
        .iter()
        .map(|column| match column.physical_type() {
            Type::FLOAT | Type::DOUBLE => true,
            _ => column.logical_type_ref() == Some(&LogicalType::Float16),
        })
        .collect();
    let has_bounds = |group: &RowGroupMetaData| {
        let chunks = group.columns().iter().zip(&floats);
        chunks.filter(|(_, is_float)| **is_float).any(|(chunk, _)| {
            let statistics = chunk.statistics();
            statistics
                .is_some_and(|it| it.min_bytes_opt().is_some() || it.max_bytes_opt().is_some())
        })
    };
    let index_has_bounds = metadata.column_index().is_some_and(|index| {
        index.iter().any(|group| {
            let columns = group.iter().zip(&floats);
            columns.into_iter().any(|(of_column, is_float)| {
                *is_float && !matches!(of_column, ColumnIndexMetaData::NONE)
            })
        })
    });
    if !index_has_bounds && !metadata.row_groups().iter().any(has_bounds) {
        return Ok(metadata);
    }
    let mut builder = ParquetMetaData::clone(&metadata).into_builder();
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in builder.take_row_groups() {
        let chunks = group.columns().iter().zip(&floats);
        let chunks = chunks.map(|(chunk, is_float)| without_bounds_of(chunk, *is_float));
        let chunks = chunks.collect::<ParquetResult<_>>()?;
        groups.push(group.into_builder().set_column_metadata(chunks).build()?);
    }
    let index = builder.take_column_index().map(|mut index| {
        for group in &mut index {
            for (of_column, is_float) in group.iter_mut().zip(&floats) {
                if *is_float {
                    *of_column = ColumnIndexMetaData::NONE;
                }
            }
        }
        index
    });
    Ok(Arc::new(builder.set_row_groups(groups).set_column_index(index).build()))
}

/// What else is known of a chunk stays: how many NULLs and different values it has.
fn without_bounds_of(
    chunk: &ColumnChunkMetaData,
    is_float: bool,
) -> ParquetResult<ColumnChunkMetaData> {
    let Some(statistics) = chunk.statistics().filter(|_| is_float) else {
        return Ok(chunk.clone());
    };
    let (distinct, nulls) = (statistics.distinct_count_opt(), statistics.null_count_opt());
    let statistics = match statistics {
        ChunkStatistics::Float(_) => {
            ChunkStatistics::Float(ValueStatistics::new(None, None, distinct, nulls, false))
        }
        ChunkStatistics::Double(_) => {
            ChunkStatistics::Double(ValueStatistics::new(None, None, distinct, nulls, false))
        }
        // A half is stored as two bytes.
        _ => ChunkStatistics::FixedLenByteArray(ValueStatistics::new(
            None, None, distinct, nulls, false,
        )),
    };
    chunk.clone().into_builder().set_statistics(statistics).build()
}

/// Makes readers whose footers have no bounds of floating-point columns.
#[derive(Debug)]
struct Doubting(Arc<dyn ParquetFileReaderFactory>);

impl ParquetFileReaderFactory for Doubting {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let reader = self.0.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(DoubtingReader(reader)))
    }
}

struct DoubtingReader(Box<dyn AsyncFileReader + Send>);

impl AsyncFileReader for DoubtingReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.0.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.0.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let metadata = self.0.get_metadata(options);
        async move { metadata.await.and_then(without_float_bounds) }.boxed()
    }
}
