// SPDX-License-Identifier: Apache-2.0
//! What Parquet files state of their columns, and nobody may believe.
//!
//! | stated | why not | what is left |
//! |---|---|---|
//! | bounds of floating-point numbers | they leave NaN out, which to SQL is greater than every number | the number of NULLs |
//! | bounds of some row groups | DataFusion takes them for those of the file; long strings have none | the number of NULLs |
//! | bounds without the number of NULLs | DataFusion takes it for 0 | nothing |
//!
//! Of NaN: a row group whose greatest number is 3 may well have rows with `x > 5`, a column whose
//! least and greatest number are the same need not be constant, and `max(x)` is not the greatest
//! number. Nothing in a file says that it has no NaN.
//!
//! So what a scan sees of such a column has no bounds, for files, row groups and pages. What that
//! costs: no pruning by conditions on it, MIN and MAX of it are read, and files that are sorted by
//! it are sorted again.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    catalog::Session,
    common::{ColumnStatistics, Statistics, stats::Precision},
    datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder},
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

use super::facts::footer;

/// What is stated of a column and may not be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Nothing,
    Bounds,
    All,
}

/// `scan` with what its files state, as far as their footers bear it out. Footers lose the rest
/// where they are read.
pub(crate) async fn doubt(scan: FileScanConfig, session: &dyn Session) -> FileScanConfig {
    let fields = scan.file_schema().fields().len();
    let mut doubts = vec![Doubt::Nothing; fields];
    for group in &scan.file_groups {
        for file in group.files() {
            let Some(stated) = &file.statistics else { continue };
            let footer = Box::pin(footer(file, &scan, session)).await;
            let leaves = footer.as_deref().map(leaves_by_name).unwrap_or_default();
            let columns = scan.file_schema().fields().iter().zip(&stated.column_statistics);
            for ((field, stated), doubt) in columns.zip(&mut doubts) {
                if !states_something(stated) {
                    continue;
                }
                let left = match (&footer, leaves.get(field.name().as_str())) {
                    (None, _) => Doubt::All,
                    // The file does not have it, or it is nested and nothing is stated of it.
                    (Some(_), None) => Doubt::Nothing,
                    (Some(footer), Some(leaf)) => missing(footer, *leaf),
                };
                *doubt = worse(*doubt, left);
            }
        }
    }
    if doubts.iter().all(|doubt| *doubt == Doubt::Nothing) {
        return scan;
    }
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let files = group.files().iter().cloned().map(|mut file| {
            file.statistics = file.statistics.map(|known| Arc::new(without(&known, &doubts)));
            file
        });
        // The statistics of a group are those of its files, and are made anew.
        groups.push(FileGroup::new(files.collect()));
    }
    let known = without(&scan.statistics(), &doubts);
    FileScanConfigBuilder::from(scan).with_file_groups(groups).with_statistics(known).build()
}

fn states_something(column: &ColumnStatistics) -> bool {
    column.min_value.get_value().is_some()
        || column.max_value.get_value().is_some()
        || column.null_count.get_value().is_some()
}

fn worse(one: Doubt, other: Doubt) -> Doubt {
    match (one, other) {
        (Doubt::All, _) | (_, Doubt::All) => Doubt::All,
        (Doubt::Bounds, _) | (_, Doubt::Bounds) => Doubt::Bounds,
        (Doubt::Nothing, Doubt::Nothing) => Doubt::Nothing,
    }
}

/// The columns of a file that are not nested.
fn leaves_by_name(footer: &ParquetMetaData) -> HashMap<&str, usize> {
    let columns = footer.file_metadata().schema_descr().columns().iter().enumerate();
    let flat = columns.filter_map(|(leaf, column)| match column.path().parts() {
        [name] => Some((name.as_str(), leaf)),
        _ => None,
    });
    flat.collect()
}

/// What a footer that has lost its doubtful parts does not state of a column.
fn missing(footer: &ParquetMetaData, leaf: usize) -> Doubt {
    let is_required = footer.file_metadata().schema_descr().column(leaf).max_def_level() == 0;
    let mut doubt = if is_required { Doubt::Bounds } else { Doubt::All };
    for group in footer.row_groups() {
        match group.column(leaf).statistics() {
            Some(stated) if has_bounds(stated) => return Doubt::Nothing,
            Some(_) => doubt = Doubt::Bounds,
            None => {}
        }
    }
    doubt
}

