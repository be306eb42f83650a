// SPDX-License-Identifier: Apache-2.0
//! Tracks tables that lack a statement which could not be run: later queries over them say nothing
//! about the engine.
//!
//! Names are found in the text, for a statement that the engine cannot read has no other form. One
//! name too many hides a difference from a suite, never one from pushdown off.

use std::collections::{BTreeMap, BTreeSet};

/// Words in front of the name of what a statement changes.
const CHANGES: &[&str] = &["into", "update", "table", "view", "from", "exists", "macro", "type"];

/// Words between those and the name.
const BETWEEN: &[&str] = &["if", "not", "or", "only"];

/// The tables that are not what the suite takes them for.
#[derive(Debug, Default)]
pub struct Taint {
    /// The reason why a statement about each of them was not run.
    names: BTreeMap<String, String>,
    /// Views, with the names in their text: they are what their tables are.
    views: BTreeMap<String, Vec<String>>,
    /// The reason why no table has the contents that the suite assumes.
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

    /// Takes note of a statement of a connection that has no session here. What it would roll back
    /// was not done.
    pub fn add_elsewhere(&mut self, sql: &str, reason: &str) {
        let words = words(sql);
        if !matches!(words.first().map(String::as_str), Some("rollback" | "abort")) {
            self.add(sql, reason);
        }
    }

    /// Takes note of a statement that was run: a table that it made or dropped is right again, and
    /// one that it filled from a table that is not is as wrong as that one.
    pub fn passed(&mut self, sql: &str) {
        let words = words(sql);
        let Some(name) = changed(&words) else { return };
        let first = words.first().map_or("", String::as_str);
        // If there is such a table, it is the one that was there before.
        let is_kept = first == "create" && words.windows(2).any(|pair| pair == ["if", "not"]);
        if matches!(first, "create" | "drop") && !is_kept {
            self.names.remove(&name);
            self.views.remove(&name);
        }
        if first == "drop" {
            return;
        }
        if first == "create" && words.iter().take(5).any(|word| word == "view") {
            let others = words.into_iter().filter(|word| *word != name).collect();
            self.views.insert(name, others);
        } else if let Some(reason) = self.concerns(sql).map(str::to_owned)
            && self.everything.is_none()
        {
            self.names.insert(name, reason);
        }
    }

    /// The reason why a statement was not run that this one depends on, if there is one.
    #[must_use]
    pub fn concerns(&self, sql: &str) -> Option<&str> {
        if self.everything.is_some() || self.names.is_empty() {
            return self.everything.as_deref();
        }
        let mut seen = BTreeSet::new();
        let words = words(sql);
        let mut left: Vec<&str> = words.iter().map(String::as_str).collect();
        while let Some(word) = left.pop() {
            if !seen.insert(word) {
                continue;
            }
            if let Some(reason) = self.names.get(word) {
                return Some(reason);
            }
            left.extend(self.views.get(word).into_iter().flatten().map(String::as_str));
        }
        None
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
    fn table_that_is_made_anew_is_right_again() {
        let mut taint = Taint::default();
        taint.add("INSERT INTO t VALUES (what())", "why");
        taint.passed("CREATE TABLE IF NOT EXISTS t(a INT)");
        assert_eq!(taint.concerns("SELECT * FROM t"), Some("why"), "it is the one that was there");
        taint.passed("DROP TABLE t");
        assert_eq!(taint.concerns("SELECT * FROM t"), None);
    }

    #[rstest]
    #[case("CREATE VIEW v AS SELECT a FROM t", "SELECT * FROM v", true)]
    #[case("CREATE OR REPLACE VIEW v AS SELECT a FROM t", "SELECT * FROM v", true)]
    #[case("CREATE TABLE v AS SELECT a FROM t", "SELECT * FROM v", true)]
    #[case("INSERT INTO v SELECT a FROM t", "SELECT * FROM v", true)]
    #[case("CREATE VIEW v AS SELECT a FROM u", "SELECT * FROM v", false)]
    #[case("CREATE VIEW v AS SELECT a FROM t", "SELECT * FROM u", false)]
    fn what_is_made_of_a_wrong_table_is_wrong(
        #[case] made: &str,
        #[case] query: &str,
        #[case] expected: bool,
    ) {
        let mut taint = Taint::default();
        taint.add("INSERT INTO t VALUES (what())", "why");
        taint.passed(made);
        assert_eq!(taint.concerns(query), expected.then_some("why"));
    }

    #[test]
    fn view_is_what_its_table_becomes() {
        let mut taint = Taint::default();
        taint.passed("CREATE VIEW v AS SELECT a FROM t");
        taint.passed("CREATE VIEW w AS SELECT a FROM v");
        assert_eq!(taint.concerns("SELECT * FROM w"), None);
        taint.add("INSERT INTO t VALUES (what())", "why");
        assert_eq!(taint.concerns("SELECT * FROM w"), Some("why"));
        taint.passed("DROP VIEW w");
        assert_eq!(taint.concerns("SELECT * FROM w"), None);
    }

    #[test]
    fn what_another_connection_rolls_back_was_not_done() {
        let mut taint = Taint::default();
        taint.add_elsewhere("ROLLBACK", "why");
        assert_eq!(taint.concerns("SELECT * FROM t"), None);
        taint.add_elsewhere("INSERT INTO t VALUES (1)", "why");
        assert_eq!(taint.concerns("SELECT * FROM t"), Some("why"));
    }
}
