// SPDX-License-Identifier: Apache-2.0
//! Statistics of files: what `nearscan.statistics` shows, and when columns are counted.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use nearscan::{
    Engine, SessionOptions,
    arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray},
    datafusion::parquet::{
        arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties,
    },
};
use tempfile::TempDir;

use crate::support::{failure, rows_of, text};

const ROWS: i64 = 6_000;

/// Three relations of one file, so that there is an order of joins.
const JOINED: &str = "SELECT count(*) FROM t AS x JOIN t AS y ON x.k = y.k \
                      JOIN t AS z ON y.k = z.k WHERE x.name <> 'text 3'";

const SHOWN: &str = "SELECT column, rows, nulls, min, max, distinct_count, source \
                     FROM nearscan.statistics ORDER BY column";

/// A folder with data and one with statistics.
struct Data {
    folder: TempDir,
}

impl Data {
    /// A file of three row groups: `k` in plain encoding with so many values, `name` with 7 values
    /// in dictionaries, `more`, which nothing refers to.
    fn new(values: i64) -> Self {
        let data = Self { folder: tempfile::tempdir().unwrap() };
        data.write(values);
        data
    }

    fn write(&self, values: i64) {
        let text = |row: i64| (row % 10 < 7).then(|| format!("text {}", row % 10));
        let columns: [(&str, ArrayRef); 3] = [
            ("k", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row % values)))),
            ("name", Arc::new((0..ROWS).map(text).collect::<StringArray>())),
            ("more", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row * 2)))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(2_000))
            .set_column_dictionary_enabled("k".into(), false)
            .set_compression(Compression::UNCOMPRESSED)
            .build();
        let file = File::create(self.path()).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn path(&self) -> String {
        self.folder.path().join("t.parquet").display().to_string()
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache").join("below")
    }

    /// An engine with the file as `t`, after a statement that needs counts.
    async fn planned(&self) -> Engine {
        let engine = self.engine(&self.cache()).await;
        text(&engine, &format!("EXPLAIN {JOINED}")).await;
        engine
    }

    async fn engine(&self, cache: &Path) -> Engine {
        let engine = Engine::builder().threads(2).cache_directory(cache).build().await.unwrap();
        engine.register("t", &self.path()).await.unwrap();
        engine
    }

    /// The one file in the folder of statistics.
    fn cached(&self) -> std::path::PathBuf {
        let mut files = fs::read_dir(self.cache()).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }
}

async fn count_of_k(engine: &Engine) -> String {
    let sql = "SELECT distinct_count, source FROM nearscan.statistics WHERE column = 'k'";
    rows_of(engine, sql).await.join(", ").trim().to_owned()
}

#[tokio::test]
async fn table_shows_what_is_known_of_each_column_and_from_where() {
    let data = Data::new(900);
    let engine = data.engine(&data.cache()).await;
    let before = [
        "k 6000 0 0 899  footer",
        "more 6000 0 0 11998  footer",
        "name 6000 1800 text 0 text 6  footer",
    ];
    assert_eq!(rows_of(&engine, SHOWN).await, before);
    text(&engine, &format!("EXPLAIN {JOINED}")).await;
    let after = [
        "k 6000 0 0 899 900 sample",
        "more 6000 0 0 11998  footer",
        "name 6000 1800 text 0 text 6 7 dictionary",
    ];
    assert_eq!(rows_of(&engine, SHOWN).await, after);
    let about = "SELECT DISTINCT file, age_s < 60 FROM nearscan.statistics \
                 WHERE age_s IS NOT NULL";
    assert_eq!(rows_of(&engine, about).await, [format!("{} true", data.path())]);
    let next = data.engine(&data.cache()).await;
    assert_eq!(rows_of(&next, SHOWN).await, after);
}

#[tokio::test]
async fn nothing_is_counted_for_statements_without_joins_to_order() {
    let data = Data::new(900);
    let engine = data.engine(&data.cache()).await;
    for sql in [
        "SELECT name, count(*) FROM t WHERE k = 5 GROUP BY name",
        "SELECT count(*) FROM t AS x JOIN t AS y ON x.k = y.k",
    ] {
        text(&engine, sql).await;
    }
    assert_eq!(count_of_k(&engine).await, "footer");
    assert!(!data.cache().exists());
}

