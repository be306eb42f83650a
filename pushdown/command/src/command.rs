// SPDX-License-Identifier: Apache-2.0
//! [`Command`]: a fragment bound to one unit of work, and its bytes.

use crate::error::Error;
use crate::fragment::Fragment;
use crate::input::{Extent, InputRef, OutputRef, Version};
use crate::layout::{
    COMMAND_MAGIC, ColumnRecord, CommandHeader, ExtentRecord, FORMAT_MAJOR, FORMAT_MINOR,
    HEADER_BYTES, InputRecord, OutputRecord, ReadingRecord, Record, opcode, section, uses,
};
use crate::limits;
use crate::program::limit;
use crate::types::{Codec, Encodings, PhysicalType, ReadAs, Reading, ValueKind};
use crate::unit::{Chunk, Unit};
use crate::wire::{
    SectionReader, SectionWriter, check_version, join, mode_of, read, read_fragment, split,
    write_fragment,
};

/// What a command carries beside its work: who asks, since when, how long it may take.
///
/// `(command_id, attempt, epoch)` makes a retry idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Identity of the command.
    pub command_id: u128,
    /// Query it belongs to.
    pub query_id: u128,
    /// How often it was tried before.
    pub attempt: u32,
    /// Resets of the drive that the sender knows of.
    pub epoch: u64,
    /// Whose quota it counts against.
    pub tenant: u32,
    /// Larger is sooner.
    pub priority: u32,
    /// Time left, in ns.
    pub deadline_ns: u64,
    /// Steps after which a kernel gives up.
    pub steps_max: u64,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            command_id: 0,
            query_id: 0,
            attempt: 0,
            epoch: 0,
            tenant: 0,
            priority: 0,
            deadline_ns: u64::MAX,
            steps_max: limits::STEPS_DEFAULT_MAX,
        }
    }
}

/// A fragment bound to one unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Who asks.
    pub envelope: Envelope,
    /// What to do.
    pub fragment: Fragment,
    /// Where.
    pub unit: Unit,
    /// Where the result goes.
    pub output: OutputRef,
}

impl Command {
    /// Binds `fragment` to `unit`; the result goes to the host, with room for
    /// [`Unit::output_bytes`].
    ///
    /// # Errors
    /// What [`Fragment::check`] and [`Unit::check`] find.
    pub fn bind(fragment: &Fragment, unit: Unit, envelope: Envelope) -> Result<Self, Error> {
        fragment.check()?;
        unit.check(fragment)?;
        let output = OutputRef::HostBuffer { bytes_max: unit.output_bytes(fragment) };
        Ok(Self { envelope, fragment: fragment.clone(), unit, output })
    }

    /// Bytes of device memory beside input and output.
    pub fn scratch_bytes(&self) -> u64 {
        self.unit.scratch_bytes(&self.fragment)
    }

    /// Bytes of device memory that the command takes in all: inputs, each from a line of its own,
    /// scratch, and room for the result.
    pub fn device_bytes(&self) -> u64 {
        let lines = |input: &InputRef| input.length().unwrap_or(0).next_multiple_of(64);
        let inputs: u64 = self.unit.inputs.iter().map(lines).sum();
        inputs.saturating_add(self.scratch_bytes()).saturating_add(self.output.bytes_max())
    }

