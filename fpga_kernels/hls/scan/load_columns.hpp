// SPDX-License-Identifier: Apache-2.0
// Loads columns, where their chunks lie, and the string tests on them.
#pragma once

#include "load_loaders.hpp"
#include "load_patterns.hpp"

namespace nearscan {

/// Copies the literals of one test into a lane; false when they do not fit.
inline bool load_test_strings(const uint64_t* words, const section_table& sections,
                              const test_record& record, lane_tests& tests, uint32_t& strings,
                              uint32_t& lane_words) {
  const section_range& strings_range = sections.of[SECTION_STRINGS];
  const section_range& bytes_range = sections.of[SECTION_BYTES];
  const uint64_t end = static_cast<uint64_t>(record.string_first) + record.string_count;
  if (record.string_count == 0 || end > strings_range.count) return false;
STRINGS:
  for (uint32_t index = 0; index < record.string_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 256
    const string_record literal = load_string_record(
        words, strings_range.offset + (record.string_first + index) * STRING_RECORD_BYTES);
    const uint32_t needed = (literal.length + 7) / 8;
    if (literal.length > STRING_BYTES_MAX || strings == lane_tests::STRINGS ||
        static_cast<uint64_t>(literal.offset) + literal.length > bytes_range.bytes ||
        lane_words + needed > lane_tests::WORDS) {
      return false;
    }
    tests.length[strings] = static_cast<uint16_t>(literal.length);
    tests.word_first[strings] = static_cast<uint16_t>(lane_words);
  STRING_WORDS:
    for (uint32_t word = 0; word < needed; word++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      uint64_t value = 0;
    STRING_BYTES:
      for (uint32_t byte = 0; byte < 8; byte++) {
#pragma HLS PIPELINE off
        const uint32_t at = word * 8 + byte;
        if (at < literal.length) {
          const uint64_t next = command_byte(words, bytes_range.offset + literal.offset + at);
          value |= next << (8 * byte);
        }
      }
      tests.words[lane_words + word] = value;
    }
    lane_words += needed;
    strings++;
  }
  return true;
}

/// Loads the string tests, which are ordered by column.
inline uint32_t load_tests(const uint64_t* words, const section_table& sections,
                           const program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_TESTS];
  uint32_t lane = 0;
  uint32_t strings = 0;
  uint32_t lane_words = 0;
CLEAR:
  for (int column = 0; column < TEST_LANES; column++) {
#pragma HLS UNROLL
    plan.tests[column].test_count = 0;
    plan.tests[column].patterns.count = 0;
  }
TESTS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
    const test_record record = load_test_record(words, range.offset + index * TEST_RECORD_BYTES);
    if (record.column >= scope.column_count || record.column < lane) return STATUS_MALFORMED;
    if (scope.column_kind[record.column] != KIND_BYTES) return STATUS_MALFORMED;
    if (record.op < TEST_IN || record.op > TEST_LIKE) return STATUS_UNSUPPORTED;
    if (record.column >= static_cast<uint32_t>(TEST_LANES)) return STATUS_UNSUPPORTED;
    if (record.op != TEST_IN && record.string_count != 1) return STATUS_MALFORMED;
    if (record.column != lane) {
      lane = record.column;
      strings = 0;
      lane_words = 0;
    }
    lane_tests& tests = plan.tests[lane];
    if (tests.test_count == TESTS_PER_COLUMN_MAX) return STATUS_MALFORMED;
    const uint16_t bit = tests.test_count;
    const bool is_pattern = record.op == TEST_LIKE;
    if (is_pattern && tests.patterns.count == PATTERNS_PER_COLUMN_MAX) return STATUS_UNSUPPORTED;
    const bool loaded =
        is_pattern ? load_pattern(words, sections, record, bit, tests.patterns)
                   : load_test_strings(words, sections, record, tests, strings, lane_words);
    if (!loaded) return STATUS_MALFORMED;
    tests.op[bit] = record.op;
    tests.string_end[bit] = static_cast<uint16_t>(strings);
    tests.test_count = static_cast<uint16_t>(bit + 1);
    plan.predicate.tables.test_column[index] = static_cast<uint8_t>(lane);
    plan.predicate.tables.test_bit[index] = static_cast<uint8_t>(bit);
    plan.projection.tables.test_column[index] = static_cast<uint8_t>(lane);
    plan.projection.tables.test_bit[index] = static_cast<uint8_t>(bit);
    plan.columns.tables.test_column[index] = static_cast<uint8_t>(lane);
    plan.columns.tables.test_bit[index] = static_cast<uint8_t>(bit);
  }
  return STATUS_OK;
}

