// SPDX-License-Identifier: Apache-2.0
//! Tests the records that texts are parsed to.

use super::*;
use rstest::rstest;

fn records(text: &str, dialect: Dialect) -> Vec<Record> {
    read(text.as_bytes(), Path::new("folder/a.test"), dialect, Path::new("/scratch"))
}

/// Records in a line each.
fn shown(text: &str, dialect: Dialect) -> Vec<String> {
    let show = |record: Record| match record.action {
        Action::Statement { sql, expect } => format!("{} {expect:?} {sql}", record.place),
        Action::Query { sql, letters, sort, lines } => {
            let lines = lines.map_or_else(|| "?".to_owned(), |lines| lines.join("|"));
            format!("{} {letters} {sort:?} {sql} -> {lines}", record.place)
        }
        Action::Unsupported { reason, lost: None } => {
            format!("{} unsupported {reason}", record.place)
        }
        Action::Unsupported { reason, lost: Some(sql) } => {
            format!("{} unsupported {reason} lost {sql}", record.place)
        }
    };
    records(text, dialect).into_iter().map(show).collect()
}

#[test]
fn records_have_their_lines() {
    let text = "# a comment\nhash-threshold 8\n\nstatement ok\nCREATE TABLE t(\n  a INT)\n\n\
                query IT rowsort label-1\nSELECT a, 'x'\nFROM t\n----\n1\nx\n\nquery I\nSELECT 1\n\n\
                statement error\nSELECT no\n----\nno such column";
    assert_eq!(
        shown(text, Dialect::Sqlite),
        [
            "a.test:4 Success CREATE TABLE t(\n  a INT)",
            "a.test:8 IT Rows SELECT a, 'x'\nFROM t -> 1|x",
            "a.test:15 I Unsorted SELECT 1 -> ?",
            "a.test:18 Refusal SELECT no",
        ]
    );
}

#[rstest]
#[case("onlyif sqlite", "a.test:2 unsupported condition onlyif sqlite")]
#[case("skipif sqlite", "a.test:2 Success S")]
#[case("skipif Nearscan", "a.test:2 unsupported condition skipif Nearscan")]
#[case("skipif datafusion", "a.test:2 unsupported condition skipif datafusion")]
#[case("onlyif nearscan # why", "a.test:2 Success S")]
fn conditions_are_those_of_this_engine(#[case] condition: &str, #[case] expected: &str) {
    let text = format!("{condition}\nstatement ok\nS\n\nstatement ok\nT\n");
    assert_eq!(shown(&text, Dialect::Sqlite), [expected, "a.test:5 Success T"]);
}

#[test]
fn loops_are_written_out() {
    let text = "loop i 1 3\n\nforeach t x y\n\nskipif i=2\nstatement ok\nA ${i} ${t}\n\n\
                endloop\n\nendloop\n\nstatement ok\nB ${i}\n";
    assert_eq!(
        shown(text, Dialect::Duckdb),
        [
            "a.test:6 Success A 1 x",
            "a.test:6 Success A 1 y",
            "a.test:6 unsupported condition skipif i",
            "a.test:6 unsupported condition skipif i",
            "a.test:13 Success B ${i}",
        ]
    );
}

#[test]
fn what_is_skipped_is_counted() {
    let text = "mode skip\n\nstatement ok\nA\n\nrequire json\n\nmode unskip\n\nstatement ok\nB\n\n\
                require json\n\nstatement ok\nC\n\nquery I\nD\n";
    assert_eq!(
        shown(text, Dialect::Duckdb),
        [
            "a.test:3 unsupported mode skip",
            "a.test:10 Success B",
            "a.test:15 unsupported require json",
            "a.test:18 unsupported require json",
        ]
    );
}

#[test]
fn one_database_is_there() {
    let text = "load a.db\n\nstatement ok\nA\n\nload a.db\n\nstatement ok\nB\n\n\
                load b.db\n\nstatement ok\nC\n";
    assert_eq!(
        shown(text, Dialect::Duckdb),
        ["a.test:3 Success A", "a.test:8 Success B", "a.test:13 unsupported directive load"]
    );
}

#[rstest]
#[case("statement ok\nA\n\nhalt\n\nstatement ok\nB\n", 1)]
#[case("statement ok\nA\n\nonlyif mysql\nhalt\n\nstatement ok\nB\n", 2)]
fn file_ends_with_halt(#[case] text: &str, #[case] expected: usize) {
    assert_eq!(records(text, Dialect::Sqlite).len(), expected);
}

#[test]
fn message_may_have_paragraphs() {
    let text = "query error\nA\n----\none\n\ntwo\n\n\nquery I\nB\n----\n1\n";
    let expected = ["a.test:1 Refusal A", "a.test:9 I Unsorted B -> 1"];
    assert_eq!(shown(text, Dialect::Datafusion), expected);
}

#[test]
fn invalid_line_is_unsupported_and_later_lines_are_read() {
    let text = "whatever this is\nsecond line\n\nstatement perhaps\nA\n\nstatement ok\nB\n";
    assert_eq!(
        shown(text, Dialect::Sqlite),
        [
            "a.test:1 unsupported directive whatever lost second line",
            "a.test:4 unsupported directive statement perhaps lost A",
            "a.test:7 Success B",
        ]
    );
}

