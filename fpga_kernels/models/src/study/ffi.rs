// SPDX-License-Identifier: Apache-2.0
//! Calls of one unit, each with a safe face: what a kernel may touch lies within its slices.
//!
//! The records and arguments are laid out as the C++ structs of `fpga_kernels/hls/study`.

use bytemuck::{Pod, Zeroable};

use super::Steps;

/// The answer of one unit: `study_record`.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) status: u64,
    pub(crate) elements: u64,
    pub(crate) sum: i64,
    /// The first element of the piece of a merge: for the join pass.
    pub(crate) first: u64,
    pub(crate) steps: Steps,
}

/// The part of the arrays that is one unit's: `slice`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Slice {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// Elements of the two arrays: `array_lengths`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct ArrayLengths {
    pub(crate) a: u64,
    pub(crate) b: u64,
}

/// The share of a merge that a unit is asked for: `merge_share`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct MergeShare {
    pub(crate) unit: u32,
    pub(crate) units: u32,
    pub(crate) lengths: ArrayLengths,
}

/// Which variant, and the unit's own memory: `study_variant`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Variant {
    local: *mut i32,
    buffer_bytes: u32,
    pipelined: u32,
}

/// One unit: which it is, its own memory, and where all units leave their records.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub(super) index: u32,
    /// Empty for a unit that goes without a buffer.
    pub(super) local: &'a mut [i32],
    pub(super) pipelined: bool,
    pub(super) records: &'a mut [Record],
}

impl Unit<'_> {
    /// Returns the variant as the kernel takes it. The pointer is valid as long as the unit is
    /// borrowed.
    fn variant(&mut self) -> Variant {
        assert!((self.index as usize) < self.records.len(), "a record of ours");
        Variant {
            local: self.local.as_mut_ptr(),
            buffer_bytes: u32::try_from(size_of_val(self.local)).unwrap_or(u32::MAX),
            pipelined: u32::from(self.pipelined),
        }
    }
}

unsafe extern "C" {
    fn ns_model_study_count(
        a: *const i32,
        records: *mut Record,
        part: Slice,
        value: i32,
        unit: u32,
        variant: Variant,
    );
    fn ns_model_study_average(
        a: *const i32,
        records: *mut Record,
        part: Slice,
        unit: u32,
        variant: Variant,
    );
    fn ns_model_study_addition(
        a: *const i32,
        b: *const i32,
        c: *mut i32,
        records: *mut Record,
        part: Slice,
        unit: u32,
        variant: Variant,
    );
    fn ns_model_study_merge(
        a: *const i32,
        b: *const i32,
        c: *mut i32,
        records: *mut Record,
        share: MergeShare,
        variant: Variant,
    );
    fn ns_model_study_join(
        pieces: *const i32,
        joined: *mut i32,
        records: *mut Record,
        units: u32,
        room: u64,
        variant: Variant,
    );
    #[cfg(test)]
    fn ns_model_study_limit(index: u32) -> u64;
}

/// Whether a slice lies within an array.
fn within(part: Slice, array: &[i32]) -> bool {
    let length = array.len() as u64;
    part.first <= length && part.count <= length - part.first
}

/// Counts a slice.
pub(super) fn count(a: &[i32], part: Slice, value: i32, mut unit: Unit<'_>) {
    assert!(within(part, a), "a slice of ours");
    let variant = unit.variant();
    let records = unit.records.as_mut_ptr();
    // SAFETY: the kernel reads `part` of `a` and writes the record of the unit and its own memory;
    // all are there.
    unsafe { ns_model_study_count(a.as_ptr(), records, part, value, unit.index, variant) }
}

/// Adds the elements of a slice up.
pub(super) fn average(a: &[i32], part: Slice, mut unit: Unit<'_>) {
    assert!(within(part, a), "a slice of ours");
    let variant = unit.variant();
    let records = unit.records.as_mut_ptr();
    // SAFETY: the kernel reads `part` of `a` and writes the record of the unit and its own memory;
    // all are there.
    unsafe { ns_model_study_average(a.as_ptr(), records, part, unit.index, variant) }
}

/// Adds a slice of two arrays.
pub(super) fn add(a: &[i32], b: &[i32], c: &mut [i32], part: Slice, mut unit: Unit<'_>) {
    assert!(within(part, a) && within(part, b) && within(part, c), "slices of ours");
    let variant = unit.variant();
    let records = unit.records.as_mut_ptr();
    let c = c.as_mut_ptr();
    // SAFETY: the kernel reads `part` of `a` and `b`, writes `part` of `c`, the record of the unit
    // and its own memory; all are there, and none that is written overlaps another.
    unsafe {
        ns_model_study_addition(a.as_ptr(), b.as_ptr(), c, records, part, unit.index, variant);
    }
}

/// Merges one unit's share, of as many as there are records, and leaves its piece in `c`.
pub(super) fn merge(a: &[i32], b: &[i32], c: &mut [i32], mut unit: Unit<'_>) {
    assert!(c.len() >= a.len() + b.len(), "room for all pieces");
    let variant = unit.variant();
    let units = u32::try_from(unit.records.len()).unwrap_or(u32::MAX);
    let lengths = ArrayLengths { a: a.len() as u64, b: b.len() as u64 };
    let share = MergeShare { unit: unit.index, units, lengths };
    let records = unit.records.as_mut_ptr();
    let c = c.as_mut_ptr();
    // SAFETY: the kernel reads the arrays within their lengths, sorted or not, and writes at most
    // as many elements to `c` as it takes, where those before them leave room; it writes the
    // record of its unit and its own memory, and none that is written overlaps another.
    unsafe { ns_model_study_merge(a.as_ptr(), b.as_ptr(), c, records, share, variant) }
}

/// Moves the pieces of all units into one array. The unit is the one behind those that merged, and
/// its record behind theirs.
pub(super) fn join(pieces: &[i32], joined: &mut [i32], mut unit: Unit<'_>) {
    assert!(joined.len() >= pieces.len(), "room for all pieces");
    let variant = unit.variant();
    let room = pieces.len() as u64;
    let records = unit.records.as_mut_ptr();
    let joined = joined.as_mut_ptr();
    // SAFETY: the kernel reads the records before that of its unit, checks each against the room
    // of both arrays, and writes the record of its unit.
    unsafe { ns_model_study_join(pieces.as_ptr(), joined, records, unit.index, room, variant) }
}

/// Limit `index` as the C++ compiler sees it; 0 behind the last.
#[cfg(test)]
pub(super) fn limit(index: u32) -> u64 {
    // SAFETY: the function reads a constant table and checks its argument.
    unsafe { ns_model_study_limit(index) }
}
