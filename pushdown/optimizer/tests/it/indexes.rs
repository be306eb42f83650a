// SPDX-License-Identifier: Apache-2.0
//! Tests that the fused scan drops pages by the page index, and row groups by Bloom filters.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use parquet::file::properties::{EnabledStatistics, WriterPropertiesBuilder};
use rstest::rstest;

use crate::{
    bench::{Bench, shown, texts},
    files,
    fused::{bench, check, metric},
};

/// Rows of a page; a row group has 1,000.
const PAGE_ROWS: usize = 100;

fn small_pages() -> WriterPropertiesBuilder {
    files::usual().set_data_page_row_count_limit(PAGE_ROWS).set_write_batch_size(PAGE_ROWS)
}

/// `lineitem`, in one partition, as `t`.
fn with_pages(properties: WriterPropertiesBuilder) -> Bench {
    bench().set("datafusion.execution.target_partitions", "1").table(
        "t",
        &files::lineitem(),
        properties,
    )
}

/// The keys ascend; four rows have the same.
#[rstest]
#[case::rows("SELECT l_tax, l_comment FROM t WHERE l_orderkey BETWEEN 60 AND 70 ORDER BY 2", 900)]
#[case::two_row_groups(
    "SELECT l_tax, l_comment FROM t WHERE l_orderkey BETWEEN 240 AND 260 ORDER BY 2",
    1800
)]
#[case::two_columns(
    "SELECT l_comment FROM t WHERE l_orderkey > 220 AND l_huge < 970 * (1 << 50) AND \
     l_orderkey < 250 ORDER BY 1",
    800
)]
#[case::two_ranges("SELECT l_tax FROM t WHERE l_orderkey = 3 OR l_orderkey = 247 ORDER BY 1", 800)]
#[case::states("SELECT count(*), sum(l_tax) FROM t WHERE l_orderkey BETWEEN 60 AND 70", 900)]
#[case::groups(
    "SELECT l_note, count(*) FROM t WHERE l_orderkey < 30 AND l_tax > 0.02 GROUP BY 1 ORDER BY 1",
    800
)]
#[case::condition_outside_of_fragments(
    "SELECT l_comment FROM t WHERE l_orderkey < 20 AND l_comment ILIKE '%NUMBER 1%' ORDER BY 1",
    900
)]
#[case::nulls("SELECT l_tax FROM t WHERE l_orderkey < 40 AND l_code = 7 ORDER BY 1", 800)]
#[case::nothing_to_prune("SELECT count(*) FROM t WHERE l_tax < 0.03", 0)]
#[tokio::test]
async fn page_index_drops_rows(
    #[case] sql: &str,
    #[case] rows: usize,
    #[values(true, false)] is_enabled: bool,
) {
    let bench = with_pages(small_pages())
        .set("datafusion.execution.parquet.enable_page_index", &is_enabled.to_string());
    let plan = check(&bench, sql).await;
    let pruned = if is_enabled { rows } else { 0 };
    assert_eq!(metric(&plan, "page_index_rows_pruned"), pruned, "{}", shown(&plan));
    assert_eq!(metric(&plan, "row_groups_datafusion"), 0);
}

/// The table has columns of the file in another order.
#[tokio::test]
async fn page_index_is_found_by_the_names_of_columns() {
    let bench = with_pages(small_pages());
    let location = bench.path("t.parquet");
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE turned (l_tax DECIMAL(15, 2), l_orderkey BIGINT) \
         STORED AS PARQUET LOCATION '{}'",
        location.display()
    ));
    let sql = "SELECT sum(l_tax), count(*) FROM turned WHERE l_orderkey BETWEEN 60 AND 70";
    let plan = check(&bench, sql).await;
    assert_eq!(metric(&plan, "page_index_rows_pruned"), 900, "{}", shown(&plan));
}

/// Between the bounds of two pages there is a gap.
#[tokio::test]
async fn row_group_without_a_page_that_is_left_is_not_read() {
    let bench = with_pages(small_pages());
    let sql = "SELECT count(*) FROM t WHERE l_huge = 99 * (1 << 50) + 5";
    let plan = check(&bench, sql).await;
    assert_eq!(metric(&plan, "page_index_rows_pruned"), 1000, "{}", shown(&plan));
    assert_eq!([metric(&plan, "row_groups"), metric(&plan, "bytes_scanned")], [0, 0]);
}

