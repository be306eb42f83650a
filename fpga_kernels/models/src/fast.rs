// SPDX-License-Identifier: Apache-2.0
//! The fast set: the four jobs of the SmartSSD study again, near the memory bank's limit.
//!
//! Each unit has one port of 512 bits, reads and writes in bursts of 1 KiB, and does sixteen
//! elements a cycle, of a merge one. Answers and counters are those of [`study`](super::study);
//! `beats` are lines of 64 bytes here, and `iterations` of a light kernel as well.
//!
//! # Invariants
//!
//! - The answer is the same for any number of units; only the steps differ.
//! - Anything that a kernel would refuse ends in an [`Error`].

mod ffi;

use ffi::{Job, Output};

use super::{
    Line,
    study::{
        ArrayLengths, Average, Error, Record, Slice, Steps, check, check_units, length, steps,
    },
    zeroed_lines,
};

/// Elements of a line: what a light kernel does in a cycle.
pub const LANES: u32 = 16;

/// The form of the output of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A segment for each unit, in their order, each where its unit found room for it.
    Segments,
    /// One array without gaps. A pass that counts comes before the one that writes.
    OneArray,
}

/// An answer, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<T> {
    /// The answer of all units together.
    pub answer: T,
    /// The work of each unit in each pass. Units run side by side, passes one after the other.
    pub passes: Vec<Vec<Steps>>,
}

/// Returns the number of elements of `a` that equal `value`, and the work of the units.
///
/// # Errors
/// [`Error`] for a number of units that cannot be, or an array that is too long.
pub fn count(a: &[i32], value: i32, units: u32) -> Result<Run<u64>, Error> {
    let built = Built::new(units, &[a])?;
    let lines = lines(a);
    let records = built
        .run(|unit, records| ffi::count(&lines, built.slice(a, unit), value, unit, records))?;
    let answer = records.iter().map(|record| record.elements).sum();
    Ok(Run { answer, passes: vec![steps(&records)] })
}

/// The mean of `a`, as its sum and the number of its elements.
///
/// # Errors
/// [`Error`] for a number of units that cannot be, or an array that is too long.
pub fn average(a: &[i32], units: u32) -> Result<Run<Average>, Error> {
    let built = Built::new(units, &[a])?;
    let lines = lines(a);
    let records =
        built.run(|unit, records| ffi::average(&lines, built.slice(a, unit), unit, records))?;
    let answer = Average {
        sum: records.iter().map(|record| record.sum).sum(),
        count: records.iter().map(|record| record.elements).sum(),
    };
    Ok(Run { answer, passes: vec![steps(&records)] })
}

/// The sums of the elements of `a` and `b`, which wrap.
///
/// # Errors
/// [`Error`] for a number of units that cannot be, and for arrays of two lengths.
pub fn add(a: &[i32], b: &[i32], units: u32) -> Result<Run<Vec<i32>>, Error> {
    let built = Built::new(units, &[a, b])?;
    if a.len() != b.len() {
        return Err(Error::Lengths { a: a.len(), b: b.len() });
    }
    let (lines_a, lines_b) = (lines(a), lines(b));
    let mut sums = zeroed_lines(size_of_val(a));
    let records = built.run(|unit, records| {
        let part = built.slice(a, unit);
        ffi::add(&lines_a, &lines_b, &mut sums, part, unit, records)
    })?;
    let answer = elements(&sums)[..a.len()].to_vec();
    Ok(Run { answer, passes: vec![steps(&records)] })
}

/// The elements of two sorted arrays, sorted and each value once: a segment for each unit, or the
/// one array.
///
/// # Errors
/// [`Error`] for a number of units that cannot be, and for arrays that are not sorted.
pub fn merge(a: &[i32], b: &[i32], form: Form, units: u32) -> Result<Run<Vec<Vec<i32>>>, Error> {
    let built = Built::new(units, &[a, b])?;
    if !a.is_sorted() || !b.is_sorted() {
        return Err(Error::NotSorted);
    }
    let lengths = ArrayLengths { a: a.len() as u64, b: b.len() as u64 };
    let inputs = ffi::Inputs { a: &lines(a), b: &lines(b), lengths };
    let mut memory = zeroed_lines(size_of_val(a) + size_of_val(b));
    let room = (a.len() + b.len()) as u64;
    let mut pass = |job: Job, firsts: &[u64]| {
        built.run(|unit, records| {
            let first = firsts.get(unit as usize).copied().unwrap_or(0);
            let output = Output { lines: &mut memory, first, room };
            ffi::merge(inputs, output, job, unit, records)
        })
    };
    match form {
        Form::Segments => {
            let records = pass(Job::Segment, &[])?;
            let written = elements(&memory);
            let answer = records.iter().map(|one| written[output(one)].to_vec()).collect();
            Ok(Run { answer, passes: vec![steps(&records)] })
        }
        Form::OneArray => {
            let counted = pass(Job::Count, &[])?;
            let mut total = 0;
            let mut firsts = Vec::new();
            for record in &counted {
                firsts.push(total);
                total += record.elements;
            }
            let placed = pass(Job::Place, &firsts)?;
            let length = usize::try_from(total).unwrap_or(usize::MAX);
            let answer = vec![elements(&memory)[..length].to_vec()];
            Ok(Run { answer, passes: vec![steps(&counted), steps(&placed)] })
        }
    }
}

/// Returns the range of elements that a unit wrote in the array of a merge.
fn output(record: &Record) -> std::ops::Range<usize> {
    let place = |element: u64| usize::try_from(element).unwrap_or(usize::MAX);
    place(record.first)..place(record.first + record.elements)
}

/// An array as lines; the rest of the last one is zero.
fn lines(array: &[i32]) -> Vec<Line> {
    let mut lines = zeroed_lines(size_of_val(array));
    bytemuck::cast_slice_mut(&mut lines)[..array.len()].copy_from_slice(array);
    lines
}

fn elements(lines: &[Line]) -> &[i32] {
    bytemuck::cast_slice(lines)
}

/// A number of units that can be.
struct Built {
    units: u32,
}

impl Built {
    fn new(units: u32, arrays: &[&[i32]]) -> Result<Self, Error> {
        check_units(units)?;
        for array in arrays {
            length(array)?;
        }
        Ok(Self { units })
    }

    /// The slice of `unit`: as many lines as the others have, or one more or less.
    fn slice(&self, array: &[i32], unit: u32) -> Slice {
        let length = array.len() as u64;
        let lanes = u64::from(LANES);
        let cut = |unit: u32| {
            let lines = length.div_ceil(lanes) * u64::from(unit) / u64::from(self.units);
            (lines * lanes).min(length)
        };
        Slice { first: cut(unit), count: cut(unit + 1) - cut(unit) }
    }

    /// Runs all units, each of which leaves its record.
    fn run(
        &self,
        mut run_unit: impl FnMut(u32, &mut [Record]) -> ffi::Ended,
    ) -> Result<Vec<Record>, Error> {
        let mut records = vec![Record::default(); self.units as usize];
        for unit in 0..self.units {
            match run_unit(unit, &mut records) {
                ffi::Ended::Deadlocked => return Err(Error::Deadlock { unit }),
                ffi::Ended::Done => check(unit, &records[unit as usize])?,
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests;
