// SPDX-License-Identifier: Apache-2.0
//! Tests tables of a server that goes, and whose collection has a replica at another one, or none.

use futures::{StreamExt, TryStreamExt};
use nearscan::{Engine, SessionOptions};
use nearscan_remote::{RemoteDrive, Replica, Side, replicate};
use nearscan_store::Condition;
use rstest::rstest;

use crate::{
    served::{Server, object, set_mode, write},
    support::{engine, failure, rows_of, shown, text},
};

/// Rows of the large object; a query of it is not over when its first rows come.
const ROWS: u64 = 200_000;

/// A server with the object `c/t.parquet` of so many rows, and one with the replica of `c`.
async fn replicated(rows: u64) -> (Server, Server) {
    let (one, other) = (Server::start(Default::default()).await, empty().await);
    write(&engine().await, &one.url("c/t.parquet"), rows).await;
    copy(&one, &other).await;
    (one, other)
}

/// A server whose next object has another version than that of one without objects.
async fn empty() -> Server {
    let server = Server::start(Default::default()).await;
    write(&engine().await, &server.url("other/t.parquet"), 10).await;
    server
}

/// Makes the collection `c` of a server the replica of that of another.
async fn copy(from: &Server, to: &Server) {
    let connected = [from, to].map(|server| {
        let address = server.address.clone();
        tokio::task::spawn_blocking(move || {
            let drive = RemoteDrive::connect(&address.parse().unwrap(), Default::default());
            let replica: Replica = format!("drive://{address}/c").parse().unwrap();
            let drive = drive.unwrap();
            (Side { replica, objects: drive.objects() }, drive)
        })
    });
    let [from, to] = connected;
    let ((from, _one), (to, _other)) = (from.await.unwrap(), to.await.unwrap());
    replicate(&from, &to).await.unwrap();
}

