// SPDX-License-Identifier: Apache-2.0
//! Encodes references to bytes: the inputs and outputs of scans and merges.

use crate::{
    error::Error,
    input::{Extent, InputRef, OutputRef, Version},
    layout::{ExtentRecord, InputRecord, OutputRecord, section},
    limits,
    program::limit,
    types::BlockForm,
    wire::{SectionReader, SectionWriter, join, split},
};

/// Adds inputs, and the extents of those on NVMe blocks.
pub(crate) fn write_inputs(inputs: &[InputRef], sections: &mut SectionWriter) {
    let mut extents = Vec::new();
    let inputs: Vec<InputRecord> =
        inputs.iter().map(|input| input_record(input, &mut extents)).collect();
    sections.records(section::INPUTS, inputs.into_iter());
    sections.records(
        section::EXTENTS,
        extents.into_iter().map(|extent| ExtentRecord {
            block_first: extent.block_first,
            block_count: extent.block_count,
        }),
    );
}

/// Adds the output.
pub(crate) fn write_output(
    output: &OutputRef,
    mode: u16,
    rows_max: Option<u64>,
    form: BlockForm,
    sections: &mut SectionWriter,
) {
    let (kind, handle, offset) = match *output {
        OutputRef::HostBuffer { .. } => (1, 0, 0),
        OutputRef::DeviceRange { lease, offset, .. } => (2, lease, offset),
        OutputRef::ObjectAppend { object, .. } => (3, object, 0),
    };
    let record = OutputRecord {
        mode,
        kind,
        form: form.code(),
        handle,
        offset,
        bytes_max: output.bytes_max(),
        rows_max: rows_max.unwrap_or(u64::MAX),
        ..OutputRecord::default()
    };
    sections.records(section::OUTPUT, std::iter::once(record));
}

/// The one output record of a command.
pub(crate) fn output_record(sections: &SectionReader<'_>) -> Result<OutputRecord, Error> {
    sections.one(section::OUTPUT, "OUTPUT")
}

fn input_record(input: &InputRef, extents: &mut Vec<Extent>) -> InputRecord {
    let versioned = |version: &Version, record: InputRecord| InputRecord {
        version_size: version.size_bytes,
        version_stamp: version.stamp,
        ..record
    };
    match input {
        InputRef::DeviceRange { lease, offset, length } => InputRecord {
            kind: 1,
            handle_low: *lease,
            offset: *offset,
            length: *length,
            ..InputRecord::default()
        },
        InputRef::FileRange { file_id, version, offset, length } => versioned(
            version,
            InputRecord {
                kind: 2,
                handle_low: *file_id,
                offset: *offset,
                length: *length,
                ..InputRecord::default()
            },
        ),
        InputRef::ObjectRange { partition, object, version, offset, length } => versioned(
            version,
            InputRecord {
                kind: 3,
                handle_low: *object,
                handle_high: *partition,
                offset: *offset,
                length: *length,
                ..InputRecord::default()
            },
        ),
        InputRef::NvmeExtents { namespace, block_shift, extents: runs, skip, length, version } => {
            let extent_first = u32::try_from(extents.len()).unwrap_or(u32::MAX);
            extents.extend_from_slice(runs);
            versioned(
                version,
                InputRecord {
                    kind: 4,
                    block_shift: *block_shift,
                    port: *namespace,
                    offset: *skip,
                    length: *length,
                    extent_first,
                    extent_count: u32::try_from(runs.len()).unwrap_or(u32::MAX),
                    ..InputRecord::default()
                },
            )
        }
        InputRef::Output { command_id, port } => {
            let (handle_low, handle_high) = split(*command_id);
            InputRecord { kind: 5, port: *port, handle_low, handle_high, ..InputRecord::default() }
        }
    }
}

/// The inputs of a command.
pub(crate) fn read_inputs(sections: &SectionReader<'_>) -> Result<Vec<InputRef>, Error> {
    let extents: Vec<ExtentRecord> = sections.records(section::EXTENTS)?;
    limit("extents", extents.len(), limits::EXTENTS_MAX)?;
    sections.records(section::INPUTS)?.iter().map(|record| read_input(record, &extents)).collect()
}

fn read_input(record: &InputRecord, extents: &[ExtentRecord]) -> Result<InputRef, Error> {
    let InputRecord { handle_low, handle_high, offset, length, .. } = *record;
    let version = Version { size_bytes: record.version_size, stamp: record.version_stamp };
    Ok(match record.kind {
        1 => InputRef::DeviceRange { lease: handle_low, offset, length },
        2 => InputRef::FileRange { file_id: handle_low, version, offset, length },
        3 => InputRef::ObjectRange {
            partition: handle_high,
            object: handle_low,
            version,
            offset,
            length,
        },
        4 => {
            let first = record.extent_first as usize;
            let end = first + record.extent_count as usize;
            let runs = extents.get(first..end).ok_or(Error::Index {
                what: "extent",
                index: end as u64,
                count: extents.len() as u64,
            })?;
            InputRef::NvmeExtents {
                namespace: record.port,
                block_shift: record.block_shift,
                extents: runs
                    .iter()
                    .map(|run| Extent {
                        block_first: run.block_first,
                        block_count: run.block_count,
                    })
                    .collect(),
                skip: offset,
                length,
                version,
            }
        }
        5 => InputRef::Output { command_id: join(handle_low, handle_high), port: record.port },
        other => {
            return Err(Error::UnknownCode { what: "input", value: u64::from(other) });
        }
    })
}

/// The destination of the result.
pub(crate) fn read_output(record: &OutputRecord) -> Result<OutputRef, Error> {
    let OutputRecord { handle, offset, bytes_max, .. } = *record;
    Ok(match record.kind {
        1 => OutputRef::HostBuffer { bytes_max },
        2 => OutputRef::DeviceRange { lease: handle, offset, bytes_max },
        3 => OutputRef::ObjectAppend { object: handle, bytes_max },
        other => {
            return Err(Error::UnknownCode { what: "output", value: u64::from(other) });
        }
    })
}