#[test]
fn other_files_are_included_and_not_forever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.slt");
    fs::write(folder.path().join("b.part"), "statement ok\nB\n").unwrap();
    fs::write(folder.path().join("c.part"), "statement ok\nC\n").unwrap();
    fs::write(&path, "include a.slt\n").unwrap();
    let scratch = folder.path().join("scratch");
    let read = |text: &str| read(text.as_bytes(), &path, Dialect::Datafusion, &scratch);
    let places: Vec<String> = read("include *.part\n").into_iter().map(|it| it.place).collect();
    assert_eq!(places, ["b.part:1", "c.part:1"]);
    let forever = read("include a.slt\n");
    let reason = "directive include".to_owned();
    assert_eq!(forever.last().unwrap().action, Action::Unsupported { reason, lost: None });
    assert_eq!(read("include no.slt\n").len(), 1);
}

#[test]
fn nested_loops_end_somewhere() {
    let text = "loop i 0 10000\nloop j 0 10000\nstatement ok\nA\n\nendloop\nendloop\n";
    let records = records(text, Dialect::Duckdb);
    assert_eq!(records.len(), RECORDS_MAX + 1);
    let reason = "file of too many records".to_owned();
    assert_eq!(records.last().unwrap().action, Action::Unsupported { reason, lost: None });
}

#[test]
fn what_is_included_is_read_like_the_file_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.slt");
    fs::write(folder.path().join("b.part"), b"statement ok\nB '\xff' test_files/scratch/b\n")
        .unwrap();
    fs::create_dir(folder.path().join("c.part")).unwrap();
    let read = |text: &str| read(text.as_bytes(), &path, Dialect::Datafusion, Path::new("/tmp/x"));
    let sql = "B '\u{fffd}' /tmp/x/b".to_owned();
    let statement = Action::Statement { sql, expect: Expect::Success };
    assert_eq!(read("include b.part\n")[0].action, statement);
    // A directive that cannot be read is one record, and so is one that a condition leaves out.
    let reason = "directive include".to_owned();
    assert_eq!(read("include *.part\n")[1].action, Action::Unsupported { reason, lost: None });
    let reason = "condition onlyif mysql".to_owned();
    let left_out = read("onlyif mysql\ninclude b.part\n\nstatement ok\nB\n");
    assert_eq!(left_out[0].action, Action::Unsupported { reason, lost: None });
    assert_eq!(left_out[1].place, "a.slt:4");
    assert!(matches!(left_out[1].action, Action::Statement { .. }));
}

#[test]
fn no_record_behind_what_is_required_vanishes() {
    let text = "loop i 0 2\n\nstatement ok\nA\n\nrequire json\n\nstatement ok\nB\n\nendloop\n\n\
                mode skip\n\nmode unskip\n\nwhatever\n\nquery I\nC\n";
    assert_eq!(
        shown(text, Dialect::Duckdb),
        [
            "a.test:3 Success A",
            "a.test:8 unsupported require json",
            "a.test:3 unsupported require json",
            "a.test:8 unsupported require json",
            "a.test:17 unsupported require json lost ",
            "a.test:19 unsupported require json",
        ]
    );
}

#[rstest]
#[case("onlyif mysql\nhash-threshold 8\n\nstatement ok\nA\n", &["a.test:4 Success A"])]
#[case("onlyif mysql\nmode skip\n\nstatement ok\nA\n", &["a.test:4 Success A"])]
#[case("onlyif mysql\nrequire json\n\nstatement ok\nA\n", &["a.test:4 Success A"])]
#[case("onlyif mysql\nload b.db\n\nstatement ok\nA\n", &["a.test:4 Success A"])]
#[case(
    "onlyif mysql\nloop i 0 2\nstatement ok\nA\n\nendloop\n\nstatement ok\nB\n",
    &[
        "a.test:3 unsupported condition onlyif mysql",
        "a.test:3 unsupported condition onlyif mysql",
        "a.test:8 Success B",
    ]
)]
#[case(
    "skipif nearscan\nonlyif datafusion\nstatement ok\nA\n",
    &["a.test:3 unsupported condition skipif nearscan"]
)]
fn condition_is_about_what_stands_behind_it(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(shown(text, Dialect::Duckdb), expected);
}

#[rstest]
#[case("skipif i>0")]
#[case("onlyif i<1")]
#[case("skipif i!=1")]
#[case("onlyif i==0")]
fn operators_that_are_not_read_are_unsupported(#[case] condition: &str) {
    let text = format!("loop i 0 1\n\n{condition}\nstatement ok\nA\n\nendloop\n");
    let word = condition.split(' ').next().unwrap();
    let expected = format!("a.test:4 unsupported condition {word} i");
    assert_eq!(shown(&text, Dialect::Duckdb), [expected]);
}

#[rstest]
#[case("statement ok con1\nINSERT INTO t VALUES (1)\n", "directive connection")]
#[case("statement ok con1\nINSERT INTO t VALUES (1)\n----\n1\n", "directive connection")]
#[case("connection one\nstatement ok\nINSERT INTO t VALUES (1)\n", "directive connection")]
fn what_another_connection_does_is_known(#[case] text: &str, #[case] reason: &str) {
    let expected = format!("a.test:1 unsupported {reason} lost INSERT INTO t VALUES (1)");
    assert_eq!(shown(text, Dialect::Duckdb), [expected]);
}

#[test]
fn loops_that_are_too_deep_are_counted() {
    let text = "loop i 0 1\n".repeat(DEPTH_MAX + 1) + "statement ok\nA\n";
    let expected = format!("a.test:{} unsupported loop that is too deep", DEPTH_MAX + 1);
    assert_eq!(shown(&text, Dialect::Duckdb), [expected]);
}
