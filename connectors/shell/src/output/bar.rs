// SPDX-License-Identifier: Apache-2.0
//! Draws a result of labels and numbers as horizontal bars.
//!
//! ```text
//! label         │             value
//! north         │██████████▌     21
//! south    █████│               -10
//! ```
//!
//! All bars start at a common zero and have one scale, in eighths of a sign. It draws the first
//! rows only and counts the others: a chart is for a few groups.

mod plan;

use std::io::Write;

use nearscan::arrow::{
    array::{AsArray, RecordBatch},
    compute::cast,
    datatypes::{DataType, Float64Type, Schema},
};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Cell},
};
use crate::style::{Colour, Style};

use plan::Plan;

/// Rows that are drawn.
const ROWS_MAX: usize = 60;

/// A chart of the first rows of a result.
pub(super) struct Bars {
    sink: Sink,
    colour: Colour,
    width_max: usize,
    names: Vec<String>,
    bars: Vec<Bar>,
    row_count: usize,
}

/// One row.
struct Bar {
    label: Cell,
    value: Cell,
    /// None for NULL, and for what is no number.
    number: Option<f64>,
}

/// Whether a result can be drawn: two columns, the second of numbers.
pub(super) fn is_drawable(schema: &Schema) -> bool {
    let fields = schema.fields();
    fields.len() == 2 && fields[1].data_type().is_numeric()
}

impl Bars {
    /// The schema must be one that [`is_drawable`].
    pub(super) fn new(sink: Sink, schema: &Schema, colour: Colour, width_max: usize) -> Self {
        let names = cells::names(schema).iter().map(|name| cells::one_line(name)).collect();
        Self { sink, colour, width_max, names, bars: Vec::new(), row_count: 0 }
    }

    fn footer(&self) -> String {
        let noun = if self.row_count == 1 { "row" } else { "rows" };
        let mut text = format!("{} {noun}", self.row_count);
        if self.bars.len() < self.row_count {
            text.push_str(&format!(", {} shown", self.bars.len()));
        }
        text
    }

    fn heading(&self, plan: &Plan) -> String {
        let name = |index: usize| self.names.get(index).map_or("", String::as_str);
        plan.line(
            &plan.label(name(0), Some(Style::Name), self.colour),
            None,
            &plan.value(name(1), Some(Style::Name), self.colour),
        )
    }
}