async fn create(engine: &Engine, servers: &[&Server]) {
    let urls: Vec<String> = servers.iter().map(|it| format!("'{}'", it.url("c/"))).collect();
    let urls = urls.join(", ");
    text(engine, &format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION ({urls})")).await;
}

const SUM: &str = "SELECT v, count(*), sum(k) FROM t WHERE k > 100 GROUP BY v ORDER BY v";

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn query_of_a_server_that_is_gone_has_the_rows_of_its_replica(
    #[values("off", "auto", "force")] mode: &str,
) {
    let (mut one, _other) = replicated(1000).await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    create(&engine, &[&one]).await;
    let expected = rows_of(&engine, SUM).await;
    assert_eq!(expected[1], "1 90 49140");
    one.kill();
    assert_eq!(rows_of(&engine, SUM).await, expected);
    let object = format!("SELECT count(*) FROM '{}'", one.url("c/t.parquet"));
    assert_eq!(rows_of(&engine, &object).await, ["1000"]);
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn query_goes_on_at_the_replica_when_its_server_is_killed(
    #[values("off", "force")] mode: &str,
) {
    let (mut one, _other) = replicated(ROWS).await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    create(&engine, &[&one]).await;
    let planned = engine.sql("SELECT k FROM t WHERE v < 9").await.unwrap();
    let mut stream = planned.stream().await.unwrap().into_record_batch_stream();
    let first = stream.next().await.unwrap().unwrap();
    tokio::task::spawn_blocking(move || one.kill()).await.unwrap();
    let mut batches: Vec<_> = stream.try_collect().await.unwrap();
    batches.push(first);
    let found = Engine::builder().build().await.unwrap();
    let schema = batches[0].schema();
    found.register_batches("found", schema, batches).unwrap();
    let sql = "SELECT count(*), count(DISTINCT k), sum(k), max(k % 10) FROM found";
    // All but 9, 19, .., whose rows are not asked for.
    let sum = ROWS * (ROWS + 1) / 2 - (1..=ROWS / 10).map(|k| 10 * k - 1).sum::<u64>();
    assert_eq!(rows_of(&found, sql).await, [format!("180000 180000 {sum} 8")]);
    if mode == "force" {
        let placed = "SELECT count(*) > 0 FROM nearscan.pushdown_log WHERE reason";
        assert_eq!(rows_of(&engine, &format!("{placed} = ''")).await, ["true"]);
        assert_eq!(rows_of(&engine, &format!("{placed} <> ''")).await, ["true"]);
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn server_without_a_replica_ends_the_query_with_an_error_that_names_the_object(
    #[values("off", "force")] mode: &str,
) {
    let mut one = Server::start(Default::default()).await;
    let engine = engine().await;
    let url = one.url("c/t.parquet");
    write(&engine, &url, ROWS).await;
    set_mode(&engine, mode).await;
    create(&engine, &[&one]).await;
    let planned = engine.sql("SELECT k FROM t WHERE v < 9").await.unwrap();
    let mut stream = planned.stream().await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    let address = one.address.clone();
    tokio::task::spawn_blocking(move || one.kill()).await.unwrap();
    let rest: Vec<_> = stream.collect().await;
    let meanwhile = rest.into_iter().find_map(Result::err).unwrap().render();
    let afterwards = failure(&engine, &format!("SELECT count(*) FROM '{url}'")).await;
    for error in [meanwhile, afterwards] {
        assert!(error.contains(&format!("the server of '{url}' does not answer")), "{error}");
        assert!(error.contains("detail: ") && error.contains(&address), "{error}");
        assert!(error.contains("not known to have a replica"), "{error}");
        assert!(error.contains("hint: "), "{error}");
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn replica_with_other_bytes_is_not_read(#[values("off", "force")] mode: &str) {
    let (mut one, other) = replicated(1000).await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    create(&engine, &[&one]).await;
    rows_of(&engine, SUM).await;
    write(&engine, &other.url("c/t.parquet"), 999).await;
    one.kill();
    let error = failure(&engine, SUM).await;
    assert!(error.contains(&format!("the server of '{}", one.url("c"))), "{error}");
    let why = format!("its replica {} has other bytes of t.parquet", other.url("c/"));
    assert!(error.contains(&why), "{error}");
    other.store.remove(&object("t.parquet"), Condition::Always).unwrap();
    assert!(failure(&engine, SUM).await.contains("does not answer"));
}

/// The table is made, and read, before there is a replica.
#[tokio::test(flavor = "multi_thread")]
async fn replica_of_a_table_that_was_made_before_is_learned_by_the_next_query() {
    let (mut one, other) = (Server::with_table().await, empty().await);
    let engine = engine().await;
    set_mode(&engine, "force").await;
    let url = one.url("c/t.parquet");
    engine.register("u", &url).await.unwrap();
    let sql = "SELECT count(*) FROM u WHERE v < 5";
    assert_eq!(rows_of(&engine, sql).await, ["500"]);
    copy(&one, &other).await;
    assert_eq!(rows_of(&engine, sql).await, ["500"]);
    one.kill();
    assert_eq!(rows_of(&engine, sql).await, ["500"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_servers_may_be_gone_if_it_has_a_replica() {
    let (mut one, _replica) = replicated(1000).await;
    let other = Server::with_table().await;
    let engine = engine().await;
    set_mode(&engine, "force").await;
    create(&engine, &[&one, &other]).await;
    let expected = rows_of(&engine, SUM).await;
    one.kill();
    assert_eq!(rows_of(&engine, SUM).await, expected);
    let log = format!(
        "SELECT count(*) > 0 FROM nearscan.pushdown_log WHERE placed_on = '{}' AND reason = ''",
        other.address
    );
    assert_eq!(rows_of(&engine, &log).await, ["true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_reads_a_replica_only_if_it_may_read_its_url() {
    let (mut one, other) = replicated(1000).await;
    let engine = engine().await;
    create(&engine, &[&one]).await;
    let session = |urls: &[String]| {
        let none = SessionOptions::default();
        let options = urls.iter().fold(none, |it, url| it.allowed_root(url).unwrap());
        engine.session_with(options)
    };
    let both = session(&[one.url("c/"), other.url("c/")]);
    let alone = session(&[one.url("c/")]);
    let sql = "SELECT count(*) FROM t";
    let rows = async |session: &nearscan::Session| -> Result<String, String> {
        let query = session.sql(sql).await.map_err(|error| error.render())?;
        query.collect().await.map(shown).map_err(|error| error.render())
    };
    assert_eq!((rows(&both).await, rows(&alone).await), (Ok("1000".into()), Ok("1000".into())));
    one.kill();
    assert_eq!(rows(&both).await, Ok("1000".into()));
    let refused = rows(&alone).await.unwrap_err();
    assert!(refused.contains("may not be read"), "{refused}");
    assert!(refused.contains("does not answer"), "{refused}");
}
