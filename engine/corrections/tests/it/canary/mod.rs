// SPDX-License-Identifier: Apache-2.0
//! Tests the corrections by canaries: for each one a statement that plain DataFusion gets wrong.
//!
//! If a canary fails because plain DataFusion is right, its correction can be removed, with the
//! canary and the row of the table. Each statement is run in four ways: on plain DataFusion, with
//! all corrections, with all except its own, and with its own alone.

mod depth;
mod expressions;
mod functions;
mod logical;
mod parquet;
mod physical;
mod statement;
mod subqueries;

use nearscan_corrections::{CORRECTIONS, Correction, CorrectionSet};

use crate::session::{Corrected, plain, plain_rows};

/// A statement with the result of plain DataFusion, and the right one.
pub(crate) struct Canary<'a> {
    pub(crate) correction: Correction,
    /// Statements to run first.
    pub(crate) setup: &'a [&'a str],
    pub(crate) sql: &'a str,
    /// Rows of plain DataFusion, or the beginning of its error after `error: `.
    pub(crate) wrong: &'a str,
    pub(crate) right: &'a str,
}

impl Canary<'_> {
    /// Runs it in all ways.
    pub(crate) async fn check(&self) {
        let context = plain();
        for statement in self.setup {
            let done = plain_rows(&context, statement).await;
            assert!(!done.starts_with("error"), "{statement}: {done}");
        }
        let found = plain_rows(&context, self.sql).await;
        assert!(
            !is(&found, self.right),
            "DataFusion is right by itself: remove the correction '{}'",
            self.correction
        );
        assert!(is(&found, self.wrong), "plain DataFusion: {found}");
        // Without this correction, another one may refuse the statement.
        let without = self.rows(CorrectionSet::ALL.without(self.correction)).await;
        assert!(!is(&without, self.right), "without the correction: {without}");
        for enabled in [CorrectionSet::ALL, CorrectionSet::only(self.correction)] {
            let found = self.rows(enabled).await;
            assert!(is(&found, self.right), "with {enabled}: {found}");
        }
    }

    async fn rows(&self, enabled: CorrectionSet) -> String {
        let session = Corrected::with(enabled);
        for statement in self.setup {
            let done = session.rows(statement).await;
            assert!(!done.starts_with("error"), "{statement}: {done}");
        }
        session.rows(self.sql).await
    }
}

/// Whether rows are the expected ones, or an error begins with the expected text.
fn is(found: &str, expected: &str) -> bool {
    match expected.starts_with("error") {
        true => found.starts_with(expected),
        false => found == expected,
    }
}

#[test]
fn every_correction_names_an_existing_canary() {
    let sources = [
        ("depth", include_str!("depth.rs")),
        ("expressions", include_str!("expressions.rs")),
        ("functions", include_str!("functions.rs")),
        ("logical", include_str!("logical.rs")),
        ("parquet", include_str!("parquet.rs")),
        ("physical", include_str!("physical.rs")),
        ("statement", include_str!("statement.rs")),
        ("subqueries", include_str!("subqueries.rs")),
    ];
    for row in CORRECTIONS {
        let (module, name) = row.canary.split_once("::").unwrap();
        let source = sources.iter().find(|(of, _)| *of == module).unwrap().1;
        assert!(source.contains(&format!("async fn {name}()")), "{}", row.canary);
        assert!(source.contains(&format!("Correction::{:?}", row.correction)), "{}", row.name);
    }
}
