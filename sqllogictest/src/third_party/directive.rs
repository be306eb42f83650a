// SPDX-License-Identifier: Apache-2.0
//! Parses the first line of a record: `query IIT rowsort`, `statement error`, `require json`.

/// Whose habits a file follows, where the three differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// One value a line, reals of three digits, hashes of long results.
    Sqlite,
    /// Values separated by spaces, error messages of several paragraphs.
    Datafusion,
    /// Values separated by tabs, loops, `require`, `mode skip`.
    Duckdb,
}

impl Dialect {
    /// Tells from the text of a file, and from how its name ends.
    #[must_use]
    pub fn of(text: &str, extension: &str) -> Self {
        let starts = |words: &[&str]| {
            text.lines().any(|line| words.iter().any(|word| line.starts_with(word)))
        };
        if starts(&["# name:", "# group:", "require ", "foreach ", "concurrentloop "]) {
            Self::Duckdb
        } else if extension == "test" || starts(&["hash-threshold"]) {
            Self::Sqlite
        } else {
            Self::Datafusion
        }
    }
}

/// The expected outcome of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// It succeeds.
    Success,
    /// It succeeds, with so many rows.
    Count(u64),
    /// It is refused. Messages are not compared: no two engines have the same ones.
    Refusal,
    /// Either.
    Anything,
}

/// In which order rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// As they come.
    Unsorted,
    /// Rows sorted by their texts.
    Rows,
    /// All values sorted, apart from their rows.
    Values,
}

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// `statement ok`, `statement error`, `query error`.
    Statement(Expect),
    /// `query`, with the letters of the columns.
    Query {
        /// One letter a column.
        letters: String,
        /// The order in which rows are compared.
        sort: Sort,
    },
    /// `skipif` or `onlyif`: whether the next record is left out, and the words that say so.
    Condition {
        /// Whether it runs where the label fits.
        only: bool,
        /// Name of an engine, or `variable=value`; other operators are not read.
        label: String,
    },
    /// `loop` or `foreach`: a variable and its values.
    Loop {
        /// Name, written in the text as `${name}`.
        variable: String,
        /// Its values.
        values: Vec<String>,
    },
    /// The end of a loop.
    EndLoop,
    /// `mode skip` and `mode unskip`.
    Skip(bool),
    /// `load`: another database, by the name of its file.
    Load(String),
    /// Nothing more of this file is to run.
    Halt,
    /// Records of another file.
    Include(String),
    /// It changes no result: `hash-threshold`, `sleep`.
    Nothing,
    /// It is not supported, and only this record is lost.
    Unsupported(String),
    /// It is not supported, and the rest of the file depends on it.
    UnsupportedRest(String),
}

/// Requirements that are met, or that make no difference here.
const REQUIREMENTS_MET: &[&str] = &[
    "64bit",
    "core_functions",
    "exact_vector_size",
    "no_alternative_verify",
    "no_extension_autoloading",
    "no_latest_storage",
    "no_vector_verification",
    "noalternativeverify",
    "noforcestorage",
    "notmingw",
    "notmusl",
    "notwindows",
    "parquet",
    "ram",
    "skip_reload",
    "strinline",
    "vector_size",
];

/// Directives that change no result here.
const WITHOUT_EFFECT: &[&str] =
    &["hash-threshold", "set", "sleep", "subtest", "tags", "test-env", "unskip"];

/// Values of one loop; a loop with more is not a test of results.
const LOOP_VALUES_MAX: i64 = 10_000;

/// Reads the first line of a record.
#[must_use]
pub fn parse(line: &str) -> Directive {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unsupported = |reason: String| Directive::Unsupported(reason);
    match words.as_slice() {
        ["statement", expect, rest @ ..] => statement(expect, rest),
        ["query", "error", ..] => Directive::Statement(Expect::Refusal),
        ["query", rest @ ..] => query(rest),
        [word @ ("skipif" | "onlyif"), label, ..] => {
            Directive::Condition { only: *word == "onlyif", label: (*label).to_owned() }
        }
        ["loop", variable, start, end] => numbers(variable, start, end),
        ["foreach", variable, values @ ..] => items(variable, values),
        ["endloop"] => Directive::EndLoop,
        ["mode", "skip", ..] => Directive::Skip(true),
        ["mode", "unskip", ..] => Directive::Skip(false),
        ["mode", ..] => Directive::Nothing,
        ["halt", ..] => Directive::Halt,
        ["include", path, ..] => Directive::Include((*path).to_owned()),
        ["require", name, ..] if REQUIREMENTS_MET.contains(name) => Directive::Nothing,
        ["require", name, ..] => Directive::UnsupportedRest(format!("require {name}")),
        ["load", name, ..] => Directive::Load((*name).to_owned()),
        [word @ ("require-env" | "unzip" | "template"), ..] => {
            Directive::UnsupportedRest((*word).to_owned())
        }
        // Every other directive of these starts something that `endloop` ends.
        [word @ ("concurrentloop" | "concurrentforeach"), ..] => {
            Directive::UnsupportedRest((*word).to_owned())
        }
        // The tables are still there, for this engine has no file of its own to reopen.
        ["restart" | "reconnect" | "load", ..] => Directive::Nothing,
        [word, ..] if WITHOUT_EFFECT.contains(word) => Directive::Nothing,
        ["connection", "default"] => Directive::Nothing,
        ["control", "sortmode" | "resultmode" | "substitution", ..] => {
            Directive::UnsupportedRest("directive control".to_owned())
        }
        [word, ..] => unsupported(format!("directive {}", crate::third_party::reason::cut(word))),
        [] => Directive::Nothing,
    }
}

