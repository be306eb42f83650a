// SPDX-License-Identifier: Apache-2.0
//! Sessions of one engine: what they share, what is their own, and what they may not do.

use std::{fs, sync::Arc};

use nearscan::{
    Engine, Session, SessionOptions,
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch},
        datatypes::DataType,
    },
    datafusion::logical_expr::{ColumnarValue, Volatility, create_udf},
    error::{AccessError, Error},
};
use rstest::rstest;

use crate::support::{Data, engine};

/// The rows of a statement in a session, a line each.
async fn rows(session: &Session, sql: &str) -> String {
    let result = session.sql(sql).await.unwrap().collect().await.unwrap();
    crate::support::shown(result)
}

async fn error(session: &Session, sql: &str) -> Error {
    match session.sql(sql).await {
        Err(error) => error,
        Ok(query) => query.collect().await.unwrap_err(),
    }
}

fn batch() -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    RecordBatch::try_from_iter([("a", column)]).unwrap()
}

#[tokio::test]
async fn table_of_the_engine_is_seen_by_a_session_and_its_own_table_by_no_other() {
    let engine = engine().await;
    engine.register_batches("t", batch().schema(), vec![batch()]).unwrap();
    let (one, other) = (engine.session(), engine.session());
    assert_eq!(rows(&one, "SELECT sum(a) FROM t").await, "3");
    rows(&one, "CREATE TABLE own AS SELECT a + 1 AS b FROM t").await;
    assert_eq!(rows(&one, "SELECT sum(b) FROM own").await, "5");
    for session in [&other, &*engine] {
        assert!(matches!(error(session, "SELECT * FROM own").await, Error::TableNotFound(_)));
    }
    engine.register_batches("later", batch().schema(), vec![batch()]).unwrap();
    assert_eq!(rows(&one, "SELECT count(*) FROM later").await, "2");
    let names: Vec<String> = one.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["later", "own", "t"]);
}

#[tokio::test]
async fn table_that_a_session_drops_stays_in_the_engine() {
    let engine = engine().await;
    engine.register_batches("t", batch().schema(), vec![batch()]).unwrap();
    let (one, other) = (engine.session(), engine.session());
    rows(&one, "DROP TABLE t").await;
    assert!(matches!(error(&one, "SELECT * FROM t").await, Error::TableNotFound(_)));
    assert_eq!(rows(&other, "SELECT count(*) FROM t").await, "2");
    rows(&one, "CREATE TABLE t AS VALUES (7)").await;
    assert_eq!(rows(&one, "SELECT * FROM t").await, "7");
    assert_eq!(rows(&engine, "SELECT count(*) FROM t").await, "2");
    other.deregister("t").unwrap();
    assert!(matches!(other.deregister("t"), Err(Error::TableNotFound(_))));
    assert_eq!(rows(&engine, "SELECT count(*) FROM t").await, "2");
}

#[tokio::test]
async fn name_of_a_shared_table_is_taken_in_a_session() {
    let engine = engine().await;
    engine.register_batches("t", batch().schema(), vec![batch()]).unwrap();
    let session = engine.session();
    let error = error(&session, "CREATE TABLE t AS VALUES (1)").await;
    assert!(matches!(error, Error::TableExists { .. }), "{error}");
}

#[tokio::test]
async fn setting_and_prepared_statement_of_a_session_are_its_own() {
    let engine = engine().await;
    engine.set("nearscan.pushdown.mode", "force").await.unwrap();
    let (one, other) = (engine.session(), engine.session());
    rows(&one, "SET nearscan.pushdown.mode = 'off'").await;
    rows(&one, "PREPARE p AS SELECT 1").await;
    let mode = "SELECT value FROM nearscan.settings WHERE name = 'nearscan.pushdown.mode'";
    assert_eq!(rows(&one, mode).await, "off");
    assert_eq!(rows(&other, mode).await, "force");
    assert_eq!(rows(&engine, mode).await, "force");
    assert_eq!(rows(&one, "EXECUTE p").await, "1");
    error(&other, "EXECUTE p").await;
}

