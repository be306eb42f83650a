// SPDX-License-Identifier: Apache-2.0
//! The table of planted bugs in `docs/trust.md`, which the list is written into.

use anyhow::{Context, Result};

use super::list::{Bug, PATH};
use crate::project::Project;

/// The file that has the table.
const DOC: &str = "docs/trust.md";

/// The lines before and behind it.
const BEGIN: &str = "<!-- planted bugs: written by `cargo xtask plant --table` -->";
const END: &str = "<!-- end of planted bugs -->";

/// Writes the table anew; what else is in the file stays.
///
/// # Errors
/// When the file cannot be read or written, or has no place for the table.
pub(super) fn write(project: &Project, bugs: &[Bug]) -> Result<()> {
    let path = project.root().join(DOC);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {DOC}"))?;
    let text = with_table(&text, bugs)?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {DOC}"))
}

/// `text` with the table of `bugs` between its two lines.
fn with_table(text: &str, bugs: &[Bug]) -> Result<String> {
    let place = || format!("{DOC} has no place for the table of {PATH}");
    let (before, rest) = text.split_once(BEGIN).with_context(place)?;
    let (_, after) = rest.split_once(END).with_context(place)?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", table(bugs)))
}

fn table(bugs: &[Bug]) -> String {
    let mut table = "| bug | class | room | caught by |\n|---|---|---|---|\n".to_owned();
    for Bug { name, class, room, caught_by, .. } in bugs {
        let caught_by = caught_by.as_deref().map_or_else(String::new, |test| format!("`{test}`"));
        table.push_str(&format!("| `{name}` | {class} | {room} | {caught_by} |\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::list;

    #[test]
    fn what_else_is_in_the_file_stays() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let expected = format!(
            "a\n{BEGIN}\n\n| bug | class | room | caught by |\n|---|---|---|---|\n\n{END}\nb\n"
        );
        assert_eq!(with_table(&text, &[]).unwrap(), expected);
        assert_eq!(with_table(&expected, &[]).unwrap(), expected);
        assert!(with_table("a\nb\n", &[]).is_err());
    }

    #[test]
    fn the_table_is_that_of_the_list() {
        let project = Project::open().unwrap();
        let bugs = list::read(&project).unwrap();
        let text = std::fs::read_to_string(project.root().join(DOC)).unwrap();
        let is_that = with_table(&text, &bugs).unwrap() == text;
        assert!(is_that, "write it: cargo xtask plant --table");
    }
}