    /// The bytes a kernel reads.
    ///
    /// # Errors
    /// [`Error::Limit`] when they are more than a kernel can hold.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut sections = SectionWriter::default();
        self.write_inputs(&mut sections);
        self.write_columns(&mut sections);
        write_fragment(&self.fragment, &mut sections);
        sections.records(section::OUTPUT, std::iter::once(self.output_record()));
        let mut out = Vec::new();
        let header = self.header(sections.section_count());
        header.encode(&mut out);
        sections.finish(&mut out);
        limit("bytes in a command", out.len(), limits::COMMAND_BYTES_MAX)?;
        let total_bytes = u32::try_from(out.len()).unwrap_or(u32::MAX);
        let unsigned = CommandHeader { total_bytes, checksum: 0, ..header };
        put_header(&mut out, &unsigned);
        let checksum = crc32c::crc32c(&out);
        put_header(&mut out, &CommandHeader { checksum, ..unsigned });
        Ok(out)
    }

    fn header(&self, section_count: u16) -> CommandHeader {
        let envelope = &self.envelope;
        let (command_id_low, command_id_high) = split(envelope.command_id);
        let (query_id_low, query_id_high) = split(envelope.query_id);
        CommandHeader {
            magic: COMMAND_MAGIC,
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            opcode: opcode::SCAN,
            section_count,
            flags: 1,
            attempt: envelope.attempt,
            tenant: envelope.tenant,
            command_id_low,
            command_id_high,
            query_id_low,
            query_id_high,
            epoch: envelope.epoch,
            fragment_hash: self.fragment.hash(),
            deadline_ns: envelope.deadline_ns,
            steps_max: envelope.steps_max,
            rows: self.unit.rows,
            scratch_bytes: self.scratch_bytes(),
            priority: envelope.priority,
            ..CommandHeader::default()
        }
    }

    fn write_inputs(&self, sections: &mut SectionWriter) {
        let mut extents = Vec::new();
        let inputs: Vec<InputRecord> =
            self.unit.inputs.iter().map(|input| input_record(input, &mut extents)).collect();
        sections.records(section::INPUTS, inputs.into_iter());
        sections.records(
            section::EXTENTS,
            extents.into_iter().map(|extent| ExtentRecord {
                block_first: extent.block_first,
                block_count: extent.block_count,
            }),
        );
    }

    fn write_columns(&self, sections: &mut SectionWriter) {
        let scratch = self.unit.scratch(&self.fragment);
        let lanes = self.unit.chunks.iter().zip(&self.fragment.columns).zip(scratch).enumerate();
        let records: Vec<ColumnRecord> = lanes
            .map(|(index, ((chunk, column), lane))| {
                let tests = || self.fragment.tests.iter();
                let position = |test: &crate::StringTest| usize::from(test.column) == index;
                let first = tests().position(position).unwrap_or(0);
                let codes = match &self.fragment.output {
                    crate::Output::States { keys, .. } => {
                        let coded = keys.iter().filter_map(crate::Key::code_column);
                        coded.into_iter().any(|column| usize::from(column) == index)
                    }
                    crate::Output::Rows { .. } => false,
                };
                let shown = column.kind == ValueKind::Bytes && self.fragment.shows_bytes_of(index);
                ColumnRecord {
                    input: chunk.input,
                    physical_type: chunk.physical_type.code(),
                    definition_level_max: chunk.definition_level_max,
                    codec: chunk.codec.code(),
                    value_kind: column.kind.code(),
                    encodings: chunk.encodings.bits(),
                    offset: chunk.offset,
                    length: chunk.length,
                    uncompressed_bytes: chunk.uncompressed_bytes,
                    scratch_offset: lane.offset,
                    scratch_bytes: lane.bytes,
                    test_first: u16::try_from(first).unwrap_or(u16::MAX),
                    test_count: u16::try_from(tests().filter(|test| position(test)).count())
                        .unwrap_or(u16::MAX),
                    uses: u16::from(codes) * uses::CODES + u16::from(shown) * uses::BYTES,
                    ..ColumnRecord::default()
                }
            })
            .collect();
        sections.records(section::COLUMNS, records.into_iter());
        let readings = self.unit.chunks.iter().map(|chunk| chunk.reading);
        if readings.clone().any(|reading| reading != Reading::PLAIN) {
            let record = |Reading { rule, bits, length }| ReadingRecord {
                rule: rule.code(),
                bits,
                length,
                reserved: 0,
            };
            sections.records(section::READINGS, readings.map(record));
        }
    }

    fn output_record(&self) -> OutputRecord {
        let (mode, rows_max) = mode_of(&self.fragment.output);
        let (kind, handle, offset) = match self.output {
            OutputRef::HostBuffer { .. } => (1, 0, 0),
            OutputRef::DeviceRange { lease, offset, .. } => (2, lease, offset),
            OutputRef::ObjectAppend { object, .. } => (3, object, 0),
        };
        OutputRecord {
            mode,
            kind,
            handle,
            offset,
            bytes_max: self.output.bytes_max(),
            rows_max: rows_max.unwrap_or(u64::MAX),
            ..OutputRecord::default()
        }
    }

    /// Reads what [`Command::encode`] wrote.
    ///
    /// # Errors
    /// The first thing wrong with the bytes; never panics.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let header: CommandHeader = read(bytes, 0, "command")?;
        let bytes = check_frame(bytes, &header)?;
        let sections = SectionReader::open(bytes, HEADER_BYTES, header.section_count)?;
        let output: OutputRecord = match sections.records(section::OUTPUT)?.as_slice() {
            [output] => *output,
            other => {
                let count = u32::try_from(other.len()).unwrap_or(u32::MAX);
                return Err(Error::SectionCount { section: "OUTPUT", count });
            }
        };
        let columns: Vec<ColumnRecord> = sections.records(section::COLUMNS)?;
        let kinds = columns
            .iter()
            .map(|column| ValueKind::from_code(column.value_kind))
            .collect::<Result<_, _>>()?;
        let rows_max = (output.rows_max != u64::MAX).then_some(output.rows_max);
        let fragment = read_fragment(&sections, output.mode, rows_max, Some(kinds))?;
        let unit = Unit {
            rows: header.rows,
            inputs: read_inputs(&sections)?,
            chunks: read_chunks(&columns, &sections)?,
        };
        unit.check(&fragment)?;
        Ok(Self {
            envelope: Envelope {
                command_id: join(header.command_id_low, header.command_id_high),
                query_id: join(header.query_id_low, header.query_id_high),
                attempt: header.attempt,
                epoch: header.epoch,
                tenant: header.tenant,
                priority: header.priority,
                deadline_ns: header.deadline_ns,
                steps_max: header.steps_max,
            },
            fragment,
            unit,
            output: read_output(&output)?,
        })
    }
}

