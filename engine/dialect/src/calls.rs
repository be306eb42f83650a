// SPDX-License-Identifier: Apache-2.0
//! Finds the calls of a table function in a statement, for those that need to be prepared before
//! the statement is planned.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::{
    parser::Statement as Parsed,
    sqlparser::ast::{
        Expr, FunctionArg, FunctionArgExpr, ObjectNamePart, TableFactor, Value, Visitor,
    },
};

use crate::syntax;

/// Returns the arguments of each call of a table function whose arguments are all texts.
#[must_use]
pub fn table_calls(statement: &Parsed, function: &str) -> Vec<Vec<String>> {
    let mut calls = Calls { function, found: Vec::new() };
    let _ = syntax::visit(statement, &mut calls);
    calls.found
}

struct Calls<'a> {
    function: &'a str,
    found: Vec<Vec<String>>,
}

impl Visitor for Calls<'_> {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Infallible> {
        let (name, arguments) = match table {
            TableFactor::Table { name, args: Some(arguments), .. } => (name, &arguments.args),
            TableFactor::Function { name, args: arguments, .. } => (name, arguments),
            _ => return ControlFlow::Continue(()),
        };
        if let [ObjectNamePart::Identifier(name)] = name.0.as_slice()
            && name.value.eq_ignore_ascii_case(self.function)
        {
            let texts: Option<Vec<String>> = arguments.iter().map(argument).collect();
            self.found.extend(texts);
        }
        ControlFlow::Continue(())
    }
}

fn argument(argument: &FunctionArg) -> Option<String> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => text_of(argument),
        _ => None,
    }
}

/// The text of a literal, as the planner reads it.
fn text_of(literal: &Expr) -> Option<String> {
    match literal {
        Expr::Nested(inner) => text_of(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                Some(text.clone())
            }
            Value::DollarQuotedString(quoted) => Some(quoted.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::in_from("SELECT * FROM app('a', 'b c')", "a|b c")]
    #[case::in_a_subquery("SELECT 1 WHERE EXISTS (SELECT * FROM App('a'))", "a")]
    #[case::in_explain("EXPLAIN SELECT * FROM app('a')", "a")]
    #[case::in_copy("COPY (SELECT * FROM app('a')) TO 'x.csv'", "a")]
    #[case::in_a_view("CREATE VIEW v AS SELECT * FROM app('a')", "a")]
    #[case::several("SELECT * FROM app('a'), app('b', '')", "a; b|")]
    #[case::lateral("SELECT * FROM t, LATERAL app('a')", "a")]
    #[case::with_other_quotes("SELECT * FROM app(E'a', $$b$$, ('c'))", "a|b|c")]
    #[case::without_texts("SELECT * FROM app(1), app('a', b), app(x => 'a')", "")]
    #[case::others("SELECT app('a') FROM app, other('a'), s.app('a')", "")]
    fn calls_are_found_where_a_table_can_be(#[case] sql: &str, #[case] expected: &str) {
        let statements = DFParser::parse_sql(sql).unwrap();
        let calls = table_calls(&statements[0], "app").into_iter().map(|call| call.join("|"));
        assert_eq!(calls.collect::<Vec<_>>().join("; "), expected);
    }
}
