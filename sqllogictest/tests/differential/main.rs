// SPDX-License-Identifier: Apache-2.0
//! Seeded random queries over tables with NULLs return the rows of DuckDB, on the drive and off.
//!
//! `differential/write.py` makes the tables, the queries, and what DuckDB returns. Every query then
//! runs on the emulated drive with everything forced to it, and once more without any drive.
//!
//! ```text
//! NEARSCAN_RANDOM_SEED=7 NEARSCAN_RANDOM_COUNT=2000 \
//!     cargo test -p nearscan-sqllogictest --test differential -- --nocapture
//! ```
//!
//! Both have defaults, so that a run in CI is the same every time. A report names the seed and the
//! number of each query that differs; the tables stay in the target folder. [`foreign`] does the
//! same with files of other writers.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod cells;
mod foreign;

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use nearscan::{Engine, QueryResult};

use crate::cells::{Cell, Kind, Row};

const SEED: u64 = 1;
const COUNT: u64 = 500;

/// Below so many queries, shares of them say nothing.
const COUNT_FOR_SHARES: u64 = 100;

/// Queries of which a unit must run on the drive.
const ON_DRIVE_PERCENT_MIN: u64 = 60;

/// Queries that differ and are shown in full.
const SHOWN_MAX: usize = 5;

/// One query, and what DuckDB returns.
#[derive(Debug, serde::Deserialize)]
struct Query {
    number: u64,
    table: String,
    sql: String,
    is_ordered: bool,
    kinds: Vec<Kind>,
    rows: Vec<Vec<Option<String>>>,
    /// How its file was written, if that is what is tested.
    #[serde(default)]
    about: String,
}

/// What a script is to write.
#[derive(Debug, Clone, Copy)]
struct Job {
    /// Its name; that of its folder in the target folder too.
    script: &'static str,
    seed: u64,
    count: u64,
}

impl Query {
    fn expected(&self) -> Vec<Row> {
        let cell = |(kind, text): (&Kind, &Option<String>)| Cell::expected(*kind, text.as_deref());
        self.rows.iter().map(|row| self.kinds.iter().zip(row).map(cell).collect()).collect()
    }

    /// Runs the query; the result, or in what it differs.
    async fn run(&self, engine: &Engine) -> Result<QueryResult, String> {
        let result = async { engine.sql(&self.sql).await?.collect().await }.await;
        let result = result.map_err(|error| error.render())?;
        let found = cells::rows(&result.batches, &self.kinds);
        match cells::difference(self.expected(), found, self.is_ordered) {
            Some(difference) => Err(difference),
            None => Ok(result),
        }
    }
}

