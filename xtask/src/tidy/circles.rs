// SPDX-License-Identifier: Apache-2.0
//! Checks that the files of a crate do not import one another in a cycle.
//!
//! A file imports what it names by a path that starts with `crate` or `super`, in a `use` or in
//! code. What a file re-exports counts as the file that has it, and a parent that names its own
//! children by their names, as those who fold a file do, imports none of them. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source, rust_text};

/// Re-exports that lead to one another end after so many.
const REEXPORTS_MAX: usize = 8;

/// The path of a module within its crate.
type Module = Vec<String>;

/// A file of a crate.
struct File<'a> {
    source: &'a Source,
    /// Paths that it names, relative to the crate.
    imports: Vec<Module>,
    /// The modules that it re-exports, by the name they get.
    exports: BTreeMap<String, Module>,
}

type Crate<'a> = BTreeMap<Module, File<'a>>;

/// Every crate's files import one another in one direction only.
pub(super) fn circles(sources: &[Source]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        if let Some((folder, module)) = place(&source.path) {
            crates.entry(folder).or_default().insert(module.clone(), read(source, &module));
        }
    }
    let mut findings = Vec::new();
    for files in crates.values() {
        for circle in circles_of(files) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let Some(file) = circle.first().and_then(|module| files.get(module)) else { continue };
            let message = format!("files import one another in a circle: {}", names.join(", "));
            findings.push(Finding::in_file(file.source, message));
        }
    }
    findings
}

/// The crate and the module of a file, unless it is a test.
fn place(path: &str) -> Option<(&str, Module)> {
    let (folder, file) = path.split_once("/src/")?;
    let mut module: Module = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if module.iter().any(|name| name == "tests") || module[0] == "bin" {
        return None;
    }
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    Some((folder, module))
}

fn read<'a>(source: &'a Source, module: &Module) -> File<'a> {
    let code = rust_text::blank(&source.text).code;
    let code = code.as_str().split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut file = File { source, imports: Vec::new(), exports: BTreeMap::new() };
    let mut rest = code;
    while let Some(at) = find_word(rest, "use") {
        let is_export = rest[..at].trim_end().ends_with([')', 'b']) && {
            let before = rest[..at].trim_end().rsplit(['\n', ';', '}']).next().unwrap_or_default();
            before.trim_start().starts_with("pub")
        };
        rest = &rest[at + "use".len()..];
        let (tree, behind) = rest.split_once(';').unwrap_or((rest, ""));
        for path in expand(tree) {
            match absolute(&path, module) {
                Some(path) => file.add(path, is_export),
                // A name without `crate` or `super` may be a child's.
                None if is_export => file.add_export([module.clone(), path].concat()),
                None => {}
            }
        }
        rest = behind;
    }
    file.imports.extend(named(code).iter().filter_map(|path| absolute(path, module)));
    file
}

impl File<'_> {
    fn add(&mut self, path: Module, is_export: bool) {
        if is_export {
            self.add_export(path.clone());
        }
        self.imports.push(path);
    }

    fn add_export(&mut self, path: Module) {
        if let Some(name) = path.last().cloned() {
            self.exports.insert(name, path);
        }
    }
}

/// Returns the byte offset at which `word` stands by itself.
fn find_word(code: &str, word: &str) -> Option<usize> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .find(|at| !code[..*at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part))
}

/// The paths of a tree of imports, without new names.
fn expand(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(str::trim);
        return vec![
            names.filter(|name| !matches!(*name, "" | "self" | "*")).map(str::to_owned).collect(),
        ];
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let prefix = expand(prefix).concat();
    let mut depth = 0_usize;
    let branches = inner.split(|sign| {
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    });
    let branches = branches.filter(|branch| !branch.trim().is_empty()).flat_map(expand);
    branches.map(|branch| [prefix.clone(), branch].concat()).collect()
}

/// Paths in code that start with `crate` or `super`.
fn named(code: &str) -> Vec<Module> {
    let words = code.split(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == ':'));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    // The start of a tree of imports, whose branches are read elsewhere.
    let paths = paths.filter(|word| !word.ends_with("::"));
    paths.flat_map(expand).collect()
}

/// A path relative to the crate, if it starts with `crate` or `super`.
fn absolute(path: &[String], module: &Module) -> Option<Module> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => {
            let base = &module[..module.len().saturating_sub(supers)];
            Some([base, &path[supers..]].concat())
        }
        _ => None,
    }
}

/// The file that has what a path names.
fn resolve(files: &Crate, path: &Module) -> Option<Module> {
    let mut path = path.clone();
    for _ in 0..REEXPORTS_MAX {
        let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
        let module = path[..length].to_vec();
        let export = path.get(length).and_then(|name| files[&module].exports.get(name));
        match export.filter(|export| **export != path) {
            Some(export) => path = [&export[..], &path[length + 1..]].concat(),
            None => return Some(module),
        }
    }
    None
}

/// Sets of files each of which imports, by way of others, each other one.
fn circles_of(files: &Crate) -> Vec<Vec<Module>> {
    let targets = |module: &Module| -> BTreeSet<Module> {
        let found = files[module].imports.iter().filter_map(|path| resolve(files, path));
        found.filter(|target| target != module).collect()
    };
    let direct: BTreeMap<&Module, BTreeSet<Module>> =
        files.keys().map(|module| (module, targets(module))).collect();
    let reached = |from: &Module| -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<Module> = direct[from].iter().cloned().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module.clone()) {
                open.extend(direct[&module].iter().cloned());
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        files.keys().map(|module| (module, reached(module))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for module in files.keys().filter(|module| reached[*module].contains(*module)) {
        if !circles.iter().flatten().any(|known| known == module) {
            let same = reached[module].iter().filter(|other| reached[*other].contains(module));
            circles.push(same.cloned().collect());
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    const TOP: (&str, &str) = ("x/src/lib.rs", "mod a;\nmod b;\n");

    #[test]
    fn circle_of_three_files_is_found_with_its_names() {
        let found = findings(
            circles,
            &[
                TOP,
                ("x/src/a.rs", "use crate::b::{self, B};\n"),
                ("x/src/b.rs", "fn f() { crate::c::d::g(); }\n"),
                ("x/src/c/d.rs", "use super::super::{a::A};\n"),
            ],
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a, b, c::d"), "{found:?}");
    }

    #[test]
    fn tree_of_imports_is_no_import_of_the_crate_root() {
        let top = ("x/src/main.rs", "mod a;\nmod b;\nuse crate::{a::A, b::B};\n");
        let files = [top, ("x/src/a.rs", "use crate::{b::B};\n"), ("x/src/b.rs", "")];
        assert_eq!(findings(circles, &files), Vec::<String>::new());
    }

    #[test]
    fn circle_through_a_reexport_is_found() {
        let found = findings(
            circles,
            &[
                ("x/src/lib.rs", "mod a;\npub(crate) use a::A;\n"),
                ("x/src/a.rs", "use crate::b::B;\n"),
                ("x/src/b.rs", "use crate::A;\n"),
            ],
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn imports_in_one_direction_are_accepted() {
        let found = findings(
            circles,
            &[
                TOP,
                ("x/src/a.rs", "mod inner;\nuse crate::b::B;\nuse inner::Inner;\n"),
                ("x/src/a/inner.rs", "use super::Outer;\n"),
                (
                    "x/src/b.rs",
                    "// use crate::a::A;\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}\n",
                ),
                ("x/src/b/tests.rs", "use crate::a::A;\n"),
                ("y/src/b.rs", "use crate::a::A;\n"),
            ],
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
