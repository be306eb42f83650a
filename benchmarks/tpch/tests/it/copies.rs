// SPDX-License-Identifier: Apache-2.0
//! Tests the 22 queries over nullable copies of the tables, written by DuckDB and by pyarrow.
//!
//! Our own files have no NULL and no definition levels. `tests/copies/write.py` says what is
//! special about each copy. Units of most copies run on the drive, and each is verified against the
//! host; the others have features that no drive reads yet, and the reason is shown.

use std::{
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
};

use nearscan::{Engine, QueryProfile};
use nearscan_tpch::{
    Checked, answers, queries,
    run::{self, Plan},
};
use rstest::rstest;

use crate::answers::{folder, scale};

/// Queries of which units must run on the drive.
const PUSHED: [u32; 10] = [1, 3, 4, 6, 7, 10, 12, 14, 15, 20];

/// Queries of which every unit runs on the drive, where group keys have dictionaries.
const WHOLLY_PUSHED: [u32; 8] = [1, 3, 4, 6, 7, 10, 12, 14];

/// Writes the copy of a variant, into a folder that only this test has.
fn write_copy(python: &OsString, variant: &str, test: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copies").join(test).join(variant);
    if target.exists() {
        std::fs::remove_dir_all(&target).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/copies/write.py");
    // Bytecode of a script would be beside it, in the project.
    let mut command = Command::new(python);
    command.arg("-B").arg(script).arg(folder()).arg(&target).arg(variant);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target
}

async fn engine(copy: &Path, verify: &str) -> Engine {
    let builder = Engine::builder().threads(2).drive("emulated:").unwrap();
    let builder = builder.set("nearscan.pushdown.mode", "force");
    let engine = builder.set("nearscan.pushdown.verify", verify).build().await.unwrap();
    run::register(&engine, copy).await.unwrap();
    engine
}

/// Runs one of the queries that are a single statement.
async fn profile(engine: &Engine, sql: &str) -> QueryProfile {
    engine.sql(sql).await.unwrap().collect().await.unwrap().profile
}

#[rstest]
#[case("duckdb")]
#[case("duckdb_gaps")]
#[case("pyarrow")]
#[case("pyarrow_gaps")]
#[case("pyarrow_plain")]
#[case("pyarrow_default")]
#[case("pyarrow_pages_v2")]
#[tokio::test]
async fn answers_are_right_and_units_run_on_the_drive(#[case] variant: &str) {
    let test = format!("copies::answers_are_right_and_units_run_on_the_drive ({variant})");
    let Some(python) = nearscan_skip::python(&test) else { return };
    let engine = engine(&write_copy(&python, variant, "pushed"), "true").await;
    let queries = queries::QUERIES.iter().collect();
    let plan = Plan { scale: scale(), queries, runs: NonZero::<u32>::MIN };
    let report = run::run(&engine, &plan, &mut |_| {}).await;
    assert_eq!(report.queries.len(), 22);
    for query in &report.queries {
        assert_eq!(query.answer, Checked::Ok, "{variant}: q{:02}", query.query);
        let is_pushed = query.units_drive > 0;
        assert!(is_pushed || !PUSHED.contains(&query.query), "{variant}: q{:02}", query.query);
    }
}

#[rstest]
#[case("duckdb_v2", "encoding", "has DELTA_LENGTH_BYTE_ARRAY")]
#[tokio::test]
async fn unsupported_copy_is_kept_on_the_host(
    #[case] variant: &str,
    #[case] reason: &str,
    #[case] detail: &str,
) {
    let test = format!("copies::unsupported_copy_is_kept_on_the_host ({variant})");
    let Some(python) = nearscan_skip::python(&test) else { return };
    let engine = engine(&write_copy(&python, variant, "kept"), "true").await;
    for query in &queries::QUERIES {
        let answer = answers::find(&scale(), query.number);
        let report = run::run_query(&engine, query, answer, NonZero::<u32>::MIN).await;
        assert_eq!(report.answer, Checked::Ok, "{variant}: q{:02}", query.number);
    }
    // It reads a column of strings that are nearly all different.
    let sql = "SELECT count(*) FROM lineitem WHERE l_comment > 'q'";
    let explained = engine.sql(sql).await.unwrap().explain().await.unwrap();
    assert!(explained.contains(&format!("lineitem: kept={reason} (column l_")), "{explained}");
    assert!(explained.contains(detail), "{explained}");
}

#[rstest]
#[case("duckdb")]
#[case("pyarrow_gaps")]
#[tokio::test]
async fn engine_reads_nothing_but_footers(#[case] variant: &str) {
    let test = format!("copies::engine_reads_nothing_but_footers ({variant})");
    let Some(python) = nearscan_skip::python(&test) else { return };
    let engine = engine(&write_copy(&python, variant, "footers"), "false").await;
    for number in WHOLLY_PUSHED {
        let profile = profile(&engine, queries::find(number).unwrap().sql).await;
        let name = format!("{variant}: q{number:02}\n{}", profile.plan);
        profile.root.visit(&mut |operator| assert_ne!(operator.name, "DataSourceExec", "{name}"));
        assert_eq!(profile.total("bytes_scanned"), None, "{name}");
        let pushdown = profile.pushdown();
        assert_eq!(pushdown.units_cpu, 0, "{name}");
        assert!(pushdown.units_drive > 0 && pushdown.media_bytes > 0, "{name}");
    }
}

#[tokio::test]
async fn averages_of_groups_without_values_are_null() {
    let test = "copies::averages_of_groups_without_values_are_null";
    let Some(python) = nearscan_skip::python(test) else { return };
    let engine = engine(&write_copy(&python, "pyarrow_gaps", "averages"), "true").await;
    let sql = "SELECT l_returnflag, avg(l_quantity), avg(l_linenumber), count(l_quantity) \
               FROM lineitem WHERE l_shipmode IS NULL GROUP BY l_returnflag";
    let result = engine.sql(sql).await.unwrap().collect().await.unwrap();
    assert!(result.profile.pushdown().units_drive > 0);
    let batches: Vec<_> = result.batches.iter().filter(|batch| batch.num_rows() > 0).collect();
    assert_eq!(batches.len(), 1);
    let nulls: Vec<usize> = batches[0].columns().iter().map(|column| column.null_count()).collect();
    assert_eq!((batches[0].num_rows(), nulls), (1, vec![1, 1, 1, 0]));
}
