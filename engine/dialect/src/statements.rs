// SPDX-License-Identifier: Apache-2.0
//! Parses the statements that the parser does not know: `SUMMARIZE`, `PIVOT`, `UNPIVOT`, `SHOW t`.
//!
//! Each becomes a query with a table in FROM that [`expand`](crate::expand) replaces, so that it
//! may stand below EXPLAIN and DESCRIBE. A statement cannot begin with these words otherwise.
//!
//! ```text
//! SUMMARIZE t                          =>  SELECT * FROM TABLE(summarize(SELECT * FROM t))
//! PIVOT t ON c IN (1) USING sum(x)     =>  SELECT * FROM t PIVOT (sum(x) FOR c IN (1))
//! PIVOT .. GROUP BY g                  =>  the same with GROUP BY g
//! UNPIVOT t ON a, b INTO NAME n VALUE v  =>  SELECT * FROM t UNPIVOT (v FOR n IN (a, b))
//! SHOW t                               =>  DESCRIBE t
//! ```

use datafusion::sql::sqlparser::{
    ast::{
        DescribeAlias, Expr, ExprWithAlias, Function, FunctionArguments, GroupByExpr, Ident,
        LimitClause, ObjectName, PivotValueSource, Query, Statement, TableFactor,
    },
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use crate::syntax::{self, INPUT, name_sql};

/// The function whose call in FROM stands for SUMMARIZE.
pub(crate) const SUMMARIZE: &str = "summarize";

/// Columns that a PIVOT may make.
pub(crate) const PIVOT_COLUMNS_MAX: usize = 4096;

/// Words after SHOW that are no tables.
const SHOWN: [&str; 14] = [
    "all",
    "timezone",
    "tables",
    "functions",
    "columns",
    "databases",
    "schemas",
    "views",
    "status",
    "variables",
    "collation",
    "charset",
    "catalogs",
    "create",
];

/// Parses one of the statements; nothing if it is another.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    let word = |distance| match &parser.peek_nth_token_ref(distance).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    };
    let parse: fn(&mut Parser<'_>) -> Result<Statement, ParserError> = match word(0)?.as_str() {
        "summarize" => summarize,
        "pivot" => pivot,
        "unpivot" => unpivot,
        "show" if is_end(&parser.peek_nth_token_ref(2).token) => {
            if word(1).is_none_or(|word| SHOWN.contains(&word.as_str())) {
                return None;
            }
            show
        }
        _ => return None,
    };
    parser.next_token();
    Some(parse(parser))
}

const fn is_end(token: &Token) -> bool {
    matches!(token, Token::EOF | Token::SemiColon)
}

fn show(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    Ok(Statement::ExplainTable {
        describe_alias: DescribeAlias::Describe,
        hive_format: None,
        has_table_keyword: false,
        table_name: parser.parse_object_name(false)?,
    })
}

fn summarize(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let begins_query = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES]
        .iter()
        .any(|keyword| parser.peek_keyword(*keyword));
    let query = match begins_query || parser.peek_token_ref().token == Token::LParen {
        true => parser.parse_query()?,
        false => all_of(&parser.parse_table_factor()?)?,
    };
    let call = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(SUMMARIZE)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::Subquery(query),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    Ok(Statement::Query(all_of(&TableFactor::TableFunction { expr: call, alias: None })?))
}

fn pivot(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let (value_column, value_source) =
        pivot_values(parser.parse_comma_separated(Parser::parse_expr)?)?;
    let aggregate_functions = match parser.parse_keyword(Keyword::USING) {
        true => parser.parse_comma_separated(Parser::parse_expr_with_alias)?,
        false => vec![ExprWithAlias { expr: syntax::expr("count(*)")?, alias: None }],
    };
    let groups = match parser.parse_keywords(&[Keyword::GROUP, Keyword::BY]) {
        true => parser.parse_comma_separated(Parser::parse_expr)?,
        false => Vec::new(),
    };
    let mut query = all_of(&TableFactor::Pivot {
        table: Box::new(table),
        aggregate_functions,
        value_column,
        value_source,
        default_on_null: None,
        alias: None,
    })?;
    if let Some(select) = syntax::select_of(&mut query) {
        select.group_by = GroupByExpr::Expressions(groups, Vec::new());
    }
    tail(parser, query)
}

/// Separates the columns of PIVOT from their values: `a IN (1, 2), b IN (3, 4)` has the values
/// `(1, 3), (1, 4), (2, 3), (2, 4)`.
fn pivot_values(items: Vec<Expr>) -> Result<(Vec<Expr>, PivotValueSource), ParserError> {
    let mut columns = Vec::with_capacity(items.len());
    let mut lists: Vec<Vec<Expr>> = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Expr::InList { expr, list, negated: false } => {
                columns.push(*expr);
                lists.push(list);
            }
            // Which values there are is not known.
            other => return Ok((vec![other], PivotValueSource::Any(Vec::new()))),
        }
    }
    let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > PIVOT_COLUMNS_MAX) {
        let problem = format!("more than {PIVOT_COLUMNS_MAX} columns of PIVOT");
        return Err(ParserError::ParserError(problem));
    }
    let mut values: Vec<Vec<Expr>> = vec![Vec::new()];
    for list in lists {
        let with = |value: &Vec<Expr>| {
            let value = value.clone();
            list.clone().into_iter().map(move |next| [value.clone(), vec![next]].concat())
        };
        values = values.iter().flat_map(with).collect();
    }
    let value = |mut parts: Vec<Expr>| match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => Expr::Tuple(parts.into_iter().chain(last).collect()),
    };
    let listed = values.into_iter().map(|parts| ExprWithAlias { expr: value(parts), alias: None });
    Ok((columns, PivotValueSource::List(listed.collect())))
}

fn unpivot(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let columns = parser.parse_comma_separated(Parser::parse_expr_with_alias)?;
    let (mut name, mut value) = (Ident::new("name"), Ident::new("value"));
    if parser.parse_keyword(Keyword::INTO) {
        parser.expect_keyword_is(Keyword::NAME)?;
        name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::VALUE)?;
        value = parser.parse_identifier()?;
    }
    let query = all_of(&TableFactor::Unpivot {
        table: Box::new(table),
        value: Expr::Identifier(value),
        name,
        columns,
        null_inclusion: None,
        alias: None,
    })?;
    tail(parser, query)
}

/// Parses ORDER BY and LIMIT behind a statement.
fn tail(parser: &mut Parser<'_>, mut query: Box<Query>) -> Result<Statement, ParserError> {
    query.order_by = parser.parse_optional_order_by()?;
    if parser.parse_keyword(Keyword::LIMIT) {
        let limit = parser.parse_limit()?;
        let offset = match parser.parse_keyword(Keyword::OFFSET) {
            true => Some(parser.parse_offset()?),
            false => None,
        };
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by: Vec::new() });
    }
    Ok(Statement::Query(query))
}

/// Makes `SELECT * FROM table`.
fn all_of(table: &TableFactor) -> Result<Box<Query>, ParserError> {
    syntax::query(&format!("SELECT * FROM {}", name_sql(INPUT)), table)
}
