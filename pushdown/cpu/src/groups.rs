// SPDX-License-Identifier: Apache-2.0
//! Maps group keys to group numbers, and writes the states of groups.
//!
//! Keys that are codes of a small dictionary, or numbers of a small range, are combined into one
//! number, and a table has the group of each. Keys that are anything else are hashed. Both ways
//! lead to the same groups, because a chunk may fall back from one to the other.

use std::collections::HashMap;

use nearscan_command::{Aggregate, Fragment, Key, ResultHeader, ResultWriter, Row, Status, Value};

use crate::{
    aggregate::Slot,
    combine::Combined,
    error::Stop,
    floats::AdditionOrder,
    fold::Groups,
    scope::Scope,
    values::{NumberValues, is_set},
    vector::Vector,
};

/// The states of all groups of a unit.
#[derive(Debug)]
pub(crate) struct States {
    slots: Vec<Slot>,
    index: Index,
    /// Group of each combination of small keys.
    combined: Combined,
    /// Group of each row of a batch; kept for its memory.
    batch: Vec<u32>,
    /// Rows of each group in a batch.
    counts: Vec<u32>,
}

/// The groups that there are.
#[derive(Debug)]
struct Index {
    keys: Vec<Key>,
    /// Group numbers by encoded key.
    numbers: HashMap<Vec<u8>, u32>,
    /// The keys of each group.
    rows: Vec<Row>,
    /// Bytes that all keys take.
    key_bytes: u64,
    /// Bytes that the states of a group take, at least.
    slot_bytes: u64,
    /// Bytes there is room for, the header included.
    bytes_max: u64,
}

impl States {
    pub(crate) fn new(
        keys: &[Key],
        aggregates: &[Aggregate],
        order: AdditionOrder,
        bytes_max: u64,
    ) -> Self {
        let slot = |aggregate: &Aggregate| Slot::new(*aggregate, order);
        let slots: Vec<Slot> = aggregates.iter().map(slot).collect();
        let mut states = Self {
            index: Index {
                keys: keys.to_vec(),
                numbers: HashMap::new(),
                rows: Vec::new(),
                key_bytes: 0,
                slot_bytes: slots.iter().map(Slot::state_bytes_min).sum(),
                bytes_max,
            },
            slots,
            combined: Combined::new(keys),
            batch: Vec::new(),
            counts: Vec::new(),
        };
        if keys.is_empty() {
            // The one group is there even if no row is.
            states.index.rows.push(Row::new());
            states.slots.iter_mut().for_each(|slot| slot.resize(1));
        }
        states
    }

    /// Takes `rows` kept rows in.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`], [`Status::GroupCardinality`] for a key outside of its range, or
    /// [`Status::OutputFull`] when the groups do not fit the room.
    pub(crate) fn update(&mut self, scope: &Scope<'_>, rows: usize) -> Result<(), Stop> {
        if self.index.keys.is_empty() {
            for slot in &mut self.slots {
                slot.update(scope, Groups::One, rows)?;
            }
            return Ok(());
        }
        let vectors: Vec<Option<&Vector>> =
            self.index.keys.iter().map(|key| scope.vector(key.operand)).collect();
        let (index, batch) = (&mut self.index, &mut self.batch);
        batch.clear();
        if !self.combined.number(&vectors, rows, batch, |row| index.find(&vectors, row))? {
            index.number(&vectors, rows, batch)?;
        }
        self.counts.clear();
        self.counts.resize(self.index.rows.len(), 0);
        self.batch.iter().for_each(|group| self.counts[*group as usize] += 1);
        let groups = Groups::Many { groups: &self.batch, counts: &self.counts };
        for slot in &mut self.slots {
            slot.resize(self.index.rows.len());
            slot.update(scope, groups, rows)?;
        }
        Ok(())
    }

    /// The result: a row for each group.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when a state or a key does not fit its width.
    pub(crate) fn finish(self, fragment: &Fragment, header: ResultHeader) -> Result<Vec<u8>, Stop> {
        let mut writer = ResultWriter::new(fragment.output_widths());
        for (group, mut row) in self.index.rows.into_iter().enumerate() {
            for slot in &self.slots {
                row.push(slot.state(group)?);
            }
            // States fit, and kinds are checked: it is a key without a sign that does not.
            writer.push(row).map_err(|_| Stop::OVERFLOW)?;
        }
        let counters =
            nearscan_command::Counters { rows_aggregated: header.rows_kept, ..header.counters };
        Ok(writer.finish(ResultHeader { counters, ..header }))
    }
}

