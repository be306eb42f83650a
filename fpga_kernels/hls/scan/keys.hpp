// SPDX-License-Identifier: Apache-2.0
// Key filters: numbers of rows looked up in sets of keys, whose bits are on chip.
//
// The bits of all sets lie in a memory of 128 KiB, four URAMs side by side: a port reads a block of
// 32 bytes, which holds all bits of a key in a Bloom filter. There are two ports, so two rows are
// looked up per iteration, and none waits for the one before. They are loaded once a command: a
// word per iteration.
//
// Where a loader has the dictionary of a key column, and all pages of the column have indexes, its
// entries are looked up while they are loaded, and of a row only the verdict on its entry: see
// entry_keys.hpp. Sets of such columns have a memory of their own.
#pragma once

#include "../common/crc32c.hpp"
#include "batch.hpp"

namespace nearscan {

/// Copies the bits of the key filters of entries, or of all others, which stand behind a command;
/// false when they are not what the command says.
inline bool load_key_bits(const uint64_t* command, const key_plan& plan, bool by_entry,
                          key_memory& memory) {
#pragma HLS ARRAY_PARTITION variable = memory dim = 1 complete
  uint32_t from = plan.word_first;
  bool right = true;
KEY_SETS:
  for (uint32_t index = 0; index < plan.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const key_set_plan& set = plan.sets[index];
    const uint32_t words = set.blocks * KEY_BLOCK_WORDS;
    from += words;
    if (set.by_entry != by_entry) continue;
    uint32_t checksum = CRC32C_START;
  KEY_WORDS:
    for (uint32_t word = 0; word < words; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 4 max = 16384
      const uint64_t bits = command[from - words + word];
      memory[word % KEY_BLOCK_WORDS][set.block_first + word / KEY_BLOCK_WORDS] = bits;
      checksum = crc32c_word(checksum, bits);
    }
    right = right && crc32c_end(checksum) == set.checksum;
  }
  return right;
}

/// Whether a number is in a set: its bit in each lane of its block.
inline bool is_in_bloom(const key_set_plan& set, const key_memory& memory, int64_t number) {
  uint64_t hash = static_cast<uint64_t>(number);
  hash = (hash ^ (hash >> 33)) * KEY_FACTOR_0;
  hash = (hash ^ (hash >> 33)) * KEY_FACTOR_1;
  hash ^= hash >> 33;
  const uint32_t low = static_cast<uint32_t>(hash);
  const uint32_t block = set.block_first + static_cast<uint32_t>(((hash >> 32) * set.blocks) >> 32);
  uint64_t words[KEY_BLOCK_WORDS];
KEY_WORDS_OF_BLOCK:
  for (uint32_t word = 0; word < KEY_BLOCK_WORDS; word++) {
#pragma HLS UNROLL
    words[word] = memory[word][block];
  }
  bool found = true;
KEY_LANES:
  for (uint32_t lane = 0; lane < 2 * KEY_BLOCK_WORDS; lane++) {
#pragma HLS UNROLL
    const uint32_t bit = (low * KEY_SALTS[lane]) >> 27;
    found = found && ((words[lane / 2] >> (32 * (lane % 2) + bit)) & 1) != 0;
  }
  return found && number >= set.first && number <= set.last;
}

/// Whether a number passes a bitmap: it has a bit, or is outside of the range.
inline bool is_in_bitmap(const key_set_plan& set, const key_memory& memory, int64_t number) {
  if (number < set.first || number > set.last) return true;
  const uint64_t place = static_cast<uint64_t>(number) - static_cast<uint64_t>(set.first);
  const uint32_t word = static_cast<uint32_t>(place >> 6);
  const uint32_t block = set.block_first + word / KEY_BLOCK_WORDS;
  return ((memory[word % KEY_BLOCK_WORDS][block] >> (place & 63)) & 1) != 0;
}

/// Whether a number is in a set.
inline bool is_in_set(const key_set_plan& set, const key_memory& memory, int64_t number) {
  return set.is_bitmap ? is_in_bitmap(set, memory, number) : is_in_bloom(set, memory, number);
}

/// Which of eight rows a set passes. NULL passes.
inline uint8_t rows_of_keys(const key_set_plan& set, const key_memory& memory,
                            const value_token& column) {
  uint32_t passed = 0;
KEY_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
    const bool found = is_in_set(set, memory, column.value.row[row]);
    passed |= static_cast<uint32_t>(found) << row;
  }
  return static_cast<uint8_t>(passed | (~column.valid & 0xffu));
}

