// SPDX-License-Identifier: Apache-2.0
//! Parses the list of mutants: the class of each, its place, and the tests that should detect it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::project::Project;

/// The path of the list, relative to the root.
pub(super) const PATH: &str = "fuzz/mutants.toml";

/// One deliberate mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) name: String,
    /// The crate or kernel that it is in.
    pub(super) component: String,
    /// The class of mutants that it represents, one sentence.
    pub(super) class: String,
    /// Relative to the root.
    pub(super) file: String,
    /// Text that occurs once in the file.
    pub(super) find: String,
    /// The text that replaces it.
    pub(super) replace: String,
    /// Arguments of cargo that run the tests; the first is `test`.
    pub(super) tests: Vec<String>,
    /// The test that caught it; absent as long as it was not run.
    pub(super) caught_by: Option<String>,
}

impl Mutant {
    /// The text of the file with the mutant in it.
    ///
    /// # Errors
    /// When there is not exactly one place for it.
    pub(super) fn apply_to(&self, text: &str) -> Result<String> {
        let count = text.matches(&self.find).count();
        ensure!(
            count == 1,
            "{}: what it replaces occurs {count} times in {}, not once",
            self.name,
            self.file
        );
        Ok(text.replacen(&self.find, &self.replace, 1))
    }
}

/// The list of the project.
///
/// # Errors
/// When it cannot be read or is not as it should be.
pub(super) fn read(project: &Project) -> Result<Vec<Mutant>> {
    let text = std::fs::read_to_string(project.root().join(PATH))
        .with_context(|| format!("cannot read {PATH}"))?;
    parse(&text).with_context(|| format!("{PATH} is not as it should be"))
}

/// Reads a list: tables `[[mutant]]`, whose keys are the fields of [`Mutant`].
///
/// # Errors
/// Naming the mutant and what is wrong with it.
fn parse(text: &str) -> Result<Vec<Mutant>> {
    let list: Table = text.parse().context("it is not TOML")?;
    if let Some(key) = list.keys().find(|key| *key != "mutant") {
        bail!("{key} is no key of the list");
    }
    let entries = list.get("mutant").and_then(Value::as_array).context("it has no [[mutant]]")?;
    let mut names = BTreeSet::new();
    let mut mutants = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let name = entry.get("name").and_then(Value::as_str);
        let label = name.map_or_else(|| format!("mutant {}", index + 1), str::to_owned);
        let mutant = mutant(entry).with_context(|| label.clone())?;
        ensure!(names.insert(mutant.name.clone()), "{label}: the name is taken");
        mutants.push(mutant);
    }
    Ok(mutants)
}

const KEYS: [&str; 8] =
    ["name", "component", "class", "file", "find", "replace", "tests", "caught_by"];

