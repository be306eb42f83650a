// SPDX-License-Identifier: Apache-2.0
//! Replaces `COLUMNS(..)`, and `*` with EXCLUDE, REPLACE or RENAME, by lists of columns.
//!
//! The planner knows EXCLUDE and REPLACE too, but not of joins, and accepts what does not exist.
//!
//! ```text
//! SELECT min(COLUMNS('a.*')) FROM t      =>  SELECT min("ab"), min("ac") FROM t
//! SELECT * RENAME (a AS b) FROM t        =>  SELECT "a" AS "b", "c" FROM t
//! WHERE COLUMNS(*) > 0                   =>  WHERE ("a" > 0) AND ("c" > 0)
//! ```
//!
//! The columns of FROM are those of `SELECT *`, so a column of USING is there once.

use std::ops::ControlFlow;

use datafusion::{
    arrow::{array::StringArray, compute::regexp_is_match_scalar},
    common::{DataFusionError, Result},
    sql::sqlparser::ast::{
        BinaryOperator, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr,
        FunctionArguments, GroupByExpr, Ident, ObjectName, RenameSelectItem, Select, SelectItem,
        SelectItemQualifiedWildcardKind, Value, Visit, VisitMut, Visitor, VisitorMut,
        WildcardAdditionalOptions,
    },
};

use super::{Expander, not_found, probe::Found};
use crate::{
    error::DialectError,
    syntax::{function_name, last_part, quoted},
};

/// The name of the function.
const COLUMNS: &str = "columns";

/// Whether an item is `*` with options that are replaced.
pub(super) fn is_listed(item: &SelectItem) -> bool {
    options_of(item).is_some_and(|options| {
        options.opt_exclude.is_some()
            || options.opt_except.is_some()
            || options.opt_replace.is_some()
            || options.opt_rename.is_some()
    })
}

fn options_of(item: &SelectItem) -> Option<&WildcardAdditionalOptions> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => Some(options),
        _ => None,
    }
}

/// Whether an item of a select list may become several columns when it is planned.
pub(super) fn may_be_several(item: &SelectItem) -> bool {
    struct Unnests;
    impl Visitor for Unnests {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call)
                    if function_name(call)
                        .is_some_and(|name| name.eq_ignore_ascii_case("unnest")) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(item, &mut Unnests).is_break()
}

/// Returns the call of COLUMNS that an expression is.
pub(super) fn call_of(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(call) => {
            function_name(call).filter(|name| name.eq_ignore_ascii_case(COLUMNS)).map(|_| call)
        }
        _ => None,
    }
}

/// Replaces them in the clauses of one SELECT.
pub(super) fn replace(select: &mut Select, walk: &mut Expander<'_>) -> Result<()> {
    if select.from.is_empty() {
        return Ok(());
    }
    let items = std::mem::take(&mut select.projection);
    let had_items = !items.is_empty();
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        list.extend(replace_item(item, select, walk)?);
    }
    walk.probes.are_optional = false;
    if list.is_empty() && had_items {
        return Err(DialectError::EmptyList.into());
    }
    select.projection = list;
    if let Some(condition) = select.selection.take() {
        select.selection = Some(conjunction(condition, select, walk)?);
    }
    if let Some(condition) = select.having.take() {
        select.having = Some(conjunction(condition, select, walk)?);
    }
    if let GroupByExpr::Expressions(keys, modifiers) = &select.group_by {
        let mut all = Vec::with_capacity(keys.len());
        for key in keys {
            all.extend(each(key, select, walk)?.map_or_else(|| vec![key.clone()], exprs));
        }
        select.group_by = GroupByExpr::Expressions(all, modifiers.clone());
    }
    Ok(())
}

fn exprs(list: Vec<(Found, Expr)>) -> Vec<Expr> {
    list.into_iter().map(|(_, expr)| expr).collect()
}

