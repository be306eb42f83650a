// SPDX-License-Identifier: Apache-2.0
//! Measures the planning of a scan of many files: the engine against plain DataFusion.
//!
//! ```text
//! cargo bench -p nearscan --bench file_count -- --files 1000 --columns 100 --pairs 15
//! ```
//!
//! The files are made in a temporary folder, each with one row group of a few rows, so that footers
//! are all there is to read. Both sides have the same files, settings and number of partitions, and
//! plan in one process, in pairs: engine and plain, plain and engine, and so on, so that what the
//! machine does besides meets both alike. A ratio is the median of the ratios of the pairs, engine
//! to plain; above 1 the engine is slower.
//!
//! Each side has its own defaults for how much of statistics and footers it caches: of 1,000 files
//! of 100 columns, DataFusion's caches hold a part.
//!
//! | line | what is timed |
//! |---|---|
//! | first | a new session, the table made of the folder, and the first plan |
//! | again | one more plan in a session that has planned before |
//!
//! Times are measured, with the files in the page cache. Neither side has a cache of listings,
//! since the engine must see files that others add. Without `--bench`, as under `cargo test`, a run
//! is tiny, and only the plans matter: both sides must scan the same number of files.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::unwrap_used, reason = "nothing can be measured after a failure")]

use std::{collections::BTreeSet, fs::File, path::Path, sync::Arc, time::Duration};

use nearscan::{
    Engine,
    arrow::{
        array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray},
        datatypes::SchemaRef,
    },
    datafusion::{
        datasource::{
            physical_plan::{FileGroup, ParquetSource},
            source::DataSourceExec,
        },
        execution::runtime_env::RuntimeEnvBuilder,
        physical_plan::ExecutionPlan,
        prelude::{SessionConfig, SessionContext},
    },
    drive::clock::Stopwatch,
    parquet::arrow::ArrowWriter,
};
use nearscan_optimizer::FusedScanExec;

/// Partitions of both sides.
const PARTITIONS: usize = 2;

/// Rows of a file.
const ROWS: i64 = 4;

/// The floating-point numbers of a file.
const FLOATS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

const SQL: &str = "SELECT count(c0), sum(c3) FROM t WHERE c1 > 5.0 AND c3 > 7";

/// The number of files, of their columns, and of measured pairs.
#[derive(Debug, Clone, Copy)]
struct Options {
    files: usize,
    columns: usize,
    pairs: usize,
}

/// Whose planning is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Engine,
    Plain,
}

/// A session of one side, with the table.
enum Session {
    Engine(Engine),
    Plain(SessionContext),
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_full = arguments.iter().any(|argument| argument == "--bench");
    let number = |name: &str, default: usize| {
        let value = arguments.iter().skip_while(|argument| *argument != name).nth(1);
        value.map_or(default, |value| value.parse().unwrap())
    };
    let options = match is_full {
        true => Options {
            files: number("--files", 1000),
            columns: number("--columns", 100),
            pairs: number("--pairs", 15),
        },
        false => Options { files: 3, columns: 6, pairs: 1 },
    };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), options);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(report(folder.path().to_str().unwrap(), options));
}

async fn report(folder: &str, options: Options) {
    let Options { files, columns, pairs } = options;
    println!(
        "{files} files of {columns} columns, {PARTITIONS} partitions, {pairs} pairs, measured"
    );
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut sides = [Side::Engine, Side::Plain];
        sides.rotate_left(pair % 2);
        let mut sessions = Vec::new();
        let mut times = Vec::new();
        for side in sides {
            let watch = Stopwatch::start();
            let session = Session::open(side, folder).await;
            let plan = session.plan().await;
            times.push((side, watch.elapsed()));
            assert_eq!(scanned_files(plan.as_ref()).len(), files, "{side:?}");
            sessions.push((side, session));
        }
        first.push(Pair::of(&times));
        times.clear();
        for (side, session) in &sessions {
            let watch = Stopwatch::start();
            let plan = session.plan().await;
            times.push((*side, watch.elapsed()));
            drop(plan);
        }
        again.push(Pair::of(&times));
    }
    println!("plan    engine ms   plain ms   ratio");
    print("first", &first);
    print("again", &again);
}

