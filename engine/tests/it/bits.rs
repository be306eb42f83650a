// SPDX-License-Identifier: Apache-2.0
//! Bits of negative numbers.

use rstest::rstest;

use crate::support::{Data, engine, text};

#[rstest]
#[case::last("sum(k & -k)", "5060")]
#[case::above_the_last("sum(-k | k)", "-5060")]
#[case::below_the_last("sum(k # -k)", "-10120")]
#[case::negative_of_both("sum(-(k & 3))", "-1500")]
#[case::negative_of_either("sum(-(k | 3))", "-502000")]
#[tokio::test]
async fn are_those_of_two_s_complement(#[case] output: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(&engine, "SET datafusion.sql_parser.dialect = 'PostgreSQL'").await;
    let sql = format!("SELECT {output} FROM (SELECT value AS k FROM generate_series(1, 1000))");
    assert_eq!(text(&engine, &sql).await.lines().last(), Some(expected));
}

#[tokio::test]
async fn of_a_file_are_filtered() {
    let data = Data::make().await;
    let sql = "SELECT count(*) FROM t WHERE k & -k = 4";
    assert_eq!(text(&data.engine().await, sql).await.lines().last(), Some("125"));
}
