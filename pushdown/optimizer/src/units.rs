// SPDX-License-Identifier: Apache-2.0
//! Finds the units of work of a scan: its row groups, with the facts of footers about their column
//! chunks.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::{
    common::ScalarValue,
    datasource::{
        listing::PartitionedFile,
        physical_plan::parquet::{ParquetAccessPlan, RowGroupAccessPlanFilter},
    },
    physical_expr::PhysicalExpr,
};
use nearscan_command::{Chunk, Codec, Column, Encoding, Encodings, PhysicalType, ReadAs};
use nearscan_drive::{FileRef, Load, Refused};
use parquet::{
    basic::{Compression, Encoding as ParquetEncoding},
    file::{
        metadata::{ColumnChunkMetaData, RowGroupMetaData},
        statistics::Statistics,
    },
};

use crate::{
    cost::{Encoded, UnitEstimate},
    decision::{KeepReason, Kept},
    facts::FileFacts,
    lower::{Lowered, aggregate::ColumnBounds},
    pruning::Pruning,
    scan::Scan,
    stored::stored_as,
};

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
    /// Number of row groups of the file, for a push-back to DataFusion.
    pub row_group_count: u32,
    /// Rows of the row group.
    pub rows: u64,
    /// The column chunks, in the order of the fragment's columns; offsets are in the file. None
    /// when the unit is planned for the host.
    pub chunks: Vec<Chunk>,
    /// The file's values of the columns that only its folder has.
    pub folder_values: Vec<ScalarValue>,
    /// Which of the scan's drives has the file.
    pub drive: usize,
    /// The reason why the unit is planned for the host, although the drive runs others.
    pub kept: Option<KeepReason>,
    /// What its encodings are estimated to be for a drive's decoders; nothing of a unit for the
    /// host.
    pub encoded: Encoded,
    /// The estimates of the cost model for the unit alone, if it was used.
    pub estimate: Option<UnitEstimate>,
}

impl PlannedUnit {
    /// The unit of a row group with its chunks, or the reason why it is planned for the host.
    pub(crate) fn new(unit: &RowGroup<'_>, chunks: Result<Vec<Chunk>, KeepReason>) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            file: unit.facts.file.clone(),
            row_group: count(unit.index),
            row_group_count: count(unit.facts.metadata.num_row_groups()),
            rows: u64::try_from(unit.metadata().num_rows()).unwrap_or(0),
            folder_values: unit.file.partition_values.clone(),
            drive: 0,
            kept: chunks.as_ref().err().copied(),
            chunks: chunks.unwrap_or_default(),
            encoded: Encoded::default(),
            estimate: None,
        }
    }

    /// Its load for a drive that has kept so many rows, without the bytes that are moved.
    pub(crate) fn load(&self, kept: u64) -> Load {
        let encoded = self.encoded.of_kept(kept, self.rows);
        encoded.in_load(Load { commands: 1, rows: self.rows, ..Load::default() })
    }
}

/// The row groups of a scan, partition by partition.
pub(crate) struct ScanUnits<'a> {
    pub(crate) partitions: Vec<Vec<RowGroup<'a>>>,
}

impl<'a> ScanUnits<'a> {
    /// Finds the row groups of `scan` that neither `conjuncts` (over the table) nor the scan's own
    /// predicate rule out.
    pub(crate) fn find(scan: &Scan<'a>, conjuncts: &[Arc<dyn PhysicalExpr>]) -> Lowered<Self> {
        Self::collect(scan, Pruning::of(scan, conjuncts).as_ref())
    }

    /// Finds all row groups of `scan`, for a scan of the host that rules row groups out while it
    /// runs. Such a scan reads files of this machine only.
    pub(crate) fn unpruned(scan: &Scan<'a>) -> Lowered<Self> {
        let units = Self::collect(scan, None)?;
        let of_server = |unit: &&RowGroup<'_>| unit.facts.file.server.is_some();
        let object = units.iter().find(of_server).map(|unit| unit.facts.file.to_string());
        match object {
            Some(url) => Err(Kept::new(KeepReason::ScanOption, url)),
            None => Ok(units),
        }
    }

