// SPDX-License-Identifier: Apache-2.0
//! Registers files and folders of the command line as tables.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use nearscan::Engine;

use crate::failure::{Failure, Result};

/// Endings of compressed files; the extension in front of them is that of the format.
const COMPRESSIONS: [&str; 4] = ["gz", "bz2", "xz", "zst"];

/// Makes a table of each path.
pub(crate) async fn register(engine: &Engine, paths: &[PathBuf]) -> Result<()> {
    let mut named: BTreeMap<String, &Path> = BTreeMap::new();
    for path in paths {
        let shown = path.display();
        let name = table_name(path)
            .ok_or_else(|| Failure::Usage(format!("error: cannot name a table after '{shown}'")))?;
        if let Some(other) = named.insert(name.clone(), path) {
            return Err(Failure::Usage(format!(
                "error: two tables would be named '{name}'\n  \
                   detail: '{}' and '{shown}'\n  \
                   hint: leave one out and give it a name with CREATE EXTERNAL TABLE",
                other.display()
            )));
        }
        let location = path.to_string_lossy();
        engine.register(&name, &location).await.map_err(|error| Failure::usage(&error))?;
    }
    Ok(())
}

/// Returns the name of a path's table: its last part without endings, in lower case, with `_` for
/// everything that an unquoted SQL name cannot hold.
fn table_name(path: &Path) -> Option<String> {
    let name = match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        // `.` and `..` have a name once it is known where they are.
        None => path.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned(),
    };
    if name.contains(['*', '?', '[']) {
        return table_name(path.parent().filter(|parent| !parent.as_os_str().is_empty())?);
    }
    let stem = if path.is_dir() { name.as_str() } else { strip_endings(&name) };
    let mut table: String = stem
        .to_lowercase()
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '_' })
        .collect();
    if table.starts_with(|first: char| first.is_ascii_digit()) {
        table.insert(0, '_');
    }
    (!table.is_empty()).then_some(table)
}

fn strip_endings(name: &str) -> &str {
    let stem = COMPRESSIONS
        .iter()
        .find_map(|ending| name.strip_suffix(ending)?.strip_suffix('.'))
        .unwrap_or(name);
    match stem.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("lineitem.parquet", Some("lineitem"))]
    #[case("a/b/Line Item.PARQUET", Some("line_item"))]
    #[case("a/2024-01.csv.gz", Some("_2024_01"))]
    #[case("part.0001.parquet", Some("part_0001"))]
    #[case("sales/", Some("sales"))]
    #[case("sales/*.parquet", Some("sales"))]
    #[case("*.parquet", None)]
    #[case(".hidden", Some("_hidden"))]
    #[case("größe.csv", Some("gr__e"))]
    #[case("/", None)]
    fn names_tables_after_files(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(table_name(Path::new(path)).as_deref(), expected);
    }

    #[test]
    fn dot_is_named_after_its_folder() {
        let folder = std::env::current_dir().unwrap();
        assert_eq!(table_name(Path::new(".")), table_name(&folder));
        assert!(table_name(&folder).is_some());
    }
}