fn without(statistics: &Statistics, doubts: &[Doubt]) -> Statistics {
    let mut statistics = statistics.clone();
    for (column, doubt) in statistics.column_statistics.iter_mut().zip(doubts) {
        if *doubt != Doubt::Nothing {
            column.min_value = Precision::Absent;
            column.max_value = Precision::Absent;
        }
        if *doubt == Doubt::All {
            column.null_count = Precision::Absent;
        }
    }
    statistics
}

/// A footer without what nobody may believe; the same one if there is nothing of that.
///
/// # Errors
/// If the footer cannot be put together again.
pub(crate) fn without_doubtful(
    metadata: Arc<ParquetMetaData>,
) -> ParquetResult<Arc<ParquetMetaData>> {
    let columns = metadata.file_metadata().schema_descr().columns().iter().enumerate();
    let doubts: Vec<Doubt> =
        columns.map(|(leaf, column)| doubt_of(&metadata, leaf, column)).collect();
    if doubts.iter().all(|doubt| *doubt == Doubt::Nothing) {
        return Ok(metadata);
    }
    let mut builder = ParquetMetaData::clone(&metadata).into_builder();
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in builder.take_row_groups() {
        let chunks = group.columns().iter().zip(&doubts);
        let chunks = chunks.map(|(chunk, doubt)| chunk_without(chunk, *doubt));
        let chunks = chunks.collect::<ParquetResult<_>>()?;
        groups.push(group.into_builder().set_column_metadata(chunks).build()?);
    }
    let index = builder.take_column_index().map(|mut index| {
        for group in &mut index {
            for (of_column, doubt) in group.iter_mut().zip(&doubts) {
                if *doubt != Doubt::Nothing {
                    *of_column = ColumnIndexMetaData::NONE;
                }
            }
        }
        index
    });
    Ok(Arc::new(builder.set_row_groups(groups).set_column_index(index).build()))
}

fn doubt_of(metadata: &ParquetMetaData, leaf: usize, column: &ColumnDescriptor) -> Doubt {
    let has_rows = metadata.row_groups().iter().filter(|group| group.num_rows() > 0);
    let mut chunks = has_rows.map(|group| group.column(leaf));
    let indexes = metadata.column_index().into_iter().flatten();
    let mut indexes = indexes.filter_map(|group| group.get(leaf));
    let has_index = chunks.clone().any(|chunk| chunk.column_index_offset().is_some())
        || indexes.any(|index| !matches!(index, ColumnIndexMetaData::NONE));
    let mut stated = chunks.clone().filter_map(ColumnChunkMetaData::statistics).peekable();
    if stated.peek().is_none() && !has_index {
        return Doubt::Nothing;
    }
    let knows_nulls = |chunk: &ColumnChunkMetaData| {
        let nulls = chunk.statistics().map(ChunkStatistics::null_count_opt);
        nulls.is_some_and(|nulls| nulls.is_some() || column.max_def_level() == 0)
    };
    if stated.peek().is_some() && !chunks.clone().all(knows_nulls) {
        return Doubt::All;
    }
    let is_float = match column.physical_type() {
        Type::FLOAT | Type::DOUBLE => true,
        _ => column.logical_type_ref() == Some(&LogicalType::Float16),
    };
    let has_some = stated.any(has_bounds);
    let is_bounded = |chunk: &ColumnChunkMetaData| {
        chunk.statistics().is_some_and(|stated| {
            let nulls = stated.null_count_opt().map(i64::try_from);
            has_bounds(stated) || nulls == Some(Ok(chunk.num_values()))
        })
    };
    match is_float && (has_some || has_index) || has_some && !chunks.all(is_bounded) {
        true => Doubt::Bounds,
        false => Doubt::Nothing,
    }
}

fn has_bounds(stated: &ChunkStatistics) -> bool {
    stated.min_bytes_opt().is_some() && stated.max_bytes_opt().is_some()
}

/// A chunk without what is doubtful of its column. Whoever looks for the index of its pages later,
/// where it is not part of the footer, finds none.
fn chunk_without(chunk: &ColumnChunkMetaData, doubt: Doubt) -> ParquetResult<ColumnChunkMetaData> {
    if doubt == Doubt::Nothing {
        return Ok(chunk.clone());
    }
    let builder = chunk.clone().into_builder();
    let builder = builder.set_column_index_offset(None).set_column_index_length(None);
    match chunk.statistics() {
        Some(stated) if doubt == Doubt::Bounds => {
            builder.set_statistics(without_bounds(stated)).build()
        }
        _ => builder.clear_statistics().build(),
    }
}

/// How many NULLs and different values there are.
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
