// SPDX-License-Identifier: Apache-2.0
//! Tests each reason to keep a scan.

use std::{sync::Arc, time::Duration};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use nearscan_command::{Codec, Encoding, Encodings, Function, Op, PhysicalType};
use nearscan_drive::{Capabilities, Drives};
use nearscan_optimizer::{KeepReason, Kept, quarantine};
use parquet::basic::{Compression, ZstdLevel};
use rstest::rstest;

use crate::{
    bench::{Bench, Facts, plan_of, pushed},
    drive::{Act, Fake},
    files,
};

/// Reads, filters and sums one column.
const SUM: &str = "SELECT sum(l_quantity) FROM lineitem WHERE l_tax < 0.02";

#[track_caller]
fn is(kept: &Kept, reason: KeepReason, detail: &str) {
    assert_eq!((kept.reason, kept.detail.as_str()), (reason, detail));
}

/// A drive that can everything but what `less` takes away.
fn drive_with(less: impl FnOnce(&mut Capabilities)) -> Bench {
    let mut capabilities = Capabilities::of_scan_kernel();
    less(&mut capabilities);
    Bench::with_drive(Fake::new(capabilities))
}

#[tokio::test]
async fn mode_off() {
    let bench = Bench::new().set("nearscan.pushdown.mode", "off");
    is(&bench.kept(SUM).await, KeepReason::ModeOff, "");
}

#[tokio::test]
async fn no_drive() {
    let drive = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let bench = Bench::with_drives(drive, Drives::default(), None);
    is(&bench.kept(SUM).await, KeepReason::NoDrive, "");
}

#[tokio::test]
async fn no_drive_of_that_name() {
    let bench = Bench::new().set("nearscan.pushdown.drive", "other");
    is(&bench.kept(SUM).await, KeepReason::NoDrive, "no drive is called other");
}

#[tokio::test]
async fn not_on_drive() {
    let bench = Bench::new();
    bench.drive.lose_files();
    is(&bench.kept(SUM).await, KeepReason::NotOnDrive, "it is on another disk");
}

#[tokio::test]
async fn no_facts() {
    let bench = Bench::new().facts(Facts::Missing);
    let kept = bench.kept(SUM).await;
    assert_eq!(kept.reason, KeepReason::NoFacts);
    assert!(kept.detail.ends_with("lineitem.parquet"), "{}", kept.detail);
}

#[rstest]
#[case::more_digits_than_are_stored_as_integers(
    "SELECT sum(l_wide) FROM lineitem",
    "column l_wide is a decimal of 25 digits"
)]
#[tokio::test]
async fn type_without_counterpart(#[case] sql: &str, #[case] detail: &str) {
    is(&Bench::new().kept(sql).await, KeepReason::Type, detail);
}

#[tokio::test]
async fn type_that_the_drive_does_not_read() {
    let bench = drive_with(|can| can.physical_types.retain(|ty| *ty != PhysicalType::Int64));
    is(&bench.kept(SUM).await, KeepReason::Type, "column l_tax: Int64");
}

#[tokio::test]
async fn type_that_differs_in_a_file() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let batch = RecordBatch::try_from_iter([("o_custkey", numbers)]).unwrap();
    let bench = Bench::new();
    let folder = bench.path("mixed");
    std::fs::create_dir_all(&folder).unwrap();
    files::write(&folder.join("b.parquet"), &batch, files::usual());
    files::write(&folder.join("a.parquet"), &files::orders(100), files::usual());
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE mixed (o_custkey INT) STORED AS PARQUET LOCATION '{}/'",
        folder.display()
    ));
    let sql = "SELECT sum(o_custkey + 1) FROM mixed";
    let (count, kept) = bench.units_kept(sql).await;
    is(&kept, KeepReason::Type, "column o_custkey is stored as INT64");
    let run = bench.check(sql).await;
    assert_eq!((run.metric("units_cpu"), count, run.pushbacks()), (1, 1, vec![]));
}

