// SPDX-License-Identifier: Apache-2.0
//! Calls of one unit of the fast set, each with a safe face: what a kernel may touch lies within
//! its lines.
//!
//! The arguments are laid out as the C++ structs of `fpga_kernels/models/shim/fast.cpp`.

use super::{
    super::{
        Line,
        study::{ArrayLengths, MergeShare, Record, Slice},
    },
    LANES,
};

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    /// The stages waited for each other.
    Deadlocked,
}

impl Ended {
    fn new(outcome: u32) -> Self {
        if outcome == 0 { Self::Done } else { Self::Deadlocked }
    }
}

/// The job that a unit of a merge is started for, in the numbers of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Job {
    Segment = 0,
    Count = 1,
    Place = 2,
}

/// A job of a merge, and where its output goes: `fast_merge_job`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct MergeJob {
    job: u32,
    first: u64,
    room: u64,
}

/// Two sorted arrays, and how many of their elements count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) a: &'a [Line],
    pub(super) b: &'a [Line],
    pub(super) lengths: ArrayLengths,
}

/// The array of a merge: `room` elements, of which a unit that is told writes from `first` on.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) lines: &'a mut [Line],
    pub(super) first: u64,
    pub(super) room: u64,
}

unsafe extern "C" {
    fn ns_model_fast_count(
        a: *const Line,
        records: *mut Record,
        part: Slice,
        value: i32,
        unit: u32,
    ) -> u32;
    fn ns_model_fast_average(a: *const Line, records: *mut Record, part: Slice, unit: u32) -> u32;
    fn ns_model_fast_addition(
        a: *const Line,
        b: *const Line,
        c: *mut Line,
        records: *mut Record,
        part: Slice,
        unit: u32,
    ) -> u32;
    fn ns_model_fast_merge(
        a: *const Line,
        b: *const Line,
        c: *mut Line,
        records: *mut Record,
        share: MergeShare,
        job: MergeJob,
    ) -> u32;
}

/// Elements that lines have room for.
fn elements(lines: &[Line]) -> u64 {
    lines.len() as u64 * u64::from(LANES)
}

/// Whether a slice lies within an array.
fn within(part: Slice, lines: &[Line]) -> bool {
    let length = elements(lines);
    part.first <= length && part.count <= length - part.first
}

/// Counts a slice.
pub(super) fn count(
    a: &[Line],
    part: Slice,
    value: i32,
    unit: u32,
    records: &mut [Record],
) -> Ended {
    assert!(within(part, a) && (unit as usize) < records.len(), "a slice and a record of ours");
    let records = records.as_mut_ptr();
    // SAFETY: the kernel reads the lines of `part` and writes the record of the unit; they are
    // there.
    Ended::new(unsafe { ns_model_fast_count(a.as_ptr(), records, part, value, unit) })
}

/// Adds the elements of a slice up.
pub(super) fn average(a: &[Line], part: Slice, unit: u32, records: &mut [Record]) -> Ended {
    assert!(within(part, a) && (unit as usize) < records.len(), "a slice and a record of ours");
    let records = records.as_mut_ptr();
    // SAFETY: the kernel reads the lines of `part` and writes the record of the unit; they are
    // there.
    Ended::new(unsafe { ns_model_fast_average(a.as_ptr(), records, part, unit) })
}

/// Adds a slice of two arrays.
pub(super) fn add(
    a: &[Line],
    b: &[Line],
    c: &mut [Line],
    part: Slice,
    unit: u32,
    records: &mut [Record],
) -> Ended {
    assert!(within(part, a) && within(part, b) && within(part, c), "slices of ours");
    assert!((unit as usize) < records.len(), "a record of ours");
    let (c, records) = (c.as_mut_ptr(), records.as_mut_ptr());
    // SAFETY: the kernel reads the lines of `part` of `a` and `b`, writes those of `c` and the
    // record of the unit; all are there, and none that is written overlaps another.
    Ended::new(unsafe { ns_model_fast_addition(a.as_ptr(), b.as_ptr(), c, records, part, unit) })
}

/// Does a job of one unit's share of a merge, of as many units as there are records.
pub(super) fn merge(
    inputs: Inputs<'_>,
    output: Output<'_>,
    job: Job,
    unit: u32,
    records: &mut [Record],
) -> Ended {
    let Inputs { a, b, lengths } = inputs;
    assert!(lengths.a <= elements(a) && lengths.b <= elements(b), "arrays of ours");
    assert!(output.room <= elements(output.lines), "room of ours");
    assert!((unit as usize) < records.len(), "a record of ours");
    let units = u32::try_from(records.len()).unwrap_or(u32::MAX);
    let share = MergeShare { unit, units, lengths };
    let job = MergeJob { job: job as u32, first: output.first, room: output.room };
    let (c, records) = (output.lines.as_mut_ptr(), records.as_mut_ptr());
    // SAFETY: the kernel reads the lines of both arrays within their lengths, sorted or not, and
    // writes elements below `room` and the record of its unit; none that is written overlaps
    // another.
    Ended::new(unsafe { ns_model_fast_merge(a.as_ptr(), b.as_ptr(), c, records, share, job) })
}
