// SPDX-License-Identifier: Apache-2.0
// Runs a command in every depth mode and holds the result against what was expected.
#pragma once

#include <cstdio>

#include "bounds.hpp"
#include "tb_command.hpp"
#include "tb_golden.hpp"

extern "C" void ns_scan(const uint64_t* command, const nearscan::line_t* input, uint64_t* output,
                        uint64_t* scratch, const volatile uint32_t* cancel);

namespace nearscan_tb {

using nearscan_portable::depth_mode;

static const depth_mode ALL_DEPTHS[] = {depth_mode::roomy, depth_mode::declared,
                                        depth_mode::smallest};

inline const char* name_of(depth_mode mode) {
  switch (mode) {
    case depth_mode::roomy:
      return "roomy";
    case depth_mode::declared:
      return "declared";
    case depth_mode::smallest:
      return "smallest";
  }
  return "";
}

/// What was run and what failed.
struct tally {
  uint64_t runs = 0;
  uint64_t failures = 0;

  void fail(const std::string& where, const std::string& what) {
    failures++;
    if (failures <= 20) std::printf("FAIL %s: %s\n", where.c_str(), what.c_str());
  }
};

inline std::string to_text(i128 number) {
  if (number == 0) return "0";
  std::string digits;
  u128 rest =
      number < 0 ? static_cast<u128>(0) - static_cast<u128>(number) : static_cast<u128>(number);
  for (; rest != 0; rest /= 10) digits.insert(digits.begin(), '0' + static_cast<char>(rest % 10));
  return number < 0 ? "-" + digits : digits;
}

inline std::string to_text(const out_row& row) {
  std::string text;
  for (const out_cell& value : row) {
    text += value.null ? " NULL" : " " + to_text(value.number) + "'" + value.text + "'";
  }
  return text;
}

/// A result, taken apart. `error` says what does not add up.
struct parsed_result {
  result_record header;
  std::vector<out_row> rows;
  std::string error;
};

/// Reads a result the way a host does: believing nothing.
struct result_reader {
  const std::vector<uint64_t>& words;
  parsed_result result;

  explicit result_reader(const std::vector<uint64_t>& output) : words(output) {}

  bool refuse(const std::string& why) {
    if (result.error.empty()) result.error = why;
    return false;
  }

  static uint32_t checksum_of(const uint64_t* from, uint64_t count) {
    uint32_t checksum = CRC32C_START;
    for (uint64_t i = 0; i < count; i++) checksum = crc32c_word(checksum, from[i]);
    return crc32c_end(checksum);
  }

  bool read_header() {
    std::memcpy(&result.header, &words[0], sizeof(result_record));
    const result_record& header = result.header;
    result_record unsigned_header = header;
    unsigned_header.header_checksum = 0;
    uint64_t copy[RESULT_RECORD_BYTES / 8];
    std::memcpy(copy, &unsigned_header, sizeof(copy));
    if (header.magic != RESULT_MAGIC || header.format_major != FORMAT_MAJOR ||
        header.format_minor != FORMAT_MINOR) {
      return refuse("no result header");
    }
    if (checksum_of(copy, RESULT_RECORD_BYTES / 8) != header.header_checksum) {
      return refuse("wrong header checksum");
    }
    if (header.status > STATUS_STEPS_EXCEEDED) return refuse("unknown status");
    if (header.reserved0 != 0 || header.reserved1 != 0 || header.reserved2 != 0 ||
        header.reserved3 != 0) {
      return refuse("reserved fields are not zero");
    }
    if (header.payload_bytes % 8 != 0 ||
        header.payload_bytes / 8 > words.size() - GUARD_WORDS - RESULT_RECORD_BYTES / 8) {
      return refuse("the payload is longer than the output");
    }
    if (header.status != STATUS_OK && (header.payload_bytes != 0 || header.rows_out != 0)) {
      return refuse("a failure with rows");
    }
    const uint64_t* payload = &words[RESULT_RECORD_BYTES / 8];
    if (checksum_of(payload, header.payload_bytes / 8) != header.payload_checksum) {
      return refuse("wrong payload checksum");
    }
    return true;
  }

  /// Byte `at` of the output.
  uint8_t byte(uint64_t at) const { return static_cast<uint8_t>(words[at / 8] >> (8 * (at % 8))); }

  uint64_t number(uint64_t at, uint32_t bytes) const {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) value |= static_cast<uint64_t>(byte(at + i)) << (8 * i);
    return value;
  }

