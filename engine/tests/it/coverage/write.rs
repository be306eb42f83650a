// SPDX-License-Identifier: Apache-2.0
//! Writes a file of a layout, column by column, so that it holds what the layout says and no more.
//!
//! A file has a key `k` from 0, plain and required, and `v`. What was written is read back: a file
//! that is not of its layout would be a cell of another.

use std::{fs::File, path::Path, sync::Arc};

use nearscan::parquet::{
    basic::Encoding,
    column::{
        page::{CompressedPage, Page, PageWriteSpec, PageWriter},
        writer::{ColumnWriter, get_column_writer},
    },
    data_type::{ByteArray, FixedLenByteArray, Int96},
    errors::Result,
    file::{
        properties::{WriterPropertiesPtr, WriterVersion},
        reader::{FileReader, SerializedFileReader},
        writer::{
            SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
        },
    },
    schema::types::{ColumnDescPtr, SchemaDescriptor},
};

use super::{
    cells::{Cell, Float},
    layout::{GROUP_ROWS, Layout, ROW_COUNT, Values},
    types::StoredType,
};

/// Days from the first one of the Julian calendar, which INT96 counts, to 1970.
const JULIAN_DAYS: i128 = 2_440_588;
const DAY_NS: i128 = 86_400_000_000_000;

/// Writes the cells of `layout`, and returns them.
pub(crate) fn write(layout: &Layout, stored: &StoredType, path: &Path) -> Vec<Cell> {
    let cells = layout.cells(stored);
    let schema = stored.schema(layout.nulls.repetition());
    let [key, column] = [0, 1].map(|at| SchemaDescriptor::new(Arc::clone(&schema)).column(at));
    let properties = layout.properties(&column, stored);
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::clone(&properties)).unwrap();
    for (group, cells) in cells.chunks(GROUP_ROWS).enumerate() {
        let mut row_group = writer.next_row_group().unwrap();
        let first = i128::try_from(group * GROUP_ROWS).unwrap();
        let keys: Vec<Cell> = (first..).map(Cell::Integer).take(cells.len()).collect();
        let mut keys_out = row_group.next_column().unwrap().unwrap();
        put(keys_out.untyped(), &key, &keys);
        keys_out.close().unwrap();
        if layout.values == Values::OldDictionary {
            append_renamed(&mut row_group, &column, Arc::clone(&properties), cells);
        } else {
            let mut values_out = row_group.next_column().unwrap().unwrap();
            put(values_out.untyped(), &column, cells);
            values_out.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.close().unwrap();
    check(layout, path);
    cells
}

/// Writes the cells that are not NULL, and for each whether it is. A list has one element.
fn put(writer: &mut ColumnWriter<'_>, column: &ColumnDescPtr, cells: &[Cell]) {
    let most = column.max_def_level();
    let level = |cell: &Cell| if *cell == Cell::Null { 0 } else { most };
    let definition: Option<Vec<i16>> = (most > 0).then(|| cells.iter().map(level).collect());
    let repetition = (column.max_rep_level() > 0).then(|| vec![0; cells.len()]);
    macro_rules! put {
        ($writer:expr, $value:expr) => {{
            let there = cells.iter().filter(|cell| **cell != Cell::Null);
            let values: Vec<_> = there.map($value).collect();
            $writer.write_batch(&values, definition.as_deref(), repetition.as_deref()).unwrap()
        }};
    }
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => put!(writer, boolean),
        ColumnWriter::Int32ColumnWriter(writer) => {
            put!(writer, |cell| i32::try_from(integer(cell)).unwrap())
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            put!(writer, |cell| i64::try_from(integer(cell)).unwrap())
        }
        ColumnWriter::Int96ColumnWriter(writer) => put!(writer, |cell| int96(integer(cell))),
        #[expect(clippy::cast_possible_truncation, reason = "quarters of small numbers")]
        ColumnWriter::FloatColumnWriter(writer) => put!(writer, |cell| float(cell) as f32),
        ColumnWriter::DoubleColumnWriter(writer) => put!(writer, float),
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            put!(writer, |cell| ByteArray::from(bytes(cell, 0)))
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            let length = usize::try_from(column.type_length()).unwrap();
            put!(writer, |cell| FixedLenByteArray::from(bytes(cell, length)))
        }
    };
}

