// SPDX-License-Identifier: Apache-2.0
// Shared parts of the test benches of all kernels: random numbers, commands laid out, and results
// taken apart the way a host does it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "frame.hpp"
#include "platform.hpp"

namespace nearscan_tb {

using namespace nearscan;

typedef std::vector<uint8_t> bytes_t;

/// Random numbers that are the same everywhere (SplitMix64).
struct random_source {
  uint64_t state;

  explicit random_source(uint64_t seed) : state(seed) {}

  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// Below `bound`, which is not 0.
  uint64_t below(uint64_t bound) { return next() % bound; }
  /// `first` to `last`, both included.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(below(static_cast<uint64_t>(last - first) + 1));
  }
  /// True once in `times`.
  bool once_in(uint64_t times) { return below(times) == 0; }
};

/// A value of a result.
struct out_cell {
  bool null = true;
  i128 number = 0;
  std::string text;

  bool operator==(const out_cell& other) const {
    return null == other.null && number == other.number && text == other.text;
  }
  bool operator<(const out_cell& other) const {
    if (null != other.null) return null;
    if (number != other.number) return number < other.number;
    return text < other.text;
  }
};

typedef std::vector<out_cell> out_row;

/// The content of the output before a call: a word that is left untouched shows.
static constexpr uint64_t UNTOUCHED = 0xa5a5a5a5a5a5a5a5u;
/// Words behind the output that must stay untouched.
static constexpr uint64_t GUARD_WORDS = 64;

struct section_bytes {
  uint16_t kind;
  uint32_t count;
  bytes_t bytes;
};

/// Collects sections and lays a command out.
struct section_builder {
  std::vector<section_bytes> sections;

  template <typename Record>
  static void append(bytes_t& out, const Record& record) {
    const uint8_t* first = reinterpret_cast<const uint8_t*>(&record);
    out.insert(out.end(), first, first + sizeof(Record));
  }

  template <typename Record>
  void records(uint16_t kind, const std::vector<Record>& all) {
    if (all.empty()) return;
    section_bytes section = {kind, static_cast<uint32_t>(all.size()), bytes_t()};
    for (const Record& record : all) append(section.bytes, record);
    sections.push_back(section);
  }

  bytes_t finish(command_header header) {
    bytes_t out(sizeof(command_header) + sections.size() * sizeof(section_entry));
    for (size_t i = 0; i < sections.size(); i++) {
      out.resize((out.size() + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN);
      const section_bytes& section = sections[i];
      const section_entry entry = {section.kind, SECTION_CRITICAL, section.count,
                                   static_cast<uint32_t>(out.size()),
                                   static_cast<uint32_t>(section.bytes.size())};
      std::memcpy(&out[sizeof(command_header) + i * sizeof(section_entry)], &entry, sizeof(entry));
      out.insert(out.end(), section.bytes.begin(), section.bytes.end());
    }
    out.resize((out.size() + 7) / 8 * 8);
    header.section_count = static_cast<uint16_t>(sections.size());
    header.total_bytes = static_cast<uint32_t>(out.size());
    std::memcpy(&out[0], &header, sizeof(header));
    return out;
  }
};

/// Puts the right checksum into a command; one whose size is no size is left alone.
inline void sign_command(std::vector<uint64_t>& words) {
  const uint32_t bytes = static_cast<uint32_t>(words[1]);
  if (bytes % 8 != 0 || bytes > words.size() * 8) return;
  uint32_t checksum = CRC32C_START;
  for (uint32_t i = 0; i < bytes / 8; i++) {
    checksum = crc32c_word(checksum, i == 1 ? words[i] & 0xffffffffu : words[i]);
  }
  words[1] = (words[1] & 0xffffffffu) | static_cast<uint64_t>(crc32c_end(checksum)) << 32;
}

/// Counts runs and failures.
struct tally {
  uint64_t runs = 0;
  /// Runs that gave rows, and those were right.
  uint64_t answered = 0;
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
  /// Of compact blocks: the strings that codes of each column refer to.
  std::vector<std::vector<std::string>> known;

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
    if (header.status > STATUS_NOT_SORTED) return refuse("unknown status");
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

  /// The packed number `index` of those of `bits` bits each from byte `at` on.
  uint64_t packed(uint64_t at, uint32_t bits, uint64_t index) const {
    uint64_t value = 0;
    for (uint64_t i = 0; i < bits; i++) {
      const uint64_t bit = index * bits + i;
      value |= static_cast<uint64_t>(byte(at + bit / 8) >> (bit % 8) & 1) << i;
    }
    return value;
  }

