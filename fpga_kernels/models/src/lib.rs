// SPDX-License-Identifier: Apache-2.0
//! The HLS kernels, compiled by a C++ compiler and called from Rust.
//!
//! This is the same source that the synthesis tool reads, its stages run as cooperative threads
//! over bounded FIFOs (`fpga_kernels/hls/portable/dataflow.hpp`). It computes what the hardware
//! computes; how long that takes in hardware is not known here, only what the stages did (the
//! result's counters).
//!
//! # Invariants
//!
//! - Any command bytes end in a status or an [`Error`]; memory outside of the slices is never
//!   touched.
//! - A call uses nothing but its arguments and memories of its own thread: calls run side by
//!   side.

pub mod fast;
pub mod study;

use std::sync::atomic::AtomicU32;

use bytemuck::{Pod, Zeroable};
use nearscan_command::{ResultHeader, limits};

/// The reason why a kernel was not run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The output cannot even hold a status.
    #[error("the output has {words} words, a result header alone needs {needed}")]
    OutputTooShort {
        /// Its length.
        words: usize,
        /// The words that a header takes.
        needed: usize,
    },
    /// A range of the command lies outside of its memory.
    #[error("a range of the command lies outside of its memory")]
    OutOfRange,
    /// The stages waited for each other: a mistake in the kernel.
    #[error("the stages of the kernel wait for each other")]
    Deadlock,
}

/// The depth of the FIFOs between the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depths {
    /// Some KiB each: fast.
    Roomy,
    /// As the kernel declares them: shows the deadlocks that the hardware would have.
    Declared,
}

/// One beat of the kernel's 512-bit port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

/// `bytes` of zeroed input memory, as lines. View them as bytes with [`bytemuck::cast_slice_mut`].
pub fn zeroed_lines(bytes: usize) -> Vec<Line> {
    bytemuck::zeroed_vec(bytes.div_ceil(size_of::<Line>()))
}

mod ffi {
    use super::Line;

    unsafe extern "C" {
        pub(super) fn ns_model_scan(
            command: *const u64,
            input: *const Line,
            input_bytes: u64,
            output: *mut u64,
            output_bytes: u64,
            scratch: *mut u64,
            scratch_bytes: u64,
            cancel: *const u32,
            declared_depths: u32,
        ) -> u32;
        pub(super) fn ns_model_merge(
            command: *const u64,
            input: *const Line,
            input_bytes: u64,
            output: *mut u64,
            output_bytes: u64,
            cancel: *const u32,
        ) -> u32;
        pub(super) fn ns_model_record_bytes(index: u32) -> u32;
    }
}

/// The memories of one kernel call.
#[derive(Debug)]
pub struct Memories<'a> {
    /// Column chunks.
    pub input: &'a [Line],
    /// The result.
    pub output: &'a mut [u64],
    /// Dictionaries and strings.
    pub scratch: &'a mut [u64],
}

/// Words of a result header.
const HEADER_WORDS: usize = (ResultHeader::BYTES / 8) as usize;

/// Runs the scan kernel. The result, status included, is at the start of `memories.output`.
///
/// # Errors
/// [`Error`] when the kernel could not run; a command that it refuses is no error but a status.
pub fn scan(
    command: &[u8],
    memories: &mut Memories<'_>,
    cancel: &AtomicU32,
    depths: Depths,
) -> Result<(), Error> {
    let Memories { input, output, scratch } = memories;
    if output.len() < HEADER_WORDS {
        return Err(Error::OutputTooShort { words: output.len(), needed: HEADER_WORDS });
    }
    let words = whole_command(command);
    // SAFETY: the command has SCAN_BYTES_MAX bytes, which is all that a kernel reads of it;
    // ranges inside the other memories are checked against their lengths before the kernel runs;
    // the cancel word outlives the call and is only read.
    let outcome = unsafe {
        ffi::ns_model_scan(
            words.as_ptr(),
            input.as_ptr(),
            size_of_val(*input) as u64,
            output.as_mut_ptr(),
            size_of_val(*output) as u64,
            scratch.as_mut_ptr(),
            size_of_val(*scratch) as u64,
            cancel.as_ptr(),
            u32::from(depths == Depths::Declared),
        )
    };
    match outcome {
        0 => Ok(()),
        1 => Err(Error::OutOfRange),
        _ => Err(Error::Deadlock),
    }
}

/// Runs the merge kernel: the results of scans lie in `input`, where the command says. The merged
/// one, status included, is at the start of `output`.
///
/// # Errors
/// [`Error`] when the kernel could not run; a command that it refuses is no error but a status.
pub fn merge(
    command: &[u8],
    input: &[Line],
    output: &mut [u64],
    cancel: &AtomicU32,
) -> Result<(), Error> {
    if output.len() < HEADER_WORDS {
        return Err(Error::OutputTooShort { words: output.len(), needed: HEADER_WORDS });
    }
    let words = whole_command(command);
    // SAFETY: the command has SCAN_BYTES_MAX bytes, which is all that a kernel reads of it;
    // ranges inside the other memories are checked against their lengths before the kernel runs;
    // the cancel word outlives the call and is only read.
    let outcome = unsafe {
        ffi::ns_model_merge(
            words.as_ptr(),
            input.as_ptr(),
            size_of_val(input) as u64,
            output.as_mut_ptr(),
            size_of_val(output) as u64,
            cancel.as_ptr(),
        )
    };
    match outcome {
        0 => Ok(()),
        1 => Err(Error::OutOfRange),
        _ => Err(Error::Deadlock),
    }
}

/// The command as the words a kernel reads, bits of key filters included, zero behind its end.
fn whole_command(command: &[u8]) -> Vec<u64> {
    let mut words = vec![0; limits::SCAN_BYTES_MAX as usize / 8];
    for (word, bytes) in words.iter_mut().zip(command.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    words
}

/// Size of record `index` of [`nearscan_command::layout::RECORDS`] as the C++ compiler sees it.
pub fn record_bytes(index: u32) -> Option<u32> {
    // SAFETY: the function reads a constant table and checks its argument.
    let bytes = unsafe { ffi::ns_model_record_bytes(index) };
    (bytes != 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use nearscan_command::Status;
    use nearscan_command::layout::RECORDS;

    use super::*;

    #[test]
    fn records_have_the_same_size_on_both_sides() {
        for (index, record) in RECORDS.iter().enumerate() {
            let index = u32::try_from(index).unwrap();
            assert_eq!(record_bytes(index), Some(record.bytes), "{}", record.name);
        }
        assert_eq!(record_bytes(u32::try_from(RECORDS.len()).unwrap()), None);
    }

    #[test]
    fn command_of_zeros_is_malformed() {
        let mut output = vec![0; 64];
        let mut memories = Memories { input: &[], output: &mut output, scratch: &mut [] };
        scan(&[0; 128], &mut memories, &AtomicU32::new(0), Depths::Roomy).unwrap();
        let header = ResultHeader::decode(bytemuck::cast_slice(&output)).unwrap();
        assert_eq!(header.status, Status::Malformed);
        output.fill(0);
        merge(&[0; 128], &[], &mut output, &AtomicU32::new(0)).unwrap();
        let header = ResultHeader::decode(bytemuck::cast_slice(&output)).unwrap();
        assert_eq!(header.status, Status::Malformed);
    }
}
