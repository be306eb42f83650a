// SPDX-License-Identifier: Apache-2.0
// The steps that all kernels share: takes the frame of a command apart, and makes the header of a
// result.
#pragma once

#include "../command_format.hpp"
#include "crc32c.hpp"

namespace nearscan {

/// Copies a command on chip: as many words as it says it has, if it can have so many.
inline void copy_command(const uint64_t* command, uint64_t words[COMMAND_BYTES_MAX / 8]) {
  // The size stands in the second word; a wrong one is refused later.
  const uint32_t total_bytes = static_cast<uint32_t>(command[1]);
  const uint32_t bytes = total_bytes < COMMAND_HEADER_BYTES ? COMMAND_HEADER_BYTES
                         : total_bytes > COMMAND_BYTES_MAX  ? COMMAND_BYTES_MAX
                                                            : total_bytes;
COPY_COMMAND:
  for (uint32_t word = 0; word < bytes / 8; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 32 max = 8192
    words[word] = command[word];
  }
}

/// Checks the frame of a command: magic, version, size, checksum, and that it is work of this kind.
inline uint32_t load_header(const uint64_t* words, uint16_t opcode, command_header& header) {
  header = load_command_header(words, 0);
  if (header.magic != COMMAND_MAGIC || header.format_major != FORMAT_MAJOR) {
    return STATUS_MALFORMED;
  }
  if (header.total_bytes > COMMAND_BYTES_MAX || header.total_bytes < COMMAND_HEADER_BYTES ||
      header.total_bytes % 8 != 0) {
    return STATUS_MALFORMED;
  }
  uint32_t checksum = CRC32C_START;
CHECKSUM:
  for (uint32_t word = 0; word < header.total_bytes / 8; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 32 max = 8192
    // The checksum itself is the upper half of the second word.
    const uint64_t mask = word == 1 ? 0xffffffffu : ~static_cast<uint64_t>(0);
    checksum = crc32c_word(checksum, words[word] & mask);
  }
  if (crc32c_end(checksum) != header.checksum) return STATUS_MALFORMED;
  if (header.opcode != opcode || header.kernel_kind != 0) return STATUS_UNSUPPORTED;
  return STATUS_OK;
}

/// A header that answers a command with `status` and no rows.
inline result_record answer_to(const command_header& header, uint32_t status) {
  result_record record = result_record();
  record.magic = RESULT_MAGIC;
  record.format_major = FORMAT_MAJOR;
  record.format_minor = FORMAT_MINOR;
  record.status = status;
  record.payload_checksum = crc32c_end(CRC32C_START);
  record.detail_column = 0xffffffffu;
  record.attempt = header.attempt;
  record.command_id_low = header.command_id_low;
  record.command_id_high = header.command_id_high;
  record.epoch = header.epoch;
  return record;
}

/// A counter in the 32 bits that a result has for it, where it stops.
inline uint32_t in_32_bits(uint64_t count) {
  return count < 0xffffffffu ? static_cast<uint32_t>(count) : 0xffffffffu;
}

/// The checksum of a header's words, which have none yet.
inline uint32_t header_checksum(const uint64_t words[RESULT_RECORD_BYTES / 8]) {
  uint32_t checksum = CRC32C_START;
HEADER_CHECKSUM:
  for (uint32_t word = 0; word < RESULT_RECORD_BYTES / 8; word++) {
#pragma HLS PIPELINE II = 1
    checksum = crc32c_word(checksum, words[word]);
  }
  return crc32c_end(checksum);
}

/// A header's words, its checksum filled in.
inline void finish_header(result_record record, uint64_t words[RESULT_RECORD_BYTES / 8]) {
  record.header_checksum = 0;
  store_result_record(record, words);
  record.header_checksum = header_checksum(words);
  store_result_record(record, words);
}

/// Bytes of a written value; 4 for the ends of byte strings.
inline uint32_t value_bytes(uint8_t width) {
  switch (width) {
    case WIDTH_BOOL:
      return 1;
    case WIDTH_W64:
      return 8;
    case WIDTH_W128:
      return 16;
    default:
      return 4;
  }
}

}  // namespace nearscan