#[tokio::test]
async fn footer_is_all_that_is_read_where_the_setting_says_so() {
    let data = Data::new(900);
    for (key, value) in [("nearscan.statistics", "footer"), ("nearscan.join_order", "datafusion")] {
        let engine = data.engine(&data.cache()).await;
        engine.set(key, value).await.unwrap();
        text(&engine, JOINED).await;
        assert_eq!(count_of_k(&engine).await, "footer");
        assert!(!data.cache().exists());
    }
}

#[tokio::test]
async fn counts_are_the_same_for_every_reader_of_the_scan() {
    let data = Data::new(900);
    for reader in ["fused", "datafusion"] {
        let engine = data.engine(&data.folder.path().join(reader)).await;
        engine.set("nearscan.scan", reader).await.unwrap();
        text(&engine, JOINED).await;
        assert_eq!(count_of_k(&engine).await, "900 sample");
    }
}

#[tokio::test]
async fn file_of_the_same_size_that_was_changed_has_new_counts() {
    let data = Data::new(900);
    let engine = data.planned().await;
    assert_eq!(count_of_k(&engine).await, "900 sample");
    let size = fs::metadata(data.path()).unwrap().len();
    data.write(700);
    assert_eq!(fs::metadata(data.path()).unwrap().len(), size);
    // Until its footer is read again, nothing is known of the file.
    assert_eq!(count_of_k(&engine).await, "");
    text(&engine, JOINED).await;
    assert_eq!(count_of_k(&engine).await, "700 sample");
    data.write(500);
    assert_eq!(count_of_k(&data.planned().await).await, "500 sample");
}

#[tokio::test]
async fn damaged_file_of_the_cache_is_replaced() {
    let data = Data::new(900);
    data.planned().await;
    let good = fs::read(data.cached()).unwrap();
    for damaged in [&good[..good.len() / 2], &[0xff, 0, b'\n'][..], b""] {
        fs::write(data.cached(), damaged).unwrap();
        assert_eq!(count_of_k(&data.planned().await).await, "900 sample");
        assert_eq!(fs::read(data.cached()).unwrap().len(), good.len());
    }
}

#[tokio::test]
async fn folder_that_cannot_be_written_is_no_error() {
    let data = Data::new(900);
    let in_the_way = data.folder.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let engine = data.engine(&in_the_way.join("below")).await;
    let rows = rows_of(&engine, JOINED).await;
    assert_eq!(count_of_k(&engine).await, "900 sample");
    engine.set("nearscan.statistics", "footer").await.unwrap();
    assert_eq!(rows_of(&engine, JOINED).await, rows);
}

#[tokio::test]
async fn corrupt_page_is_an_error_only_of_a_query_that_reads_it() {
    let data = Data::new(900);
    let bytes = fs::read(data.path()).unwrap();
    // The first page of `k`, behind the magic word.
    let damaged: Vec<u8> = [b"PAR1".as_slice(), &[0xff; 16], &bytes[20..]].concat();
    fs::write(data.path(), damaged).unwrap();
    let engine = data.engine(&data.cache()).await;
    let pruned = format!("{JOINED} AND x.k < 0");
    assert_eq!(rows_of(&engine, &pruned).await, ["0"]);
    assert_eq!(count_of_k(&engine).await, "footer");
    let error = failure(&engine, JOINED).await;
    assert!(error.contains("row group 0, column 'k', byte 4"), "{error}");
}

#[tokio::test]
async fn session_sees_statistics_only_of_files_that_it_may_open() {
    let data = Data::new(900);
    let engine = data.planned().await;
    let elsewhere = tempfile::tempdir().unwrap();
    for (root, expected) in [(data.folder.path(), "3"), (elsewhere.path(), "0")] {
        let options = SessionOptions::default().allowed_root(root.to_str().unwrap()).unwrap();
        let session = engine.session_with(options);
        let sql = "SELECT count(*) FROM nearscan.statistics";
        let result = session.sql(sql).await.unwrap().collect().await.unwrap();
        assert_eq!(crate::support::shown(result), expected);
    }
}
