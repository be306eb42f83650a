// SPDX-License-Identifier: Apache-2.0
//! The four kernels of the SmartSSD study, run over N units one after another.
//!
//! Every function gives the answer of all units together and what each of them did. It tells of
//! no time: [`Steps`] is what a time model charges. Slices are cut evenly; those of a merge are
//! cut by the units themselves, and a join pass brings the pieces together.
//!
//! # Invariants
//!
//! - The answer is the same in every variant and for any number of units; only the steps differ.
//! - Anything that a kernel would refuse ends in an [`Error`].

mod ffi;

use ffi::Unit;
pub(super) use ffi::{ArrayLengths, MergeShare, Record, Slice};

/// Units of a kernel, at most: each takes one of the fifteen ports of the bank.
pub const UNITS_MAX: u32 = 15;
/// Elements of an array, at most: as many as fill the 4 GiB of the bank.
pub const ELEMENTS_MAX: u64 = 1 << 30;
const ELEMENT_BYTES: u32 = 4;
/// The smallest buffer: one element of each array of a merge.
pub const BUFFER_BYTES_MIN: u32 = 12;
/// The largest buffer.
pub const BUFFER_BYTES_MAX: u32 = 1 << 20;

/// The reason why a kernel was not run, or not to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No unit, or more than there are ports.
    #[error("{units} units, there can be 1 to {UNITS_MAX}")]
    Units {
        /// The number of units that was asked for.
        units: u32,
    },
    /// A buffer that no kernel has.
    #[error("a buffer of {bytes} bytes, there can be {BUFFER_BYTES_MIN} to {BUFFER_BYTES_MAX}")]
    Buffer {
        /// The size that was asked for.
        bytes: u32,
    },
    /// An array that the bank has no room for.
    #[error("an array of {elements} elements, there can be {ELEMENTS_MAX}")]
    TooLong {
        /// The number of its elements.
        elements: usize,
    },
    /// The arrays of an addition differ in length.
    #[error("arrays of {a} and {b} elements cannot be added")]
    Lengths {
        /// Elements of the first.
        a: usize,
        /// Elements of the second.
        b: usize,
    },
    /// An input of a merge is not sorted.
    #[error("the inputs of the merge are not sorted")]
    NotSorted,
    /// The stages of a unit waited for each other: a mistake in the kernel.
    #[error("the stages of unit {unit} wait for each other")]
    Deadlock {
        /// Which unit.
        unit: u32,
    },
    /// A unit gave back a status that its arguments cannot lead to: a mistake in the kernel.
    #[error("unit {unit} ended with status {status}")]
    Status {
        /// Which unit; the join pass counts as the one behind the last.
        unit: u32,
        /// The status that it ended with.
        status: u64,
    },
}

/// The options that the hardware would be built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The size in bytes of a unit's own memory, which it copies blocks to; without one it reaches
    /// global memory an element at a time. Of bytes that are no whole element, the last are left
    /// unused.
    pub buffer_bytes: Option<u32>,
    /// Whether its loops start an iteration each cycle.
    pub pipelined: bool,
}

/// The accesses to one array in global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Accesses {
    /// Elements read or written one by one.
    pub singles: u64,
    /// Copies of a block.
    pub bursts: u64,
    /// Elements that those copies moved.
    pub beats: u64,
}

/// The work of a unit. The order of the fields is that of the kernels' records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Steps {
    /// Reads of the first array; of the join pass, of the pieces.
    pub a: Accesses,
    /// Reads of the second array.
    pub b: Accesses,
    /// Writes.
    pub c: Accesses,
    /// Iterations of the loop that computes; those of copies are the beats.
    pub iterations: u64,
    /// Comparisons of elements.
    pub comparisons: u64,
    /// Times that the buffer was filled.
    pub blocks: u64,
    /// Elements that the join pass moved.
    pub joined: u64,
}

/// An answer, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<T> {
    /// The answer of all units together.
    pub answer: T,
    /// The work of each unit, at the same time as the others.
    pub units: Vec<Steps>,
    /// The work of the join pass of a merge, behind all units.
    pub join: Option<Steps>,
}

/// The sum of an array and how many elements it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Average {
    /// Cannot overflow: an array has 2^30 elements at most.
    pub sum: i64,
    /// Elements.
    pub count: u64,
}