/// The index of an entry that is not on chip.
inline uint32_t far_index(const key_set_plan& set, int64_t reference) {
  const uint64_t place = referenced(reference);
  return static_cast<uint32_t>(is_stored(reference) ? place + DICTIONARY_ENTRIES_ON_CHIP
                                                    : place - set.slot_first);
}

/// Which of eight rows have entries that a set passes. NULL passes.
inline uint8_t rows_of_entries(const key_set_plan& set, const entry_verdicts& verdicts,
                               const value_token& column) {
  uint32_t passed = 0;
ENTRY_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
    const bool is_far = ((column.far >> row) & 1) != 0;
    const uint32_t index =
        is_far ? far_index(set, column.value.row[row]) : entry_of(column.code[row]);
    const uint32_t place = (set.verdict_first + index) % ENTRY_VERDICTS_MAX;
    passed |= static_cast<uint32_t>((verdicts[place / 64] >> (place % 64)) & 1) << row;
  }
  return static_cast<uint8_t>(passed | (~column.valid & 0xffu));
}

/// What stands for the bits where no row is looked up in any.
struct no_key_memory {};

inline uint8_t rows_of_keys(const key_set_plan& /*set*/, const no_key_memory& /*memory*/,
                            const value_token& /*column*/) {
  return 0xff;
}

/// Looks a word of each key column up: which rows all sets pass. Of sets with one verdict, the word
/// of the first is looked up, and those of the others are dropped.
template <typename Memory>
inline uint8_t look_word_up(const key_plan& plan, const Memory& memory,
                            const entry_verdicts& verdicts, value_stream words[KEY_FILTERS_MAX],
                            uint64_t& iterations) {
  uint8_t rows = 0xff;
SETS:
  for (uint32_t index = 0; index < plan.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    value_token column;
    words[index].read(column);
    const key_set_plan& set = plan.sets[index];
    iterations += set.shares_verdict ? 1 : ROWS / KEY_ROWS_AT_ONCE;
    if (set.shares_verdict) continue;
    const uint8_t passed =
        set.by_entry ? rows_of_entries(set, verdicts, column) : rows_of_keys(set, memory, column);
    rows = static_cast<uint8_t>(rows & passed);
  }
  return rows;
}

/// Looks up the words of all batches.
template <typename Memory>
inline void look_words_up(const key_plan& plan, const Memory& memory,
                          const entry_verdicts& verdicts, key_mark_stream& marks,
                          value_stream words[KEY_FILTERS_MAX], verdict_stream& found, report& own) {
  verdict_token passed;
  passed.failed = false;
  uint32_t word = 0;
MARKS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const key_mark mark = marks.read();
    if (mark == KEYS_END) break;
    if (mark == KEY_WORD) {
      passed.rows[word] = look_word_up(plan, memory, verdicts, words, own.filter_iterations);
      word++;
    } else {
      found.write(passed);
      word = 0;
    }
  }
}

/// Process: words of the key columns in, out which rows of a batch all sets pass.
inline void look_keys_up(const key_plan& plan, key_blocks& keys, verdict_blocks& of_entries,
                         key_mark_stream& marks, value_stream words[KEY_FILTERS_MAX],
                         verdict_stream& found, report_stream& entry_reports,
                         report_stream& reports) {
  if (plan.count == 0) return;
  report own = empty_report();
  hls::read_lock<entry_verdicts> verdicts(of_entries);
  if (plan.has_row_sets) {
    hls::read_lock<key_memory> memory(keys);
    look_words_up<key_memory>(plan, memory, verdicts, marks, words, found, own);
  } else {
    look_words_up(plan, no_key_memory(), verdicts, marks, words, found, own);
  }
  own.loader_iterations = entry_reports.read().loader_iterations;
  reports.write(own);
}

}  // namespace nearscan
