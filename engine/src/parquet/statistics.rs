// SPDX-License-Identifier: Apache-2.0
//! Removes Parquet statistics that DataFusion would use unsoundly.
//!
//! | statistics | why DataFusion's use is unsound | what stays |
//! |---|---|---|
//! | bounds of floating-point columns | they leave NaN out, and the footer does not say whether there is one | the count of NULLs; bounds of row groups for equality ([`equality`](super::equality)) |
//! | bounds of some row groups only | DataFusion merges them to bounds of the file | all that row groups state; the file's count of NULLs |
//! | bounds without a count of NULLs | a missing count is taken for 0 | nothing |
//! | Bloom filters of floating-point columns | they are of bytes, in which equal zeros differ | nothing |
//!
//! Comparisons are by Arrow's total order, in which NaN with the sign set is less than every number
//! and NaN without it is greater. So neither bound of a floating-point column bounds all of its
//! rows: a row group whose greatest number is 3 may have rows with `x > 5`, one whose least number
//! is 3 may have rows with `x < 1`, and neither MIN nor MAX can be taken from a footer. A file that
//! is sorted by such a column is sorted again where it has several row groups.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    arrow::datatypes::SchemaRef,
    common::{Result, Statistics, stats::Precision},
    datasource::physical_plan::parquet::metadata::DFParquetMetadata,
    parquet::{
        basic::{LogicalType, Type},
        errors::Result as ParquetResult,
        file::{
            metadata::{ColumnChunkMetaData, ParquetMetaData},
            page_index::column_index::ColumnIndexMetaData,
            statistics::{Statistics as ChunkStatistics, ValueStatistics},
        },
        schema::types::ColumnDescriptor,
    },
};

use super::equality::{self, EqualityColumns};

/// The unsound statistics of a column chunk, or of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsound {
    Nothing,
    Bounds,
    All,
}

/// Returns the sound statistics of a file.
///
/// # Errors
/// If the types of the footer cannot be converted to Arrow's.
pub(super) fn of_file(footer: &ParquetMetaData, schema: &SchemaRef) -> Result<Statistics> {
    let mut statistics = DFParquetMetadata::statistics_from_parquet_metadata(footer, schema)?;
    let leaves = flat_columns(footer);
    for (field, column) in schema.fields().iter().zip(&mut statistics.column_statistics) {
        // Without a leaf column, the file lacks the column, or it is nested and has no statistics.
        let leaf = leaves.get(field.name().as_str());
        let unsound = leaf.map_or(Unsound::Nothing, |leaf| of_column(footer, *leaf));
        if unsound != Unsound::Nothing {
            column.min_value = Precision::Absent;
            column.max_value = Precision::Absent;
        }
        if unsound == Unsound::All {
            column.null_count = Precision::Absent;
        }
    }
    Ok(statistics)
}

/// Returns a footer without unsound statistics of row groups and pages; the same one if there are
/// none. Floating-point columns among `equality` keep bounds that are sound for equality only.
///
/// # Errors
/// If the footer cannot be rebuilt.
pub(super) fn of_row_groups(
    footer: Arc<ParquetMetaData>,
    equality: &EqualityColumns,
) -> ParquetResult<Arc<ParquetMetaData>> {
    let groups = footer.row_groups().iter().enumerate();
    let mut chunks = groups.flat_map(|(number, group)| {
        let columns = group.columns().iter().enumerate();
        columns.map(move |(leaf, chunk)| (number, leaf, chunk))
    });
    let is_unsound =
        |(number, leaf, chunk)| of_chunk(&footer, number, leaf, chunk) != Unsound::Nothing;
    if !chunks.any(is_unsound) {
        return Ok(footer);
    }
    let mut builder = ParquetMetaData::clone(&footer).into_builder();
    let mut index = builder.take_column_index();
    let mut groups = Vec::with_capacity(footer.num_row_groups());
    for (number, group) in builder.take_row_groups().into_iter().enumerate() {
        let mut group = group.into_builder();
        let mut chunks = Vec::with_capacity(footer.file_metadata().schema_descr().num_columns());
        for (leaf, chunk) in group.take_columns().into_iter().enumerate() {
            let unsound = of_chunk(&footer, number, leaf, &chunk);
            let pages = index.as_mut().and_then(|index| index.get_mut(number)?.get_mut(leaf));
            if let Some(pages) = pages
                && unsound != Unsound::Nothing
            {
                *pages = ColumnIndexMetaData::NONE;
            }
            chunks.push(without(chunk, unsound, equality)?);
        }
        groups.push(group.set_column_metadata(chunks).build()?);
    }
    Ok(Arc::new(builder.set_row_groups(groups).set_column_index(index).build()))
}

/// Whether the bounds of a column hold for all of its rows in every row group.
pub(super) fn has_sound_bounds(footer: &ParquetMetaData, leaf: usize) -> bool {
    of_column(footer, leaf) == Unsound::Nothing
}

