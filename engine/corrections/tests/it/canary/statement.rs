// SPDX-License-Identifier: Apache-2.0
//! Canaries of the syntax.

use nearscan_corrections::Correction;

use super::Canary;

#[tokio::test]
async fn distinct_from_takes_the_rest_of_the_condition() {
    let canary = Canary {
        correction: Correction::ReassociateDistinctFrom,
        setup: &[],
        sql: "SELECT count(*) FROM (VALUES (true), (false)) AS t(a) WHERE a IS DISTINCT FROM true OR true",
        wrong: "1",
        right: "2",
    };
    canary.check().await;
}

#[tokio::test]
async fn any_over_array_with_null_is_false() {
    let canary = Canary {
        correction: Correction::ExpandAnyComparisons,
        setup: &["CREATE TABLE t AS SELECT make_array(1, NULL) AS a, 3 AS x"],
        sql: "SELECT (x = ANY (a)) IS NULL FROM t",
        wrong: "false",
        right: "true",
    };
    canary.check().await;
}

#[tokio::test]
async fn tablesample_is_ignored() {
    let canary = Canary {
        correction: Correction::RejectIgnoredClauses,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1), (2)"],
        sql: "SELECT count(*) FROM t TABLESAMPLE (1 PERCENT)",
        wrong: "2",
        right: "error: This feature is not implemented: TABLESAMPLE",
    };
    canary.check().await;
}

#[tokio::test]
async fn using_column_of_full_join_is_that_of_the_left_side() {
    let canary = Canary {
        correction: Correction::ResolveUsingColumns,
        setup: &["CREATE TABLE a (k INT) AS VALUES (1)", "CREATE TABLE b (k INT) AS VALUES (2)"],
        sql: "SELECT k FROM a FULL JOIN b USING (k) ORDER BY 1 NULLS LAST",
        wrong: "1, ",
        right: "1, 2",
    };
    canary.check().await;
}

#[tokio::test]
async fn primary_key_is_trusted_and_not_checked() {
    let canary = Canary {
        correction: Correction::IgnoreKeyConstraints,
        setup: &["CREATE TABLE t (k INT PRIMARY KEY) AS VALUES (1), (1)"],
        sql: "SELECT count(*) FROM (SELECT DISTINCT k FROM t)",
        wrong: "2",
        right: "1",
    };
    canary.check().await;
}
