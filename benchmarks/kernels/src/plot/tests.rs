// SPDX-License-Identifier: Apache-2.0
//! Tests that every figure is on its chart, and that every chart becomes two files.

use std::ops::ControlFlow;

use nearscan_emulator::timing::Parameters;

use super::*;
use crate::{builds, data::Data};

fn runs() -> (Runs, Fast) {
    let data = Data::new(1 << 18, 5);
    let (golden, parameters) = (data.golden(), Parameters::default());
    let go_on = &mut |_: &str| ControlFlow::Continue(());
    let runs = Runs::new((&data, &golden), &parameters, &builds::all(), go_on).unwrap();
    (runs, Fast::new((&data, &golden), &parameters, go_on).unwrap())
}

#[test]
fn every_figure_is_within_its_axes() {
    let (runs, fast) = runs();
    for chart in charts::all(&runs, &fast) {
        let lines = chart.lines.iter().flat_map(|line| &line.points);
        let points = chart.study.iter().flat_map(|points| &points.points);
        let bars = chart.bars.iter().flat_map(|bars| &bars.bars);
        let all: Vec<&(f64, f64)> = lines.chain(points).chain(bars).collect();
        assert!(all.len() >= 8, "{}: {}", chart.name, all.len());
        for (x, y) in all {
            assert!(chart.x.has(*x) && chart.y.has(*y), "{}: {x}, {y}", chart.name);
        }
        assert!(chart.title.contains("modelled"), "{}", chart.title);
    }
}

#[test]
fn charts_become_files_with_text_in_their_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, fast) = runs();
    let files = save(&runs, &fast, &folder.path().join("new/figures")).unwrap();
    assert_eq!(files.len(), 12);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        if file.extension().unwrap() == "svg" {
            let svg = String::from_utf8(bytes).unwrap();
            assert!(svg.starts_with("<svg width=\"800\" height=\"500\""), "{svg}");
            continue;
        }
        let image = Pixmap::decode_png(&bytes).unwrap();
        assert_eq!((image.width(), image.height()), (1600, 1000));
        // The title is ink on white above the chart.
        let row = image.pixels().chunks(1600).take(80);
        let dark = row.flatten().filter(|pixel| pixel.red() < 100).count();
        assert!(dark > 500, "{}: {dark}", file.display());
    }
}

#[test]
fn file_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    let (runs, fast) = runs();
    let error = save(&runs, &fast, &path).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write '{}'", path.display()));
}
