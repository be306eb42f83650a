// SPDX-License-Identifier: Apache-2.0
//! Implements the target `scan`: the scan kernel on any command and any memory.
//!
//! Under `cargo xtask fuzz coverage` the kernel's C++ has sanitizers, and its memories are no
//! larger than the command says: an access outside of them ends the process.

use std::sync::atomic::AtomicU32;

use bytemuck::{cast_slice, cast_slice_mut};
use nearscan_command::{Command, ResultHeader, Status};
use nearscan_drive::{Completion, DriveTime, Fault, Outcome, Traffic};
use nearscan_models::{Depths, Error, Line, Memories, zeroed_lines};

use crate::{call::Call, sign};

/// Rows of a unit: a few batches of the CPU drive, which takes 8192 rows at once.
const ROWS_MAX: u64 = (1 << 15) - 1;
/// Steps of a command: more than any unit of so many rows needs.
const STEPS_MAX: u64 = (1 << 24) - 1;
/// Bytes of output and of scratch that a call is given; one that wants more is not run.
const ROOM_BYTES_MAX: u64 = 1 << 20;
/// Room for the result of a command that only the kernel may take for one.
const ROOM_BYTES: u64 = 1 << 16;
/// The content of output and scratch before a call, which stays behind the end of the result.
const UNTOUCHED: u64 = 0xa5a5_5a5a_c3c3_3c3c;

/// Runs the scan kernel on a call. Whether it gives rows.
///
/// # Panics
/// When the kernel breaks one of its promises.
pub fn scan(bytes: &[u8]) -> bool {
    let result = Call::parse(bytes).and_then(|mut call| run(&mut call));
    let header = result.map(|result| ResultHeader::decode(&result).expect("checked before"));
    header.is_some_and(|header| header.status == Status::Ok)
}

/// Bounds and signs the call's command and runs it; gives header and payload of the result, `None`
/// when the command does not fit the memories.
pub(crate) fn run(call: &mut Call) -> Option<Vec<u8>> {
    sign::bound(&mut call.command, ROWS_MAX, STEPS_MAX);
    sign::command(&mut call.command);
    let command = Command::decode(&call.command).ok();
    let room_bytes = command.as_ref().map_or(ROOM_BYTES, |command| command.output.bytes_max());
    let scratch_bytes = sign::scratch_bytes(&call.command);
    if room_bytes.max(scratch_bytes) > ROOM_BYTES_MAX {
        return None;
    }
    let words = |bytes: u64| usize::try_from(bytes / 8).unwrap_or(0);
    let mut output = vec![UNTOUCHED; words(room_bytes)];
    let mut scratch = vec![UNTOUCHED; words(scratch_bytes)];
    let input = lines(&call.memory);
    let mut memories = Memories { input: &input, output: &mut output, scratch: &mut scratch };
    let depths = if call.has_declared_depths { Depths::Declared } else { Depths::Roomy };
    match nearscan_models::scan(&call.command, &mut memories, &AtomicU32::new(0), depths) {
        Ok(()) => {}
        Err(Error::OutOfRange | Error::OutputTooShort { .. }) => return None,
        Err(Error::Deadlock) => panic!("the stages of the kernel wait for each other"),
    }
    let result = result_in(&output);
    if let Some(command) = &command {
        check(command, &result);
    }
    Some(result)
}

/// Device memory as the kernel takes it.
pub(crate) fn lines(memory: &[u8]) -> Vec<Line> {
    let mut lines = zeroed_lines(memory.len());
    let bytes: &mut [u8] = cast_slice_mut(&mut lines);
    bytes[..memory.len()].copy_from_slice(memory);
    lines
}

/// Header and payload of what a kernel left in its output, and nothing behind them.
pub(crate) fn result_in(output: &[u64]) -> Vec<u8> {
    let bytes: &[u8] = cast_slice(output);
    let header = ResultHeader::decode(bytes).expect("a kernel leaves a header");
    let payload_bytes = match header.status {
        Status::Ok => header.payload_bytes,
        _ => 0,
    };
    let length = ResultHeader::BYTES.checked_add(payload_bytes);
    let length = length.and_then(|length| usize::try_from(length).ok());
    let result = length.and_then(|length| bytes.get(..length)).expect("a payload in the output");
    let payload = &result[usize::try_from(ResultHeader::BYTES).unwrap_or(0)..];
    if header.status == Status::Ok {
        assert_eq!(crc32c::crc32c(payload), header.payload_checksum, "the payload's checksum");
        // The kernel must not have changed the words after the result.
        let behind = &output[result.len() / 8..];
        assert!(behind.iter().all(|word| *word == UNTOUCHED), "words behind the result");
    }
    result.to_vec()
}

/// Whether the result is one that a host would accept or a status.
fn check(command: &Command, result: &[u8]) {
    match completion(command, result).check(command) {
        Ok(_) | Err(Fault::Status(_)) => {}
        Err(fault @ (Fault::Failed(_) | Fault::Corrupted(_) | Fault::Accounting(_))) => {
            panic!("{fault}")
        }
    }
}

/// The completion that a drive would send.
pub(crate) fn completion(command: &Command, result: &[u8]) -> Completion {
    let watch = nearscan_drive::clock::Stopwatch::start();
    Completion {
        command_id: command.envelope.command_id,
        attempt: command.envelope.attempt,
        outcome: Outcome::Finished(result.to_vec().into()),
        time: DriveTime::Measured(watch.measured()),
        traffic: Traffic::default(),
    }
}
