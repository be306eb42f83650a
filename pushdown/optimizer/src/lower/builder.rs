// SPDX-License-Identifier: Apache-2.0
//! Implements [`FragmentBuilder`], which collects the columns, literals and steps of expressions.

use arrow::datatypes::Schema;
use nearscan_command::{
    Aggregate, Column, Fragment, Key, Op, Operand, Output, Program, RowColumn, Step, StringTest,
    TestOp, Top, limits, pattern,
};

use crate::{
    decision::{KeepReason, Kept},
    lower::{
        Lowered,
        order::order,
        ranges::{Conjunct, join_bounds, sweep},
        steps::index,
        types::column_kind,
    },
};

/// Which program a step goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Evaluated for every row.
    Predicate,
    /// Evaluated for kept rows.
    Projection,
}

/// A fragment under construction. Until it is finished, everything in it is only appended to.
#[derive(Debug)]
pub(crate) struct FragmentBuilder<'a> {
    /// The table: file columns, then partition columns.
    schema: &'a Schema,
    file_columns: usize,
    columns: Vec<Column>,
    predicate: Vec<Step>,
    projection: Vec<Step>,
    literals: Vec<i128>,
    tests: Vec<StringTest>,
    /// Conjuncts of the predicate, joined when the fragment is finished.
    verdicts: Vec<Operand>,
    /// Whether the limits of the command format apply.
    bounds: Bounds,
}

/// The limits of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// Those of the command format.
    Command,
    /// Those of its numbers of columns, literals, tests and steps.
    Numbers,
}

impl<'a> FragmentBuilder<'a> {
    /// Makes an empty fragment over a table whose first `file_columns` columns are in the files.
    pub(crate) fn new(schema: &'a Schema, file_columns: usize) -> Self {
        Self {
            schema,
            file_columns,
            columns: Vec::new(),
            predicate: Vec::new(),
            projection: Vec::new(),
            literals: Vec::new(),
            tests: Vec::new(),
            verdicts: Vec::new(),
            bounds: Bounds::Command,
        }
    }

    /// Makes an empty fragment for the host, to which the limits of commands do not apply.
    pub(crate) fn for_host(schema: &'a Schema, file_columns: usize) -> Self {
        Self { bounds: Bounds::Numbers, ..Self::new(schema, file_columns) }
    }

    /// Makes a builder from a finished fragment, to narrow its predicate.
    pub(crate) fn narrowing(fragment: &Fragment, schema: &'a Schema, file_columns: usize) -> Self {
        let verdicts = match fragment.predicate.steps.len() {
            0 => vec![],
            count => vec![Operand::Step(index(count - 1))],
        };
        Self {
            schema,
            file_columns,
            columns: fragment.columns.clone(),
            predicate: fragment.predicate.steps.clone(),
            projection: fragment.projection.steps.clone(),
            literals: fragment.literals.clone(),
            tests: fragment.tests.clone(),
            verdicts,
            bounds: Bounds::Command,
        }
    }