/// What became of all queries under `force`.
#[derive(Debug, Default)]
struct Tally {
    /// A unit ran on the drive.
    on_drive: u64,
    /// Every unit did.
    wholly_on_drive: u64,
    /// Row groups were left after pruning, but none ran on the drive.
    on_host: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_queries_return_the_rows_of_duckdb() {
    let test = "random_queries_return_the_rows_of_duckdb";
    let Some(python) = find_python(test) else { return };
    let (seed, count) =
        (number_of("NEARSCAN_RANDOM_SEED", SEED), number_of("NEARSCAN_RANDOM_COUNT", COUNT));
    let folder = write(&python, Job { script: "write", seed, count });
    let queries = queries(&folder);
    assert_eq!(queries.len() as u64, count);

    let forced = engine(&folder, "force", "false").await;
    let off = engine(&folder, "off", "false").await;
    let mut tally = Tally::default();
    let mut differences = Vec::new();
    for query in &queries {
        if let Err(difference) = query.run(&off).await {
            differences.push(report(query, "off", &difference, &folder).await);
        }
        match query.run(&forced).await {
            Ok(result) => note(query, &result, &mut tally),
            Err(difference) => differences.push(report(query, "force", &difference, &folder).await),
        }
    }
    let Tally { on_drive, wholly_on_drive, on_host } = tally;
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees what it covered")]
    {
        println!(
            "seed {seed}: {count} queries, {on_drive} on the drive ({wholly_on_drive} wholly), \
             {on_host} on the host, {} differences",
            differences.len()
        );
    }
    let shown = &differences[..differences.len().min(SHOWN_MAX)];
    assert!(
        differences.is_empty(),
        "seed {seed}, {} differ\n{}",
        differences.len(),
        shown.join("\n")
    );
    if count >= COUNT_FOR_SHARES {
        assert!(
            on_drive * 100 >= count * ON_DRIVE_PERCENT_MIN,
            "{on_drive} of {count} on the drive"
        );
    }
}

/// Counts where a query ran, and holds that of an offloaded one the engine read footers only: a
/// scan of the engine would be an operator, or have counted bytes.
fn note(query: &Query, result: &QueryResult, tally: &mut Tally) {
    let pushdown = result.profile.pushdown();
    if pushdown.units_drive == 0 {
        let mut has_scan = false;
        result.profile.root.visit(&mut |operator| has_scan |= operator.name == "DataSourceExec");
        tally.on_host += u64::from(has_scan || pushdown.units_cpu > 0);
        return;
    }
    tally.on_drive += 1;
    if pushdown.units_cpu > 0 {
        return;
    }
    tally.wholly_on_drive += 1;
    let about = format!("query {}: {}\n{}", query.number, query.sql, result.profile.plan);
    result
        .profile
        .root
        .visit(&mut |operator| assert_ne!(operator.name, "DataSourceExec", "{about}"));
    assert_eq!(result.profile.total("bytes_scanned"), None, "{about}");
}

/// What is needed to look into a difference: the query, what was decided, what verification says.
async fn report(query: &Query, mode: &str, difference: &str, folder: &Path) -> String {
    let mut text = String::new();
    let file = folder.join(format!("{}.parquet", query.table));
    writeln!(text, "query {} over {}, mode {mode}", query.number, file.display()).unwrap();
    writeln!(text, "{}\n  {difference}\n{}", query.sql, query.about).unwrap();
    if mode == "force" {
        let verified = engine(folder, mode, "true").await;
        let explained = async { verified.sql(&query.sql).await?.explain().await }.await;
        let explained = explained.unwrap_or_else(|error| error.render());
        writeln!(text, "{explained}").unwrap();
        let outcome = match query.run(&verified).await {
            Ok(_) => "the same rows".to_owned(),
            Err(difference) => difference,
        };
        writeln!(text, "verified: {outcome}").unwrap();
    }
    text
}

/// An engine with the emulated drive, and the tables in `folder`.
async fn engine(folder: &Path, mode: &str, verify: &str) -> Engine {
    let builder = Engine::builder().threads(2).drive("emulated:?profile=unlimited").unwrap();
    let builder = builder.set("nearscan.pushdown.mode", mode);
    let engine = builder.set("nearscan.pushdown.verify", verify).build().await.unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let name = path.file_stem().unwrap().to_string_lossy();
            engine.register(&name, &path.to_string_lossy()).await.unwrap();
        }
    }
    engine
}

/// Reads what a script wrote beside its files.
fn queries(folder: &Path) -> Vec<Query> {
    serde_json::from_slice(&fs::read(folder.join("queries.json")).unwrap()).unwrap()
}

/// Has the tables and queries written, into a folder of this seed.
fn write(python: &OsString, job: Job) -> PathBuf {
    let Job { script, seed, count } = job;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differential");
    let folder = folder.join(script).join(seed.to_string());
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    let script = format!("{}/differential/{script}.py", env!("CARGO_MANIFEST_DIR"));
    // Bytecode of a script would lie beside it, in the project.
    let mut command = Command::new(python);
    command.arg("-B").arg(script).arg("--out").arg(&folder);
    command.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// A number from the environment.
fn number_of(variable: &str, default: u64) -> u64 {
    match std::env::var_os(variable) {
        Some(text) => text.to_string_lossy().parse().unwrap(),
        None => default,
    }
}

/// The interpreter that has the packages of the tests; without one, tells the runner of the tests
/// (and whoever reads the output) that `test` was skipped.
fn find_python(test: &str) -> Option<OsString> {
    if let Some(python) = std::env::var_os("NEARSCAN_PYTHON") {
        return Some(python);
    }
    let reason = "needs python (NEARSCAN_PYTHON names no interpreter)";
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees why it did nothing")]
    {
        println!("skipped: {test} ({reason})");
    }
    if let Some(log) = std::env::var_os("NEARSCAN_SKIP_LOG") {
        let mut log = fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        writeln!(log, "{test}\t{reason}").unwrap();
    }
    None
}
