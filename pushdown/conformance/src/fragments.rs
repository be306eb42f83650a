// SPDX-License-Identifier: Apache-2.0
//! Generates random fragments over random data.

use nearscan_command::{
    Aggregate, Column, Fragment, Function, Key, KeyBits, KeyFilter, Op, Operand, Output,
    PhysicalType, Program, RowColumn, Step, StringTest, TestOp, Top, Value, ValueKind, Width,
    limits,
    pattern::{ANY, ONE},
};

use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
    random::Random,
    tables::random_column,
};

/// A case made of `random`; `seed` is part of its name.
pub(crate) fn random_case(random: &mut Random, seed: u64) -> Case {
    let rows = random.pick(&[0, 1, 7, 60, 300, 1023, 1024, 1025, 2500]);
    let columns = (0..1 + random.below(6)).map(|_| random_column(random, rows)).collect();
    let table = Table { columns, rows };
    let fragment = Maker::new(random, &table).fragment();
    Case::new(format!("seed {seed}"), table, fragment)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
    Bytes,
}

/// Makes one fragment.
struct Maker<'a> {
    random: &'a mut Random,
    table: &'a Table,
    columns: Vec<(Operand, Kind)>,
    literals: Vec<i128>,
    tests: Vec<StringTest>,
}

const NUMERIC: [Width; 3] = [Width::W32, Width::W64, Width::W128];

impl<'a> Maker<'a> {
    fn new(random: &'a mut Random, table: &'a Table) -> Self {
        let columns = (0..)
            .zip(&table.columns)
            .map(|(index, column)| {
                let kind = match column.values.physical_type().kind() {
                    ValueKind::Bytes => Kind::Bytes,
                    ValueKind::Integer => Kind::Number,
                };
                (Operand::Column(index), kind)
            })
            .collect();
        Self { random, table, columns, literals: Vec::new(), tests: Vec::new() }
    }

    fn fragment(mut self) -> Fragment {
        self.literals = (0..self.random.below(6)).map(|_| self.literal()).collect();
        self.tests = self.make_tests();
        let mut predicate = match self.random.below(3) {
            0 => Program::default(),
            _ => self.program(8),
        };
        while predicate.steps.last().is_some_and(|step| step.op.is_arithmetic()) {
            predicate.steps.pop();
        }
        let projection = self.program(6);
        let pool = self.pool(&projection.steps);
        let output = match self.random.below(2) {
            0 => self.rows(&pool),
            _ => self.states(&projection, &pool),
        };
        let columns = self.columns.iter().enumerate().map(|(index, (_, kind))| {
            let kind = match kind {
                Kind::Bytes => ValueKind::Bytes,
                Kind::Number | Kind::Truth => ValueKind::Integer,
            };
            Column::new(format!("c{index}"), kind)
        });
        let columns = columns.collect();
        let key_filters = self.key_filters();
        Fragment {
            columns,
            predicate,
            projection,
            literals: self.literals,
            tests: self.tests,
            key_filters,
            output,
        }
    }

    /// Filters of some values of some columns, in a third of all fragments.
    fn key_filters(&mut self) -> Vec<KeyFilter> {
        let numbers: Vec<u16> = (0..)
            .zip(&self.columns)
            .filter(|(_, (_, kind))| *kind == Kind::Number)
            .map(|(column, _)| column)
            .collect();
        if numbers.is_empty() || self.random.below(3) != 0 {
            return vec![];
        }
        (0..1 + self.random.below(2)).map(|_| self.key_filter(&numbers)).collect()
    }

    fn key_filter(&mut self, numbers: &[u16]) -> KeyFilter {
        let column = self.random.pick(numbers);
        let values = &self.table.columns[usize::from(column)].values;
        let period = 2 + self.random.below(3);
        let key = |row| match values.value(row) {
            Value::Number(number) => i64::try_from(number).ok(),
            Value::Null | Value::Bytes(_) => None,
        };
        let keys: Vec<i64> = (0..values.len()).step_by(period).filter_map(key).collect();
        let first = keys.first().copied().unwrap_or(0).saturating_add(self.random.around_zero(200));
        let span = i64::try_from(self.random.below(3000)).unwrap_or(0);
        let bitmap = || KeyBits::bitmap(first, first.saturating_add(span), keys.iter().copied());
        let blocks = 1 + self.random.below(100);
        let keys = match self.random.below(2) {
            0 => bitmap().unwrap_or_else(|| KeyBits::bloom(blocks, [])),
            _ => KeyBits::bloom(blocks, keys.iter().copied()),
        };
        KeyFilter { column, keys }
    }

