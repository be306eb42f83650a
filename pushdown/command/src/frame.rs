// SPDX-License-Identifier: Apache-2.0
//! Encodes the frame of a command: its header, and the checksum over all of it.

use crate::{
    envelope::Envelope,
    error::Error,
    layout::{COMMAND_MAGIC, CommandHeader, FORMAT_MAJOR, FORMAT_MINOR, HEADER_BYTES, Record},
    program::limit,
    wire::{SectionWriter, check_version, join, read, split},
};

/// The work that the frame of a command describes.
pub(crate) struct Work {
    pub(crate) opcode: u16,
    pub(crate) hash: u64,
    pub(crate) rows: u64,
    pub(crate) scratch_bytes: u64,
    /// Bytes that the whole may have.
    pub(crate) bytes_max: u32,
}

/// The bytes of a command.
///
/// # Errors
/// [`Error::Limit`] when they are too many.
pub(crate) fn seal(
    envelope: &Envelope,
    work: &Work,
    sections: SectionWriter,
) -> Result<Vec<u8>, Error> {
    let header = header(envelope, work, sections.section_count());
    let mut out = Vec::new();
    header.encode(&mut out);
    sections.finish(&mut out);
    limit("bytes in a command", out.len(), work.bytes_max)?;
    let total_bytes = u32::try_from(out.len()).unwrap_or(u32::MAX);
    let unsigned = CommandHeader { total_bytes, checksum: 0, ..header };
    put_header(&mut out, &unsigned);
    let checksum = crc32c::crc32c(&out);
    put_header(&mut out, &CommandHeader { checksum, ..unsigned });
    Ok(out)
}

fn header(envelope: &Envelope, work: &Work, section_count: u16) -> CommandHeader {
    let (command_id_low, command_id_high) = split(envelope.command_id);
    let (query_id_low, query_id_high) = split(envelope.query_id);
    CommandHeader {
        magic: COMMAND_MAGIC,
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        opcode: work.opcode,
        section_count,
        flags: 1,
        attempt: envelope.attempt,
        tenant: envelope.tenant,
        command_id_low,
        command_id_high,
        query_id_low,
        query_id_high,
        epoch: envelope.epoch,
        fragment_hash: work.hash,
        deadline_ns: envelope.deadline_ns,
        steps_max: envelope.steps_max,
        rows: work.rows,
        scratch_bytes: work.scratch_bytes,
        priority: envelope.priority,
        ..CommandHeader::default()
    }
}

fn put_header(out: &mut [u8], header: &CommandHeader) {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    header.encode(&mut bytes);
    out[..HEADER_BYTES as usize].copy_from_slice(&bytes);
}

/// Checks magic, version, size, checksum and opcode; gives the header, and the bytes of the command
/// alone.
pub(crate) fn open(
    bytes: &[u8],
    opcode: u16,
    bytes_max: u32,
) -> Result<(CommandHeader, &[u8]), Error> {
    let part = "command";
    let header: CommandHeader = read(bytes, 0, part)?;
    if header.magic != COMMAND_MAGIC {
        return Err(Error::Magic { part });
    }
    check_version(header.format_major, header.format_minor)?;
    limit("bytes in a command", header.total_bytes as usize, bytes_max)?;
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
    if header.opcode != opcode || header.kernel_kind != 0 {
        return Err(Error::UnknownCode { what: "opcode", value: u64::from(header.opcode) });
    }
    Ok((header, bytes))
}

/// Offset of the checksum in the header, in bytes.
const CHECKSUM_AT: usize = 12;

/// The envelope that a header carries.
pub(crate) fn envelope_of(header: &CommandHeader) -> Envelope {
    Envelope {
        command_id: join(header.command_id_low, header.command_id_high),
        query_id: join(header.query_id_low, header.query_id_high),
        attempt: header.attempt,
        epoch: header.epoch,
        tenant: header.tenant,
        priority: header.priority,
        deadline_ns: header.deadline_ns,
        steps_max: header.steps_max,
    }
}