impl Average {
    /// The mean; there is none of no elements.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a rounded number")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Returns the number of elements of `a` that equal `value`, and the work of the units.
///
/// # Errors
/// [`Error`] for a variant or a number of units that cannot be.
pub fn count(a: &[i32], value: i32, variant: Variant, units: u32) -> Result<Run<u64>, Error> {
    let built = Built::new(variant, units)?;
    let length = length(a)?;
    let records = built.run(|unit| ffi::count(a, built.slice(length, unit.index), value, unit))?;
    Ok(Run {
        answer: records.iter().map(|record| record.elements).sum(),
        units: steps(&records),
        join: None,
    })
}

/// The mean of `a`, as its sum and the number of its elements.
///
/// # Errors
/// [`Error`] for a variant or a number of units that cannot be.
pub fn average(a: &[i32], variant: Variant, units: u32) -> Result<Run<Average>, Error> {
    let built = Built::new(variant, units)?;
    let length = length(a)?;
    let records = built.run(|unit| ffi::average(a, built.slice(length, unit.index), unit))?;
    let answer = Average {
        sum: records.iter().map(|record| record.sum).sum(),
        count: records.iter().map(|record| record.elements).sum(),
    };
    Ok(Run { answer, units: steps(&records), join: None })
}

/// The sums of the elements of `a` and `b`, which wrap.
///
/// # Errors
/// [`Error`] for a variant or a number of units that cannot be, and for arrays of two lengths.
pub fn add(a: &[i32], b: &[i32], variant: Variant, units: u32) -> Result<Run<Vec<i32>>, Error> {
    let built = Built::new(variant, units)?;
    let length = length(a)?;
    if a.len() != b.len() {
        return Err(Error::Lengths { a: a.len(), b: b.len() });
    }
    let mut answer = vec![0; a.len()];
    let records =
        built.run(|unit| ffi::add(a, b, &mut answer, built.slice(length, unit.index), unit))?;
    Ok(Run { answer, units: steps(&records), join: None })
}

/// The elements of two sorted arrays, sorted and each value once.
///
/// # Errors
/// [`Error`] for a variant or a number of units that cannot be, and for arrays that are not sorted.
pub fn merge(a: &[i32], b: &[i32], variant: Variant, units: u32) -> Result<Run<Vec<i32>>, Error> {
    let built = Built::new(variant, units)?;
    length(a)?;
    length(b)?;
    if !a.is_sorted() || !b.is_sorted() {
        return Err(Error::NotSorted);
    }
    let mut pieces = vec![0; a.len() + b.len()];
    let mut records = built.run(|unit| ffi::merge(a, b, &mut pieces, unit))?;
    let mut answer = vec![0; pieces.len()];
    let pipelined = variant.pipelined;
    records.push(Record::default());
    let behind = Unit { index: units, local: &mut [], pipelined, records: &mut records };
    ffi::join(&pieces, &mut answer, behind);
    let joined = records.pop().unwrap_or_default();
    check(units, &joined)?;
    answer.truncate(usize::try_from(joined.elements).unwrap_or(usize::MAX));
    Ok(Run { answer, units: steps(&records), join: Some(joined.steps) })
}

pub(super) fn check_units(units: u32) -> Result<(), Error> {
    if (1..=UNITS_MAX).contains(&units) { Ok(()) } else { Err(Error::Units { units }) }
}

pub(super) fn length(array: &[i32]) -> Result<u64, Error> {
    let length = array.len() as u64;
    if length > ELEMENTS_MAX {
        return Err(Error::TooLong { elements: array.len() });
    }
    Ok(length)
}

pub(super) fn steps(records: &[Record]) -> Vec<Steps> {
    records.iter().map(|record| record.steps).collect()
}

pub(super) fn check(unit: u32, record: &Record) -> Result<(), Error> {
    match record.status {
        0 => Ok(()),
        status => Err(Error::Status { unit, status }),
    }
}

/// A variant and a number of units that can be.
struct Built {
    variant: Variant,
    units: u32,
}

impl Built {
    fn new(variant: Variant, units: u32) -> Result<Self, Error> {
        check_units(units)?;
        match variant.buffer_bytes {
            Some(bytes) if !(BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX).contains(&bytes) => {
                Err(Error::Buffer { bytes })
            }
            _ => Ok(Self { variant, units }),
        }
    }

    /// The slice of unit `index`: as many elements as the others have, or one more or less.
    fn slice(&self, length: u64, index: u32) -> Slice {
        let cut = |index: u32| length * u64::from(index) / u64::from(self.units);
        Slice { first: cut(index), count: cut(index + 1) - cut(index) }
    }

    /// Runs all units, each of which leaves its record. They use one memory in turn.
    fn run(&self, mut run_unit: impl FnMut(Unit<'_>)) -> Result<Vec<Record>, Error> {
        let elements = self.variant.buffer_bytes.unwrap_or(0) / ELEMENT_BYTES;
        let mut local = vec![0; elements as usize];
        let mut records = vec![Record::default(); self.units as usize];
        for index in 0..self.units {
            let pipelined = self.variant.pipelined;
            run_unit(Unit { index, local: &mut local, pipelined, records: &mut records });
        }
        for (index, record) in (0..).zip(&records) {
            check(index, record)?;
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests;
