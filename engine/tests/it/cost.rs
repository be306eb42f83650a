// SPDX-License-Identifier: Apache-2.0
//! The inputs of the cost model, as tables show them, and its estimates for units.

use futures::StreamExt;
use nearscan::Engine;

use crate::support::{Data, engine_with_drive, text};

const SUM: &str = "SELECT sum(v) FROM t WHERE k > 10";

/// The table of all tests here in a codec that drives read.
async fn snappy(data: &Data) -> String {
    let path = data.path("snappy.parquet");
    let sql = format!(
        "COPY t TO '{path}' STORED AS PARQUET OPTIONS ('format.compression' 'snappy', \
         'format.max_row_group_size' '500')"
    );
    text(&data.engine().await, &sql).await;
    path
}

/// An engine with the emulated drive in a mode, and a host of given rates: a slow decoder.
async fn slow_host(data: &Data, mode: &str) -> Engine {
    let engine = engine_with_drive(mode).await;
    for (key, rate) in [
        ("decode_bytes_per_s", "1000"),
        ("decode_values_per_s", "1000"),
        ("merge_rows_per_s", "2000"),
        ("result_bytes_per_s", "3000"),
    ] {
        engine.set(&format!("nearscan.host.{key}"), rate).await.unwrap();
    }
    engine.register("t", &snappy(data).await).await.unwrap();
    engine
}

#[tokio::test]
async fn host_rates_follow_the_settings() {
    let data = Data::make().await;
    let engine = slow_host(&data, "auto").await;
    let set = "SELECT name, value FROM nearscan.host WHERE source = 'set' AND name LIKE '%per_s'";
    assert_eq!(
        text(&engine, set).await,
        "name value\ndecode_bytes_per_s 1000.0\ndecode_values_per_s 1000.0\n\
         merge_rows_per_s 2000.0\nresult_bytes_per_s 3000.0"
    );
    let cores = "SELECT value FROM nearscan.host WHERE name = 'cores'";
    assert_eq!(text(&engine, cores).await, "value\n2.0");
}

#[tokio::test]
async fn host_is_measured_where_the_cost_model_is_asked() {
    const SOURCE: &str = "SELECT source FROM nearscan.host WHERE name = 'merge_rows_per_s'";
    let data = Data::make().await;
    for (mode, source) in [("off", "assumed"), ("force", "assumed"), ("auto", "measured")] {
        let engine = engine_with_drive(mode).await;
        engine.register("t", &data.path("t.parquet")).await.unwrap();
        text(&engine, SUM).await;
        assert_eq!(text(&engine, SOURCE).await, format!("source\n{source}"), "{mode}");
    }
    let without_a_drive = data.engine().await;
    text(&without_a_drive, SUM).await;
    assert_eq!(text(&without_a_drive, SOURCE).await, "source\nassumed");
}

#[tokio::test]
async fn queries_that_run_are_counted_until_their_last_batch() {
    const RUNNING: &str = "SELECT value FROM nearscan.host WHERE name = 'running_queries'";
    let data = Data::make().await;
    let engine = data.engine().await;
    assert_eq!(text(&engine, RUNNING).await, "value\n0.0");
    let mut stream = engine.sql("SELECT k FROM t").await.unwrap().stream().await.unwrap();
    let dropped = engine.sql("SELECT k FROM t").await.unwrap().stream().await.unwrap();
    assert_eq!(text(&engine, RUNNING).await, "value\n2.0");
    drop(dropped);
    while let Some(batch) = stream.next().await {
        batch.unwrap();
    }
    assert_eq!(text(&engine, RUNNING).await, "value\n0.0");
}

#[tokio::test]
async fn units_have_estimates_where_the_cost_model_was_asked() {
    const LOG: &str = "SELECT count(*), count(drive_estimate_ns), count(host_estimate_ns), \
                       count(snapshot_id), min(host_estimate_ns) > max(drive_estimate_ns) AS s \
                       FROM nearscan.pushdown_log WHERE modelled_ns > 0 AND measured_ns IS NULL";
    let data = Data::make().await;
    let auto = slow_host(&data, "auto").await;
    text(&auto, SUM).await;
    let counts = text(&auto, LOG).await;
    assert_eq!(counts.lines().nth(1), Some("2 2 2 2 true"), "{counts}");
    let force = slow_host(&data, "force").await;
    text(&force, SUM).await;
    let counts = text(&force, LOG).await;
    assert_eq!(counts.lines().nth(1).map(str::trim), Some("2 0 0 0"), "{counts}");
}

#[tokio::test]
async fn rates_are_those_of_the_model_until_commands_tell_more() {
    const RATES: &str = "SELECT source, count(*), count(observations) AS fitted, \
                         bool_and(residual IS NULL OR residual < 0.25) AS good \
                         FROM nearscan.drive_rates GROUP BY source";
    let data = Data::make().await;
    let engine = slow_host(&data, "force").await;
    assert_eq!(text(&engine, RATES).await.lines().nth(1), Some("modelled 8 0 true"));
    for _ in 0..5 {
        text(&engine, SUM).await;
    }
    assert_eq!(text(&engine, RATES).await.lines().nth(1), Some("modelled 8 1 true"));
    let fitted = "SELECT kernel, request_size, observations FROM nearscan.drive_rates \
                  WHERE observations IS NOT NULL";
    let row = text(&engine, fitted).await;
    assert_eq!(row.lines().nth(1), Some("scan 4 KiB 10"), "{row}");
    // A drive that is the host itself says nothing of its speed.
    let cpu = Engine::builder().drive("cpu:").unwrap().build().await.unwrap();
    assert_eq!(
        text(&cpu, "SELECT count(*) FROM nearscan.drive_rates").await.lines().nth(1),
        Some("0")
    );
    assert_eq!(text(&crate::support::engine().await, RATES).await.lines().count(), 1);
}
