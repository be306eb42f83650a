// SPDX-License-Identifier: Apache-2.0
//! Corrects checksums and lengths, so that the code after their checks is reached.

use std::ops::Range;

use nearscan_command::ResultHeader;

/// The first bytes of a command.
const COMMAND_MAGIC: &[u8] = b"NSCM";
/// The first bytes of a result.
const RESULT_MAGIC: &[u8] = b"NSRS";
/// Commands within commands, and results in device memory, stand on such lines.
const LINE: usize = 64;

/// The byte ranges of fields in the header of a command.
mod of_command {
    use std::ops::Range;

    pub(super) const TOTAL_BYTES: Range<usize> = 8..12;
    pub(super) const CHECKSUM: Range<usize> = 12..16;
    pub(super) const STEPS_MAX: Range<usize> = 88..96;
    pub(super) const ROWS: Range<usize> = 96..104;
    pub(super) const SCRATCH_BYTES: Range<usize> = 104..112;
}

/// The byte ranges of fields in the header of a result.
mod of_result {
    use std::ops::Range;

    pub(super) const HEADER_CHECKSUM: Range<usize> = 12..16;
    pub(super) const PAYLOAD_CHECKSUM: Range<usize> = 16..20;
    pub(super) const PAYLOAD_BYTES: Range<usize> = 88..96;
}

fn number(bytes: &[u8], field: Range<usize>) -> Option<u64> {
    let mut whole = [0; 8];
    whole[..field.len()].copy_from_slice(bytes.get(field)?);
    Some(u64::from_le_bytes(whole))
}

fn put(bytes: &mut [u8], field: Range<usize>, value: u64) {
    let length = field.len();
    if let Some(field) = bytes.get_mut(field) {
        field.copy_from_slice(&value.to_le_bytes()[..length]);
    }
}

/// The scratch that a command says it needs.
pub(crate) fn scratch_bytes(command: &[u8]) -> u64 {
    number(command, of_command::SCRATCH_BYTES).unwrap_or(0)
}

/// Cuts what would only make a run longer: rows and steps.
pub(crate) fn bound(command: &mut [u8], rows_max: u64, steps_max: u64) {
    for (field, max) in [(of_command::ROWS, rows_max), (of_command::STEPS_MAX, steps_max)] {
        if let Some(value) = number(command, field.clone())
            && value > max
        {
            put(command, field, value % (max + 1));
        }
    }
}

/// Says that the command has as many bytes as there are, and makes its checksum right.
pub(crate) fn command(bytes: &mut [u8]) {
    put(bytes, of_command::TOTAL_BYTES, bytes.len() as u64);
    sum(bytes);
}

/// Makes the checksum of a command right.
fn sum(bytes: &mut [u8]) {
    put(bytes, of_command::CHECKSUM, 0);
    let sum = crc32c::crc32c(bytes);
    put(bytes, of_command::CHECKSUM, u64::from(sum));
}

/// Makes those of the commands that a merge carries right, then its own.
pub(crate) fn merge(bytes: &mut [u8]) {
    for start in (LINE..bytes.len()).step_by(LINE) {
        let rest = &mut bytes[start..];
        if let Some(total) = number(rest, of_command::TOTAL_BYTES)
            && rest.starts_with(COMMAND_MAGIC)
            && let Some(inner) = usize::try_from(total).ok().and_then(|total| rest.get_mut(..total))
        {
            sum(inner);
        }
    }
    command(bytes);
}

/// Makes both checksums of a result right, if its payload is there.
pub(crate) fn result(bytes: &mut [u8]) {
    let header_bytes = usize::try_from(ResultHeader::BYTES).unwrap_or(0);
    let payload = bytes.get(header_bytes..).unwrap_or_default();
    let length = number(bytes, of_result::PAYLOAD_BYTES);
    let length = length.and_then(|length| usize::try_from(length).ok());
    if let Some(payload) = length.and_then(|length| payload.get(..length)) {
        let sum = crc32c::crc32c(payload);
        put(bytes, of_result::PAYLOAD_CHECKSUM, u64::from(sum));
    }
    if let Some(header) = bytes.get_mut(..header_bytes) {
        put(header, of_result::HEADER_CHECKSUM, 0);
        let sum = crc32c::crc32c(header);
        put(header, of_result::HEADER_CHECKSUM, u64::from(sum));
    }
}

/// Makes the checksums of all results in device memory right.
pub(crate) fn results(memory: &mut [u8]) {
    for start in (0..memory.len()).step_by(LINE) {
        let rest = &mut memory[start..];
        if rest.starts_with(RESULT_MAGIC) {
            result(rest);
        }
    }
}