/// Two drives, each with one of the files `a.parquet` and `b.parquet` of the table `both`.
fn two_drives(second: Fake, order: &str) -> (Bench, Arc<Fake>) {
    let first = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let second = Arc::new(second);
    first.keep_file("a.parquet");
    second.keep_file("b.parquet");
    let drives = Drives::default();
    drives.attach("first", Arc::<Fake>::clone(&first) as _);
    drives.attach("second", Arc::<Fake>::clone(&second) as _);
    let bench = Bench::with_drives(first, drives, None);
    let folder = bench.path("both");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["a.parquet", "b.parquet"] {
        let properties = files::usual().set_max_row_group_row_count(Some(25));
        files::write(&folder.join(name), &files::orders(100), properties);
    }
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE both STORED AS PARQUET{order} LOCATION '{}/'",
        folder.display()
    ));
    (bench.set("datafusion.execution.target_partitions", "1"), second)
}

#[tokio::test]
async fn second_drive_that_refuses_says_why_its_units_stay() {
    let mut capabilities = Capabilities::of_scan_kernel();
    capabilities.physical_types.clear();
    let (bench, _) = two_drives(Fake::new(capabilities), "");
    let (count, kept) = bench.units_kept("SELECT sum(o_custkey) FROM both").await;
    assert_eq!(count, 4);
    is(&kept, KeepReason::Type, "column o_custkey: Int32");
}

/// Statements over [`two_drives`] of one partition, and whether an order that the table declares
/// keeps the second drive waiting for the first.
#[rstest]
#[case::states("", "SELECT sum(o_custkey) FROM both", false)]
#[case::rows("", "SELECT o_orderkey FROM both WHERE o_custkey >= 0", false)]
#[case::states_of_ordered(" WITH ORDER (o_orderkey)", "SELECT sum(o_custkey) FROM both", false)]
#[case::ordered(
    " WITH ORDER (o_orderkey)",
    "SELECT o_orderkey FROM both WHERE o_custkey >= 0",
    true
)]
#[case::ordered_without_its_key(
    " WITH ORDER (o_orderkey)",
    "SELECT o_custkey FROM both WHERE o_custkey >= 0",
    true
)]
#[tokio::test]
async fn second_drive_waits_for_the_first_only_if_rows_are_in_order(
    #[case] order: &str,
    #[case] sql: &str,
    #[case] waits: bool,
) {
    let (bench, second) = two_drives(Fake::new(Capabilities::of_scan_kernel()), order);
    for row_group in 0..4 {
        bench.drive.on(row_group, Act::Hang);
    }
    let session = bench.pushing().await;
    let plan = plan_of(&session, sql).await;
    let mut rows = execute_stream(plan, session.task_ctx()).unwrap();
    drop(tokio::time::timeout(Duration::from_millis(50), rows.next()).await);
    assert_eq!(bench.drive.row_groups().len(), 3);
    assert_eq!(second.row_groups().is_empty(), waits);
    drop(rows);
    bench.drive.stop();
}

#[rstest]
#[tokio::test]
async fn encoding(
    #[values(
        parquet::basic::Encoding::DELTA_BYTE_ARRAY,
        parquet::basic::Encoding::DELTA_LENGTH_BYTE_ARRAY
    )]
    delta: parquet::basic::Encoding,
) {
    let properties = files::usual().set_dictionary_enabled(false).set_encoding(delta);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(["a", "ab", "abc"]));
    let batch = RecordBatch::try_from_iter([("s", texts)]).unwrap();
    let bench = Bench::new().table("deltas", &batch, properties);
    let kept = bench.kept("SELECT count(*) FROM deltas WHERE s > 'a'").await;
    is(&kept, KeepReason::Encoding, &format!("column s has {delta}"));
}

#[tokio::test]
async fn encoding_that_the_drive_does_not_read() {
    let plain = Encodings::of([Encoding::Plain, Encoding::Rle]);
    let kept = drive_with(|can| can.encodings = plain).kept(SUM).await;
    is(&kept, KeepReason::Encoding, "column l_tax: {Rle, RleDictionary}");
}

#[tokio::test]
async fn codec() {
    let properties = files::usual().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let bench = Bench::new().table("zipped", &files::orders(100), properties);
    let kept = bench.kept("SELECT sum(o_orderkey) FROM zipped").await;
    is(&kept, KeepReason::Codec, "column o_orderkey: Zstd");
}