    fn collect(scan: &Scan<'a>, pruning: Option<&Pruning>) -> Lowered<Self> {
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
                let found = remaining(file, facts, pruning);
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

    /// Distributes the row groups to `count` partitions; keeps the partitions if the number is
    /// right.
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

/// Row groups of a file within its range that statistics do not rule out.
fn remaining(file: &PartitionedFile, facts: &FileFacts, pruning: Option<&Pruning>) -> Vec<usize> {
    let groups = facts.metadata.row_groups();
    let mut filter = RowGroupAccessPlanFilter::new(ParquetAccessPlan::new_all(groups.len()));
    if let Some(range) = &file.range {
        filter.prune_by_range(groups, range);
    }
    let mut remaining: Vec<usize> = filter.row_group_indexes().collect();
    if let Some(pruning) = pruning {
        let mut kept = pruning.keeps(&facts.metadata, &remaining).into_iter();
        remaining.retain(|_| kept.next().unwrap_or(true));
    }
    remaining
}

/// The chunk of a fragment's column in a row group, checked against what the table says of the
/// column; it has none but these `encodings`.
pub(crate) fn chunk_of(
    group: &RowGroup<'_>,
    column: &Column,
    schema: &Schema,
    encodings: Encodings,
) -> Lowered<Chunk> {
    let name = &column.name;
    let Some(chunk) = chunk_metadata(group.metadata(), name) else {
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
    let Some((physical_type, reading)) = stored_as(descriptor, data_type) else {
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
        encodings: encodings_of(chunk, name, encodings)?,
        dictionary_bytes: u32::try_from(dictionary_bytes(chunk)).unwrap_or(0),
        reading,
    })
}

fn codec_of(chunk: &ColumnChunkMetaData, name: &str) -> Lowered<Codec> {
    match chunk.compression() {
        Compression::UNCOMPRESSED => Ok(Codec::Uncompressed),
        Compression::SNAPPY => Ok(Codec::Snappy),
        Compression::GZIP(_) => Ok(Codec::Gzip),
        Compression::BROTLI(_) => Ok(Codec::Brotli),
        Compression::LZ4_RAW => Ok(Codec::Lz4Raw),
        Compression::ZSTD(_) => Ok(Codec::Zstd),
        other => Err(Kept::new(KeepReason::Codec, format!("column {name} is {other}"))),
    }
}

fn encodings_of(chunk: &ColumnChunkMetaData, name: &str, known: Encodings) -> Lowered<Encodings> {
    let mut members = Vec::new();
    for encoding in chunk.encodings() {
        let member = match encoding {
            ParquetEncoding::PLAIN => Encoding::Plain,
            ParquetEncoding::RLE => Encoding::Rle,
            ParquetEncoding::RLE_DICTIONARY => Encoding::RleDictionary,
            ParquetEncoding::PLAIN_DICTIONARY => Encoding::PlainDictionary,
            ParquetEncoding::DELTA_BINARY_PACKED => Encoding::DeltaBinaryPacked,
            ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY => Encoding::DeltaLengthByteArray,
            ParquetEncoding::DELTA_BYTE_ARRAY => Encoding::DeltaByteArray,
            ParquetEncoding::BYTE_STREAM_SPLIT => Encoding::ByteStreamSplit,
            #[expect(deprecated, reason = "old files have it")]
            ParquetEncoding::BIT_PACKED => Encoding::BitPacked,
        };
        if !known.contains(member) {
            let detail = format!("column {name} has {encoding}");
            return Err(Kept::new(KeepReason::Encoding, detail));
        }
        members.push(member);
    }
    // A footer may leave out what every reader has to expect: levels are RLE.
    members.push(Encoding::Rle);
    match is_in_dictionary(chunk) {
        true => members.retain(|member| is_no_value(*member)),
        false => members.push(Encoding::Plain),
    }
    Ok(Encodings::of(members))
}

/// Whether values in data pages are indexes into the dictionary, all of them, as the footer says.
fn is_in_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let is_index = |encoding| {
        matches!(encoding, ParquetEncoding::RLE_DICTIONARY | ParquetEncoding::PLAIN_DICTIONARY)
    };
    dictionary_bytes(chunk) > 0
        && chunk.page_encoding_stats_mask().is_some_and(|mask| {
            let mut encodings = mask.encodings().peekable();
            encodings.peek().is_some() && encodings.all(is_index)
        })
}

/// Whether a drive looks keys of joins up for each row of a chunk with a dictionary of numbers:
/// otherwise for its entries, which a loader decompresses, if all values are among them.
pub(crate) fn looks_keys_up_by_row(chunk: &Chunk) -> bool {
    let has_loader = matches!(chunk.codec, Codec::Uncompressed | Codec::Snappy);
    let is_of_numbers = chunk.physical_type != PhysicalType::ByteArray;
    let is_by_entry = has_loader && !chunk.encodings.contains(Encoding::Plain);
    chunk.dictionary_bytes > 0 && is_of_numbers && !is_by_entry
}

/// Whether an encoding is one of indexes or levels. A dictionary page is always plain, and commands
/// state the encodings of data pages.
fn is_no_value(encoding: Encoding) -> bool {
    use Encoding::{BitPacked, PlainDictionary, Rle, RleDictionary};
    matches!(encoding, BitPacked | PlainDictionary | Rle | RleDictionary)
}

/// Bytes of the chunk's dictionary page as stored, with its header; 0 without one, and where the
/// footer contradicts itself.
pub(crate) fn dictionary_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    // Some writers put 0 where there is none.
    let start = chunk.dictionary_page_offset().filter(|at| *at > 0);
    let size = start.map(|at| chunk.data_page_offset() - at);
    let (_, length) = chunk.byte_range();
    size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size <= length).unwrap_or(0)
}

