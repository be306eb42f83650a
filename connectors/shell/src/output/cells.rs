// SPDX-License-Identifier: Apache-2.0
//! Formats values as text for people.

use nearscan::arrow::{
    array::{Array, RecordBatch},
    buffer::NullBuffer,
    datatypes::{Field, Schema},
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};
use unicode_width::UnicodeWidthStr;

use super::types;

/// The text of NULL.
const NULL: &str = "NULL";

/// Cells of one row.
pub(super) type Row = Vec<Cell>;

/// One value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// Distinguishes NULL from a text that reads the same.
    pub(super) is_null: bool,
}

/// Side on which a column is flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Writes every cell of a batch; a value that cannot be written says so in its place.
pub(super) fn rows(batch: &RecordBatch) -> Result<Vec<Row>, ArrowError> {
    let options = FormatOptions::default().with_null(NULL).with_display_error(true);
    let columns = batch
        .columns()
        .iter()
        .map(|column| {
            // The nulls of a dictionary may be among its values: only the logical ones say.
            let nulls = column.logical_nulls();
            Ok((ArrayFormatter::try_new(column.as_ref(), &options)?, nulls))
        })
        .collect::<Result<Vec<_>, ArrowError>>()?;
    let cell = |row| {
        move |(values, nulls): &(ArrayFormatter<'_>, Option<NullBuffer>)| {
            let text = clean(&values.value(row).to_string());
            // A union whose value is NULL is written with the name of its field.
            let is_null = text == NULL && nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            Cell { text, is_null }
        }
    };
    Ok((0..batch.num_rows()).map(|row| columns.iter().map(cell(row)).collect()).collect())
}

/// Names of the columns.
pub(super) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| clean(field.name())).collect()
}

/// Types of the columns, in short.
pub(super) fn types(schema: &Schema) -> Vec<String> {
    let of = |field: &Field| one_line(&clean(&types::short_name(field.data_type())));
    schema.fields().iter().map(|field| of(field)).collect()
}

/// Numbers are flush right, so that their digits line up.
pub(super) fn sides(schema: &Schema) -> Vec<Side> {
    let side = |is_number| if is_number { Side::Right } else { Side::Left };
    schema.fields().iter().map(|field| side(field.data_type().is_numeric())).collect()
}

/// Width of the widest line on a terminal, in columns.
pub(super) fn width(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Cuts a line to a width, with an ellipsis at its end if anything was cut.
pub(super) fn cut(line: &str, width_max: usize) -> String {
    if line.width() <= width_max {
        return line.to_owned();
    }
    let mut text = String::new();
    for sign in line.chars() {
        text.push(sign);
        if text.width() + 1 > width_max {
            text.pop();
            break;
        }
    }
    text.push('…');
    text
}

/// Returns the text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Makes control characters visible: data must not move the cursor or colour the terminal.
fn clean(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' => clean.push('\n'),
            '\t' => clean.push_str("    "),
            sign if sign.is_control() => clean.extend(sign.escape_default()),
            sign => clean.push(sign),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use nearscan::arrow::{
        array::{
            ArrayRef, DictionaryArray, Int8Array, NullArray, StringArray, StringDictionaryBuilder,
        },
        datatypes::Int8Type,
    };
    use rstest::rstest;

    fn dictionary_with_null_key() -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        builder.append_value("NULL");
        builder.append_null();
        Arc::new(builder.finish())
    }

    fn dictionary_with_null_value() -> ArrayRef {
        let values = StringArray::from(vec![Some("NULL"), None]);
        let keys = Int8Array::from(vec![0, 1]);
        Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(values)))
    }

    #[rstest]
    #[case::text(Arc::new(StringArray::from(vec![Some("NULL"), None])), [false, true])]
    #[case::null_key(dictionary_with_null_key(), [false, true])]
    #[case::null_value(dictionary_with_null_value(), [false, true])]
    #[case::type_null(Arc::new(NullArray::new(2)), [true, true])]
    fn text_null_is_distinguished_from_no_value(
        #[case] column: ArrayRef,
        #[case] expected: [bool; 2],
    ) {
        let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
        let cells = rows(&batch).unwrap().concat();
        assert_eq!(cells.iter().map(|cell| cell.is_null).collect::<Vec<_>>(), expected);
        assert!(cells.iter().all(|cell| cell.text == "NULL"), "{cells:?}");
    }

    #[rstest]
    #[case("a\tb", "a    b")]
    #[case("a\nb", "a\nb")]
    #[case("\u{1b}[31mred", "\\u{1b}[31mred")]
    #[case("a\r\n", "a\\r\n")]
    fn shows_control_characters(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(clean(text), expected);
    }

    #[rstest]
    #[case("abc", 3, "abc")]
    #[case("abcd", 3, "ab…")]
    #[case("日本語", 4, "日…")]
    #[case("日本語", 6, "日本語")]
    fn cuts_by_what_a_terminal_shows(#[case] text: &str, #[case] width: usize, #[case] out: &str) {
        assert_eq!(cut(text, width), out);
    }
}