/// Loads the input of one column: where its chunk lies in device memory.
inline uint32_t load_range(const uint64_t* words, const section_table& sections,
                           const column_record& column, byte_range& lane) {
  const section_range& inputs = sections.of[SECTION_INPUTS];
  if (column.input >= inputs.count) return STATUS_MALFORMED;
  const input_record input =
      load_input_record(words, inputs.offset + column.input * INPUT_RECORD_BYTES);
  // 1 is a range of device memory; every other kind has been replaced by one before.
  if (input.kind != 1) return STATUS_UNSUPPORTED;
  if (column.length > CHUNK_BYTES_MAX || column.offset > input.length ||
      column.length > input.length - column.offset || (input.offset >> 62) != 0 ||
      (input.length >> 62) != 0) {
    return STATUS_MALFORMED;
  }
  lane.begin = input.offset + column.offset;
  lane.end = lane.begin + column.length;
  return STATUS_OK;
}

/// Loads how the stored values of a column stand for numbers.
inline uint32_t load_reading(const uint64_t* words, const section_table& sections, uint32_t index,
                             const column_record& column, decode_plan& lane) {
  const section_range& range = sections.of[SECTION_READINGS];
  // Without the section all columns are read plainly.
  reading_record reading = reading_record();
  if (range.count != 0) {
    if (range.count != sections.of[SECTION_COLUMNS].count) return STATUS_MALFORMED;
    reading = load_reading_record(words, range.offset + index * READING_RECORD_BYTES);
  }
  bool fits = reading.rule == READ_AS_SIGNED;
  uint32_t length = 0;
  switch (column.physical_type) {
    case PHYSICAL_BOOLEAN:
      lane.reading.stored_bits = 1;
      break;
    case PHYSICAL_INT32:
    case PHYSICAL_INT64:
      lane.reading.stored_bits = column.physical_type == PHYSICAL_INT32 ? 32 : 64;
      fits = fits || reading.rule == READ_AS_UNSIGNED;
      break;
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
      lane.reading.stored_bits = column.physical_type == PHYSICAL_FLOAT ? 32 : 64;
      fits = reading.rule == READ_AS_FLOAT_ORDER;
      break;
    case PHYSICAL_BYTE_ARRAY:
      lane.reading.stored_bits = 0;
      break;
    case PHYSICAL_FIXED_LEN_BYTE_ARRAY:
      length = reading.length;
      if (length == 0 || length > FIXED_BYTES_MAX) return STATUS_MALFORMED;
      lane.reading.stored_bits = static_cast<uint8_t>(8 * length);
      fits = reading.rule == READ_AS_BIG_ENDIAN;
      break;
    default:
      return STATUS_UNSUPPORTED;
  }
  if (!fits || reading.length != length || reading.bits > 64) return STATUS_MALFORMED;
  lane.reading.physical_type = column.physical_type;
  lane.reading.read_as = reading.rule;
  lane.reading.number_bits = reading.bits;
  lane.reading.plainly = reading.rule == READ_AS_SIGNED && reading.bits == 0;
  return STATUS_OK;
}

/// Bytes of a dictionary page for each byte that it is stored in, at most, by its codec: a copy of
/// Snappy has 64 in 3, one of LZ4 255 in each.
inline uint64_t expansion_max(uint16_t codec) {
  return codec == CODEC_SNAPPY ? 22 : codec == CODEC_LZ4_RAW ? 256 : 1;
}

/// Whether a column's dictionary may have more entries than fit on chip. An entry has as many bytes
/// as a stored value, or at least the length of a string.
inline bool may_be_far(const column_record& column, const decode_plan& lane) {
  const uint64_t entry_bits = lane.reading.stored_bits != 0 ? lane.reading.stored_bits : 32u;
  const uint64_t bits_max = 8 * expansion_max(column.codec) * column.dictionary_bytes;
  const bool is_known = column.dictionary_bytes != 0;
  return may_have_indexes(column) &&
         (!is_known || bits_max > entry_bits * DICTIONARY_ENTRIES_ON_CHIP);
}

/// Whether all data pages have indexes into the dictionary: no other encoding of values is allowed.
inline bool has_indexes_only(const column_record& column) {
  const uint32_t indexes = 1u << ENCODING_RLE_DICTIONARY | 1u << ENCODING_PLAIN_DICTIONARY;
  const uint32_t levels = 1u << ENCODING_RLE | 1u << ENCODING_BIT_PACKED;
  return (column.encodings & indexes) != 0 && (column.encodings & ~(indexes | levels)) == 0;
}

