// SPDX-License-Identifier: Apache-2.0
//! Evaluates the conjuncts of a predicate one after the other, each over the rows that those before
//! it kept.
//!
//! Conjuncts that cannot fail are ordered by cost and by the share of rows that they dropped so
//! far: first the one that drops most rows for its cost. The order is a function of the data, no
//! clock is involved, and it is renewed with each row group.

use std::sync::Arc;

use arrow::{array::Array, buffer::BooleanBuffer, datatypes::DataType};
use nearscan_command::{Fragment, Op, Operand, Program};

use super::{
    arrays::ColumnBuilder,
    batch::Batch,
    by_entry::ByEntry,
    conjuncts::{columns_of, split},
    error::ScanError,
    keys::JoinKeys,
    plan::{RowFilter, ScanPlan},
    tuples,
};
use crate::{
    chunk::ChunkReader, error::Stop, key_set::KeySet, program::Prepared, selection::Selection,
    vector::Vector,
};

/// The predicate of a scan.
#[derive(Debug)]
pub(super) struct Predicate {
    /// In the order of evaluation.
    conjuncts: Vec<Conjunct>,
    /// Columns that the output needs.
    is_output: Vec<bool>,
}

#[derive(Debug)]
struct Conjunct {
    test: Test,
    columns: Vec<usize>,
    /// If the entries of a dictionary decide it.
    by_entry: Option<ByEntry>,
    /// Cost of a row, relative to a comparison of a number with a constant.
    cost: f64,
    /// Whether it stays behind all that are before it.
    is_fixed: bool,
    /// Whether it is left out for the rest of the row group, because it drops too few rows.
    is_left_out: bool,
    /// Rows that it saw and kept.
    seen: u64,
    kept: u64,
}

#[derive(Debug)]
enum Test {
    Program(Prepared),
    Filter {
        filter: Arc<dyn RowFilter>,
        types: Vec<DataType>,
    },
    /// Of a join, over one column or several, once they are known; may be left out.
    Keys(Arc<JoinKeys>),
    /// Of a key filter of the fragment.
    Set(KeySet),
}

/// Cost of a test of strings, by row.
const STRING_COST: f64 = 4.0;

/// Cost of a look-up of a join's key.
const KEYS_COST: f64 = 3.0;

/// Cost of each further column of such a key.
const TUPLE_COST: f64 = 1.0;

/// Cost of reading a column that no conjunct before has read.
const READ_COST: f64 = 2.0;

/// Share of rows that an optional filter may keep: dropping one row in five saves as much as the
/// filter costs, and one in twenty as much as a look-up of its key.
const OPTIONAL_KEPT_MAX: f64 = 0.8;
const KEYS_KEPT_MAX: f64 = 0.95;

/// Rows of which that share is taken.
const OPTIONAL_SEEN_MIN: u64 = 4096;

/// Rows that count as seen before the first one: half of them kept, so that a few rows do not
/// decide.
const SEEN_BEFORE: f64 = 64.0;

impl Predicate {
    pub(super) fn new(plan: &ScanPlan, is_output: Vec<bool>) -> Self {
        let fragment = &plan.fragment;
        let programs = split(&fragment.predicate);
        let of_program = |program: &Program| {
            let test = Test::Program(Prepared::new(fragment, program));
            let columns = columns_of(program, fragment);
            let by_entry = ByEntry::of(program, fragment);
            Conjunct { by_entry, ..Conjunct::new(test, columns, cost_of(program, fragment)) }
        };
        let of_filter = |filter: &Arc<dyn RowFilter>| {
            let types = filter.columns().iter().map(|column| plan.types[*column].clone());
            let test = Test::Filter { filter: Arc::clone(filter), types: types.collect() };
            let conjunct = Conjunct::new(test, filter.columns().to_vec(), filter.cost());
            Conjunct { is_fixed: filter.is_fallible(), ..conjunct }
        };
        let of_keys = |(columns, keys): &(Vec<usize>, Arc<JoinKeys>)| {
            let further = columns.iter().skip(1).map(|_| TUPLE_COST).sum::<f64>();
            let test = Test::Keys(Arc::clone(keys));
            Conjunct::new(test, columns.clone(), KEYS_COST + further)
        };
        let mut conjuncts: Vec<Conjunct> = programs.iter().map(of_program).collect();
        conjuncts.extend(plan.filters.iter().map(of_filter));
        conjuncts.extend(plan.keys.iter().map(of_keys));
        conjuncts.extend(fragment.key_filters.iter().map(|filter| {
            let columns = vec![usize::from(filter.column)];
            Conjunct::new(Test::Set(KeySet::of(filter)), columns, KEYS_COST)
        }));
        // Those that can fail stay behind the others.
        conjuncts.sort_by_key(|conjunct| conjunct.is_fixed);
        Self { conjuncts, is_output }
    }

