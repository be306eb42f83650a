// SPDX-License-Identifier: Apache-2.0
//! Resolves columns of USING and NATURAL joins, with the schemas of the tables.
//!
//! `k` of `a FULL JOIN b USING (k)` is the column of the side that has a row: `coalesce(a.k, b.k)`.
//! For DataFusion it is `a.k`, which is NULL if only the right side has a row. And in a subquery,
//! DataFusion resolves a name that two tables have, such as a column of USING, to a column of the
//! outer query, if that has one. So names of such columns are replaced by the expressions that they
//! refer to:
//!
//! ```text
//! SELECT k FROM a FULL JOIN b USING (k) JOIN c USING (k)
//!   =>  SELECT coalesce(a.k, b.k) AS k
//!       FROM a FULL JOIN b ON a.k = b.k JOIN c ON coalesce(a.k, b.k) = c.k
//! ```
//!
//! The planner provides the columns of a table: it plans `SELECT * FROM table` below the common
//! table expressions that are visible to the table ([`probe`]). Statements without USING and
//! NATURAL are skipped.
//!
//! - [`probe`] finds the columns of tables.
//! - [`scope`] holds the columns of FROM and of its joins.
//! - [`resolve`] replaces names, and the constraints of joins.

mod probe;
mod resolve;
mod scope;

use std::ops::ControlFlow;

use datafusion::{
    common::Result,
    execution::SessionState,
    sql::{
        parser::{CopyToSource, Statement as Parsed},
        sqlparser::ast::{JoinConstraint, JoinOperator, Query, Select, Statement, Visit, Visitor},
    },
};

use crate::set::CorrectionSet;
use probe::Probes;
use resolve::Resolver;

/// Replaces the columns of USING and NATURAL joins in a statement.
///
/// # Errors
/// If a table cannot be planned, a name is ambiguous, or a join has no such column.
pub(super) async fn resolve(
    statement: &mut Parsed,
    state: &SessionState,
    enabled: CorrectionSet,
) -> Result<()> {
    if !has_using(statement) {
        return Ok(());
    }
    let mut probes = Probes::default();
    loop {
        let mut resolved = statement.clone();
        let walked = match queries(&mut resolved) {
            Some(Syntax::Statement(syntax)) => Resolver::new(&mut probes, state).resolve(syntax),
            Some(Syntax::Query(query)) => Resolver::new(&mut probes, state).resolve(query),
            None => return Ok(()),
        };
        // While tables are unknown, the result of a walk is discarded, also its errors.
        if !probes.ask(state, enabled).await? {
            walked?;
            *statement = resolved;
            return Ok(());
        }
    }
}

/// The part of a statement that has queries.
enum Syntax<'a> {
    Statement(&'a mut Statement),
    Query(&'a mut Query),
}

fn queries(statement: &mut Parsed) -> Option<Syntax<'_>> {
    match statement {
        Parsed::Statement(statement) => Some(Syntax::Statement(statement)),
        Parsed::Explain(explained) => queries(&mut explained.statement),
        Parsed::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => Some(Syntax::Query(query)),
            CopyToSource::Relation(_) => None,
        },
        Parsed::CreateExternalTable(_) | Parsed::Reset(_) => None,
    }
}

/// Whether a statement has USING or NATURAL.
fn has_using(statement: &Parsed) -> bool {
    match statement {
        Parsed::Statement(statement) => statement.visit(&mut Using).is_break(),
        Parsed::Explain(explained) => has_using(&explained.statement),
        Parsed::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.visit(&mut Using).is_break(),
            CopyToSource::Relation(_) => false,
        },
        Parsed::CreateExternalTable(_) | Parsed::Reset(_) => false,
    }
}

/// Breaks at the first such join.
struct Using;

impl Visitor for Using {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_using = |operator: &JoinOperator| {
            let constraint = scope::constraint_of(operator);
            matches!(constraint, Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
        };
        match scope::joins_of(select).iter().any(|join| is_using(&join.join_operator)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