/// Replaces an item of a select list.
fn replace_item(
    item: SelectItem,
    select: &Select,
    walk: &mut Expander<'_>,
) -> Result<Vec<SelectItem>> {
    walk.probes.are_optional = options_of(&item).is_some_and(|it| it.opt_rename.is_none());
    match &item {
        SelectItem::Wildcard(options) if is_listed(&item) => {
            let columns = walk.columns_of(select.from.clone())?;
            let found = columns.map(|columns| list(columns, options, walk)).transpose()?;
            Ok(found.unwrap_or_else(|| vec![item.clone()]))
        }
        SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(name),
            options,
        ) if is_listed(&item) => {
            let columns = columns_of_name(name, select, walk)?;
            let found = columns.map(|columns| list(columns, options, walk)).transpose()?;
            Ok(found.unwrap_or_else(|| vec![item.clone()]))
        }
        SelectItem::UnnamedExpr(expr) => {
            let is_bare = call_of(expr).is_some();
            let named = |(column, expr): (Found, Expr)| match is_bare {
                true => shown(&column, expr),
                false => SelectItem::UnnamedExpr(expr),
            };
            let found = each(expr, select, walk)?;
            Ok(found.map_or_else(|| vec![item.clone()], |all| all.into_iter().map(named).collect()))
        }
        SelectItem::ExprWithAlias { expr, alias } => {
            let Some(found) = each(expr, select, walk)? else { return Ok(vec![item]) };
            if found.len() > 1 && !alias.value.contains(r"\0") {
                return Err(DialectError::Alias { alias: alias.value.clone() }.into());
            }
            let named = |(column, expr): (Found, Expr)| SelectItem::ExprWithAlias {
                expr,
                alias: Ident { value: alias.value.replace(r"\0", &column.name), ..alias.clone() },
            };
            Ok(found.into_iter().map(named).collect())
        }
        _ => Ok(vec![item]),
    }
}

/// Makes an item that is called as its column, also if that needs the name of its table.
fn shown(column: &Found, expr: Expr) -> SelectItem {
    match &expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => SelectItem::UnnamedExpr(expr),
        _ => SelectItem::ExprWithAlias { expr, alias: quoted(&column.name) },
    }
}

/// Applies the options of `*` to columns.
fn list(
    columns: Vec<Found>,
    options: &WildcardAdditionalOptions,
    walk: &Expander<'_>,
) -> Result<Vec<SelectItem>> {
    let excluded = excluded(options, walk);
    let renamed: Vec<(String, Ident)> = match &options.opt_rename {
        None => Vec::new(),
        Some(RenameSelectItem::Single(item)) => {
            vec![(walk.normal(&item.ident), item.alias.clone())]
        }
        Some(RenameSelectItem::Multiple(items)) => {
            items.iter().map(|item| (walk.normal(&item.ident), item.alias.clone())).collect()
        }
    };
    let replaced: Vec<(String, &Expr)> = options.opt_replace.as_ref().map_or_else(Vec::new, |it| {
        it.items.iter().map(|item| (walk.normal(&item.column_name), &item.expr)).collect()
    });
    for name in &excluded {
        if !columns.iter().any(|column| column.name == *name) {
            return Err(not_found(name, &columns));
        }
    }
    let kept: Vec<Found> =
        columns.into_iter().filter(|column| !excluded.contains(&column.name)).collect();
    for name in renamed.iter().map(|(name, _)| name).chain(replaced.iter().map(|(name, _)| name)) {
        if !kept.iter().any(|column| column.name == *name) {
            return Err(not_found(name, &kept));
        }
    }
    Ok(kept
        .iter()
        .map(|column| {
            let of = |name: &String| *name == column.name;
            let value = replaced.iter().find(|(name, _)| of(name)).map(|(_, expr)| (*expr).clone());
            let alias = renamed.iter().find(|(name, _)| of(name)).map(|(_, alias)| alias.clone());
            match (value, alias) {
                (None, None) => SelectItem::UnnamedExpr(column.expr()),
                (value, alias) => SelectItem::ExprWithAlias {
                    expr: value.unwrap_or_else(|| column.expr()),
                    alias: alias.unwrap_or_else(|| quoted(&column.name)),
                },
            }
        })
        .collect())
}

/// Returns the names after EXCLUDE or EXCEPT.
fn excluded(options: &WildcardAdditionalOptions, walk: &Expander<'_>) -> Vec<String> {
    let of_exclude: Vec<&Ident> = match &options.opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => last_part(name).into_iter().collect(),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(last_part).collect(),
    };
    let of_except = options.opt_except.iter().flat_map(|except| {
        std::iter::once(&except.first_element).chain(&except.additional_elements)
    });
    of_exclude.into_iter().chain(of_except).map(|ident| walk.normal(ident)).collect()
}

/// Makes `a AND b` of a condition for each column.
fn conjunction(condition: Expr, select: &Select, walk: &mut Expander<'_>) -> Result<Expr> {
    let Some(all) = each(&condition, select, walk)? else { return Ok(condition) };
    let nested = exprs(all).into_iter().map(|expr| Expr::Nested(Box::new(expr)));
    let and = |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    };
    Ok(nested.reduce(and).unwrap_or(condition))
}

