// SPDX-License-Identifier: Apache-2.0
//! Measures the overhead of the engine without a drive: the 22 queries against plain DataFusion.
//!
//! ```text
//! cargo bench -p nearscan-tpch --bench overhead -- --scale-factor 1 --runs 5
//! ```
//!
//! Both sides have the same settings, the same files and the same number of partitions, and run in
//! one process, in pairs: engine and plain, plain and engine, and so on, so that what the machine
//! does besides meets both alike. A figure is the median of the ratios of the pairs, engine to
//! plain; above 1 the engine is slower.
//!
//! | column | from | to |
//! |---|---|---|
//! | query | text | last row, through `Engine::sql` and `SessionContext::sql` |
//! | planning | text | the open stream of the physical plan, through the same |
//!
//! Times are measured with warm caches; a first planning and run does not count. Tasks of a stream
//! that was opened and dropped have ended before the next planning starts. Views that a query
//! needs are made and dropped outside of the time. The answers of both are checked, against the
//! stored ones where there are some; the hash of a result is of its rows as text.
//!
//! Under `cargo test` it runs once at scale factor 0.01, and only the answers matter.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::unwrap_used, reason = "nothing can be measured after a failure")]

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Parser;
use futures::TryStreamExt;
use libtest_mimic::{Arguments, Trial};
use nearscan::{
    Engine,
    arrow::{array::RecordBatch, util::pretty::pretty_format_batches},
    datafusion::{
        execution::runtime_env::RuntimeEnvBuilder,
        prelude::{SessionConfig, SessionContext},
    },
    drive::clock::Stopwatch,
};
use nearscan_tpch::{
    Layout, ScaleFactor, Table, answers,
    generate::{self, Silent},
    queries::{self, Query},
    run,
};
use tokio::runtime::Handle;

/// Options of the benchmark.
#[derive(Debug, Clone, Parser)]
struct Options {
    /// Scale factor of the data
    #[arg(long, default_value = "1")]
    scale_factor: ScaleFactor,
    /// Queries to measure, such as 1,6,12-14
    #[arg(long, value_name = "LIST", default_value = "1-22")]
    queries: String,
    /// Pairs of runs of each query
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Pairs of plannings of each query; fewer than 50, of some milliseconds each, tell no percents
    /// apart
    #[arg(long, default_value_t = 200)]
    plannings: u32,
    /// Partitions of both sides [default: all processors]
    #[arg(long)]
    threads: Option<usize>,
    /// Folder of the data, which is made if it is not there [default: in the target folder]
    #[arg(long)]
    data: Option<PathBuf>,
    /// The argument that cargo passes to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--bench") {
        let options = Options::parse();
        report(&options);
        return ExitCode::SUCCESS;
    }
    let tiny = Trial::test("overhead_of_each_query_is_measured", || {
        let options = Options {
            scale_factor: "0.01".parse()?,
            queries: "1-22".to_owned(),
            runs: 1,
            plannings: 1,
            threads: Some(2),
            data: None,
            bench: false,
        };
        report(&options);
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![tiny]).exit_code()
}

/// Measures all queries and prints a line for each.
fn report(options: &Options) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sides = runtime.block_on(Sides::open(options));
    println!(
        "scale factor {}, {} partitions, {} pairs of runs, {} pairs of plannings, measured",
        options.scale_factor,
        sides.plain.copied_config().target_partitions(),
        options.runs,
        options.plannings,
    );
    println!("query  engine ms   plain ms  query ratio  planning ms  planning ratio  rows  hash");
    let mut ratios = Vec::new();
    let mut plannings = Vec::new();
    for query in queries::parse_list(&options.queries).unwrap() {
        let figures = runtime.block_on(sides.measure(query, options));
        println!(
            "{:5} {:10.2} {:10.2} {:12.3} {:12.2} {:15.3} {:5}  {:016x}",
            query.name(),
            milliseconds(figures.engine),
            milliseconds(figures.plain),
            figures.query_ratio,
            milliseconds(figures.planning),
            figures.planning_ratio,
            figures.rows,
            figures.hash,
        );
        ratios.push((figures.query_ratio, figures.planning_ratio));
        plannings.push(figures.planning);
    }
    let query = geometric_mean(ratios.iter().map(|(query, _)| *query));
    let planning = geometric_mean(ratios.iter().map(|(_, planning)| *planning));
    println!("geometric means: query {query:.3}, planning {planning:.3}");
    println!("median of plannings {:.2} ms", milliseconds(median(plannings)));
}