/// A codec of one file does not keep the others.
#[rstest]
#[case::states("SELECT count(*), sum(o_orderkey), avg(o_custkey) FROM mixed WHERE o_custkey < 40")]
#[case::groups("SELECT o_custkey, max(o_orderdate) FROM mixed GROUP BY 1 ORDER BY 1")]
#[case::rows("SELECT o_orderkey, o_orderdate FROM mixed WHERE o_custkey = 7")]
#[case::top("SELECT o_orderkey FROM mixed ORDER BY o_orderkey DESC LIMIT 5")]
#[tokio::test]
async fn codec_of_one_file(#[case] sql: &str, #[values("1", "2")] partitions: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", partitions);
    let folder = bench.path("mixed");
    std::fs::create_dir_all(&folder).unwrap();
    let zipped = files::usual().set_compression(Compression::ZSTD(ZstdLevel::default()));
    files::write(&folder.join("a.parquet"), &files::orders(100), files::usual());
    files::write(&folder.join("b.parquet"), &files::orders(90), zipped);
    files::write(&folder.join("c.parquet"), &files::orders(80), files::usual());
    let location = folder.display();
    let bench =
        bench.sql(format!("CREATE EXTERNAL TABLE mixed STORED AS PARQUET LOCATION '{location}/'"));
    let (count, kept) = bench.units_kept(sql).await;
    assert_eq!((count, kept.reason), (1, KeepReason::Codec));
    let run = bench.check(sql).await;
    let (drive, cpu) = (run.metric("units_drive"), run.metric("units_cpu"));
    assert_eq!((drive, cpu, run.pushbacks()), (2, 1, vec![]));
}

#[tokio::test]
async fn codec_that_the_drive_does_not_read() {
    let kept = drive_with(|can| can.codecs = vec![Codec::Uncompressed]).kept(SUM).await;
    is(&kept, KeepReason::Codec, "column l_tax: Snappy");
}

#[rstest]
#[case::function("SELECT count(*) FROM lineitem WHERE abs(l_code) = 4", "abs(l_code@14)")]
#[case::modulo(
    "SELECT l_code % l_linenumber FROM lineitem",
    "l_code@14 % CAST(l_linenumber@2 AS Int64)"
)]
#[case::strings_of_two_columns(
    "SELECT count(*) FROM lineitem WHERE l_shipmode = l_note",
    "l_note@15"
)]
#[case::division_of_decimals("SELECT sum(l_tax / 3) FROM lineitem", "l_tax@6 / 3")]
#[tokio::test]
async fn expression(#[case] sql: &str, #[case] detail: &str) {
    is(&Bench::new().kept(sql).await, KeepReason::Expression, detail);
}

#[tokio::test]
async fn expression_that_the_drive_does_not_compute() {
    let kept = drive_with(|can| can.operations.retain(|op| *op != Op::Less)).kept(SUM).await;
    is(&kept, KeepReason::Expression, "Less");
}

#[tokio::test]
async fn expression_of_too_many_columns() {
    let kept = drive_with(|can| can.columns_max = 1).kept(SUM).await;
    is(&kept, KeepReason::Expression, "2 columns, the limit is 1");
}

#[rstest]
#[case::without_counterpart(
    "SELECT approx_distinct(l_partkey) FROM lineitem",
    "approx_distinct(lineitem.l_partkey)"
)]
#[case::distinct(
    "SELECT sum(DISTINCT l_tax), sum(DISTINCT l_quantity) FROM lineitem",
    "DISTINCT of sum(DISTINCT lineitem.l_tax)"
)]
#[case::grouping_sets(
    "SELECT l_returnflag, sum(l_tax) FROM lineitem GROUP BY CUBE (l_returnflag)",
    "grouping sets"
)]
#[tokio::test]
async fn function(#[case] sql: &str, #[case] detail: &str) {
    is(&Bench::new().kept(sql).await, KeepReason::Function, detail);
}

#[tokio::test]
async fn function_that_the_drive_does_not_compute() {
    let bench = drive_with(|can| can.functions.retain(|function| *function != Function::Sum));
    is(&bench.kept_above(SUM).await, KeepReason::Function, "Sum");
}

