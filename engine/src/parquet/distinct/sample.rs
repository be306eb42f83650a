// SPDX-License-Identifier: Apache-2.0
//! Takes a sample of rows, counts its different values and finds its quantiles.
//!
//! The sample is the first rows of a few row groups that are spread over the file: whole pages are
//! read, validated as those of a scan are ([`Chunks`]), decompressed and decoded by the `parquet`
//! crate. Whatever fails there, for example a corrupt page, makes a sample that is not there; the
//! scan of the query finds the error if it reads the page.
//!
//! Different values are counted by HyperLogLog, of so many registers that the sketch stays in its
//! sparse mode, where it keeps a coupon of 32 bits for each value: the error is a few values in
//! 65,536. A dense sketch of usual size has an error of a percent, which would be too much: it is
//! by the few values that a sample has twice that a column of many values is told from one whose
//! values are all different.

use std::{
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use datafusion::{
    common::runtime::SpawnedTask,
    parquet::{
        column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader},
        data_type::{AsBytes, DataType},
        errors::Result as ParquetResult,
        file::{
            metadata::{ColumnChunkMetaData, ParquetMetaData},
            serialized_reader::SerializedPageReader,
        },
    },
};
use datasketches::hll::{Coupon, HllSketch, HllType};
use futures::future::join_all;
use nearscan_cpu::PageHeader;
use nearscan_optimizer::{
    distinct::{Part, Scale},
    quantiles::Quantiles,
};

use super::column::{Column, spread};
use crate::parquet::{in_memory::InMemory, validate::pages::Chunks};

/// Row groups of which rows are in a sample.
const CHUNKS_MAX: usize = 4;

/// The rows of a sample are a root of those of the file, between these: with the root of 200 rows
/// for each, a sample has a value twice if the file has it some hundred times.
const ROWS_MIN: usize = 8 << 10;
const ROWS_MAX: usize = 64 << 10;
const ROWS_FACTOR: f64 = 200.0;

/// The logarithm of the registers of a sketch. It is sparse up to three quarters of an eighth of
/// them, which is more than [`ROWS_MAX`].
const LOG_REGISTERS: u8 = 21;

/// Bytes of a chunk that are read at once, twice as many each time.
const STEP_BYTES: usize = 64 << 10;

/// Bytes of a chunk that are read in all. Pages of DuckDB have 122,880 rows, so those of eight
/// bytes have 1 MiB.
const CHUNK_BYTES_MAX: usize = 4 << 20;

/// Uncompressed bytes of a page. Larger ones are not sampled: decompressing one takes 2 ms.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// The share of the values of each piece that is below the median of all, if pieces are samples of
/// the whole column.
const BELOW_MEDIAN: RangeInclusive<f64> = 0.25..=0.75;

/// Returns the counts of a sample; none if nothing of the column can be read.
pub(super) async fn parts(column: &Column<'_>) -> Option<Vec<Part>> {
    let pieces = pieces(column, rows(column)).await?;
    let parts: Vec<Part> = pieces.iter().map(Piece::part).collect::<Option<_>>()?;
    // Pieces that overlap everywhere are one sample, which shows more.
    match column.whole.is_mixed(&parts) {
        true => Some(vec![Piece::of_all(&pieces).part()?]),
        false => Some(parts),
    }
}

/// Returns the quantiles of a sample, between the bounds of the column; none if nothing can be
/// read, or the first rows of row groups are not like the others. Bounds of row groups tell more
/// then.
pub(super) async fn quantiles(column: &Column<'_>) -> Option<Quantiles> {
    // Values of other kinds have no places.
    column.scale?;
    let pieces = pieces(column, ROWS_MIN).await?;
    let places: Vec<f64> = pieces.iter().flat_map(|piece| piece.places.iter().copied()).collect();
    let quantiles = Quantiles::of_sample(&places)?;
    let is_whole = places.len() as f64 >= column.whole.values;
    let median = quantiles.places().get(quantiles.places().len() / 2).copied()?;
    let is_alike = |piece: &Piece| piece.is_out_of_order() && piece.has_median(median);
    let bounds = column.whole.ranges.iter().copied();
    let bounds = bounds.reduce(|all, range| (all.0.min(range.0), all.1.max(range.1)));
    (is_whole || pieces.iter().all(is_alike)).then(|| match bounds {
        Some(bounds) => quantiles.within(bounds),
        None => quantiles,
    })
}

/// Reads and decodes so many rows in all.
async fn pieces(column: &Column<'_>, rows: usize) -> Option<Vec<Piece>> {
    let chunks: Vec<(usize, &ColumnChunkMetaData)> = column.chunks().collect();
    let rows = rows.div_ceil(chunks.len().clamp(1, CHUNKS_MAX));
    let pieces = spread(chunks.len(), CHUNKS_MAX).map(async |at| {
        let (row_group, chunk) = chunks[at];
        let (bytes, rows) = pages(column, chunk, rows).await?;
        let place = Place { row_group, leaf: column.leaf, rows };
        let (footer, scale) = (Arc::clone(column.file.footer), column.scale);
        let decoded = SpawnedTask::spawn_blocking(move || {
            // Decoders panic on some corrupt pages.
            catch_unwind(AssertUnwindSafe(|| piece(&footer, place, bytes, scale))).ok()?
        });
        decoded.await.ok()?
    });
    join_all(pieces).await.into_iter().collect()
}

/// The rows of a sample of a column.
fn rows(column: &Column<'_>) -> usize {
    let rows = (ROWS_FACTOR * column.whole.values).sqrt();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
    let rows = rows as usize;
    rows.clamp(ROWS_MIN, ROWS_MAX)
}