/// The chunk of a column by name.
pub(crate) fn chunk_metadata<'a>(
    group: &'a RowGroupMetaData,
    name: &str,
) -> Option<&'a ColumnChunkMetaData> {
    let is_named = |chunk: &&ColumnChunkMetaData| {
        chunk.column_path().parts().first().is_some_and(|part| part == name)
    };
    group.columns().iter().find(is_named)
}

/// Converts a refusal of a drive to a reason.
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

    fn range(&self, table_index: usize) -> Option<(i64, i64)> {
        let field = self.schema.fields().get(table_index)?;
        let groups = self.units.iter().map(RowGroup::metadata);
        // If all values are NULL, any range holds.
        Some(column_range(groups, field.name(), field.data_type())?.unwrap_or((0, 0)))
    }

    fn check_dictionary(&self, table_index: usize) -> Lowered<()> {
        let Some(field) = self.schema.fields().get(table_index) else { return Ok(()) };
        for unit in self.units.iter() {
            let Some(chunk) = chunk_metadata(unit.metadata(), field.name()) else { continue };
            if chunk.num_values() > 0 && dictionary_bytes(chunk) == 0 {
                let detail = format!("group key {} has no dictionary", field.name());
                return Err(Kept::new(KeepReason::GroupCardinality, detail));
            }
        }
        Ok(())
    }
}

/// The least and the greatest value of a column in some row groups, `Some(None)` when all are null,
/// nothing if one of them has no statistics.
pub(crate) fn column_range<'a>(
    groups: impl IntoIterator<Item = &'a RowGroupMetaData>,
    name: &str,
    data_type: &DataType,
) -> Option<Option<(i64, i64)>> {
    let mut range: Option<(i64, i64)> = None;
    for group in groups {
        let chunk = chunk_metadata(group, name)?;
        let Some((least, greatest)) = chunk_range(chunk, data_type)? else { continue };
        let (first, last) = range.unwrap_or((least, greatest));
        range = Some((first.min(least), last.max(greatest)));
    }
    Some(range)
}

/// The least and the greatest value of a chunk as statistics have it, `Some(None)` when all are
/// null, nothing without statistics or where they are no values of `data_type`.
pub(crate) fn chunk_range(
    chunk: &ColumnChunkMetaData,
    data_type: &DataType,
) -> Option<Option<(i64, i64)>> {
    let statistics = chunk.statistics()?;
    if statistics.null_count_opt() == u64::try_from(chunk.num_values()).ok() {
        return Some(None);
    }
    // The table may have a wider type, so only that of the file says how to read the bounds.
    let (_, reading) = stored_as(chunk.column_descr(), data_type)?;
    let is_unsigned = reading.rule == ReadAs::Unsigned;
    // Old writers compared all numbers as signed ones.
    if is_unsigned && statistics.is_min_max_deprecated() {
        return None;
    }
    match statistics {
        Statistics::Int32(bounds) if is_unsigned => {
            let number = |stored: i32| i64::from(stored.cast_unsigned());
            Some(Some((number(*bounds.min_opt()?), number(*bounds.max_opt()?))))
        }
        Statistics::Int32(bounds) => {
            Some(Some((i64::from(*bounds.min_opt()?), i64::from(*bounds.max_opt()?))))
        }
        Statistics::Int64(_) if is_unsigned => None,
        Statistics::Int64(bounds) => Some(Some((*bounds.min_opt()?, *bounds.max_opt()?))),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use parquet::{
        arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
        file::properties::{WriterProperties, WriterPropertiesBuilder},
    };

    use super::*;

    /// What the footer says of the only chunk of a file with one column, in pages of 1000 rows.
    pub(crate) fn written_chunk(
        column: ArrayRef,
        properties: WriterPropertiesBuilder,
    ) -> ColumnChunkMetaData {
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let properties = properties.set_data_page_row_count_limit(1000).build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file)).unwrap();
        reader.metadata().row_group(0).column(0).clone()
    }

    /// The chunk of 3000 different numbers, whose dictionary is given up at so many bytes.
    fn chunk(dictionary_bytes_max: usize) -> ColumnChunkMetaData {
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(dictionary_bytes_max)
            .set_write_batch_size(100);
        written_chunk(Arc::new((0..3000).collect::<Int64Array>()), properties)
    }

    fn encodings(chunk: &ColumnChunkMetaData) -> Encodings {
        encodings_of(chunk, "n", Encodings::ALL).unwrap()
    }

    #[test]
    fn data_pages_that_are_all_in_the_dictionary_have_no_plain_values() {
        let indexes = Encodings::of([Encoding::Rle, Encoding::RleDictionary]);
        assert_eq!(encodings(&chunk(1 << 20)), indexes);
        // The footer lists the dictionary page, which is plain, in either case.
        let given_up = chunk(8000);
        assert!(dictionary_bytes(&given_up) > 0);
        let both = Encodings::of([Encoding::Plain, Encoding::Rle, Encoding::RleDictionary]);
        assert_eq!(encodings(&given_up), both);
        let unknown = chunk(1 << 20).into_builder().clear_page_encoding_stats().build().unwrap();
        assert!(encodings(&unknown).contains(Encoding::Plain));
    }
}
