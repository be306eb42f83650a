// SPDX-License-Identifier: Apache-2.0
//! Canaries of logical plans.

use nearscan_corrections::Correction;

use super::Canary;

#[tokio::test]
async fn delete_with_contradiction_deletes_all_rows() {
    let canary = Canary {
        correction: Correction::ProtectWriteConditions,
        setup: &["CREATE TABLE t (c INT) AS VALUES (1), (2)"],
        sql: "DELETE FROM t WHERE c = 3 AND c = 0",
        wrong: "2",
        right: "0",
    };
    canary.check().await;
}

#[tokio::test]
async fn except_all_removes_every_copy() {
    let canary = Canary {
        correction: Correction::PreserveSetOperationMultiplicity,
        setup: &[],
        sql: "SELECT x FROM (VALUES (1), (1)) AS t(x) EXCEPT ALL SELECT x FROM (VALUES (1)) AS u(x)",
        wrong: "",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn distinct_above_unnest_is_dropped() {
    let canary = Canary {
        correction: Correction::HideKeysFromUnnest,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1)"],
        sql: "SELECT count(*) FROM (SELECT DISTINCT a FROM (SELECT a, unnest([1, 2]) FROM (SELECT a FROM t GROUP BY a)))",
        wrong: "2",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn filter_on_quotient_makes_its_column_constant() {
    let canary = Canary {
        correction: Correction::HidePredicateIntervals,
        setup: &["CREATE TABLE t (id INT) AS VALUES (21), (20)"],
        sql: "SELECT id FROM t WHERE id / 2 = 10 ORDER BY id",
        wrong: "21, 20",
        right: "20, 21",
    };
    canary.check().await;
}

#[tokio::test]
async fn columnless_having_is_pushed_below_count() {
    let canary = Canary {
        correction: Correction::KeepColumnlessHaving,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1)"],
        sql: "SELECT count(*) FROM t HAVING (SELECT max(a) FROM t) > 100",
        wrong: "0",
        right: "",
    };
    canary.check().await;
}

#[tokio::test]
async fn constant_on_the_left_contradicts() {
    let canary = Canary {
        correction: Correction::NormalizeConstantComparisons,
        setup: &["CREATE TABLE t (a INT) AS VALUES (1), (2)"],
        sql: "SELECT count(*) FROM t WHERE CAST('1' AS INT) = a AND a = 1",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn null_equality_of_two_joins_is_merged() {
    let canary = Canary {
        correction: Correction::SeparateNullEquality,
        setup: &[
            "CREATE TABLE t (a INT, b INT, c INT) AS VALUES (1, 2, 10), (1, NULL, 20), (NULL, 2, 30), (NULL, NULL, 40), (3, 4, 50)",
            "CREATE TABLE u (a INT, b INT, c INT) AS VALUES (1, 7, 1), (1, 2, 5), (9, 8, 2), (NULL, 6, 3), (1, NULL, 9)",
        ],
        sql: "SELECT t.c, v.c FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a JOIN u AS v ON v.b = u.b ORDER BY 1, 2",
        wrong: "10 1, 10 5, 20 1, 20 5",
        right: "10 1, 10 5, 20 1, 20 5, 30 3, 40 3",
    };
    canary.check().await;
}
