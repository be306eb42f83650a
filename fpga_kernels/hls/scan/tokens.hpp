// SPDX-License-Identifier: Apache-2.0
// The tokens between the stages of the scan pipeline.
//
// Every stream with a `last` mark obeys one rule: it ends with exactly one token marked so,
// whatever happened, and its reader reads up to that token. A stage that fails says so in the
// report that follows its last token and goes on reading its own input to the end, so that no stage
// before it is left waiting. Streams without a mark follow one that has it: for each keep_token
// with a kept row there is one token on every forwarded column.
#pragma once

#include "../common/arithmetic.hpp"
#include "../common/platform.hpp"

namespace nearscan {

/// Columns that a build of the kernel takes: as many as the format has, unless it is built with
/// fewer to fit its part.
#ifndef NS_LANES
#define NS_LANES COLUMNS_MAX
#endif
static constexpr int LANES = NS_LANES;
/// Lanes that have what string tests take: the first ones.
static constexpr int TEST_LANES =
    LANES < static_cast<int>(TEST_COLUMNS_MAX) ? LANES : static_cast<int>(TEST_COLUMNS_MAX);
static_assert(LANES >= 1 && LANES <= static_cast<int>(COLUMNS_MAX), "lanes are columns");
/// Loaders of dictionaries, which all lanes share.
static constexpr int LOADERS = 2;
static constexpr int ROWS = ROWS_PER_WORD;
static constexpr int SLOTS = OUTPUT_COLUMNS_MAX;
/// Columns of a word that are sent per iteration. Those of rows go through a stream each, the even
/// ones through the first, and slots and keys have sides of their own (`stream_place`).
static constexpr uint32_t SIDES = 2;

/// A beat of a column chunk. `first` is the first byte of it that belongs to the chunk.
struct line_token {
  line_t data;
  small_uint<6> first;
  small_uint<7> end;
  bool last;
};

/// A page, before its bytes.
struct page_token {
  uint32_t compressed_bytes;
  uint32_t uncompressed_bytes;
  uint32_t value_count;
  /// Of a page of version 2: bytes of levels in front, which are never compressed, and null rows.
  uint32_t level_bytes;
  uint32_t null_count;
  small_uint<2> kind;
  uint8_t encoding;
  /// The place and the encoding of definition levels.
  small_uint<2> levels;
  /// Whether its values are compressed, if the chunk has a codec.
  bool compressed;
  bool last;
};
// As in Parquet; those of version 2 travel as PAGE_DATA.
static constexpr uint8_t PAGE_DATA = 0;
static constexpr uint8_t PAGE_INDEX = 1;
static constexpr uint8_t PAGE_DICTIONARY = 2;
static constexpr uint8_t PAGE_DATA_2 = 3;
/// A required column has none.
static constexpr uint8_t LEVELS_NONE = 0;
/// Runs and groups behind a length of 4 bytes.
static constexpr uint8_t LEVELS_PREFIXED = 1;
/// A bit each, the highest of a byte first.
static constexpr uint8_t LEVELS_BIT_PACKED = 2;
/// Runs and groups; the header has the length.
static constexpr uint8_t LEVELS_APART = 3;

/// Eight bytes of a page, or fewer if it is the `last` one. That ends the page, not the chunk; an
/// early one means that the page was cut short and a failed report follows.
///
/// So whoever has fewer bits than he needs, 64 at most, has enough behind one token, or the page
/// ends: no loop is needed to read on.
struct byte_token {
  uint64_t data;
  small_uint<4> count;
  bool last;
};

/// The numbers of eight rows. Those of null rows are any.
struct number_token {
  hls::vector<int64_t, ROWS> row;
};

/// Numbers on their way to be passed on, which wait for the rows of their word.
struct side_token {
  number_token numbers;
};

/// Bits of a dictionary code: one more than the index of an entry on chip, and 0 for the last one.
/// The dictionary of a group key has fewer entries, so that 0 is free for NULL.
static constexpr int CODE_BITS = 12;
static_assert(DICTIONARY_ENTRIES_ON_CHIP == 1u << CODE_BITS, "each entry on chip has a code");
static_assert(GROUPS_MAX < 1u << CODE_BITS, "no entry of a key has the code 0");

/// The code of an entry on chip, and the entry of a code.
inline uint16_t code_of(uint32_t entry) {
  return static_cast<uint16_t>((entry + 1) % DICTIONARY_ENTRIES_ON_CHIP);
}
inline uint32_t entry_of(uint32_t code) { return (code - 1) % DICTIONARY_ENTRIES_ON_CHIP; }

/// One column of eight rows. Values and outcomes of null rows are any; their code is 0.
///
/// `value` is a number, or a reference to a byte string: its first word in scratch << 24 | its
/// bytes. `tests` holds the outcomes of the column's string tests, `code` the code of a group
/// key, or of the entry on chip that a key filter has a verdict on. Rows that are `far` have the
/// place of a dictionary entry instead of a value, and no outcomes: it is looked up on their way.
struct value_token {
  number_token value;
  hls::vector<uint16_t, ROWS> tests;
  hls::vector<small_uint<CODE_BITS>, ROWS> code;
  uint8_t far;
  uint8_t valid;
  small_uint<4> count;
  bool last;
};

/// A word without rows. (Copied, it is cleared in a few steps of a simulation.)
static constexpr value_token EMPTY_WORD = value_token();

/// Which of eight rows are kept.
struct keep_token {
  uint8_t keep;
  bool last;
};

/// Which of eight rows are kept, and what is known of their output columns before the numbers: of
/// each column the rows that are not null and the kept rows that it is about: all of them, unless a
/// slot has a filter.
///
/// Beside it a column sends a token of its numbers, unless it only counts: to the aggregates before
/// it, and behind it to the stage that writes. They are values of rows, operands of an aggregate
/// slot, or codes of a key. A group is a word of one row, whose numbers have 128 bits: the second
/// row has the higher 64, and the third says whether the number is not null.
struct row_token {
  hls::vector<uint8_t, SLOTS> valid;
  hls::vector<uint8_t, SLOTS> use;
  uint8_t keep;
  bool last;
};

static constexpr int STRING_LENGTH_BITS = 24;
static constexpr int CODED_SHIFT = 63;

/// Bits of the address of a word of scratch, as many as a reference to a string has for it: the
/// loading of a command refuses more scratch.
static constexpr int SCRATCH_WORD_BITS = CODED_SHIFT - STRING_LENGTH_BITS;

/// A request of the aggregates to read device memory. Addresses count 8-byte words.
///
/// To read: `count` words from `at` on, at least one, nothing in `word`. To read first words: in
/// `word` the address of a word for each of `rows`, at least one.
struct scratch_token {
  small_uint<SCRATCH_WORD_BITS> at;
  hls::vector<uint64_t, LINE_WORDS> word;
  small_uint<4> count;
  uint8_t rows;
  small_uint<2> kind;
};
static constexpr uint8_t SCRATCH_READ = 0;
/// Nothing more will be asked.
static constexpr uint8_t SCRATCH_END = 1;
static constexpr uint8_t SCRATCH_FIRST_WORDS = 2;

/// The writers of a lane, each with bursts of its own: slots of its dictionary or streams of a
/// page, and strings.
static constexpr int LANE_WRITERS = 2;

/// Pairs of words of a burst that writes scratch, at most.
static constexpr uint32_t BURST_PAIRS = 16;

/// Two words on their way into scratch, as the port takes them.
struct pair_token {
  hls::vector<uint64_t, 2> word;
};

/// A burst of the pairs that were sent before it: `count` of them from pair `at` on, at least one.
/// Or nothing more will be written.
struct burst_token {
  small_uint<SCRATCH_WORD_BITS - 1> at;
  small_uint<5> count;
  bool last;
};
static_assert(BURST_PAIRS < 1u << 5, "a count has so many bits");

/// A request of the last stage for a piece of a string: `count` words from 8-byte address `at` on,
/// at least one. Or nothing more will be asked.
struct piece_token {
  small_uint<SCRATCH_WORD_BITS> at;
  small_uint<4> count;
  bool last;
};

/// A request of a lane for words that lie apart: `count` of them, at least one, the first at 8-byte
/// address `at` and each `stride` words behind the one before. Or nothing more will be asked.
struct spread_token {
  small_uint<SCRATCH_WORD_BITS> at;
  uint32_t stride;
  small_uint<5> count;
  bool last;
};

/// Two of the words that a lane has asked for; of an odd number the last one comes alone.
struct found_token {
  hls::vector<uint64_t, 2> word;
};

/// Answers that wait to be taken, at most: whoever asks has room for them, so that the stage which
/// reads never waits for him.
static constexpr int WORDS_DUE = 16;
static constexpr int FOUND_DUE = 32;
static constexpr int ENTRIES_DUE = 64;

/// Words of a slot in device memory: a value, or a value and the outcomes of its tests.
static constexpr uint32_t UNTESTED_SLOT_WORDS = 1;
static constexpr uint32_t TESTED_SLOT_WORDS = DICTIONARY_SLOT_BYTES / 8;
static_assert(TESTED_SLOT_WORDS == 2, "a value and its tests");

/// A dictionary entry in device memory that is asked for, by the address of its slot.
struct slot_token {
  small_uint<SCRATCH_WORD_BITS> at;
  bool last;
};

/// A dictionary entry that was looked up.
struct entry_token {
  int64_t value;
  uint16_t tests;
};

/// How many entries have been taken.
struct credit_token {
  small_uint<4> count;
};

/// Entries of 32 bits in the store: 14 URAMs of two ports. Two look-ups per iteration are as many
/// as a dictionary on chip gives.
static constexpr uint32_t STORE_ENTRIES = 114688;
static constexpr uint32_t STORE_PLACE_BITS = 17;
static_assert(STORE_ENTRIES <= 1u << STORE_PLACE_BITS, "a place has so many bits");

/// An entry of a dictionary on its way to the memory on chip: the next one, or no more.
struct chip_token {
  int64_t value;
  uint16_t tests;
  bool last;
};

/// Entries on chip of a dictionary.
struct chip_entry {
  int64_t value;
  uint16_t tests;
};

/// Slots of device memory that are written: `count` words from `at` on. The last token has none.
struct slot_run {
  small_uint<SCRATCH_WORD_BITS> at;
  uint32_t count;
  bool last;
};

/// Entries that are put into the store, `count` of them from place `at` on.
struct store_token {
  hls::vector<int32_t, ROWS> entry;
  small_uint<STORE_PLACE_BITS> at;
  small_uint<4> count;
  bool last;
};

/// Places of the store that are looked up, for each of `rows`, and what stands there.
struct place_token {
  hls::vector<small_uint<STORE_PLACE_BITS>, ROWS> place;
  uint8_t rows;
  bool last;
};
struct stored_token {
  hls::vector<int32_t, ROWS> entry;
};

/// Where the entry of a far row is, as its value says: in the store, or in a slot of device memory.
inline int64_t store_reference(uint32_t place) { return static_cast<int64_t>(place) << 1 | 1; }
inline int64_t slot_reference(uint64_t address) { return static_cast<int64_t>(address << 1); }
inline bool is_stored(int64_t reference) { return (reference & 1) != 0; }
inline uint64_t referenced(int64_t reference) { return static_cast<uint64_t>(reference) >> 1; }

/// Words that were read.
struct words_token {
  hls::vector<uint64_t, LINE_WORDS> word;
};

/// Where compact rows are wanted, the reference to a string of a dictionary names its entry too:
/// the length, 27 bits of the first word, 12 bits of the entry, and a bit that says so.
static constexpr int CODED_WORD_BITS = 27;
static constexpr int CODED_ENTRY_SHIFT = STRING_LENGTH_BITS + CODED_WORD_BITS;
static_assert(CODED_STRINGS_MAX <= 1u << (CODED_SHIFT - CODED_ENTRY_SHIFT), "bits of an entry");
static_assert(DICTIONARY_ENTRIES_ON_CHIP <= CODED_STRINGS_MAX, "each entry on chip has a code");

/// Bytes of the string that a reference stands for.
inline uint64_t reference_length(uint64_t reference) {
  return reference & ((1u << STRING_LENGTH_BITS) - 1);
}

/// Whether it names an entry of a dictionary.
inline bool is_coded(uint64_t reference) { return (reference >> CODED_SHIFT) != 0; }

/// That entry.
inline uint32_t coded_entry(uint64_t reference) {
  return static_cast<uint32_t>(reference >> CODED_ENTRY_SHIFT) & (CODED_STRINGS_MAX - 1);
}

/// Its first word in scratch.
inline uint64_t reference_word(uint64_t reference) {
  const uint64_t word = reference >> STRING_LENGTH_BITS;
  return is_coded(reference) ? word & ((1u << CODED_WORD_BITS) - 1) : word;
}

/// The same reference with the entry of a dictionary, if the string lies where it can name one.
inline int64_t coded_reference(int64_t plain, uint32_t entry) {
  const uint64_t reference = static_cast<uint64_t>(plain);
  if ((reference >> CODED_ENTRY_SHIFT) != 0) return plain;
  return static_cast<int64_t>(reference | static_cast<uint64_t>(entry) << CODED_ENTRY_SHIFT |
                              static_cast<uint64_t>(1) << CODED_SHIFT);
}

/// The work of a stage, and its end; each adds to the report of the stage before it. The loops that
/// are counted begin an iteration each cycle.
struct report {
  uint32_t status;
  uint32_t detail_column;
  uint32_t detail_page;
  uint64_t detail_offset;
  uint64_t lines_read;
  uint64_t pages;
  /// Iterations of finding data pages: bytes of headers, and words of pages.
  uint64_t page_iterations;
  uint64_t bytes_decompressed;
  uint64_t snappy_tokens;
  /// Iterations of data pages.
  uint64_t decompress_iterations;
  uint64_t values_decoded;
  uint64_t decode_steps_lane_max;
  uint64_t decode_iterations;
  /// Iterations of the dictionary page, unless a loader has it: of whoever has most to do with it.
  uint64_t dictionary_iterations;
  /// Those of the loader, with the pages that it had before.
  uint64_t loader_iterations;
  uint64_t dictionary_entries;
  /// Pairs of words of scratch that dictionaries of lanes took, and words that those of loaders
  /// did.
  uint64_t dictionary_pairs;
  uint64_t loader_words;
  uint64_t rows_in;
  uint64_t rows_kept;
  uint64_t rows_projected;
  uint64_t rows_aggregated;
  uint64_t string_words;
  uint64_t filter_iterations;
  uint64_t project_iterations;
  uint64_t aggregate_iterations;
};

/// A dictionary that was loaded, or why it was not, with the work for it: iterations are those of
/// its loader so far.
struct dictionary_token {
  uint32_t entries;
  uint32_t stored_end;
  uint64_t slots;
  report own;
};

/// The work of a stage that reads or writes scratch, or the store.
struct memory_report {
  uint64_t iterations;
  /// Requests to the port, and how many of them were to be answered before the next was known.
  uint64_t requests;
  uint64_t waits;
  /// Dictionary entries among them.
  uint64_t entries;
};

inline report empty_report() {
  report none = report();
  none.status = STATUS_OK;
  none.detail_column = 0xffffffffu;
  return none;
}

/// Records a failure; of several the one with the lowest number is told.
inline void fail(report& own, uint32_t status) {
  if (status == STATUS_OK) return;
  if (own.status == STATUS_OK || status < own.status) own.status = status;
}

/// Records a failure of a lane, unless a stage before this one has failed already: a chunk that
/// ends early because it was cancelled looks corrupt from behind.
inline void fail_lane(report& own, uint32_t status, uint32_t column, uint32_t page,
                      uint64_t offset) {
  if (own.status != STATUS_OK || status == STATUS_OK) return;
  own.status = status;
  own.detail_column = column;
  own.detail_page = page;
  own.detail_offset = offset;
}

inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// Adds the report of a lane to the report of all.
inline void merge_lane(report& all, const report& lane) {
  const bool explains =
      lane.status != STATUS_OK && (all.status == STATUS_OK || lane.status < all.status);
  if (explains) {
    all.status = lane.status;
    all.detail_column = lane.detail_column;
    all.detail_page = lane.detail_page;
    all.detail_offset = lane.detail_offset;
  }
  all.lines_read += lane.lines_read;
  all.pages += lane.pages;
  all.page_iterations = max_u64(all.page_iterations, lane.page_iterations);
  all.bytes_decompressed += lane.bytes_decompressed;
  all.snappy_tokens += lane.snappy_tokens;
  all.decompress_iterations = max_u64(all.decompress_iterations, lane.decompress_iterations);
  all.values_decoded += lane.values_decoded;
  all.decode_steps_lane_max = max_u64(all.decode_steps_lane_max, lane.decode_steps_lane_max);
  all.decode_iterations = max_u64(all.decode_iterations, lane.decode_iterations);
  all.dictionary_iterations = max_u64(all.dictionary_iterations, lane.dictionary_iterations);
  all.loader_iterations = max_u64(all.loader_iterations, lane.loader_iterations);
  all.dictionary_entries += lane.dictionary_entries;
  all.dictionary_pairs += lane.dictionary_pairs;
  all.loader_words += lane.loader_words;
}

// Depths, in tokens. A burst of the input is 16 lines. While entries are on their way from device
// memory (16 at a time, about 60 cycles), the words that wait for them have places behind each
// other, and so have those that wait beside them in other lanes.
static constexpr int LINE_DEPTH = 32;
static constexpr int PAGE_DEPTH = 2;
static constexpr int BYTE_DEPTH = 64;
static constexpr int VALUE_DEPTH = 32;
static constexpr int SCRATCH_DEPTH = 16;
static constexpr int KEEP_DEPTH = 32;
static constexpr int NUMBER_DEPTH = 8;
/// The rows of a word come behind its columns.
static constexpr int SIDE_DEPTH = 16;
static_assert(SLOTS <= SIDE_DEPTH * static_cast<int>(SIDES), "there is room for a word's columns");
static constexpr int REPORT_DEPTH = 1;
/// Words of a burst that writes slots.
static constexpr int SLOT_BURST_WORDS = 64;

typedef hls::stream<line_token, LINE_DEPTH> line_stream;
typedef hls::stream<page_token, PAGE_DEPTH> page_stream;
typedef hls::stream<byte_token, BYTE_DEPTH> byte_stream;
typedef hls::stream<value_token, VALUE_DEPTH> value_stream;
typedef hls::stream<keep_token, KEEP_DEPTH> keep_stream;
typedef hls::stream<row_token, KEEP_DEPTH> row_stream;
typedef hls::stream<number_token, NUMBER_DEPTH> number_stream;
typedef hls::stream<side_token, SIDE_DEPTH> side_stream;
typedef hls::stream<report, REPORT_DEPTH> report_stream;
typedef hls::stream<dictionary_token, 1> dictionary_stream;
typedef hls::stream<memory_report, REPORT_DEPTH> memory_report_stream;
typedef hls::stream<scratch_token, SCRATCH_DEPTH> scratch_stream;
/// A burst is sent while the next one is put together.
typedef hls::stream<pair_token, 2 * BURST_PAIRS> pair_stream;
typedef hls::stream<burst_token, SCRATCH_DEPTH> burst_stream;
typedef hls::stream<piece_token, SCRATCH_DEPTH> piece_stream;
typedef hls::stream<words_token, WORDS_DUE> string_stream;
typedef hls::stream<spread_token, 4> spread_stream;
typedef hls::stream<found_token, FOUND_DUE> found_stream;
typedef hls::stream<slot_token, SCRATCH_DEPTH> slot_stream;
typedef hls::stream<entry_token, ENTRIES_DUE> entry_stream;
typedef hls::stream<credit_token, ENTRIES_DUE> credit_stream;
typedef hls::stream<store_token, 2> store_stream;
typedef hls::stream<chip_token, 2> chip_stream;

/// Verdicts on entries of dictionaries, for each key column a run of them: one URAM.
static constexpr uint32_t ENTRY_VERDICTS_MAX = 262144;
static constexpr int ENTRY_INDEX_BITS = 18;
static_assert(ENTRY_VERDICTS_MAX == 1u << ENTRY_INDEX_BITS, "an entry has so many bits");

/// An entry of a key column on its way to be looked up, or no more.
struct key_entry_token {
  int64_t value;
  small_uint<ENTRY_INDEX_BITS> index;
  small_uint<KEY_FILTERS_MAX> sets;
  bool last;
};
typedef hls::stream<key_entry_token, 16> key_entry_stream;
typedef hls::stream<slot_run, 2> slot_run_stream;
typedef hls::stream<uint64_t, SLOT_BURST_WORDS> slot_word_stream;
/// That all words of a run are in memory.
typedef hls::stream<bool, 1> slots_written_stream;
typedef uint64_t entry_verdicts[ENTRY_VERDICTS_MAX / 64];
typedef hls::stream_of_blocks<entry_verdicts, 2> verdict_blocks;

/// Entries on chip and the store: those of a command are filled while the one before uses its own.
typedef chip_entry chip_entries[DICTIONARY_ENTRIES_ON_CHIP];
typedef int32_t store_entries[STORE_ENTRIES];
typedef hls::stream_of_blocks<chip_entries, 2> chip_blocks;
typedef hls::stream_of_blocks<store_entries, 2> store_blocks;
typedef hls::stream<place_token, 4> place_stream;
typedef hls::stream<stored_token, 4> stored_stream;
/// How many bursts have been answered since the last token.
typedef hls::stream<uint32_t, SCRATCH_DEPTH> written_stream;
/// The dictionary of a key column, once, before its first values: how many entries, then each.
typedef hls::stream<int64_t, 2> key_stream;

}  // namespace nearscan

NS_NEEDED_DEPTH(nearscan::side_token, nearscan::SLOTS / nearscan::SIDES)
NS_NEEDED_DEPTH(nearscan::pair_token, nearscan::BURST_PAIRS)
NS_NEEDED_DEPTH(nearscan::words_token, nearscan::WORDS_DUE)
NS_NEEDED_DEPTH(nearscan::found_token, nearscan::FOUND_DUE)
NS_NEEDED_DEPTH(nearscan::entry_token, nearscan::ENTRIES_DUE)
NS_NEEDED_DEPTH(nearscan::credit_token, nearscan::ENTRIES_DUE)
