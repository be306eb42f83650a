// SPDX-License-Identifier: Apache-2.0
//! Generates arbitrary valid fragments, units and envelopes from a list of choices.
//!
//! Every choice is a number below a bound; when the list is used up each choice is 0. So proptest
//! shrinks a failing case to few and small choices without knowing the format.

use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Encodings, Envelope, Extent, Fragment, Function,
    InputRef, Key, KeyBits, KeyFilter, Merge, MergeCommand, Op, Operand, Output, OutputRef,
    PhysicalType, Program, ReadAs, Reading, RowColumn, SortKey, Step, StringTest, TestOp, Top,
    Unit, ValueKind, Version, Width, limits, pattern,
};
use proptest::prelude::*;

/// Choices left to make.
#[derive(Debug)]
pub(crate) struct Choices {
    words: std::vec::IntoIter<u64>,
}

impl Choices {
    pub(crate) fn new(words: Vec<u64>) -> Self {
        Self { words: words.into_iter() }
    }

    fn word(&mut self) -> u64 {
        self.words.next().unwrap_or(0)
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    fn index(&mut self, bound: usize) -> u16 {
        u16::try_from(self.below(bound)).unwrap()
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    fn wide(&mut self) -> i128 {
        let bits = u128::from(self.word()) << 64 | u128::from(self.word());
        bits.cast_signed()
    }
}

/// Strategies over the choices.
pub(crate) fn choices() -> impl Strategy<Value = Choices> {
    proptest::collection::vec(any::<u64>(), 0..400).prop_map(Choices::new)
}

pub(crate) fn fragment() -> impl Strategy<Value = Fragment> {
    choices().prop_map(|mut choices| choices.fragment())
}

pub(crate) fn command() -> impl Strategy<Value = Command> {
    choices().prop_map(|mut choices| choices.command())
}

pub(crate) fn merge() -> impl Strategy<Value = MergeCommand> {
    choices().prop_map(|mut choices| choices.merge())
}

/// The values that an operand can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
    Bytes,
}

/// The operands of each kind that exist so far.
struct Pool {
    operands: Vec<(Operand, Kind)>,
}

impl Pool {
    /// An operand of `kind`; NULL when there is no other.
    fn of(&self, kind: Kind, choices: &mut Choices) -> Operand {
        let fitting: Vec<Operand> = self
            .operands
            .iter()
            .filter(|(_, found)| *found == kind)
            .map(|(operand, _)| *operand)
            .collect();
        if fitting.is_empty() || choices.one_in(12) {
            Operand::Null
        } else {
            choices.pick(&fitting)
        }
    }

    /// The columns and steps that are numbers.
    fn places(&self) -> Vec<Operand> {
        let is_place = |operand| matches!(operand, Operand::Column(_) | Operand::Step(_));
        let numbers = self.operands.iter().filter(|(_, kind)| *kind == Kind::Number);
        numbers.map(|(operand, _)| *operand).filter(|operand| is_place(*operand)).collect()
    }

    fn any(&self, choices: &mut Choices) -> Operand {
        let kind = choices.pick(&[Kind::Number, Kind::Truth, Kind::Bytes]);
        self.of(kind, choices)
    }
}

const NUMERIC: [Width; 3] = [Width::W32, Width::W64, Width::W128];

impl Choices {
    pub(crate) fn fragment(&mut self) -> Fragment {
        let columns = self.columns();
        let literals: Vec<i128> = (0..self.below(9))
            .map(|_| {
                let wide = self.wide();
                self.pick(&[0, 1, -1, wide, i128::MIN, i128::MAX])
            })
            .collect();
        let tests = self.tests(&columns);
        let scope = |steps: &[Step]| pool(&columns, literals.len(), steps);
        let mut predicate = self.program(&scope, &literals, tests.len());
        while predicate.steps.last().is_some_and(|step| step.op.is_arithmetic()) {
            predicate.steps.pop();
        }
        let projection = self.program(&scope, &literals, tests.len());
        let pool = scope(&projection.steps);
        let output = if self.one_in(2) {
            self.rows(&pool)
        } else {
            self.states(&columns, &projection, &pool)
        };
        let key_filters = self.key_filters(&columns);
        Fragment { columns, predicate, projection, literals, tests, key_filters, output }
    }

