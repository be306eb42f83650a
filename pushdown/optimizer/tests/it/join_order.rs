// SPDX-License-Identifier: Apache-2.0
//! Tests the order of joins: which orders are chosen, and that rows stay the same in all of them.

use std::{fmt::Write as _, sync::Arc};

use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch},
    util::display::{ArrayFormatter, FormatOptions},
};
use datafusion::{
    datasource::MemTable,
    execution::SessionStateBuilder,
    physical_plan::collect,
    prelude::{SessionConfig, SessionContext},
};
use nearscan_optimizer::{JoinOrderRule, NearscanOptions, settings::JoinOrder};
use rstest::rstest;

use crate::bench::{plan_of, shown};

/// Rows of the tables `t0` to `t6`.
pub(crate) const ROWS: [i64; 7] = [400, 7, 60, 3, 150, 25, 90];

/// A row of a table has numbers in `a`, `b` and `c`, of which each has other duplicates, and some
/// are NULL.
pub(crate) fn rows_of(table: i64, rows: i64) -> RecordBatch {
    let column = |step: i64, values: i64| -> ArrayRef {
        let number = |row: i64| {
            let value = (row * step + table) % values;
            ((row + table) % 7 != 3).then_some(value)
        };
        Arc::new((0..rows).map(number).collect::<Int64Array>())
    };
    let columns = [("a", column(1, rows)), ("b", column(5, 11)), ("c", column(3, 29))];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, it)| (name, it, true)));
    batch.unwrap()
}

fn session(order: JoinOrder) -> SessionContext {
    let options = NearscanOptions { join_order: order, ..NearscanOptions::default() };
    let config = SessionConfig::new().with_target_partitions(2).with_option_extension(options);
    let mut state = SessionStateBuilder::new().with_config(config).with_default_features();
    JoinOrderRule.install(&mut state);
    let session = SessionContext::new_with_state(state.build());
    for (place, rows) in (0..).zip(ROWS) {
        let batch = rows_of(place, rows);
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
        session.register_table(format!("t{place}"), Arc::new(table)).unwrap();
    }
    session
}

/// The rows as sorted texts, and the plan.
async fn run(session: &SessionContext, sql: &str) -> (Vec<String>, String) {
    let plan = plan_of(session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let options = FormatOptions::default().with_null("NULL");
    let mut texts = Vec::new();
    for batch in &batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.map(|it| ArrayFormatter::try_new(it, &options).unwrap()).collect();
        texts.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|it| it.value(row).to_string()).collect::<Vec<_>>().join("|")
        }));
    }
    texts.sort_unstable();
    (texts, shown(&plan))
}

/// Numbers that follow from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A statement that joins 3 to 6 tables in a drawn order, each with one before.
pub(crate) fn statement(random: &mut Random, kinds: &[&str]) -> String {
    let mut tables: Vec<usize> = (0..ROWS.len()).collect();
    for place in (1..tables.len()).rev() {
        tables.swap(place, random.below(place + 1));
    }
    let count = 3 + random.below(4);
    let columns = ["a", "b", "c"];
    let mut visible = vec![tables[0]];
    let mut from = format!("t{}", tables[0]);
    for table in &tables[1..count] {
        let kind = random.of(kinds);
        let other = random.of(&visible);
        let (one, two) = (random.of(&columns), random.of(&columns));
        write!(from, " {kind} JOIN t{table} ON t{other}.{one} = t{table}.{two}").unwrap();
        if random.below(3) == 0 {
            let other = random.of(&visible);
            let (one, two) = (random.of(&columns), random.of(&columns));
            let operator = random.of(&["=", "<", "<>"]);
            write!(from, " AND t{other}.{one} {operator} t{table}.{two}").unwrap();
        }
        if !kind.contains("SEMI") && !kind.contains("ANTI") {
            visible.push(*table);
        }
    }
    let filtered = random.of(&visible);
    let columns: Vec<String> = visible.iter().map(|it| format!("t{it}.a, t{it}.c")).collect();
    format!("SELECT {} FROM {from} WHERE t{filtered}.b < 9", columns.join(", "))
}

