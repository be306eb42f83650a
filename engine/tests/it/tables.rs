// SPDX-License-Identifier: Apache-2.0
//! Files, folders and patterns as tables, and that their plans are those of plain DataFusion.

use std::{fs, path::Path};

use nearscan::{
    Engine, Error, TableName,
    datafusion::{
        common::tree_node::{TreeNode, TreeNodeRecursion},
        datasource::{physical_plan::FileScanConfig, source::DataSourceExec},
        physical_plan::displayable,
        prelude::{ParquetReadOptions, SessionConfig, SessionContext},
    },
    error::PathError,
};
use rstest::rstest;

use crate::support::{Data, engine, failure, text};

#[rstest]
#[case("SELECT * FROM t")]
#[case("SELECT count(*), min(k), max(k) FROM t")]
#[case("SELECT v, avg(k) FROM t WHERE k BETWEEN 100 AND 700 GROUP BY v ORDER BY v")]
#[case("SELECT a.k FROM t a JOIN t b ON a.k = b.v WHERE b.k < 50 LIMIT 3")]
#[case("SELECT k FROM t WHERE v IN (SELECT max(v) FROM t) ORDER BY k DESC LIMIT 5")]
#[tokio::test]
async fn plans_are_those_of_plain_datafusion(#[case] sql: &str) {
    let data = Data::make().await;
    let engine = data.engine().await;
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    engine.set("nearscan.aggregate", "datafusion").await.unwrap();
    let plain = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let path = data.path("t.parquet");
    plain.register_parquet("t", path, ParquetReadOptions::default()).await.unwrap();
    let expected = plain.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let stream = engine.sql(sql).await.unwrap().stream().await.unwrap();
    let shown = |plan| displayable(plan).indent(true).to_string();
    assert_eq!(shown(stream.plan().as_ref()), shown(expected.as_ref()));
}