/// The two that are compared.
struct Sides {
    scale: ScaleFactor,
    engine: Engine,
    plain: SessionContext,
}

/// The figures measured of a query.
struct Figures {
    /// Medians.
    engine: Duration,
    plain: Duration,
    /// Of the engine.
    planning: Duration,
    /// Medians of the ratios of pairs, engine to plain.
    query_ratio: f64,
    planning_ratio: f64,
    rows: usize,
    hash: u64,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Engine,
    Plain,
}

/// The statements of a query: one that has rows, and those that make and drop a view around it.
struct Statements {
    before: Vec<&'static str>,
    query: &'static str,
    after: Vec<&'static str>,
}

/// Times of a pair.
struct Pair {
    engine: Duration,
    plain: Duration,
}

impl Sides {
    async fn open(options: &Options) -> Self {
        let default = || Path::new(env!("CARGO_TARGET_TMPDIR")).join(options.scale_factor.folder());
        let data = options.data.clone().unwrap_or_else(default);
        generate::generate(&options.scale_factor, Layout::Usual, &data, &mut Silent).unwrap();
        let mut builder = Engine::builder();
        if let Some(count) = options.threads {
            builder = builder.threads(count);
        }
        let engine = builder.build().await.unwrap();
        run::register(&engine, &data).await.unwrap();
        let plain = plain_session(&engine);
        for table in Table::ALL {
            let (name, file) = (table.name(), generate::file(&data, table));
            let location = file.display();
            let create =
                format!("CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{location}'");
            plain.sql(&create).await.unwrap();
        }
        Self { scale: options.scale_factor.clone(), engine, plain }
    }

    async fn measure(&self, query: &Query, options: &Options) -> Figures {
        let statements = Statements::of(query.sql);
        for sql in &statements.before {
            self.run(Side::Engine, sql).await;
            self.run(Side::Plain, sql).await;
        }
        let (rows, hash) = self.check(query, statements.query).await;
        let mut plannings = Vec::new();
        for index in 0..=options.plannings {
            plannings.push(self.planning_pair(statements.query, order(index)).await);
        }
        let mut runs = Vec::new();
        for index in 0..options.runs {
            runs.push(self.run_pair(statements.query, order(index)).await);
        }
        for sql in &statements.after {
            self.run(Side::Engine, sql).await;
            self.run(Side::Plain, sql).await;
        }
        Figures {
            engine: median(runs.iter().map(|pair| pair.engine).collect()),
            plain: median(runs.iter().map(|pair| pair.plain).collect()),
            planning: median(plannings[1..].iter().map(|pair| pair.engine).collect()),
            query_ratio: median_ratio(&runs),
            // The first pair of plannings fills caches.
            planning_ratio: median_ratio(&plannings[1..]),
            rows,
            hash,
        }
    }

    /// Runs the query on both sides and compares the answers; returns rows and hash.
    async fn check(&self, query: &Query, sql: &str) -> (usize, u64) {
        let of_engine = self.run(Side::Engine, sql).await;
        let of_plain = self.run(Side::Plain, sql).await;
        let row_count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum();
        let rows: usize = row_count(&of_engine);
        assert_eq!(rows, row_count(&of_plain), "{}", query.name());
        if let Some(answer) = answers::find(&self.scale, query.number) {
            for batches in [&of_engine, &of_plain] {
                answers::check(query, batches, answer).unwrap();
            }
        }
        (rows, hash(&of_engine))
    }