    fn columns(&mut self) -> Vec<Column> {
        (0..self.below(limits::COLUMNS_MAX as usize + 1))
            .map(|index| {
                let stem = self.pick(&["l_quantity", "", "größe", "a\0b", "名"]);
                let kind = self.pick(&[ValueKind::Integer, ValueKind::Bytes]);
                Column::new(format!("{stem}{index}"), kind)
            })
            .collect()
    }

    fn tests(&mut self, columns: &[Column]) -> Vec<StringTest> {
        let mut tests = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if column.kind != ValueKind::Bytes {
                continue;
            }
            for _ in 0..self.below(3) {
                let op = self.pick(TestOp::ALL).0;
                let count = if op == TestOp::In { 1 + self.below(4) } else { 1 };
                tests.push(StringTest {
                    column: u16::try_from(index).unwrap(),
                    op,
                    strings: (0..count).map(|_| self.literal(op)).collect(),
                });
            }
        }
        tests
    }

    fn key_filters(&mut self, columns: &[Column]) -> Vec<KeyFilter> {
        let is_number = |(_, column): &(u16, &Column)| column.kind == ValueKind::Integer;
        let numbers: Vec<u16> =
            (0..).zip(columns).filter(is_number).map(|(index, _)| index).collect();
        if numbers.is_empty() {
            return vec![];
        }
        let count = self.below(limits::KEY_FILTERS_MAX as usize + 1);
        let filter = |choices: &mut Self| {
            let keys: Vec<i64> =
                (0..choices.below(9)).map(|_| choices.word().cast_signed()).collect();
            let first = choices.word().cast_signed();
            let last = first.saturating_add(choices.pick(&[0, 1, 255, 256, 5000]));
            let keys = match choices.one_in(2) {
                true => KeyBits::bloom(1 + choices.below(20), keys),
                false => KeyBits::bitmap(first, last, keys.iter().map(|key| key >> 40)).unwrap(),
            };
            KeyFilter { column: choices.pick(&numbers), keys }
        };
        (0..count).map(|_| filter(self)).collect()
    }

    /// Any string that a test of this kind may have.
    fn literal(&mut self, op: TestOp) -> Vec<u8> {
        let mut string = self.string();
        if op == TestOp::Like {
            for _ in 0..self.below(4) {
                let at = self.below(string.len() + 1);
                string.insert(at, self.pick(&[pattern::ANY, pattern::ONE]));
            }
            let mut places = 0;
            string.retain(|byte| {
                places += u32::from(*byte != pattern::ANY);
                places <= limits::PATTERN_PLACES_MAX
            });
            string.truncate(limits::STRING_BYTES_MAX as usize);
        }
        string
    }

    fn string(&mut self) -> Vec<u8> {
        let length = self.pick(&[0, 1, 7, 8, 9, limits::STRING_BYTES_MAX as usize]);
        let seed = self.word();
        (0..length).map(|at| (seed.rotate_left(at as u32) & 0xff) as u8).collect()
    }

    fn program(
        &mut self,
        scope: &dyn Fn(&[Step]) -> Pool,
        literals: &[i128],
        test_count: usize,
    ) -> Program {
        let mut steps = Vec::new();
        for _ in 0..self.below(limits::STEPS_MAX as usize + 1) {
            let pool = scope(&steps);
            let step = self.step(&pool, literals, test_count);
            steps.push(step);
        }
        Program { steps }
    }

