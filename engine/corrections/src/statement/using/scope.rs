// SPDX-License-Identifier: Apache-2.0
//! Holds the columns of FROM, in which names of a query are resolved.

use datafusion::{
    common::{Result, plan_err},
    sql::sqlparser::ast::{
        BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
        ObjectNamePart, Select, TableAlias, TableFactor, TableWithJoins,
    },
};

use crate::statement::call;

/// A column that a bare name may refer to.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Its name in the schema.
    pub(super) name: String,
    /// The column with its qualifier.
    pub(super) expr: Expr,
    /// Whether it is the merged column of both sides of a join.
    pub(super) is_merged: bool,
}

/// The columns of FROM, in the order of `*`.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<Column>,
    /// Whether a column is not that of the left side of its joins, so that constraints and `*` are
    /// expanded.
    pub(super) is_rewritten: bool,
}

/// The resolution of a bare name.
pub(super) enum Meaning<'a> {
    /// The scope has no such column.
    Unknown,
    /// A column of one table, or of several; DataFusion resolves it, or reports the ambiguity.
    Plain,
    /// The column of a join.
    Merged(&'a Column),
    /// The column of a join, and one of another table.
    Ambiguous,
}

impl Scope {
    /// Resolves a name.
    pub(super) fn meaning(&self, name: &str) -> Meaning<'_> {
        let mut found = self.columns.iter().filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (None, _) => Meaning::Unknown,
            (Some(column), None) if column.is_merged => Meaning::Merged(column),
            (Some(column), Some(other)) if column.is_merged || other.is_merged => {
                Meaning::Ambiguous
            }
            (Some(_), _) => Meaning::Plain,
        }
    }

    /// Adds the columns of another FROM item.
    pub(super) fn add(&mut self, other: Self) {
        self.columns.extend(other.columns);
        self.is_rewritten |= other.is_rewritten;
    }

    /// Joins these columns with those on the right, and returns the condition of the join.
    ///
    /// # Errors
    /// If a column of USING is missing or ambiguous.
    pub(super) fn join(&mut self, join: &Join, right: Self) -> Result<Option<Expr>> {
        let kind = Kind::of(&join.join_operator);
        let names = match constraint_of(&join.join_operator) {
            Some(JoinConstraint::Using(names)) => names.iter().filter_map(last_name).collect(),
            Some(JoinConstraint::Natural) => self.common(&right),
            _ => Vec::new(),
        };
        self.is_rewritten |= right.is_rewritten;
        let mut equalities = Vec::new();
        for name in &names {
            let (left_at, right_at) = (self.position(name)?, right.position(name)?);
            let (left, other) = (&self.columns[left_at].expr, &right.columns[right_at].expr);
            equalities.push(Expr::BinaryOp {
                left: Box::new(left.clone()),
                op: BinaryOperator::Eq,
                right: Box::new(other.clone()),
            });
            let expr = match kind {
                Kind::Inner | Kind::Left | Kind::LeftHalf => left.clone(),
                Kind::Right | Kind::RightHalf => other.clone(),
                Kind::Full => call("coalesce", [left.clone(), other.clone()]),
            };
            self.is_rewritten |= matches!(kind, Kind::Right | Kind::RightHalf | Kind::Full);
            self.columns[left_at] =
                Column { expr, is_merged: true, ..self.columns[left_at].clone() };
        }
        let is_other = |column: &Column| !names.contains(&column.name);
        match kind {
            Kind::LeftHalf => {}
            Kind::RightHalf => self.columns = right.columns,
            Kind::Inner | Kind::Left | Kind::Right | Kind::Full => {
                self.columns.extend(right.columns.into_iter().filter(is_other));
            }
        }
        let and = |left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        };
        Ok(equalities.into_iter().reduce(and))
    }

    /// Returns the names that both have, in the order of the left.
    fn common(&self, right: &Self) -> Vec<String> {
        let is_common = |name: &&String| right.columns.iter().any(|column| column.name == **name);
        self.columns.iter().map(|column| &column.name).filter(is_common).cloned().collect()
    }

    fn position(&self, name: &str) -> Result<usize> {
        let mut found = self.columns.iter().enumerate().filter(|(_, column)| column.name == name);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => plan_err!("column '{name}' of USING is not on both sides of the join"),
            (Some(_), Some(_)) => plan_err!("column '{name}' of USING is ambiguous"),
        }
    }
}

