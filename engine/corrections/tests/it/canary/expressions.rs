// SPDX-License-Identifier: Apache-2.0
//! Canaries of expressions.

use nearscan_corrections::Correction;

use super::Canary;

#[tokio::test]
async fn array_has_with_null_is_unknown() {
    let canary = Canary {
        correction: Correction::ProtectArrayHas,
        setup: &[],
        sql: "SELECT array_has([1, NULL], x) FROM (VALUES (3)) AS t(x)",
        wrong: "",
        right: "false",
    };
    canary.check().await;
}

#[tokio::test]
async fn bitwise_and_with_negation_is_zero() {
    let canary = Canary {
        correction: Correction::RewriteBitwiseNegation,
        setup: &["CREATE TABLE t (x INT NOT NULL) AS VALUES (6)"],
        sql: "SELECT x & -x FROM t",
        wrong: "0",
        right: "2",
    };
    canary.check().await;
}

#[tokio::test]
async fn cast_to_fewer_digits_is_unwrapped() {
    let canary = Canary {
        correction: Correction::ProtectLossyCasts,
        setup: &["CREATE TABLE t (d DECIMAL(9, 2)) AS VALUES (1.24)"],
        sql: "SELECT count(*) FROM t WHERE CAST(d AS DECIMAL(9, 1)) = 1.2",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn constant_is_rounded_to_the_column_type() {
    let canary = Canary {
        correction: Correction::ProtectUnrepresentableConstants,
        setup: &[
            "CREATE TABLE t AS SELECT arrow_cast('2020-01-01T00:00:00', 'Timestamp(Millisecond, None)') AS ms",
        ],
        sql: "SELECT count(*) FROM t WHERE ms = TIMESTAMP '2020-01-01 00:00:00.0005'",
        wrong: "1",
        right: "0",
    };
    canary.check().await;
}

#[tokio::test]
async fn decimal_modulo_one_is_zero() {
    let canary = Canary {
        correction: Correction::ProtectDecimalIdentities,
        setup: &["CREATE TABLE t (d DECIMAL(3, 1) NOT NULL) AS VALUES (1.5)"],
        sql: "SELECT d % 1 FROM t",
        wrong: "0.0",
        right: "0.5",
    };
    canary.check().await;
}

#[tokio::test]
async fn in_lists_with_columns_are_intersected() {
    let canary = Canary {
        correction: Correction::SeparateInLists,
        setup: &["CREATE TABLE t (x INT, y INT, z INT) AS VALUES (2, 2, 2)"],
        sql: "SELECT count(*) FROM t WHERE x IN (y, 1) AND x IN (z, 1)",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}

#[tokio::test]
async fn regex_that_matches_all_ignores_null() {
    let canary = Canary {
        correction: Correction::ProtectRegexPatterns,
        setup: &["CREATE TABLE t (x TEXT) AS VALUES (NULL)"],
        sql: "SELECT (x ~ '.*') IS NULL FROM t",
        wrong: "false",
        right: "true",
    };
    canary.check().await;
}

#[tokio::test]
async fn constant_sum_with_count_is_refused() {
    let canary = Canary {
        correction: Correction::ProtectConstantSums,
        setup: &["CREATE TABLE t (v INT) AS VALUES (1), (2)"],
        sql: "SELECT count(v), sum(v + 6), sum(v + 7) FROM t",
        wrong: "error",
        right: "2 15 17",
    };
    canary.check().await;
}

#[tokio::test]
async fn zeros_of_different_sign_contradict() {
    let canary = Canary {
        correction: Correction::UnifySignedZeros,
        setup: &["CREATE TABLE t (x DOUBLE) AS VALUES (0.0)"],
        sql: "SELECT count(*) FROM t WHERE x = 0.0 AND x = -0.0",
        wrong: "0",
        right: "1",
    };
    canary.check().await;
}