/// Joins that are drawn at random.
#[rstest]
#[case::inner(&["INNER"], 15)]
#[case::outer(&["INNER", "LEFT", "RIGHT", "FULL"], 5)]
#[case::semi(&["INNER", "LEFT SEMI", "LEFT ANTI"], 10)]
#[case::all(&["INNER", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"], 5)]
#[tokio::test]
async fn rows_of_joins_in_another_order_stay_the_same(
    #[case] kinds: &[&str],
    #[case] changed_min: usize,
) {
    let (ordered, original) = (session(JoinOrder::Cost), session(JoinOrder::DataFusion));
    let mut random = Random(20);
    let mut changed = 0;
    for _ in 0..60 {
        let sql = statement(&mut random, kinds);
        let count = format!("SELECT count(*) FROM ({sql})");
        let (size, _) = run(&original, &count).await;
        if size[0].parse::<usize>().unwrap() > 20_000 {
            continue;
        }
        let (expected, before) = run(&original, &sql).await;
        let (rows, after) = run(&ordered, &sql).await;
        assert!(rows == expected, "{sql}\n{before}\n{after}");
        changed += usize::from(before != after);
    }
    assert!(changed >= changed_min, "only {changed} plans have changed");
}

/// The tables of a plan from the top, and whether each is a build side or the last probe side.
fn order_of(shown: &str) -> Vec<usize> {
    let sizes = shown.lines().filter_map(|line| line.split_once("partition_sizes=["));
    sizes.map(|(before, _)| before.len() - before.trim_start().len()).collect()
}

#[tokio::test]
async fn large_intermediate_result_of_the_text_is_avoided() {
    // Joined by `b`, which has 11 values, t0 and t4 have thousands of rows; with t3 first few.
    let sql = "SELECT count(*) FROM t0 JOIN t4 ON t0.b = t4.b JOIN t3 ON t3.a = t4.a";
    let (ordered, original) = (session(JoinOrder::Cost), session(JoinOrder::DataFusion));
    let ((rows, after), (expected, before)) = (run(&ordered, sql).await, run(&original, sql).await);
    assert_eq!(rows, expected);
    assert_ne!(order_of(&after), order_of(&before), "{before}\n{after}");
}

#[tokio::test]
async fn semi_join_that_reduces_comes_first() {
    let sql = "SELECT count(*) FROM t0 JOIN t4 ON t0.b = t4.b JOIN t6 ON t6.b = t4.b \
               WHERE EXISTS (SELECT 1 FROM t3 WHERE t3.a = t0.a)";
    let (rows, after) = run(&session(JoinOrder::Cost), sql).await;
    let (expected, before) = run(&session(JoinOrder::DataFusion), sql).await;
    assert_eq!(rows, expected);
    let depth = |shown: &str| {
        let semi = shown.lines().find(|line| line.contains("Semi")).unwrap();
        semi.len() - semi.trim_start().len()
    };
    assert!(depth(&after) > depth(&before), "{before}\n{after}");
}

#[rstest]
#[case::null_equals_null(
    "SELECT count(*) FROM t0 JOIN t4 ON t0.b = t4.b JOIN t3 ON (t3.a IS NOT DISTINCT FROM t4.a)"
)]
#[case::one_join("SELECT count(*) FROM t0 JOIN t3 ON t0.b = t3.b")]
#[case::no_join("SELECT count(*) FROM t0")]
#[tokio::test]
async fn plan_without_an_order_to_choose_stays(#[case] sql: &str) {
    let (rows, after) = run(&session(JoinOrder::Cost), sql).await;
    let (expected, before) = run(&session(JoinOrder::DataFusion), sql).await;
    assert_eq!((rows, after), (expected, before));
}
