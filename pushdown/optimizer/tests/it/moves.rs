// SPDX-License-Identifier: Apache-2.0
//! Tests that fragments on a drive return the rows of the host, and that operators count the
//! drive's work.

use nearscan_optimizer::log::LogEntry;
use rstest::rstest;

use crate::{bench::Bench, drive::COMMAND_NS};

#[rstest]
#[case::count_and_average("SELECT count(*), avg(l_quantity) FROM lineitem WHERE l_quantity < 24")]
#[case::nothing_is_kept(
    "SELECT count(*), sum(l_tax), min(l_code) FROM lineitem WHERE l_tax + l_tax < 0"
)]
#[case::sums_of_products(
    "SELECT sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
     sum(l_extendedprice * l_discount) \
     FROM lineitem WHERE l_shipdate >= DATE '1993-01-01'"
)]
#[case::averages_of_integers(
    "SELECT avg(l_orderkey), avg(l_linenumber), avg(l_code) FROM lineitem"
)]
#[case::counts_of_nulls(
    "SELECT count(l_code), count(l_note), count(*) FROM lineitem WHERE l_tax > 0"
)]
#[case::extremes(
    "SELECT min(l_code), max(l_shipdate), max(l_tax), min(l_partkey) FROM lineitem WHERE l_tax > 0"
)]
#[case::groups(
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), avg(l_tax), count(*) FROM lineitem \
     GROUP BY l_returnflag, l_linestatus ORDER BY 1, 2"
)]
#[case::null_groups(
    "SELECT l_note, l_code, count(l_code), max(l_orderkey) FROM lineitem GROUP BY l_note, l_code \
     ORDER BY 1, 2"
)]
#[case::groups_without_aggregates(
    "SELECT DISTINCT l_shipmode, l_shipdate FROM lineitem WHERE l_tax = 0.01 ORDER BY 1, 2"
)]
#[case::filter_clause(
    "SELECT count(*) FILTER (WHERE l_returnflag = 'R'), sum(l_tax) FILTER (WHERE l_code IS NULL), \
     count(*) FILTER (WHERE l_code > 100), sum(l_tax) FILTER (WHERE l_code > 100) FROM lineitem"
)]
#[case::in_with_null("SELECT count(*) FROM lineitem WHERE l_code IN (1, 2, NULL, 13, 14)")]
#[case::not_in("SELECT count(*) FROM lineitem WHERE l_code NOT IN (1, 2, 3, 13, 14)")]
#[case::not_in_with_null(
    "SELECT count(*) FROM lineitem WHERE (l_code NOT IN (1, 2, NULL, 13, 14)) IS NULL AND l_tax > 0"
)]
#[case::strings(
    "SELECT count(*) FROM lineitem \
     WHERE l_note NOT IN ('x', 'q', 'r', 's', 't') OR 'MAIL' > l_shipmode"
)]
#[case::three_values(
    "SELECT count(*) FROM lineitem WHERE NOT (l_code > 7 AND l_note = 'x') OR (l_code > 3) IS NULL"
)]
#[case::decimals_of_two_scales(
    "SELECT count(*) FROM lineitem WHERE l_tax * 2 > l_discount + CAST(0.005 AS DECIMAL(6, 3))"
)]
#[case::negative_numbers(
    "SELECT sum(0 - l_code), min(l_code - 100), count(*) FROM lineitem WHERE -30 < 0 - l_code"
)]
#[case::rows(
    "SELECT l_orderkey, l_partkey, l_shipdate, l_tax, l_comment, l_code, l_note FROM lineitem \
     WHERE l_quantity < 20 ORDER BY l_comment"
)]
#[case::computed_rows(
    "SELECT l_comment, l_orderkey + 1, l_partkey + 1, l_tax * l_discount, l_code IS NULL, \
     l_note = 'x' \
     FROM lineitem WHERE l_quantity BETWEEN 10 AND 11 ORDER BY 1"
)]
#[case::a_column_twice(
    "SELECT l_tax AS a, l_tax AS b, l_comment FROM lineitem WHERE l_tax < 0.01 ORDER BY 3"
)]
#[case::a_constant("SELECT 7, l_comment FROM lineitem WHERE l_tax < 0.01 ORDER BY 2")]
#[case::no_columns(
    "SELECT count(*) FROM (SELECT 1 FROM lineitem WHERE l_tax < 0.01 LIMIT 1000000)"
)]
#[case::join(
    "SELECT o_custkey, sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     WHERE o_custkey < 9 AND l_tax > 0.02 GROUP BY o_custkey ORDER BY 1"
)]
#[case::left_join(
    "SELECT o_orderkey, l_comment FROM orders LEFT JOIN lineitem \
     ON l_orderkey = o_orderkey AND l_tax = 0.03 WHERE o_custkey < 9 ORDER BY 1, 2"
)]
#[case::semi_join(
    "SELECT l_comment FROM lineitem WHERE l_orderkey IN (SELECT o_orderkey FROM orders \
     WHERE o_custkey = 3) AND l_tax < 0.03 ORDER BY 1"
)]
#[case::anti_join(
    "SELECT count(*) FROM lineitem WHERE l_tax < 0.03 AND NOT EXISTS (SELECT * FROM orders \
     WHERE o_orderkey = l_orderkey AND o_custkey > 3)"
)]
#[case::a_scalar_subquery(
    "SELECT count(*) FROM lineitem WHERE l_quantity > (SELECT avg(l_quantity) FROM lineitem \
     WHERE l_tax > 0.02)"
)]
// The statistics of the file say so, to a host that reads it once the value is known.
#[case::a_scalar_subquery_that_no_row_passes(
    "SELECT count(*) FROM lineitem WHERE l_tax < 0.03 AND l_orderkey > \
     (SELECT max(o_orderkey) + 1000000 FROM orders WHERE o_custkey > 0)"
)]
#[case::conjuncts_that_stay(
    "SELECT l_comment FROM lineitem WHERE l_tax < 0.03 AND l_comment ILIKE '%77' ORDER BY 1"
)]
#[case::a_union(
    "SELECT l_orderkey FROM lineitem WHERE l_tax = 0.01 UNION ALL SELECT o_orderkey FROM orders \
     WHERE o_custkey = 3 ORDER BY 1"
)]
#[case::a_window(
    "SELECT l_comment, sum(l_tax) OVER (PARTITION BY l_shipmode ORDER BY l_orderkey, l_comment) \
     FROM lineitem WHERE l_quantity < 5 ORDER BY 1"
)]
#[tokio::test]
async fn pushed_query_gives_the_rows_of_the_host(
    #[case] sql: &str,
    #[values(
        &[("datafusion.execution.target_partitions", "1")],
        &[("nearscan.pushdown.verify", "true")],
        &[("datafusion.optimizer.repartition_file_min_size", "100000000")],
        &[("datafusion.execution.parquet.pushdown_filters", "true")],
    )]
    settings: &[(&str, &str)],
) {
    let bench = settings.iter().fold(Bench::new(), |bench, (key, value)| bench.set(key, value));
    let filters_in_scan = settings[0].0.ends_with("pushdown_filters");
    if filters_in_scan && (sql.contains("LIKE") || sql.contains("LIMIT")) {
        // What the scan is told besides keeps it whole.
        assert_eq!(bench.run(sql).await.unwrap().rows, bench.expected(sql).await);
        return;
    }
    let run = bench.check(sql).await;
    assert_eq!(run.pushbacks(), []);
    assert_eq!(run.metric("units_cpu"), 0);
    assert_eq!(run.metric("units_drive"), bench.drive.row_groups().len());
}

