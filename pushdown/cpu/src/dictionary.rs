// SPDX-License-Identifier: Apache-2.0
//! Reads the dictionary of a chunk.

use std::sync::OnceLock;

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::{Chunk, Encoding, PhysicalType, Status};

use crate::{
    decode::{numbers::PageNumbers, reading, strings::PageStrings},
    entry_views::EntryViews,
    simd::by_level,
    values::{NumberValues, Numbers, Strings},
};

/// The entries of a dictionary.
///
/// An entry that no row refers to may be invalid, so the error of an entry is recorded, and
/// reported only if a row refers to it.
#[derive(Debug)]
pub(crate) struct Dictionary {
    entries: Entries,
    /// `[entries]`, what is wrong with each; `None` when nothing is.
    faults: Option<Vec<Status>>,
    len: usize,
    /// Made when they are first asked for.
    views: OnceLock<EntryViews>,
}

#[derive(Debug)]
enum Entries {
    Numbers(Numbers),
    Strings(Strings),
}

impl Dictionary {
    /// Reads `len` plain entries.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn read(chunk: &Chunk, bytes: Bytes, len: usize) -> Result<Self, Status> {
        if chunk.physical_type == PhysicalType::ByteArray {
            let mut strings = PageStrings::new(bytes);
            let mut views = Vec::new();
            strings.read(len, 0, &mut views)?;
            let buffers = vec![strings.bytes().clone()];
            let entries = Entries::Strings(Strings { buffers, views, validity: None });
            return Ok(Self { entries, faults: None, len, views: OnceLock::new() });
        }
        let mut numbers = PageNumbers::open(chunk, Encoding::Plain, bytes, || Ok(len))?;
        let mut values = Vec::new();
        let mut faults = None;
        let all = numbers.clone().read(len, &mut values);
        if all.and_then(|()| reading::apply(&mut values, chunk)).is_err() {
            values.clear();
            faults = Some(read_each(chunk, &mut numbers, len, &mut values)?);
        }
        let values = reading::widen(values, chunk);
        let entries = Entries::Numbers(Numbers { values, validity: None });
        Ok(Self { entries, faults, len, views: OnceLock::new() })
    }

    /// The number of entries.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The entries, when they are numbers.
    pub(crate) const fn numbers(&self) -> Option<&Numbers> {
        match &self.entries {
            Entries::Numbers(numbers) => Some(numbers),
            Entries::Strings(_) => None,
        }
    }

    /// The entries, when they are byte strings.
    pub(crate) const fn strings(&self) -> Option<&Strings> {
        match &self.entries {
            Entries::Strings(strings) => Some(strings),
            Entries::Numbers(_) => None,
        }
    }

    /// The entries as Arrow views, when they are byte strings.
    pub(crate) fn entry_views(&self) -> Option<&EntryViews> {
        let strings = self.strings()?;
        Some(self.views.get_or_init(|| EntryViews::of(strings)))
    }

    /// Checks that every code is of an entry that can be read.
    ///
    /// # Errors
    /// [`Status::Corrupt`] for a code without an entry, else what is wrong with the entry.
    pub(crate) fn check(&self, codes: &[u32]) -> Result<(), Status> {
        let most = highest(codes);
        if !codes.is_empty() && most as usize >= self.len {
            return Err(Status::Corrupt);
        }
        match &self.faults {
            None => Ok(()),
            Some(faults) => codes.iter().try_for_each(|code| match faults[*code as usize] {
                Status::Ok => Ok(()),
                fault => Err(fault),
            }),
        }
    }

    /// The numbers of entries with these codes, as a page that is not coded would store them.
    pub(crate) fn stored(&self, codes: &[u32]) -> Vec<i64> {
        let at = |code: &u32| *code as usize;
        match self.numbers().map(|numbers| &numbers.values) {
            Some(NumberValues::Narrow(values)) => {
                codes.iter().map(|code| values[at(code)]).collect()
            }
            // Without a sign: the low half is what was stored.
            Some(NumberValues::Wide(values)) => {
                let low = |value: i128| {
                    let [low @ .., _, _, _, _, _, _, _, _] = value.to_le_bytes();
                    i64::from_le_bytes(low)
                };
                codes.iter().map(|code| low(values[at(code)])).collect()
            }
            None => Vec::new(),
        }
    }

    /// For each entry whether it is in a bitmap, 0 or 1, as a table to look codes up in.
    pub(crate) fn table(holds: &BooleanBuffer) -> Vec<u8> {
        holds.iter().map(u8::from).collect()
    }
}

by_level! {
    /// The highest code; 0 if there is none.
    fn highest[](codes: &[u32]) -> u32 {
        codes.iter().fold(0, |most, code| most.max(*code))
    }
}

/// Reads entries one by one; gives what is wrong with each.
fn read_each(
    chunk: &Chunk,
    numbers: &mut PageNumbers,
    len: usize,
    values: &mut Vec<i64>,
) -> Result<Vec<Status>, Status> {
    let mut faults = Vec::new();
    for index in 0..len {
        let mut fault = Status::Ok;
        match numbers.read(1, values) {
            Ok(()) => {
                if let Err(status) = reading::apply(&mut values[index..], chunk) {
                    fault = status;
                }
            }
            Err(Status::Overflow) => {
                values.push(0);
                fault = Status::Overflow;
            }
            Err(status) => return Err(status),
        }
        faults.push(fault);
    }
    Ok(faults)
}
