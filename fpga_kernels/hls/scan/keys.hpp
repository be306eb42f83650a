// SPDX-License-Identifier: Apache-2.0
// Key filters: numbers of rows looked up in sets of keys, whose bits are on chip.
//
// The bits of all sets lie in one memory of 128 KiB, four URAMs side by side: a port reads a block
// of 32 bytes, which holds all bits of a key in a Bloom filter. There are two ports, so two rows
// are looked up per iteration, and none waits for the one before. They are loaded once a command,
// before the stages start: a word per iteration.
#pragma once

#include "../common/crc32c.hpp"
#include "batch.hpp"

namespace nearscan {

/// The bits of all key filters, in blocks.
struct key_memory {
  uint64_t word[KEY_BLOCK_WORDS][KEY_BLOCKS];
};

/// Copies the bits that stand behind a command; false when they are not what the command says.
inline bool load_key_bits(const uint64_t* command, const key_plan& plan, key_memory& memory) {
  uint32_t from = plan.word_first;
  bool right = true;
KEY_SETS:
  for (uint32_t index = 0; index < plan.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const key_set_plan& set = plan.sets[index];
    uint32_t checksum = CRC32C_START;
  KEY_WORDS:
    for (uint32_t word = 0; word < set.blocks * KEY_BLOCK_WORDS; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 4 max = 16384
      const uint64_t bits = command[from + word];
      memory.word[word % KEY_BLOCK_WORDS][set.block_first + word / KEY_BLOCK_WORDS] = bits;
      checksum = crc32c_word(checksum, bits);
    }
    right = right && crc32c_end(checksum) == set.checksum;
    from += set.blocks * KEY_BLOCK_WORDS;
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
    words[word] = memory.word[word][block];
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
  return ((memory.word[word % KEY_BLOCK_WORDS][block] >> (place & 63)) & 1) != 0;
}

/// Which of eight rows a set passes. NULL passes.
inline uint8_t rows_of_keys(const key_set_plan& set, const key_memory& memory,
                            const value_token& column) {
  uint32_t passed = 0;
KEY_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
    const int64_t number = column.value.row[row];
    const bool found =
        set.is_bitmap ? is_in_bitmap(set, memory, number) : is_in_bloom(set, memory, number);
    passed |= static_cast<uint32_t>(found) << row;
  }
  return static_cast<uint8_t>(passed | (~column.valid & 0xffu));
}

/// Looks a word of each key column up: which rows all sets pass.
inline uint8_t look_word_up(const key_plan& plan, const key_memory& memory,
                            value_stream words[KEY_FILTERS_MAX]) {
  uint8_t rows = 0xff;
SETS:
  for (uint32_t index = 0; index < plan.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    value_token column;
    words[index].read(column);
    rows = static_cast<uint8_t>(rows & rows_of_keys(plan.sets[index], memory, column));
  }
  return rows;
}

/// Process: words of the key columns in, out which rows of a batch all sets pass.
inline void look_keys_up(const key_plan& plan, const key_memory& memory, key_mark_stream& marks,
                         value_stream words[KEY_FILTERS_MAX], verdict_stream& found,
                         report_stream& reports) {
  if (plan.count == 0) return;
  report own = empty_report();
  verdict_token passed;
  passed.failed = false;
  uint32_t word = 0;
MARKS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const key_mark mark = marks.read();
    if (mark == KEYS_END) break;
    if (mark == KEY_WORD) {
      passed.rows[word] = look_word_up(plan, memory, words);
      own.filter_iterations += plan.count * (ROWS / KEY_ROWS_AT_ONCE);
      word++;
    } else {
      found.write(passed);
      word = 0;
    }
  }
  reports.write(own);
}

}  // namespace nearscan