/// Reads the first pages of a chunk, up to so many rows, and returns how many they have.
async fn pages(
    column: &Column<'_>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> Option<(Bytes, usize)> {
    let (start, length) = chunk.byte_range();
    let length = usize::try_from(length).ok()?;
    let mut end = STEP_BYTES.min(length);
    loop {
        let range = start..start + end as u64;
        let mut read = column.file.read(std::slice::from_ref(&range)).await?;
        let bytes = read.pop()?;
        let Pages { whole_bytes, values, needed } = Pages::of(&bytes, rows)?;
        let next = needed.max(2 * end).min(length);
        let is_enough = values >= rows || end == length || next > CHUNK_BYTES_MAX;
        if is_enough {
            return (values > 0).then(|| (bytes.slice(..whole_bytes), values.min(rows)));
        }
        end = next;
    }
}

/// The pages at the start of a chunk of which only some bytes were read.
struct Pages {
    /// Bytes of the pages that are there as a whole.
    whole_bytes: usize,
    /// Values of those, NULLs included.
    values: usize,
    /// Bytes up to the end of the next page, as far as is known.
    needed: usize,
}

impl Pages {
    /// Walks over pages until they have so many values; none if one is too large.
    fn of(bytes: &[u8], rows: usize) -> Option<Self> {
        let mut pages = Self { whole_bytes: 0, values: 0, needed: 0 };
        while pages.values < rows {
            let at = pages.whole_bytes;
            let Ok((header, header_bytes)) = PageHeader::read(&bytes[at..]) else { break };
            if header.uncompressed_bytes > PAGE_BYTES_MAX {
                return None;
            }
            let end = at.saturating_add(header_bytes).saturating_add(header.compressed_bytes);
            pages.needed = end;
            if end > bytes.len() {
                break;
            }
            pages.whole_bytes = end;
            pages.values = pages.values.saturating_add(header.values() as usize);
        }
        Some(pages)
    }
}

/// Rows of a chunk.
#[derive(Debug, Clone, Copy)]
struct Place {
    row_group: usize,
    leaf: usize,
    rows: usize,
}

/// The values of some rows that follow one another.
struct Piece {
    coupons: Vec<Coupon>,
    /// The places of the values that have one.
    places: Vec<f64>,
}

impl Piece {
    /// The counts of the piece.
    fn part(&self) -> Option<Part> {
        let mut sketch = HllSketch::new(LOG_REGISTERS, HllType::Hll4).ok()?;
        self.coupons.iter().for_each(|coupon| sketch.update_with_coupon(*coupon));
        let values = f64::from(u32::try_from(self.coupons.len()).ok()?);
        Some(Part { values, distinct: sketch.estimate().min(values), range: self.range() })
    }

    fn range(&self) -> Option<(f64, f64)> {
        let places = self.places.iter().map(|place| (*place, *place));
        places.reduce(|all, place| (all.0.min(place.0), all.1.max(place.1)))
    }

    fn of_all(pieces: &[Self]) -> Self {
        Self {
            coupons: pieces.iter().flat_map(|piece| piece.coupons.iter().copied()).collect(),
            places: pieces.iter().flat_map(|piece| piece.places.iter().copied()).collect(),
        }
    }

    /// Whether values go up and down, so that those behind the piece may be like these.
    fn is_out_of_order(&self) -> bool {
        !self.places.is_sorted() && !self.places.is_sorted_by(|one, other| one >= other)
    }

    /// Whether about half of the values are below a number, or are that number.
    #[expect(clippy::cast_precision_loss, reason = "a piece has few values")]
    fn has_median(&self, median: f64) -> bool {
        let share = |is_meant: fn(&f64, f64) -> bool| {
            let meant = self.places.iter().filter(|place| is_meant(place, median)).count();
            meant as f64 / self.places.len().max(1) as f64
        };
        share(|place, median| *place < median) <= *BELOW_MEDIAN.end()
            && share(|place, median| *place <= median) >= *BELOW_MEDIAN.start()
    }
}

/// Decodes the rows at a place from the pages that have them.
fn piece(
    footer: &Arc<ParquetMetaData>,
    place: Place,
    bytes: Bytes,
    scale: Option<Scale>,
) -> Option<Piece> {
    let group = footer.row_group(place.row_group);
    let chunk = group.column(place.leaf);
    let (start, _) = chunk.byte_range();
    Chunks::of(footer, String::new()).check(start, &bytes).ok()?;
    let rows = usize::try_from(group.num_rows()).ok()?;
    let bytes = Arc::new(InMemory { start, bytes });
    let pages = SerializedPageReader::new(bytes, chunk, rows, None).ok()?;
    let reader = get_column_reader(chunk.column_descr_ptr(), Box::new(pages));
    let rows = place.rows;
    let decoded = match reader {
        ColumnReader::BoolColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::Int32ColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::Int64ColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::Int96ColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::FloatColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::DoubleColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::ByteArrayColumnReader(reader) => values(reader, rows, scale),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => values(reader, rows, scale),
    };
    decoded.ok()
}

/// Decodes so many rows.
fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    scale: Option<Scale>,
) -> ParquetResult<Piece> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut missing = rows;
    while missing > 0 {
        let (read, ..) = reader.read_records(missing, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            break;
        }
        missing = missing.saturating_sub(read);
    }
    let coupons = values.iter().map(|value| Coupon::from_value(value.as_bytes())).collect();
    let places = values.iter().filter_map(|value| scale?.place(value.as_bytes())).collect();
    Ok(Piece { coupons, places })
}
