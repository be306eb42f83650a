// SPDX-License-Identifier: Apache-2.0
//! Tests that the README of the crate is up to date with the table of corrections.

use std::{fs, path::Path};

use nearscan_corrections::CORRECTIONS;

const HEAD: &str = "\
# Corrections of DataFusion

Queries that DataFusion answers wrongly, or refuses without need, and how each is corrected.
This page is made from the table in `src/registry.rs`; `NEARSCAN_BLESS=1 cargo test -p \
nearscan-corrections readme` writes it.

`SET nearscan.corrections = 'none'` switches all of them off, and a list of names switches only \
those on, from the next statement on.
Each correction has a canary in `tests/it/canary`: a test on plain DataFusion that fails once \
DataFusion is right, so that the correction can be removed.

| correction | DataFusion | issue | versions | planning cost | canary |
|---|---|---|---|---|---|
";

#[test]
fn readme_matches_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let expected = text();
    if std::env::var_os("NEARSCAN_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "README.md is stale; run this test with NEARSCAN_BLESS=1");
}

fn text() -> String {
    let rows = CORRECTIONS.iter().map(|row| {
        let issues: Vec<String> = row.issues.iter().copied().map(link).collect();
        let issues = if issues.is_empty() { "none found".to_owned() } else { issues.join(", ") };
        format!(
            "| `{}` | {} | {issues} | {} | {} | `{}` |\n",
            row.name,
            row.upstream.replace('|', "\\|"),
            row.versions,
            row.planning_cost,
            row.canary
        )
    });
    HEAD.to_owned() + &rows.collect::<String>()
}

/// Formats `owner/name#number` as a link.
fn link(issue: &str) -> String {
    let (repository, number) = issue.split_once('#').unwrap();
    format!("[{issue}](https://github.com/{repository}/issues/{number})")
}
