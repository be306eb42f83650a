// SPDX-License-Identifier: Apache-2.0
//! Checks a file's text for leftovers, long lines, too many lines, and paths of one machine.

use super::{
    Finding, Source,
    rust_text::{blank, has_word},
};

/// Columns of a line, at most.
const COLUMNS_MAX: usize = 100;

/// Lines of a file, at most.
const LINES_MAX: usize = 600;

/// Files that are longer, each with the reason why it is not two.
const LONG_FILES: &[(&str, &str)] = &[];

/// Notes to oneself and calls that are never meant to stay.
pub(super) fn leftovers(sources: &[Source]) -> Vec<Finding> {
    // Put together, so that this file does not hold them.
    let notes = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];
    let calls = [concat!("to", "do"), concat!("unimple", "mented"), concat!("d", "bg")];
    let mut findings = Vec::new();
    for source in sources {
        if !(source.is_code() || matches!(source.extension(), "md" | "toml" | "slt" | "sql")) {
            continue;
        }
        for (index, line) in source.text.lines().enumerate() {
            for note in notes.iter().filter(|note| has_word(line, note)) {
                findings.push(Finding::at(
                    source,
                    index,
                    format!("{note}: do it or file an issue"),
                ));
            }
        }
        if source.is_rust() {
            for (index, line) in blank(&source.text).code.lines().enumerate() {
                for call in calls.iter().filter(|call| has_word(line, &format!("{call}!"))) {
                    findings.push(Finding::at(source, index, format!("{call}! is left over")));
                }
            }
        }
    }
    findings
}

/// Lines fit side by side on a screen.
///
/// Exempt are generated files, Markdown (a line there is a sentence), Rust lines that begin inside
/// a string (a plan or a result keeps the width it has) or that a string literal carries over the
/// limit, and rows of tables in docs.
pub(super) fn long_lines(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_generated()) {
        let is_exempt = match source.extension() {
            "rs" => rust_exempt(&source.text),
            "toml" => Vec::new(),
            _ if source.is_code() => Vec::new(),
            _ => continue,
        };
        for (index, line) in source.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX && !is_exempt.get(index).copied().unwrap_or_default() {
                let message = format!("{columns} columns; {COLUMNS_MAX} is the limit");
                findings.push(Finding::at(source, index, message));
            }
        }
    }
    findings
}

/// Whether a string literal of a line reaches its last columns (a quote and a comma may follow it).
fn ends_in_string(line: &str) -> bool {
    let mut is_inside = false;
    let mut is_escaped = false;
    for sign in line.chars().take(COLUMNS_MAX - 2) {
        match sign {
            '"' if !is_escaped => is_inside = !is_inside,
            _ => {}
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    is_inside
}

/// Per line of a Rust text, whether its width is not its author's choice.
fn rust_exempt(text: &str) -> Vec<bool> {
    let is_table_row = |line: &str| {
        let line = line.trim_start();
        line.starts_with("/// |") || line.starts_with("//! |")
    };
    let in_string = blank(text).begins_in_string;
    in_string
        .iter()
        .zip(text.lines())
        .map(|(in_string, line)| *in_string || is_table_row(line) || ends_in_string(line))
        .collect()
}

/// A file that takes more than a few minutes to read is two files, or says why not.
pub(super) fn long_files(sources: &[Source]) -> Vec<Finding> {
    long_files_unless(LONG_FILES, sources)
}

fn long_files_unless(excused: &[(&str, &str)], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_code() && !source.is_generated()) {
        let lines = source.text.lines().count();
        let excuse = excused.iter().find(|(path, _)| *path == source.path);
        if lines > LINES_MAX && excuse.is_none() {
            let message =
                format!("{lines} lines; over {LINES_MAX} it needs a reason (tidy/text.rs)");
            findings.push(Finding::in_file(source, message));
        }
        if lines <= LINES_MAX && excuse.is_some() {
            let message = format!("{lines} lines: it is no longer long, strike it from the list");
            findings.push(Finding::in_file(source, message));
        }
    }
    findings
}

/// Absolute paths of one machine do not exist on others.
pub(super) fn machine_paths(sources: &[Source]) -> Vec<Finding> {
    let folders = [
        concat!("/", "root"),
        concat!("/", "home"),
        concat!("/", "work"),
        concat!("..", "/shared"),
    ];
    let mut findings = Vec::new();
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            for folder in folders.iter().filter(|folder| has_folder(line, folder)) {
                let message = format!("{folder} is a place of one machine");
                findings.push(Finding::at(source, index, message));
            }
        }
    }
    findings
}

