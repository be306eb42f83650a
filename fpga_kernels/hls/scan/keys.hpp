// SPDX-License-Identifier: Apache-2.0
// Key filters: numbers of rows looked up in sets of keys, whose bits are on chip.
//
// The bits of all sets lie in a memory of 128 KiB, four URAMs side by side: a port reads a block of
// 32 bytes, which holds all bits of a key in a Bloom filter. There are two ports, so two rows are
// looked up per iteration, and none waits for the one before. They are loaded once a command: a
// word per iteration.
//
// Only rows are looked up that are kept until then: by the predicate, and by the sets before. So a
// batch goes through one set after the other, each word of it in as many iterations as its kept
// rows take.
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

/// The index of an entry that is not on chip.
inline uint32_t far_index(const key_set_plan& set, int64_t reference) {
  const uint64_t place = referenced(reference);
  return static_cast<uint32_t>(is_stored(reference) ? place + DICTIONARY_ENTRIES_ON_CHIP
                                                    : place - set.slot_first);
}

/// The verdict on the entry of a row.
inline bool is_entry_in_set(const key_set_plan& set, const entry_verdicts& verdicts,
                            const key_token& column, uint32_t row) {
  const bool is_far = ((column.far >> row) & 1) != 0;
  const uint32_t index =
      is_far ? far_index(set, column.value.row[row]) : entry_of(column.code[row]);
  const uint32_t place = (set.verdict_first + index) % ENTRY_VERDICTS_MAX;
  return ((verdicts[place / 64] >> (place % 64)) & 1) != 0;
}

/// What stands for the bits where no row is looked up in any.
struct no_key_memory {};

inline bool is_in_set(const key_set_plan& /*set*/, const no_key_memory& /*memory*/,
                      int64_t /*number*/) {
  return true;
}

/// The bit of the lowest of some rows if the set drops it. Of no rows none is dropped.
template <typename Memory>
inline uint32_t dropped_of_lowest(const key_set_plan& set, const Memory& memory,
                                  const entry_verdicts& verdicts, const key_token& column,
                                  uint32_t rows) {
  if (rows == 0) return 0;
  const uint32_t row = lowest_bit(rows);
  const bool found = set.by_entry ? is_entry_in_set(set, verdicts, column, row)
                                  : is_in_set(set, memory, column.value.row[row]);
  return found ? 0 : 1u << row;
}

/// The word of a key column that is looked up: its rows that are kept so far, and those of them
/// that are left to be looked up.
struct open_key_word {
  key_token column;
  uint32_t kept;
  uint32_t left;

  /// Takes the next word. NULL passes; and of sets with one verdict the first has looked it up.
  void take(const key_set_plan& set, key_word_stream& words, uint8_t rows) {
    words.read(column);
    kept = rows;
    left = set.shares_verdict ? 0u : static_cast<uint32_t>(column.valid & rows);
  }
};

/// Looks the words of a batch up in a set: two rows per iteration, of those that are kept so far;
/// a word without any takes an iteration. Gives the iterations.
///
/// Which rows are kept is read out of `before` and written into `after`, so that no word waits for
/// the verdict on one before it.
template <typename Memory>
inline uint64_t look_set_up(const key_set_plan& set, const Memory& memory,
                            const entry_verdicts& verdicts, key_word_stream& words,
                            const verdict_token& before, verdict_token& after) {
  uint64_t iterations = 0;
  if (before.words == 0) return iterations;
  uint32_t word = 0;
  open_key_word open;
  open.take(set, words, before.rows[0]);
KEY_ROWS:
  while (word < before.words) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    const uint32_t rest = open.left & (open.left - 1);
    open.kept &= ~(dropped_of_lowest(set, memory, verdicts, open.column, open.left) |
                   dropped_of_lowest(set, memory, verdicts, open.column, rest));
    open.left = rest & (rest - 1);
    iterations++;
    if (open.left == 0) {
      after.rows[word] = static_cast<uint8_t>(open.kept);
      word++;
      if (word < before.words) open.take(set, words, before.rows[word]);
    }
  }
  return iterations;
}

/// Looks all batches up, each in one set after the other.
template <typename Memory>
inline void look_batches_up(const key_plan& plan, const Memory& memory,
                            const entry_verdicts& verdicts, verdict_stream& evaluated,
                            key_word_stream words[KEY_FILTERS_MAX], verdict_stream& found,
                            report& own) {
BATCHES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    verdict_token rows = evaluated.read();
    if (rows.last) break;
  SETS:
    for (uint32_t index = 0; index < plan.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
      const verdict_token before = rows;
      own.filter_iterations +=
          look_set_up(plan.sets[index], memory, verdicts, words[index], before, rows);
    }
    found.write(rows);
  }
}

/// Passes verdicts on: no set drops a row.
inline void pass_verdicts_on(verdict_stream& evaluated, verdict_stream& found) {
VERDICTS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const verdict_token rows = evaluated.read();
    if (rows.last) break;
    found.write(rows);
  }
}

/// Process: of each batch which rows the predicate keeps and the words of the key columns in, out
/// which of those rows all sets pass.
inline void look_keys_up(const key_plan& plan, key_blocks& keys, verdict_blocks& of_entries,
                         verdict_stream& evaluated, key_word_stream words[KEY_FILTERS_MAX],
                         verdict_stream& found, report_stream& entry_reports,
                         report_stream& reports) {
  report own = empty_report();
  if (plan.count == 0) {
    pass_verdicts_on(evaluated, found);
  } else {
    hls::read_lock<entry_verdicts> verdicts(of_entries);
    if (plan.has_row_sets) {
      hls::read_lock<key_memory> memory(keys);
      look_batches_up<key_memory>(plan, memory, verdicts, evaluated, words, found, own);
    } else {
      look_batches_up(plan, no_key_memory(), verdicts, evaluated, words, found, own);
    }
    own.loader_iterations = entry_reports.read().loader_iterations;
  }
  reports.write(own);
}

}  // namespace nearscan
