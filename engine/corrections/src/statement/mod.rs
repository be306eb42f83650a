// SPDX-License-Identifier: Apache-2.0
//! Corrects the syntax of statements; this is the entry point for statements.
//!
//! [`parse_statement`] parses a statement from tokens, and corrects what the parser or the planner
//! misread; [`plan_statement`] makes its logical plan.

mod any;
mod distinct_from;
pub(crate) mod group_keys;
mod ignored;
mod using;

use datafusion::{
    common::{Constraints, Result, internal_err},
    config::SqlParserOptions,
    execution::SessionState,
    logical_expr::{DdlStatement, LogicalPlan},
    sql::{
        parser::{CopyToSource, DFParserBuilder, Statement as Parsed},
        sqlparser::{
            ast::{
                Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
                FunctionArguments, Ident, ObjectName, VisitMut,
            },
            dialect::Dialect,
            keywords::Keyword,
            tokenizer::{Token, TokenWithSpan},
        },
    },
};

use crate::{depth, registry::Correction, set::CorrectionSet};

/// Parses the tokens of one statement; also returns an upper limit of its depth, for
/// [`depth::with_enough_stack`].
///
/// # Errors
/// The error of the statement; `NotImplemented` if it is too deep, or has a clause that the planner
/// would ignore.
pub fn parse_statement(
    tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
    options: &SqlParserOptions,
    enabled: CorrectionSet,
) -> Result<(Parsed, usize)> {
    parse_and_rewrite(tokens, dialect, options, enabled, |_| Ok(()))
}

/// Parses a statement as [`parse_statement`] does, and rewrites it before it is corrected: what a
/// dialect replaces is not refused as a clause that the planner ignores.
///
/// # Errors
/// Those of [`parse_statement`] and of `rewrite`.
pub fn parse_and_rewrite(
    tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
    options: &SqlParserOptions,
    enabled: CorrectionSet,
    rewrite: fn(&mut Parsed) -> Result<()>,
) -> Result<(Parsed, usize)> {
    if !enabled.contains(Correction::GrowStack) {
        return Ok((parse(tokens, dialect, options, enabled, rewrite)?, 0));
    }
    let levels = depth::statement::levels(&tokens)?;
    // Before its chains are balanced, the depth of a statement may be its length.
    let parsed = depth::on_enough_stack(levels + tokens.len() / TOKENS_OF_A_LEVEL, || {
        parse(tokens, dialect, options, enabled, rewrite)
    });
    Ok((parsed?, levels))
}

/// Tokens of a chain that take as much stack as a level of planning: dropping an expression takes a
/// few hundred bytes.
const TOKENS_OF_A_LEVEL: usize = 16;

fn parse(
    tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
    options: &SqlParserOptions,
    enabled: CorrectionSet,
    rewrite: fn(&mut Parsed) -> Result<()>,
) -> Result<Parsed> {
    let words = Words::of(&tokens);
    let mut statements = DFParserBuilder::new(tokens)
        .with_dialect(dialect)
        .with_recursion_limit(options.recursion_limit.get())
        .build()?
        .parse_statements()?;
    match (statements.pop_front(), statements.len()) {
        (Some(mut statement), 0) => {
            if enabled.contains(Correction::GrowStack)
                && words.connectives >= depth::chains::MIN_TERMS - 1
            {
                balance(&mut statement);
            }
            // Visitors recurse, so they come after that.
            rewrite(&mut statement)?;
            correct(&mut statement, &words, enabled)?;
            Ok(statement)
        }
        (_, left) => {
            internal_err!("tokens without a semicolon were parsed as {left} extra statements")
        }
    }
}

/// The words of a statement without which some corrections have nothing to do. To count them is
/// much faster than to visit the syntax.
#[derive(Debug, Default)]
struct Words {
    /// Those of AND and OR.
    connectives: usize,
    has_distinct: bool,
    has_any: bool,
    has_unnest: bool,
}

