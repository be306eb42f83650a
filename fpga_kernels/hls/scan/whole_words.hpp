// SPDX-License-Identifier: Apache-2.0
// Whole words of dictionary indexes: what most pages consist of.
//
// Eight rows without a null, their indexes of one run. Nothing about such a word waits for anything
// but the input, so that the loop takes the iterations of its look-ups; other rows go a part of a
// word at a time.
#pragma once

#include "indexes.hpp"

namespace nearscan {

/// The number of the next rows of a page that may be decoded so: a multiple of 8.
template <typename Plan>
inline uint32_t whole_rows(const lane_state& lane, const Plan& plan, uint32_t left,
                           const hybrid_run& level_run, const hybrid_run& run) {
  if (lane.words.begun()) return 0;
  uint32_t rows = run.left < left ? run.left : left;
  if (plan.nullable) {
    if (level_run.packed || level_run.value == 0) return 0;
    if (level_run.left < rows) rows = level_run.left;
  }
  // Near the end of the steps they are counted word by word.
  if (lane.steps + rows > plan.steps_max) return 0;
  return rows - rows % ROWS;
}

/// Decodes `rows` (a multiple of 8) rows.
template <typename Plan>
NS_APART uint32_t decode_whole_words(byte_stream& payload, memory_lane& memory,
                                     value_stream& values, lane_state& lane,
                                     const chip_entries& chip, const Plan& plan,
                                     const hybrid_run& run, uint32_t width, uint32_t rows) {
  // Of its own, so that a simulation keeps it in registers.
  bit_reader bits = lane.bits;
  const uint32_t on_chip = lane.dictionary.on_chip();
  uint32_t indexes[INDEX_ROOM];
#pragma HLS ARRAY_PARTITION variable = indexes complete
  value_token word = EMPTY_WORD;
  word.valid = 0xff;
  word.count = ROWS;
REPEATED:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    indexes[row] = run.value;
  }
  const uint32_t unpacked = run.packed ? unpack_iterations(width, ROWS) : 1;
  const uint32_t word_iterations =
      unpacked > put_iterations(ROWS) ? unpacked : put_iterations(ROWS);
  lane.iterations += static_cast<uint64_t>(rows / ROWS) * word_iterations;
  uint32_t largest = run.value;
  bool known = true;
  // Words go in their order.
  lane.words.drain(values, memory);
WHOLE_WORDS:
  for (uint32_t left = rows; left > 0 && known; left -= ROWS) {
#pragma HLS PIPELINE II = 4
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    if (run.packed) largest = take_packed_word(payload, bits, width, indexes);
    if (bits.overrun) break;
    if (largest < on_chip) {
      word.far = 0;
      look_up_whole(chip, plan, indexes, word);
    } else {
      known = look_up_far(lane.dictionary, chip, plan, indexes, word);
    }
    if (known) values.write(word);
  }
  lane.bits = bits;
  return bits.overrun || !known ? STATUS_CORRUPT : STATUS_OK;
}

}  // namespace nearscan