    /// Does `work`; when it fails, the builder is as it was before.
    pub(crate) fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        let columns = self.columns.len();
        let (predicate, projection) = (self.predicate.len(), self.projection.len());
        let (literals, tests) = (self.literals.len(), self.tests.len());
        let verdicts = self.verdicts.len();
        work(self).inspect_err(|_| {
            self.columns.truncate(columns);
            self.predicate.truncate(predicate);
            self.projection.truncate(projection);
            self.literals.truncate(literals);
            self.tests.truncate(tests);
            self.verdicts.truncate(verdicts);
        })
    }

    /// The table's schema.
    pub(crate) fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// Which of the folder's values a table's column is; nothing when it is in the files.
    pub(crate) fn folder_column(&self, table_index: usize) -> Option<usize> {
        table_index.checked_sub(self.file_columns)
    }

    /// The operand of a table's column; the fragment reads it from now on.
    pub(crate) fn column(&mut self, table_index: usize) -> Lowered<u16> {
        let field = self.schema.fields().get(table_index).ok_or_else(|| {
            Kept::new(KeepReason::Expression, format!("column {table_index} of the table"))
        })?;
        if table_index >= self.file_columns {
            let detail = format!("column {} is not in the files", field.name());
            return Err(Kept::new(KeepReason::ScanOption, detail));
        }
        let kind = column_kind(field)?;
        if let Some(at) = self.columns.iter().position(|column| column.name == *field.name()) {
            return Ok(index(at));
        }
        self.room(self.columns.len(), limits::COLUMNS_MAX, "columns")?;
        self.columns.push(Column::new(field.name().clone(), kind));
        Ok(index(self.columns.len() - 1))
    }

    /// The operand of a number.
    pub(crate) fn literal(&mut self, value: i128) -> Lowered<Operand> {
        if let Some(at) = self.literals.iter().position(|other| *other == value) {
            return Ok(Operand::Literal(index(at)));
        }
        self.room(self.literals.len(), limits::LITERALS_MAX, "literals")?;
        self.literals.push(value);
        Ok(Operand::Literal(index(self.literals.len() - 1)))
    }

    /// The number of a literal operand.
    pub(crate) fn literal_value(&self, operand: Operand) -> Option<i128> {
        match operand {
            Operand::Literal(index) => self.literals.get(usize::from(index)).copied(),
            _ => None,
        }
    }

    /// Literals that stand one after the other; the numbers of the first and the last.
    pub(crate) fn literal_run(&mut self, values: &[i128]) -> Lowered<(u16, u16)> {
        let first = self.literals.len();
        let count = first + values.len().max(1) - 1;
        self.room(count, limits::LITERALS_MAX, "literals")?;
        self.literals.extend_from_slice(values);
        Ok((index(first), index(self.literals.len() - 1)))
    }

    /// Columns with string tests so far, but for this one.
    fn tested_columns_beside(&self, column: u16) -> usize {
        let tested = |at: &u16| *at != column && self.tests.iter().any(|test| test.column == *at);
        (0..index(self.columns.len())).filter(tested).count()
    }

    /// The patterns of LIKE on a column so far.
    fn patterns_of(&self, column: u16) -> usize {
        let is_pattern = |test: &&StringTest| test.column == column && test.op == TestOp::Like;
        self.tests.iter().filter(is_pattern).count()
    }

    /// The outcome of a string test, as a truth value.
    pub(crate) fn test(
        &mut self,
        target: Target,
        column: u16,
        op: TestOp,
        strings: Vec<Vec<u8>>,
    ) -> Lowered<Operand> {
        let is_bounded = self.bounds == Bounds::Command;
        let long = strings.iter().find(|text| text.len() > limits::STRING_BYTES_MAX as usize);
        if let Some(text) = long.filter(|_| is_bounded) {
            let detail = format!("a string literal of {} bytes", text.len());
            return Err(Kept::new(KeepReason::Expression, detail));
        }
        let places =
            |text: &Vec<u8>| text.iter().filter(|item| **item != pattern::ANY).count() as u64;
        let places_max = u64::from(limits::PATTERN_PLACES_MAX);
        if is_bounded && op == TestOp::Like && strings.iter().any(|text| places(text) > places_max)
        {
            let detail = format!("a pattern of more than {places_max} places");
            return Err(Kept::new(KeepReason::Expression, detail));
        }
        let test = StringTest { column, op, strings };
        let at = match self.tests.iter().position(|other| *other == test) {
            Some(at) => at,
            None => {
                self.room(self.tests.len(), limits::TESTS_MAX, "string tests")?;
                let others = self.tested_columns_beside(column);
                self.room(others, limits::TEST_COLUMNS_MAX, "columns with string tests")?;
                if test.op == TestOp::Like {
                    let patterns = self.patterns_of(column);
                    self.room(patterns, limits::PATTERNS_PER_COLUMN_MAX, "patterns of a column")?;
                }
                self.tests.push(test);
                self.tests.len() - 1
            }
        };
        self.step(target, Step::test(index(at)))
    }

    /// The value of a step; an equal step is used again.
    pub(crate) fn step(&mut self, target: Target, step: Step) -> Lowered<Operand> {
        let steps = match target {
            Target::Predicate => &self.predicate,
            Target::Projection => &self.projection,
        };
        if let Some(at) = steps.iter().position(|other| *other == step) {
            return Ok(Operand::Step(index(at)));
        }
        self.room(steps.len(), limits::STEPS_MAX, "steps")?;
        let steps = match target {
            Target::Predicate => &mut self.predicate,
            Target::Projection => &mut self.projection,
        };
        steps.push(step);
        Ok(Operand::Step(index(steps.len() - 1)))
    }

    /// Adds a conjunct to the predicate.
    pub(crate) fn keep_where(&mut self, verdict: Operand) {
        self.verdicts.push(verdict);
    }

    /// The fragment with aggregate states as its output.
    pub(crate) fn states(self, keys: Vec<Key>, aggregates: Vec<Aggregate>) -> Lowered<Fragment> {
        self.finish(Output::States { keys, aggregates })
    }

    /// The fragment with rows as its output.
    pub(crate) fn rows(self, columns: Vec<RowColumn>, limit: Option<u64>) -> Lowered<Fragment> {
        self.finish(Output::Rows { columns, limit, top: None })
    }

    /// The fragment with rows as its output, of them those that can be among the first.
    pub(crate) fn top_rows(self, columns: Vec<RowColumn>, top: Top) -> Lowered<Fragment> {
        self.finish(Output::Rows { columns, limit: None, top: Some(top) })
    }

    /// The fragment with this output.
    pub(crate) fn finish(mut self, output: Output) -> Lowered<Fragment> {
        let verdicts = std::mem::take(&mut self.verdicts);
        if !verdicts.is_empty() {
            let verdict = self.conjunction(Target::Predicate, &verdicts)?;
            self.end_with(verdict)?;
        }
        let mut fragment = Fragment {
            columns: self.columns,
            predicate: Program::new(self.predicate),
            projection: Program::new(self.projection),
            literals: self.literals,
            tests: self.tests,
            key_filters: vec![],
            output,
        };
        order(&mut fragment);
        match fragment.check() {
            _ if self.bounds == Bounds::Numbers => Ok(fragment),
            Ok(()) => Ok(fragment),
            Err(error) => Err(Kept::new(KeepReason::Expression, error.to_string())),
        }
    }

    /// The AND of truth values, of which there is one at least.
    pub(crate) fn conjunction(&mut self, target: Target, verdicts: &[Operand]) -> Lowered<Operand> {
        // Joined bounds leave unused steps, which are removed from a predicate only, and a range
        // needs two literals.
        let has_room = self.bounds == Bounds::Numbers
            || self.literals.len() + 2 * verdicts.len() <= limits::LITERALS_MAX as usize;
        let conjuncts = match target {
            Target::Predicate if has_room => join_bounds(&self.predicate, &self.literals, verdicts),
            _ => verdicts.iter().copied().map(Conjunct::Verdict).collect(),
        };
        let mut all = None;
        for conjunct in conjuncts {
            let next = match conjunct {
                Conjunct::Verdict(verdict) => verdict,
                Conjunct::Between { of, low, high } => {
                    let (low, high) = (self.literal(low)?, self.literal(high)?);
                    self.step(target, Step::between(of, low, high))?
                }
            };
            all = Some(match all {
                None => next,
                Some(before) => self.step(target, Step::compare(Op::And, before, next))?,
            });
        }
        Ok(all.unwrap_or(Operand::Null))
    }

    /// Returns a truth value with FALSE in place of NULL.
    pub(crate) fn two_valued(&mut self, target: Target, truth: Operand) -> Lowered<Operand> {
        let known = self.step(target, Step::unary(Op::IsNotNull, truth))?;
        self.step(target, Step::compare(Op::And, known, truth))
    }

    /// Makes `verdict` the last step of the predicate, which keeps no other than those it needs.
    fn end_with(&mut self, verdict: Operand) -> Lowered<()> {
        sweep(&mut self.predicate, verdict);
        if !matches!(verdict, Operand::Step(_)) {
            self.room(self.predicate.len(), limits::STEPS_MAX, "steps")?;
            // `v AND v` is v, and a step.
            self.predicate.push(Step::compare(Op::And, verdict, verdict));
        }
        Ok(())
    }

    fn room(&self, count: usize, limit: u32, what: &str) -> Lowered<()> {
        let limit = match self.bounds {
            Bounds::Command => limit,
            Bounds::Numbers => u32::from(u16::MAX),
        };
        if (count as u64) < u64::from(limit) {
            Ok(())
        } else {
            let detail = format!("more than {limit} {what}");
            Err(Kept::new(KeepReason::Expression, detail))
        }
    }
}