impl Index {
    /// Fills `batch` with the group of each row.
    fn number(
        &mut self,
        keys: &[Option<&Vector>],
        rows: usize,
        batch: &mut Vec<u32>,
    ) -> Result<(), Stop> {
        let mut key = Vec::new();
        let mut last: Vec<u8> = Vec::new();
        for row in 0..rows {
            key.clear();
            keys.iter().for_each(|vector| encode(&mut key, *vector, row));
            // Equal keys often follow each other.
            let number = match batch.last() {
                Some(number) if last == key => *number,
                _ => self.find_encoded(&key, keys, row)?,
            };
            last.clone_from(&key);
            batch.push(number);
        }
        Ok(())
    }

    /// The group of one row.
    fn find(&mut self, keys: &[Option<&Vector>], row: usize) -> Result<u32, Stop> {
        let mut key = Vec::new();
        keys.iter().for_each(|vector| encode(&mut key, *vector, row));
        self.find_encoded(&key, keys, row)
    }

    /// The group with this key, which is that of `row`.
    fn find_encoded(
        &mut self,
        key: &[u8],
        keys: &[Option<&Vector>],
        row: usize,
    ) -> Result<u32, Stop> {
        if let Some(number) = self.numbers.get(key) {
            return Ok(*number);
        }
        let values: Row = keys.iter().map(|vector| value(*vector, row)).collect();
        if !self.keys.iter().zip(&values).all(|(key, value)| is_inside(key, value)) {
            return Err(Stop::status(Status::GroupCardinality));
        }
        let number = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.numbers.insert(key.to_vec(), number);
        self.rows.push(values);
        self.key_bytes += key.len() as u64;
        // More than that cannot be written.
        let bytes = self.rows.len() as u64 * self.slot_bytes + self.key_bytes / 2;
        if ResultHeader::BYTES + bytes > self.bytes_max {
            return Err(Stop::status(Status::OutputFull));
        }
        Ok(number)
    }
}

/// Whether a value is one of those that its key can be.
fn is_inside(key: &Key, value: &Value) -> bool {
    match (key.range, value) {
        (Some(range), Value::Number(number)) => {
            let place = number.checked_sub(i128::from(range.first));
            place.is_some_and(|place| (0..i128::from(range.count)).contains(&place))
        }
        _ => true,
    }
}

/// Appends the value so that no two lists of values have the same bytes.
fn encode(key: &mut Vec<u8>, vector: Option<&Vector>, row: usize) {
    let is_null = |vector: &Vector| !is_set(vector.validity_bits(), row);
    let Some(vector) = vector.filter(|vector| !is_null(vector)) else {
        key.push(0);
        return;
    };
    if let Some(numbers) = vector.numbers() {
        match &numbers.values {
            NumberValues::Narrow(values) => {
                key.push(1);
                key.extend_from_slice(&values[row].to_le_bytes());
            }
            // The same number may be narrow in another batch.
            NumberValues::Wide(values) => match i64::try_from(values[row]) {
                Ok(value) => {
                    key.push(1);
                    key.extend_from_slice(&value.to_le_bytes());
                }
                Err(_) => {
                    key.push(2);
                    key.extend_from_slice(&values[row].to_le_bytes());
                }
            },
        }
    } else if let Some(strings) = vector.strings() {
        let value = strings.get(row);
        key.push(1);
        key.extend_from_slice(&value.len().to_le_bytes());
        key.extend_from_slice(value);
    } else {
        key.push(0);
    }
}

fn value(vector: Option<&Vector>, row: usize) -> Value {
    let Some(vector) = vector.filter(|vector| is_set(vector.validity_bits(), row)) else {
        return Value::Null;
    };
    if let Some(numbers) = vector.numbers() {
        numbers.get(row).map_or(Value::Null, Value::Number)
    } else {
        vector.strings().map_or(Value::Null, |strings| Value::Bytes(strings.get(row).to_vec()))
    }
}
