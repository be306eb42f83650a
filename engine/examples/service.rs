// SPDX-License-Identifier: Apache-2.0
//! Implements a service: one engine, a read-only session with a timeout for each request, rows as
//! CSV.
//!
//! Handlers of axum, hyper or tonic have this shape: shared state that is cloned, a request, a
//! response that streams. Here the requests come from a list, so the example needs no network.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use futures::TryStreamExt;
use nearscan::{
    Engine, Error, SessionOptions,
    arrow::{csv::WriterBuilder, record_batch::RecordBatch},
};

/// The state that all handlers share.
#[derive(Clone)]
struct App {
    engine: Engine,
}

/// The response of a handler.
struct Response {
    status: u16,
    body: String,
}

impl App {
    async fn query(&self, sql: &str) -> Response {
        match self.rows(sql).await {
            Ok(body) => Response { status: 200, body },
            Err(error) => Response { status: status(&error), body: error.render() },
        }
    }

    async fn rows(&self, sql: &str) -> Result<String, Error> {
        let session = self.engine.session_with(SessionOptions::default().read_only());
        let query = session.sql(sql).await?.timeout(Duration::from_secs(10));
        let mut stream = query.stream().await?;
        let mut body = Vec::new();
        while let Some(batch) = stream.try_next().await? {
            append(&mut body, &batch);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

fn append(body: &mut Vec<u8>, batch: &RecordBatch) {
    let mut writer = WriterBuilder::new().with_header(body.is_empty()).build(body);
    writer.write(batch).expect("a vector takes every byte");
}

fn status(error: &Error) -> u16 {
    match error {
        Error::Access(_) => 403,
        Error::TableNotFound(_) => 404,
        Error::Timeout { .. } | Error::Cancelled => 408,
        Error::Internal(_) | Error::Io(_) => 500,
        _ => 400,
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().memory_limit(256 << 20).build().await?;
    engine.sql("CREATE TABLE t AS VALUES (1, 'one'), (2, 'two')").await?;
    let app = App { engine };

    let requests = [
        ("SELECT column2 FROM t WHERE column1 > 1", 200),
        ("DROP TABLE t", 403),
        ("SELECT * FROM nothing", 404),
        ("SELECT 1 +", 400),
    ];
    let tasks = requests.map(|(sql, expected)| {
        let app = app.clone();
        tokio::spawn(async move { (sql, expected, app.query(sql).await) })
    });
    for task in tasks {
        let (sql, expected, response) = task.await?;
        println!("{sql}\n{} {}\n", response.status, response.body.trim_end());
        assert_eq!(response.status, expected);
    }
    Ok(())
}
