// SPDX-License-Identifier: Apache-2.0
//! Describes one chart as data, and draws it.
//!
//! An axis is our own: its ticks are where the study's values are, and are written as it does.

use std::ops::Range;

use plotters::{
    coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter},
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

pub use plotters::prelude::{RGBColor, SeriesLabelPosition};

use super::SIZE;

const FONT: &str = "sans-serif";
const TITLE_SIZE: u32 = 19;
const LABEL_SIZE: u32 = 15;
const GRID: RGBColor = RGBColor(225, 225, 225);
const INK: RGBColor = RGBColor(40, 40, 40);
const MARKER_SIZE: i32 = 6;

/// Anything that the drawing library says.
pub(super) type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

type Context<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// The mapping of values to positions on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal ratios are.
    Log,
}

/// An axis.
#[derive(Clone)]
pub struct Axis {
    /// The quantity that it shows, with its unit.
    pub title: &'static str,
    /// Where its values are.
    pub scale: Scale,
    /// Its first and last value.
    pub ends: (f64, f64),
    /// The values that are labelled.
    pub ticks: Vec<f64>,
    /// Formats the label of a value.
    pub describe: fn(f64) -> String,
}

/// Whether a line is drawn through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// It is.
    Solid,
    /// It has gaps.
    Dashed,
}

/// Figures of ours.
pub struct Line {
    /// The name in the legend.
    pub label: String,
    /// Its colour.
    pub colour: RGBColor,
    /// Whether it is drawn through.
    pub stroke: Stroke,
    /// The points that it joins.
    pub points: Vec<(f64, f64)>,
}

/// Figures of the study, which the legend names once for all colours.
pub struct Points {
    /// Their colour.
    pub colour: RGBColor,
    /// Their places.
    pub points: Vec<(f64, f64)>,
}

/// Bars from the lower end of the axis, with their values above them.
pub struct Bars {
    /// The name in the legend.
    pub label: String,
    /// Their colour.
    pub colour: RGBColor,
    /// Width, in values of the axis.
    pub width: f64,
    /// The middle of a bar, and its height.
    pub bars: Vec<(f64, f64)>,
}

/// A chart.
pub struct Chart {
    /// Name of the file.
    pub name: String,
    /// The title, which says whether figures are modelled or measured.
    pub title: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// Bars, behind everything else.
    pub bars: Vec<Bars>,
    /// Lines.
    pub lines: Vec<Line>,
    /// Points of the study; may be none.
    pub study: Vec<Points>,
    /// The position of the legend, where there is room for it.
    pub legend: SeriesLabelPosition,
}

impl Axis {
    /// Whether a value is between its ends.
    #[cfg(test)]
    pub(super) fn has(&self, value: f64) -> bool {
        (self.ends.0..=self.ends.1).contains(&value)
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.log2(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let (first, last) = self.ends;
        let of_whole =
            (self.scaled(*value) - self.scaled(first)) / (self.scaled(last) - self.scaled(first));
        #[expect(clippy::cast_possible_truncation, reason = "a pixel of a figure of some hundred")]
        let pixels = (f64::from(end - start) * of_whole).round() as i32;
        start + pixels
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        (self.describe)(*value)
    }
}

impl Chart {
    /// The chart as SVG.
    pub(super) fn draw(&self) -> Drawn<String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut context = ChartBuilder::on(&area)
            .caption(&self.title, text(TITLE_SIZE))
            .margin(14)
            .margin_right(24)
            .x_label_area_size(52)
            .y_label_area_size(70)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        context
            .configure_mesh()
            .x_desc(self.x.title)
            .y_desc(self.y.title)
            .label_style(text(LABEL_SIZE))
            .axis_desc_style(text(LABEL_SIZE))
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for bars in &self.bars {
            draw_bars(&mut context, bars, self.y.ends.0)?;
        }
        for line in &self.lines {
            draw_line(&mut context, line)?;
        }
        for points in &self.study {
            draw_points(&mut context, points)?;
        }
        if !self.study.is_empty() {
            name_study(&mut context)?;
        }
        context
            .configure_series_labels()
            .position(self.legend.clone())
            .label_font(text(LABEL_SIZE))
            .background_style(WHITE)
            .border_style(GRID)
            .margin(10)
            .draw()?;
        area.present()?;
        drop(context);
        drop(area);
        Ok(svg)
    }
}

fn draw_bars(context: &mut Context<'_>, bars: &Bars, bottom: f64) -> Drawn {
    let style = bars.colour.filled();
    let bar = |(x, y): &(f64, f64)| {
        let half = bars.width / 2.0;
        Rectangle::new([(x - half, bottom), (x + half, *y)], style)
    };
    context
        .draw_series(bars.bars.iter().map(bar))?
        .label(&bars.label)
        .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 20, y + 6)], style));
    let above = text(LABEL_SIZE).pos(Pos::new(HPos::Center, VPos::Bottom));
    let value = |(x, y): &(f64, f64)| {
        EmptyElement::at((*x, *y)) + Text::new(format!("{y:.1}"), (0, -3), above.clone())
    };
    context.draw_series(bars.bars.iter().map(value))?;
    Ok(())
}

fn draw_line(context: &mut Context<'_>, line: &Line) -> Drawn {
    let points = line.points.clone();
    let style = line.colour.stroke_width(3);
    let series = match line.stroke {
        Stroke::Solid => context.draw_series(LineSeries::new(points, style))?,
        Stroke::Dashed => context.draw_series(DashedLineSeries::new(points, 8, 6, style))?,
    };
    let [first, last] = match line.stroke {
        Stroke::Solid => [(0, 12), (12, 24)],
        Stroke::Dashed => [(0, 9), (15, 24)],
    };
    series.label(&line.label).legend(move |(x, y)| {
        let part = |(from, to)| PathElement::new(vec![(from, 0), (to, 0)], style);
        EmptyElement::at((x, y)) + part(first) + part(last)
    });
    Ok(())
}

fn draw_points(context: &mut Context<'_>, points: &Points) -> Drawn {
    let disc = |style: ShapeStyle| move |at: &(f64, f64)| Circle::new(*at, MARKER_SIZE, style);
    context.draw_series(points.points.iter().map(disc(points.colour.filled())))?;
    context.draw_series(points.points.iter().map(disc(INK.stroke_width(2))))?;
    Ok(())
}

/// Says in the legend what the markers are.
fn name_study(context: &mut Context<'_>) -> Drawn {
    let nothing = std::iter::empty::<Circle<(f64, f64), i32>>();
    let sample = |(x, y)| Circle::new((x + 12, y), MARKER_SIZE, INK.stroke_width(2));
    context.draw_series(nothing)?.label("study").legend(sample);
    Ok(())
}

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}
