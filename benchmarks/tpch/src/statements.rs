// SPDX-License-Identifier: Apache-2.0
//! Runs the statements of a query in a session.

use nearscan::{QueryResult, Session, drive::clock::Stopwatch};

/// The result of one list of statements.
pub(crate) struct Delivered {
    pub(crate) result: Option<QueryResult>,
    pub(crate) seconds: f64,
}

/// Runs the statements of a query; the one that delivers rows is its answer.
///
/// Objects that a query creates for itself are dropped even if it fails, because a remaining view
/// would make the next run fail as well.
pub(crate) async fn run_statements(session: &Session, sql: &str) -> nearscan::Result<Delivered> {
    let stopwatch = Stopwatch::start();
    let mut result = None;
    let mut failed = None;
    for statement in session.statements(sql) {
        match run_statement(session, statement).await {
            Ok(delivered) if delivered.schema.fields().is_empty() => {}
            Ok(delivered) => result = Some(delivered),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(Delivered { result, seconds: stopwatch.elapsed().as_secs_f64() }),
    }
}

async fn run_statement(
    session: &Session,
    statement: nearscan::Result<nearscan::Statement>,
) -> nearscan::Result<QueryResult> {
    session.plan(statement?).await?.collect().await
}