    /// A number of some column, or one beside it, so that comparisons go either way.
    fn literal(&mut self) -> i128 {
        let column = self.random.below(self.table.columns.len());
        let row = self.random.below(self.table.rows);
        let sample = match self.table.columns[column].values.len() {
            0 => None,
            _ => match self.table.columns[column].values.value(row) {
                Value::Number(number) => Some(number),
                Value::Null | Value::Bytes(_) => None,
            },
        };
        let around = i128::from(self.random.around_zero(2));
        match self.random.below(20) {
            0 => i128::MAX,
            1 => i128::from(i64::MAX) + around,
            _ => sample.unwrap_or(0).saturating_add(around),
        }
    }

    fn make_tests(&mut self) -> Vec<StringTest> {
        let mut tests = Vec::new();
        for column in 0..self.columns.len().min(limits::TEST_COLUMNS_MAX as usize) {
            if self.columns[column].1 != Kind::Bytes {
                continue;
            }
            for _ in 0..self.random.below(3) {
                let op = self.random.pick(TestOp::ALL).0;
                let count = if op == TestOp::In { 1 + self.random.below(4) } else { 1 };
                let string = |maker: &mut Self| match op {
                    TestOp::Like => maker.pattern(column),
                    _ => maker.string(column),
                };
                let strings = (0..count).map(|_| string(self)).collect();
                tests.push(StringTest { column: u16::try_from(column).unwrap_or(0), op, strings });
            }
        }
        tests
    }

    fn string(&mut self, column: usize) -> Vec<u8> {
        let values = &self.table.columns[column].values;
        let row = self.random.below(self.table.rows);
        match values {
            Values::Bytes(values) if !values.is_empty() && !self.random.one_in(4) => {
                values[row].clone().unwrap_or_default()
            }
            _ => self.random.pick(&["", "a", "b", "zebra1"]).as_bytes().to_vec(),
        }
    }

    /// A string of the column of which some bytes may be others and some parts anything.
    fn pattern(&mut self, column: usize) -> Vec<u8> {
        let mut pattern = self.string(column);
        pattern.truncate(limits::PATTERN_PLACES_MAX as usize);
        for _ in 0..self.random.below(3) {
            let at = self.random.below(pattern.len());
            if let Some(byte) = pattern.get_mut(at) {
                *byte = ONE;
            }
        }
        for _ in 0..self.random.below(4) {
            let at = self.random.below(pattern.len() + 1);
            match (pattern.is_empty(), self.random.one_in(2)) {
                // What was there is now part of it.
                (false, true) => pattern[at.saturating_sub(1)] = ANY,
                _ => pattern.insert(at, ANY),
            }
        }
        pattern
    }

    fn pool(&self, steps: &[Step]) -> Vec<(Operand, Kind)> {
        let mut pool = self.columns.clone();
        for index in 0..self.literals.len() {
            pool.push((Operand::Literal(u16::try_from(index).unwrap_or(0)), Kind::Number));
        }
        for (index, step) in (0..).zip(steps) {
            let kind = if step.op.is_arithmetic() { Kind::Number } else { Kind::Truth };
            pool.push((Operand::Step(index), kind));
        }
        pool
    }

    fn of(&mut self, kind: Kind, pool: &[(Operand, Kind)]) -> Operand {
        let fitting: Vec<Operand> =
            pool.iter().filter(|(_, found)| *found == kind).map(|(operand, _)| *operand).collect();
        if fitting.is_empty() || self.random.one_in(25) {
            Operand::Null
        } else {
            self.random.pick(&fitting)
        }
    }

    fn program(&mut self, steps_max: usize) -> Program {
        let mut steps = Vec::new();
        for _ in 0..self.random.below(steps_max + 1) {
            let pool = self.pool(&steps);
            steps.push(self.step(&pool));
        }
        Program { steps }
    }

