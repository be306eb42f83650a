// SPDX-License-Identifier: Apache-2.0
//! Runs merges on the card: scans into device memory, then the merge, cut into parts or whole.
//!
//! The scans run one after the other on the job's unit, each into its part of one buffer; the parts
//! of the merge run side by side on the units that merge. Units are held in the order of their
//! numbers, so that two merges never wait for each other.

use nearscan_command::{
    Counters, InputRef, MergeCommand, MergePart, OutputRef, ResultHeader, Status, join_parts,
};
use nearscan_drive::Failure;
use nearscan_link::Argument;

use crate::{
    handles::{BufferKind, Part},
    job::{Execution, Progress, Target, clear_header, fetch, header_of, memory_size},
    pool::Pooled,
    unit::{ComputeUnit, Memories, kernel},
};

/// Parts of a buffer begin on a multiple of this.
const PART_ALIGN_BYTES: u64 = 4096;

/// The results of scans where they lie.
struct Scanned<'a> {
    memory: Pooled<'a>,
    inputs: Vec<InputRef>,
    /// Rows of all of them.
    rows: u64,
}

impl Execution<'_> {
    /// Runs the scans and merges their results in device memory; returns header and payload of the
    /// merged one. The status of a scan is that of the merge.
    pub(crate) fn merge(
        &self,
        command: &MergeCommand,
        progress: &mut Progress,
    ) -> Result<Vec<u8>, Failure> {
        let scanned = match self.scan_inputs(command, progress)? {
            Ok(scanned) => scanned,
            Err(header) => return Ok(header.encode()),
        };
        let parts = self.shared.merge_cut(self.card).parts(scanned.rows);
        let merged = match self.merge_in(command, &scanned, parts, progress) {
            Ok(merged) => merged,
            Err(failure) => return Err(self.give_up([scanned.memory], failure)),
        };
        let joined = join_parts(&merged).map_err(kernel)?;
        let is_short = |part: &Vec<u8>| {
            let header = ResultHeader::decode(part);
            let status = header.map(|header| header.status);
            matches!(status, Ok(Status::OutputFull | Status::StepsExceeded))
        };
        let is_too_long = joined.len() as u64 > command.output.bytes_max();
        if parts == 1 || !(is_too_long || merged.iter().any(is_short)) {
            return Ok(joined);
        }
        let mut whole = match self.merge_in(command, &scanned, 1, progress) {
            Ok(whole) => whole,
            Err(failure) => return Err(self.give_up([scanned.memory], failure)),
        };
        whole.pop().ok_or_else(|| kernel("a merge without a result"))
    }

    /// Runs the scans; the header of the merge instead, when one ends with a status.
    fn scan_inputs(
        &self,
        command: &MergeCommand,
        progress: &mut Progress,
    ) -> Result<Result<Scanned<'_>, ResultHeader>, Failure> {
        let unit = self.merge_unit(0)?;
        let room = |bytes_max: u64| bytes_max.next_multiple_of(PART_ALIGN_BYTES);
        let rooms = command.scans.iter().map(|scan| room(scan.output.bytes_max()));
        let total = rooms.clone().fold(0, u64::saturating_add);
        let place = unit.place(BufferKind::Host, Argument::Input);
        let taken = self.card.pool.take(place, memory_size(total)?);
        let mut memory =
            taken.map_err(|_| kernel(format!("the card has no {total} bytes of memory left")))?;
        let mut inputs = Vec::with_capacity(command.scans.len());
        let (mut at, mut rows) = (0, 0);
        for (scan, room) in command.scans.iter().zip(rooms) {
            let offset = memory_size(at)?;
            let part = memory.part(offset..memory_size(at + room)?).map_err(kernel)?;
            let target = Target { buffer: &mut memory, part: Some(&part), offset };
            let scanned = self.scan_into(scan, target, progress);
            let header = match scanned {
                Ok(header) => header,
                Err(failure) => {
                    self.close_part(part);
                    return Err(self.give_up([memory], failure));
                }
            };
            self.close_part(part);
            if header.status != Status::Ok {
                let failed = ResultHeader::failed(&command.envelope, header.status);
                return Ok(Err(ResultHeader { detail: header.detail, ..failed }));
            }
            let length = ResultHeader::BYTES + header.payload_bytes;
            inputs.push(InputRef::DeviceRange { lease: 0, offset: at, length });
            at += room;
            rows += header.rows_out;
        }
        Ok(Ok(Scanned { memory, inputs, rows }))
    }

    /// No object of a lost card is used.
    fn close_part(&self, part: Part) {
        if self.shared.running.lost().is_none() {
            part.close();
        }
    }

    fn merge_unit(&self, index: usize) -> Result<&ComputeUnit, Failure> {
        let unit = self.card.merges.get(index);
        unit.ok_or_else(|| kernel("the image has no such unit that merges"))
    }

    /// Merges in so many parts, each on its own unit; gives their results.
    fn merge_in(
        &self,
        command: &MergeCommand,
        scanned: &Scanned<'_>,
        parts: u16,
        progress: &mut Progress,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let mut started = Vec::new();
        let mut failed = None;
        for part in 0..parts {
            match self.start_part(command, scanned, MergePart { part, parts }) {
                Ok(part) => started.push(part),
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        // What runs is waited for, whatever became of the others.
        let mut results = Vec::with_capacity(started.len());
        let mut counters: Vec<Counters> = Vec::with_capacity(started.len());
        for (mut held, output, bytes_max) in started {
            let ended = held.wait(self.pending, &self.shared.running);
            let result = ended.and_then(|()| {
                let header = header_of(&output, 0)?;
                counters.push(header.counters);
                fetch(&output, 0, &header, bytes_max)
            });
            match result {
                Ok(result) => results.push(result),
                Err(failure) => failed = Some(self.give_up([output], failure)),
            }
        }
        match failed {
            Some(failure) => Err(failure),
            None => {
                self.count_merge(&counters, progress);
                Ok(results)
            }
        }
    }

    fn start_part(
        &self,
        command: &MergeCommand,
        scanned: &Scanned<'_>,
        part: MergePart,
    ) -> Result<(crate::unit::Held<'_>, Pooled<'_>, u64), Failure> {
        let unit = self.merge_unit(usize::from(part.part))?;
        let bytes_max = part.room_bytes(command.output.bytes_max());
        let output_ref = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
        let words =
            command.encode_for_kernel(&scanned.inputs, &output_ref, part).map_err(kernel)?;
        let place = unit.place(BufferKind::Host, Argument::Output);
        let taken = self.card.pool.take(place, memory_size(bytes_max)?);
        let mut output = taken
            .map_err(|_| kernel(format!("the card has no {bytes_max} bytes of memory left")))?;
        clear_header(&mut output, 0)?;
        let mut held = unit.hold()?;
        let memories =
            Memories { input: scanned.memory.handle(), output: output.handle(), scratch: None };
        held.start(&words, memories).map_err(kernel)?;
        Ok((held, output, bytes_max))
    }
}
