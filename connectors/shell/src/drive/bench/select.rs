// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive bench select`: it measures a SELECT on a server behind a narrow link,
//! pushed to the server and on the host, and prints and draws the response times.

use std::{env, path::PathBuf};

use clap::{Args, ValueEnum, ValueHint, value_parser};
use nearscan_kernels::plot::{
    chart::{Axis, Chart, Line, RGBColor, Scale, SeriesLabelPosition, Stroke},
    save_charts,
};
use nearscan_remote::LinkLimit;
use nearscan_storage::select::{self, Codec, LinkRate, Plan, Report, Row};
use tokio::runtime::Handle;

use super::{failed, storage};
use crate::{
    engine_args::ProgressWhen,
    failure::{Failure, Result, print},
};

const BLUE: RGBColor = RGBColor(31, 119, 180);
const RED: RGBColor = RGBColor(214, 39, 40);
const GREY: RGBColor = RGBColor(120, 120, 120);

/// The compression of the table's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compression {
    /// None
    None,
    /// Snappy
    Snappy,
}

/// Options of the benchmark of a SELECT.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectArgs {
    /// Rows of the tables
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = Plan::ROWS,
        value_parser = value_parser!(u64).range(1..=1_000_000_000)
    )]
    rows: Vec<u64>,

    /// Shares of the rows that the SELECT returns
    #[arg(
        long,
        value_name = "S",
        value_delimiter = ',',
        default_values_t = Plan::SELECTIVITIES,
        value_parser = share
    )]
    selectivity: Vec<f64>,

    /// Rates of the link, such as 3Gbit or 375MB a second; `media/2` is a half of the rate at which
    /// the table is read past the page cache
    #[arg(
        long,
        value_name = "RATE",
        value_delimiter = ',',
        default_values = ["3Gbit", "media/2"],
        value_parser = link_rate
    )]
    link_rate: Vec<LinkRate>,

    /// Compression of the table's pages
    #[arg(long, value_enum, default_value = "none")]
    compression: Compression,

    /// Pairs of turns, one of each way
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = value_parser!(u32).range(1..=1000)
    )]
    rounds: u32,

    /// Folder in which the tables are made, and removed [default: that of temporary files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,

    /// Also draw the response times, as SVG and PNG
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plot: Option<PathBuf>,

    /// Also write the figures to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a share is more than 0, and at most 1".to_owned()),
    }
}

fn link_rate(text: &str) -> std::result::Result<LinkRate, String> {
    match text {
        "media/2" => Ok(LinkRate::HalfOfMedia),
        rate => LinkLimit::parse_rate(rate).map(LinkRate::Fixed).map_err(|error| error.to_string()),
    }
}

impl SelectArgs {
    fn plan(&self) -> Result<Plan> {
        Ok(Plan {
            rows: self.rows.clone(),
            selectivities: self.selectivity.clone(),
            links: self.link_rate.clone(),
            codec: match self.compression {
                Compression::None => Codec::None,
                Compression::Snappy => Codec::Snappy,
            },
            rounds: self.rounds,
            server: storage::server()?,
            folder: self.folder.clone().unwrap_or_else(env::temp_dir),
        })
    }
}

/// Measures, and prints the response times.
pub(super) async fn run(
    arguments: &SelectArgs,
    when: ProgressWhen,
    queries: &Handle,
) -> Result<()> {
    let plan = arguments.plan()?;
    let measured = storage::measure("pairs", when, queries, move |watch| select::run(&plan, watch));
    let report = measured.await?;
    print(report.to_text().trim_end())?;
    storage::save_json(arguments.json.as_deref(), &report.to_json())?;
    if let Some(folder) = &arguments.plot {
        save_charts(&charts(&report), folder).map_err(|error| failed(&error))?;
    }
    if report.holds() { Ok(()) } else { Err(Failure::Reported) }
}

/// One chart for each table and link.
fn charts(report: &Report) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    let is_same = |a: &Row, b: &Row| (a.table_rows, a.link) == (b.table_rows, b.link);
    for (number, rows) in (1..).zip(report.rows.chunk_by(is_same)) {
        charts.extend(chart(number, rows));
    }
    charts
}

#[expect(clippy::cast_precision_loss, reason = "a title")]
fn chart(number: u32, rows: &[Row]) -> Option<Chart> {
    let first = rows.first()?;
    let points = |of: fn(&Row) -> f64| -> Vec<(f64, f64)> {
        rows.iter().map(|row| (row.selectivity, of(row) * 1e3)).collect()
    };
    let lines = [
        ("on the host", BLUE, Stroke::Solid, points(Row::host_s)),
        ("pushed to the server", RED, Stroke::Solid, points(Row::pushed_s)),
        ("bound of the pushed one", GREY, Stroke::Dashed, points(Row::bound_s)),
    ];
    let values = lines.iter().flat_map(|(_, _, _, points)| points.iter().map(|(_, ms)| *ms));
    let values: Vec<f64> = values.filter(|ms| *ms > 0.0).collect();
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let (low, high) = (10_f64.powf(least.log10().floor()), 10_f64.powf(most.log10().ceil()));
    let shares: Vec<f64> = rows.iter().map(|row| row.selectivity).collect();
    let least_share = shares.iter().copied().min_by(f64::total_cmp)?.max(1e-6);
    Some(Chart {
        name: format!("select-{number}"),
        title: format!(
            "SELECT over {} million rows, link of {} MB/s: response time, measured",
            first.table_rows as f64 / 1e6,
            first.link.get() / 1_000_000
        ),
        x: Axis {
            title: "share of the rows in the answer",
            scale: Scale::Log,
            ends: (
                least_share,
                shares.iter().copied().max_by(f64::total_cmp)?.max(2.0 * least_share),
            ),
            ticks: shares,
            describe: |share| share.to_string(),
        },
        y: Axis {
            title: "response time in ms",
            scale: Scale::Log,
            ends: (low, high.max(10.0 * low)),
            ticks: std::iter::successors(Some(low), |tick| Some(tick * 10.0))
                .take_while(|tick| *tick <= high)
                .collect(),
            describe: |ms| ms.to_string(),
        },
        bars: Vec::new(),
        lines: lines
            .into_iter()
            .map(|(label, colour, stroke, points)| Line {
                label: label.to_owned(),
                colour,
                stroke,
                points,
            })
            .collect(),
        study: Vec::new(),
        legend: SeriesLabelPosition::UpperLeft,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use rstest::rstest;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        select: SelectArgs,
    }

    #[test]
    fn plan_is_the_studys_but_for_what_was_asked() {
        let plan = |arguments: &[&str]| {
            Line::parse_from([&["select"], arguments].concat()).select.plan().unwrap()
        };
        let default = plan(&[]);
        assert_eq!(default.rows, Plan::ROWS);
        assert_eq!(default.links, [LinkRate::STUDY, LinkRate::HalfOfMedia]);
        assert_eq!((default.codec, default.rounds), (Codec::None, 7));
        let asked = plan(&["--rows", "5", "--selectivity", "0.25,1", "--link-rate", "1MB"]);
        assert_eq!((asked.rows, asked.selectivities), (vec![5], vec![0.25, 1.0]));
        assert_eq!(asked.links, [LinkRate::Fixed(1_000_000.try_into().unwrap())]);
    }

    #[rstest]
    #[case("1.5")]
    #[case("0")]
    #[case("NaN")]
    fn share_beyond_the_table_is_refused(#[case] text: &str) {
        assert_eq!(share(text), Err("a share is more than 0, and at most 1".to_owned()));
    }
}
