// SPDX-License-Identifier: Apache-2.0
//! Replaces samples by queries with random numbers.
//!
//! ```text
//! t TABLESAMPLE (10 PERCENT)  =>  (SELECT * FROM t WHERE random() < 10 / 100) AS t
//! t TABLESAMPLE (10 ROWS)     =>  (SELECT * EXCLUDE (key) FROM (SELECT *, random() AS key FROM t)
//!                                  ORDER BY key LIMIT 10) AS t
//! ```
//!
//! The numbers are a column of a subquery because an operator may evaluate the keys of ORDER BY
//! several times, which would favour the rows of small partitions. The sample of a query is one of
//! its table, before WHERE; of a join it is a condition, which needs no subquery.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, Result, plan_err},
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{
            BinaryOperator, Expr, Ident, OptimizerHint, Select, TableAlias, TableFactor,
            TableSample, TableSampleKind, TableSampleUnit, VisitorMut,
        },
    },
};

use crate::{
    error::DialectError,
    syntax::{self, INPUT, last_part, name_sql, quoted},
    tokens::{HINT, Sample, Size},
};

/// The column of the random numbers.
const KEY: &str = "nearscan sample key";

/// Replaces all samples of a statement.
///
/// # Errors
/// [`DialectError`] if a number of rows of a join is sampled.
pub fn rewrite(statement: &mut Parsed) -> Result<()> {
    match syntax::visit_mut(statement, &mut Samples) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Samples;

impl VisitorMut for Samples {
    type Break = DataFusionError;

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        let sample = match table {
            TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => sample,
            _ => return ControlFlow::Continue(()),
        };
        let Some(parsed) = sample.as_ref().and_then(sample_of) else {
            return ControlFlow::Continue(());
        };
        *sample = None;
        ended(sampled(table, &parsed).map(|sampled| *table = sampled))
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        let is_sample = |hint: &OptimizerHint| hint.prefix == HINT;
        let Some(place) = select.optimizer_hints.iter().position(is_sample) else {
            return ControlFlow::Continue(());
        };
        let hint = select.optimizer_hints.remove(place);
        match Sample::of_hint(&hint.text) {
            Some(sample) => ended(sample_from(select, &sample)),
            None => ControlFlow::Continue(()),
        }
    }
}

fn ended(result: Result<()>) -> ControlFlow<DataFusionError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Samples the tables of a SELECT.
fn sample_from(select: &mut Select, sample: &Sample) -> Result<()> {
    match (select.from.as_mut_slice(), &sample.size) {
        ([], _) => plan_err!("USING SAMPLE needs FROM"),
        ([only], _) if only.joins.is_empty() => {
            only.relation = sampled(&only.relation, sample)?;
            Ok(())
        }
        (_, Size::Rows(_)) => Err(DialectError::SampleOfJoin.into()),
        (_, Size::Percent(percent)) => {
            let drawn = condition(percent)?;
            select.selection = Some(match select.selection.take() {
                None => drawn,
                Some(other) => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(other))),
                    op: BinaryOperator::And,
                    right: Box::new(drawn),
                },
            });
            Ok(())
        }
    }
}

/// Reads a sample that [`tokens`](crate::tokens) wrote; nothing if it is another.
fn sample_of(sample: &TableSampleKind) -> Option<Sample> {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample;
    let TableSample { name: None, quantity: Some(quantity), seed: None, bucket: None, .. } =
        sample.as_ref()
    else {
        return None;
    };
    let number = quantity.value.to_string();
    let size = match quantity.unit.as_ref()? {
        TableSampleUnit::Percent => Size::Percent(number),
        TableSampleUnit::Rows => Size::Rows(number.parse().ok()?),
    };
    Some(Sample { size })
}

/// Makes the sample of a table, with the table's name.
fn sampled(table: &TableFactor, sample: &Sample) -> Result<TableFactor> {
    let mut inner = table.clone();
    let alias = take_alias(&mut inner);
    let (input, key) = (name_sql(INPUT), name_sql(KEY));
    let template = match &sample.size {
        Size::Percent(percent) => {
            format!("SELECT * FROM {input} WHERE {}", condition(percent)?)
        }
        Size::Rows(rows) => format!(
            "SELECT * EXCLUDE ({key}) FROM (SELECT *, random() AS {key} FROM {input}) \
             ORDER BY {key} LIMIT {rows}"
        ),
    };
    Ok(syntax::derived(syntax::query(&template, &inner)?, alias))
}

/// Makes a condition that is true with a probability.
fn condition(percent: &str) -> Result<Expr> {
    Ok(syntax::expr(&format!("random() < {percent} / 100.0"))?)
}

/// Takes the alias of a table; a table without one is called by its name.
fn take_alias(table: &mut TableFactor) -> Option<TableAlias> {
    match table {
        TableFactor::Table { name, alias, .. } => {
            alias.take().or_else(|| last_part(name).map(|ident| syntax::alias(unquoted(ident))))
        }
        TableFactor::Derived { alias, .. }
        | TableFactor::Pivot { alias, .. }
        | TableFactor::Unpivot { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.take(),
        _ => None,
    }
}

/// Returns the name without the quotes of a string: `FROM 'a.parquet'`.
fn unquoted(ident: &Ident) -> Ident {
    match ident.quote_style {
        Some('\'') => quoted(&ident.value),
        _ => ident.clone(),
    }
}
