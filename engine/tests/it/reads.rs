// SPDX-License-Identifier: Apache-2.0
//! Reads of local files: settings of the engine's reader, what it says of itself, and rows that do
//! not depend on it.

use std::fs::File;

use futures::TryStreamExt;
use nearscan::{Engine, settings::SettingError};
use rstest::rstest;

use crate::support::{Data, ROWS, engine, failure, text};

const ROW: &str = "SELECT engine, reason, queue_depth, request_bytes, direct FROM nearscan.io";

/// Whether this machine has a ring.
async fn has_ring() -> bool {
    engine().await.set("nearscan.io.engine", "io_uring").await.is_ok()
}

/// An engine with a reader of this kind, for DataFusion's scans; none where it cannot be had.
async fn engine_with(settings: &[(&str, &str)]) -> Option<Engine> {
    let mut builder = Engine::builder().threads(2).set("nearscan.scan", "datafusion");
    for (key, value) in settings {
        if *value == "io_uring" && !has_ring().await {
            return None;
        }
        builder = builder.set(*key, *value);
    }
    Some(builder.build().await.unwrap())
}

#[tokio::test]
async fn table_says_what_reads_and_why() {
    let engine = engine().await;
    assert_eq!(text(&engine, "SELECT count(*) FROM nearscan.io").await, "count(*)\n1");
    engine.sql("SET nearscan.io.engine = pread").await.unwrap();
    engine.sql("SET nearscan.io.queue_depth = 7").await.unwrap();
    engine.sql("SET nearscan.io.request_bytes = 65536").await.unwrap();
    engine.sql("SET nearscan.io.direct = 'never'").await.unwrap();
    let row = |row: &str| format!("engine reason queue_depth request_bytes direct\n{row}");
    assert_eq!(text(&engine, ROW).await, row("pread it was asked for 7 65536 never"));
    let other = "SELECT registered_buffers, registered_files, sqpoll, iopoll FROM nearscan.io";
    let off = ["off: the engine is pread"; 4].join(" ");
    let names = "registered_buffers registered_files sqpoll iopoll";
    assert_eq!(text(&engine, other).await, format!("{names}\n{off}"));
    for key in ["engine", "queue_depth", "request_bytes", "direct"] {
        engine.sql(&format!("RESET nearscan.io.{key}")).await.unwrap();
    }
    let shown = text(&engine, "SELECT queue_depth, request_bytes, direct FROM nearscan.io").await;
    assert_eq!(shown, "queue_depth request_bytes direct\n32 1048576 auto");
    if has_ring().await {
        assert!(text(&engine, ROW).await.contains("\nio_uring the kernel has io_uring, "));
    }
}

#[tokio::test]
async fn settings_of_the_engine_are_not_changed_by_its_sessions() {
    let engine = engine().await;
    engine.set("nearscan.io.engine", "pread").await.unwrap();
    let session = engine.session();
    let refused = "error: setting 'nearscan.io.engine' is of the whole engine\n  \
                   hint: set it where the engine is made, or in its first session";
    for statement in ["SET nearscan.io.engine = auto", "RESET nearscan.io.engine"] {
        assert_eq!(session.sql(statement).await.unwrap_err().render(), refused);
    }
    let error = session.set("nearscan.io.direct", "always").await.unwrap_err();
    let expected = SettingError::OfEngine { key: "nearscan.io.direct" };
    assert!(matches!(&error, nearscan::Error::Setting(error) if *error == expected), "{error:?}");
    let shown = session.sql("SHOW nearscan.io.engine").await.unwrap().collect().await.unwrap();
    assert_eq!(crate::support::shown(shown), "nearscan.io.engine pread");
    assert!(text(&engine, ROW).await.ends_with("\npread it was asked for 32 1048576 auto"));
}

#[tokio::test]
async fn wrong_values_are_refused_and_change_nothing() {
    let engine = engine().await;
    engine.set("nearscan.io.queue_depth", "5").await.unwrap();
    let expected = "error: invalid value '0' for setting 'nearscan.io.queue_depth'\n  \
                    detail: it takes a whole number from 1 to 4096";
    assert_eq!(failure(&engine, "SET nearscan.io.queue_depth = 0").await, expected);
    let shown = text(&engine, "SELECT queue_depth FROM nearscan.io").await;
    assert_eq!(shown, "queue_depth\n5");
}

#[rstest]
#[tokio::test]
async fn rows_do_not_depend_on_the_reader(
    #[values("auto", "io_uring", "pread")] kind: &str,
    #[values("auto", "never", "always")] direct: &str,
    #[values("1", "32")] depth: &str,
) {
    let data = Data::make().await;
    let settings = [
        ("nearscan.io.engine", kind),
        ("nearscan.io.direct", direct),
        ("nearscan.io.queue_depth", depth),
        ("nearscan.io.request_bytes", "4096"),
    ];
    let Some(engine) = engine_with(&settings).await else { return };
    engine.register("t", &data.path("t.parquet")).await.unwrap();
    let sql = "SELECT count(*) AS n, sum(k) AS s, max(v) AS m FROM t";
    let sum = ROWS * (ROWS + 1) / 2;
    assert_eq!(text(&engine, sql).await, format!("n s m\n{ROWS} {sum} 9"));
    let sql = "SELECT k FROM t WHERE k % 250 = 0 ORDER BY k";
    assert_eq!(text(&engine, sql).await, "k\n250\n500\n750\n1000");
}

#[tokio::test]
async fn another_reader_takes_over_between_batches() {
    let data = Data::make().await;
    let engine = engine_with(&[("datafusion.execution.batch_size", "100")]).await.unwrap();
    engine.register("t", &data.path("t.parquet")).await.unwrap();
    let mut stream = engine.sql("SELECT k, v FROM t").await.unwrap().stream().await.unwrap();
    let mut rows = 0;
    for kind in ["pread", "auto"].into_iter().cycle() {
        let Some(batch) = stream.try_next().await.unwrap() else { break };
        rows += batch.num_rows() as u64;
        engine.set("nearscan.io.engine", kind).await.unwrap();
    }
    assert_eq!(rows, ROWS);
}

#[rstest]
#[tokio::test]
async fn file_that_is_cut_off_after_planning_has_the_error_of_the_library(
    #[values("auto", "io_uring", "pread")] kind: &str,
    #[values("auto", "always")] direct: &str,
) {
    let data = Data::make().await;
    let path = data.path("t.parquet");
    let settings = [("nearscan.io.engine", kind), ("nearscan.io.direct", direct)];
    let Some(engine) = engine_with(&settings).await else { return };
    engine.register("t", &path).await.unwrap();
    let planned = engine.sql("SELECT k, v FROM t WHERE k > 600").await.unwrap().plan().await;
    let planned = planned.unwrap();
    File::options().write(true).open(&path).unwrap().set_len(1800).unwrap();
    let error = planned.collect().await.unwrap_err().render();
    let expected = format!(
        "error: data cannot be read\n  detail: file '{path}', row group 1, column 'k', byte 1491: \
         Generic LocalFileSystem error: Out of range of file {path}, expected: 309, actual: 309"
    );
    assert_eq!(error, expected);
}