    /// The columns that it reads.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.conjuncts.iter().flat_map(|conjunct| conjunct.columns.iter().copied())
    }

    /// Whether it keeps every row.
    pub(super) const fn is_empty(&self) -> bool {
        self.conjuncts.is_empty()
    }

    /// Prepares for another row group, which has other dictionaries.
    pub(super) fn next_row_group(&mut self) {
        for conjunct in &mut self.conjuncts {
            conjunct.is_left_out = false;
            // What was seen long ago counts for less.
            conjunct.seen /= 2;
            conjunct.kept /= 2;
            if let Test::Program(program) = &mut conjunct.test {
                program.forget_dictionaries();
            }
            if let Some(by_entry) = &mut conjunct.by_entry {
                by_entry.forget();
            }
        }
        // Each run of conjuncts that may change places.
        for run in self.conjuncts.chunk_by_mut(|before, after| before.is_fixed == after.is_fixed) {
            if run.first().is_some_and(|first| !first.is_fixed) {
                order(run);
            }
        }
    }

    /// Drops the rows of a batch that it does not keep; reads the columns that it needs for that.
    pub(super) fn apply(
        &mut self,
        batch: &mut Batch,
        readers: &mut [Option<ChunkReader>],
    ) -> Result<(), ScanError> {
        for index in 0..self.conjuncts.len() {
            let rows = batch.len();
            if rows == 0 {
                return Ok(());
            }
            if self.conjuncts[index].is_idle() {
                continue;
            }
            if self.conjuncts[index].drops_coded(batch, readers)? {
                batch.drop_all();
                return Ok(());
            }
            for column in &self.conjuncts[index].columns {
                match &mut readers[*column] {
                    Some(reader) => batch.read(*column, reader)?,
                    None => return Err(ScanError::MissingBytes { column: *column }),
                }
            }
            let holds = self.conjuncts[index].holds(batch.columns(), rows)?;
            let kept = holds.count_set_bits();
            let conjunct = &mut self.conjuncts[index];
            conjunct.seen += rows as u64;
            conjunct.kept += kept as u64;
            conjunct.leave_out_if_useless();
            if kept < rows {
                let needed = self.needed_after(index);
                batch.keep(&Selection::of(&holds, kept, usize::MAX), &needed);
            }
        }
        Ok(())
    }

    /// Which columns the conjuncts behind `index` or the output need.
    fn needed_after(&self, index: usize) -> Vec<bool> {
        let mut needed = self.is_output.clone();
        for conjunct in &self.conjuncts[index + 1..] {
            conjunct.columns.iter().for_each(|column| needed[*column] = true);
        }
        needed
    }
}

impl Conjunct {
    /// One that may change its place, and has seen no row.
    fn new(test: Test, columns: Vec<usize>, cost: f64) -> Self {
        Self {
            test,
            columns,
            by_entry: None,
            cost,
            is_fixed: false,
            is_left_out: false,
            seen: 0,
            kept: 0,
        }
    }

    /// Whether it need not be evaluated at the moment.
    fn is_idle(&self) -> bool {
        match &self.test {
            Test::Program(_) | Test::Set(_) => false,
            Test::Filter { filter, .. } => self.is_left_out || filter.is_idle(),
            Test::Keys(keys) => self.is_left_out || keys.set().is_none(),
        }
    }

    fn leave_out_if_useless(&mut self) {
        let kept_max = match &self.test {
            Test::Filter { filter, .. } if filter.is_optional() => OPTIONAL_KEPT_MAX,
            Test::Keys(_) => KEYS_KEPT_MAX,
            Test::Program(_) | Test::Set(_) | Test::Filter { .. } => return,
        };
        self.is_left_out = self.seen >= OPTIONAL_SEEN_MIN && self.share_kept() > kept_max;
    }

