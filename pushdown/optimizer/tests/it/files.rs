// SPDX-License-Identifier: Apache-2.0
//! Makes small tables like those of TPC-H, with several row groups, and columns of types that no
//! drive reads. The values follow from the row's number; they must not change, since plans depend
//! on their footers.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use arrow::{
    array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
        ListBuilder, RecordBatch, StringArray, StringBuilder,
    },
    datatypes::{Field, Schema},
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{WriterProperties, WriterPropertiesBuilder},
};

use crate::bench::Bench;

/// Rows of a row group.
const GROUP_ROWS: i64 = 1000;

/// Row groups of `lineitem`.
const GROUPS: i64 = 4;

const SHIP_MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];

fn numbers<A: FromIterator<Option<N>>, N>(rows: i64, value: impl Fn(i64) -> Option<N>) -> A {
    (0..rows).map(value).collect()
}

fn decimals(rows: i64, precision: u8, value: impl Fn(i64) -> Option<i128>) -> ArrayRef {
    let array: Decimal128Array = numbers(rows, value);
    Arc::new(array.with_precision_and_scale(precision, 2).unwrap())
}

fn strings(rows: i64, value: impl Fn(i64) -> Option<String>) -> ArrayRef {
    Arc::new(numbers::<StringArray, String>(rows, value))
}

/// The day of 1992-01-01.
const FIRST_DAY: i64 = 8035;

fn days(rows: i64, value: impl Fn(i64) -> i64) -> ArrayRef {
    let day = |row| Some(i32::try_from(FIRST_DAY + value(row)).unwrap());
    Arc::new(numbers::<Date32Array, i32>(rows, day))
}

/// The rows of `lineitem`. The keys ascend, so that each row group has its own range.
pub(crate) fn lineitem() -> RecordBatch {
    let rows = GROUPS * GROUP_ROWS;
    let int32 = |value: fn(i64) -> i64| -> ArrayRef {
        Arc::new(numbers::<Int32Array, i32>(rows, |row| Some(i32::try_from(value(row)).unwrap())))
    };
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in 0..rows {
        tags.values().append_value(if row % 2 == 0 { "even" } else { "odd" });
        tags.append(true);
    }
    let pick = |texts: &'static [&'static str], row: i64| {
        Some(texts[usize::try_from(row).unwrap() % texts.len()].to_owned())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("l_orderkey", Arc::new(numbers::<Int64Array, i64>(rows, |row| Some(row / 4)))),
        ("l_partkey", int32(|row| row * 7919 % 200)),
        ("l_linenumber", int32(|row| row % 7 + 1)),
        ("l_quantity", decimals(rows, 15, |row| Some(i128::from((row * 37 % 50 + 1) * 100)))),
        (
            "l_extendedprice",
            decimals(rows, 15, |row| Some(i128::from(90_000 + row * 7919 % 99_991))),
        ),
        ("l_discount", decimals(rows, 15, |row| Some(i128::from(row % 11)))),
        ("l_tax", decimals(rows, 15, |row| Some(i128::from(row % 9)))),
        ("l_returnflag", strings(rows, |row| pick(&["A", "N", "R"], row))),
        ("l_linestatus", strings(rows, |row| pick(&["F", "O"], row / 2))),
        ("l_shipdate", days(rows, |row| row * 13 % 2500)),
        ("l_commitdate", days(rows, |row| row * 13 % 2500 + row % 17)),
        ("l_receiptdate", days(rows, |row| row * 13 % 2500 + row % 29)),
        ("l_shipmode", strings(rows, |row| pick(&SHIP_MODES, row))),
        ("l_comment", strings(rows, |row| Some(format!("comment number {row}")))),
        (
            "l_code",
            Arc::new(numbers::<Int64Array, i64>(rows, |row| (row % 5 != 0).then_some(row % 40))),
        ),
        ("l_note", strings(rows, |row| if row % 4 == 0 { None } else { pick(&["x", "y"], row) })),
        (
            "l_weight",
            Arc::new(numbers::<Float64Array, f64>(rows, |row| Some((row % 64) as f64 / 8.0))),
        ),
        ("l_active", Arc::new(numbers::<BooleanArray, bool>(rows, |row| Some(row % 2 == 0)))),
        ("l_wide", decimals(rows, 25, |row| Some(i128::from(row)))),
        ("l_huge", Arc::new(numbers::<Int64Array, i64>(rows, |row| Some(row << 50)))),
        ("l_tags", Arc::new(tags.finish())),
    ];
    batch_of(columns, |name| matches!(name, "l_code" | "l_note" | "l_tags"))
}

/// The rows of `orders`: every fourth order of `lineitem`, over two row groups.
pub(crate) fn orders(rows: i64) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("o_orderkey", Arc::new(numbers::<Int64Array, i64>(rows, |row| Some(row * 4)))),
        (
            "o_custkey",
            Arc::new(numbers::<Int32Array, i32>(rows, |row| {
                Some(i32::try_from(row % 50).unwrap())
            })),
        ),
        ("o_orderdate", days(rows, |row| row * 5)),
    ];
    batch_of(columns, |_| false)
}

fn batch_of(columns: Vec<(&str, ArrayRef)>, is_nullable: fn(&str) -> bool) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| {
        Field::new(*name, array.data_type().clone(), is_nullable(name))
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// A bench with the table `parts`, partitioned by a column that is not in its two files.
pub(crate) fn with_partitions(bench: Bench) -> Bench {
    for part in [1, 2] {
        let folder = bench.path(&format!("parts/part={part}"));
        std::fs::create_dir_all(&folder).unwrap();
        write(&folder.join("data.parquet"), &orders(100), usual());
    }
    let location = bench.path("parts");
    bench.sql(format!(
        "CREATE EXTERNAL TABLE parts (o_orderkey BIGINT, o_custkey INT, o_orderdate DATE, \
         part INT) \
         STORED AS PARQUET PARTITIONED BY (part) LOCATION '{}/'",
        location.display()
    ))
}

/// The properties of the written files: Snappy, dictionaries, and one column without either.
pub(crate) fn usual() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(usize::try_from(GROUP_ROWS).unwrap()))
        .set_column_dictionary_enabled("l_extendedprice".into(), false)
        .set_column_encoding("l_extendedprice".into(), Encoding::PLAIN)
}

/// Writes a file.
pub(crate) fn write(path: &Path, batch: &RecordBatch, properties: WriterPropertiesBuilder) {
    std::fs::write(path, encoded(batch, properties)).unwrap();
}

/// Writes the files that every bench has; they are encoded once.
pub(crate) fn write_usual(folder: &Path) {
    static FILES: OnceLock<[(&str, Vec<u8>); 2]> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let orders_groups = usual().set_max_row_group_row_count(Some(125));
        [
            ("lineitem.parquet", encoded(&lineitem(), usual())),
            ("orders.parquet", encoded(&orders(250), orders_groups)),
        ]
    });
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

fn encoded(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let properties = properties.build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}
