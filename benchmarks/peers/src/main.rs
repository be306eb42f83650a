// SPDX-License-Identifier: Apache-2.0
//! Runs queries on Nearscan for the comparison with other engines (`cargo xtask peers`).
//!
//! It speaks the protocol of `peers/worker.py`: one JSON object in a line on standard input, one on
//! standard output. The first message opens an engine with tables, every further one runs a query,
//! or measures what bounds one: decoding its columns and nothing else, and reading memory. The time
//! of a query is from its text to all of its rows in memory; writing them to a file comes after.
//! Which queries run, how often, and whether their rows are right is decided by the caller.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the protocol is on standard output")]

mod decode;
mod stream;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use nearscan::{
    Engine, QueryResult, Session,
    datafusion::arrow::{datatypes::Schema, ipc::writer::FileWriter},
};
use nearscan_drive::clock::Stopwatch;
use serde::Deserialize;
use serde_json::{Value, json};

/// Stack of a thread, as in the shell, for deep expressions.
const STACK_BYTES: usize = 8 << 20;

/// The first message: the engine to open, and its tables.
#[derive(Debug, Deserialize)]
struct Open {
    /// Location of each table by its name: a file, a folder or a pattern.
    tables: BTreeMap<String, String>,
    /// Number of threads.
    threads: usize,
    /// Bytes that the memory pool may hold.
    memory_limit_bytes: Option<u64>,
    /// Settings by their keys.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// Drives to attach, each as a URL.
    #[serde(default)]
    drives: Vec<String>,
}

/// A further message.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Request {
    Run(Run),
    Decode { decode: Decode },
    Stream { stream: Stream },
}

/// A query to run.
#[derive(Debug, Deserialize)]
struct Run {
    sql: String,
    /// The file to write the rows to, in the file format of Arrow IPC.
    answer: Option<PathBuf>,
}

/// Columns to decode.
#[derive(Debug, Deserialize)]
struct Decode {
    table: String,
    columns: Vec<String>,
}

/// Memory to read.
#[derive(Debug, Deserialize)]
struct Stream {
    bytes: usize,
}

fn main() -> Result<()> {
    let mut lines = io::stdin().lock().lines();
    let Some(first) = lines.next() else { bail!("no message that opens an engine") };
    let open: Open = serde_json::from_str(&first?).context("the first message")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(open.threads)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let session = runtime.block_on(session(&open))?;
    answer(&json!({ "version": env!("CARGO_PKG_VERSION") }));
    for line in lines {
        let request: Request = serde_json::from_str(&line?).context("a further message")?;
        let ended = match request {
            Request::Run(run) => runtime.block_on(timed(&session, &run)),
            Request::Decode { decode } => decoded(&open, &decode),
            Request::Stream { stream } => {
                let time = stream::read(stream.bytes, open.threads);
                Ok(json!({ "seconds": time.as_secs_f64() }))
            }
        };
        answer(&ended.unwrap_or_else(|error| json!({ "error": format!("{error:#}") })));
    }
    Ok(())
}

fn answer(message: &Value) {
    println!("{message}");
}

async fn session(open: &Open) -> Result<Session> {
    let mut builder = Engine::builder().threads(open.threads);
    if let Some(bytes) = open.memory_limit_bytes {
        builder = builder.memory_limit(bytes);
    }
    for (key, value) in &open.settings {
        builder = builder.set(key, value);
    }
    for url in &open.drives {
        builder = builder.drive(url)?;
    }
    let session = builder.build().await?.session();
    for (name, location) in &open.tables {
        session.register(name, location).await?;
    }
    Ok(session)
}

async fn timed(session: &Session, run: &Run) -> Result<Value> {
    let start = Stopwatch::start();
    let result = session.sql(&run.sql).await?.collect().await?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(path) = &run.answer {
        write(&result, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(json!({ "seconds": seconds, "units_drive": result.profile.pushdown().units_drive }))
}

fn decoded(open: &Open, decode: &Decode) -> Result<Value> {
    let location = open.tables.get(&decode.table);
    let location = location.with_context(|| format!("there is no table {}", decode.table))?;
    let columns = decode::Columns::find(Path::new(location), &decode.columns)?;
    let time = columns.decode(open.threads)?;
    Ok(json!({ "seconds": time.as_secs_f64(), "bytes": columns.bytes() }))
}

fn write(result: &QueryResult, path: &Path) -> Result<()> {
    let schema = Schema::new(result.schema.fields().clone());
    let mut writer = FileWriter::try_new(File::create(path)?, &schema)?;
    for batch in &result.batches {
        writer.write(batch)?;
    }
    Ok(writer.finish()?)
}