  static i128 extend(uint64_t low, uint32_t bytes) {
    return bytes == 4 ? static_cast<i128>(static_cast<int32_t>(low))
                      : static_cast<i128>(static_cast<int64_t>(low));
  }

  /// Reads one column of a block from byte `at`; gives the byte behind it.
  uint64_t read_column(uint64_t at, uint32_t rows, uint8_t width, uint64_t first_row) {
    const uint64_t valid_at = at;
    const uint64_t values_at = valid_at + (rows + 63) / 64 * 8;
    const uint32_t bytes = width == WIDTH_BOOL   ? 1
                           : width == WIDTH_W64  ? 8
                           : width == WIDTH_W128 ? 16
                                                 : 4;
    uint64_t end = values_at + (static_cast<uint64_t>(rows) * bytes + 7) / 8 * 8;
    const uint64_t strings_at = end;
    uint64_t before = 0;
    for (uint64_t row = 0; row < rows; row++) {
      result.rows[first_row + row].push_back(out_cell());
      out_cell& cell = result.rows[first_row + row].back();
      cell.null = (byte(valid_at + row / 8) >> (row % 8) & 1) == 0;
      const uint64_t low = number(values_at + row * bytes, bytes > 8 ? 8 : bytes);
      if (width == WIDTH_BYTES) {
        if (low < before || (cell.null && low != before)) refuse("ends of strings go back");
        for (uint64_t i = before; i < low; i++) {
          cell.text.push_back(static_cast<char>(byte(strings_at + i)));
        }
        before = low;
      } else if (width == WIDTH_W128) {
        const uint64_t high = number(values_at + row * 16 + 8, 8);
        cell.number = static_cast<i128>(static_cast<u128>(high) << 64 | low);
      } else {
        cell.number = bytes == 1 ? static_cast<i128>(low) : extend(low, bytes);
      }
      if (cell.null && cell.number != 0) refuse("a null row does not hold zero");
    }
    for (uint64_t row = rows; row < (rows + 63) / 64 * 64; row++) {
      if ((byte(valid_at + row / 8) >> (row % 8) & 1) != 0) refuse("validity behind the rows");
    }
    for (uint64_t at_pad = values_at + rows * bytes; at_pad < end; at_pad++) {
      if (byte(at_pad) != 0) refuse("padding that is not zero");
    }
    if (width == WIDTH_BYTES) {
      end += (before + 7) / 8 * 8;
      for (uint64_t i = strings_at + before; i < end; i++) {
        if (byte(i) != 0) refuse("padding that is not zero");
      }
    }
    return end;
  }

  void read_blocks(const std::vector<uint8_t>& widths) {
    uint64_t at = RESULT_RECORD_BYTES;
    const uint64_t end = at + result.header.payload_bytes;
    uint64_t blocks = 0;
    while (at < end && result.error.empty()) {
      const uint32_t rows = static_cast<uint32_t>(number(at, 4));
      const uint64_t block_end = at + number(at + 4, 4);
      if (rows == 0 || rows > BLOCK_ROWS_MAX || block_end > end || number(at + 8, 8) != 0) {
        refuse("a block's header is wrong");
        return;
      }
      const uint64_t first_row = result.rows.size();
      result.rows.resize(first_row + rows);
      at += BLOCK_HEADER_BYTES;
      for (uint8_t width : widths) at = read_column(at, rows, width, first_row);
      if (at != block_end) refuse("a block is not as long as it says");
      blocks++;
    }
    if (result.rows.size() != result.header.rows_out) refuse("not the rows announced");
    if (blocks != result.header.blocks) refuse("not the blocks announced");
  }
};

/// Widths of the output's columns.
inline std::vector<uint8_t> widths_of(const scan_model& model) {
  std::vector<uint8_t> widths;
  if (model.states) {
    for (const key_model& key : model.keys) {
      const bool bytes =
          !key.ranged && model.columns[key.operand].physical_type == PHYSICAL_BYTE_ARRAY;
      widths.push_back(bytes ? WIDTH_BYTES : WIDTH_W64);
    }
    for (const slot_model& slot : model.slots) {
      widths.push_back(slot.width == WIDTH_BYTES ? WIDTH_BYTES : WIDTH_W128);
    }
  } else {
    for (const row_column& column : model.row_columns) widths.push_back(column.width);
  }
  return widths;
}