    fn step(&mut self, pool: &[(Operand, Kind)]) -> Step {
        let op = self.random.pick(Op::ALL).0;
        let a = self.of(Kind::Number, pool);
        let b = self.of(Kind::Number, pool);
        match op {
            Op::Add | Op::Subtract | Op::Multiply => {
                let width = self.random.pick(&[Width::W32, Width::W64, Width::W128, Width::W128]);
                Step::arithmetic(op, width, a, b)
            }
            Op::Divide | Op::DivideRound | Op::DivideFloor | Op::Remainder => {
                let width = self.random.pick(&[Width::W32, Width::W64, Width::W128, Width::W128]);
                match self.divisor() {
                    Some(divisor) => Step::arithmetic(op, width, a, divisor),
                    None => Step::arithmetic(Op::Add, Width::W128, a, b),
                }
            }
            Op::Select => {
                let width = self.random.pick(&[Width::W64, Width::W128, Width::W128]);
                Step::select(width, self.of(Kind::Truth, pool), a, b)
            }
            Op::Year | Op::Month | Op::Day => Step::part(op, Width::W32, a),
            Op::In if !self.literals.is_empty() => {
                let last = self.random.index(self.literals.len());
                let first = self.random.index(usize::from(last) + 1);
                Step::in_literals(a, first, last)
            }
            Op::Test if !self.tests.is_empty() => Step::test(self.random.index(self.tests.len())),
            Op::Between => Step::between(a, b, self.of(Kind::Number, pool)),
            Op::In | Op::Test => Step::compare(Op::NotEqual, a, b),
            Op::Equal
            | Op::NotEqual
            | Op::IsDistinct
            | Op::IsNotDistinct
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual => Step::compare(op, a, b),
            Op::IsNull | Op::IsNotNull => {
                let kind = self.random.pick(&[Kind::Number, Kind::Truth, Kind::Bytes]);
                Step::unary(op, self.of(kind, pool))
            }
            Op::And | Op::Or => {
                let a = self.of(Kind::Truth, pool);
                Step::compare(op, a, self.of(Kind::Truth, pool))
            }
            Op::Not => Step::unary(op, self.of(Kind::Truth, pool)),
        }
    }

    /// A literal that something can be divided by.
    fn divisor(&mut self) -> Option<Operand> {
        let fits = |literal: &i128| *literal != 0 && i64::try_from(*literal).is_ok();
        let fitting: Vec<u16> =
            (0..).zip(&self.literals).filter(|(_, it)| fits(it)).map(|(index, _)| index).collect();
        match fitting.is_empty() {
            true => None,
            false => Some(Operand::Literal(self.random.pick(&fitting))),
        }
    }

    fn rows(&mut self, pool: &[(Operand, Kind)]) -> Output {
        let columns = (0..self.random.below(8))
            .map(|_| {
                let width = self.random.pick(Width::ALL).0;
                let (kind, width) = match width {
                    Width::Bool => (Kind::Truth, width),
                    Width::Bytes => (Kind::Bytes, width),
                    // Mostly wide enough.
                    Width::W32 if !self.random.one_in(6) => (Kind::Number, Width::W128),
                    Width::W32 | Width::W64 | Width::W128 => (Kind::Number, width),
                };
                RowColumn { operand: self.of(kind, pool), width }
            })
            .collect();
        let limit = self.random.pick(&[None, None, None, Some(0), Some(5), Some(1500)]);
        let top = match limit {
            None => self.top(pool),
            Some(_) => None,
        };
        Output::Rows { columns, limit, top }
    }

    fn top(&mut self, pool: &[(Operand, Kind)]) -> Option<Top> {
        let numbers = places(pool);
        if numbers.is_empty() || self.random.one_in(2) {
            return None;
        }
        Some(Top {
            operand: self.random.pick(&numbers),
            descending: self.random.one_in(2),
            nulls_first: self.random.one_in(2),
            count: self.random.pick(&[1, 3, 10, limits::TOP_MAX]),
        })
    }

    fn states(&mut self, projection: &Program, pool: &[(Operand, Kind)]) -> Output {
        let keys = self.keys(projection, pool);
        let truths: Vec<Operand> = (0..)
            .zip(&projection.steps)
            .filter(|(_, step)| !step.op.is_arithmetic())
            .map(|(index, _)| Operand::Step(index))
            .collect();
        let aggregates = (0..1 + self.random.below(6))
            .map(|_| {
                let filter = match truths.is_empty() || self.random.one_in(2) {
                    true => Operand::None,
                    false => self.random.pick(&truths),
                };
                Aggregate { filter, ..self.slot(pool) }
            })
            .collect();
        Output::States { keys, aggregates }
    }