/// Returns the table names that the files of a statement's scans carry.
async fn scanned_tables(engine: &Engine, sql: &str) -> Vec<String> {
    let stream = engine.sql(sql).await.unwrap().stream().await.unwrap();
    let mut names = Vec::new();
    stream
        .plan()
        .apply(|node| {
            let source = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
            if let Some(config) = source.and_then(|it| it.downcast_ref::<FileScanConfig>()) {
                let files = config.file_groups.iter().flat_map(|group| group.iter());
                names.extend(
                    files.filter_map(|file| file.table_reference.as_ref()).map(ToString::to_string),
                );
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
    names.sort();
    names.dedup();
    names
}

#[tokio::test]
async fn every_way_to_make_a_table_tells_its_scans_the_name() {
    let data = Data::make().await;
    let engine = data.engine().await;
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    let path = data.path("t.parquet");
    let create = format!("CREATE EXTERNAL TABLE made STORED AS PARQUET LOCATION '{path}'");
    engine.sql(&create).await.unwrap();
    assert_eq!(scanned_tables(&engine, "SELECT k FROM t").await, ["t"]);
    assert_eq!(scanned_tables(&engine, "SELECT k FROM made").await, ["made"]);
    let direct = format!("SELECT k FROM '{path}'");
    assert_eq!(scanned_tables(&engine, &direct).await.len(), 1);
}

#[tokio::test]
async fn files_folders_and_patterns_are_tables_without_a_name() {
    let data = Data::make().await;
    let engine = engine().await;
    fs::create_dir(data.folder.path().join("parts")).unwrap();
    for part in 1..=2 {
        fs::copy(data.path("t.parquet"), data.path(&format!("parts/{part}.parquet"))).unwrap();
    }
    fs::write(data.path("a.csv"), "x,y\n1,b\n").unwrap();
    fs::write(data.path("a.tsv"), "x\ty\n2\tc\n").unwrap();
    fs::write(data.path("a.jsonl"), "{\"x\": 3}\n{\"x\": 4}\n").unwrap();
    let count = |name: &str| format!("SELECT count(*) AS n FROM '{}'", data.path(name));
    for (name, expected) in [
        ("t.parquet", "n\n1000"),
        ("parts", "n\n2000"),
        ("parts/", "n\n2000"),
        ("parts/*.parquet", "n\n2000"),
        ("parts/[2-9].parquet", "n\n1000"),
        ("a.csv", "n\n1"),
        ("a.tsv", "n\n1"),
        ("a.jsonl", "n\n2"),
    ] {
        assert_eq!(text(&engine, &count(name)).await, expected, "{name}");
    }
    let tsv = format!("SELECT y, x FROM '{}'", data.path("a.tsv"));
    assert_eq!(text(&engine, &tsv).await, "y x\nc 2");
    let url = format!("SELECT max(k) AS k FROM 'file://{}'", data.path("t.parquet"));
    assert_eq!(text(&engine, &url).await, "k\n1000");
    fs::copy(data.path("t.parquet"), data.path("a b.parquet")).unwrap();
    let url = format!("SELECT max(k) AS k FROM 'file://{}'", data.path("a%20b.parquet"));
    assert_eq!(text(&engine, &url).await, "k\n1000");
    assert_eq!(engine.tables(), []);
}

#[tokio::test]
async fn folder_is_listed_afresh_for_every_query() {
    let data = Data::make().await;
    let engine = engine().await;
    fs::create_dir(data.folder.path().join("parts")).unwrap();
    fs::copy(data.path("t.parquet"), data.path("parts/1.parquet")).unwrap();
    engine.register("parts", &data.path("parts")).await.unwrap();
    let sql = "SELECT count(*) AS n FROM parts";
    assert_eq!(text(&engine, sql).await, "n\n1000");
    fs::copy(data.path("t.parquet"), data.path("parts/2.parquet")).unwrap();
    assert_eq!(text(&engine, sql).await, "n\n2000");
}

#[tokio::test]
async fn table_wins_over_file_of_its_name() {
    let data = Data::make().await;
    let engine = engine().await;
    let path = data.path("t.parquet");
    fs::write(data.path("seven.csv"), "seven\n7\n").unwrap();
    engine.register(&path, &data.path("seven.csv")).await.unwrap();
    assert_eq!(text(&engine, &format!("SELECT * FROM '{path}'")).await, "seven\n7");
}

#[tokio::test]
async fn rows_can_be_added_to_a_folder() {
    let data = Data::make().await;
    let engine = engine().await;
    fs::create_dir(data.folder.path().join("parts")).unwrap();
    fs::copy(data.path("t.parquet"), data.path("parts/1.parquet")).unwrap();
    engine.register("parts", &data.path("parts")).await.unwrap();
    assert_eq!(text(&engine, "INSERT INTO parts VALUES (5000, 1)").await, "count\n1");
    assert_eq!(text(&engine, "SELECT max(k) AS k FROM parts").await, "k\n5000");
    engine.register("t", &data.path("t.parquet")).await.unwrap();
    let error = failure(&engine, "INSERT INTO t VALUES (1, 1)").await;
    assert!(error.contains("single file is not supported"), "{error}");
}

#[tokio::test]
async fn tables_can_be_described_dropped_and_made_again() {
    let data = Data::make().await;
    let engine = engine().await;
    let path = data.path("t.parquet");
    let create = format!("CREATE EXTERNAL TABLE made STORED AS PARQUET LOCATION '{path}'");
    engine.sql(&create).await.unwrap();
    assert!(text(&engine, "SHOW CREATE TABLE made").await.contains("STORED AS PARQUET"));
    assert!(text(&engine, "DESCRIBE made").await.contains("k Int64"));
    engine.sql("DROP TABLE made").await.unwrap();
    engine.sql("CREATE SCHEMA s").await.unwrap();
    engine.sql("CREATE TABLE s.made AS SELECT 1 AS a").await.unwrap();
    let expected = TableName { schema: "s".to_owned(), name: "made".to_owned() };
    assert_eq!(engine.tables(), [expected]);
    engine.sql("DROP SCHEMA s CASCADE").await.unwrap();
    assert_eq!(engine.tables(), []);
}

#[tokio::test]
async fn what_cannot_be_a_table_says_why() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let register = async |name: &str, path: &str| engine.register(name, path).await.unwrap_err();
    let error = register("t", &data.path("t.parquet")).await;
    assert!(matches!(&error, Error::TableExists { name } if name == "t"), "{error:?}");
    let error = register("a", &data.path("a.parquet")).await;
    assert!(matches!(&error, Error::Path(PathError::NotFound(_))), "{error:?}");
    let error = register("a", &data.path("*.csv")).await;
    assert!(matches!(&error, Error::Path(PathError::Empty(_))), "{error:?}");
    let error = register("a", "ftp://host/a.parquet").await;
    assert!(matches!(&error, Error::Path(PathError::NotLocal { .. })), "{error:?}");
    fs::write(data.path("bad.parquet"), "this is no Parquet file at all").unwrap();
    let error = register("a", &data.path("bad.parquet")).await;
    assert!(matches!(&error, Error::Data(_)), "{error:?}");
    let folder = data.folder.path().to_str().unwrap();
    let words = format!("file '{folder}/bad.parquet': the footer cannot be read: Invalid Parquet");
    for location in [folder, &format!("{folder}/*.parquet"), &data.path("bad.parquet")] {
        let error = failure(&engine, &format!("SELECT * FROM '{location}'")).await;
        assert!(error.contains(&words), "{location}: {error}");
    }
    assert!(!Path::new(&data.path("a.parquet")).exists());
    let error = failure(&engine, &format!("SELECT * FROM '{}'", data.path("no.parquet"))).await;
    assert!(
        error.starts_with("error: file '") && error.contains("no.parquet' not found"),
        "{error}"
    );
}