/// Checks what holds for every run, whatever the command; gives the result as far as it can be
/// read.
inline parsed_result check_frame(const test_memories& memories,
                                 const std::vector<uint8_t>& widths) {
  result_reader reader(memories.output);
  const char* stuck = nearscan_portable::last_stuck();
  if (stuck[0] != '\0') {
    reader.refuse(std::string("deadlock: ") + stuck);
    return reader.result;
  }
  if (reader.read_header() && reader.result.header.status == STATUS_OK) {
    reader.read_blocks(widths);
  }
  for (uint64_t i = 0; i < GUARD_WORDS; i++) {
    if (memories.output[memories.output.size() - 1 - i] != UNTOUCHED) {
      reader.refuse("wrote behind the output");
    }
  }
  if (memories.scratch.back() != UNTOUCHED) reader.refuse("wrote behind the scratch");
  return reader.result;
}

/// Counters that follow from what was written and what was found.
inline std::string check_counters(const scan_model& model, const std::vector<written_chunk>& chunks,
                                  const test_memories& memories, const expectation& expected,
                                  const result_record& header) {
  uint64_t pages = 0;
  uint64_t page_bytes = 0;
  uint64_t values = 0;
  uint64_t entries = 0;
  for (const written_chunk& chunk : chunks) {
    pages += chunk.pages;
    page_bytes += chunk.page_bytes;
    values += chunk.values;
    entries += chunk.dictionary_entries;
  }
  if (header.rows_in != model.rows || header.continuation_row != model.rows) return "rows_in";
  if (header.rows_kept != expected.rows_kept) return "rows_kept";
  if (header.rows_filtered != model.rows) return "rows_filtered";
  if (header.rows_projected != expected.rows_kept) return "rows_projected";
  if (header.rows_aggregated != (model.states ? expected.rows_kept : 0)) return "rows_aggregated";
  if (header.pages != pages) return "pages";
  if (header.bytes_decompressed != page_bytes) return "bytes_decompressed";
  if (header.values_decoded != values) return "values_decoded";
  if (header.dictionary_entries != entries) return "dictionary_entries";
  if (header.lines_read != memories.lines_expected) return "lines_read";
  if (header.payload_words * 8 != header.payload_bytes) return "payload_words";
  if (header.attempt != 3 || header.epoch != 7 || header.command_id_low != 0x1122334455667788u ||
      header.command_id_high != 0x99aabbccddeeff00u) {
    return "identity";
  }
  return "";
}

/// Calls the kernel.
inline void call_kernel(test_memories& memories, depth_mode mode) {
  nearscan_portable::set_depth_mode(mode);
  nearscan_portable::clear_stuck();
  ns_scan(memories.command.data(), memories.input.data(), memories.output.data(),
          memories.scratch.data(), &memories.cancel);
}

/// Runs a model in every depth mode. `statuses` replaces what the golden model allows, if not
/// empty.
inline void run_model(tally& all, const std::string& name, const scan_model& model,
                      const std::vector<uint32_t>& statuses = std::vector<uint32_t>()) {
  std::vector<written_chunk> chunks;
  for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
  expectation expected = evaluate_model(model, chunks);
  if (!statuses.empty()) expected.statuses = statuses;
  const test_memories fresh = bind_model(model, chunks);
  for (depth_mode mode : ALL_DEPTHS) {
    test_memories memories = fresh;
    const std::string where = name + " (" + name_of(mode) + ")";
    call_kernel(memories, mode);
    all.runs++;
    parsed_result result = check_frame(memories, widths_of(model));
    if (!result.error.empty()) {
      all.fail(where, result.error);
      continue;
    }
    const uint32_t status = result.header.status;
    if (!expected.allows(status)) {
      all.fail(where, "status " + std::to_string(status) + " in column " +
                          std::to_string(static_cast<int>(result.header.detail_column)) + " page " +
                          std::to_string(result.header.detail_page));
      continue;
    }
    if (status != STATUS_OK) continue;
    const std::string counter = check_counters(model, chunks, memories, expected, result.header);
    if (!counter.empty()) all.fail(where, "counter " + counter);
    if (!expected.ordered) std::sort(result.rows.begin(), result.rows.end());
    if (result.rows.size() != expected.rows.size()) {
      all.fail(where, std::to_string(result.rows.size()) + " rows instead of " +
                          std::to_string(expected.rows.size()));
      continue;
    }
    for (size_t row = 0; row < expected.rows.size(); row++) {
      if (result.rows[row] == expected.rows[row]) continue;
      all.fail(where, "row " + std::to_string(row) + " is" + to_text(result.rows[row]) +
                          " instead of" + to_text(expected.rows[row]));
      break;
    }
  }
}

}  // namespace nearscan_tb
