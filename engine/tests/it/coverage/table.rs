// SPDX-License-Identifier: Apache-2.0
//! The document: three tables, in which types and layouts that have the same cells share a row.

use std::{collections::BTreeSet, fmt::Write};

use super::{PAGES, operations::OPERATIONS, outcome::Outcome};

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Encoding,
    Codec,
    Nulls,
}

/// A file, and where each operation over it ran.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) part: Part,
    pub(crate) type_name: &'static str,
    pub(crate) layout_name: String,
    pub(crate) outcomes: Vec<Outcome>,
}

const HEAD: &str = "\
# Coverage

What a drive does by itself, for each type that Parquet stores and each operation of SQL, in each encoding and codec and with NULLs of each share; and where it does not, why.

No cell is written by hand: `engine/tests/it/coverage` measures all of them, and fails when this file says something else.
For each cell it writes a file and runs the query twice: without pushdown, and with everything forced to the emulated drive.
Both must return the rows that the test computes itself from the values it wrote.
The cell is where the forced query then ran, by the counters of its profile.

| cell | means |
|---|---|
| drive | the drive did all of it, for every row group |
| scan: REASON | the drive read and filtered every row group; the host did the operation |
| cpu: REASON | the host did all of it |
| back: REASON | the drive was given the row groups and gave some back; the host did those |
| unread | the schema or the statistics of the footer say that no row passes, so nothing was read |
| error | SQL has no such operation for the type; the last table has the text |
";

/// The reasons of cells, and of what users see in EXPLAIN.
const REASONS: [(&str, &str); 8] = [
    ("codec", "the drive does not decompress the codec"),
    ("encoding", "the drive does not decode the encoding"),
    ("expression", "a part of the query has no counterpart in a command"),
    (
        "float_order",
        "the sum would be added up in another order, and could differ in its last digit",
    ),
    ("function", "the aggregate has no counterpart in a command"),
    (
        "group_cardinality",
        "the drive numbers groups by a dictionary, or by a range of values that the footer \
         promises; there is no dictionary for all pages, and the range is too wide",
    ),
    ("nested", "the column is nested"),
    ("type", "the drive does not read the type, or has none for what the operation returns"),
];

const QUERIES: &str = "
A file has 400 rows in two row groups, with several pages a column: a key `k` from 0, and `v`.
`v` holds twelve values that lie close together; `VALUE` is the fifth of them, and `LIST` are five.
Wherever the table does not say otherwise, a column has a dictionary (booleans are PLAIN), data pages of version 1, Snappy, and NULL in half of its rows.
Each of the three is varied alone, in all of its values, for every type and operation.
That two of them at once change no answer is tested elsewhere: see `slt/encoding/matrix_*` and the files of other writers in `sqllogictest/README.md`.

";

const PARTS: [(Part, &str, &str); 3] = [
    (
        Part::Encoding,
        "encoding",
        "\
## Encodings

An encoding stands for data pages of version 1 and 2, or says which.
The library that writes the files makes dictionaries of fixed bytes in pages of version 2 only.
`RLE_DICTIONARY then PLAIN` is a dictionary that grew too large in mid-chunk.
",
    ),
    (Part::Codec, "codec", "## Codecs\n"),
    (
        Part::Nulls,
        "NULL",
        "\
## Shares of NULL

`required` is a column that cannot have NULL; of the others `none`, one in twenty, half or all values are NULL.
",
    ),
];

const ERRORS: &str = "
## Errors

Both runs refuse these before anything is read.

| operation | types | error, for the first of them |
|---|---|---|
";

/// The whole text.
pub(crate) fn document(measured: &[Measured]) -> String {
    let mut text = HEAD.to_owned();
    write_reasons(&mut text, measured);
    text.push_str(QUERIES);
    text.push_str("| operation | query |\n|---|---|\n");
    for operation in OPERATIONS {
        writeln!(text, "| {} | `{}` |", operation.name, operation.sql).unwrap();
    }
    for (part, axis, head) in PARTS {
        let names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        writeln!(text, "\n{head}\n| type | {axis} | {} |", names.join(" | ")).unwrap();
        writeln!(text, "|---|---|{}", "---|".repeat(names.len())).unwrap();
        write_part(&mut text, measured.iter().filter(|it| it.part == part).collect());
    }
    text.push_str(ERRORS);
    write_errors(&mut text, measured);
    text
}