    /// Whether it drops all rows of a batch by the dictionary of its column, which is then not
    /// read.
    fn drops_coded(
        &mut self,
        batch: &Batch,
        readers: &mut [Option<ChunkReader>],
    ) -> Result<bool, ScanError> {
        let (Some(by_entry), Test::Program(program)) = (&mut self.by_entry, &self.test) else {
            return Ok(false);
        };
        let column = by_entry.column;
        let Some(reader) = readers[column].as_mut().filter(|_| !batch.has_read(column)) else {
            return Ok(false);
        };
        let Some(dictionary) = reader.dictionary_ahead(batch.rows())? else { return Ok(false) };
        by_entry.learn(program, dictionary, batch.len());
        if by_entry.drops_all() {
            self.seen += batch.len() as u64;
        }
        Ok(by_entry.drops_all())
    }

    /// Which rows it keeps.
    fn holds(&self, columns: &[Vector], rows: usize) -> Result<BooleanBuffer, ScanError> {
        match &self.test {
            Test::Program(program) => {
                let by_entry = self.by_entry.as_ref().and_then(|it| it.holds(columns));
                if let Some(holds) = by_entry {
                    return Ok(holds);
                }
                let mut steps = program.run(columns, rows)?;
                match steps.pop() {
                    Some(Vector::Truth(verdict)) => Ok(verdict.is_true),
                    _ => Err(Stop::status(nearscan_command::Status::Malformed).into()),
                }
            }
            Test::Keys(keys) => Ok(match keys.set() {
                Some(set) => match self.columns.as_slice() {
                    [column] => set.holds(&columns[*column], rows),
                    several => {
                        let several: Vec<_> = several.iter().map(|it| &columns[*it]).collect();
                        tuples::holds(set, &several, rows)
                    }
                },
                None => BooleanBuffer::new_set(rows),
            }),
            Test::Set(set) => Ok(set.passes(&columns[self.columns[0]], rows)),
            Test::Filter { filter, types } => {
                let array = |(column, data_type): (&usize, &DataType)| {
                    let mut builder = ColumnBuilder::new(data_type);
                    builder.append(&columns[*column], rows)?;
                    builder.finish()
                };
                let arrays = self.columns.iter().zip(types).map(array);
                let arrays = arrays.collect::<Result<Vec<_>, ScanError>>()?;
                let verdict = filter.evaluate(arrays, rows).map_err(ScanError::Filter)?;
                let (is_true, nulls) = (verdict.values().clone(), verdict.nulls());
                Ok(match nulls {
                    None => is_true,
                    Some(nulls) => &is_true & nulls.inner(),
                })
            }
        }
    }

    /// The share of rows that it keeps.
    fn share_kept(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
        let (kept, seen) = (self.kept as f64, self.seen as f64);
        (kept + SEEN_BEFORE / 2.0) / (seen + SEEN_BEFORE)
    }
}

/// Orders conjuncts so that the next one is always the one that drops most rows for its cost, where
/// reading a column that was read already is free.
fn order(conjuncts: &mut [Conjunct]) {
    let mut read: Vec<usize> = Vec::new();
    for first in 0..conjuncts.len() {
        let rank = |conjunct: &Conjunct| {
            let reads = conjunct.columns.iter().filter(|column| !read.contains(column)).count();
            #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
            let cost = conjunct.cost + READ_COST * reads as f64;
            (1.0 - conjunct.share_kept()) / cost
        };
        let ranks = conjuncts[first..].iter().map(rank).enumerate();
        // Of equals the first one, so that the order is stable.
        let best = ranks.fold((0, f64::MIN), |best, (index, rank)| match rank > best.1 {
            true => (index, rank),
            false => best,
        });
        conjuncts[first..=first + best.0].rotate_right(1);
        read.extend(&conjuncts[first].columns);
    }
}

fn cost_of(program: &Program, fragment: &Fragment) -> f64 {
    let cost = |op: Op, operand: Operand| match (op, operand) {
        (Op::Test, Operand::Test(test)) if usize::from(test) < fragment.tests.len() => STRING_COST,
        _ => 1.0,
    };
    program.steps.iter().map(|step| cost(step.op, step.a)).sum()
}