#[tokio::test]
async fn schema_of_a_session_is_its_own_and_the_system_schema_is_not_changed() {
    let engine = engine().await;
    let (one, other) = (engine.session(), engine.session());
    rows(&one, "CREATE SCHEMA s").await;
    rows(&one, "CREATE TABLE s.t AS VALUES (1)").await;
    assert_eq!(rows(&one, "SELECT * FROM s.t").await, "1");
    error(&other, "SELECT * FROM s.t").await;
    error(&one, "DROP SCHEMA s").await;
    rows(&one, "DROP SCHEMA s CASCADE").await;
    error(&one, "SELECT * FROM s.t").await;
    error(&one, "CREATE TABLE nearscan.x AS VALUES (1)").await;
}

#[tokio::test]
async fn function_of_the_engine_is_in_later_sessions_and_that_of_a_session_in_none() {
    let engine = engine().await;
    let double = |name: &str| {
        let implementation = Arc::new(|arguments: &[ColumnarValue]| Ok(arguments[0].clone()));
        let types = (vec![DataType::Int64], DataType::Int64);
        create_udf(name, types.0, types.1, Volatility::Immutable, implementation)
    };
    engine.register_function(double("shared"));
    let (one, other) = (engine.session(), engine.session());
    one.register_function(double("own"));
    assert_eq!(rows(&one, "SELECT shared(own(4))").await, "4");
    assert!(matches!(error(&other, "SELECT own(4)").await, Error::FunctionNotFound(_)));
}

#[rstest]
#[case("CREATE TABLE u (a INT)", "CREATE TABLE")]
#[case("CREATE TABLE u AS SELECT 1", "CREATE TABLE")]
#[case("CREATE VIEW v AS SELECT 1", "CREATE VIEW")]
#[case("CREATE EXTERNAL TABLE u STORED AS CSV LOCATION '/tmp/'", "CREATE EXTERNAL TABLE")]
#[case("CREATE SCHEMA s", "CREATE SCHEMA")]
#[case("DROP TABLE t", "DROP TABLE")]
#[case("INSERT INTO t VALUES (1)", "INSERT INTO")]
#[case("DELETE FROM t WHERE a = 1", "DELETE")]
#[case("UPDATE t SET a = 2", "UPDATE")]
#[case("COPY t TO '/tmp/t.csv'", "COPY TO")]
#[case("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", "INSERT INTO")]
#[case("PREPARE p AS INSERT INTO t VALUES (1)", "INSERT INTO")]
#[case("SET datafusion.runtime.memory_limit = '1T'", "SET datafusion.runtime.memory_limit")]
#[case(
    "SET datafusion.execution.target_partitions = 64",
    "SET datafusion.execution.target_partitions"
)]
#[case("RESET datafusion.runtime.memory_limit", "SET datafusion.runtime.memory_limit")]
#[tokio::test]
async fn read_only_session_refuses(#[case] sql: &str, #[case] what: &str) {
    let engine = engine().await;
    engine.register_batches("t", batch().schema(), vec![batch()]).unwrap();
    let session = engine.session_with(SessionOptions::default().read_only());
    let error = error(&session, sql).await;
    let Error::Access(AccessError::ReadOnly { what: found }) = &error else {
        panic!("{sql}: {}", error.render())
    };
    assert!(found.to_lowercase().contains(&what.to_lowercase()), "{found}");
    assert!(error.detail().is_some() && error.hint().is_some());
    assert_eq!(rows(&engine, "SELECT sum(a) FROM t").await, "3");
}

#[rstest]
#[case("SELECT sum(a) FROM t", "3")]
#[case("WITH x AS (SELECT a FROM t) SELECT count(*) FROM x", "2")]
#[case("SET datafusion.execution.time_zone = '+01:00'", "")]
#[case("SET nearscan.pushdown.mode = 'off'", "")]
#[case("PREPARE p AS SELECT 1", "")]
#[tokio::test]
async fn read_only_session_runs(#[case] sql: &str, #[case] expected: &str) {
    let engine = engine().await;
    engine.register_batches("t", batch().schema(), vec![batch()]).unwrap();
    let session = engine.session_with(SessionOptions::default().read_only());
    assert_eq!(rows(&session, sql).await, expected);
}

/// A folder `in` with `a.csv` and a folder `out` with `b.csv`, and links that lead out.
fn folders() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (place, name) in
        [("in", "a.csv"), ("in/sub", "c.csv"), ("out", "b.csv"), ("links", "d.csv")]
    {
        fs::create_dir_all(path(place)).unwrap();
        fs::write(path(place).join(name), "k\n1\n").unwrap();
    }
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(path(to), path(from)).unwrap();
    link("out/b.csv", "links/link.csv");
    link("out", "links/folder");
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let (inside, all) = (text("in"), folder.path().to_str().unwrap().to_owned());
    (folder, inside, all)
}

