// SPDX-License-Identifier: Apache-2.0
//! Lists the files and folders whose path begins as the user wrote it.

use std::{fs, path::MAIN_SEPARATOR};

/// Most paths that are offered.
const PATHS_MAX: usize = 500;

/// Returns the paths that begin with a text, sorted, folders with a slash at their end; none for
/// URLs. Hidden files are offered to those who write the dot.
pub(super) fn beginning_with(written: &str) -> Vec<String> {
    if written.contains("://") {
        return Vec::new();
    }
    let (folder, first) = match written.rfind(MAIN_SEPARATOR) {
        Some(slash) => written.split_at(slash + 1),
        None => ("", written),
    };
    let Ok(entries) = fs::read_dir(if folder.is_empty() { "." } else { folder }) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_shown = name.starts_with(first) && (first.starts_with('.') || !is_hidden(&name));
            // Through links, which the type of the entry does not follow.
            let is_folder = is_shown && fs::metadata(entry.path()).is_ok_and(|it| it.is_dir());
            is_shown.then(|| format!("{folder}{name}{}", if is_folder { "/" } else { "" }))
        })
        .take(PATHS_MAX)
        .collect();
    found.sort();
    found
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_up_to_the_next_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = format!("{}/", folder.path().display());
        fs::create_dir(folder.path().join("data")).unwrap();
        for name in ["data.csv", ".hidden", "other"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |written: &str| -> Vec<String> {
            let found = beginning_with(&format!("{root}{written}"));
            found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
        };
        assert_eq!(names("da"), ["data.csv", "data/"]);
        assert_eq!(names(""), ["data.csv", "data/", "other"]);
        assert_eq!(names("."), [".hidden"]);
        assert!(names("data/").is_empty() && names("none/").is_empty());
        assert!(beginning_with("s3://da").is_empty());
    }
}