  /// The byte behind `count` packed numbers from byte `at` on, their padding checked.
  uint64_t behind_packed(uint64_t at, uint32_t bits, uint64_t count) {
    const uint64_t end = at + (count * bits + 63) / 64 * 8;
    for (uint64_t bit = count * bits; bit < (end - at) * 8; bit++) {
      if (packed(at, 1, bit) != 0) refuse("padding that is not zero");
    }
    return end;
  }

  /// The byte behind strings that end before byte `at`, their padding checked.
  uint64_t behind_strings(uint64_t at) {
    for (; at % 8 != 0; at++) {
      if (byte(at) != 0) refuse("padding that is not zero");
    }
    return at;
  }

  std::string text(uint64_t at, uint64_t bytes) const {
    std::string string;
    for (uint64_t i = 0; i < bytes; i++) string.push_back(static_cast<char>(byte(at + i)));
    return string;
  }

  /// Reads one column of a compact block from byte `at`; gives the byte behind it.
  uint64_t read_compact_column(uint64_t at, uint32_t rows, uint32_t column, uint8_t width,
                               uint64_t first_row) {
    const uint32_t packing = byte(at);
    const uint32_t bits = byte(at + 1);
    const uint32_t length_bits = byte(at + 2);
    const bool has_nulls = byte(at + 3) == COMPACT_NULLS;
    const uint64_t strings = number(at + 4, 4);
    const uint64_t base = number(at + 8, 8);
    const bool is_string = width == WIDTH_BYTES;
    if (bits > 64 || byte(at + 3) > COMPACT_NULLS || strings > rows ||
        packing < PACKING_DIFFERENCES || packing > PACKING_CODES ||
        is_string != (packing != PACKING_DIFFERENCES)) {
      refuse("a compact column is wrong");
      return at;
    }
    const uint64_t valid_at = at + COMPACT_COLUMN_RECORD_BYTES;
    const uint64_t values_at = valid_at + (has_nulls ? (rows + 63) / 64 * 8 : 0);
    uint64_t end = behind_packed(values_at, bits, rows);
    if (packing == PACKING_CODES) {
      const uint64_t lengths_at = end;
      end = behind_packed(lengths_at, length_bits, strings);
      for (uint64_t i = 0; i < strings; i++) {
        const uint64_t length = packed(lengths_at, length_bits, i);
        known[column].push_back(text(end, length));
        end += length;
      }
    }
    uint64_t nulls = 0;
    for (uint64_t row = 0; row < rows; row++) {
      result.rows[first_row + row].push_back(out_cell());
      out_cell& cell = result.rows[first_row + row].back();
      cell.null = has_nulls && packed(valid_at, 1, row) == 0;
      nulls += cell.null ? 1 : 0;
      const uint64_t value = packed(values_at, bits, row);
      if (cell.null && value != 0) refuse("a null row does not hold zero");
      if (cell.null) continue;
      if (packing == PACKING_DIFFERENCES) {
        cell.number = static_cast<i128>(static_cast<int64_t>(base + value));
      } else if (packing == PACKING_LENGTHS) {
        cell.text = text(end, base + value);
        end += base + value;
      } else if (value < known[column].size()) {
        cell.text = known[column][value];
      } else {
        refuse("a code without a string");
      }
    }
    if (has_nulls != (nulls != 0)) refuse("validity of rows of which none is null");
    return behind_strings(end);
  }

  void read_blocks(const std::vector<uint8_t>& widths, bool is_compact = false) {
    uint64_t at = RESULT_RECORD_BYTES;
    const uint64_t end = at + result.header.payload_bytes;
    uint64_t blocks = 0;
    known.resize(widths.size());
    while (at < end && result.error.empty()) {
      const uint32_t rows = static_cast<uint32_t>(number(at, 4));
      const uint64_t block_end = at + number(at + 4, 4);
      const uint64_t form = number(at + 8, 8);
      if (rows == 0 || rows > BLOCK_ROWS_MAX || block_end > end ||
          form != (is_compact ? BLOCK_COMPACT : BLOCK_PLAIN)) {
        refuse("a block's header is wrong");
        return;
      }
      const uint64_t first_row = result.rows.size();
      result.rows.resize(first_row + rows);
      at += BLOCK_HEADER_BYTES;
      uint32_t column = 0;
      for (uint8_t width : widths) {
        at = form == BLOCK_COMPACT ? read_compact_column(at, rows, column, width, first_row)
                                   : read_column(at, rows, width, first_row);
        column++;
      }
      if (at != block_end) refuse("a block is not as long as it says");
      blocks++;
    }
    if (result.rows.size() != result.header.rows_out) refuse("not the rows announced");
    if (blocks != result.header.blocks) refuse("not the blocks announced");
  }
};

}  // namespace nearscan_tb