    fn step(&mut self, pool: &Pool, literals: &[i128], test_count: usize) -> Step {
        let op = self.pick(Op::ALL).0;
        let number = |choices: &mut Self| pool.of(Kind::Number, choices);
        let divisors: Vec<Operand> = (0..)
            .zip(literals)
            .filter(|(_, literal)| **literal != 0 && i64::try_from(**literal).is_ok())
            .map(|(index, _)| Operand::Literal(index))
            .collect();
        match op {
            Op::Add | Op::Subtract | Op::Multiply => {
                let width = self.pick(&NUMERIC);
                Step::arithmetic(op, width, number(self), number(self))
            }
            Op::Divide | Op::DivideRound | Op::DivideFloor | Op::Remainder
                if !divisors.is_empty() =>
            {
                let width = self.pick(&NUMERIC);
                Step::arithmetic(op, width, number(self), self.pick(&divisors))
            }
            Op::Select => {
                let truth = pool.of(Kind::Truth, self);
                Step::select(self.pick(&NUMERIC), truth, number(self), number(self))
            }
            Op::Year | Op::Month | Op::Day => {
                let width = self.pick(&NUMERIC);
                Step::part(op, width, number(self))
            }
            Op::In if !literals.is_empty() => {
                let last = self.index(literals.len());
                let first = self.index(usize::from(last) + 1);
                Step::in_literals(number(self), first, last)
            }
            Op::Test if test_count > 0 => Step::test(self.index(test_count)),
            Op::Between => Step::between(number(self), number(self), number(self)),
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::IsDistinct
            | Op::IsNotDistinct => Step::compare(op, number(self), number(self)),
            // There is no literal, or no test.
            Op::In | Op::Test | Op::Divide | Op::DivideRound | Op::DivideFloor | Op::Remainder => {
                Step::compare(Op::Equal, number(self), number(self))
            }
            Op::IsNull | Op::IsNotNull => Step::unary(op, pool.any(self)),
            Op::And | Op::Or => {
                let a = pool.of(Kind::Truth, self);
                Step::compare(op, a, pool.of(Kind::Truth, self))
            }
            Op::Not => Step::unary(op, pool.of(Kind::Truth, self)),
        }
    }

    fn rows(&mut self, pool: &Pool) -> Output {
        let columns = (0..self.below(limits::OUTPUT_COLUMNS_MAX as usize + 1))
            .map(|_| {
                let width = self.pick(Width::ALL).0;
                let kind = match width {
                    Width::Bool => Kind::Truth,
                    Width::Bytes => Kind::Bytes,
                    Width::W32 | Width::W64 | Width::W128 => Kind::Number,
                };
                RowColumn { operand: pool.of(kind, self), width }
            })
            .collect();
        let limit = self.word() >> 1;
        let limit = self.pick(&[None, Some(0), Some(limit)]);
        let top = match limit {
            None => self.top(pool),
            Some(_) => None,
        };
        Output::Rows { columns, limit, top }
    }

    fn top(&mut self, pool: &Pool) -> Option<Top> {
        let orders = pool.places();
        if orders.is_empty() || self.one_in(2) {
            return None;
        }
        Some(Top {
            operand: self.pick(&orders),
            descending: self.one_in(2),
            nulls_first: self.one_in(2),
            count: 1 + u32::from(self.index(limits::TOP_MAX as usize)),
        })
    }

    fn states(&mut self, columns: &[Column], projection: &Program, pool: &Pool) -> Output {
        let keys = self.keys(columns, pool);
        let truths: Vec<Operand> = (0..)
            .zip(&projection.steps)
            .filter(|(_, step)| !step.op.is_arithmetic())
            .map(|(index, _)| Operand::Step(index))
            .collect();
        let aggregates = (0..self.below(limits::AGGREGATES_MAX as usize + 1))
            .map(|_| {
                let filter = match truths.is_empty() || self.one_in(2) {
                    true => Operand::None,
                    false => self.pick(&truths),
                };
                Aggregate { filter, ..self.slot(columns, pool) }
            })
            .collect();
        Output::States { keys, aggregates }
    }

    /// Columns by their codes, and columns and steps by ranges.
    fn keys(&mut self, columns: &[Column], pool: &Pool) -> Vec<Key> {
        let mut places = pool.places();
        let bytes = (0..).zip(columns).filter(|(_, column)| column.kind == ValueKind::Bytes);
        places.extend(bytes.map(|(index, _)| Operand::Column(index)));
        let first = self.below(places.len() + 1);
        let count = self.below(places.len().min(limits::KEYS_MAX as usize) + 1);
        let key = |index: usize| {
            let operand = places[(first + index) % places.len()];
            let is_step = matches!(operand, Operand::Step(_));
            let is_number = pool.operands.contains(&(operand, Kind::Number));
            if is_step || is_number && self.one_in(2) {
                let least = self.word().cast_signed() >> 1;
                let least = self.pick(&[0, -7, i64::MIN, least]);
                let count = 1 + self.index(limits::GROUPS_MAX as usize - 1);
                Key::range(operand, least, u32::from(count))
            } else {
                Key { operand, range: None }
            }
        };
        (0..count).map(key).collect()
    }

