// SPDX-License-Identifier: Apache-2.0
//! Tests tables that are objects of a drive's server: `drive://HOST:PORT/COLLECTION/NAME`.

use std::{sync::Arc, thread::JoinHandle};

use futures::StreamExt;
use nearscan::{Engine, SessionOptions};
use nearscan_remote::{
    Listener, ServerOptions,
    access::{Access, Scope},
    serve,
};
use nearscan_store::{CollectionPath, Condition, ObjectPath, Store};
use rstest::rstest;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::support::{engine, failure, rows_of, text};

/// A server of a store, with a CPU drive.
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) address: String,
    _folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) async fn start(options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let drive = nearscan::serving::open_drive("cpu:", Some(1)).unwrap();
        let options = ServerOptions { store: Some(store.clone()), ..options };
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, address) = oneshot::channel();
        // An engine waits on its threads for the server, which therefore has others.
        let thread = std::thread::spawn(move || {
            // On one thread: when it leaves, nothing answers any more.
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
                bound.send(listener.address().to_string()).unwrap();
                tokio::select! {
                    served = serve(drive, listener, options, std::future::pending()) => {
                        served.unwrap();
                    }
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        let address = address.await.unwrap();
        let (stop, thread) = (Some(stop), Some(thread));
        Self { store, address, _folder: folder, stop, thread }
    }

    /// A server whose object `c/t.parquet` has `k` from 1 to 1000, and `v` the same modulo 10, in
    /// two row groups.
    pub(crate) async fn with_table() -> Self {
        let server = Self::start(ServerOptions::default()).await;
        write(&engine().await, &server.url("c/t.parquet"), 1000).await;
        server
    }

    /// Ends the server, as if its process was killed.
    pub(crate) fn kill(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub(crate) fn url(&self, object: &str) -> String {
        format!("drive://{}/{object}", self.address)
    }
}

/// Writes a table of so many rows to an object.
pub(crate) async fn write(engine: &Engine, url: &str, rows: u64) {
    let sql = format!(
        "COPY (SELECT value AS k, value % 10 AS v FROM generate_series(1, {rows})) TO '{url}' \
         STORED AS PARQUET OPTIONS ('format.max_row_group_size' '500', \
         'format.compression' 'snappy')"
    );
    assert_eq!(text(engine, &sql).await, format!("count\n{rows}"));
}

pub(crate) fn object(name: &str) -> ObjectPath {
    CollectionPath::in_default("c").unwrap().object(name).unwrap()
}

pub(crate) async fn set_mode(engine: &Engine, mode: &str) {
    text(engine, &format!("SET nearscan.pushdown.mode = '{mode}'")).await;
}

#[rstest]
#[case("off")]
#[case("auto")]
#[case("force")]
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_an_object_are_those_that_were_written(#[case] mode: &str) {
    let server = Server::with_table().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    let url = server.url("c/t.parquet");
    let sql =
        format!("SELECT v, count(*), sum(k) FROM '{url}' WHERE k > 900 GROUP BY v ORDER BY v");
    let expected: Vec<String> = (0..10)
        .map(|v| format!("{v} 10 {}", 10 * v + 9450 + if v == 0 { 100 } else { 0 }))
        .collect();
    assert_eq!(rows_of(&engine, &sql).await, expected);
    let folder = format!("SELECT k FROM '{}' WHERE v = 3 AND k < 20 ORDER BY k", server.url("c/"));
    assert_eq!(rows_of(&engine, &folder).await, ["3", "13"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_of_an_object_runs_at_its_server() {
    let server = Server::with_table().await;
    let engine = engine().await;
    set_mode(&engine, "force").await;
    let url = server.url("c/t.parquet");
    let sql = format!("SELECT count(*) FROM '{url}' WHERE v = 3");
    assert_eq!(rows_of(&engine, &sql).await, ["100"]);
    let log = "SELECT DISTINCT file, placed_on FROM nearscan.pushdown_log";
    assert_eq!(rows_of(&engine, log).await, [format!("{url} {}", server.address)]);
    let plan = text(&engine, &format!("EXPLAIN {sql}")).await;
    assert!(plan.contains(&format!("PushdownExec: drive={}", server.address)), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn drive_that_was_attached_is_the_one_of_its_objects() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let scopes = [Scope::Read, Scope::Write].into_iter().collect();
    let token = Access::grant(&file, "a", scopes).unwrap().reveal();
    let access = Arc::new(Access::read(&file).unwrap());
    let server = Server::start(ServerOptions { access, ..ServerOptions::default() }).await;
    let url = server.url("c/t.parquet");
    let denied = failure(&engine().await, &format!("SELECT * FROM '{url}'")).await;
    assert!(denied.contains(&format!("access to '{url}' was refused")), "{denied}");
    assert!(denied.contains("a token or a certificate is needed"), "{denied}");
    assert!(denied.contains("hint: attach the drive with its token"), "{denied}");
    let drive = format!("far=remote://{}?token={token}", server.address);
    let engine = Engine::builder().threads(2).drive(&drive).unwrap();
    let engine = engine.set("nearscan.pushdown.mode", "force").build().await.unwrap();
    write(&engine, &url, 100).await;
    let sql = format!("SELECT sum(k) FROM '{url}' WHERE v < 5");
    assert_eq!(rows_of(&engine, &sql).await, ["2450"]);
    let placed = "SELECT DISTINCT placed_on FROM nearscan.pushdown_log";
    assert_eq!(rows_of(&engine, placed).await, ["far"]);
    assert_eq!(rows_of(&engine, "SELECT name FROM nearscan.drives").await, ["far"]);
}

#[rstest]
#[case("off")]
#[case("force")]
#[tokio::test(flavor = "multi_thread")]
async fn object_that_is_replaced_between_two_queries_is_read_anew(#[case] mode: &str) {
    let server = Server::with_table().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    let url = server.url("c/t.parquet");
    let sql = format!("SELECT count(*), sum(k) FROM '{url}' WHERE v < 10");
    assert_eq!(rows_of(&engine, &sql).await, ["1000 500500"]);
    write(&engine, &url, 500).await;
    assert_eq!(rows_of(&engine, &sql).await, ["500 125250"]);
}

/// The footer would be that of other bytes.
#[rstest]
#[case("off")]
#[case("force")]
#[tokio::test(flavor = "multi_thread")]
async fn query_of_an_object_that_is_replaced_meanwhile_fails(#[case] mode: &str) {
    let server = Server::with_table().await;
    let engine = engine().await;
    set_mode(&engine, mode).await;
    let url = server.url("c/t.parquet");
    write(&engine, &url, 200_000).await;
    let planned = engine.sql(&format!("SELECT k FROM '{url}' WHERE v < 9")).await.unwrap();
    let mut stream = planned.stream().await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    write(&engine, &url, 1000).await;
    let rest: Vec<_> = stream.collect().await;
    let error = rest.into_iter().find_map(Result::err).unwrap().render();
    assert!(error.contains("the object was replaced while it was read"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn object_of_another_format_is_read_over_the_link() {
    let server = Server::with_table().await;
    server.store.put(&object("a b.csv"), b"k,w\n3,x\n4,y\n", Condition::Always).unwrap();
    let engine = engine().await;
    let (csv, parquet) = (server.url("c/a b.csv"), server.url("c/t.parquet"));
    let sql = format!("SELECT w, v FROM '{csv}' JOIN '{parquet}' USING (k) ORDER BY w");
    assert_eq!(rows_of(&engine, &sql).await, ["x 3", "y 4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_allowed_is_said() {
    let server = Server::with_table().await;
    let engine = engine().await;
    let missing = failure(&engine, &format!("FROM '{}'", server.url("c/none.parquet"))).await;
    assert!(missing.contains("none.parquet' not found"), "{missing}");
    let portless = failure(&engine, "FROM 'drive://localhost/c/t.parquet'").await;
    assert!(portless.contains("it names no port"), "{portless}");
    let silent = failure(&engine, "FROM 'drive://127.0.0.1:1/c/t.parquet'").await;
    assert!(silent.contains("does not answer"), "{silent}");
    assert!(!silent.contains("Generic"), "{silent}");
    let options = SessionOptions::default().allowed_root(&server.url("other/")).unwrap();
    let session = engine.session_with(options);
    let sql = format!("FROM '{}'", server.url("c/t.parquet"));
    let refused = session.sql(&sql).await.unwrap_err().render();
    assert!(refused.contains("outside of the folders"), "{refused}");
}
