// SPDX-License-Identifier: Apache-2.0
//! Formats values as text for people.

use nearscan::arrow::{
    array::RecordBatch,
    datatypes::Schema,
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};
use unicode_width::UnicodeWidthStr;

/// The text of NULL.
const NULL: &str = "NULL";

/// Cells of one row.
pub(super) type Row = Vec<String>;

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
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((0..batch.num_rows())
        .map(|row| columns.iter().map(|column| clean(&column.value(row).to_string())).collect())
        .collect())
}

/// Names of the columns.
pub(super) fn names(schema: &Schema) -> Row {
    schema.fields().iter().map(|field| clean(field.name())).collect()
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
    use rstest::rstest;

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