#[rstest]
#[case("in/a.csv", true)]
#[case("in", true)]
#[case("in/*.csv", true)]
#[case("in/sub/../a.csv", true)]
#[case("out/b.csv", false)]
#[case("in/../out/b.csv", false)]
#[case("*/a.csv", false)]
#[case("out/none.csv", false)]
#[tokio::test]
async fn file_is_opened_only_below_an_allowed_root(#[case] name: &str, #[case] is_allowed: bool) {
    let engine = engine().await;
    let (_folder, inside, all) = folders();
    let options = SessionOptions::default().allowed_root(&inside).unwrap();
    let session = engine.session_with(options);
    let sql = format!("SELECT max(k) FROM '{all}/{name}'");
    match is_allowed {
        true => assert_eq!(rows(&session, &sql).await, "1"),
        false => {
            let error = error(&session, &sql).await;
            let is_outside = matches!(error, Error::Access(AccessError::Outside { .. }));
            assert!(is_outside, "{}", error.render());
        }
    }
}

#[rstest]
#[case("links/link.csv")]
#[case("links/*.csv")]
#[case("links/folder/b.csv")]
#[case("links")]
#[tokio::test]
async fn link_out_of_an_allowed_root_is_not_followed(#[case] name: &str) {
    let engine = engine().await;
    let (_folder, _, all) = folders();
    let options = SessionOptions::default().allowed_root(&format!("{all}/links")).unwrap();
    let session = engine.session_with(options);
    let error = error(&session, &format!("SELECT * FROM '{all}/{name}'")).await;
    assert!(matches!(error, Error::Access(AccessError::Outside { .. })), "{}", error.render());
}

#[tokio::test]
async fn url_outside_of_an_allowed_root_is_refused() {
    let engine = engine().await;
    let options = SessionOptions::default().allowed_root("s3://bucket/in").unwrap();
    let session = engine.session_with(options);
    for url in ["s3://bucket/out/a.csv", "s3://bucket/in/../out/a.csv", "s3://bucket/inner.csv"] {
        let error = error(&session, &format!("SELECT * FROM '{url}'")).await;
        let is_outside = matches!(error, Error::Access(AccessError::Outside { .. }));
        assert!(is_outside, "{url}: {}", error.render());
    }
}

#[tokio::test]
async fn external_table_outside_of_an_allowed_root_is_refused() {
    let engine = engine().await;
    let (_folder, inside, all) = folders();
    let options = SessionOptions::default().allowed_root(&inside).unwrap();
    let session = engine.session_with(options);
    let create = |path: &str| {
        format!(
            "CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}' OPTIONS ('has_header' 'true')"
        )
    };
    let outside = error(&session, &create(&format!("{all}/out/b.csv"))).await;
    assert!(matches!(outside, Error::Access(AccessError::Outside { .. })), "{}", outside.render());
    let copy = error(&session, &format!("COPY (SELECT 1) TO '{all}/out/new.csv'")).await;
    assert!(matches!(copy, Error::Access(AccessError::Outside { .. })), "{}", copy.render());
    rows(&session, &format!("COPY (SELECT 1) TO '{all}/in/new/a.csv'")).await;
    rows(&session, &create(&format!("{all}/in/a.csv"))).await;
    assert_eq!(rows(&session, "SELECT count(*) FROM e").await, "1");
}

#[tokio::test]
async fn sessions_share_a_drive() {
    let data = Data::make().await;
    let engine = Engine::builder().drive("emulated:?profile=unlimited").unwrap();
    let engine = engine.set("nearscan.pushdown.mode", "force").build().await.unwrap();
    data.register_for_drives(&engine).await;
    let (one, other) = (engine.session(), engine.session());
    for session in [&one, &other] {
        let result = session.sql("SELECT sum(k) FROM t WHERE v = 3").await.unwrap().collect().await;
        assert!(result.unwrap().profile.pushdown().units_drive > 0);
    }
    let queries = "SELECT count(DISTINCT query_id) FROM nearscan.pushdown_log";
    assert_eq!(rows(&one, queries).await, "2");
}
