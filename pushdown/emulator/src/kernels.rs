// SPDX-License-Identifier: Apache-2.0
//! Runs kernels on device memory: loads their input, calls them, and reads their results.

use bytemuck::{cast_slice, cast_slice_mut};
use nearscan_command::{Command, Envelope, MediaPlan, OutputRef, ResultHeader, Status};
use nearscan_drive::{CancelWord, Failure, FileTable, Modelled, Traffic};
use nearscan_models::{Depths, Line, Memories};

use crate::{build::Build, config::Config, faults::PAGE_BIT, flash::Flash, media::load};

/// The bytes that a run has moved and the time that it has taken so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) traffic: Traffic,
    /// Nothing until a scan has begun.
    pub(crate) time: Option<Modelled>,
    /// Time of loading another image before it, in ns.
    pub(crate) exchange_ns: u64,
}

/// The part of a drive that one command runs on.
pub(crate) struct Device<'a> {
    pub(crate) config: &'a Config,
    /// The image that is loaded.
    pub(crate) build: &'a Build,
    pub(crate) files: &'a FileTable,
    pub(crate) flash: &'a Flash,
    pub(crate) cancel: &'a CancelWord,
    /// A byte of the first scan's input that is not what the media sent.
    pub(crate) flipped: Option<u64>,
}

impl Device<'_> {
    /// Runs a scan; gives header and payload of its result.
    pub(crate) fn scan(
        &self,
        command: &Command,
        progress: &mut Progress,
    ) -> Result<Vec<u8>, Failure> {
        // Fresh pages of the system are zero without being touched: what the kernel does not use
        // costs nothing.
        let mut output = vec![0u64; memory_size(command.output.bytes_max().div_ceil(8))?];
        self.scan_into(command, &mut output, progress)?;
        result_in(&output)
    }

    /// Loads the input of a scan and runs the kernel, which writes the result to `output`.
    pub(crate) fn scan_into(
        &self,
        command: &Command,
        output: &mut [u64],
        progress: &mut Progress,
    ) -> Result<ResultHeader, Failure> {
        if command.unit.chunks.len() as u64 > u64::from(self.build.lanes) {
            return refuse(&command.envelope, output);
        }
        let plan = MediaPlan::of(&command.unit.inputs);
        let (mut input, inputs) = load(self.files, self.flash, &plan, &command.unit.inputs)?;
        // Nothing ran before the first scan.
        let flipped = self.flipped.filter(|_| progress.traffic.media_bytes == 0);
        if let Some(at) = flipped {
            let bytes: &mut [u8] = cast_slice_mut(&mut input);
            if let Some(byte) = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at)) {
                *byte ^= PAGE_BIT;
            }
        }
        progress.traffic.media_bytes += plan.media_bytes();
        let mut bound = command.clone();
        bound.unit.inputs = inputs;
        let bytes_max = command.output.bytes_max();
        bound.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
        let words = bound.encode().map_err(failed)?;
        let mut scratch = vec![0u64; memory_size(bound.scratch_bytes().div_ceil(8))?];
        let mut memories = Memories { input: &input, output, scratch: &mut scratch };
        nearscan_models::scan(&words, &mut memories, self.cancel.word(), Depths::Roomy)
            .map_err(failed)?;
        let header = ResultHeader::decode(cast_slice(memories.output)).map_err(failed)?;
        let Config { timing, builds, .. } = self.config;
        let time = timing.scan(&builds.first, plan.requests(), &header.counters);
        progress.time = match progress.time {
            None => Some(time),
            Some(before) => before.combine(time),
        };
        Ok(header)
    }
}

/// The result of a kernel that has fewer lanes than the command has columns.
fn refuse(envelope: &Envelope, output: &mut [u64]) -> Result<ResultHeader, Failure> {
    let header = ResultHeader::failed(envelope, Status::Unsupported);
    let bytes = header.encode();
    let room = cast_slice_mut(output).get_mut(..bytes.len());
    room.ok_or_else(|| failed("the result does not fit"))?.copy_from_slice(&bytes);
    Ok(header)
}

/// Returns header and payload of the result in `output`.
pub(crate) fn result_in(output: &[u64]) -> Result<Vec<u8>, Failure> {
    let device: &[u8] = cast_slice(output);
    let header = ResultHeader::decode(device).map_err(failed)?;
    let length = memory_size(ResultHeader::BYTES + header.payload_bytes)?;
    let result = device.get(..length).map(<[u8]>::to_vec);
    result.ok_or_else(|| failed("the result is longer than its buffer"))
}

/// Lines that hold so many bytes.
pub(crate) fn lines(bytes: u64) -> Result<usize, Failure> {
    memory_size(bytes.div_ceil(size_of::<Line>() as u64))
}

/// A size as an index into memory.
pub(crate) fn memory_size(size: u64) -> Result<usize, Failure> {
    usize::try_from(size).map_err(|_| failed(format!("{size} does not fit in memory")))
}

pub(crate) fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::Kernel { reason: reason.to_string() }
}
