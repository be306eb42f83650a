// SPDX-License-Identifier: Apache-2.0
// A command, taken apart: each stage gets its own part and no two stages share one.
#pragma once

#include "pattern_plan.hpp"
#include "tokens.hpp"

namespace nearscan {

/// Bytes of device memory that are fetched: a chunk or a part of one.
struct byte_range {
  uint64_t begin;
  uint64_t end;
};

/// The plan of fetching: for each of some streams the ranges that go through it, one after the
/// other.
template <int Streams, int Ranges>
struct fetch_plan {
  byte_range range[Streams][Ranges];
  uint32_t range_count[Streams];
  uint32_t stream_count;
  uint64_t steps_max;
};

/// String tests of one column: operations and literals, each literal padded to whole words. A
/// pattern has no literal but an automaton.
struct lane_tests {
  static constexpr int STRINGS = STRINGS_PER_COLUMN_MAX;
  static constexpr int WORDS = STRING_BYTES_PER_COLUMN_MAX / 8;
  uint16_t op[TESTS_PER_COLUMN_MAX];
  uint16_t string_end[TESTS_PER_COLUMN_MAX];
  uint16_t test_count;
  uint16_t length[STRINGS];
  uint16_t word_first[STRINGS];
  uint64_t words[WORDS];
  pattern_plan patterns;
};

/// The tests of a lane that has none.
struct no_tests {
  static constexpr uint16_t test_count = 0;
};

/// The plan of finding the pages of one column, or its dictionary page. Where they begin counts the
/// pages and the bytes of the chunk in front of them.
struct page_plan {
  uint32_t column;
  bool active;
  bool nullable;
  uint16_t encodings;
  uint32_t pages_before;
  uint64_t bytes_before;
};

/// The plan of decompressing them.
struct decompress_plan {
  uint32_t column;
  bool active;
  uint8_t codec;
  uint32_t pages_before;
};

/// How the stored values of a column stand for numbers.
struct reading_plan {
  uint8_t physical_type;
  /// The conversion of stored values to numbers, and bits that these must fit in, 0 for any.
  uint8_t read_as;
  uint8_t number_bits;
  /// Signed, and as wide as they are stored: most columns.
  bool plainly;
  /// Bits of a stored value, 0 where its length stands before each.
  uint8_t stored_bits;
};

/// The plan of decoding them.
struct decode_plan {
  uint32_t column;
  bool active;
  reading_plan reading;
  bool nullable;
  bool needs_codes;
  bool needs_bytes;
  /// Whether its entries were looked up in a key filter: all of its pages have indexes.
  bool by_entry;
  /// References to the strings of a small dictionary name their entries.
  bool names_entries;
  /// Whether its dictionary may have more entries than fit on chip.
  bool may_be_far;
  /// Whether a loader has its dictionary page, and which.
  bool is_loaded;
  uint8_t loader;
  uint32_t pages_before;
  uint64_t rows;
  uint64_t scratch_begin;
  uint64_t scratch_end;
  uint64_t steps_max;
};

/// The plan of a lane with its tests: lane_tests, or no_tests.
template <typename Tests>
struct column_plan : decode_plan {
  const Tests& tests;

