// SPDX-License-Identifier: Apache-2.0
// Builds a command and the memories it works on.
#pragma once

#include "tb_keys.hpp"
#include "tb_pages.hpp"

namespace nearscan_tb {

/// The memories of a kernel call. Each is exactly as large as the command may touch.
struct test_memories {
  std::vector<uint64_t> command;
  std::vector<line_t> input;
  std::vector<uint64_t> output;
  std::vector<uint64_t> scratch;
  uint32_t cancel = 0;
  uint64_t lines_expected = 0;
};

/// Whether a loader loads the dictionary of a column: it holds numbers, has a known end, and is not
/// packed with LZ4.
inline bool is_loaded(const column_record& column) {
  const uint16_t indexes = 1u << ENCODING_RLE_DICTIONARY | 1u << ENCODING_PLAIN_DICTIONARY;
  return (column.encodings & indexes) != 0 && column.dictionary_bytes != 0 &&
         column.dictionary_bytes < column.length && column.codec != CODEC_LZ4_RAW &&
         column.physical_type != PHYSICAL_BYTE_ARRAY && column.physical_type != PHYSICAL_BOOLEAN;
}

/// Builds the command of a scan.
struct command_builder : section_builder {
  void programs(const scan_model& model) {
    const auto to_record = [](const std::vector<step>& steps) {
      std::vector<step_record> out;
      for (const step& at : steps) out.push_back({at.op, at.width, at.a, at.b, at.c, 0});
      return out;
    };
    records(SECTION_PREDICATE, to_record(model.predicate));
    records(SECTION_PROJECTION, to_record(model.projection));
    std::vector<literal_record> literals;
    for (i128 literal : model.literals) {
      literals.push_back({static_cast<uint64_t>(literal),
                          static_cast<uint64_t>(static_cast<u128>(literal) >> 64)});
    }
    records(SECTION_LITERALS, literals);
    std::vector<test_record> tests;
    std::vector<string_record> strings;
    section_bytes bytes = {SECTION_BYTES, 0, bytes_t()};
    for (const test_model& test : model.tests) {
      tests.push_back({test.column, test.op, static_cast<uint32_t>(strings.size()),
                       static_cast<uint32_t>(test.strings.size()), 0});
      for (const std::string& text : test.strings) {
        strings.push_back(
            {static_cast<uint32_t>(bytes.bytes.size()), static_cast<uint32_t>(text.size())});
        bytes.bytes.insert(bytes.bytes.end(), text.begin(), text.end());
      }
    }
    records(SECTION_TESTS, tests);
    records(SECTION_STRINGS, strings);
    if (!bytes.bytes.empty()) sections.push_back(bytes);
  }

  /// Gives the bits that stand behind the command.
  std::vector<uint64_t> key_filters(const scan_model& model) {
    std::vector<key_filter_record> filters;
    std::vector<uint64_t> all;
    for (const key_filter_model& filter : model.key_filters) {
      const std::vector<uint64_t> bits = make_key_bits(filter);
      key_filter_record record = key_filter_record();
      record.column = filter.column;
      record.kind = filter.kind;
      record.bytes = static_cast<uint32_t>(bits.size() * 8);
      record.first = static_cast<uint64_t>(filter.first);
      record.last = static_cast<uint64_t>(filter.last);
      record.checksum = checksum_of(bits);
      filters.push_back(record);
      all.insert(all.end(), bits.begin(), bits.end());
    }
    records(SECTION_KEY_FILTERS, filters);
    return all;
  }

