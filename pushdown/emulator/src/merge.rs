// SPDX-License-Identifier: Apache-2.0
//! Runs merges on the device: scans into device memory, then the merge, cut into parts or whole.
//!
//! Each part is a kernel call on a separate merge unit. They run one after the other here, and side
//! by side on the modelled clock. The output is divided among the parts. If a part does not fit,
//! because its strings are longer than those of the others, or needs more than its share of the
//! steps, the merge runs again as a whole.

use bytemuck::cast_slice_mut;
use nearscan_command::{
    Counters, InputRef, MergeCommand, MergeCut, MergePart, OutputRef, ResultHeader, Status,
    join_parts,
};
use nearscan_drive::Failure;
use nearscan_models::Line;

use crate::kernels::{Device, Progress, failed, lines, memory_size, result_in};

/// The results of scans in device memory.
struct Scanned {
    memory: Vec<Line>,
    inputs: Vec<InputRef>,
    /// Rows of all of them.
    rows: u64,
}

/// The results of the kernel calls of a merge.
struct Merged {
    results: Vec<Vec<u8>>,
    headers: Vec<ResultHeader>,
}

impl Device<'_> {
    /// Runs the scans one after the other and merges their results in device memory; returns header
    /// and payload of the merged one. The status of a scan is that of the merge.
    pub(crate) fn merge(
        &self,
        command: &MergeCommand,
        progress: &mut Progress,
    ) -> Result<Vec<u8>, Failure> {
        if !self.build.merges() {
            return Ok(ResultHeader::failed(&command.envelope, Status::Unsupported).encode());
        }
        let scanned = match self.scan_inputs(command, progress)? {
            Ok(scanned) => scanned,
            Err(header) => return Ok(header.encode()),
        };
        let part_rows = self.config.merge_part_rows;
        let parts = MergeCut { units: self.build.merge_units, part_rows }.parts(scanned.rows);
        let merged = self.merge_in(command, &scanned, parts, progress)?;
        let joined = join_parts(&merged.results).map_err(failed)?;
        let is_short = |header: &ResultHeader| {
            matches!(header.status, Status::OutputFull | Status::StepsExceeded)
        };
        let is_too_long = joined.len() as u64 > command.output.bytes_max();
        if parts == 1 || !(is_too_long || merged.headers.iter().any(is_short)) {
            return Ok(joined);
        }
        let mut whole = self.merge_in(command, &scanned, 1, progress)?;
        whole.results.pop().ok_or_else(|| failed("a merge without a result"))
    }

    /// Runs the scans; the header of the merge instead, when one ends with a status.
    fn scan_inputs(
        &self,
        command: &MergeCommand,
        progress: &mut Progress,
    ) -> Result<Result<Scanned, ResultHeader>, Failure> {
        let rooms = command.scans.iter().map(|scan| lines(scan.output.bytes_max()));
        let rooms: Vec<usize> = rooms.collect::<Result<_, _>>()?;
        let room: usize = rooms.iter().sum();
        let mut memory = nearscan_models::zeroed_lines(room * size_of::<Line>());
        let mut rest = memory.as_mut_slice();
        let mut inputs = Vec::with_capacity(rooms.len());
        let (mut at, mut rows) = (0, 0);
        for (scan, room) in command.scans.iter().zip(rooms) {
            let (result, behind) = rest.split_at_mut(room);
            let header = self.scan_into(scan, cast_slice_mut(result), progress)?;
            if header.status != Status::Ok {
                let failed = ResultHeader::failed(&command.envelope, header.status);
                return Ok(Err(ResultHeader { detail: header.detail, ..failed }));
            }
            let length = ResultHeader::BYTES + header.payload_bytes;
            inputs.push(InputRef::DeviceRange { lease: 0, offset: at, length });
            at += (room * size_of::<Line>()) as u64;
            rows += header.rows_out;
            rest = behind;
        }
        Ok(Ok(Scanned { memory, inputs, rows }))
    }

    /// Merges in so many parts, each on a separate unit.
    fn merge_in(
        &self,
        command: &MergeCommand,
        scanned: &Scanned,
        parts: u16,
        progress: &mut Progress,
    ) -> Result<Merged, Failure> {
        let mut merged = Merged { results: Vec::new(), headers: Vec::new() };
        for part in 0..parts {
            let part = MergePart { part, parts };
            let bytes_max = part.room_bytes(command.output.bytes_max());
            let output_ref = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
            let words =
                command.encode_for_kernel(&scanned.inputs, &output_ref, part).map_err(failed)?;
            let mut output = vec![0u64; memory_size(bytes_max.div_ceil(8))?];
            let cancel = self.cancel.word();
            nearscan_models::merge(&words, &scanned.memory, &mut output, cancel).map_err(failed)?;
            let result = result_in(&output)?;
            merged.headers.push(ResultHeader::decode(&result).map_err(failed)?);
            merged.results.push(result);
        }
        if let Some(time) = &mut progress.time {
            let did: Vec<Counters> = merged.headers.iter().map(|header| header.counters).collect();
            time.merge_ns += self.config.timing.merge_ns(&did);
        }
        Ok(merged)
    }
}