/// Loads the columns.
inline uint32_t load_columns(const uint64_t* words, const section_table& sections,
                             const command_header& header, program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_COLUMNS];
  if (range.count > static_cast<uint32_t>(LANES)) return STATUS_UNSUPPORTED;
  scope.column_count = range.count;
  plan.fetch.stream_count = range.count;
  plan.lane_count = range.count;
  plan.fetch.steps_max = header.steps_max;
  plan.fetch_dictionaries.stream_count = LOADERS;
  plan.fetch_dictionaries.steps_max = header.steps_max;
  scope.may_be_loaded = 0;
  scope.has_indexes = 0;
  // A reference has 39 bits for the first word of a byte string.
  if ((header.scratch_bytes >> (CODED_SHIFT - STRING_LENGTH_BITS + 3)) != 0) {
    return STATUS_MALFORMED;
  }
  uint64_t scratch_used = 0;
COLUMNS:
  for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
#pragma HLS PIPELINE off
    decode_plan& lane = plan.decode[index];
    lane.active = index < range.count;
    lane.needs_codes = false;
    lane.needs_bytes = false;
    lane.names_entries = false;
    lane.by_entry = false;
    lane.is_loaded = false;
    lane.loader = 0;
    lane.pages_before = 0;
    plan.fetch.range_count[index] = lane.active ? 1 : 0;
    plan.pages[index].active = lane.active;
    plan.decompress[index].active = lane.active;
    if (!lane.active) continue;
    const column_record column =
        load_column_record(words, range.offset + index * COLUMN_RECORD_BYTES);
    uint32_t status = load_range(words, sections, column, plan.fetch.range[index][0]);
    if (status == STATUS_OK) status = load_reading(words, sections, index, column, lane);
    if (status != STATUS_OK) return status;
    const bool bytes = column.physical_type == PHYSICAL_BYTE_ARRAY;
    if (column.codec != CODEC_UNCOMPRESSED && column.codec != CODEC_SNAPPY &&
        column.codec != CODEC_LZ4_RAW) {
      return STATUS_UNSUPPORTED;
    }
    if (column.value_kind != (bytes ? KIND_BYTES : KIND_INTEGER)) return STATUS_MALFORMED;
    if (column.definition_level_max > 1) return STATUS_UNSUPPORTED;
    // Ranges in the order of the columns do not overlap: a lane's references stay its own.
    if (column.scratch_offset % 16 != 0 || column.scratch_offset < scratch_used ||
        column.scratch_offset > header.scratch_bytes ||
        column.scratch_bytes > header.scratch_bytes - column.scratch_offset) {
      return STATUS_MALFORMED;
    }
    scratch_used = column.scratch_offset + column.scratch_bytes;
    scope.column_kind[index] = column.value_kind;
    const bool nullable = column.definition_level_max == 1;
    plan.pages[index].column = index;
    plan.pages[index].nullable = nullable;
    plan.pages[index].encodings = column.encodings;
    plan.pages[index].pages_before = 0;
    plan.pages[index].bytes_before = 0;
    plan.decompress[index].column = index;
    plan.decompress[index].codec = column.codec;
    plan.decompress[index].pages_before = 0;
    lane.column = index;
    lane.nullable = nullable;
    lane.rows = header.rows;
    lane.scratch_begin = column.scratch_offset;
    lane.scratch_end = column.scratch_offset + column.scratch_bytes / 16 * 16;
    lane.steps_max = header.steps_max;
    lane.may_be_far = may_be_far(column, lane);
    // Of one whose size is not known its room in scratch tells.
    const uint64_t room =
        column.scratch_bytes / DICTIONARY_SLOT_BYTES * (lane.reading.stored_bits / 8u);
    scope.dictionary_bytes[index] = column.dictionary_bytes != 0 ? column.dictionary_bytes : room;
    if (may_be_loaded(column, lane)) scope.may_be_loaded |= 1u << index;
    if (has_indexes_only(column)) scope.has_indexes |= 1u << index;
    // A dictionary may have entries that no row has, but no more than fit in the chunk.
    const uint64_t entry_bytes = lane.reading.stored_bits >= 8 ? lane.reading.stored_bits / 8u : 1u;
    scope.entries_max[index] = column.uncompressed_bytes / entry_bytes;
  }
  share_out_dictionaries(scope, plan);
  return STATUS_OK;
}

}  // namespace nearscan