fn boolean(cell: &Cell) -> bool {
    let Cell::Boolean(value) = cell else { panic!("{cell:?} is no boolean") };
    *value
}

fn integer(cell: &Cell) -> i128 {
    let Cell::Integer(value) = cell else { panic!("{cell:?} is no integer") };
    *value
}

fn float(cell: &Cell) -> f64 {
    let Cell::Float(Float(value)) = cell else { panic!("{cell:?} is no number") };
    *value
}

/// A string, or the digits of a decimal in `length` bytes.
fn bytes(cell: &Cell, length: usize) -> Vec<u8> {
    match cell {
        Cell::Bytes(bytes) => bytes.clone(),
        other => integer(other).to_be_bytes()[16 - length..].to_vec(),
    }
}

/// The nanoseconds of a day in eight bytes, and the day in four.
fn int96(ns: i128) -> Int96 {
    let [low, high] = {
        let of_day = ns.rem_euclid(DAY_NS);
        [of_day & 0xffff_ffff, of_day >> 32].map(|word| u32::try_from(word).unwrap())
    };
    let day = u32::try_from(ns.div_euclid(DAY_NS) + JULIAN_DAYS).unwrap();
    let mut value = Int96::new();
    value.set_data(low, high, day);
    value
}

/// Appends a column with a dictionary whose pages have the old name of its encoding, which the
/// library reads and no longer writes.
fn append_renamed(
    row_group: &mut SerializedRowGroupWriter<'_, File>,
    column: &ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &[Cell],
) {
    let mut sink = TrackedWrite::new(tempfile::tempfile().unwrap());
    let pages = Box::new(Renamed(SerializedPageWriter::new(&mut sink)));
    let mut writer = get_column_writer(Arc::clone(column), properties, pages);
    put(&mut writer, column, cells);
    let mut closed = writer.close().unwrap();
    let metadata = closed.metadata.into_builder().clear_page_encoding_stats();
    let encodings = vec![Encoding::PLAIN_DICTIONARY, Encoding::RLE];
    closed.metadata = metadata.set_encodings(encodings).build().unwrap();
    row_group.append_column(&sink.into_inner().unwrap(), closed).unwrap();
}

struct Renamed<'a>(SerializedPageWriter<'a, File>);

impl PageWriter for Renamed<'_> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let size = page.uncompressed_size();
        let mut page = page.compressed_page().clone();
        match &mut page {
            Page::DataPage { encoding, .. }
            | Page::DataPageV2 { encoding, .. }
            | Page::DictionaryPage { encoding, .. } => *encoding = Encoding::PLAIN_DICTIONARY,
        }
        self.0.write_page(CompressedPage::new(page, size))
    }

    fn close(&mut self) -> Result<()> {
        self.0.close()
    }
}

fn check(layout: &Layout, path: &Path) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), ROW_COUNT / GROUP_ROWS);
    for group in 0..reader.metadata().num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        assert_eq!(group.metadata().column(1).compression(), layout.codec);
        let pages = group.get_column_page_reader(1).unwrap().map(|page| page.unwrap());
        let pages: Vec<Page> = pages.filter(Page::is_data_page).collect();
        assert!(pages.len() > 1, "{layout:?}");
        let mut encodings: Vec<Encoding> = pages.iter().map(Page::encoding).collect();
        encodings.dedup();
        assert_eq!(encodings, layout.encodings(), "{layout:?}");
        let is_second = |page: &Page| matches!(page, Page::DataPageV2 { .. });
        let second = pages.iter().filter(|page| is_second(page)).count();
        let expected = if layout.pages == WriterVersion::PARQUET_2_0 { pages.len() } else { 0 };
        assert_eq!(second, expected, "{layout:?}");
    }
}
