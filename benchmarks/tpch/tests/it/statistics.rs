// SPDX-License-Identifier: Apache-2.0
//! Tests that statistics of files are near the truth, and that wrong ones change no row.

use std::{fs, num::NonZero, path::Path};

use nearscan::{
    Engine,
    arrow::{
        array::AsArray,
        datatypes::{Int64Type, UInt64Type},
    },
};
use nearscan_tpch::{
    Checked, queries,
    run::{self, Plan},
};
use tempfile::TempDir;

use crate::answers::{folder, scale};

/// The counts that plans have asked for.
const COUNTED: &str =
    "SELECT file, column, distinct_count FROM nearscan.statistics WHERE source <> 'footer'";

/// A query whose joins have another order with other counts.
const ORDERED: u32 = 9;

/// An engine over the tables that keeps its statistics in a folder of the test.
async fn engine(cache: &Path) -> Engine {
    let engine = Engine::builder().threads(2).cache_directory(cache).build().await.unwrap();
    run::register(&engine, &folder()).await.unwrap();
    engine
}

/// Runs the 22 queries and compares their rows with the stored answers.
async fn check_answers(engine: &Engine) {
    let queries = queries::QUERIES.iter().collect();
    let plan = Plan { scale: scale(), queries, runs: NonZero::<u32>::MIN };
    let report = run::run(engine, &plan, &mut |_| {}).await;
    for query in &report.queries {
        assert_eq!(query.answer, Checked::Ok, "q{:02}", query.query);
    }
}

/// Files, columns and different values, of those that were counted.
async fn counted(engine: &Engine) -> Vec<(String, String, u64)> {
    let result = engine.sql(COUNTED).await.unwrap().collect().await.unwrap();
    let rows = result.batches.iter().flat_map(|batch| {
        let text = |column: usize| batch.column(column).as_string::<i32>();
        let distinct = batch.column(2).as_primitive::<UInt64Type>();
        (0..batch.num_rows()).map(move |row| {
            let [file, column] = [0, 1].map(|it| text(it).value(row).to_owned());
            (file, column, distinct.value(row))
        })
    });
    rows.collect()
}

async fn plan_of(engine: &Engine, query: u32) -> String {
    let sql = queries::find(query).unwrap().sql;
    let result = engine.sql(&format!("EXPLAIN {sql}")).await.unwrap().collect().await.unwrap();
    let texts = result.batches.iter().flat_map(|batch| {
        let plans = batch.column(1).as_string::<i32>();
        (0..batch.num_rows()).map(|row| plans.value(row).to_owned())
    });
    texts.collect()
}

#[tokio::test]
async fn counts_are_within_a_factor_of_two_of_the_truth() {
    let cache = TempDir::new().unwrap();
    let engine = engine(cache.path()).await;
    for query in [2, 5, 7, 8, 9, 18, 21] {
        plan_of(&engine, query).await;
    }
    let counted = counted(&engine).await;
    assert!(counted.len() > 15, "{counted:?}");
    for (file, column, distinct) in counted {
        let sql = format!("SELECT count(DISTINCT {column}) FROM '{file}'");
        let result = engine.sql(&sql).await.unwrap().collect().await.unwrap();
        let truth = result.batches[0].column(0).as_primitive::<Int64Type>().value(0);
        let truth = u64::try_from(truth).unwrap();
        let is_near = distinct <= 2 * truth && truth <= 2 * distinct;
        assert!(is_near, "{column}: {distinct}, not {truth}");
    }
}

/// Writes a number in the place of every count, and returns how many there were.
fn plant(cache: &Path, distinct: u64) -> usize {
    let mut planted = 0;
    for file in fs::read_dir(cache).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| match line.split_once(' ') {
            Some((_, rest)) if rest.starts_with("dictionary ") || rest.starts_with("sample ") => {
                planted += 1;
                format!("{distinct} {rest}\n")
            }
            _ => format!("{line}\n"),
        });
        let text: String = lines.collect();
        fs::write(&path, text).unwrap();
    }
    planted
}

#[tokio::test]
async fn wrong_counts_change_no_row_of_the_22_queries() {
    let cache = TempDir::new().unwrap();
    let right = engine(cache.path()).await;
    check_answers(&right).await;
    let expected = counted(&right).await.len();
    let ordered = plan_of(&right, ORDERED).await;
    let mut plans = Vec::new();
    for distinct in [0, 1, u64::MAX] {
        assert_eq!(plant(cache.path(), distinct), expected);
        let wrong = engine(cache.path()).await;
        check_answers(&wrong).await;
        plans.push(plan_of(&wrong, ORDERED).await);
        let used = counted(&wrong).await;
        assert_eq!(used.len(), expected);
        assert!(used.iter().all(|(.., used)| *used == distinct), "{used:?}");
    }
    assert!(plans.iter().any(|plan| *plan != ordered), "the counts were not used:\n{ordered}");
}