    async fn run(&self, side: Side, sql: &str) -> Vec<RecordBatch> {
        match side {
            // The profile that `Query::collect` makes as well has no counterpart.
            Side::Engine => {
                let stream = self.engine.sql(sql).await.unwrap().stream().await.unwrap();
                stream.try_collect().await.unwrap()
            }
            Side::Plain => self.plain.sql(sql).await.unwrap().collect().await.unwrap(),
        }
    }

    async fn run_pair(&self, sql: &str, order: [Side; 2]) -> Pair {
        let mut times = [Duration::ZERO; 2];
        for side in order {
            let stopwatch = Stopwatch::start();
            let batches = self.run(side, sql).await;
            times[side as usize] = stopwatch.elapsed();
            drop(batches);
        }
        Pair { engine: times[Side::Engine as usize], plain: times[Side::Plain as usize] }
    }

    async fn planning_pair(&self, sql: &str, order: [Side; 2]) -> Pair {
        let mut times = [Duration::ZERO; 2];
        for side in order {
            let stopwatch = Stopwatch::start();
            times[side as usize] = match side {
                Side::Engine => {
                    let stream = self.engine.sql(sql).await.unwrap().stream().await.unwrap();
                    let elapsed = stopwatch.elapsed();
                    drop(stream);
                    elapsed
                }
                Side::Plain => {
                    let frame = self.plain.sql(sql).await.unwrap();
                    let stream = frame.execute_stream().await.unwrap();
                    let elapsed = stopwatch.elapsed();
                    drop(stream);
                    elapsed
                }
            };
            ended_tasks().await;
        }
        Pair { engine: times[Side::Engine as usize], plain: times[Side::Plain as usize] }
    }
}

/// Waits until the tasks of a dropped stream have ended: an open stream reads ahead, and the next
/// planning must not share the processors with it.
async fn ended_tasks() {
    while Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// A session of DataFusion with the settings of the engine and nothing else of it.
fn plain_session(engine: &Engine) -> SessionContext {
    let mut options = engine.uncorrected_context().copied_config().options().as_ref().clone();
    // Those of Nearscan.
    options.extensions = Default::default();
    options.catalog.create_default_catalog_and_schema = true;
    // As in the engine, folders are listed for every query.
    let runtime = RuntimeEnvBuilder::new().with_object_list_cache_limit(0).build_arc().unwrap();
    SessionContext::new_with_config_rt(SessionConfig::from(options), runtime)
}

impl Statements {
    fn of(sql: &'static str) -> Self {
        let all: Vec<&str> = sql.split(';').map(str::trim).filter(|sql| !sql.is_empty()).collect();
        let has_rows = |sql: &&str| sql.starts_with("SELECT") || sql.starts_with("WITH");
        let at = all.iter().position(has_rows).unwrap();
        Self { before: all[..at].to_vec(), query: all[at], after: all[at + 1..].to_vec() }
    }
}

/// Every other pair begins with the other side.
fn order(index: u32) -> [Side; 2] {
    match index % 2 {
        0 => [Side::Engine, Side::Plain],
        _ => [Side::Plain, Side::Engine],
    }
}

fn median_ratio(pairs: &[Pair]) -> f64 {
    let ratio = |pair: &Pair| pair.engine.as_secs_f64() / pair.plain.as_secs_f64();
    let mut ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    // Of an even number the mean of the two in the middle.
    (ratios[(ratios.len() - 1) / 2] + ratios[ratios.len() / 2]) / 2.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = f64::from(u32::try_from(values.len()).unwrap());
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A hash of the rows as text; the hasher has fixed keys.
fn hash(batches: &[RecordBatch]) -> u64 {
    let mut hasher = DefaultHasher::new();
    pretty_format_batches(batches).unwrap().to_string().hash(&mut hasher);
    hasher.finish()
}