/// Returns the columns of a file that are not nested, by name.
fn flat_columns(footer: &ParquetMetaData) -> HashMap<&str, usize> {
    let columns = footer.file_metadata().schema_descr().columns().iter().enumerate();
    let flat = columns.filter_map(|(leaf, column)| match column.path().parts() {
        [name] => Some((name.as_str(), leaf)),
        _ => None,
    });
    flat.collect()
}

/// Returns what is unsound once DataFusion merges the statistics of a column over row groups.
fn of_column(footer: &ParquetMetaData, leaf: usize) -> Unsound {
    let column = footer.file_metadata().schema_descr().column(leaf);
    let has_rows = footer.row_groups().iter().filter(|group| group.num_rows() > 0);
    let mut chunks = has_rows.map(|group| group.column(leaf));
    if !chunks.clone().all(|chunk| knows_nulls(chunk, &column)) {
        return Unsound::All;
    }
    match is_float(&column) || !chunks.all(is_bounded) {
        true => Unsound::Bounds,
        false => Unsound::Nothing,
    }
}

/// Returns what is unsound of a single column chunk, or of its pages.
fn of_chunk(
    footer: &ParquetMetaData,
    row_group: usize,
    leaf: usize,
    chunk: &ColumnChunkMetaData,
) -> Unsound {
    let column = chunk.column_descr();
    if footer.row_group(row_group).num_rows() == 0 {
        return Unsound::Nothing;
    }
    if chunk.statistics().is_some() && !knows_nulls(chunk, column) {
        return Unsound::All;
    }
    let pages = footer.column_index().and_then(|index| index.get(row_group)?.get(leaf));
    let has_bounds = chunk.statistics().is_some_and(has_bounds)
        || chunk.column_index_offset().is_some()
        || pages.is_some_and(|pages| !matches!(pages, ColumnIndexMetaData::NONE));
    match is_float(column) && (has_bounds || chunk.bloom_filter_offset().is_some()) {
        true => Unsound::Bounds,
        false => Unsound::Nothing,
    }
}

fn is_float(column: &ColumnDescriptor) -> bool {
    match column.physical_type() {
        Type::FLOAT | Type::DOUBLE => true,
        _ => column.logical_type_ref() == Some(&LogicalType::Float16),
    }
}

fn knows_nulls(chunk: &ColumnChunkMetaData, column: &ColumnDescriptor) -> bool {
    let nulls = chunk.statistics().map(ChunkStatistics::null_count_opt);
    nulls.is_some_and(|nulls| nulls.is_some() || column.max_def_level() == 0)
}

/// Whether a chunk has bounds, or only NULLs, which need none.
fn is_bounded(chunk: &ColumnChunkMetaData) -> bool {
    chunk.statistics().is_some_and(|stated| {
        let nulls = stated.null_count_opt().map(i64::try_from);
        has_bounds(stated) || nulls == Some(Ok(chunk.num_values()))
    })
}

fn has_bounds(stated: &ChunkStatistics) -> bool {
    stated.min_bytes_opt().is_some() && stated.max_bytes_opt().is_some()
}

/// Returns a chunk without its unsound statistics. The offsets of its page index are removed too,
/// and of its Bloom filter, so that no later reader loads them.
fn without(
    chunk: ColumnChunkMetaData,
    unsound: Unsound,
    equality: &EqualityColumns,
) -> ParquetResult<ColumnChunkMetaData> {
    if unsound == Unsound::Nothing {
        return Ok(chunk);
    }
    let sound = chunk.statistics().filter(|_| unsound == Unsound::Bounds).map(|stated| {
        let kept = equality.contains(&chunk).then(|| equality::bounds(stated)).flatten();
        kept.unwrap_or_else(|| without_bounds(stated))
    });
    let has_sound_filter = !is_float(chunk.column_descr());
    let builder = chunk.into_builder().clear_statistics();
    let builder = builder.set_column_index_offset(None).set_column_index_length(None);
    let builder = match has_sound_filter {
        true => builder,
        false => builder.set_bloom_filter_offset(None).set_bloom_filter_length(None),
    };
    match sound {
        Some(sound) => builder.set_statistics(sound).build(),
        None => builder.build(),
    }
}

/// Keeps the counts of NULLs and of distinct values.
fn without_bounds(stated: &ChunkStatistics) -> ChunkStatistics {
    let (distinct, nulls) = (stated.distinct_count_opt(), stated.null_count_opt());
    macro_rules! counts {
        ($($kind:ident),*) => {
            match stated {
                $(ChunkStatistics::$kind(_) => ChunkStatistics::$kind(
                    ValueStatistics::new(None, None, distinct, nulls, false),
                ),)*
            }
        };
    }
    counts!(Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLenByteArray)
}
