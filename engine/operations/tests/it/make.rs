// SPDX-License-Identifier: Apache-2.0
//! Tests objects that are made of other objects, and of batches.

use std::{fmt::Write as _, sync::Arc};

use nearscan::{
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch, StringArray},
        ipc::writer::StreamWriter,
    },
    parquet::{
        basic::Encoding,
        file::reader::{FileReader, SerializedFileReader},
    },
};
use nearscan_applications::{Layout, Query, Refusal, Rights, Sink, Source, Tables, Target};
use nearscan_store::{Condition, ObjectInfo, Quota};
use rstest::rstest;

use crate::support::{Fixture, collection, object, piece, query, texts};

fn target(name: &str, layout: Layout) -> Target {
    Target { path: object(name), condition: Condition::Always, layout }
}

async fn convert(fixture: &Fixture, from: &str, target: Target) -> Result<ObjectInfo, Refusal> {
    let source = Source { path: object(from), format: None };
    fixture.operations.convert(source, target, &Rights::default()).await
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn batch() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("c"), Some("a"), None]));
    RecordBatch::try_from_iter([("k", numbers), ("word", words)]).unwrap()
}

async fn sink(fixture: &Fixture, layout: Layout) -> Box<dyn Sink> {
    fixture.operations.sink(target("t.parquet", layout), &Rights::default()).await.unwrap()
}