    /// Columns by their dictionaries, columns and steps by ranges that mostly hold their numbers.
    fn keys(&mut self, projection: &Program, pool: &[(Operand, Kind)]) -> Vec<Key> {
        let mut operands: Vec<Operand> =
            self.columns.iter().map(|(operand, _)| *operand).chain(places(pool)).collect();
        let mut keys: Vec<Key> = Vec::new();
        for _ in 0..self.random.pick(&[0, 0, 1, 1, 2, 3]) {
            if operands.is_empty() {
                break;
            }
            let operand = self.random.pick(&operands);
            operands.retain(|other| *other != operand);
            let is_number = pool.contains(&(operand, Kind::Number));
            keys.push(match operand {
                Operand::Step(step) => {
                    self.range_of(projection.steps[usize::from(step)].op, operand)
                }
                _ if is_number && self.random.one_in(3) => self.range_of_values(operand),
                _ => Key { operand, range: None },
            });
        }
        keys
    }

    /// The likely range of a step's values.
    fn range_of(&mut self, op: Op, operand: Operand) -> Key {
        match op {
            Op::Month => Key::range(operand, 1, 12),
            Op::Day => Key::range(operand, 0, 32),
            Op::Year => Key::range(operand, 1690, 600),
            _ => Key::range(operand, -150, self.random.pick(&[30, 300, 1000])),
        }
    }

    /// From the least value of a column to its greatest, if that is not too much.
    fn range_of_values(&mut self, operand: Operand) -> Key {
        let values = match operand {
            Operand::Column(column) => &self.table.columns[usize::from(column)].values,
            _ => return Key::range(operand, 0, 1),
        };
        let numbers = (0..values.len()).filter_map(|row| match values.value(row) {
            Value::Number(number) => i64::try_from(number).ok(),
            Value::Null | Value::Bytes(_) => None,
        });
        let (least, greatest) =
            numbers.fold((i64::MAX, i64::MIN), |(a, b), number| (a.min(number), b.max(number)));
        let span = greatest.saturating_sub(least).clamp(0, i64::from(limits::GROUPS_MAX) - 3);
        let first = least.clamp(i64::MIN + 1, i64::MAX - 2000) - i64::from(self.random.one_in(2));
        Key::range(operand, first, u32::try_from(span + 2).unwrap_or(1))
    }

    fn slot(&mut self, pool: &[(Operand, Kind)]) -> Aggregate {
        let width = match self.random.one_in(8) {
            true => self.random.pick(&NUMERIC),
            false => Width::W128,
        };
        let texts: Vec<Operand> = self.columns_of(|kind, _| kind == ValueKind::Bytes);
        let floats = self.columns_of(|_, physical_type| {
            matches!(physical_type, PhysicalType::Float | PhysicalType::Double)
        });
        match self.random.pick(Function::ALL).0 {
            Function::CountRows => Aggregate::new(Function::CountRows, Operand::None, width),
            Function::Count => {
                let kind = self.random.pick(&[Kind::Number, Kind::Truth, Kind::Bytes]);
                Aggregate::new(Function::Count, self.of(kind, pool), width)
            }
            function @ (Function::Min | Function::Max)
                if !texts.is_empty() && self.random.one_in(2) =>
            {
                Aggregate::new(function, self.random.pick(&texts), Width::Bytes)
            }
            Function::SumFloat if floats.is_empty() => {
                Aggregate::new(Function::Sum, self.of(Kind::Number, pool), width)
            }
            Function::SumFloat => {
                Aggregate::new(Function::SumFloat, self.random.pick(&floats), Width::W64)
            }
            function @ (Function::Sum | Function::Min | Function::Max) => {
                Aggregate::new(function, self.of(Kind::Number, pool), width)
            }
        }
    }

    fn columns_of(&self, is_one: fn(ValueKind, PhysicalType) -> bool) -> Vec<Operand> {
        let is_one = |column: &ColumnData| {
            let physical_type = column.values.physical_type();
            is_one(physical_type.kind(), physical_type)
        };
        let columns = (0..).zip(&self.table.columns).filter(|(_, column)| is_one(column));
        columns.map(|(index, _)| Operand::Column(index)).collect()
    }
}

/// The columns and steps of a pool that are numbers.
fn places(pool: &[(Operand, Kind)]) -> Vec<Operand> {
    let is_place = |operand| matches!(operand, Operand::Column(_) | Operand::Step(_));
    let numbers = pool.iter().filter(|(_, kind)| *kind == Kind::Number);
    numbers.map(|(operand, _)| *operand).filter(|operand| is_place(*operand)).collect()
}