  column_plan(const decode_plan& plan, const Tests& of_column)
      : decode_plan(plan), tests(of_column) {}
};

struct step {
  uint8_t op;
  uint8_t width;
  uint16_t a;
  uint16_t b;
  uint16_t c;
};

/// What operands may name beside columns and steps: literals, and string tests, each as its column
/// and its bit.
struct operand_tables {
  int64_t literals[LITERALS_MAX];
  uint8_t test_column[TESTS_MAX];
  uint8_t test_bit[TESTS_MAX];
};

/// A program with the tables of its operands.
struct program_plan {
  uint32_t step_count;
  step steps[STEPS_MAX];
  operand_tables tables;
};

/// For the slow unit of a program, which does its divisions, dates and IN, if it has any.
struct slow_plan {
  bool active;
  int64_t literals[LITERALS_MAX];
};

/// Operations that are not in the pipeline of the arithmetic unit, a bit each.
static constexpr uint64_t SLOW_STEPS =
    1ull << OP_DIVIDE | 1ull << OP_DIVIDE_ROUND | 1ull << OP_DIVIDE_FLOOR | 1ull << OP_REMAINDER |
    1ull << OP_YEAR | 1ull << OP_MONTH | 1ull << OP_DAY | 1ull << OP_IN;

/// Words of a block of a key filter, and the blocks that there is room for.
static constexpr uint32_t KEY_BLOCK_WORDS = 4;
static constexpr uint32_t KEY_BLOCKS = KEY_BITS_BYTES_MAX / (8 * KEY_BLOCK_WORDS);

/// The bits of key filters, in blocks of 32 bytes. A second memory would let a command with sets
/// for rows be loaded sooner; those with large dictionaries have none for rows.
typedef uint64_t key_memory[KEY_BLOCK_WORDS][KEY_BLOCKS];
typedef hls::stream_of_blocks<key_memory, 1> key_blocks;

/// A set of keys.
struct key_set_plan {
  bool is_bitmap;
  /// Whether entries are looked up instead of rows: their first verdict, and the word of scratch
  /// of the first entry.
  bool by_entry;
  /// Whether the verdict on an entry is that of a set before, which has the same column.
  bool shares_verdict;
  uint32_t verdict_first;
  uint64_t slot_first;
  int64_t first;
  int64_t last;
  uint32_t block_first;
  uint32_t blocks;
  uint32_t checksum;
};

/// The plan of looking entries up in key filters.
struct entry_key_plan {
  bool active;
  bool has_sets;
  key_set_plan sets[KEY_FILTERS_MAX];
};
/// Key filters, if `count` is not 0; their bits begin at a word behind the command.
struct key_plan {
  uint32_t count;
  /// Whether a set has rows that are looked up in it.
  bool has_row_sets;
  uint32_t word_first;
  key_set_plan sets[KEY_FILTERS_MAX];
};

/// The plan of looking up the far rows of a lane, before the filter or behind it.
struct look_up_plan {
  bool active;
  bool is_late;
  bool has_store;
};

/// The plan of filling the entry store: the loader that does.
struct store_fill_plan {
  bool active;
  uint8_t loader;
};

/// The plan of looking up in it: its lane.
struct store_plan {
  bool active;
  uint8_t lane;
};

/// The plan of reading scratch: lanes, how many of them are looked up, and, a bit each, those whose
/// entries a loader has written: numbers without tests.
struct memory_plan {
  uint32_t lane_count;
  uint32_t look_up_count;
  /// Lanes whose slots have tests beside the value.
  uint32_t tested;
};

/// The plan of loading the dictionary of a column of numbers.
struct dictionary_plan {
  uint32_t column;
  reading_plan reading;
  bool may_be_far;
  bool needs_codes;
  bool has_store;
  /// Whether far entries are looked up, and so needed in device memory.
  bool is_looked_up;
  /// The key filters that its entries are looked up in, a bit each, and the most entries then.
  uint8_t key_sets;
  uint32_t entries_max;
  uint64_t scratch_begin;
  uint64_t scratch_end;
  uint64_t steps_max;
};

/// The plan of a loader, a process each: the dictionaries that go through it, one after the other.
struct loader_plan {
  uint32_t count;
  page_plan pages[LANES];
};
/// Whether their pages are those of raw Snappy, if they are compressed.
struct loader_codec_plan {
  uint32_t count;
  bool is_snappy[LANES];
};
struct loader_run_plan {
  uint32_t count;
};
struct loader_take_plan {
  uint32_t count;
  decompress_plan decompress[LANES];
};
struct loader_entry_plan {
  uint32_t count;
  /// Whether entries are looked up in key filters.
  bool has_keys;
  dictionary_plan dictionary[LANES];
};

/// The plan of a lane's entries on chip: where they come from.
struct entry_plan {
  bool active;
  bool is_loaded;
  uint8_t loader;
};

/// Whether lane `lane` is one of some, which have a bit each.
inline bool is_among(uint32_t lanes, uint32_t lane) { return ((lanes >> lane) & 1) != 0; }

/// The next word of one of two streams.
inline void read_either(bool first, value_stream& one, value_stream& other, value_token& word) {
  if (first) {
    one.read(word);
  } else {
    other.read(word);
  }
}

/// The plan of gathering the words of all lanes.
struct gather_plan {
  uint32_t lane_count;
  /// Lanes that are looked up before, a bit each.
  uint32_t early;
  uint64_t rows;
  uint64_t steps_max;
  /// The columns in which keys are looked up.
  uint32_t key_count;
  uint8_t key_column[KEY_FILTERS_MAX];
};

/// The plan of passing on what is kept.
struct keep_plan {
  uint32_t lane_count;
  /// Columns that the projection needs, a bit each, and those of them that are looked up behind
  /// the filter.
  uint32_t forwarded;
  uint32_t late;
};

/// Output columns of a side: numbers of slots in the first of its streams, then those of keys.
static constexpr uint32_t SIDE_COLUMNS = SLOTS / SIDES;
static constexpr uint32_t SIDE_SLOTS = AGGREGATES_MAX / SIDES;
static constexpr uint32_t SIDE_KEYS = KEYS_MAX / SIDES;
static_assert(SIDE_SLOTS + SIDE_KEYS == SIDE_COLUMNS, "each has a stream");
static_assert(SIDES == 2, "the other side is the first or the second");

/// A stream of numbers.
struct stream_place {
  uint8_t side;
  uint8_t place;
};

/// The stream of a slot. Slots 0 and 1, 2 and 3, and so on are on different sides, and so are any
/// two with one between them: sums are shared out evenly whether or not counts lie between them.
inline stream_place place_of_slot(uint32_t slot) {
  return stream_place{static_cast<uint8_t>((slot ^ slot >> 1) % SIDES),
                      static_cast<uint8_t>(slot / SIDES)};
}

/// The slot of a stream.
inline uint32_t slot_at(uint32_t side, uint32_t place) {
  return place * SIDES + (side ^ place % SIDES);
}

/// The stream of a key: they take the sides in turn, the first that of the second slot.
inline stream_place place_of_key(uint32_t key) {
  return stream_place{static_cast<uint8_t>((key + 1) % SIDES),
                      static_cast<uint8_t>(SIDE_SLOTS + key / SIDES)};
}

/// The key of a stream.
inline uint32_t key_at(uint32_t side, uint32_t place) {
  return (place - SIDE_SLOTS) * SIDES + (side ^ 1);
}

/// An output column: where its values come from and what becomes of them.
struct output_plan {
  uint16_t operand;
  uint16_t filter;
  /// Its place among all of them.
  uint8_t index;
  uint8_t width;
  /// Aggregate function; 0 in rows mode and for keys.
  uint8_t function;
  /// Lane of a group key by codes.
  uint8_t lane;
  /// The side that it is sent by, and of slots and keys its stream, which is the same whatever
  /// other columns there are.
  stream_place stream;
  bool is_key;
  /// Of its operand only validity counts.
  bool counts;
  /// A group key by range: its operand is a number from `first` on, `count` of them.
  bool is_range;
  uint32_t count;
  int64_t first;
};

/// Which rows can be among the first; `count` 0 when all are wanted.
struct top_plan {
  uint32_t count;
  uint16_t operand;
  bool descending;
  bool nulls_first;
};

/// The plan of gathering what is kept.
struct kept_plan {
  uint32_t lane_count;
  uint32_t forwarded;
  uint32_t late;
};

/// The plan of sending output columns: to be folded into states, or to be passed on.
struct columns_plan {
  bool states;
  operand_tables tables;
  top_plan top;
  /// Of each side, and beside them: of columns that only count rows are found, and of all others
  /// the numbers are sent. One of each has an iteration.
  uint32_t count[SIDES + 1];
  output_plan columns[SIDES + 1][SIDE_COLUMNS];
};

struct aggregate_plan {
  bool states;
  uint32_t key_count;
  uint32_t column_count;
  /// Keys and slots of groups.
  output_plan keys[KEYS_MAX];
  output_plan slots[AGGREGATES_MAX];

