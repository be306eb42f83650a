// SPDX-License-Identifier: Apache-2.0
//! Moments that are compared with constants between them, or beyond all of them.

use rstest::rstest;

use crate::support::{engine_with_drive, kept};

#[rstest]
#[case::equal("ms = TIMESTAMP '2020-01-01 00:00:00.0005'", "")]
#[case::not_distinct("ms IS NOT DISTINCT FROM TIMESTAMP '2020-01-01 00:00:00.0005'", "")]
#[case::in_a_list("ms IN (TIMESTAMP '2020-01-01 00:00:00.0005', TIMESTAMP '2021-01-01')", "")]
#[case::unequal("ms <> TIMESTAMP '2020-01-01 00:00:00.0005'", "0 1 2")]
#[case::less("ms < TIMESTAMP '2020-01-01 00:00:00.0005'", "0")]
#[case::at_least("ms >= '2020-01-01 00:00:00.0005'", "1 2")]
#[case::between("ms BETWEEN TIMESTAMP '2020-01-01 00:00:00.0005' AND TIMESTAMP '2020-01-02'", "1")]
#[case::on_the_left("TIMESTAMP '2020-01-01 00:00:00.0005' > ms", "0")]
#[case::worked_out("ms < TIMESTAMP '2020-01-01' + INTERVAL '500 microseconds'", "0")]
#[case::one_of_them("ms <= TIMESTAMP '2020-01-01 00:00:00.001'", "0 1")]
#[case::before_a_late_year("extract(year FROM ns) < 2300", "0 1 2")]
#[case::in_no_late_year("extract(year FROM ns) NOT IN (3000)", "0 1 2")]
#[case::in_the_last_year("extract(year FROM ns) = 2262", "2")]
#[case::from_an_early_year("extract(year FROM ns) >= 1600", "0 1 2")]
#[case::between_years("extract(year FROM ns) BETWEEN 1000 AND 2100", "0 1")]
#[case::in_a_year("extract(year FROM ns) = 2020", "0 1")]
#[tokio::test]
async fn are_as_they_are(
    #[case] condition: &str,
    #[case] expected: &str,
    #[values("off", "force")] mode: &str,
    #[values("false", "true")] in_the_scan: &str,
) {
    let engine = engine_with_drive(mode).await;
    let rows = "SELECT id, arrow_cast(at, 'Timestamp(Millisecond, None)') AS ms, \
                arrow_cast(at, 'Timestamp(Nanosecond, None)') AS ns \
                FROM (VALUES (0, TIMESTAMP '2020-01-01'), (1, TIMESTAMP '2020-01-01 00:00:00.001'), \
                (2, TIMESTAMP '2262-01-01')) AS v(id, at)";
    assert_eq!(kept(&engine, in_the_scan, rows, "id", condition).await, expected);
}