impl Words {
    fn of(tokens: &[TokenWithSpan]) -> Self {
        let mut words = Self::default();
        for token in tokens {
            let Token::Word(word) = &token.token else { continue };
            match word.keyword {
                Keyword::AND | Keyword::OR => words.connectives += 1,
                Keyword::DISTINCT => words.has_distinct = true,
                Keyword::ANY | Keyword::SOME => words.has_any = true,
                // UNPIVOT is planned with `unnest`.
                Keyword::UNNEST | Keyword::UNPIVOT => words.has_unnest = true,
                _ => {}
            }
        }
        words
    }
}

/// Balances the chains of AND and OR in a statement.
fn balance(statement: &mut Parsed) {
    match statement {
        Parsed::Statement(statement) => depth::chains::balance(statement),
        Parsed::Explain(explained) => balance(&mut explained.statement),
        Parsed::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => depth::chains::balance(query),
            CopyToSource::Relation(_) => {}
        },
        Parsed::CreateExternalTable(_) | Parsed::Reset(_) => {}
    }
}

/// Corrects the syntax of a statement.
fn correct(statement: &mut Parsed, words: &Words, enabled: CorrectionSet) -> Result<()> {
    match statement {
        Parsed::Statement(statement) => correct_syntax(statement, words, enabled),
        Parsed::Explain(explained) => correct(&mut explained.statement, words, enabled),
        Parsed::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => correct_syntax(query, words, enabled),
            CopyToSource::Relation(_) => Ok(()),
        },
        Parsed::CreateExternalTable(table) => {
            match enabled.contains(Correction::RejectIgnoredClauses) {
                true => ignored::reject_in_columns(&table.columns),
                false => Ok(()),
            }
        }
        Parsed::Reset(_) => Ok(()),
    }
}

fn correct_syntax(syntax: &mut impl VisitMut, words: &Words, enabled: CorrectionSet) -> Result<()> {
    if enabled.contains(Correction::RejectIgnoredClauses) {
        ignored::reject(syntax)?;
    }
    if enabled.contains(Correction::ReassociateDistinctFrom) && words.has_distinct {
        distinct_from::reassociate(syntax);
    }
    if enabled.contains(Correction::ExpandAnyComparisons) && words.has_any {
        any::expand(syntax);
    }
    if enabled.contains(Correction::HideKeysFromUnnest) && words.has_unnest {
        group_keys::mark(syntax);
    }
    Ok(())
}

/// Makes the logical plan of a statement.
///
/// # Errors
/// The error of the statement.
pub async fn plan_statement(
    state: &SessionState,
    mut statement: Parsed,
    enabled: CorrectionSet,
) -> Result<LogicalPlan> {
    if enabled.contains(Correction::ResolveUsingColumns) {
        using::resolve(&mut statement, state, enabled).await?;
    }
    let plan = state.statement_to_plan(statement).await?;
    Ok(match plan {
        LogicalPlan::Ddl(DdlStatement::CreateView(mut view)) => {
            view.definition = view.definition.as_deref().map(group_keys::without_marks);
            LogicalPlan::Ddl(DdlStatement::CreateView(view))
        }
        LogicalPlan::Ddl(definition) if enabled.contains(Correction::IgnoreKeyConstraints) => {
            LogicalPlan::Ddl(without_keys(definition))
        }
        other => other,
    })
}

/// Removes PRIMARY KEY and UNIQUE from a definition: rows are not checked against them, and a plan
/// that trusted them would merge two rows of one key.
fn without_keys(mut definition: DdlStatement) -> DdlStatement {
    let (name, constraints) = match &mut definition {
        DdlStatement::CreateMemoryTable(table) => (&table.name, &mut table.constraints),
        DdlStatement::CreateExternalTable(table) => (&table.name, &mut table.constraints),
        _ => return definition,
    };
    if constraints.iter().next().is_some() {
        tracing::warn!(
            table = %name,
            correction = %Correction::IgnoreKeyConstraints,
            "PRIMARY KEY and UNIQUE are not enforced, and have no effect"
        );
        *constraints = Constraints::default();
    }
    definition
}

/// Makes a call of a function.
fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    let argument = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