    fn slot(&mut self, columns: &[Column], pool: &Pool) -> Aggregate {
        let function = self.pick(Function::ALL).0;
        let width = self.pick(&NUMERIC);
        let of = |kind: ValueKind| {
            let fitting = (0..).zip(columns).filter(move |(_, column)| column.kind == kind);
            fitting.map(|(index, _)| Operand::Column(index)).collect::<Vec<_>>()
        };
        let (bytes, integers) = (of(ValueKind::Bytes), of(ValueKind::Integer));
        match function {
            Function::CountRows => Aggregate::new(function, Operand::None, width),
            Function::Count => Aggregate::new(function, pool.any(self), width),
            Function::Min | Function::Max if !bytes.is_empty() && self.one_in(2) => {
                Aggregate::new(function, self.pick(&bytes), Width::Bytes)
            }
            Function::SumFloat if integers.is_empty() => Aggregate::count_rows(),
            Function::SumFloat => Aggregate::new(function, self.pick(&integers), Width::W64),
            Function::Sum | Function::Min | Function::Max => {
                Aggregate::new(function, pool.of(Kind::Number, self), width)
            }
        }
    }

    pub(crate) fn unit(&mut self, fragment: &Fragment) -> Unit {
        let mut extents_left = limits::EXTENTS_MAX as usize;
        let inputs: Vec<InputRef> = (0..1 + self.below(limits::INPUTS_MAX as usize))
            .map(|_| self.input(&mut extents_left))
            .collect();
        let columns = (0..).zip(&fragment.columns);
        let chunks = columns
            .map(|(index, column)| {
                let physical_type = self.physical_type(column.kind, sums_floats(fragment, index));
                self.chunk(physical_type, &inputs)
            })
            .collect();
        Unit { rows: self.word() % (limits::UNIT_ROWS_MAX + 1), inputs, chunks }
    }

    fn input(&mut self, extents_left: &mut usize) -> InputRef {
        let version = Version { size_bytes: self.word(), stamp: self.word() };
        let (offset, length) = (self.word(), self.word());
        match self.below(5) {
            0 => InputRef::FileRange { file_id: self.word(), version, offset, length },
            1 => InputRef::DeviceRange { lease: self.word(), offset, length },
            2 => InputRef::ObjectRange {
                partition: self.word(),
                object: self.word(),
                version,
                offset,
                length,
            },
            3 => {
                let extent_count = self.below(*extents_left + 1);
                *extents_left -= extent_count;
                InputRef::NvmeExtents {
                    namespace: self.word() as u32,
                    block_shift: self.pick(&[9, 12]),
                    extents: (0..extent_count)
                        .map(|_| Extent { block_first: self.word(), block_count: self.word() })
                        .collect(),
                    skip: offset,
                    length,
                    version,
                }
            }
            _ => InputRef::Output {
                command_id: self.wide().cast_unsigned(),
                port: self.word() as u32,
            },
        }
    }

    fn physical_type(&mut self, kind: ValueKind, is_float: bool) -> PhysicalType {
        let fitting: Vec<PhysicalType> = PhysicalType::ALL
            .iter()
            .map(|(physical_type, _)| *physical_type)
            .filter(|it| it.kind() == kind)
            .filter(|it| !is_float || matches!(it, PhysicalType::Float | PhysicalType::Double))
            .collect();
        self.pick(&fitting)
    }

    fn reading(&mut self, physical_type: PhysicalType) -> Reading {
        let rule = match physical_type {
            PhysicalType::Boolean | PhysicalType::ByteArray => ReadAs::Signed,
            PhysicalType::Int32 | PhysicalType::Int64 => {
                self.pick(&[ReadAs::Signed, ReadAs::Unsigned])
            }
            PhysicalType::Float | PhysicalType::Double => ReadAs::FloatOrder,
            PhysicalType::FixedLenByteArray => ReadAs::BigEndian,
        };
        let length = match physical_type {
            PhysicalType::FixedLenByteArray => 1 + self.index(limits::FIXED_BYTES_MAX as usize),
            _ => 0,
        };
        Reading { rule, bits: self.pick(&[0, 8, 16, 32, 64]), length }
    }

