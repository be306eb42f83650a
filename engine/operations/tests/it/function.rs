// SPDX-License-Identifier: Apache-2.0
//! Tests `app()`, the table function of applications, against a server with one.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use nearscan::{
    Engine, SessionOptions,
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch, StringArray},
        ipc::writer::StreamWriter,
        util::pretty::pretty_format_batches,
    },
    drive::clock::Stopwatch,
};
use nearscan_applications::{Applications, Options, Package, Replace};
use nearscan_remote::{Listener, ServerOptions, serve};
use rstest::rstest;
use tokio::sync::oneshot;

use crate::{
    guest::{guest, manifest},
    support::Fixture,
};

/// Where the guest has its bytes, beyond what its arguments take.
const SCHEMA_AT: usize = 16 << 10;
const STREAM_AT: usize = 32 << 10;

fn numbers() -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    RecordBatch::try_from_iter([("k", column)]).unwrap()
}

fn words() -> RecordBatch {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    RecordBatch::try_from_iter([("k", column)]).unwrap()
}

fn stream(stated: &RecordBatch, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &stated.schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// An application whose table has a schema and sends a stream.
fn table(schema: &[u8], stream: &[u8]) -> Vec<u8> {
    let data = |at: usize, bytes: &[u8]| {
        let mut text = format!("(data (i32.const {at}) \"");
        bytes.iter().for_each(|byte| write!(text, "\\{byte:02x}").unwrap());
        text + "\") "
    };
    let place = |at: usize, length: usize| {
        let words = [u32::try_from(at).unwrap(), u32::try_from(length).unwrap()];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let others = [
        "(import \"nearscan:drive/output@0.1.0\" \"write\" (func $write (param i32 i32 i32)))",
        &data(36, &place(SCHEMA_AT, schema.len())),
        &data(SCHEMA_AT, schema),
        &data(STREAM_AT, stream),
    ];
    let length = stream.len();
    let body = format!(
        "(call $write (i32.const {STREAM_AT}) (i32.const {length}) (i32.const 1024)) (i32.const 16)"
    );
    guest("table", &body, &others.concat())
}

/// A server with an application `t`, as long as the sender is there.
async fn served(fixture: &Fixture, component: Vec<u8>) -> (String, oneshot::Sender<()>) {
    let operations = Arc::new(fixture.operations.clone());
    let handle = tokio::runtime::Handle::current();
    let opened = Applications::open(&fixture.store, operations, &handle, Options::default());
    let applications = opened.unwrap();
    let manifest = manifest("t", "table", "");
    let package = Package { manifest, component: component.into(), signature: None };
    applications.install(package, Replace::Never).unwrap();
    applications.start("t").unwrap();
    let drive = nearscan::serving::open_drive("cpu:", Some(1)).unwrap();
    let (store, applications) = (Some(fixture.store.clone()), Some(applications));
    let options = ServerOptions { store, applications, ..ServerOptions::default() };
    let (stop, stopped) = oneshot::channel::<()>();
    let (bound, address) = oneshot::channel();
    // An engine waits on its threads for the server, which therefore has others.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
            bound.send(listener.address().to_string()).unwrap();
            serve(drive, listener, options, async { drop(stopped.await) }).await.unwrap();
        });
    });
    (address.await.unwrap(), stop)
}

async fn client(address: &str) -> Engine {
    let engine = Engine::builder().drive(&format!("remote://{address}")).unwrap();
    engine.build().await.unwrap()
}

async fn rows(engine: &Engine, sql: &str) -> Result<String, String> {
    let result = async { engine.sql(sql).await?.collect().await }.await;
    let result = result.map_err(|error| error.render())?;
    let table = pretty_format_batches(&result.batches).unwrap().to_string();
    let cells = table.lines().filter(|line| line.starts_with('|')).skip(1);
    Ok(cells.map(|line| line.replace(['|', ' '], "")).collect::<Vec<_>>().join(" "))
}

#[tokio::test(flavor = "multi_thread")]
async fn table_of_an_application_is_read_in_sql() {
    let fixture = Fixture::new().await;
    let (batch, empty) = (numbers(), numbers().slice(0, 0));
    let component =
        table(&stream(&batch, &[]), &stream(&batch, &[batch.clone(), empty, batch.clone()]));
    let (address, _stop) = served(&fixture, component).await;
    let engine = client(&address).await;
    let of_one = rows(&engine, "SELECT k FROM app('t', 'argument') WHERE k > 1 ORDER BY k").await;
    assert_eq!(of_one.unwrap(), "2 2 3 3");
    let plain = Engine::builder().build().await.unwrap();
    let by_url = format!("SELECT sum(k) FROM app('drive://{address}/t')");
    assert_eq!(rows(&plain, &by_url).await.unwrap(), "12");
}

#[rstest]
#[case::no_schema(b"nothing of the kind".to_vec(), Vec::new(), "Arrow IPC")]
#[case::another_schema(stream(&numbers(), &[]), stream(&words(), &[words()]), "another schema")]
#[case::no_stream(stream(&numbers(), &[]), b"nothing of the kind".to_vec(), "Arrow IPC")]
#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_an_application_that_are_no_table_are_an_error(
    #[case] schema: Vec<u8>,
    #[case] sent: Vec<u8>,
    #[case] reason: &str,
) {
    let fixture = Fixture::new().await;
    let (address, _stop) = served(&fixture, table(&schema, &sent)).await;
    let error = rows(&client(&address).await, "SELECT * FROM app('t')").await.unwrap_err();
    assert!(error.contains("application t of") && error.contains(reason), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_without_texts_or_a_server_is_refused() {
    let engine = Engine::builder().build().await.unwrap();
    for (sql, reason) in [
        ("SELECT * FROM app()", "as texts"),
        ("SELECT * FROM app('t', 1)", "as texts"),
        ("SELECT * FROM app('t')", "no server is attached"),
        ("SELECT * FROM app('drive://127.0.0.1:1/t')", "127.0.0.1:1"),
    ] {
        let error = rows(&engine, sql).await.unwrap_err();
        assert!(error.contains(reason), "{sql}: {error}");
    }
}

/// On one thread: whoever waits on it keeps the limit of time from being noticed.
#[tokio::test]
async fn statement_that_waits_for_a_schema_ends_when_it_is_dropped() {
    let fixture = Fixture::new().await;
    let spins = "(func $spin (loop (br 0))) (start $spin)";
    let component = guest("table", "(i32.const 16)", spins);
    let (address, _stop) = served(&fixture, component).await;
    let engine = client(&address).await;
    let watch = Stopwatch::start();
    let limit = Duration::from_millis(300);
    let planned = tokio::time::timeout(limit, engine.sql("SELECT * FROM app('t')")).await;
    assert!(planned.is_err(), "it has a schema: {:?}", planned.map(drop));
    assert!(watch.elapsed() < 5 * limit, "{:?}", watch.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn restricted_session_calls_no_application() {
    let fixture = Fixture::new().await;
    let component = table(&stream(&numbers(), &[]), &stream(&numbers(), &[]));
    let (address, _stop) = served(&fixture, component).await;
    let engine = client(&address).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    let elsewhere = SessionOptions::default().allowed_root(&root).unwrap();
    for options in [SessionOptions::default().read_only(), elsewhere] {
        let session = engine.session_with(options);
        // It is not found out whether a server answers there.
        for sql in ["SELECT * FROM app('t')", "SELECT * FROM app('drive://127.0.0.1:1/t')"] {
            let planned = session.sql(sql).await;
            assert!(matches!(planned, Err(nearscan::Error::Access(_))), "{sql}: {planned:?}");
        }
    }
}
