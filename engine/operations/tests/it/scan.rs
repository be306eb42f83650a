// SPDX-License-Identifier: Apache-2.0
//! Tests scans of applications.

use nearscan::arrow::ipc::reader::StreamReader;
use nearscan_applications::{
    Encoding, Layout, Query, Refusal, Rights, Selection, Source, Tables, Target,
};
use nearscan_store::Condition;
use rstest::rstest;

use crate::support::{Fixture, all_of, object, query, texts};

const CSV: &str = "k,kind\n1,a\n2,b\n3,a\n4,\n";

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_scan_are_those_of_its_objects_and_filter() {
    let fixture = Fixture::new().await;
    fixture.put("t/1.csv", CSV);
    fixture.put("t/2.csv", "k,kind\n5,a\n");
    fixture.put("other.csv", "k,kind\n9,a\n");
    let filtered = Query { filter: Some("kind = 'a' -- only these".to_owned()), ..query("t/") };
    let mut found = fixture.lines(filtered).await.unwrap();
    found.sort_unstable();
    assert_eq!(found, [r#"{"k":1,"kind":"a"}"#, r#"{"k":3,"kind":"a"}"#, r#"{"k":5,"kind":"a"}"#]);
    let named =
        Query { objects: Selection::Names(texts(["t/2.csv"])), columns: texts(["k"]), ..query("") };
    assert_eq!(fixture.lines(named).await.unwrap(), [r#"{"k":5}"#]);
    let limited = Query { limit: Some(2), ..query("t/1") };
    assert_eq!(fixture.lines(limited).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_a_scan_come_with_their_keys() {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let grouped = Query {
        aggregates: texts(["sum(k) AS total", "count(*) AS rows"]),
        group_by: texts(["kind"]),
        filter: Some("kind IS NOT NULL".to_owned()),
        ..query("t")
    };
    let mut found = fixture.lines(grouped).await.unwrap();
    found.sort_unstable();
    assert_eq!(found, [r#"{"kind":"a","total":4,"rows":2}"#, r#"{"kind":"b","total":2,"rows":1}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn arrow_stream_of_a_scan_can_be_read_as_a_whole() {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let query = Query { encoding: Encoding::ArrowStream, ..query("t") };
    let batches = fixture.operations.scan(query, &Rights::default()).await.unwrap();
    let bytes = all_of(batches).await.unwrap();
    let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_of_parquet_runs_on_the_drive() {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let source = Source { path: object("t.csv"), format: None };
    let (path, condition, layout) = (object("t.parquet"), Condition::Absent, Layout::default());
    let target = Target { path, condition, layout };
    fixture.operations.convert(source, target, &Rights::default()).await.unwrap();
    fixture.engine.set("nearscan.pushdown.mode", "force").await.unwrap();
    let counted = Query {
        aggregates: texts(["count(*) AS rows"]),
        filter: Some("k > 1".to_owned()),
        ..query("t.parquet")
    };
    assert_eq!(fixture.lines(counted).await.unwrap(), [r#"{"rows":3}"#]);
    let log = "SELECT DISTINCT placed_on FROM nearscan.pushdown_log";
    let log = fixture.engine.sql(log).await.unwrap().collect().await.unwrap();
    let shown = nearscan::arrow::util::pretty::pretty_format_batches(&log.batches).unwrap();
    assert!(shown.to_string().contains("| drive "), "{shown}");
}

#[rstest]
#[case::syntax("k >", "expected")]
#[case::two_expressions("true) OR (true", "")]
#[case::statement("true; DROP TABLE t", "")]
#[case::subquery("k IN (SELECT 1)", "subquery")]
#[case::exists("EXISTS (SELECT * FROM nearscan.settings)", "subquery")]
#[case::unknown("nothing > 3", "nothing")]
#[case::comment("true /* ", "")]
#[tokio::test(flavor = "multi_thread")]
async fn filter_that_is_no_condition_on_rows_is_refused(#[case] filter: &str, #[case] why: &str) {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let query = Query { filter: Some(filter.to_owned()), ..query("t") };
    match fixture.lines(query).await {
        Err(Refusal::Invalid(text)) => {
            assert!(text.to_lowercase().contains(why), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case(Query { aggregates: texts(["(SELECT 1)"]), ..query("t") })]
#[case(Query { aggregates: texts(["count(*) FROM nearscan.settings --"]), ..query("t") })]
#[case(Query { columns: texts(["k\" FROM nearscan.settings --"]), ..query("t") })]
#[case(Query { columns: texts(["k"]), aggregates: texts(["count(*)"]), ..query("t") })]
#[case(Query { group_by: texts(["kind"]), ..query("t") })]
#[tokio::test(flavor = "multi_thread")]
async fn parts_that_could_read_other_tables_are_refused(#[case] query: Query) {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let refused = fixture.lines(query).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn result_that_has_ended_stays_so() {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", CSV);
    let mut batches = fixture.operations.scan(query("t"), &Rights::default()).await.unwrap();
    while batches.next().await.unwrap().is_some() {}
    assert!(batches.next().await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_without_objects_is_not_found() {
    let fixture = Fixture::new().await;
    for query in [query("t"), Query { objects: Selection::Names(texts(["t.csv"])), ..query("") }] {
        let refused = fixture.lines(query).await;
        assert!(matches!(refused, Err(Refusal::NotFound(_))), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_is_replaced_while_it_is_read_is_a_conflict_or_the_old_one() {
    let fixture = Fixture::new().await;
    let line = format!("1,{}\n", "x".repeat(1000));
    let old = format!("k,text\n{}", line.repeat(20_000));
    fixture.put("t.csv", &old);
    let batches = fixture.operations.scan(query("t"), &Rights::default()).await;
    let mut batches = batches.unwrap();
    assert!(batches.next().await.unwrap().is_some());
    fixture.put("t.csv", "k,text\n2,new\n");
    match all_of(batches).await {
        Ok(rest) => assert!(!String::from_utf8_lossy(&rest).contains("new")),
        Err(refusal) => assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}"),
    }
}

#[rstest]
#[case("a b.csv")]
#[case("50%/a#b?.csv")]
#[case("grün/*.csv")]
#[tokio::test(flavor = "multi_thread")]
async fn object_of_any_name_is_read(#[case] name: &str) {
    let fixture = Fixture::new().await;
    fixture.put(name, CSV);
    let query = Query { objects: Selection::Names(vec![name.to_owned()]), ..query("") };
    assert_eq!(fixture.lines(query).await.unwrap().len(), 4);
}
