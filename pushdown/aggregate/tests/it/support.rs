// SPDX-License-Identifier: Apache-2.0
//! Groups tables by the crate, and by a map.

use std::{
    collections::BTreeMap,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::FileExt,
    sync::Arc,
};

use arrow::{
    array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, UInt64Array},
    compute::cast,
    datatypes::{DataType, Decimal128Type, Float64Type},
    util::display::array_value_to_string,
};
use nearscan_aggregate::{
    Blocks, Collector, Fold, Groups, KeyLayout, Limits, Merger, Shape, SpillReader, State, Step,
    Values, write_blocks,
};

/// A table: key columns, then arguments.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) keys: Vec<ArrayRef>,
    pub(crate) arguments: Vec<ArrayRef>,
}

/// What is done with a table.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) states: Vec<State>,
    pub(crate) outputs: usize,
    pub(crate) collectors: usize,
    pub(crate) batch_rows: usize,
    /// Of so many batches each, the rows are written to a file.
    pub(crate) spills_after: Option<usize>,
    /// Bytes that a merger may hold.
    pub(crate) memory_bytes: usize,
    pub(crate) limits: Limits,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            outputs: 3,
            collectors: 2,
            batch_rows: 8192,
            spills_after: None,
            memory_bytes: usize::MAX,
            limits: Limits::default(),
        }
    }
}

/// Limits that a few thousand rows reach.
pub(crate) fn small_limits() -> Limits {
    Limits {
        table_groups: 500,
        untried_rows: 5000,
        block_rows: 3000,
        section_rows: 70,
        merged_rows: 100,
    }
}

/// Groups by the texts of their keys; the states as texts.
pub(crate) type Answer = BTreeMap<Vec<String>, Vec<String>>;

#[derive(Debug)]
struct Spill(File);

impl SpillReader for Spill {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

fn text(array: &ArrayRef, row: usize) -> String {
    match array.is_null(row) {
        true => "NULL".to_owned(),
        false => format!("'{}'", array_value_to_string(array, row).expect("a value has a text")),
    }
}

fn key(keys: &[ArrayRef], row: usize) -> Vec<String> {
    keys.iter().map(|array| text(array, row)).collect()
}

pub(crate) fn layout_of(keys: &[ArrayRef]) -> KeyLayout {
    let types = keys.iter().map(|array| (array.data_type().clone(), array.is_nullable()));
    KeyLayout::new(types).expect("the types of the keys are packed")
}

/// The groups that the crate makes.
pub(crate) fn grouped(table: &Table, layout: KeyLayout, job: &Job) -> Answer {
    grouped_in_steps(table, layout, job).0
}

/// The groups, and the number of steps in which they came out.
pub(crate) fn grouped_in_steps(table: &Table, layout: KeyLayout, job: &Job) -> (Answer, usize) {
    let shape =
        Arc::new(Shape::new(layout, job.states.clone(), job.outputs).with_limits(job.limits));
    let mut collectors: Vec<Collector> =
        (0..job.collectors).map(|_| Collector::new(Arc::clone(&shape))).collect();
    let rows = table.keys[0].len();
    let mut spilled = Vec::new();
    let (mut file, mut end) = (tempfile::tempfile().expect("a file"), 0);
    for (number, start) in (0..rows).step_by(job.batch_rows).enumerate() {
        let length = job.batch_rows.min(rows - start);
        let slice = |arrays: &[ArrayRef]| -> Vec<ArrayRef> {
            arrays.iter().map(|array| array.slice(start, length)).collect()
        };
        let keys = slice(&table.keys);
        let hash = |row: usize| {
            let mut hasher = DefaultHasher::new();
            key(&keys, row).hash(&mut hasher);
            hasher.finish()
        };
        let hashes: Vec<u64> = (0..length).map(hash).collect();
        let collector = &mut collectors[number % job.collectors];
        collector.push(&keys, &hashes, &slice(&table.arguments)).expect("the types are right");
        if job.spills_after.is_some_and(|batches| number % batches == batches - 1) {
            let blocks = collector.take_blocks();
            let reader = Arc::new(Spill(file.try_clone().expect("a file")));
            let some = write_blocks(&shape, &blocks, &mut file, end, reader);
            let some = some.expect("it is written");
            end += some.file_bytes();
            spilled.push(some);
        }
    }
    let blocks = collectors.iter_mut().flat_map(Collector::take_blocks).collect();
    let blocks = Arc::new(Blocks::new(Arc::clone(&shape), blocks, spilled));
    let mut answer = Answer::new();
    let mut steps = 0;
    for output in 0..job.outputs {
        let mut merger = Merger::new(Arc::clone(&blocks), output);
        let may_hold = &mut |bytes| bytes <= job.memory_bytes;
        loop {
            let groups = match merger.step(may_hold).expect("blocks can be merged") {
                Step::Rows => continue,
                Step::Groups(groups) => groups,
                Step::Done => break,
            };
            steps += 1;
            add_groups(&mut answer, &groups, table, &job.states);
        }
    }
    (answer, steps)
}

/// Adds groups of a table to an answer.
pub(crate) fn add_groups(answer: &mut Answer, groups: &Groups, table: &Table, states: &[State]) {
    let keys = groups.keys(0..groups.len()).expect("keys have arrays");
    let states = states.iter().enumerate().map(|(place, state)| {
        let argument = table.arguments.get(state.argument);
        let data_type = type_of(state, argument.map(|array| array.data_type()));
        groups.state(place, None, 0..groups.len(), &data_type).expect("states have arrays")
    });
    let states: Vec<ArrayRef> = states.collect();
    for row in 0..groups.len() {
        let states = states.iter().map(|array| text(array, row)).collect();
        let before = answer.insert(key(&keys, row), states);
        assert_eq!(before, None, "a group is there once");
    }
}

fn type_of(state: &State, argument: Option<&DataType>) -> DataType {
    match (state.fold, argument) {
        (Fold::CountRows | Fold::Count, _) | (_, None) => DataType::Int64,
        (_, Some(argument)) => argument.clone(),
    }
}

/// The groups that a map makes.
pub(crate) fn expected(table: &Table, states: &[State]) -> Answer {
    let mut rows: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for row in 0..table.keys[0].len() {
        rows.entry(key(&table.keys, row)).or_default().push(row);
    }
    let mut answer = Answer::new();
    for state in states {
        let values = Numbers::of(state, table.arguments.get(state.argument));
        for (key, rows) in &rows {
            answer.entry(key.clone()).or_default().push(values.folded(state, rows));
        }
    }
    answer
}

/// The values of an argument.
enum Numbers<'a> {
    None,
    Floats(Vec<Option<f64>>),
    Integers(Vec<Option<i128>>, &'a DataType),
}

impl<'a> Numbers<'a> {
    fn of(state: &State, argument: Option<&'a ArrayRef>) -> Self {
        let (false, Some(array)) = (state.fold == Fold::CountRows, argument) else {
            return Self::None;
        };
        if state.values == Values::F64 {
            return Self::Floats(array.as_primitive::<Float64Type>().iter().collect());
        }
        let wide = DataType::Decimal128(38, 0);
        let values = match array.data_type() {
            DataType::Decimal128(..) => Arc::clone(array),
            DataType::Date32 => {
                cast(&cast(array, &DataType::Int32).expect("days"), &wide).expect("numbers")
            }
            _ => cast(array, &wide).expect("integers are decimals"),
        };
        let values = values.as_primitive::<Decimal128Type>().iter().collect();
        Self::Integers(values, array.data_type())
    }