/// Which rows a join keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Inner,
    Left,
    Right,
    Full,
    /// Semi- and anti-joins have the columns of one side.
    LeftHalf,
    RightHalf,
}

impl Kind {
    const fn of(operator: &JoinOperator) -> Self {
        match operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => Self::Left,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Self::Right,
            JoinOperator::FullOuter(_) => Self::Full,
            JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_) => Self::LeftHalf,
            JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => Self::RightHalf,
            _ => Self::Inner,
        }
    }
}

/// Returns the constraint of a join.
pub(super) const fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator as Op;
    match operator {
        Op::Join(constraint)
        | Op::Inner(constraint)
        | Op::Left(constraint)
        | Op::LeftOuter(constraint)
        | Op::Right(constraint)
        | Op::RightOuter(constraint)
        | Op::FullOuter(constraint)
        | Op::CrossJoin(constraint)
        | Op::Semi(constraint)
        | Op::LeftSemi(constraint)
        | Op::RightSemi(constraint)
        | Op::Anti(constraint)
        | Op::LeftAnti(constraint)
        | Op::RightAnti(constraint)
        | Op::StraightJoin(constraint)
        | Op::AsOf { constraint, .. } => Some(constraint),
        Op::CrossApply
        | Op::OuterApply
        | Op::ArrayJoin
        | Op::LeftArrayJoin
        | Op::InnerArrayJoin => None,
    }
}

/// Returns the constraint of a join for mutation.
pub(super) const fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator as Op;
    match operator {
        Op::Join(constraint)
        | Op::Inner(constraint)
        | Op::Left(constraint)
        | Op::LeftOuter(constraint)
        | Op::Right(constraint)
        | Op::RightOuter(constraint)
        | Op::FullOuter(constraint)
        | Op::CrossJoin(constraint)
        | Op::Semi(constraint)
        | Op::LeftSemi(constraint)
        | Op::RightSemi(constraint)
        | Op::Anti(constraint)
        | Op::LeftAnti(constraint)
        | Op::RightAnti(constraint)
        | Op::StraightJoin(constraint)
        | Op::AsOf { constraint, .. } => Some(constraint),
        Op::CrossApply
        | Op::OuterApply
        | Op::ArrayJoin
        | Op::LeftArrayJoin
        | Op::InnerArrayJoin => None,
    }
}

/// Returns all joins of a query, also those in parentheses.
pub(super) fn joins_of(select: &Select) -> Vec<&Join> {
    let mut joins = Vec::new();
    select.from.iter().for_each(|table| add_joins(table, &mut joins));
    joins
}

fn add_joins<'a>(table: &'a TableWithJoins, joins: &mut Vec<&'a Join>) {
    joins.extend(&table.joins);
    let factors = table.joins.iter().map(|join| &join.relation).chain([&table.relation]);
    for factor in factors {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            add_joins(table_with_joins, joins);
        }
    }
}

/// Returns the qualifier of a table's columns; nothing if the table has no name.
pub(super) fn qualifier(table: &TableFactor) -> Option<Vec<Ident>> {
    match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::TableFunction { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(vec![alias.name.clone()]),
        TableFactor::Table { name, alias: None, args: None, .. } => {
            Some(name.0.iter().filter_map(ObjectNamePart::as_ident).cloned().collect())
        }
        _ => None,
    }
}

/// Returns the alias of a table for mutation.
pub(super) const fn alias_mut(table: &mut TableFactor) -> Option<&mut Option<TableAlias>> {
    match table {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => Some(alias),
        _ => None,
    }
}

/// Returns the last part of a name, as in schemas.
fn last_name(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(ObjectNamePart::as_ident).map(normal)
}

/// Normalises a name as in schemas: names without quotes are folded to lower case.
pub(super) fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}
