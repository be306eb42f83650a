// SPDX-License-Identifier: Apache-2.0
//! Tests the 22 queries end to end, at a scale factor that is feasible in a debug build.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use nearscan::Engine;
use nearscan_tpch::{
    Checked, Layout, ScaleFactor, Table, answers,
    generate::{self, Silent},
    queries,
    run::{self, Plan},
};

/// Makes the data of scale factor 0.01 unless an earlier test has.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sf0.01");
    generate::generate(&scale(), Layout::Usual, &folder, &mut Silent).unwrap();
    folder
}

pub(crate) fn scale() -> ScaleFactor {
    "0.01".parse().unwrap()
}

async fn engine() -> Engine {
    let engine = Engine::builder().threads(2).build().await.unwrap();
    run::register(&engine, &folder()).await.unwrap();
    engine
}

#[tokio::test]
async fn all_22_answers_are_right_at_scale_factor_0_01() {
    let engine = engine().await;
    let queries = queries::QUERIES.iter().collect();
    let plan = Plan { scale: scale(), queries, runs: NonZero::new(2).unwrap() };
    let mut seen = 0;
    let report = run::run(&engine, &plan, &mut |_| seen += 1).await;
    assert_eq!(seen, 22);
    for query in &report.queries {
        assert_eq!(query.answer, Checked::Ok, "q{:02}", query.query);
        assert_eq!(query.seconds.len(), 2);
    }
    // Query 15 leaves no view behind.
    assert_eq!(engine.tables().len(), Table::ALL.len());
}

#[tokio::test]
async fn changed_data_makes_answers_wrong() {
    let engine = engine().await;
    engine.deregister("lineitem").unwrap();
    let file = generate::file(&folder(), Table::LineItem);
    let view = format!(
        "CREATE VIEW lineitem AS SELECT * FROM '{}' WHERE NOT (l_orderkey = 1 AND l_linenumber = 1)",
        file.display()
    );
    engine.sql(&view).await.unwrap();
    let query = queries::find(1).unwrap();
    let answer = answers::find(&scale(), 1);
    let report = run::run_query(&engine, query, answer, NonZero::<u32>::MIN).await;
    assert!(matches!(report.answer, Checked::Wrong(_)), "{:?}", report.answer);
}

#[tokio::test]
async fn failing_query_is_reported_and_leaves_nothing_behind() {
    let engine = engine().await;
    engine.deregister("supplier").unwrap();
    let query = queries::find(15).unwrap();
    let report = run::run_query(&engine, query, None, NonZero::<u32>::MIN).await;
    let Checked::Failed(error) = &report.answer else { panic!("{:?}", report.answer) };
    assert!(error.starts_with("error: table 'supplier' not found"), "{error}");
    assert_eq!(engine.tables().len(), Table::ALL.len() - 1);
}

#[tokio::test]
async fn answers_are_unchecked_where_none_are_stored() {
    let scale: ScaleFactor = "0.02".parse().unwrap();
    assert_eq!(answers::find(&scale, 1), None);
    let engine = engine().await;
    let queries = queries::parse_list("6").unwrap();
    let plan = Plan { scale, queries, runs: NonZero::<u32>::MIN };
    let report = run::run(&engine, &plan, &mut |_| {}).await;
    assert_eq!(report.queries[0].answer, Checked::Unchecked);
    assert!(report.is_right());
}