fn statement(expect: &str, rest: &[&str]) -> Directive {
    let (expect, rest) = match (expect, rest) {
        ("ok", rest) => (Expect::Success, rest),
        ("maybe", rest) => (Expect::Anything, rest),
        ("error", _) => return Directive::Statement(Expect::Refusal),
        ("count", [count, rest @ ..]) => match count.parse() {
            Ok(count) => (Expect::Count(count), rest),
            Err(_) => return Directive::Unsupported("directive statement count".to_owned()),
        },
        _ => return Directive::Unsupported(format!("directive statement {expect}")),
    };
    // The name of a connection: other transactions than one are not run.
    match rest.first() {
        Some(word) if word.parse::<u64>().is_err() && !word.starts_with('#') => {
            Directive::Unsupported("directive connection".to_owned())
        }
        _ => Directive::Statement(expect),
    }
}

fn query(words: &[&str]) -> Directive {
    let sort_of = |word: &str| match word {
        "nosort" => Some(Sort::Unsorted),
        "rowsort" | "sort" => Some(Sort::Rows),
        "valuesort" => Some(Sort::Values),
        _ => None,
    };
    let letters = words.first().filter(|word| sort_of(word).is_none()).copied().unwrap_or("");
    let sort = words.iter().find_map(|word| sort_of(word)).unwrap_or(Sort::Unsorted);
    Directive::Query { letters: letters.to_owned(), sort }
}

fn numbers(variable: &str, start: &str, end: &str) -> Directive {
    let (Ok(start), Ok(end)) = (start.parse::<i64>(), end.parse::<i64>()) else {
        return Directive::UnsupportedRest("directive loop".to_owned());
    };
    if end.saturating_sub(start) > LOOP_VALUES_MAX {
        return Directive::UnsupportedRest("loop that is too long".to_owned());
    }
    let values = (start..end).map(|number| number.to_string()).collect();
    Directive::Loop { variable: variable.to_owned(), values }
}

/// The values of `foreach`; some names represent several types.
fn items(variable: &str, values: &[&str]) -> Directive {
    let signed = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"];
    let unsigned = ["UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"];
    let integral = [signed, unsigned].concat();
    let numeric = [integral.as_slice(), &["FLOAT", "DOUBLE"]].concat();
    let temporal = ["BOOL", "INTERVAL", "VARCHAR"];
    let mut all = Vec::new();
    for value in values {
        match *value {
            "<signed>" => all.extend(signed),
            "<unsigned>" => all.extend(unsigned),
            "<integral>" => all.extend(integral.iter()),
            "<numeric>" => all.extend(numeric.iter()),
            "<alltypes>" | "<all_types>" => all.extend(numeric.iter().chain(temporal.iter())),
            value => all.push(value),
        }
    }
    let values = all.into_iter().map(str::to_owned).collect();
    Directive::Loop { variable: variable.to_owned(), values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("query IIT rowsort label-7", "IIT", Sort::Rows)]
    #[case("query I", "I", Sort::Unsorted)]
    #[case("query R nosort", "R", Sort::Unsorted)]
    #[case("query valuesort", "", Sort::Values)]
    #[case("query", "", Sort::Unsorted)]
    fn reads_queries(#[case] line: &str, #[case] letters: &str, #[case] sort: Sort) {
        assert_eq!(parse(line), Directive::Query { letters: letters.to_owned(), sort });
    }

    #[rstest]
    #[case("statement ok", Directive::Statement(Expect::Success))]
    #[case("statement count 3", Directive::Statement(Expect::Count(3)))]
    #[case("statement count", Directive::Unsupported("directive statement count".to_owned()))]
    #[case("statement error no such", Directive::Statement(Expect::Refusal))]
    #[case("query error (?i)type", Directive::Statement(Expect::Refusal))]
    #[case("statement maybe", Directive::Statement(Expect::Anything))]
    #[case("statement count 3 con1", Directive::Unsupported("directive connection".to_owned()))]
    #[case("statement ok con1", Directive::Unsupported("directive connection".to_owned()))]
    #[case("require vector_size 64", Directive::Nothing)]
    #[case("require json", Directive::UnsupportedRest("require json".to_owned()))]
    #[case("system ok", Directive::Unsupported("directive system".to_owned()))]
    #[case("hash-threshold 8", Directive::Nothing)]
    #[case("loop i 0 x", Directive::UnsupportedRest("directive loop".to_owned()))]
    #[case("loop i 0 1000000", Directive::UnsupportedRest("loop that is too long".to_owned()))]
    fn reads_others(#[case] line: &str, #[case] expected: Directive) {
        assert_eq!(parse(line), expected);
    }

    #[rstest]
    #[case("loop i 2 4", "i", &["2", "3"])]
    #[case("foreach t a <signed>", "t", &["a", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"])]
    fn reads_loops(#[case] line: &str, #[case] variable: &str, #[case] values: &[&str]) {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(parse(line), Directive::Loop { variable: variable.to_owned(), values });
    }

    #[rstest]
    #[case("# name: a\n", "test", Dialect::Duckdb)]
    #[case("query I\n", "test", Dialect::Sqlite)]
    #[case("query I\n", "slt", Dialect::Datafusion)]
    #[case("hash-threshold 8\n", "slt", Dialect::Sqlite)]
    fn tells_dialects(#[case] text: &str, #[case] extension: &str, #[case] expected: Dialect) {
        assert_eq!(Dialect::of(text, extension), expected);
    }
}