/// The times that both sides took.
#[derive(Debug, Clone, Copy)]
struct Pair {
    engine: Duration,
    plain: Duration,
}

impl Pair {
    fn of(times: &[(Side, Duration)]) -> Self {
        let of = |side| times.iter().find(|(of, _)| *of == side).unwrap().1;
        Self { engine: of(Side::Engine), plain: of(Side::Plain) }
    }
}

fn print(name: &str, pairs: &[Pair]) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let engine = median(pairs.iter().map(|pair| ms(pair.engine)));
    let plain = median(pairs.iter().map(|pair| ms(pair.plain)));
    let ratio = median(pairs.iter().map(|pair| ms(pair.engine) / ms(pair.plain)));
    println!("{name:6} {engine:10.2} {plain:10.2} {ratio:7.3}");
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

impl Session {
    async fn open(side: Side, folder: &str) -> Self {
        match side {
            Side::Engine => {
                let engine = Engine::builder().threads(PARTITIONS).build().await.unwrap();
                engine.register("t", folder).await.unwrap();
                Self::Engine(engine)
            }
            Side::Plain => {
                let config = SessionConfig::new().with_target_partitions(PARTITIONS);
                let runtime = RuntimeEnvBuilder::new().with_object_list_cache_limit(0);
                let context =
                    SessionContext::new_with_config_rt(config, runtime.build_arc().unwrap());
                let sql = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{folder}/'");
                context.sql(&sql).await.unwrap().collect().await.unwrap();
                Self::Plain(context)
            }
        }
    }

    async fn plan(&self) -> Arc<dyn ExecutionPlan> {
        match self {
            Self::Engine(engine) => {
                let stream = engine.sql(SQL).await.unwrap().stream().await.unwrap();
                Arc::clone(stream.plan())
            }
            Self::Plain(context) => {
                let frame = context.sql(SQL).await.unwrap();
                frame.create_physical_plan().await.unwrap()
            }
        }
    }
}

/// The files of all scans below `plan`; one may be cut in two for two partitions. A fused scan has
/// those of the scan that it replaced.
fn scanned_files(plan: &dyn ExecutionPlan) -> BTreeSet<String> {
    if let Some(fused) = plan.downcast_ref::<FusedScanExec>() {
        return scanned_files(fused.replaced().as_ref());
    }
    let scan = plan.downcast_ref::<DataSourceExec>();
    let scan = scan.and_then(DataSourceExec::downcast_to_file_source::<ParquetSource>);
    let files = scan.into_iter().flat_map(|(scan, _)| &scan.file_groups).flat_map(FileGroup::files);
    let here = files.map(|file| file.object_meta.location.to_string());
    let below = plan.children().into_iter().flat_map(|child| scanned_files(child.as_ref()));
    here.chain(below).collect()
}

/// Numbers, texts and floating-point numbers by turns.
fn columns(options: Options, file: i64) -> RecordBatch {
    let column = |number: usize| -> (String, ArrayRef) {
        let numbers = (0..ROWS).map(|row| file * ROWS + row);
        let array: ArrayRef = match number % 3 {
            0 => Arc::new(numbers.collect::<Int64Array>()),
            1 => Arc::new(Float64Array::from_iter_values(FLOATS)),
            _ => Arc::new(StringArray::from_iter_values(numbers.map(|n| format!("text {n}")))),
        };
        (format!("c{number}"), array)
    };
    RecordBatch::try_from_iter((0..options.columns).map(column)).unwrap()
}

fn write(folder: &Path, options: Options) {
    for file in 0..options.files {
        let batch = columns(options, i64::try_from(file).unwrap());
        let schema: SchemaRef = batch.schema();
        let path = folder.join(format!("{file:06}.parquet"));
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}
