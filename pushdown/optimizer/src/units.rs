// SPDX-License-Identifier: Apache-2.0
//! Units of work: the row groups of a scan, and what the footers say of their column chunks.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::datasource::physical_plan::parquet::{
    ParquetAccessPlan, ParquetFileMetrics, RowGroupAccessPlanFilter,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use nearscan_command::{Chunk, Codec, Column, Encoding, Encodings, PhysicalType};
use nearscan_drive::{FileRef, Refused};
use parquet::basic::{Compression, Encoding as ParquetEncoding, LogicalType, Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use crate::decision::{KeepReason, Kept};
use crate::facts::FileFacts;
use crate::lower::Lowered;
use crate::lower::aggregate::ColumnBounds;
use crate::scan::{Scan, split};

/// One row group of one file.
#[derive(Debug, Clone)]
pub(crate) struct RowGroup<'a> {
    pub(crate) file: &'a PartitionedFile,
    pub(crate) facts: &'a FileFacts,
    pub(crate) index: usize,
}

impl<'a> RowGroup<'a> {
    pub(crate) fn metadata(&self) -> &'a RowGroupMetaData {
        self.facts.metadata.row_group(self.index)
    }
}

/// A unit as a plan holds it: everything that binding a command needs, without the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedUnit {
    /// The file.
    pub file: FileRef,
    /// The row group.
    pub row_group: u32,
    /// Row groups of the file, which a push-back to DataFusion has to know.
    pub row_group_count: u32,
    /// Rows of the row group.
    pub rows: u64,
    /// The column chunks, in the order of the fragment's columns; offsets are in the file.
    pub chunks: Vec<Chunk>,
}

/// The row groups of a scan, partition by partition, without those that statistics rule out.
pub(crate) struct ScanUnits<'a> {
    pub(crate) partitions: Vec<Vec<RowGroup<'a>>>,
}

impl<'a> ScanUnits<'a> {
    /// Finds the row groups of `scan` that neither `conjuncts` (over the table) nor the scan's own
    /// predicate rule out.
    pub(crate) fn find(scan: &Scan<'a>, conjuncts: &[Arc<dyn PhysicalExpr>]) -> Lowered<Self> {
        let pruning = pruning_predicate(scan, conjuncts);
        let metrics = ExecutionPlanMetricsSet::new();
        let mut partitions = Vec::with_capacity(scan.config.file_groups.len());
        for group in &scan.config.file_groups {
            let mut units = Vec::new();
            for file in group.files() {
                let Some(facts) = file.extensions.get::<FileFacts>() else {
                    let detail = file.object_meta.location.to_string();
                    return Err(Kept::new(KeepReason::NoFacts, detail));
                };
                if file.extensions.contains::<ParquetAccessPlan>() {
                    return Err(Kept::new(KeepReason::ScanOption, "chosen row groups"));
                }
                let found = remaining(scan, file, facts, pruning.as_deref(), &metrics);
                units.extend(found.into_iter().map(|index| RowGroup { file, facts, index }));
            }
            partitions.push(units);
        }
        Ok(Self { partitions })
    }

    /// All row groups.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RowGroup<'a>> {
        self.partitions.iter().flatten()
    }

    /// Deals the row groups out to `count` partitions; as they are when the number is right.
    pub(crate) fn deal(&self, count: usize) -> Vec<Vec<&RowGroup<'a>>> {
        if count == self.partitions.len() {
            return self.partitions.iter().map(|units| units.iter().collect()).collect();
        }
        let mut dealt = vec![Vec::new(); count.max(1)];
        for (at, unit) in self.iter().enumerate() {
            dealt[at % count.max(1)].push(unit);
        }
        dealt
    }
}

/// A predicate that can be held against statistics.
fn pruning_predicate(
    scan: &Scan<'_>,
    conjuncts: &[Arc<dyn PhysicalExpr>],
) -> Option<Arc<PruningPredicate>> {
    if !scan.source.table_parquet_options().global.pruning {
        return None;
    }
    let mut conjuncts = conjuncts.to_vec();
    // The scan's predicate also has what a filter above the fragment tests: rows of a row group
    // that it rules out would cross the link to be dropped.
    for hint in scan.source.filter().iter().flat_map(split) {
        if !conjuncts.contains(&hint) {
            conjuncts.push(hint);
        }
    }
    let predicate = datafusion::physical_expr::conjunction_opt(conjuncts)?;
    PruningPredicateBuilder::new()
        .with_file_schema(Arc::clone(scan.config.file_schema()))
        .build(predicate)
}