impl ResultWriter for Bars {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.row_count += batch.num_rows();
        let drawn = batch.num_rows().min(ROWS_MAX - self.bars.len());
        let batch = batch.slice(0, drawn);
        let numbers = cast(batch.column(1), &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>().iter();
        for (row, number) in cells::rows(&batch)?.into_iter().zip(numbers) {
            let mut cells = row.into_iter();
            if let (Some(label), Some(value)) = (cells.next(), cells.next()) {
                let label = Cell { text: cells::one_line(&label.text), ..label };
                let number = number.filter(|number| !number.is_nan());
                self.bars.push(Bar { label, value, number });
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let plan = Plan::of(&self.names, &self.bars, self.width_max);
        let mut text = self.heading(&plan);
        for bar in &self.bars {
            let style = |cell: &Cell| cell.is_null.then_some(Style::Dim);
            text.push_str(&plan.line(
                &plan.label(&bar.label.text, style(&bar.label), self.colour),
                bar.number,
                &plan.value(&bar.value.text, style(&bar.value), self.colour),
            ));
        }
        text.push_str(&self.footer());
        text.push('\n');
        self.sink.write_all(text.as_bytes())?;
        Ok(self.sink.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::output::testing::written;
    use nearscan::arrow::{
        array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray},
        datatypes::{Field, SchemaRef},
    };
    use rstest::rstest;

    fn bars(width_max: usize, colour: Colour, batches: &[RecordBatch]) -> String {
        let open = |sink, schema: &SchemaRef| {
            Box::new(Bars::new(sink, schema, colour, width_max)) as Box<dyn ResultWriter>
        };
        String::from_utf8(written(open, batches)).unwrap()
    }

    fn groups(labels: &[Option<&str>], numbers: ArrayRef) -> RecordBatch {
        let labels: ArrayRef = Arc::new(StringArray::from(labels.to_vec()));
        let columns = [("label", labels, true), ("value", numbers, true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn chart(width_max: usize, numbers: &[Option<f64>]) -> String {
        let labels: Vec<Option<&str>> = ["a", "b", "c", "d"].map(Some).to_vec();
        let numbers = Arc::new(Float64Array::from(numbers.to_vec()));
        bars(width_max, Colour::Off, &[groups(&labels[..numbers.len()], numbers)])
    }

    #[test]
    fn bars_are_scaled_to_the_width_in_eighths() {
        let expected = "\
label │           value
a     │██████████ 100.0
b     │█████       50.0
c     │█▎          12.5
d     │             0.0
4 rows
";
        let numbers = [Some(100.0), Some(50.0), Some(12.5), Some(0.0)];
        assert_eq!(chart(23, &numbers), expected);
    }

    #[test]
    fn negative_bars_start_at_the_same_zero() {
        let expected = "\
label      │      value
a          │█████  50.0
b     █████│      -50.0
c        ▐█│      -15.0
d          │██▌    25.0
4 rows
";
        let numbers = [Some(50.0), Some(-50.0), Some(-15.0), Some(25.0)];
        assert_eq!(chart(23, &numbers), expected);
    }

    #[test]
    fn both_sides_have_one_scale_however_uneven_they_are() {
        let expected = "\
label    │        value
a        │███████   3.0
b     ▐██│         -1.0
2 rows
";
        assert_eq!(chart(23, &[Some(3.0), Some(-1.0)]), expected);
        let expected = "\
label  │           value
a      │█████████ 1000.0
b      │            -1.0
2 rows
";
        assert_eq!(chart(24, &[Some(1000.0), Some(-1.0)]), expected);
    }

    #[test]
    fn bars_to_the_left_end_in_the_nearest_sign_that_there_is() {
        let numbers: Vec<f64> = [32].into_iter().chain(1..=8).map(|it| -f64::from(it)).collect();
        let labels = vec![Some("x"); numbers.len()];
        let text = bars(17, Colour::Off, &[groups(&labels, Arc::new(Float64Array::from(numbers)))]);
        let ends = "\
x        ▕│  -1.0
x        ▕│  -2.0
x        ▐│  -3.0
x        ▐│  -4.0
x        ▐│  -5.0
x        █│  -6.0
x        █│  -7.0
x        █│  -8.0
";
        assert!(text.contains(ends), "{text}");
    }

    #[test]
    fn only_negative_bars_have_the_whole_width() {
        let expected = "\
label           │ value
a     ██████████│  -2.0
b          █████│  -1.0
2 rows
";
        assert_eq!(chart(23, &[Some(-2.0), Some(-1.0)]), expected);
    }

    #[test]
    fn null_and_no_number_have_no_bar_and_infinity_the_longest() {
        let expected = "\
label │           value
a     │            NULL
b     │             NaN
c     │█████        0.5
d     │██████████   1.0
4 rows
";
        assert_eq!(chart(23, &[None, Some(f64::NAN), Some(0.5), Some(1.0)]), expected);
        let text = chart(23, &[Some(1.0), Some(f64::INFINITY), Some(f64::NEG_INFINITY)]);
        let expected = "\
label      │      value
a          │█████   1.0
b          │█████   inf
c     █████│       -inf
3 rows
";
        assert_eq!(text, expected);
    }

    #[rstest]
    #[case::nothing_but_zero(&[Some(0.0), Some(0.0)])]
    #[case::differences_overflow(&[Some(f64::MAX), Some(f64::MIN)])]
    #[case::nothing_but_null(&[None])]
    #[case::tiny(&[Some(5e-324), Some(-5e-324)])]
    #[case::no_rows(&[])]
    fn every_line_has_one_width(#[case] numbers: &[Option<f64>]) {
        for width in [20, 80] {
            let text = chart(width, numbers);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), numbers.len() + 2);
            let drawn = &lines[..lines.len() - 1];
            assert!(drawn.iter().all(|line| cells::width(line) == width), "{text}");
        }
    }

    #[test]
    fn decimals_are_drawn_and_long_labels_are_cut() {
        let numbers = Decimal128Array::from(vec![150, 300]).with_precision_and_scale(5, 2).unwrap();
        let labels = [Some("a label\non two lines"), Some("b")];
        let text = bars(30, Colour::Off, &[groups(&labels, Arc::new(numbers))]);
        let expected = "\
label      │             value
a label o… │██████        1.50
b          │████████████  3.00
2 rows
";
        assert_eq!(text, expected);
    }

    #[test]
    fn null_is_dimmed_and_the_text_null_is_not() {
        let numbers = Arc::new(Int64Array::from(vec![None, Some(1)]));
        let text = bars(30, Colour::On, &[groups(&[Some("NULL"), None], numbers)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("\u{1b}[1mlabel\u{1b}[0m │"), "{text}");
        assert!(lines[1].starts_with("NULL  │"), "{text}");
        assert!(lines[1].ends_with("  \u{1b}[2mNULL\u{1b}[0m"), "{text}");
        assert!(lines[2].starts_with("\u{1b}[2mNULL\u{1b}[0m  │"), "{text}");
    }

    #[test]
    fn long_result_is_drawn_in_part_and_says_so() {
        let part = |count: i64| {
            let numbers = Int64Array::from_iter_values(1..=count);
            groups(&vec![Some("x"); numbers.len()], Arc::new(numbers))
        };
        let text = bars(40, Colour::Off, &[part(59), part(40), part(1)]);
        assert_eq!(text.lines().count(), 1 + 60 + 1);
        assert!(text.ends_with("\n100 rows, 60 shown\n"), "{text}");
    }

    #[rstest]
    #[case::label_and_number(&[DataType::Utf8, DataType::Int64], true)]
    #[case::number_and_decimal(&[DataType::Int64, DataType::Decimal128(5, 2)], true)]
    #[case::two_labels(&[DataType::Int64, DataType::Utf8], false)]
    #[case::one_column(&[DataType::Int64], false)]
    #[case::three_columns(&[DataType::Utf8, DataType::Int64, DataType::Int64], false)]
    fn label_and_number_can_be_drawn(#[case] kinds: &[DataType], #[case] expected: bool) {
        let field = |(index, kind): (usize, &DataType)| {
            Field::new(format!("column_{index}"), kind.clone(), true)
        };
        let schema = Schema::new(kinds.iter().enumerate().map(field).collect::<Vec<_>>());
        assert_eq!(is_drawable(&schema), expected);
    }
}