/// Returns an expression for each column that its COLUMNS selects; nothing if it has none, or
/// while the columns are unknown.
fn each(
    expr: &Expr,
    select: &Select,
    walk: &mut Expander<'_>,
) -> Result<Option<Vec<(Found, Expr)>>> {
    struct Calls(Vec<Function>);
    impl Visitor for Calls {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.0.extend(call_of(expr).cloned());
            ControlFlow::Continue(())
        }
    }
    let mut calls = Calls(Vec::new());
    let _ = Visit::visit(expr, &mut calls);
    let Some(call) = calls.0.first() else { return Ok(None) };
    if calls.0.iter().any(|other| other.args != call.args) {
        return Err(DialectError::SeveralColumns.into());
    }
    let Some(columns) = selected(call, select, walk)? else { return Ok(None) };
    let with = |column: Found| {
        let mut expr = expr.clone();
        let _ = VisitMut::visit(&mut expr, &mut Column(&column));
        (column, expr)
    };
    Ok(Some(columns.into_iter().map(with).collect()))
}

/// Replaces calls by a column.
struct Column<'a>(&'a Found);

impl VisitorMut for Column<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if call_of(expr).is_some() {
            *expr = self.0.expr();
        }
        ControlFlow::Continue(())
    }
}

/// Returns the columns that a call of COLUMNS selects.
fn selected(
    call: &Function,
    select: &Select,
    walk: &mut Expander<'_>,
) -> Result<Option<Vec<Found>>> {
    let other = || DataFusionError::from(DialectError::Columns { found: arguments(call) });
    let FunctionArguments::List(args) = &call.args else { return Err(other()) };
    let [FunctionArg::Unnamed(argument)] = args.args.as_slice() else { return Err(other()) };
    if let FunctionArgExpr::QualifiedWildcard(name) = argument {
        return columns_of_name(name, select, walk);
    }
    let Some(columns) = walk.columns_of(select.from.clone())? else { return Ok(None) };
    match argument {
        FunctionArgExpr::Wildcard => Ok(Some(columns)),
        FunctionArgExpr::WildcardWithOptions(options)
            if options.opt_replace.is_none() && options.opt_rename.is_none() =>
        {
            let names = excluded(options, walk);
            for name in &names {
                if !columns.iter().any(|column| column.name == *name) {
                    return Err(not_found(name, &columns));
                }
            }
            Ok(Some(columns.into_iter().filter(|it| !names.contains(&it.name)).collect()))
        }
        FunctionArgExpr::Expr(expr) => match (text_of(expr), expr) {
            (Some(pattern), _) => matching(pattern, columns).map(Some),
            (None, Expr::Array(array)) => {
                let names = array.elem.iter().map(text_of).collect::<Option<Vec<_>>>();
                let names = names.ok_or_else(other)?;
                if let Some(name) =
                    names.iter().find(|name| !columns.iter().any(|it| it.name == **name))
                {
                    return Err(not_found(name, &columns));
                }
                // In the order of the table.
                let is_listed = |column: &Found| names.contains(&column.name.as_str());
                Ok(Some(columns.iter().filter(|column| is_listed(column)).cloned().collect()))
            }
            _ => Err(other()),
        },
        _ => Err(other()),
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn arguments(call: &Function) -> String {
    match &call.args {
        FunctionArguments::List(list) => list.to_string(),
        FunctionArguments::Subquery(_) => "SELECT ..".to_owned(),
        FunctionArguments::None => String::new(),
    }
}

/// Returns the columns of which a regular expression matches a part of the name.
fn matching(pattern: &str, columns: Vec<Found>) -> Result<Vec<Found>> {
    let names = StringArray::from_iter_values(columns.iter().map(|column| &column.name));
    let matches = regexp_is_match_scalar(&names, pattern, None).map_err(|error| {
        DialectError::Pattern { pattern: pattern.to_owned(), reason: error.to_string() }
    })?;
    let found: Vec<Found> = columns
        .iter()
        .zip(&matches)
        .filter(|(_, matches)| *matches == Some(true))
        .map(|(column, _)| column.clone())
        .collect();
    if found.is_empty() {
        let columns = columns.into_iter().map(|column| column.name).collect();
        return Err(DialectError::NoMatch { pattern: pattern.to_owned(), columns }.into());
    }
    Ok(found)
}

/// Returns the columns of `name.*`.
fn columns_of_name(
    name: &ObjectName,
    select: &Select,
    walk: &mut Expander<'_>,
) -> Result<Option<Vec<Found>>> {
    let item = SelectItem::QualifiedWildcard(
        SelectItemQualifiedWildcardKind::ObjectName(name.clone()),
        WildcardAdditionalOptions::default(),
    );
    let Some(all) = walk.columns_of(select.from.clone())? else { return Ok(None) };
    let own = walk.probes.columns(item, select.from.clone(), &walk.visible)?;
    // Among all tables a name may be ambiguous that is not among those of one.
    Ok(own.map(|own| own.into_iter().map(|column| column.among(&all)).collect()))
}
