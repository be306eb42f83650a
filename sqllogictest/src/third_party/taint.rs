// SPDX-License-Identifier: Apache-2.0
//! Which tables lack a statement that could not be run: what is asked of them afterwards says
//! nothing about the engine.
//!
//! Names are found in the text, for a statement that the engine cannot read has no other form. One
//! name too many hides a difference from a suite, never one from pushdown off.

use std::collections::BTreeMap;

/// Words in front of the name of what a statement changes.
const CHANGES: &[&str] = &["into", "update", "table", "view", "from", "exists", "macro", "type"];

/// Words between those and the name.
const BETWEEN: &[&str] = &["if", "not", "or", "only"];

/// The tables that are not what the suite takes them for.
#[derive(Debug, Default)]
pub struct Taint {
    /// Why a statement about each of them was not run.
    names: BTreeMap<String, String>,
    /// Why nothing is what the suite takes it for.
    everything: Option<String>,
}

impl Taint {
    /// Takes note of a statement that was not run, and why.
    pub fn add(&mut self, sql: &str, reason: &str) {
        let words = words(sql);
        match words.first().map(String::as_str) {
            // It would have undone what other statements did.
            Some("rollback" | "abort") => self.everything = Some(reason.to_owned()),
            Some(
                "insert" | "update" | "delete" | "create" | "drop" | "alter" | "copy" | "merge"
                | "truncate" | "replace" | "import" | "attach",
            ) => {
                let name = changed(&words).map(|name| (name, reason.to_owned()));
                self.names.extend(name);
            }
            _ => {}
        }
    }

    /// Takes note that a statement made or dropped a table anew.
    pub fn clear(&mut self, sql: &str) {
        let words = words(sql);
        if matches!(words.first().map(String::as_str), Some("create" | "drop"))
            && let Some(name) = changed(&words)
        {
            self.names.remove(&name);
        }
    }

    /// Why a statement was not run that this one depends on, if there is one.
    #[must_use]
    pub fn concerns(&self, sql: &str) -> Option<&str> {
        if self.everything.is_some() || self.names.is_empty() {
            return self.everything.as_deref();
        }
        words(sql).iter().find_map(|word| self.names.get(word).map(String::as_str))
    }
}

/// The name that a statement changes.
fn changed(words: &[String]) -> Option<String> {
    let place = words.iter().position(|word| CHANGES.contains(&word.as_str()))?;
    let skips =
        |word: &&String| BETWEEN.contains(&word.as_str()) || CHANGES.contains(&word.as_str());
    words[place + 1..].iter().find(|word| !skips(word)).cloned()
}

fn words(sql: &str) -> Vec<String> {
    sql.split(|sign: char| !sign.is_alphanumeric() && sign != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("INSERT INTO t1 VALUES (printf('x'))", "SELECT * FROM T1", true)]
    #[case("CREATE TABLE IF NOT EXISTS t1(a enum)", "SELECT * FROM t1", true)]
    #[case("UPDATE t1 SET a = 1", "SELECT * FROM t2, t1", true)]
    #[case("DELETE FROM t1", "SELECT * FROM t11", false)]
    #[case("PRAGMA t1", "SELECT * FROM t1", false)]
    #[case("ROLLBACK", "SELECT 1", true)]
    fn concerns_what_a_statement_changes(
        #[case] lost: &str,
        #[case] query: &str,
        #[case] expected: bool,
    ) {
        let mut taint = Taint::default();
        taint.add(lost, "why");
        assert_eq!(taint.concerns(query), expected.then_some("why"));
    }

    #[test]
    fn a_table_that_is_made_anew_is_right_again() {
        let mut taint = Taint::default();
        taint.add("INSERT INTO t VALUES (what())", "why");
        taint.clear("DROP TABLE t");
        assert_eq!(taint.concerns("SELECT * FROM t"), None);
    }
}
