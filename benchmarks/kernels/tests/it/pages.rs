// SPDX-License-Identifier: Apache-2.0
//! Tests that pages of the project have the figures that the command prints.

use std::{ops::ControlFlow, sync::LazyLock};

use nearscan_kernels::{
    Table,
    report::{DEFAULT_ELEMENTS, DEFAULT_SEED, HostLoops, Options, Report},
    tables,
};

static REPORT: LazyLock<Report> = LazyLock::new(|| {
    let host = HostLoops::Omitted;
    let options = Options { elements: DEFAULT_ELEMENTS, seed: DEFAULT_SEED, host };
    Report::new(options, &mut |_| ControlFlow::Continue(())).unwrap()
});

/// Rows of a table as a page has them.
fn rows(table: &Table) -> Vec<String> {
    let row = |cells: &Vec<nearscan_kernels::Cell>| {
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        format!("| {} |", cells.join(" | "))
    };
    table.rows.iter().map(row).collect()
}

/// Rows of the first table behind a heading of a page, without its head.
fn shown(page: &str, heading: &str) -> Vec<String> {
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, behind) = text.split_once(heading).unwrap();
    let table = behind.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(str::to_owned).collect()
}

fn check(page: &str, heading: &str, table: &Table) {
    let rows = rows(table);
    assert_eq!(shown(page, heading), rows, "{page} has to have\n{}", rows.join("\n"));
}

#[test]
fn timing_model_has_the_figures_of_the_command() {
    let [calibrated, compared, shapes, _] = tables::judged(&REPORT.judgement);
    let page = "docs/timing-model.md";
    check(page, "\n**Set.**", &calibrated);
    check(page, "\n**Compared.**", &compared);
    check(page, "\n**Shapes.**", &shapes);
}

#[test]
fn readme_has_the_figures_of_the_command() {
    let [_, compared, _, _] = tables::judged(&REPORT.judgement);
    check("README.md", "\n### The SmartSSD study\n", &compared);
    check("README.md", "\n**The fast set.**", &tables::fast_set(&REPORT.runs, &REPORT.fast));
}

#[test]
fn everything_holds() {
    assert!(REPORT.holds(), "{}", REPORT.to_text());
}
