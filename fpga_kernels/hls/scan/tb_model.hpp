// SPDX-License-Identifier: Apache-2.0
// The model of a test: a table, its storage, and the query over it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../common/tb_frame.hpp"
#include "plan.hpp"

namespace nearscan_tb {

/// A value of a column.
struct cell {
  bool null;
  int64_t number;
  std::string text;
};

/// A pattern as SQL has it.
inline std::string like(std::string text) {
  for (char& byte : text) {
    if (byte == '%') byte = static_cast<char>(PATTERN_ANY);
    if (byte == '_') byte = static_cast<char>(PATTERN_ONE);
  }
  return text;
}

inline cell null_cell() { return {true, 0, ""}; }
inline cell number_cell(int64_t number) { return {false, number, ""}; }
inline cell text_cell(const std::string& text) { return {false, 0, text}; }

enum class layout { plain, dictionary, dictionary_then_plain };

/// The encoding of values that are no indexes. Types that an encoding is not for are plain.
enum class direct { plain, runs, differences, streams };

/// Pages of version 1, or of version 2 with what they say of compression.
enum class version { one, two_silent, two_compressed, two_raw };
enum class packing { literals, greedy, wild };

/// The storage of a column.
struct chunk_style {
  uint8_t codec = CODEC_SNAPPY;
  layout values = layout::dictionary;
  direct other = direct::plain;
  version pages = version::one;
  /// Levels of a bit each, in pages of version 1.
  bool single_levels = false;
  /// The fields of page headers from the last to the first.
  bool backwards = false;
  /// Of differences: miniblocks of a block, and values of a miniblock.
  uint32_t miniblocks = 4;
  uint32_t miniblock_values = 32;
  /// Of layout::dictionary_then_plain: the row whose page is the first plain one.
  uint64_t plain_from = 0;
  /// The page, counted from 1, that is plain among those with indexes; 0 for none.
  uint64_t plain_page = 0;
  /// Rows of a page, 0 for one page.
  uint64_t page_rows = 0;
  packing snappy = packing::greedy;
  /// PLAIN_DICTIONARY on dictionary and data pages, as old writers have it.
  bool old_names = false;
  /// Statistics, checksums and long field headers in the page headers.
  bool rich_headers = false;
  /// A page of an index, which is to be skipped, before the first data page.
  bool index_page = false;
  /// Unused entries at the end of the dictionary.
  uint64_t spare_entries = 0;
  /// Runs and groups as common writers make them, and not at random.
  bool common_runs = false;
  /// Bits of an index above those that are needed.
  uint32_t wide_bits = 0;
  uint64_t seed = 1;
};

struct column_model {
  uint8_t physical_type = PHYSICAL_INT64;
  /// The reading of stored values, bits that they fit in (0 for any), bytes of a fixed length.
  uint8_t read_as = READ_AS_SIGNED;
  uint8_t number_bits = 0;
  uint8_t length = 0;
  bool nullable = false;
  std::vector<cell> cells;
  chunk_style style;
};

struct test_model {
  uint16_t column;
  uint16_t op;
  std::vector<std::string> strings;
};

/// A group key: a column with a dictionary, or a number of a range.
struct key_model {
  uint16_t operand;
  bool ranged;
  int64_t first;
  uint32_t count;

  key_model(int column)
      : operand(static_cast<uint16_t>(column)), ranged(false), first(0), count(0) {}
  key_model(uint16_t of, int64_t least, uint32_t numbers)
      : operand(of), ranged(true), first(least), count(numbers) {}
};

/// Which rows can be among the first; `count` 0 for all.
struct top_model {
  uint32_t count = 0;
  uint16_t operand = NONE;
  bool descending = false;
  bool nulls_first = false;
};

/// A key filter: the column, and its set. A bitmap has the keys that are in its range; a Bloom
/// filter those that are given, and a range of its own.
struct key_filter_model {
  uint16_t column;
  uint16_t kind;
  int64_t first;
  int64_t last;
  /// Of a Bloom filter.
  uint32_t blocks;
  std::vector<int64_t> keys;
};

struct slot_model {
  uint8_t function;
  uint8_t width;
  uint16_t operand;
  uint16_t filter;
};

struct row_column {
  uint16_t operand;
  uint8_t width;
};

/// A table of one row group and a command over it.
struct scan_model {
  uint64_t rows = 0;
  std::vector<column_model> columns;
  std::vector<step> predicate;
  std::vector<step> projection;
  std::vector<i128> literals;
  std::vector<test_model> tests;
  std::vector<key_filter_model> key_filters;
  bool states = true;
  std::vector<key_model> keys;
  std::vector<slot_model> slots;
  std::vector<row_column> row_columns;
  top_model top;
  /// Whether compact blocks are wanted.
  bool compact = false;
  uint64_t rows_max = ~static_cast<uint64_t>(0);
  uint64_t bytes_max = 1 << 22;
  uint64_t steps_max = 50000000;
  /// Bytes of scratch for each lane; 0 for as much as it can need.
  uint64_t scratch_bytes = 0;
  /// Bytes that the command says a dictionary has; 0 for what it has, or that it is not known.
  uint32_t dictionary_bytes = 0;
  bool cancelled = false;
};

inline uint16_t operand(uint16_t kind, uint32_t index) {
  return static_cast<uint16_t>(kind << OPERAND_KIND_SHIFT | index);
}
inline uint16_t column_at(uint32_t index) { return operand(OPERAND_COLUMN, index); }
inline uint16_t step_at(uint32_t index) { return operand(OPERAND_STEP, index); }
inline uint16_t literal_at(uint32_t index) { return operand(OPERAND_LITERAL, index); }
inline uint16_t test_at(uint32_t index) { return operand(OPERAND_TEST, index); }
inline uint16_t null_operand() { return operand(OPERAND_NULL, 0); }

inline step make_step(uint8_t op, uint16_t a, uint16_t b = NONE, uint16_t c = NONE) {
  return {op, WIDTH_BOOL, a, b, c};
}
inline step make_arithmetic(uint8_t op, uint8_t width, uint16_t a, uint16_t b) {
  return {op, width, a, b, NONE};
}
inline step make_select(uint8_t width, uint16_t truth, uint16_t b, uint16_t c) {
  return {OP_SELECT, width, truth, b, c};
}
inline step make_part(uint8_t op, uint8_t width, uint16_t day) {
  return {op, width, day, NONE, NONE};
}
/// Whether the value of a step is a number.
inline bool is_arithmetic(const step& at) { return at.op < OP_EQUAL; }

inline slot_model make_slot(uint8_t function, uint16_t of, uint8_t width = WIDTH_W128,
                            uint16_t filter = NONE) {
  return {function, width, of, filter};
}

/// The output of a page writer, with the counters for the result.
struct written_chunk {
  bytes_t bytes;
  uint64_t pages = 0;
  uint64_t page_bytes = 0;
  uint64_t dictionary_entries = 0;
  /// Bytes of the dictionary page and its header.
  uint64_t dictionary_bytes = 0;
  uint64_t values = 0;
  uint16_t encodings = 0;
  bool plain_data_pages = false;
};

}  // namespace nearscan_tb
