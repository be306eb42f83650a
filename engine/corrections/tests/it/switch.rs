// SPDX-License-Identifier: Apache-2.0
//! Tests the switch: without corrections, plans are those of plain DataFusion.

use datafusion::{execution::session_state::SessionState, physical_plan::displayable};
use nearscan_corrections::CorrectionSet;

use crate::session::{Corrected, plain, plain_rows};

const TABLES: [&str; 2] = [
    "CREATE TABLE t (a INT, b DOUBLE, s TEXT, d DECIMAL(9, 2)) AS VALUES (1, 0.5, 'x', 1.25)",
    "CREATE TABLE u (a INT NOT NULL, ts TIMESTAMP) AS VALUES (1, TIMESTAMP '2020-01-01 00:00:00')",
];

/// Statements that meet most corrections.
const STATEMENTS: [&str; 12] = [
    "SELECT a FROM t WHERE a / 2 = 10 ORDER BY a",
    "SELECT a FROM t WHERE CAST(d AS DECIMAL(9, 1)) = 1.2 AND b = -0.0",
    "SELECT a FROM t EXCEPT ALL SELECT a FROM u",
    "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE u.a = t.a) OR a = 3",
    "SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)",
    "SELECT (SELECT a FROM u WHERE a = 99) IS NULL",
    "SELECT * FROM t FULL JOIN u USING (a)",
    "SELECT a FROM t WHERE a = 1 GROUP BY ROLLUP (a) ORDER BY a",
    "SELECT a FROM (SELECT a FROM t LIMIT 4 OFFSET 3) ORDER BY a",
    "SELECT max(b), min(a + 1) FROM t WHERE s ~ '.*'",
    "SELECT t.a FROM t JOIN u ON t.b < u.a WHERE extract(year FROM u.ts) < 2300",
    "SELECT count(*) FROM t HAVING (SELECT max(a) FROM u) > 100",
];

#[tokio::test]
async fn plans_without_corrections_are_those_of_datafusion() {
    let (plain, corrected) = (plain(), Corrected::with(CorrectionSet::NONE));
    let all = Corrected::with(CorrectionSet::ALL);
    for table in TABLES {
        plain_rows(&plain, table).await;
        corrected.rows(table).await;
        all.rows(table).await;
    }
    let mut different = 0;
    for sql in STATEMENTS {
        let expected = plain.state().create_logical_plan(sql).await.unwrap();
        let expected = physical(&plain.state(), &expected).await;
        let found = corrected.plan(sql).await.unwrap();
        assert_eq!(physical(&corrected.context.state(), &found).await, expected, "{sql}");
        let found = all.plan(sql).await.unwrap();
        different += usize::from(physical(&all.context.state(), &found).await != expected);
    }
    assert!(different > STATEMENTS.len() / 2, "{different} plans are corrected");
}

async fn physical(state: &SessionState, plan: &datafusion::logical_expr::LogicalPlan) -> String {
    let plan = state.create_physical_plan(plan).await.unwrap();
    displayable(plan.as_ref()).indent(true).to_string()
}

/// The rewrite is left alone where it is sound: beside the sum of the column itself.
#[tokio::test]
async fn sums_of_a_column_and_constants_share_one_aggregate() {
    let session = Corrected::with(CorrectionSet::ALL);
    session.rows(TABLES[0]).await;
    for (sql, aggregates) in [
        ("SELECT sum(a), sum(a + 1), sum(a + 2) FROM t", 2),
        ("SELECT sum(a + 1), sum(a + 2) FROM t", 2),
        // Its argument is no cast, as that of the sums is: two aggregates would get one name.
        ("SELECT count(a), sum(a + 1), sum(a + 2) FROM t", 3),
    ] {
        let plan = session.plan(sql).await.unwrap();
        let plan = physical(&session.context.state(), &plan).await;
        let shown = plan.lines().find(|line| line.contains("AggregateExec")).unwrap();
        assert_eq!(shown.matches("sum(").count() + shown.matches("count(").count(), aggregates);
    }
}
