// SPDX-License-Identifier: Apache-2.0
//! Files that are odd and whole, and files that cannot be read: with everything forced to a drive
//! they return the rows, or say the words, that they do without.
//!
//! `tests/files/encrypted_*.parquet` are of pyarrow 26.0.1: `id` from 0 to 99 and `v`, once with an
//! encrypted footer, once with a plain one and `v` encrypted. No two encryptions are alike, so that
//! no program can write them anew byte by byte.
//!
//! Files without row groups, of older tables and of other writers are in `slt/file`.

use std::{fs, path::Path, sync::Arc};

use nearscan::{
    Engine,
    arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, UInt32Array},
    parquet::{
        arrow::ArrowWriter,
        basic::{Compression, Encoding},
        file::{
            metadata::{ParquetMetaDataReader, ParquetMetaDataWriter},
            properties::{EnabledStatistics, WriterProperties},
            statistics::Statistics,
        },
    },
};
use rstest::rstest;

use crate::support::{engine_with_drive, failure, text};

/// An engine without pushdown, and one that forces everything to the emulated drive.
struct Pair {
    off: Engine,
    forced: Engine,
}

impl Pair {
    /// The files at `path` are table `t`.
    async fn over(path: &Path) -> Self {
        let pair = Self::new().await;
        for engine in [&pair.off, &pair.forced] {
            engine.register("t", path.to_str().unwrap()).await.unwrap();
        }
        pair
    }

    async fn new() -> Self {
        Self { off: engine_with_drive("off").await, forced: engine_with_drive("force").await }
    }

    /// The rows that both return, and units of work that ran on the drive and that came back.
    async fn run(&self, sql: &str) -> (String, [u64; 2]) {
        let rows = text(&self.forced, sql).await;
        assert_eq!(rows, text(&self.off, sql).await, "{sql}");
        let result = self.forced.sql(sql).await.unwrap().collect().await.unwrap();
        let pushdown = result.profile.pushdown();
        (rows, [pushdown.units_drive, pushdown.units_cpu])
    }

    /// Returns the error, which is the same for both.
    async fn failure(&self, sql: &str) -> String {
        let error = failure(&self.forced, sql).await;
        assert_eq!(error, failure(&self.off, sql).await, "{sql}");
        error
    }
}

#[tokio::test]
async fn row_group_of_three_million_rows_is_read_on_both_sides() {
    const ROWS: i32 = 3_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROWS as usize))
        .set_dictionary_enabled(false)
        .set_column_encoding("k".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled("v".into(), true)
        .build();
    let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS));
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values((0..ROWS).map(|key| key % 10)));
    write(&path, &RecordBatch::try_from_iter([("k", keys), ("v", values)]).unwrap(), properties);

    let pair = Pair::over(&path).await;
    let sums = "SELECT count(*), sum(k), min(k), max(k) FROM t WHERE v = 3";
    let expected = "300000 449999400000 3 2999993";
    let (rows, units) = pair.run(sums).await;
    assert_eq!((rows.lines().last(), units), (Some(expected), [1, 0]));
    let (rows, units) = pair.run("SELECT v, count(*) FROM t GROUP BY v ORDER BY v LIMIT 1").await;
    assert_eq!((rows.lines().last(), units), (Some("0 300000"), [1, 0]));
    let (rows, units) = pair.run("SELECT k FROM t WHERE v > 4 ORDER BY k DESC LIMIT 1").await;
    assert_eq!((rows.lines().last(), units), (Some("2999999"), [1, 0]));
}

#[tokio::test]
async fn folder_of_six_hundred_files_is_read_on_both_sides() {
    const FILES: i64 = 600;
    let folder = tempfile::tempdir().unwrap();
    for file in 0..FILES {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values([file, file + FILES]));
        let rows = RecordBatch::try_from_iter([("k", keys)]).unwrap();
        let path = folder.path().join(format!("{file:03}.parquet"));
        write(&path, &rows, WriterProperties::builder().build());
    }
    let pair = Pair::over(folder.path()).await;
    let (rows, units) = pair.run("SELECT count(*), sum(k) FROM t WHERE k % 2 = 1").await;
    assert_eq!((rows.lines().last(), units), (Some("600 360000"), [600, 0]));
    // The files whose greatest key is 777 or more.
    let (rows, units) = pair.run("SELECT k FROM t WHERE k = 777").await;
    assert_eq!((rows.lines().last(), units), (Some("777"), [423, 0]));
}

/// A key of a group lies outside of the range that the footer promises.
#[tokio::test]
async fn statistics_that_are_wrong_make_no_group_vanish() {
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values((0..300).map(|row| row % 30)));
    let lie = Statistics::int32(Some(3), Some(9), None, Some(0), false);
    let statistics = [lie.clone(), lie];
    let (_folder, pair) = with_statistics("parquet-cpp version 1.3.0", values, statistics).await;
    let (rows, units) = pair.run("SELECT v, count(*) FROM t GROUP BY v ORDER BY v").await;
    assert_eq!(rows.lines().last(), Some("29 10"));
    assert_eq!((rows.lines().count(), units), (31, [0, 2]));
}