const ROWS: &str = "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 20";

#[rstest]
#[tokio::test]
async fn counts_what_the_drive_moved(#[values("1", "2")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let run = bench.run(ROWS).await.unwrap();
    let traffic = bench.drive.traffic();
    assert!(traffic.media_bytes > 0 && traffic.link_bytes > 0);
    assert_eq!(run.metric("media_bytes") as u64, traffic.media_bytes);
    assert_eq!(run.metric("link_bytes") as u64, traffic.link_bytes);
    assert_eq!(run.metric("rows_in"), 4000);
    assert_eq!(run.metric("rows_out"), run.rows.len());
    assert_eq!(run.metric("output_rows"), run.rows.len());
    assert_eq!((run.metric("units_drive"), run.metric("units_cpu")), (4, 0));
    assert_eq!(run.metric("drive_time_measured"), 0);
    let modelled = u64::try_from(run.metric("drive_time_modelled")).unwrap();
    assert_eq!(modelled, 4 * COMMAND_NS);
}

#[tokio::test]
async fn modelled_time_is_complete_with_the_last_row() {
    use futures::StreamExt;
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    let session = bench.pushing().await;
    let plan = crate::bench::plan_of(&session, ROWS).await;
    let task = session.task_ctx();
    let mut stream =
        datafusion::physical_plan::execute_stream(std::sync::Arc::clone(&plan), task).unwrap();
    while stream.next().await.is_some() {}
    // EXPLAIN ANALYZE reads the metrics while it still holds the stream.
    let run = crate::bench::Run { rows: Vec::new(), plan };
    assert_eq!(run.metric("drive_time_modelled") as u64, 4 * COMMAND_NS);
    drop(stream);
    assert_eq!(run.metric("drive_time_modelled") as u64, 4 * COMMAND_NS, "counted twice");
}

#[tokio::test]
async fn logs_each_unit_once() {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    bench.drive.on(1, crate::drive::Act::End(nearscan_command::Status::Encoding));
    bench.drive.on(2, crate::drive::Act::Refuse(nearscan_drive::Refusal::Busy));
    let run = bench.run(ROWS).await.unwrap();
    let mut entries = bench.context.log.entries();
    entries.sort_by_key(|entry| entry.row_group);
    let about = |entry: &LogEntry| {
        (entry.row_group, entry.placed_on.clone(), entry.reason.clone(), entry.rows_in)
    };
    let fake = |row_group| (row_group, "fake".to_owned(), String::new(), 1000);
    let cpu = |row_group, why: &str| (row_group, "cpu".to_owned(), why.to_owned(), 1000);
    let expected = [fake(0), cpu(1, "encoding"), cpu(2, "busy"), fake(3)];
    assert_eq!(entries.iter().map(about).collect::<Vec<_>>(), expected);
    assert!(entries.iter().all(|entry| entry.table == "lineitem"));
    assert!(entries.iter().all(|entry| entry.file.ends_with("lineitem.parquet")));
    let bytes: u64 = entries.iter().map(|entry| entry.media_bytes).sum();
    assert_eq!(bytes, bench.drive.traffic().media_bytes);
    let rows_out: u64 = entries.iter().map(|entry| entry.rows_out).sum();
    assert_eq!(rows_out, run.rows.len() as u64);
    assert_eq!(entries[0].modelled_ns, Some(COMMAND_NS));
    assert_eq!(entries[0].measured_ns, None);
}