/// Row groups of a file within its range that statistics do not rule out.
fn remaining(
    scan: &Scan<'_>,
    file: &PartitionedFile,
    facts: &FileFacts,
    pruning: Option<&PruningPredicate>,
    metrics: &ExecutionPlanMetricsSet,
) -> Vec<usize> {
    let groups = facts.metadata.row_groups();
    let mut filter = RowGroupAccessPlanFilter::new(ParquetAccessPlan::new_all(groups.len()));
    if let Some(range) = &file.range {
        filter.prune_by_range(groups, range);
    }
    if let Some(pruning) = pruning {
        let metrics = ParquetFileMetrics::new(0, file.object_meta.location.as_ref(), metrics);
        let descriptor = facts.metadata.file_metadata().schema_descr();
        let schema = scan.config.file_schema();
        filter.prune_by_statistics(schema, descriptor, groups, pruning, &metrics);
    }
    filter.row_group_indexes().collect()
}

/// The chunk of a fragment's column in a row group, checked against what the table says of the
/// column.
pub(crate) fn chunk_of(group: &RowGroup<'_>, column: &Column, schema: &Schema) -> Lowered<Chunk> {
    let name = &column.name;
    let metadata = group.metadata();
    let found = metadata.columns().iter().find(|chunk| {
        let path = chunk.column_path().parts();
        path.first() == Some(name)
    });
    let Some(chunk) = found else {
        let detail = format!("column {name} is missing in {}", group.file.object_meta.location);
        return Err(Kept::new(KeepReason::Type, detail));
    };
    let descriptor = chunk.column_descr();
    if descriptor.path().parts().len() != 1 || descriptor.max_rep_level() != 0 {
        return Err(Kept::new(KeepReason::Nested, format!("column {name}")));
    }
    let data_type = match schema.field_with_name(name) {
        Ok(field) => field.data_type(),
        Err(_) => return Err(Kept::new(KeepReason::Type, format!("column {name}"))),
    };
    let Some(physical_type) = physical_type(descriptor, data_type) else {
        let detail = format!("column {name} is stored as {}", descriptor.physical_type());
        return Err(Kept::new(KeepReason::Type, detail));
    };
    if physical_type.kind() != column.kind {
        return Err(Kept::new(KeepReason::Type, format!("column {name}")));
    }
    let Ok(definition_level_max) = u8::try_from(descriptor.max_def_level()) else {
        return Err(Kept::new(KeepReason::Nested, format!("column {name}")));
    };
    let (offset, length) = chunk.byte_range();
    Ok(Chunk {
        input: 0,
        offset,
        length,
        uncompressed_bytes: u64::try_from(chunk.uncompressed_size()).unwrap_or(u64::MAX),
        physical_type,
        definition_level_max,
        codec: codec_of(chunk, name)?,
        encodings: encodings_of(chunk, name)?,
    })
}

/// How a table's column is stored, if its file stores it the way its type says.
fn physical_type(descriptor: &ColumnDescriptor, data_type: &DataType) -> Option<PhysicalType> {
    let logical = descriptor.logical_type_ref();
    let stored = descriptor.physical_type();
    let decimal_scale = match logical {
        Some(LogicalType::Decimal(decimal)) => Some(decimal.scale),
        _ => None,
    };
    match (data_type, stored) {
        (DataType::Int32, Type::INT32) | (DataType::Int64, Type::INT64) => {
            let plain = match logical {
                None => {
                    descriptor.converted_type() == parquet::basic::ConvertedType::NONE
                        || matches!(
                            descriptor.converted_type(),
                            parquet::basic::ConvertedType::INT_32
                                | parquet::basic::ConvertedType::INT_64
                        )
                }
                Some(LogicalType::Integer(integer)) => integer.is_signed && integer.bit_width >= 32,
                Some(_) => false,
            };
            plain.then_some(match stored {
                Type::INT32 => PhysicalType::Int32,
                _ => PhysicalType::Int64,
            })
        }
        (DataType::Date32, Type::INT32) => {
            let date = matches!(logical, Some(LogicalType::Date))
                || descriptor.converted_type() == parquet::basic::ConvertedType::DATE;
            date.then_some(PhysicalType::Int32)
        }
        (DataType::Decimal128(_, scale), Type::INT32 | Type::INT64) => {
            let stored_scale = decimal_scale.unwrap_or_else(|| descriptor.type_scale());
            (stored_scale == i32::from(*scale)).then_some(match stored {
                Type::INT32 => PhysicalType::Int32,
                _ => PhysicalType::Int64,
            })
        }
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Type::BYTE_ARRAY) => {
            Some(PhysicalType::ByteArray)
        }
        _ => None,
    }
}