#[rstest]
#[case("t.csv", "k,word\n3,c\n1,a\n2,\n")]
#[case("t.tsv", "k\tword\n3\tc\n1\ta\n2\t\n")]
#[case("t.json", "{\"k\":3,\"word\":\"c\"}\n{\"k\":1,\"word\":\"a\"}\n{\"k\":2}\n")]
#[tokio::test(flavor = "multi_thread")]
async fn converted_object_has_the_rows_in_the_order_of_its_layout(
    #[case] name: &str,
    #[case] text: &str,
) {
    let fixture = Fixture::new().await;
    fixture.put(name, text);
    let layout = Layout { sort_by: texts(["k"]), row_group_rows: None };
    let info = convert(&fixture, name, target("made.parquet", layout)).await.unwrap();
    assert_eq!(info.path, object("made.parquet"));
    let found = fixture.lines(query("made")).await.unwrap();
    assert_eq!(found, [r#"{"k":1,"word":"a"}"#, r#"{"k":2}"#, r#"{"k":3,"word":"c"}"#]);
}

/// The value in the first rows of a CSV object, that in the last, and both as they are read back.
#[rstest]
#[case::text_after_numbers("1", "late", [r#""1""#, r#""late""#])]
#[case::fraction_after_whole_numbers("1", "2.5", ["1.0", "2.5"])]
#[case::large_after_whole_numbers(
    "1",
    "9223372036854775808",
    [r#""1""#, r#""9223372036854775808""#]
)]
#[case::large_after_fractions(
    "1.5",
    "12345678901234567890",
    [r#""1.5""#, r#""12345678901234567890""#]
)]
#[case::word_after_fractions("1.5", "Infinity", [r#""1.5""#, r#""Infinity""#])]
#[case::number_in_spaces(" 1", "2", [r#"" 1""#, r#""2""#])]
#[case::number_after_booleans("true", "2", [r#""true""#, r#""2""#])]
#[case::time_after_dates(
    "2024-01-31",
    "2024-02-01 10:20:30",
    [r#""2024-01-31T00:00:00""#, r#""2024-02-01T10:20:30""#]
)]
#[case::fraction_after_seconds(
    "2024-01-31 10:20:30",
    "2024-01-31 10:20:30.5",
    [r#""2024-01-31T10:20:30""#, r#""2024-01-31T10:20:30.500""#]
)]
#[case::number_after_nothing("", "7", ["", "7"])]
#[case::text_after_quoted("\"a\"", "b", [r#""a""#, r#""b""#])]
#[tokio::test(flavor = "multi_thread")]
async fn type_of_a_column_of_csv_is_one_that_all_its_rows_have(
    #[case] first: &str,
    #[case] last: &str,
    #[case] found: [&str; 2],
) {
    let fixture = Fixture::new().await;
    let mut text = "k,value\n".to_owned();
    for row in 0..3000 {
        writeln!(text, "{row},{first}").unwrap();
    }
    writeln!(text, "3000,{last}").unwrap();
    fixture.put("t.csv", &text);
    convert(&fixture, "t.csv", target("t.parquet", Layout::default())).await.unwrap();
    let ends = Query { filter: Some("k IN (0, 3000)".to_owned()), ..query("t.parquet") };
    let line = |(k, value): (u32, &str)| match value {
        "" => format!(r#"{{"k":{k}}}"#),
        value => format!(r#"{{"k":{k},"value":{value}}}"#),
    };
    let expected = [(0, found[0]), (3000, found[1])].map(line);
    assert_eq!(fixture.lines(ends).await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_later_lines_of_json_are_kept() {
    let fixture = Fixture::new().await;
    let mut text = "{\"k\":1}\n".repeat(3000);
    text += "{\"k\":2.5,\"word\":\"late\"}\n";
    fixture.put("t.json", &text);
    convert(&fixture, "t.json", target("t.parquet", Layout::default())).await.unwrap();
    let rows = Query { filter: Some("word = 'late'".to_owned()), ..query("t.parquet") };
    assert_eq!(fixture.lines(rows).await.unwrap(), [r#"{"k":2.5,"word":"late"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn layout_has_row_groups_of_its_size_and_differences_of_many_values() {
    let fixture = Fixture::new().await;
    let mut text = "key,kind\n".to_owned();
    for row in 0..1000 {
        writeln!(text, "{row},{}", row % 3).unwrap();
    }
    fixture.put("t.csv", &text);
    let layout = Layout { sort_by: Vec::new(), row_group_rows: Some(300) };
    convert(&fixture, "t.csv", target("t.parquet", layout)).await.unwrap();
    let bytes = fixture.store.reader(&object("t.parquet")).unwrap().read_all().unwrap();
    let metadata = SerializedFileReader::new(bytes).unwrap().metadata().clone();
    let rows: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [300, 300, 300, 100]);
    let has = |column: usize, encoding| {
        metadata.row_group(0).column(column).encodings().any(|found| found == encoding)
    };
    assert!(has(0, Encoding::DELTA_BINARY_PACKED) && !has(0, Encoding::RLE_DICTIONARY));
    assert!(has(1, Encoding::RLE_DICTIONARY) && !has(1, Encoding::DELTA_BINARY_PACKED));
}

#[rstest]
#[case::missing("none.csv", "not found")]
#[case::uneven("uneven.csv", "invalid")]
#[case::no_parquet("t.parquet", "invalid")]
#[tokio::test(flavor = "multi_thread")]
async fn object_that_cannot_be_converted_leaves_nothing(#[case] name: &str, #[case] why: &str) {
    let fixture = Fixture::new().await;
    fixture.put("uneven.csv", "a,b\n1,2\n1,2,3\n");
    fixture.put("t.parquet", "no Parquet");
    let refused = convert(&fixture, name, target("made.parquet", Layout::default())).await;
    let refusal = refused.unwrap_err().to_string();
    assert!(refusal.starts_with(why), "{refusal}");
    assert!(!refusal.contains("operation-"), "{refusal}");
    assert!(fixture.store.info(&object("made.parquet")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_of_the_target_is_what_the_application_is_told() {
    let fixture = Fixture::new().await;
    fixture.put("t.csv", "k\n1\n");
    let quota = Quota { bytes: Some(100), ..Quota::default() };
    fixture.store.set_collection_quota(&collection(), quota).unwrap();
    let refused = convert(&fixture, "t.csv", target("made.parquet", Layout::default())).await;
    assert!(matches!(refused, Err(Refusal::Quota(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_an_application_become_an_object() {
    let fixture = Fixture::new().await;
    let layout = Layout { sort_by: texts(["k"]), row_group_rows: None };
    let mut sink = sink(&fixture, layout).await;
    let bytes = stream(&batch());
    for part in bytes.chunks(100) {
        sink.write(piece(part)).await.unwrap();
    }
    sink.commit().await.unwrap();
    let found = fixture.lines(query("t")).await.unwrap();
    assert_eq!(found, [r#"{"k":1,"word":"a"}"#, r#"{"k":2}"#, r#"{"k":3,"word":"c"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sink_that_is_dropped_leaves_nothing() {
    let fixture = Fixture::new().await;
    let mut sink = sink(&fixture, Layout::default()).await;
    sink.write(stream(&batch()).into()).await.unwrap();
    drop(sink);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(fixture.store.info(&object("t.parquet")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn sink_whose_commit_is_given_up_leaves_nothing() {
    let fixture = Fixture::new().await;
    let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2_000_000));
    let batch = RecordBatch::try_from_iter([("k", rows)]).unwrap();
    let layout = Layout { sort_by: texts(["k"]), row_group_rows: None };
    let mut sink = sink(&fixture, layout).await;
    sink.write(stream(&batch).into()).await.unwrap();
    let late = std::time::Duration::from_millis(1);
    let committed = tokio::time::timeout(late, sink.commit()).await;
    assert!(committed.is_err(), "it takes longer");
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert!(fixture.store.info(&object("t.parquet")).is_err());
}

#[rstest]
#[case::no_stream(b"this is no Arrow stream, and longer than a header".to_vec())]
#[case::nothing(Vec::new())]
#[case::cut_off(stream(&batch())[..300].to_vec())]
#[case::damaged({
    let mut bytes = stream(&batch());
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x7f);
    bytes
})]
#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_stream_are_refused(#[case] bytes: Vec<u8>) {
    let fixture = Fixture::new().await;
    let mut sink = sink(&fixture, Layout::default()).await;
    let written = sink.write(bytes.into()).await;
    let refused = match written {
        Ok(()) => sink.commit().await.map(drop),
        refused => refused,
    };
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    assert!(fixture.store.info(&object("t.parquet")).is_err());
}
