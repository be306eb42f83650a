// SPDX-License-Identifier: Apache-2.0
//! Canaries of functions.

use nearscan_corrections::Correction;

use super::Canary;

#[tokio::test]
async fn grouped_max_of_negative_infinity_is_finite() {
    let canary = Canary {
        correction: Correction::OrderFloatExtremes,
        setup: &["CREATE TABLE t (g INT, x DOUBLE) AS VALUES (1, '-inf')"],
        sql: "SELECT max(x) FROM t GROUP BY g",
        wrong: "-1.7976931348623157e308",
        right: "-inf",
    };
    canary.check().await;
}