fn codec_of(chunk: &ColumnChunkMetaData, name: &str) -> Lowered<Codec> {
    match chunk.compression() {
        Compression::UNCOMPRESSED => Ok(Codec::Uncompressed),
        Compression::SNAPPY => Ok(Codec::Snappy),
        other => Err(Kept::new(KeepReason::Codec, format!("column {name} is {other}"))),
    }
}

fn encodings_of(chunk: &ColumnChunkMetaData, name: &str) -> Lowered<Encodings> {
    let mut members = Vec::new();
    for encoding in chunk.encodings() {
        members.push(match encoding {
            ParquetEncoding::PLAIN => Encoding::Plain,
            ParquetEncoding::RLE => Encoding::Rle,
            ParquetEncoding::RLE_DICTIONARY => Encoding::RleDictionary,
            ParquetEncoding::PLAIN_DICTIONARY => Encoding::PlainDictionary,
            // Listed by old writers for levels that a flat column does not have.
            #[expect(deprecated, reason = "old files have it")]
            ParquetEncoding::BIT_PACKED => continue,
            other => {
                let detail = format!("column {name} has {other}");
                return Err(Kept::new(KeepReason::Encoding, detail));
            }
        });
    }
    // A footer may leave out what every reader has to expect: a dictionary page is plain, levels
    // are RLE.
    members.extend([Encoding::Plain, Encoding::Rle]);
    Ok(Encodings::of(members))
}

/// Bytes of the chunk's dictionary page as stored; 0 without one.
pub(crate) fn dictionary_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    // Some writers put 0 where there is none.
    let start = chunk.dictionary_page_offset().filter(|at| *at > 0);
    let size = start.map(|at| chunk.data_page_offset() - at);
    size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0)
}

/// The chunk of a column by name, for facts about it.
pub(crate) fn chunk_metadata<'a>(
    group: &RowGroup<'a>,
    name: &str,
) -> Option<&'a ColumnChunkMetaData> {
    let is_named = |chunk: &&ColumnChunkMetaData| {
        chunk.column_path().parts().first().is_some_and(|part| part == name)
    };
    group.metadata().columns().iter().find(is_named)
}

/// What a drive says no to, as a reason.
pub(crate) fn kept_by(refused: Refused, about: &str) -> Kept {
    let (reason, detail) = match refused {
        Refused::Type(detail) => (KeepReason::Type, detail),
        Refused::Encoding(detail) => (KeepReason::Encoding, detail),
        Refused::Codec(detail) => (KeepReason::Codec, detail),
        Refused::Expression(detail) => (KeepReason::Expression, detail),
        Refused::Function(detail) => (KeepReason::Function, detail),
        Refused::GroupCardinality(detail) => (KeepReason::GroupCardinality, detail),
        Refused::DictionarySize(detail) => (KeepReason::DictionarySize, detail),
    };
    let detail = if about.is_empty() { detail } else { format!("{about}: {detail}") };
    Kept::new(reason, detail)
}

/// Bounds from the footers of all units.
pub(crate) struct FooterBounds<'a, 'b> {
    pub(crate) units: &'b ScanUnits<'a>,
    pub(crate) schema: &'b Schema,
}

impl ColumnBounds for FooterBounds<'_, '_> {
    fn rows(&self) -> u64 {
        let rows = |unit: &RowGroup<'_>| u64::try_from(unit.metadata().num_rows()).unwrap_or(0);
        self.units.iter().map(rows).sum()
    }

    fn greatest_magnitude(&self, table_index: usize) -> Option<u128> {
        let name = self.schema.fields().get(table_index)?.name();
        let mut greatest = 0;
        for unit in self.units.iter() {
            let (least, most) = match chunk_metadata(unit, name)?.statistics()? {
                Statistics::Int32(bounds) => {
                    (i64::from(*bounds.min_opt()?), i64::from(*bounds.max_opt()?))
                }
                Statistics::Int64(bounds) => (*bounds.min_opt()?, *bounds.max_opt()?),
                _ => return None,
            };
            let magnitude = least.unsigned_abs().max(most.unsigned_abs());
            greatest = greatest.max(u128::from(magnitude));
        }
        Some(greatest)
    }
}