fn put_header(out: &mut [u8], header: &CommandHeader) {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    header.encode(&mut bytes);
    out[..HEADER_BYTES as usize].copy_from_slice(&bytes);
}

/// Checks magic, version, size and checksum; gives the bytes of the command alone.
fn check_frame<'a>(bytes: &'a [u8], header: &CommandHeader) -> Result<&'a [u8], Error> {
    let part = "command";
    if header.magic != COMMAND_MAGIC {
        return Err(Error::Magic { part });
    }
    check_version(header.format_major, header.format_minor)?;
    limit("bytes in a command", header.total_bytes as usize, limits::COMMAND_BYTES_MAX)?;
    let total = header.total_bytes as usize;
    let Some(bytes) = bytes.get(..total).filter(|_| total >= HEADER_BYTES as usize) else {
        return Err(Error::Truncated {
            part,
            needed: u64::from(header.total_bytes.max(HEADER_BYTES)),
            available: bytes.len() as u64,
        });
    };
    let mut unsigned = bytes.to_vec();
    unsigned[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    let actual = crc32c::crc32c(&unsigned);
    if actual != header.checksum {
        return Err(Error::Checksum { part, expected: header.checksum, actual });
    }
    if header.opcode != opcode::SCAN || header.kernel_kind != 0 {
        return Err(Error::UnknownCode { what: "opcode", value: u64::from(header.opcode) });
    }
    Ok(bytes)
}

/// Where the checksum stands in the header.
const CHECKSUM_AT: usize = 12;

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

fn read_inputs(sections: &SectionReader<'_>) -> Result<Vec<InputRef>, Error> {
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

fn read_chunks(
    columns: &[ColumnRecord],
    sections: &SectionReader<'_>,
) -> Result<Vec<Chunk>, Error> {
    let readings: Vec<ReadingRecord> = sections.records(section::READINGS)?;
    if readings.is_empty() {
        return columns.iter().map(|column| read_chunk(column, Reading::PLAIN)).collect();
    }
    if readings.len() != columns.len() {
        return Err(Error::Inconsistent { what: "there is one reading for each column" });
    }
    let chunk = |(column, reading): (&ColumnRecord, &ReadingRecord)| {
        let ReadingRecord { bits, length, .. } = *reading;
        read_chunk(column, Reading { rule: ReadAs::from_code(reading.rule)?, bits, length })
    };
    columns.iter().zip(&readings).map(chunk).collect()
}

fn read_chunk(record: &ColumnRecord, reading: Reading) -> Result<Chunk, Error> {
    Ok(Chunk {
        reading,
        input: record.input,
        offset: record.offset,
        length: record.length,
        uncompressed_bytes: record.uncompressed_bytes,
        physical_type: PhysicalType::from_code(record.physical_type)?,
        definition_level_max: record.definition_level_max,
        codec: Codec::from_code(record.codec)?,
        encodings: Encodings::from_bits(record.encodings)?,
    })
}

fn read_output(record: &OutputRecord) -> Result<OutputRef, Error> {
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