    fn chunk(&mut self, physical_type: PhysicalType, inputs: &[InputRef]) -> Chunk {
        let input = self.index(inputs.len());
        let room = inputs[usize::from(input)].length().unwrap_or(1 << 40);
        let length = self.word() % (limits::CHUNK_BYTES_MAX.min(room) + 1);
        let (_, codec) = (self.word(), self.pick(Codec::ALL).0);
        Chunk {
            input,
            offset: self.word() % (room - length).saturating_add(1).max(1),
            length,
            uncompressed_bytes: self.word() % (limits::CHUNK_BYTES_MAX + 1),
            physical_type,
            definition_level_max: self.pick(&[0, 1]),
            codec,
            encodings: self.pick(&[Encodings::SCAN, Encodings::ALL, Encodings::default()]),
            dictionary_bytes: self.word() as u32,
            reading: self.reading(physical_type),
        }
    }

    fn envelope(&mut self) -> Envelope {
        Envelope {
            command_id: self.wide().cast_unsigned(),
            query_id: self.wide().cast_unsigned(),
            attempt: self.word() as u32,
            epoch: self.word(),
            tenant: self.word() as u32,
            priority: self.word() as u32,
            deadline_ns: self.word(),
            steps_max: self.word(),
        }
    }

    pub(crate) fn command(&mut self) -> Command {
        let envelope = self.envelope();
        let bytes_max = self.word();
        let handle = self.word();
        let output = self.below(3);
        let fragment = self.fragment();
        let unit = self.unit(&fragment);
        let mut command = Command::bind(&fragment, unit, envelope).unwrap();
        match output {
            0 => {}
            1 => {
                command.output =
                    OutputRef::DeviceRange { lease: handle, offset: self.word(), bytes_max }
            }
            _ => command.output = OutputRef::ObjectAppend { object: handle, bytes_max },
        }
        if self.below(2) == 0 { command.compact() } else { command }
    }

    /// Scans of one fragment and any merge of their rows.
    pub(crate) fn merge(&mut self) -> MergeCommand {
        let envelope = self.envelope();
        let mut fragment = self.fragment();
        let width = self.pick(&NUMERIC);
        fragment.output = match fragment.output {
            Output::Rows { columns, .. } if !columns.is_empty() => {
                Output::Rows { columns, limit: None, top: None }
            }
            _ => {
                let columns = vec![RowColumn { operand: Operand::Null, width }];
                Output::Rows { columns, limit: None, top: None }
            }
        };
        let column_count = fragment.output_widths().len();
        let scans = (0..1 + self.below(limits::MERGE_INPUTS_MAX as usize)).map(|_| {
            let unit = self.unit(&fragment);
            Command::bind(&fragment, unit, self.envelope()).unwrap()
        });
        let scans = scans.collect();
        let key_count = 1 + self.below(column_count.min(limits::MERGE_KEYS_MAX as usize));
        let first = self.below(column_count);
        let keys = (0..key_count).map(|index| SortKey {
            column: u16::try_from((first + index) % column_count).unwrap(),
            descending: self.one_in(2),
            nulls_first: self.one_in(2),
        });
        let keys: Vec<SortKey> = keys.collect();
        let distinct = keys.len() == column_count && self.one_in(2);
        MergeCommand::bind(scans, Merge { keys, distinct }, envelope).unwrap()
    }
}

/// Whether the column is added up as one of floats.
fn sums_floats(fragment: &Fragment, column: u16) -> bool {
    let Output::States { aggregates, .. } = &fragment.output else { return false };
    aggregates
        .iter()
        .any(|slot| slot.function == Function::SumFloat && slot.operand == Operand::Column(column))
}

fn pool(columns: &[Column], literal_count: usize, steps: &[Step]) -> Pool {
    let columns = (0..).zip(columns).map(|(index, column)| {
        let kind = match column.kind {
            ValueKind::Integer => Kind::Number,
            ValueKind::Bytes => Kind::Bytes,
        };
        (Operand::Column(index), kind)
    });
    let literals = (0..literal_count)
        .map(|index| (Operand::Literal(u16::try_from(index).unwrap()), Kind::Number));
    let steps = (0..).zip(steps).map(|(index, step)| {
        let kind = match step.op.is_arithmetic() {
            true => Kind::Number,
            false => Kind::Truth,
        };
        (Operand::Step(index), kind)
    });
    Pool { operands: columns.chain(literals).chain(steps).collect() }
}
