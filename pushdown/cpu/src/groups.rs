// SPDX-License-Identifier: Apache-2.0
//! Group keys: from values to group numbers, and states out.

use std::collections::HashMap;

use nearscan_command::{Aggregate, Fragment, ResultHeader, ResultWriter, Row, Status, Value};

use crate::aggregate::{Groups, Slot};
use crate::error::Stop;
use crate::program::Scope;
use crate::vector::{NumberValues, Vector};

/// The states of all groups of a unit.
#[derive(Debug)]
pub(crate) struct States {
    keys: Vec<usize>,
    slots: Vec<Slot>,
    /// Group numbers by encoded key.
    numbers: HashMap<Vec<u8>, u32>,
    /// The keys of each group.
    rows: Vec<Row>,
    /// Bytes that all keys take.
    key_bytes: u64,
    /// Bytes there is room for, the header included.
    bytes_max: u64,
    /// Group of each row of a batch; kept for its memory.
    batch: Vec<u32>,
}

impl States {
    pub(crate) fn new(keys: &[u16], aggregates: &[Aggregate], bytes_max: u64) -> Self {
        let mut states = Self {
            keys: keys.iter().map(|key| usize::from(*key)).collect(),
            slots: aggregates.iter().map(|aggregate| Slot::new(*aggregate)).collect(),
            numbers: HashMap::new(),
            rows: Vec::new(),
            key_bytes: 0,
            bytes_max,
            batch: Vec::new(),
        };
        if keys.is_empty() {
            // The one group is there even if no row is.
            states.rows.push(Row::new());
            states.slots.iter_mut().for_each(|slot| slot.resize(1));
        }
        states
    }

    /// Takes `rows` kept rows in.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`], or [`Status::OutputFull`] when the groups do not fit the room.
    pub(crate) fn update(&mut self, scope: &Scope<'_>, rows: usize) -> Result<(), Stop> {
        if self.keys.is_empty() {
            for slot in &mut self.slots {
                slot.update(scope, Groups::One, rows)?;
            }
            return Ok(());
        }
        self.number_groups(scope, rows)?;
        for slot in &mut self.slots {
            slot.resize(self.rows.len());
            slot.update(scope, Groups::Many(&self.batch), rows)?;
        }
        Ok(())
    }

    /// Fills `batch` with the group of each row.
    fn number_groups(&mut self, scope: &Scope<'_>, rows: usize) -> Result<(), Stop> {
        self.batch.clear();
        let mut key = Vec::new();
        let mut last: Option<(Vec<u8>, u32)> = None;
        for row in 0..rows {
            key.clear();
            for column in &self.keys {
                encode(&mut key, scope.columns.get(*column), row);
            }
            // Equal keys often follow each other.
            let number = match &last {
                Some((last, number)) if *last == key => *number,
                _ => {
                    let number = match self.numbers.get(key.as_slice()) {
                        Some(number) => *number,
                        None => self.new_group(&key, scope, row)?,
                    };
                    let mut buffer = last.take().map(|(buffer, _)| buffer).unwrap_or_default();
                    buffer.clone_from(&key);
                    last = Some((buffer, number));
                    number
                }
            };
            self.batch.push(number);
        }
        Ok(())
    }

    fn new_group(&mut self, key: &[u8], scope: &Scope<'_>, row: usize) -> Result<u32, Stop> {
        let number = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.numbers.insert(key.to_vec(), number);
        let values = self.keys.iter().map(|column| value(scope.columns.get(*column), row));
        self.rows.push(values.collect());
        self.key_bytes += key.len() as u64;
        // Each slot takes 16 bytes: more than that cannot be written.
        let slot_bytes = (self.rows.len() * self.slots.len() * 16) as u64;
        if ResultHeader::BYTES + slot_bytes + self.key_bytes / 2 > self.bytes_max {
            return Err(Stop::status(Status::OutputFull));
        }
        Ok(number)
    }

    /// The result: a row for each group.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when a state does not fit its width.
    pub(crate) fn finish(self, fragment: &Fragment, header: ResultHeader) -> Result<Vec<u8>, Stop> {
        let mut writer = ResultWriter::new(fragment.output_widths());
        for (group, mut row) in self.rows.into_iter().enumerate() {
            for slot in &self.slots {
                row.push(slot.state(group)?);
            }
            writer.push(row).map_err(|_| Stop::status(Status::Malformed))?;
        }
        let counters =
            nearscan_command::Counters { rows_aggregated: header.rows_kept, ..header.counters };
        Ok(writer.finish(ResultHeader { counters, ..header }))
    }
}

/// Appends the value so that no two lists of values have the same bytes.
fn encode(key: &mut Vec<u8>, vector: Option<&Vector>, row: usize) {
    match vector {
        Some(Vector::Numbers(numbers)) if is_set(numbers.validity.as_ref(), row) => {
            key.push(1);
            match &numbers.values {
                NumberValues::Narrow(values) => key.extend_from_slice(&values[row].to_le_bytes()),
                NumberValues::Wide(values) => key.extend_from_slice(&values[row].to_le_bytes()),
            }
        }
        Some(Vector::Strings(strings)) if is_set(strings.validity.as_ref(), row) => {
            let value = strings.get(row);
            key.push(1);
            key.extend_from_slice(&value.len().to_le_bytes());
            key.extend_from_slice(value);
        }
        _ => key.push(0),
    }
}

fn value(vector: Option<&Vector>, row: usize) -> Value {
    match vector {
        Some(Vector::Numbers(numbers)) if is_set(numbers.validity.as_ref(), row) => {
            Value::Number(match &numbers.values {
                NumberValues::Narrow(values) => i128::from(values[row]),
                NumberValues::Wide(values) => values[row],
            })
        }
        Some(Vector::Strings(strings)) if is_set(strings.validity.as_ref(), row) => {
            Value::Bytes(strings.get(row).to_vec())
        }
        _ => Value::Null,
    }
}

fn is_set(validity: Option<&arrow::buffer::BooleanBuffer>, row: usize) -> bool {
    validity.is_none_or(|validity| validity.value(row))
}
