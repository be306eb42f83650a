// SPDX-License-Identifier: Apache-2.0
//! Canaries of subqueries.

use nearscan_corrections::Correction;

use super::Canary;

#[tokio::test]
async fn correlated_subquery_in_join_condition_is_refused() {
    let canary = Canary {
        correction: Correction::LiftJoinSubqueries,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1), (2)"],
        sql: "SELECT count(*) FROM t JOIN t AS u ON EXISTS (SELECT 1 FROM t AS v WHERE v.a = t.a + 1)",
        wrong: "0",
        right: "2",
    };
    canary.check().await;
}

#[tokio::test]
async fn exists_over_ungrouped_aggregate_loses_rows() {
    let canary = Canary {
        correction: Correction::RewriteUngroupedAggregates,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1)", "CREATE TABLE u (a INT) AS VALUES (2)"],
        sql: "SELECT count(*) FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn empty_scalar_subquery_is_not_null() {
    let canary = Canary {
        correction: Correction::MarkEmptyScalarSubqueryNullable,
        setup: &["CREATE TABLE n (i INT NOT NULL) AS VALUES (1)"],
        sql: "SELECT (SELECT i FROM n WHERE i = 99) IS NULL",
        wrong: "false",
        right: "true",
    };
    canary.check().await;
}

#[tokio::test]
async fn outer_reference_has_the_type_from_before_coercion() {
    let canary = Canary {
        correction: Correction::RefreshOuterReferences,
        setup: &["CREATE TABLE u (a INT) AS VALUES (1)"],
        sql: "SELECT count(*) FROM (SELECT 2 AS k UNION ALL SELECT 1.5) AS x WHERE EXISTS (SELECT 1 FROM u WHERE u.a < x.k)",
        wrong: "error: Arrow error",
        right: "2",
    };
    canary.check().await;
}

#[tokio::test]
async fn keys_of_one_name_are_compared_twice() {
    let canary = Canary {
        correction: Correction::NameSubqueryKeys,
        setup: &[
            "CREATE TABLE t (p INT, q INT) AS VALUES (1, 2)",
            "CREATE TABLE u (k INT, g INT) AS VALUES (1, 7)",
            "CREATE TABLE v (k INT, g INT) AS VALUES (2, 7)",
        ],
        sql: "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u JOIN v ON u.g = v.g WHERE u.k = t.p AND v.k = t.q)",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn not_in_with_null_below_or_is_true() {
    let canary = Canary {
        correction: Correction::RewriteNotIn,
        setup: &[
            "CREATE TABLE n (i INT) AS VALUES (1), (2)",
            "CREATE TABLE t (a INT) AS VALUES (1), (NULL)",
        ],
        sql: "SELECT count(*) FROM n WHERE i = 99 OR i + 4 NOT IN (SELECT a FROM t)",
        wrong: "2",
        right: "0",
    };
    canary.check().await;
}

#[tokio::test]
async fn limit_of_correlated_exists_is_dropped() {
    let canary = Canary {
        correction: Correction::RejectUnsoundDecorrelation,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1)"],
        sql: "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.a OFFSET 1)",
        wrong: "1",
        right: "error: This feature is not implemented: LIMIT or OFFSET in a correlated subquery",
    };
    canary.check().await;
}