#[tokio::test]
async fn function_of_a_type_without_order_on_the_drive() {
    let sql = "SELECT max(l_shipmode || 'x') FROM lineitem WHERE l_tax < 0.02";
    let kept = Bench::new().kept_above(sql).await;
    assert_eq!(kept.reason, KeepReason::Function);
    assert!(kept.detail.starts_with("max(lineitem.l_shipmode || Utf8"), "{}", kept.detail);
}

#[rstest]
#[case::sum("SELECT sum(l_weight) FROM lineitem", "sum(lineitem.l_weight)")]
#[case::average("SELECT avg(l_weight) FROM lineitem", "avg(lineitem.l_weight)")]
#[case::extremes_in_groups(
    "SELECT l_returnflag, max(l_weight) FROM lineitem GROUP BY l_returnflag",
    "max(lineitem.l_weight): the extremes of floats in groups"
)]
#[case::average_of_an_expression(
    "SELECT avg(l_code + 1) FROM lineitem",
    "avg(lineitem.l_code + Int64(1)): an average of an expression"
)]
#[case::average_beyond_what_floats_hold(
    "SELECT avg(l_huge) FROM lineitem",
    "avg(lineitem.l_huge): the sum may leave the integers that Float64 holds exactly"
)]
#[tokio::test]
async fn float_order(#[case] sql: &str, #[case] detail: &str) {
    is(&Bench::new().kept(sql).await, KeepReason::FloatOrder, detail);
}

#[tokio::test]
async fn float_order_of_a_column_without_statistics() {
    let properties =
        files::usual().set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let bench = Bench::new().table("unknown", &files::orders(100), properties);
    let kept = bench.kept("SELECT avg(o_orderkey) FROM unknown").await;
    let detail = "avg(unknown.o_orderkey): the files have no statistics of the column";
    is(&kept, KeepReason::FloatOrder, detail);
}

#[tokio::test]
async fn ordering_of_an_aggregate() {
    let sql = "SELECT first_value(l_tax ORDER BY l_shipdate) FROM lineitem";
    let detail = "first_value(lineitem.l_tax) ORDER BY [lineitem.l_shipdate ASC NULLS LAST]";
    is(&Bench::new().kept(sql).await, KeepReason::Ordering, detail);
}

#[rstest]
#[case::groups_that_come_one_after_the_other(
    "SELECT l_linenumber, count(*) FROM lineitem WHERE l_linenumber = 5 GROUP BY l_linenumber",
    "the aggregate uses an order of its input"
)]
#[case::rows_cut_off_below(
    "SELECT sum(k) FROM (SELECT l_code AS k FROM lineitem WHERE l_tax < 0.02 LIMIT 9)",
    "rows are cut off below the aggregate"
)]
#[tokio::test]
async fn ordering_below_an_aggregate(#[case] sql: &str, #[case] detail: &str) {
    let bench = Bench::new().set("datafusion.execution.target_partitions", "1");
    is(&bench.kept_above(sql).await, KeepReason::Ordering, detail);
}

#[rstest]
#[case::limit("SELECT l_orderkey FROM lineitem LIMIT 7", "a limit in the scan")]
#[case::partition_column(
    "SELECT count(*) FROM parts WHERE part = 1 OR o_custkey = 3",
    "column part is not in the files"
)]
#[tokio::test]
async fn scan_option(#[case] sql: &str, #[case] detail: &str) {
    let bench = files::with_partitions(Bench::new());
    is(&bench.kept(sql).await, KeepReason::ScanOption, detail);
}

#[tokio::test]
async fn group_cardinality_of_a_key_without_dictionary() {
    let sql = "SELECT l_extendedprice, count(*) FROM lineitem GROUP BY l_extendedprice";
    let detail = "group key l_extendedprice has no dictionary";
    is(&Bench::new().kept(sql).await, KeepReason::GroupCardinality, detail);
}