fn mutant(entry: &Value) -> Result<Mutant> {
    let entry = entry.as_table().context("it is no table")?;
    if let Some(key) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        bail!("{key} is no key of a mutant");
    }
    let text = |key: &str| -> Result<String> {
        let value = entry.get(key).with_context(|| format!("it has no {key}"))?;
        let text = value.as_str().with_context(|| format!("{key} is no text"))?;
        // Only what is applied may be nothing.
        ensure!(!text.is_empty() || key == "replace", "{key} is empty");
        Ok(text.to_owned())
    };
    let tests: Vec<String> = text("tests")?.split_whitespace().map(str::to_owned).collect();
    ensure!(tests.first().is_some_and(|word| word == "test"), "tests does not begin with `test`");
    let caught_by = entry.contains_key("caught_by").then(|| text("caught_by")).transpose()?;
    let mutant = Mutant {
        name: text("name")?,
        component: text("component")?,
        class: text("class")?,
        file: text("file")?,
        find: text("find")?,
        replace: text("replace")?,
        tests,
        caught_by,
    };
    ensure!(mutant.find != mutant.replace, "it changes nothing");
    ensure!(!mutant.class.contains(['|', '\n']), "class does not fit in a row of a table");
    Ok(mutant)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::project::Source;

    const ONE: &str = "[[mutant]]\nname = 'n'\ncomponent = 'r'\nclass = 'c'\nfile = 'f.rs'\n\
                       find = 'a < b'\nreplace = 'a <= b'\ntests = 'test -p x --  y'\n";

    #[test]
    fn reads_a_mutant() {
        let mutants = parse(ONE).unwrap();
        assert_eq!(mutants.len(), 1);
        assert_eq!((mutants[0].name.as_str(), mutants[0].find.as_str()), ("n", "a < b"));
        assert_eq!(mutants[0].tests, ["test", "-p", "x", "--", "y"]);
        assert_eq!(mutants[0].caught_by, None);
        let caught = parse(&format!("{ONE}caught_by = 'z'\n")).unwrap();
        assert_eq!(caught[0].caught_by.as_deref(), Some("z"));
    }

    #[rstest]
    #[case("[[mutant]", "", "it is not TOML")]
    #[case("[[mutant]]", "[[other]]", "other is no key of the list")]
    #[case(ONE, "", "it has no [[mutant]]")]
    #[case("name = 'n'\n", "", "mutant 1: it has no name")]
    #[case("component = 'r'", "component = 7", "n: component is no text")]
    #[case("class = 'c'", "class = ''", "n: class is empty")]
    #[case("class = 'c'", "class = 'a|b'", "n: class does not fit in a row of a table")]
    #[case("class = 'c'", "class = 'c'\nkind = 'k'", "n: kind is no key of a mutant")]
    #[case("file = 'f.rs'\n", "", "n: it has no file")]
    #[case("'a <= b'", "'a < b'", "n: it changes nothing")]
    #[case("'test -p x", "'build -p x", "n: tests does not begin with `test`")]
    #[case("--  y'\n", "--  y'\ncaught_by = ''\n", "n: caught_by is empty")]
    fn refuses_a_list(#[case] right: &str, #[case] wrong: &str, #[case] expected: &str) {
        assert!(ONE.contains(right));
        let error = format!("{:#}", parse(&ONE.replacen(right, wrong, 1)).unwrap_err());
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn refuses_two_mutants_of_one_name() {
        let error = parse(&ONE.repeat(2)).unwrap_err();
        assert_eq!(error.to_string(), "n: the name is taken");
    }

    #[test]
    fn replacement_of_a_mutant_may_be_empty() {
        let mutants = parse(&ONE.replacen("'a <= b'", "''", 1)).unwrap();
        assert_eq!(mutants[0].apply_to("if a < b {").unwrap(), "if  {");
    }

    #[test]
    fn there_is_one_place_for_a_mutant() {
        let mutant = &parse(ONE).unwrap()[0];
        assert_eq!(mutant.apply_to("if a < b {").unwrap(), "if a <= b {");
        for (text, count) in [("if b > a {", 0), ("a < b && a < b", 2)] {
            let error = mutant.apply_to(text).unwrap_err().to_string();
            assert!(error.contains(&format!("occurs {count} times in f.rs")), "{error}");
        }
    }

    #[test]
    fn every_mutant_of_the_list_still_has_its_place() {
        let project = Project::open().unwrap();
        let mutants = read(&project).unwrap();
        assert!(mutants.len() >= 24, "{} mutants", mutants.len());
        for mutant in &mutants {
            let text = std::fs::read_to_string(project.root().join(&mutant.file));
            let text =
                text.unwrap_or_else(|error| panic!("{}: {}: {error}", mutant.name, mutant.file));
            if let Err(error) = mutant.apply_to(&text) {
                panic!("{error}");
            }
        }
    }

    /// Whether a test of this path is in one of the sources.
    fn is_there(test: &str, sources: &[Source]) -> bool {
        let parts: Vec<&str> = test.split("::").collect();
        let (last, before) = parts.split_last().expect("a path has a part");
        // A case has a part of the path for itself and for each of its arguments that vary.
        let is_case_in = |source| {
            let names = before.iter().enumerate().rev();
            let mut cases_of = names.map(|(at, name)| (*name, &parts[at + 1..]));
            cases_of.any(|(name, cases)| cases.iter().all(|case| has_case(source, name, case)))
        };
        sources.iter().any(|source| is_named(source, last) || is_case_in(source))
    }

    /// A test is a function; other harnesses take its name from a text, or from a file.
    fn is_named(source: &Source, name: &str) -> bool {
        let is_rust = source.path.ends_with(".rs");
        let is_in_text = || {
            let forms = [format!("fn {name}("), format!("\"{name}\"")];
            forms.iter().any(|form| source.text.contains(form))
        };
        is_rust && is_in_text() || source.path.ends_with(&format!("/{name}.slt"))
    }

    /// Whether a function has a case as `rstest` calls them: `case_3`, `case_3_named`, or
    /// `argument_2_value`, for each argument one.
    fn has_case(source: &Source, function: &str, case: &str) -> bool {
        let Some((before, after)) = source.text.split_once(&format!("fn {function}(")) else {
            return false;
        };
        let arguments = after.split_once('{').map_or(after, |(arguments, _)| arguments);
        let Some((name, number)) = case
            .match_indices('_')
            .map(|(at, _)| (&case[..at], &case[at + 1..]))
            .find(|(_, rest)| rest.starts_with(|first: char| first.is_ascii_digit()))
        else {
            return false;
        };
        if name != "case" {
            return arguments.contains(&format!(" {name}: ")) && arguments.contains("#[values(");
        }
        let has_name = |(_, name): (&str, &str)| before.contains(&format!("#[case::{name}("));
        arguments.contains("#[case]") && number.split_once('_').is_none_or(has_name)
    }

    #[rstest]
    #[case("a::b::works", true)]
    #[case("b", false)]
    #[case("works::b", false)]
    #[case("b::named_by_a_text", true)]
    #[case("b::some_rows", true)]
    #[case("b::cases::case_1", true)]
    #[case("b::cases::case_02_odd", true)]
    #[case("b::cases::case_02_even", false)]
    #[case("b::cases::profile_1_Small", false)]
    #[case("b::profiles::merge_units_1_1", true)]
    #[case("b::profiles::units_1_1", false)]
    #[case("b::both::case_1_odd::drive_2_____", true)]
    #[case("b::both::case_1_even::drive_2_____", false)]
    #[case("b::both::case_1_odd::units_2_____", false)]
    #[case("b::gone::case_1_odd::drive_2_____", false)]
    #[case("b::profiles::case_1", false)]
    #[case("b::works::case_1", false)]
    #[case("b::gone::case_1", false)]
    #[case("b::gone", false)]
    fn test_is_named_by_its_last_part(#[case] test: &str, #[case] expected: bool) {
        let rust = "mod b; fn works() {} \"named_by_a_text\"\n#[case::odd(1)]\n\
                    fn cases(#[case] number: u32) {} \n\
                    fn profiles(#[values(1, 2)] merge_units: u32) {} \n\
                    fn both(#[case] number: u32, #[values(\"\", \"?\")] drive: &str) {}";
        let source = |path: &str, text: &str| {
            let (path, text) = (path.to_owned(), text.to_owned());
            Source { path, text }
        };
        let sources = [source("a/b.rs", rust), source("a/some_rows.slt", "")];
        assert_eq!(is_there(test, &sources), expected);
    }

    #[test]
    fn every_test_that_caught_a_mutant_still_exists() {
        let project = Project::open().unwrap();
        let sources = project.sources().unwrap();
        for mutant in read(&project).unwrap() {
            let Some(test) = &mutant.caught_by else { continue };
            assert!(is_there(test, &sources), "{}: there is no test {test}", mutant.name);
        }
    }

    /// The crates whose tests a filter of a mutant runs.
    fn crates_of<'a>(tests: &[String], sources: &'a [Source]) -> BTreeSet<&'a str> {
        let filter = tests.last().map_or("", String::as_str);
        let folder = if tests.iter().any(|word| word == "--lib") { "/src/" } else { "/tests/it/" };
        let of = |source: &'a Source| {
            let (of, file) = source.path.split_once(folder)?;
            let is_test = ["#[test]", "#[rstest]", "#[tokio::test", "proptest!"]
                .iter()
                .any(|mark| source.text.contains(mark));
            let module = file.strip_suffix(".rs")?.replace('/', "::");
            let module = module.strip_suffix("::mod").unwrap_or(&module);
            let inner = if folder == "/src/" { "::tests" } else { "" };
            let mut functions = source.text.split("fn ").skip(1);
            let is_run = functions.any(|text| {
                let name = text.split(['(', '<']).next().unwrap_or_default();
                format!("{module}{inner}::{name}").contains(filter)
            });
            (is_test && is_run).then_some(of)
        };
        sources.iter().filter_map(of).collect()
    }

    /// Tests of the whole workspace are chosen by name alone: were there some of that name in
    /// another crate too, they would pass for those that should catch the mutant.
    #[test]
    fn tests_that_are_chosen_by_name_are_of_the_crate_with_the_mutant() {
        let project = Project::open().unwrap();
        let sources = project.sources().unwrap();
        for mutant in read(&project).unwrap() {
            let is_sql = mutant.tests.iter().any(|word| word == "slt");
            if mutant.tests.iter().any(|word| word == "--workspace") && !is_sql {
                let (own, _) = mutant.file.split_once("/src/").unwrap();
                assert_eq!(
                    crates_of(&mutant.tests, &sources),
                    BTreeSet::from([own]),
                    "{}",
                    mutant.name
                );
            }
        }
    }
}