#[tokio::test]
async fn file_without_a_page_index_is_read_as_a_whole() {
    let properties = small_pages().set_statistics_enabled(EnabledStatistics::Chunk);
    let plan =
        check(&with_pages(properties), "SELECT sum(l_tax) FROM t WHERE l_orderkey < 9").await;
    assert_eq!(metric(&plan, "page_index_rows_pruned"), 0);
    assert_eq!(metric(&plan, "row_groups"), 1);
}

/// Columns of every type, each with the even numbers below 2,000 in no order, in one row group.
fn evens() -> RecordBatch {
    let even = |row: i64| row * 7919 % 1000 * 2;
    let rows = || (0..1000).map(even);
    let int32 = || rows().map(|it| i32::try_from(it).unwrap());
    let decimals = |precision: u8| -> ArrayRef {
        let array: Decimal128Array = rows().map(|it| Some(i128::from(it))).collect();
        Arc::new(array.with_precision_and_scale(precision, 2).unwrap())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("small", Arc::new(Int32Array::from_iter_values(int32()))),
        ("large", Arc::new(Int64Array::from_iter_values(rows()))),
        ("text", Arc::new(StringArray::from_iter_values(rows().map(|it| format!("{it:04}"))))),
        ("cents", decimals(9)),
        ("price", decimals(15)),
        ("total", decimals(30)),
        ("day", Arc::new(Date32Array::from_iter_values(int32()))),
        ("moment", Arc::new(TimestampMicrosecondArray::from_iter_values(rows()))),
        // Zero, the least of them, is stored as -0.0.
        ("float", Arc::new(Float64Array::from_iter_values(rows().map(|it| -(it as f64))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn with_bloom_filters() -> Bench {
    let properties = files::usual().set_dictionary_enabled(false).set_bloom_filter_enabled(true);
    bench().table("evens", &evens(), properties)
}

#[rstest]
#[case::int32("small = 777", true)]
#[case::int64("large = 777", true)]
#[case::text("text = '0777'", true)]
#[case::decimal_of_4_bytes("cents = 7.77", true)]
#[case::decimal_of_8_bytes("price = 7.77", true)]
#[case::any_of_a_list("large IN (777, 779)", true)]
#[case::one_of_a_list_is_there("large IN (777, 778)", false)]
#[case::one_conjunct_is_enough("large > 5 AND text = '0777' AND float < 0", true)]
#[case::disjunction("large = 777 OR price < 3", false)]
#[case::there("large = 778", false)]
#[case::range("large < 778", false)]
#[case::other_than("large <> 777", false)]
#[case::day("day = DATE '1972-02-17'", false)]
#[case::moment("moment = TIMESTAMP '1970-01-01 00:00:00.000777'", false)]
#[tokio::test]
async fn bloom_filter_rules_row_group_out(
    #[case] condition: &str,
    #[case] is_ruled_out: bool,
    #[values(true, false)] is_enabled: bool,
) {
    let bench = with_bloom_filters()
        .set("datafusion.execution.parquet.bloom_filter_on_read", &is_enabled.to_string());
    let plan = check(&bench, &format!("SELECT count(*) FROM evens WHERE {condition}")).await;
    let pruned = usize::from(is_ruled_out && is_enabled);
    assert_eq!(metric(&plan, "row_groups_pruned_bloom_filter"), pruned, "{}", shown(&plan));
    assert_eq!(metric(&plan, "row_groups"), 1 - pruned);
}

/// DataFusion asks the filter here, and finds nothing.
#[tokio::test]
async fn zero_is_found_where_minus_zero_is_stored() {
    let bench = with_bloom_filters();
    let session = bench.fused().await;
    let rows = session.sql("SELECT float FROM evens WHERE float = 0.0").await.unwrap();
    assert_eq!(texts(&rows.collect().await.unwrap()), ["-0.0"]);
}

/// Scales differ, so that equal values have other bytes.
#[tokio::test]
async fn bloom_filter_of_another_type_is_not_asked() {
    let bench = with_bloom_filters();
    let location = bench.path("evens.parquet");
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE other (small BIGINT, price DECIMAL(18, 4), text VARCHAR) \
         STORED AS PARQUET LOCATION '{}'",
        location.display()
    ));
    for condition in ["small = 778", "price = 7.78"] {
        let plan = check(&bench, &format!("SELECT count(*) FROM other WHERE {condition}")).await;
        assert_eq!(metric(&plan, "row_groups_pruned_bloom_filter"), 0, "{condition}");
    }
}