  uint32_t slot_count() const { return column_count - key_count; }
};

/// Output columns of strings that a compact result may send as codes, and no table of them.
static constexpr uint32_t CODED_COLUMNS_MAX = 8;
static constexpr uint8_t NO_TABLE = 0xff;

struct write_plan {
  command_header header;
  /// Whether the rows are groups, whose numbers have 128 bits.
  bool states;
  /// Whether blocks are compact.
  bool compact;
  /// Of compact blocks: the table of the codes of each column, and how many tables.
  uint8_t table[SLOTS];
  uint32_t tables;
  uint32_t column_count;
  uint8_t width[SLOTS];
  uint64_t bytes_max;
  uint64_t rows_max;
  /// Words of key filters that were loaded.
  uint64_t key_words;
  /// Why there is nothing to do, if the command was refused.
  uint32_t refused;
  /// Whether the entry store reports.
  bool has_store;
};

struct scan_plan {
  uint32_t lane_count;
  fetch_plan<LANES, 1> fetch;
  page_plan pages[LANES];
  decompress_plan decompress[LANES];
  decode_plan decode[LANES];
  lane_tests tests[TEST_LANES];
  fetch_plan<LOADERS, LANES> fetch_dictionaries;
  loader_plan loaders[LOADERS];
  loader_codec_plan loader_codecs[LOADERS];
  loader_run_plan loader_runs[LOADERS];
  loader_take_plan loader_takes[LOADERS];
  loader_entry_plan loader_entries[LOADERS];
  entry_plan entries[LANES];
  look_up_plan look_up[LANES];
  store_fill_plan store_fill;
  store_plan store;
  memory_plan memory;
  gather_plan gather;
  program_plan predicate;
  slow_plan predicate_slow;
  key_plan keys;
  entry_key_plan entry_keys;
  keep_plan keep;
  kept_plan kept;
  program_plan projection;
  slow_plan projection_slow;
  columns_plan columns;
  aggregate_plan aggregate;
  write_plan write;
};

}  // namespace nearscan
