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
//! What that costs: no pruning by conditions on floating-point columns, MIN and MAX of them are
//! read, and files that are sorted by one are sorted again.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::DataType,
    common::{ScalarValue, Statistics, stats::Precision},
    datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder},
    parquet::{
        basic::{LogicalType, Type},
        errors::Result as ParquetResult,
        file::{
            metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData},
            page_index::column_index::ColumnIndexMetaData,
            statistics::{Statistics as ChunkStatistics, ValueStatistics},
        },
    },
};

/// `scan` without bounds of floating-point columns. Its footers lose theirs where they are read.
pub(crate) fn doubt(scan: FileScanConfig) -> FileScanConfig {
    let schema = scan.file_schema();
    if !schema.flattened_fields().iter().any(|field| is_float(field.data_type())) {
        return scan;
    }
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let files = group.files().iter().cloned().map(|mut file| {
            file.statistics = file.statistics.map(|known| Arc::new(without_float_values(&known)));
            file
        });
        // The statistics of a group are those of its files, and are made anew.
        groups.push(FileGroup::new(files.collect()));
    }
    let known = without_float_values(&scan.statistics());
    FileScanConfigBuilder::from(scan).with_file_groups(groups).with_statistics(known).build()
}

/// Whether values of a type are numbers of which one may be NaN.
fn is_float(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_float(values),
        DataType::RunEndEncoded(_, values) => is_float(values.data_type()),
        _ => kind.is_floating(),
    }
}

fn without_float_values(statistics: &Statistics) -> Statistics {
    let mut statistics = statistics.clone();
    for column in &mut statistics.column_statistics {
        for value in [&mut column.min_value, &mut column.max_value] {
            if value.get_value().is_some_and(|value: &ScalarValue| is_float(&value.data_type())) {
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
            chunk.column_index_offset().is_some()
                || statistics
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

/// What else is known of a chunk stays: how many NULLs and different values it has. Whoever looks
/// for the index of its pages later, where it is not part of the footer, finds none.
fn without_bounds_of(
    chunk: &ColumnChunkMetaData,
    is_float: bool,
) -> ParquetResult<ColumnChunkMetaData> {
    if !is_float {
        return Ok(chunk.clone());
    }
    let builder = chunk.clone().into_builder();
    let builder = builder.set_column_index_offset(None).set_column_index_length(None);
    let Some(statistics) = chunk.statistics() else { return builder.build() };
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
    builder.set_statistics(statistics).build()
}
