// SPDX-License-Identifier: Apache-2.0
//! Parquet files that are damaged: the error says where.

use std::{
    fs::{self, File},
    sync::Arc,
};

use nearscan::{
    Error,
    arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray},
    datafusion::parquet::{
        arrow::ArrowWriter,
        basic::Compression,
        file::{
            properties::WriterProperties,
            reader::{FileReader, SerializedFileReader},
        },
    },
};
use rstest::rstest;

use crate::support::{engine, engine_with_drive};

const PAGE_ROWS: usize = 100;

/// Two row groups of three pages in each of two columns, and where the second page of `b` in the
/// second row group starts.
fn write(path: &str) -> u64 {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(3 * PAGE_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_dictionary_enabled(false)
        .set_compression(Compression::SNAPPY)
        .build();
    let numbers = 0..6 * i64::try_from(PAGE_ROWS).unwrap();
    let columns: [(&str, ArrayRef); 2] = [
        ("a", Arc::new(Int64Array::from_iter_values(numbers.clone()))),
        ("b", Arc::new(StringArray::from_iter_values(numbers.map(|n| format!("text {n}"))))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let written = writer.close().unwrap();
    let page = &written.offset_index().unwrap()[1][1].page_locations()[1];
    page.offset.try_into().unwrap()
}

async fn detail(drive: &str, path: &str, sql: &str) -> String {
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    let query = async { engine.sql(&sql.replace("t.parquet", path)).await?.collect().await };
    let error: Error = query.await.unwrap_err();
    assert_eq!(error.to_string(), "data cannot be read");
    error.detail().unwrap()
}

#[rstest]
#[case::rows("SELECT * FROM 't.parquet'")]
#[case::filtered("SELECT a FROM 't.parquet' WHERE b <> 'text'")]
#[case::grouped("SELECT max(b), count(*) FROM 't.parquet' GROUP BY a % 3")]
#[tokio::test]
async fn page_that_does_not_unpack_is_named(
    #[case] sql: &str,
    #[values("none", "force")] drive: &str,
    #[values(3, 40)] behind: usize,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let page = write(&path);
    let mut bytes = fs::read(&path).unwrap();
    // Three bytes behind its start is the header, forty behind it is what it compresses.
    let at = usize::try_from(page).unwrap() + behind;
    bytes[at..at + 4].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let found = detail(drive, &path, sql).await;
    let expected = format!("file '{path}', row group 1, column 'b', byte {page}: ");
    assert!(found.starts_with(&expected), "{found}\n{expected}");
    // Bytes that are not read are not checked.
    let engine = engine().await;
    let sql = format!("SELECT sum(a) FROM '{path}'");
    assert_eq!(engine.sql(&sql).await.unwrap().collect().await.unwrap().profile.rows, 1);
}

#[rstest]
#[tokio::test]
async fn footer_that_cannot_be_read_is_named(#[values("t.parquet", "t.parq", "t")] name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name).display().to_string();
    write(&path);
    let start = {
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let bytes = fs::read(&path).unwrap();
        let length = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap());
        bytes.len() - 8 - length as usize
    };
    let mut bytes = fs::read(&path).unwrap();
    bytes[start + 2..start + 6].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let found = detail("none", &path, "SELECT * FROM 't.parquet'").await;
    let expected = format!("file '{path}', byte {start}: the footer cannot be read: ");
    assert!(found.starts_with(&expected), "{found}\n{expected}");
}

/// Keys of a map cannot be read without its values, which is no damage.
#[tokio::test]
async fn map_beside_the_damage_is_not_to_blame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let copy = format!(
        "COPY (SELECT MAP {{'key': value}} AS m, value AS n FROM generate_series(1, 1000)) TO '{path}'"
    );
    engine().await.sql(&copy).await.unwrap().collect().await.unwrap();
    let start = {
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        reader.metadata().row_group(0).column(2).data_page_offset()
    };
    let mut bytes = fs::read(&path).unwrap();
    let at = usize::try_from(start).unwrap() + 40;
    bytes[at..at + 4].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let found = detail("none", &path, "SELECT m, n FROM 't.parquet'").await;
    assert!(found.contains("row group 0, column 'n', byte "), "{found}");
}

/// The reason is one that a sound chunk has too when it is read alone, or one that only some
/// decoders have.
#[rstest]
#[case::an_encoding_of_texts(false, "n", &[0x15, 0x00, 0x15, 0x06, 0x15, 0x06], (1, 0x0e), "not supported")]
#[case::a_dictionary_of_301(true, "s", &[0x4c, 0x15, 0xd8, 0x04], (2, 0xda), "eof")]
#[tokio::test]
async fn page_header_that_lies_is_named(
    #[case] has_dictionary: bool,
    #[case] column: &str,
    #[case] header: &[u8],
    #[case] lie: (usize, u8),
    #[case] why: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let copy = format!(
        "COPY (SELECT value AS n, 'text ' || value AS s FROM generate_series(1, 300)) \
         TO '{path}' OPTIONS (format.dictionary_enabled {has_dictionary})"
    );
    engine().await.sql(&copy).await.unwrap().collect().await.unwrap();
    let start = {
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let leaf = usize::from(column == "s");
        reader.metadata().row_group(0).column(leaf).byte_range().0
    };
    let mut bytes = fs::read(&path).unwrap();
    let from = usize::try_from(start).unwrap();
    let at = bytes[from..].windows(header.len()).position(|window| window == header).unwrap();
    bytes[from + at + lie.0] = lie.1;
    fs::write(&path, bytes).unwrap();
    let found = detail("none", &path, "SELECT s, n FROM 't.parquet'").await;
    let place = format!("file '{path}', row group 0, column '{column}', byte {start}: ");
    assert!(found.starts_with(&place) && found.contains(why), "{found}\n{place}");
}
