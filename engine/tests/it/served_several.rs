// SPDX-License-Identifier: Apache-2.0
//! Tests tables whose files are objects of several servers.

use futures::StreamExt;
use nearscan::{Engine, InferFrom, SessionOptions};
use rstest::rstest;

use crate::{
    served::{Server, set_mode, write},
    support::{engine, failure, rows_of, shown, text},
};

/// Two servers, whose objects `c/t.parquet` have `k` from 1 to 1000 and from 1 to 700, and `v` the
/// same modulo 10.
struct Two {
    one: Server,
    other: Server,
}

impl Two {
    async fn start() -> Self {
        let two = Self { one: Server::with_table().await, other: Server::with_table().await };
        write(&engine().await, &two.other.url("c/t.parquet"), 700).await;
        two
    }

    /// Makes the table `t` of the objects of both.
    async fn create(&self, engine: &Engine) {
        let (one, other) = (self.one.url("c/"), self.other.url("c/t.parquet"));
        let sql =
            format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION ('{one}', '{other}')");
        text(engine, &sql).await;
    }

    /// The rows of a query over the same rows in local files, without pushdown.
    async fn expected(sql: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let engine = engine().await;
        for (name, rows) in [("1.parquet", 1000), ("2.parquet", 700)] {
            write(&engine, &path(name), rows).await;
        }
        let folder = format!("{}/", folder.path().display());
        let create = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{folder}'");
        text(&engine, &create).await;
        set_mode(&engine, "off").await;
        rows_of(&engine, sql).await
    }