/// Whether `line` holds `folder` as the start of a path and as whole parts of it.
fn has_folder(line: &str, folder: &str) -> bool {
    let is_part = |character: char| {
        character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '~' | '}' | ')' | '*')
    };
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + folder.len()..].chars().next();
        let ends = !after.is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '-'));
        !before.is_some_and(is_part) && ends
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::findings;
    use super::*;

    #[rstest]
    #[case("a.rs", concat!("// FIX", "ME later\n"), 1)]
    #[case("a.md", concat!("TO", "DO: more\n"), 1)]
    #[case("a.hpp", concat!("// XX", "X\n"), 1)]
    #[case("a.rs", concat!("fn f() { to", "do!() }\n"), 1)]
    #[case("a.rs", concat!("fn f() { d", "bg!(1); }\n"), 1)]
    #[case("a.rs", concat!("fn f() { unimple", "mented!() }\n"), 1)]
    #[case("a.rs", concat!("// a d", "bg!(1) in a comment\n"), 0)]
    #[case("a.rs", concat!("let name = \"XX", "XX\";\n"), 0)]
    #[case("a.csv", concat!("XX", "X,1\n"), 0)]
    #[case("a.rs", "// method, mastodon\n", 0)]
    fn finds_leftovers(#[case] path: &str, #[case] text: &str, #[case] expected_count: usize) {
        assert_eq!(findings(leftovers, &[(path, text)]).len(), expected_count);
    }

    #[test]
    fn finds_long_lines() {
        let long = "x".repeat(COLUMNS_MAX + 1);
        let fits = "é".repeat(COLUMNS_MAX);
        let check = |path: &str, text: String| findings(long_lines, &[(path, text.as_str())]);
        assert_eq!(
            check("a.rs", format!("//\n{long}\n")),
            ["a.rs:2: 101 columns; 100 is the limit"]
        );
        assert!(check("a.rs", format!("{fits}\n")).is_empty());
        assert!(check("a.rs", format!("let plan = r\"\n{long}\n\";\n")).is_empty());
        assert!(check("a.rs", format!("/// | {long} |\n")).is_empty());
        assert_eq!(check("a.hpp", format!("{long}\n")).len(), 1);
        assert!(check("a.hpp", format!("// {}\n{long}\n", crate::codegen::marker())).is_empty());
        assert!(check("a.md", format!("{long}\n")).is_empty());
        assert!(check("a.rs", format!("let text = \"{long}\";\n")).is_empty());
        assert_eq!(check("a.rs", format!("let text = \"x\"; let {long} = 1;\n")).len(), 1);
        assert!(check("a.csv", format!("{long}\n")).is_empty());
    }

    #[test]
    fn finds_long_files_and_excuses_that_are_not_needed() {
        let file =
            |path: &str, lines: usize| Source { path: path.to_owned(), text: "x\n".repeat(lines) };
        let check = |sources: &[Source]| {
            let excused = [("b.rs", "one table"), ("c.rs", "one table")];
            let found = long_files_unless(&excused, sources);
            found.into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        assert_eq!(check(&[file("a.rs", LINES_MAX)]), Vec::<String>::new());
        assert_eq!(check(&[file("a.rs", LINES_MAX + 1)]), ["a.rs"]);
        assert_eq!(check(&[file("b.rs", LINES_MAX + 1), file("c.rs", LINES_MAX)]), ["c.rs"]);
        assert_eq!(check(&[file("a.csv", LINES_MAX + 1)]), Vec::<String>::new());
    }

    #[rstest]
    #[case(concat!("read \"/", "home/x/data\""), 1)]
    #[case(concat!("cd /", "root"), 1)]
    #[case(concat!("see `/", "work/main`"), 1)]
    #[case(concat!("see ..", "/shared/x"), 1)]
    #[case(concat!("/", "workspace/x"), 0)]
    #[case(concat!("target/", "work/x"), 0)]
    #[case(concat!("$HOME/", "work"), 0)]
    #[case(concat!("${XDG}/", "home"), 0)]
    fn finds_places_of_one_machine(#[case] line: &str, #[case] expected_count: usize) {
        assert_eq!(findings(machine_paths, &[("notes.txt", line)]).len(), expected_count);
    }
}