  void output(const scan_model& model) {
    std::vector<key_record> keys;
    std::vector<key_range_record> ranges;
    std::vector<top_record> top;
    std::vector<aggregate_record> slots;
    std::vector<output_column_record> columns;
    if (model.states) {
      for (const key_model& key : model.keys) {
        const uint16_t index = static_cast<uint16_t>(keys.size());
        const uint64_t first = static_cast<uint64_t>(key.first);
        if (key.ranged) ranges.push_back({index, 0, key.count, first});
        keys.push_back({key.operand, 0, 0});
      }
      for (const slot_model& slot : model.slots) {
        slots.push_back({slot.function, slot.width, slot.operand, slot.filter, 0, 0});
      }
    } else {
      for (const row_column& column : model.row_columns) {
        columns.push_back({column.operand, column.width, 0});
      }
      const uint32_t flags = (model.top.descending ? TOP_DESCENDING : 0u) |
                             (model.top.nulls_first ? TOP_NULLS_FIRST : 0u);
      if (model.top.count != 0) {
        top.push_back({model.top.operand, static_cast<uint16_t>(flags), model.top.count, 0});
      }
    }
    records(SECTION_KEYS, keys);
    records(SECTION_KEY_RANGES, ranges);
    records(SECTION_TOP, top);
    records(SECTION_AGGREGATES, slots);
    records(SECTION_OUTPUT_COLUMNS, columns);
    output_record record = output_record();
    record.mode = model.states ? OUTPUT_STATES : OUTPUT_ROWS;
    record.kind = 1;
    record.form = model.compact ? BLOCK_COMPACT : BLOCK_PLAIN;
    record.bytes_max = model.bytes_max;
    record.rows_max = model.states ? ~static_cast<uint64_t>(0) : model.rows_max;
    records(SECTION_OUTPUT, std::vector<output_record>(1, record));
  }
};

/// Scratch that a column can need: its dictionary's slots, and all its strings or the streams of a
/// page, each of which starts on a line.
inline uint64_t scratch_needed(const column_model& column, const written_chunk& chunk) {
  uint64_t bytes = chunk.dictionary_entries * DICTIONARY_SLOT_BYTES;
  if (column.physical_type == PHYSICAL_BYTE_ARRAY) bytes += chunk.page_bytes * 2;
  if (((chunk.encodings >> ENCODING_BYTE_STREAM_SPLIT) & 1) != 0) {
    bytes += chunk.page_bytes + FIXED_BYTES_MAX * 64;
  }
  return (bytes + 31) / 16 * 16;
}

/// Lays the chunks into the input, behind each other and off the lines, and makes the command.
inline test_memories bind_model(const scan_model& model, const std::vector<written_chunk>& chunks) {
  test_memories made;
  bytes_t input(11, 0xcc);
  std::vector<input_record> inputs;
  std::vector<column_record> columns;
  std::vector<reading_record> readings;
  bool plainly = true;
  uint64_t scratch = 0;
  for (size_t i = 0; i < chunks.size(); i++) {
    const column_model& column = model.columns[i];
    // The range of the input begins a little before the chunk.
    const uint64_t range = input.size();
    const uint64_t skipped = model.columns[i].style.seed % 70;
    input.insert(input.end(), skipped, 0xdd);
    const uint64_t begin = input.size();
    input.insert(input.end(), chunks[i].bytes.begin(), chunks[i].bytes.end());
    if (begin < input.size()) made.lines_expected += (input.size() + 63) / 64 - begin / 64;
    input_record where = input_record();
    where.kind = 1;
    where.offset = range;
    where.length = input.size() - range;
    inputs.push_back(where);
    column_record record = column_record();
    record.input = static_cast<uint16_t>(i);
    record.physical_type = column.physical_type;
    record.definition_level_max = column.nullable ? 1 : 0;
    record.codec = column.style.codec;
    record.value_kind = column.physical_type == PHYSICAL_BYTE_ARRAY ? KIND_BYTES : KIND_INTEGER;
    record.encodings = chunks[i].encodings;
    record.offset = skipped;
    record.length = chunks[i].bytes.size();
    record.uncompressed_bytes = chunks[i].page_bytes;
    record.dictionary_bytes = model.dictionary_bytes;
    if (model.dictionary_bytes == 0 && column.style.seed % 2 != 0) {
      record.dictionary_bytes = static_cast<uint32_t>(chunks[i].dictionary_bytes);
    }
    // Not all writers state which encodings data pages have.
    const bool has_indexes = !chunks[i].plain_data_pages && chunks[i].dictionary_entries != 0;
    if (has_indexes && column.style.seed / 2 % 2 == 0) {
      record.encodings &= 1u << ENCODING_PLAIN_DICTIONARY | 1u << ENCODING_RLE_DICTIONARY |
                          1u << ENCODING_RLE | 1u << ENCODING_BIT_PACKED;
    }
    // A loader fetches a dictionary by itself: the line in which it ends is read twice.
    const uint64_t split = begin + record.dictionary_bytes;
    if (is_loaded(record) && split % 64 != 0) made.lines_expected++;
    record.scratch_offset = scratch;
    record.scratch_bytes =
        model.scratch_bytes != 0 ? model.scratch_bytes : scratch_needed(column, chunks[i]);
    scratch += (record.scratch_bytes + 15) / 16 * 16;
    columns.push_back(record);
    readings.push_back({column.read_as, column.number_bits, column.length, 0});
    plainly = plainly && column.read_as == READ_AS_SIGNED && column.number_bits == 0;
  }
  command_builder builder;
  builder.records(SECTION_INPUTS, inputs);
  builder.records(SECTION_COLUMNS, columns);
  if (!plainly) builder.records(SECTION_READINGS, readings);
  builder.programs(model);
  builder.output(model);
  const std::vector<uint64_t> key_bits = builder.key_filters(model);
  command_header header = command_header();
  header.magic = COMMAND_MAGIC;
  header.format_major = FORMAT_MAJOR;
  header.opcode = OPCODE_SCAN;
  header.attempt = 3;
  header.command_id_low = 0x1122334455667788u;
  header.command_id_high = 0x99aabbccddeeff00u;
  header.epoch = 7;
  header.steps_max = model.steps_max;
  header.rows = model.rows;
  header.scratch_bytes = scratch;
  const bytes_t command = builder.finish(header);
  made.command.assign(COMMAND_BYTES_MAX / 8, 0);
  std::memcpy(&made.command[0], &command[0], command.size());
  // The rest of the memory is as large as bits may be, for damage can make them longer.
  made.command.resize((COMMAND_BYTES_MAX + KEY_BITS_BYTES_MAX) / 8, 0);
  std::copy(key_bits.begin(), key_bits.end(), made.command.begin() + command.size() / 8);
  sign_command(made.command);
  input.resize((input.size() + 63) / 64 * 64);
  made.input.resize(input.size() / 64);
  std::memcpy(&made.input[0], &input[0], input.size());
  made.output.assign(model.bytes_max / 8 + GUARD_WORDS, UNTOUCHED);
  made.scratch.assign(scratch / 8 + 1, UNTOUCHED);
  made.cancel = model.cancelled ? 1 : 0;
  return made;
}

}  // namespace nearscan_tb
