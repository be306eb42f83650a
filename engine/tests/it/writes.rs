// SPDX-License-Identifier: Apache-2.0
//! DELETE and UPDATE: what stays as it was.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{check, engine, rows_of, text};

async fn with_tables() -> Engine {
    let engine = engine().await;
    let rows = "(0, 3), (1, 5), (2, 0), (3, NULL)";
    text(&engine, &format!("CREATE TABLE t (k INT, v INT) AS VALUES {rows}")).await;
    text(&engine, "CREATE TABLE u (a INT) AS VALUES (3), (9)").await;
    engine
}

const ALL: &str = "0 3, 1 5, 2 0, 3 ";

#[rstest]
#[case::of_none("DELETE FROM t WHERE v = 3 AND v = 0", "0", ALL)]
#[case::of_false("DELETE FROM t WHERE false", "0", ALL)]
#[case::of_unknown("DELETE FROM t WHERE NULL", "0", ALL)]
#[case::of_one("DELETE FROM t WHERE v = 3", "1", "1 5, 2 0, 3 ")]
#[case::of_two_conditions("DELETE FROM t WHERE v < 4 AND k > 0", "1", "0 3, 1 5, 3 ")]
#[case::of_null("DELETE FROM t WHERE v IS NULL", "1", "0 3, 1 5, 2 0")]
#[case::of_casts("DELETE FROM t WHERE CAST(v AS VARCHAR) = '5'", "1", "0 3, 2 0, 3 ")]
#[case::of_true("DELETE FROM t WHERE 1 = 1", "4", "")]
#[case::of_all("DELETE FROM t", "4", "")]
#[case::update("UPDATE t SET v = k + 7 WHERE v = 3", "1", "0 7, 1 5, 2 0, 3 ")]
#[case::update_of_none("UPDATE t SET v = 7 WHERE v = 3 AND v = 0", "0", ALL)]
#[case::update_of_all("UPDATE t SET v = 7", "4", "0 7, 1 7, 2 7, 3 7")]
#[case::update_of_both("UPDATE t SET k = v, v = k WHERE v > 0", "2", "2 0, 3 0, 3 , 5 1")]
#[case::update_by_parts(
    "UPDATE t SET v = (k + 1) * (k + 1), k = k + 1 WHERE k + 1 < 3",
    "2",
    "1 1, 2 0, 2 4, 3 "
)]
#[tokio::test]
async fn change_what_their_condition_says(
    #[case] sql: &str,
    #[case] count: &str,
    #[case] expected: &str,
    #[values(false, true)] is_prepared: bool,
) {
    let engine = with_tables().await;
    let counted = match is_prepared {
        false => rows_of(&engine, sql).await,
        true => {
            text(&engine, &format!("PREPARE p AS {sql}")).await;
            rows_of(&engine, "EXECUTE p").await
        }
    };
    assert_eq!(counted, [count]);
    assert_eq!(rows_of(&engine, "SELECT * FROM t ORDER BY k, v").await.join(", "), expected);
}

#[rstest]
#[case::in_query("DELETE FROM t WHERE v IN (SELECT a FROM u)", "a subquery")]
#[case::not_in("DELETE FROM t WHERE v NOT IN (SELECT a FROM u)", "a subquery")]
#[case::exists("DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = v)", "a subquery")]
#[case::scalar("DELETE FROM t WHERE k > 1 AND v > (SELECT min(a) FROM u)", "a subquery")]
#[case::limit("DELETE FROM t WHERE v > 1 LIMIT 1", "other rows than those of a condition")]
#[case::update("UPDATE t SET v = 7 WHERE v IN (SELECT a FROM u)", "a subquery")]
#[case::update_to("UPDATE t SET v = (SELECT max(a) FROM u)", "a subquery")]
#[tokio::test]
async fn of_more_than_a_condition_are_refused(#[case] sql: &str, #[case] why: &str) {
    let engine = with_tables().await;
    check(&engine, sql, Err(why)).await;
    assert_eq!(rows_of(&engine, "SELECT * FROM t ORDER BY k").await.join(", "), ALL);
}