    fn addresses(&self) -> Vec<String> {
        let mut addresses = vec![self.one.address.clone(), self.other.address.clone()];
        addresses.sort_unstable();
        addresses
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_two_servers_are_those_of_local_files(
    #[values("off", "auto", "force")] mode: &str,
    #[values(
        "SELECT v, count(*), sum(k), min(k), max(k) FROM t WHERE k > 600 GROUP BY v ORDER BY v",
        "SELECT count(*), sum(k) FROM t",
        "SELECT k, v FROM t WHERE v = 3 ORDER BY k, v",
        "SELECT k FROM t ORDER BY k DESC LIMIT 7",
        "SELECT t.k FROM t JOIN (SELECT k FROM t WHERE v = 1) u ON t.k = u.k ORDER BY 1"
    )]
    sql: &str,
) {
    let two = Two::start().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    two.create(&engine).await;
    assert_eq!(rows_of(&engine, sql).await, Two::expected(sql).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregate_of_two_servers_runs_at_both_in_one_scan() {
    let two = Two::start().await;
    let engine = engine().await;
    set_mode(&engine, "force").await;
    two.create(&engine).await;
    let sql = "SELECT count(*), sum(k) FROM t WHERE v = 3";
    assert_eq!(rows_of(&engine, sql).await, ["170 74160"]);
    let placed = "SELECT DISTINCT placed_on FROM nearscan.pushdown_log ORDER BY 1";
    assert_eq!(rows_of(&engine, placed).await, two.addresses());
    let files = "SELECT file, count(*) FROM nearscan.pushdown_log GROUP BY file ORDER BY 1";
    let url = |address: &String| format!("drive://{address}/c/t.parquet 2");
    let urls: Vec<String> = two.addresses().iter().map(url).collect();
    assert_eq!(rows_of(&engine, files).await, urls);
    let plan = text(&engine, &format!("EXPLAIN {sql}")).await;
    assert_eq!(plan.matches("PushdownExec: drives=[").count(), 1, "{plan}");
    assert_eq!(plan.matches("units=4").count(), 1, "{plan}");
    assert!(plan.contains("t: drives=["), "{plan}");
}

#[rstest]
#[case("off")]
#[case("force")]
#[tokio::test(flavor = "multi_thread")]
async fn url_of_the_engine_is_not_shown(#[case] mode: &str) {
    let two = Two::start().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    two.create(&engine).await;
    let shown = [
        text(&engine, "EXPLAIN VERBOSE SELECT k FROM t WHERE v = 3").await,
        text(&engine, "EXPLAIN ANALYZE SELECT sum(k) FROM t").await,
        text(&engine, "SHOW CREATE TABLE t").await,
        text(&engine, "SELECT * FROM nearscan.pushdown_log").await,
        text(&engine, "SELECT * FROM nearscan.statistics").await,
    ];
    for text in shown {
        assert!(!text.contains("drives:/") && !text.contains("each/"), "{text}");
    }
    let (one, other) = (two.one.url("none/"), two.other.url("c/"));
    let create = |locations: &str| {
        format!("CREATE EXTERNAL TABLE u STORED AS PARQUET LOCATION ({locations})")
    };
    let empty = failure(&engine, &create(&format!("'{one}', '{other}'"))).await;
    assert!(empty.contains(&format!("no data files in '{one}'")), "{empty}");
    let twice = failure(&engine, &create(&format!("'{one}', '{other}', '{one}'"))).await;
    assert!(twice.contains(&format!("Duplicate location '{one}'")), "{twice}");
    let named = failure(&engine, &format!("FROM 'drives://each/{}/c/'", two.one.address)).await;
    assert!(named.contains("for the engine alone"), "{named}");
    let to = format!("COPY (SELECT 1) TO 'drives://each/{}/c/x.parquet'", two.one.address);
    let written = failure(&engine, &to).await;
    assert!(written.contains("several servers"), "{written}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_location_must_be_allowed() {
    let two = Two::start().await;
    let engine = engine().await;
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION ('{}', '{}')",
        two.one.url("c/"),
        two.other.url("c/")
    );
    let allowed = |roots: &[&Server]| {
        let none = SessionOptions::default();
        let options = roots.iter().fold(none, |it, root| it.allowed_root(&root.url("c/")).unwrap());
        engine.session_with(options)
    };
    for root in [&two.one, &two.other] {
        let refused = allowed(&[root]).sql(&sql).await.unwrap_err().render();
        assert!(refused.contains("outside of the folders"), "{refused}");
    }
    allowed(&[&two.one, &two.other]).sql(&sql).await.unwrap();
}

#[rstest]
#[case("off")]
#[case("force")]
#[tokio::test(flavor = "multi_thread")]
async fn object_that_is_replaced_meanwhile_ends_the_query(#[case] mode: &str) {
    let two = Two::start().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    let url = two.other.url("c/t.parquet");
    write(&engine, &url, 200_000).await;
    two.create(&engine).await;
    let planned = engine.sql("SELECT k FROM t WHERE v < 9").await.unwrap();
    let mut stream = planned.stream().await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    write(&engine, &url, 1000).await;
    let rest: Vec<_> = stream.collect().await;
    let error = rest.into_iter().find_map(Result::err).unwrap().render();
    assert!(error.contains("the object was replaced while it was read"), "{error}");
    assert!(error.contains(&url), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_gone_is_named() {
    let mut two = Two::start().await;
    let engine = engine().await;
    two.create(&engine).await;
    two.one.kill();
    two.other.kill();
    let gone = failure(&engine, "SELECT sum(k) FROM t").await;
    assert!(gone.contains("the server of 'drive://127.0.0.1:"), "{gone}");
    assert!(gone.contains("does not answer") && gone.contains("hint: "), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn locations_of_a_server_and_of_files_are_refused() {
    let server = Server::with_table().await;
    let engine = engine().await;
    let url = server.url("c/");
    let sql = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION ('{url}', '/tmp/')");
    let refused = failure(&engine, &sql).await;
    assert!(refused.contains(&format!("a table cannot be in '{url}' and in '/tmp/'")), "{refused}");
    assert!(refused.contains("only objects of servers"), "{refused}");
    assert!(refused.contains("hint: "), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn table_without_a_name_may_be_of_two_servers() {
    let two = Two::start().await;
    let engine = engine().await;
    let locations = vec![two.one.url("c/t.parquet"), two.other.url("c/t.parquet")];
    let session = engine.session();
    let table = session.open_files(locations, None, InferFrom::FirstRows).await.unwrap();
    session.register_table("t", table).unwrap();
    let query = session.sql("SELECT count(*) FROM t").await.unwrap();
    assert_eq!(shown(query.collect().await.unwrap()), "1700");
}
