// SPDX-License-Identifier: Apache-2.0
//! Unions in an order, of which DataFusion does not see that each part has it.

use rstest::rstest;

use crate::support::{Data, rows_of, text};

#[rstest]
#[tokio::test]
async fn parts_with_constants_and_equal_columns_are_sorted(#[values(1, 2)] partitions: usize) {
    let data = Data::make().await;
    let engine = data.engine().await;
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    let sql = "SELECT * FROM (SELECT k, v, v + 1 AS w FROM t WHERE v = 3 AND k < 30 UNION ALL \
               SELECT k, v, v AS w FROM t WHERE k = v) AS m ORDER BY k, w, v";
    let rows = rows_of(&engine, sql).await;
    let same = (1..10).map(|n| format!("{n} {n} {n}"));
    let mut expected: Vec<String> = same.collect();
    expected.insert(3, "3 3 4".to_owned());
    expected.extend(["13 3 4".to_owned(), "23 3 4".to_owned()]);
    assert_eq!(rows, expected);
}