/// Old writers ordered unsigned integers as if they had a sign, so the footer promises 0 to 28.
#[tokio::test]
async fn statistics_of_unsigned_integers_by_their_sign() {
    const LARGE: u32 = 4_000_000_000;
    let values =
        (0..300).map(|row| if row < 150 || row % 2 == 0 { row % 30 / 2 * 2 } else { LARGE });
    let values: ArrayRef = Arc::new(UInt32Array::from_iter_values(values));
    let of = |least| Statistics::int32(Some(least), Some(28), None, Some(0), true);
    let statistics = [of(0), of(LARGE.cast_signed())];
    let (_folder, pair) = with_statistics("parquet-mr version 1.7.0", values, statistics).await;
    let (rows, units) = pair.run("SELECT v, count(*) FROM t GROUP BY v ORDER BY v").await;
    assert_eq!(rows.lines().last(), Some("4000000000 75"));
    assert_eq!((rows.lines().count(), units), (17, [0, 0]));
}

/// A file of two row groups with a column `v`, of which the footer says what it is told to say.
async fn with_statistics(
    created_by: &str,
    values: ArrayRef,
    statistics: [Statistics; 2],
) -> (tempfile::TempDir, Pair) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder()
        .set_created_by(created_by.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(values.len().div_ceil(2)))
        .set_dictionary_enabled(false)
        .build();
    write(&path, &RecordBatch::try_from_iter([("v", values)]).unwrap(), properties);

    let file = fs::File::open(&path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let groups = metadata.row_groups().iter().cloned().zip(statistics);
    let groups = groups.map(|(group, statistics)| {
        let column = group.column(0).clone().into_builder().set_statistics(statistics);
        let columns = vec![column.build().unwrap()];
        group.into_builder().set_column_metadata(columns).build().unwrap()
    });
    let metadata = metadata.clone().into_builder().set_row_groups(groups.collect()).build();
    // The footer follows the last column chunk.
    let (offset, length) = metadata.row_group(1).column(0).byte_range();
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(usize::try_from(offset + length).unwrap());
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    fs::write(&path, bytes).unwrap();
    let pair = Pair::over(&path).await;
    (folder, pair)
}

#[rstest]
#[case("encrypted_footer", "SELECT count(*) FROM FILE", "encrypted footer")]
#[case("encrypted_footer", "SELECT id FROM FILE WHERE v > 3", "encrypted footer")]
#[case("encrypted_columns", "SELECT sum(id) FROM FILE WHERE v > 3", "encrypted")]
#[case("encrypted_columns", "SELECT v, count(*) FROM FILE GROUP BY v", "encrypted")]
#[tokio::test]
async fn what_is_encrypted_is_refused(#[case] name: &str, #[case] sql: &str, #[case] says: &str) {
    let path = format!("{}/tests/files/{name}.parquet", env!("CARGO_MANIFEST_DIR"));
    let error = Pair::new().await.failure(&sql.replace("FILE", &format!("'{path}'"))).await;
    assert!(error.starts_with("error: data cannot be read\n"), "{error}");
    assert!(error.contains(says), "{error}");
}

#[tokio::test]
async fn what_is_not_encrypted_beside_it_is_read() {
    let path = format!("{}/tests/files/encrypted_columns.parquet", env!("CARGO_MANIFEST_DIR"));
    let pair = Pair::over(Path::new(&path)).await;
    let (rows, units) = pair.run("SELECT count(*), sum(id) FROM t WHERE id >= 50").await;
    assert_eq!((rows.lines().last(), units), (Some("50 3725"), [1, 0]));
}

/// A file that was whole when it became a table.
#[rstest]
#[case("corrupt input", |bytes: &mut Vec<u8>| bytes[40..400].fill(0))]
#[case("Corrupt footer", |bytes: &mut Vec<u8>| bytes.truncate(300))]
#[tokio::test]
async fn what_is_damaged_is_refused(#[case] says: &str, #[case] damage: fn(&mut Vec<u8>)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..500).map(|row| row * row)));
    let rows = RecordBatch::try_from_iter([("v", values)]).unwrap();
    write(&path, &rows, properties.set_dictionary_enabled(false).build());
    let pair = Pair::over(&path).await;
    let (whole, units) = pair.run("SELECT count(*) FROM t WHERE v > 100").await;
    assert_eq!((whole.lines().last(), units), (Some("489"), [1, 0]));

    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, bytes).unwrap();
    for sql in ["SELECT sum(v) FROM t WHERE v > 100", "SELECT v FROM t WHERE v > 100"] {
        let error = pair.failure(sql).await;
        assert!(error.starts_with("error: data cannot be read\n"), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

fn write(path: &Path, rows: &RecordBatch, properties: WriterProperties) {
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}
