// SPDX-License-Identifier: Apache-2.0
//! `docs/timing-model.md` has the table of parameters that the model computes with.

use nearscan_emulator::timing::{MODEL_VERSION, Parameter, Parameters};

/// The rows of the page's table, as they have to be.
fn rows() -> Vec<String> {
    let row = |Parameter { name, value, source, meaning }: Parameter| {
        let shown = if value >= 1e6 { format!("{value:e}") } else { value.to_string() };
        format!("| `{name}` | {shown} | {source} | {meaning} |")
    };
    Parameters::default().table().into_iter().map(row).collect()
}

#[test]
fn the_page_has_the_parameters_of_the_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/timing-model.md");
    let page = std::fs::read_to_string(path).unwrap();
    let shown: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let rows = rows();
    assert_eq!(shown, rows, "the table has to be\n{}", rows.join("\n"));
    assert!(page.contains(&format!("version {MODEL_VERSION}")));
}
