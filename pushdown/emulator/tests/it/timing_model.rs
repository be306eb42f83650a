// SPDX-License-Identifier: Apache-2.0
//! Tests that `docs/timing-model.md` has the parameters and the assumptions of the model, and the
//! parameters of the flash.

use nearscan_emulator::{
    flash,
    timing::{ASSUMPTIONS, MODEL_VERSION, Parameter, Parameters},
};

/// The rows of the page's tables, as they have to be.
fn rows() -> Vec<String> {
    let row = |Parameter { name, value, source, meaning }: Parameter| {
        let shown = if value >= 1e6 { format!("{value:e}") } else { value.to_string() };
        format!("| `{name}` | {shown} | {source} | {meaning} |")
    };
    Parameters::default().table().into_iter().chain(flash::parameters()).map(row).collect()
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/timing-model.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn page_has_parameters_of_model() {
    let page = page();
    let shown: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let rows = rows();
    assert_eq!(shown, rows, "the tables have to be\n{}", rows.join("\n"));
    assert!(page.contains(&format!("version {MODEL_VERSION}")));
}

#[test]
fn page_has_the_assumptions_of_the_model() {
    let page = page();
    let (_, behind) = page.split_once("\n## What is assumed\n").unwrap();
    let (section, _) = behind.split_once("\n## ").unwrap();
    let shown: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert_eq!(shown, ASSUMPTIONS);
}