/// The reasons that cells have.
fn write_reasons(text: &mut String, measured: &[Measured]) {
    let outcomes = measured.iter().flat_map(|it| &it.outcomes);
    let used: BTreeSet<&str> = outcomes.filter_map(Outcome::reason).collect();
    text.push_str("\n| reason | means |\n|---|---|\n");
    for reason in used {
        let (_, meaning) = REASONS.iter().find(|(word, _)| *word == reason).unwrap();
        writeln!(text, "| {reason} | {meaning} |").unwrap();
    }
}

/// The rows of one table; types with the same rows share them.
fn write_part(text: &mut String, mut rest: Vec<&Measured>) {
    let mut blocks: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    while let Some(first) = rest.first() {
        let name = first.type_name;
        let (of_type, others) = rest.into_iter().partition(|it| it.type_name == name);
        rest = others;
        let rows = rows_of_type(of_type);
        match blocks.iter_mut().find(|(_, other)| *other == rows) {
            Some((names, _)) => names.push(name),
            None => blocks.push((vec![name], rows)),
        }
    }
    for (names, rows) in blocks {
        for row in rows {
            writeln!(text, "| {} {row}", names.join("; ")).unwrap();
        }
    }
}

/// The rows of one type, without its name; layouts with the same cells share one.
fn rows_of_type(mut rest: Vec<&Measured>) -> Vec<String> {
    let count = rest.len();
    let mut rows = Vec::new();
    while let Some(first) = rest.first() {
        let outcomes = first.outcomes.clone();
        let (same, others): (Vec<_>, _) = rest.into_iter().partition(|it| it.outcomes == outcomes);
        rest = others;
        let layouts = match same.len() == count {
            true => "all".to_owned(),
            false => layout_names(&same),
        };
        let cells: Vec<String> = outcomes.iter().map(Outcome::text).collect();
        rows.push(format!("| {layouts} | {} |", cells.join(" | ")));
    }
    rows
}

/// The names of layouts; the version of data pages is said where only one has these cells.
fn layout_names(measured: &[&Measured]) -> String {
    let names: Vec<&str> = measured.iter().map(|it| it.layout_name.as_str()).collect();
    let mut shown = Vec::new();
    for name in &names {
        let short = PAGES.iter().find_map(|(_, suffix)| name.strip_suffix(suffix));
        let has_both = short.is_some_and(|short| {
            PAGES.iter().all(|(_, suffix)| names.contains(&format!("{short}{suffix}").as_str()))
        });
        let name = short.filter(|_| has_both).unwrap_or(name);
        if shown.last() != Some(&name) {
            shown.push(name);
        }
    }
    shown.join("; ")
}

/// The types for which an operation does not exist, and what the first of them is told.
fn write_errors(text: &mut String, measured: &[Measured]) {
    for (index, operation) in OPERATIONS.iter().enumerate() {
        let mut types: Vec<&str> = Vec::new();
        let mut shown = None;
        for it in measured {
            let Outcome::Error(error) = &it.outcomes[index] else { continue };
            shown.get_or_insert(error);
            if !types.contains(&it.type_name) {
                types.push(it.type_name);
            }
        }
        if let Some(error) = shown {
            writeln!(text, "| {} | {} | {error} |", operation.name, types.join("; ")).unwrap();
        }
    }
}

/// The first line in which two texts differ.
pub(crate) fn difference(committed: &str, document: &str) -> String {
    let (mut committed, mut document) = (committed.lines(), document.lines());
    loop {
        match (committed.next(), document.next()) {
            (None, None) => return "only line ends differ".to_owned(),
            (a, b) if a == b => {}
            (a, b) => {
                let [a, b] = [a, b].map(|line| line.unwrap_or("(the end)"));
                return format!("committed: {a}\nmeasured:  {b}");
            }
        }
    }
}
