// SPDX-License-Identifier: Apache-2.0
// The tokens between the processes of the merge, and the sizes of their memories.
//
// A process that fails goes on reading what comes until its last token, so that no other one is
// left waiting. The row that is chosen next depends on keys alone: so keys travel ahead of their
// rows, and what else a row has is read when it has been chosen.
//
// Assumed of the depths: those of the streams of keys hold all rows that may be on their way
// (KEY_DEPTH). A build with shallower ones would stop.
#pragma once

#include "../common/arithmetic.hpp"
#include "../common/platform.hpp"

namespace nearscan {
namespace merging {

/// Words of all windows of values: 20 BRAM36, allocated to the columns of all inputs. The most that
/// a command can have get 32 each, a half of which is eight numbers of 128 bits.
static constexpr uint32_t WINDOW_WORDS = 10240;
/// Most words of a window: a half is a burst of 1 KiB, or of a line more if it begins within one.
static constexpr uint32_t WINDOW_WORDS_MAX = 256;
/// Words of the validity of a window: two for each half.
static constexpr uint32_t VALIDITY_WORDS = 4;
/// Rows of a half, at most and at least. So the validity of one lies in two words, and a half
/// begins with a word, however narrow its numbers are.
static constexpr uint32_t HALF_ROWS_MAX = 128;
static constexpr uint32_t HALF_ROWS_MIN = 8;
static_assert(MERGE_INPUTS_MAX * OUTPUT_COLUMNS_MAX * HALF_ROWS_MIN * 4 <= WINDOW_WORDS,
              "a half of the smallest window has room for the fewest numbers of 128 bits");

/// Words of a request, at most.
static constexpr uint32_t REQUEST_WORDS_MAX = 128;
/// Bursts in flight, as many as the port keeps.
static constexpr uint32_t IN_FLIGHT_MAX = 16;

/// Places for the words of the keys of a row, those that a row may have, and those of a string's
/// beginning.
static constexpr uint32_t KEY_WORDS = 16;
static constexpr uint32_t ROW_WORDS_MAX = 14;
static constexpr uint32_t PREFIX_MAX = 4;
/// Words of keys that are on their way, of each input: some rows of them.
static constexpr int KEY_DEPTH = 32;
/// Rows of an input whose keys are on their way, at most.
static constexpr uint32_t AHEAD_MAX = 8;

/// Iterations from the last word of a row to the first one of the next: compared with the heads,
/// noted, chosen, passed on. The words of a row come one in each; so a row with one takes four.
/// Assumed.
static constexpr uint32_t CHOICE_DEPTH = 4;

/// Words of a block of the result, an URAM, and strings of it. Blocks are handed on whole, so there
/// are two of each.
static constexpr uint32_t BLOCK_WORDS = 4096;
static constexpr uint32_t BLOCK_STRINGS = 2048;
static constexpr uint32_t VALID_WORDS = BLOCK_ROWS_MAX / 64;

/// Bits of the number of an input.
static constexpr int INPUT_BITS = 4;
static_assert(MERGE_INPUTS_MAX <= 1u << INPUT_BITS, "an input has so many bits");

/// Whom words are read for.
enum word_reader : uint8_t { TO_HEADS = 0, TO_ROWS = 1, TO_KEYS = 2, TO_TIES = 3, TO_STRINGS = 4 };

/// Words of device memory that are asked for.
struct request_token {
  uint64_t first;
  uint8_t count;
  small_uint<3> to;
  bool last;
};

/// The last of a stream of requests.
inline request_token last_request() {
  request_token end = request_token();
  end.last = true;
  return end;
}

/// What comes next of an input, and where it goes.
enum place_kind : uint8_t {
  /// `count` words of values from place `place` on; the same of validity.
  PLACE_VALUES = 0,
  PLACE_VALIDITY = 1,
  /// The strings of a column: their first byte, and how many.
  PLACE_STRINGS = 2,
  /// A half is there: `count` rows behind the first `place` of it.
  PLACE_READY = 3,
  /// There is no other half; or there is none that is in order.
  PLACE_ENDED = 4,
  PLACE_CORRUPT = 5,
  PLACE_LAST = 6,
};

struct place_token {
  uint64_t at;
  uint32_t bytes;
  uint16_t place;
  uint16_t count;
  small_uint<INPUT_BITS> input;
  small_uint<1> half;
  small_uint<3> kind;
};

/// The input whose row is next; whether the row is put out.
struct turn_token {
  small_uint<INPUT_BITS> input;
  bool put;
  bool last;
};

/// A number, or half of one; or the first byte of a string, and its length.
struct value_token {
  uint64_t word;
  uint32_t length;
  bool valid;
  bool last;
};

/// A key as it stands in a row. Numbers of 128 bits are two, the higher half first.
enum key_kind : uint8_t {
  KEY_NUMBER = 0,
  KEY_STRING = 1,
  KEY_ENDED = 2,
  KEY_FAILED = 3,
  KEY_LAST = 4,
};

struct key_token {
  uint64_t word;
  uint32_t length;
  small_uint<INPUT_BITS> input;
  small_uint<3> kind;
  bool valid;
  /// Lower half of a number; the last of its row.
  bool is_low;
  bool ends_row;
};

/// A word of the keys of a row, made so that rows are ordered by their words: first by `rank`, then
/// by `word`, then by `count`.
enum word_kind : uint8_t {
  WORD_COMPARED = 0,
  /// The rest of a string: its first byte, then its length in the next token.
  WORD_REST = 1,
  WORD_REST_LENGTH = 2,
  /// Instead of a row: the input has no other, or none in order; or nothing follows at all.
  WORD_ENDED = 3,
  WORD_FAILED = 4,
  WORD_LAST = 5,
};

struct order_word {
  uint64_t word;
  uint8_t rank;
  uint8_t count;
  uint8_t kind;
  bool descending;
  bool ends_row;
};

/// A string in device memory.
struct string_reference {
  uint64_t at;
  uint32_t length;
};

/// A string that is copied; or the end of a column, or of all.
struct string_token {
  uint64_t at;
  uint32_t length;
  bool ends_column;
  bool last;
};

/// Some bytes of strings that were asked for; or the end of a column.
struct piece_token {
  uint16_t bytes;
  uint8_t skipped;
  bool ends_column;
  bool last;
};

/// A word of packed strings; or the end of a column.
struct packed_token {
  uint64_t word;
  bool ends_column;
};

/// A block that is complete.
struct block_token {
  uint32_t rows;
  /// Its strings are longer than a block can say.
  bool too_large;
  bool last;
};

/// What a process did, and how it ended.
struct process_report {
  uint32_t status;
  uint64_t iterations;
  uint64_t lines_read;
  uint64_t bursts;
  uint64_t waits;
  uint64_t values;
  uint64_t choices;
  uint64_t string_words;
};

inline process_report empty_report() {
  process_report none = process_report();
  none.status = STATUS_OK;
  return none;
}

typedef hls::stream<request_token, 8> request_stream;
typedef hls::stream<uint64_t, 16> word_stream;
typedef hls::stream<place_token, 16> place_stream;
/// As many halves as can be free.
typedef hls::stream<uint8_t, 2 * MERGE_INPUTS_MAX> freed_stream;
typedef hls::stream<turn_token, 16> turn_stream;
typedef hls::stream<value_token, 32> value_stream;
typedef hls::stream<key_token, 16> key_stream;
typedef hls::stream<order_word, KEY_DEPTH> order_stream;
typedef hls::stream<string_token, 4> string_stream;
typedef hls::stream<piece_token, 64> piece_stream;
/// Whether the merge has failed, once it is over.
typedef hls::stream<bool, 1> stop_stream;
typedef hls::stream<packed_token, 16> packed_stream;
typedef hls::stream<block_token, 2> block_stream;
typedef hls::stream<process_report, 1> report_stream;

/// A block while it is packed: words of all columns, their validity, and where strings lie.
typedef uint64_t value_block[BLOCK_WORDS];
typedef uint64_t validity_block[OUTPUT_COLUMNS_MAX * VALID_WORDS];
typedef string_reference reference_block[BLOCK_STRINGS];
typedef hls::stream_of_blocks<value_block, 2> value_blocks;
typedef hls::stream_of_blocks<validity_block, 2> validity_blocks;
typedef hls::stream_of_blocks<reference_block, 2> reference_blocks;

/// `freed` instead of an input: nothing follows.
static constexpr uint8_t NO_INPUT = 0xff;

}  // namespace merging
}  // namespace nearscan
