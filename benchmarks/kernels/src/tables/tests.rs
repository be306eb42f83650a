// SPDX-License-Identifier: Apache-2.0
//! Tests the shapes of the tables, and which cells are empty.

use std::ops::ControlFlow;

use nearscan_emulator::timing::Parameters;

use super::*;
use crate::{builds, data::Data};

fn tables() -> Vec<Table> {
    let data = Data::new(1 << 16, 5);
    let golden = data.golden();
    let parameters = Parameters::default();
    let go_on = &mut |_: &str| ControlFlow::Continue(());
    let runs = Runs::new((&data, &golden), &parameters, &builds::all(), go_on).unwrap();
    let host = Host::measure(&data, &golden).unwrap();
    let fast = Fast::new((&data, &golden), &parameters, go_on).unwrap();
    let judgement = Judgement::new(&runs, &fast);
    all(&runs, &fast, Some(&host)).into_iter().chain(judged(&judgement)).collect()
}

/// Cells of a column, by its name.
fn column<'a>(table: &'a Table, name: &str) -> Vec<&'a Cell> {
    let index = table.columns.iter().position(|column| column.name == name).unwrap();
    table.rows.iter().map(|row| &row[index]).collect()
}

#[test]
fn every_figure_of_ours_is_there() {
    let tables = tables();
    let shapes: Vec<(&str, usize, usize)> =
        tables.iter().map(|table| (table.name, table.rows.len(), table.columns.len())).collect();
    let expected = [
        ("buffer_sweep", 11, 6),
        ("buffer", 4, 4),
        ("pipelining", 4, 4),
        ("units", 17, 5),
        ("units_each", 15, 6),
        ("all", 4, 5),
        ("study_host", 6, 8),
        ("fast", 5, 9),
        ("fast_units", 15, 5),
        ("measured_host", 4, 6),
        ("measured_fast", 5, 6),
        ("calibrated", 7, 4),
        ("compared", 5, 5),
        ("shapes", 9, 3),
        ("targets", 7, 3),
    ];
    assert_eq!(shapes, expected);
    for table in &tables {
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}", table.name);
        }
        for name in table.columns.iter().map(|column| &column.name) {
            let is_ours = name.contains("modelled") || name.contains("measured");
            if is_ours || table.name.starts_with("fast") {
                let is_there = |cell: &&Cell| !matches!(cell, Cell::Nothing);
                assert!(column(table, name).iter().all(is_there), "{}, {name}", table.name);
            }
        }
    }
}

#[test]
fn build_that_does_not_fit_is_shown_as_refused() {
    let tables = tables();
    let fifteen = column(&tables[0], "modelled_15_units");
    let refused: Vec<usize> =
        (0..fifteen.len()).filter(|at| *fifteen[*at] == Cell::Refused).collect();
    // 512 KiB and 1 MiB.
    assert_eq!(refused, [9, 10]);
    assert!(column(&tables[0], "modelled").iter().all(|cell| **cell != Cell::Refused));
}

#[test]
fn measured_and_modelled_have_separate_columns() {
    for table in tables() {
        for Column { name, heading } in table.columns {
            let both = heading.contains("measured") && heading.contains("modelled");
            assert!(!both || heading == "modelled by measured", "{name}");
        }
    }
}