#[tokio::test]
async fn group_cardinality_of_a_key_with_a_large_dictionary() {
    let bench = drive_with(|can| can.key_dictionary_bytes_max = 10);
    let kept = bench.kept("SELECT l_shipmode, count(*) FROM lineitem GROUP BY l_shipmode").await;
    assert_eq!(kept.reason, KeepReason::GroupCardinality);
    assert!(kept.detail.starts_with("the dictionary of l_shipmode has "), "{}", kept.detail);
    assert!(kept.detail.ends_with(" bytes, the limit is 10"), "{}", kept.detail);
}

#[tokio::test]
async fn group_cardinality_of_a_number_without_a_narrow_range() {
    let sql = "SELECT l_huge + 1, count(*) FROM lineitem GROUP BY l_huge + 1";
    let detail = "no narrow range is known of l_huge@19 + 1";
    is(&Bench::new().kept(sql).await, KeepReason::GroupCardinality, detail);
}

#[tokio::test]
async fn group_cardinality_of_too_many_keys() {
    let bench = drive_with(|can| can.keys_max = 1);
    let sql = "SELECT l_returnflag, l_linestatus, count(*) FROM lineitem \
               GROUP BY l_returnflag, l_linestatus";
    let detail = "2 group keys, the limit is 1";
    is(&bench.kept(sql).await, KeepReason::GroupCardinality, detail);
}

#[tokio::test]
async fn dictionary_size() {
    let bench = drive_with(|can| can.dictionary_bytes_max = 10);
    let kept = bench.kept(SUM).await;
    assert_eq!(kept.reason, KeepReason::DictionarySize);
    assert!(kept.detail.starts_with("the dictionary of l_tax has "), "{}", kept.detail);
}

#[rstest]
#[case::list("SELECT count(l_tags) FROM lineitem WHERE l_tax < 0.02")]
#[case::list_as_output("SELECT l_tags FROM lineitem WHERE l_tax < 0.02")]
#[tokio::test]
async fn nested(#[case] sql: &str) {
    is(&Bench::new().kept(sql).await, KeepReason::Nested, "column l_tags");
}

#[tokio::test]
async fn cost() {
    let slow = Fake::new(Capabilities::of_scan_kernel()).with_scans(|rates| rates.setup_ns = 1e12);
    let bench = Bench::with_drive(slow).set("nearscan.pushdown.mode", "auto");
    let kept = bench.kept(SUM).await;
    assert_eq!(kept.reason, KeepReason::Cost);
    assert!(kept.detail.starts_with("drive 4000000."), "{}", kept.detail);
    assert!(kept.detail.contains(" ms, host 0."), "{}", kept.detail);
}

#[tokio::test]
async fn cost_of_a_fast_drive_is_shown_and_lower() {
    let bench = Bench::new().set("nearscan.pushdown.mode", "auto");
    let (_, output, candidates) = bench.decide(SUM).await;
    assert_eq!(pushed(&output).len(), 1, "{candidates:?}");
    let costs = candidates[0].costs.unwrap();
    assert!(0.0 < costs.drive_ns && costs.drive_ns < costs.host_ns, "{costs}");
}

#[tokio::test]
async fn quarantine() {
    let bench = Bench::new();
    let (_, output, _) = bench.decide(SUM).await;
    let exec = Arc::clone(&pushed(&output)[0]);
    let exec = exec.downcast_ref::<nearscan_optimizer::PushdownExec>().unwrap();
    let hash = exec.fragment().hash();
    let fail = || bench.context.admit("fake", hash, 7).unwrap().failed(bench.context.now());
    (1..quarantine::FAILURES).for_each(|_| fail());
    assert_eq!(pushed(&bench.decide(SUM).await.1).len(), 1, "too early");
    fail();
    // The filter alone is another fragment, which has not failed.
    let kept = bench.kept_above(SUM).await;
    is(&kept, KeepReason::Quarantine, "it failed on the drive too often");
}

#[test]
fn every_reason_has_a_unique_word() {
    let words: std::collections::HashSet<&str> =
        KeepReason::ALL.iter().map(|(_, word)| *word).collect();
    assert_eq!(words.len(), KeepReason::ALL.len());
    assert_eq!(KeepReason::ALL.len(), 17, "a new reason needs a test here");
}
