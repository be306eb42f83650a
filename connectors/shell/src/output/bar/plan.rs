// SPDX-License-Identifier: Apache-2.0
//! Divides the width of a bar chart among its parts, and draws its lines.

use super::Bar;
use crate::{
    output::cells::{self, Cell},
    style::{Colour, Style},
};

/// Part of the width that labels may take, and that values may take.
const TEXT_SHARE: usize = 3;

/// Fewest signs of the longest bar, on a terminal however narrow.
const BAR_WIDTH_MIN: usize = 4;

/// Parts into which the signs of bars divide a column.
const EIGHTHS: usize = 8;

/// Bars to the right, by the eighths that their last sign fills.
const RIGHT: [&str; EIGHTHS] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Bars to the left, likewise. Unicode has an eighth and a half only.
const LEFT: [&str; EIGHTHS] = ["", "▕", "▕", "▐", "▐", "▐", "█", "█"];

/// The sign of a whole column.
const FULL: &str = "█";

/// The sign of zero.
const ZERO: &str = "│";

/// The widths of a chart's parts.
pub(super) struct Plan {
    label_width: usize,
    value_width: usize,
    left_width: usize,
    right_width: usize,
    /// The largest magnitude: numbers are divided by it first, as their differences may overflow.
    unit: f64,
    /// Signs of a bar of that magnitude.
    unit_width: f64,
}

impl Plan {
    /// Chooses the widths for the names and the rows of a chart.
    pub(super) fn of(names: &[String], bars: &[Bar], width_max: usize) -> Self {
        let text_width = |index: usize, cells: &mut dyn Iterator<Item = &Cell>| {
            let name = names.get(index).map_or(0, |name| cells::width(name));
            let cells = cells.map(|cell| cells::width(&cell.text)).max().unwrap_or(0);
            name.max(cells).min(width_max / TEXT_SHARE)
        };
        let label_width = text_width(0, &mut bars.iter().map(|bar| &bar.label));
        let value_width = text_width(1, &mut bars.iter().map(|bar| &bar.value));
        // A space, the zero and a space are between the texts and the bars.
        let taken = label_width + value_width + 3;
        let bar_width = width_max.saturating_sub(taken).max(BAR_WIDTH_MIN);

        let numbers = || bars.iter().filter_map(|bar| bar.number);
        let finite = numbers().filter(|number| number.is_finite());
        let unit = finite.map(f64::abs).fold(0.0, f64::max);
        let left = numbers().map(|number| -part(number, unit)).fold(0.0, f64::max);
        let right = numbers().map(|number| part(number, unit)).fold(0.0, f64::max);
        let left_width = match (left > 0.0, right > 0.0) {
            (true, true) => whole(float(bar_width) * left / (left + right)).clamp(1, bar_width - 1),
            (true, false) => bar_width,
            (false, _) => 0,
        };
        let right_width = bar_width - left_width;
        let scales = [(left_width, left), (right_width, right)];
        let unit_width = scales
            .iter()
            .filter(|(_, part)| *part > 0.0)
            .map(|(width, part)| float(*width) / part)
            .fold(f64::INFINITY, f64::min);
        Self { label_width, value_width, left_width, right_width, unit, unit_width }
    }

    /// Returns a label as wide as all are.
    pub(super) fn label(&self, text: &str, style: Option<Style>, colour: Colour) -> String {
        let (text, fill) = fitted(text, self.label_width, style, colour);
        format!("{text}{fill}")
    }

    /// Returns a value as wide as all are.
    pub(super) fn value(&self, text: &str, style: Option<Style>, colour: Colour) -> String {
        let (text, fill) = fitted(text, self.value_width, style, colour);
        format!("{fill}{text}")
    }

    /// Draws the line of one row, or of the heading, which has no bar.
    pub(super) fn line(&self, label: &str, number: Option<f64>, value: &str) -> String {
        let part = number.map_or(0.0, |number| part(number, self.unit));
        let (left_full, left_end) = self.bar(-part, self.left_width, &LEFT);
        let (right_full, right_end) = self.bar(part, self.right_width, &RIGHT);
        let fill =
            |width: usize, full: usize, end: &str| " ".repeat(width - full - end.chars().count());
        format!(
            "{label} {}{left_end}{}{ZERO}{}{right_end}{} {value}\n",
            fill(self.left_width, left_full, left_end),
            FULL.repeat(left_full),
            FULL.repeat(right_full),
            fill(self.right_width, right_full, right_end),
        )
    }

    /// Returns the whole signs of a bar and the sign at its end; a bar of the other side has none.
    fn bar<'a>(&self, part: f64, width: usize, ends: &[&'a str; EIGHTHS]) -> (usize, &'a str) {
        if part <= 0.0 {
            return (0, "");
        }
        let eighths = whole(part * self.unit_width * float(EIGHTHS)).min(width * EIGHTHS);
        (eighths / EIGHTHS, ends[eighths % EIGHTHS])
    }
}

/// Returns the part of the largest magnitude; what is infinite is no longer than that.
fn part(number: f64, unit: f64) -> f64 {
    if number.is_infinite() {
        number.signum()
    } else if unit > 0.0 {
        number / unit
    } else {
        0.0
    }
}

/// Returns the text, cut and styled, and what fills it up.
fn fitted(text: &str, width: usize, style: Option<Style>, colour: Colour) -> (String, String) {
    let text = cells::cut(text, width);
    let fill = " ".repeat(width - cells::width(&text).min(width));
    (style.map_or_else(|| text.clone(), |style| colour.paint(style, &text)), fill)
}

#[expect(clippy::cast_precision_loss, reason = "widths of terminals are small")]
fn float(width: usize) -> f64 {
    width as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "widths of terminals are small and not negative, and the cast saturates"
)]
fn whole(width: f64) -> usize {
    width.round() as usize
}