    fn folded(&self, state: &State, rows: &[usize]) -> String {
        match (self, state.fold) {
            (Self::None, _) => format!("'{}'", rows.len()),
            (Self::Floats(values), Fold::Count) => {
                format!("'{}'", rows.iter().filter(|row| values[**row].is_some()).count())
            }
            (Self::Integers(values, _), Fold::Count) => {
                format!("'{}'", rows.iter().filter(|row| values[**row].is_some()).count())
            }
            (Self::Floats(values), _) => {
                let sum: f64 = rows.iter().filter_map(|row| values[*row]).fold(0.0, |a, b| a + b);
                text(&(Arc::new(Float64Array::from(vec![sum])) as _), 0)
            }
            (Self::Integers(values, data_type), fold) => {
                let numbers = rows.iter().filter_map(|row| values[*row]);
                let bounds = match state.values {
                    Values::I64 | Values::F64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
                    Values::U64 => (0, i128::from(u64::MAX)),
                    Values::I128 => (i128::MIN, i128::MAX),
                };
                let number = match fold {
                    Fold::Min => numbers.fold(bounds.1, i128::min),
                    Fold::Max => numbers.fold(bounds.0, i128::max),
                    _ => numbers.fold(0, i128::wrapping_add),
                };
                shown(number, data_type)
            }
        }
    }
}

/// A number as an array of the type shows it; integers beyond it have wrapped.
#[expect(clippy::cast_possible_truncation, reason = "sums wrap")]
fn shown(number: i128, data_type: &DataType) -> String {
    let array: ArrayRef = match data_type {
        DataType::Decimal128(..) => {
            Arc::new(Decimal128Array::from(vec![number]).with_data_type(data_type.clone()))
        }
        DataType::UInt64 => Arc::new(UInt64Array::from(vec![number.cast_unsigned() as u64])),
        _ => {
            let array = Int64Array::from(vec![number as i64]);
            let array = match data_type {
                DataType::Date32 => cast(&array, &DataType::Int32).expect("days are 32 bits"),
                _ => Arc::new(array) as ArrayRef,
            };
            cast(&array, data_type).expect("the number is of the type")
        }
    };
    text(&array, 0)
}

/// All states over arguments of these kinds.
pub(crate) fn states_over(values: &[Values]) -> Vec<State> {
    let mut states = vec![State { fold: Fold::CountRows, argument: 0, values: Values::I64 }];
    for (argument, values) in values.iter().enumerate() {
        let state = |fold| State { fold, argument, values: *values };
        states.extend([Fold::Count, Fold::Sum].map(state));
        if *values != Values::F64 {
            states.extend([Fold::Min, Fold::Max].map(state));
        }
    }
    states
}
