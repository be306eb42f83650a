// SPDX-License-Identifier: Apache-2.0
// Whole words of dictionary indexes: what most pages consist of.
//
// Eight rows without a null, their indexes of one run. Where all entries are on chip and no word
// before waits for device memory, nothing about such a word waits for anything but the input, so
// that the loop takes the iterations of its look-ups; other rows go a part of a word at a time.
#pragma once

#include "indexes.hpp"

namespace nearscan {

/// The number of the next rows of a page that may be decoded so: a multiple of 8.
inline uint32_t whole_rows(const lane_state& lane, const decode_plan& plan, uint32_t left,
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
NS_APART uint32_t decode_whole_words(byte_stream& payload, memory_lane& memory,
                                     value_stream& values, lane_state& lane,
                                     const decode_plan& plan, const hybrid_run& run, uint32_t width,
                                     uint32_t rows) {
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
  uint32_t status = STATUS_OK;
  uint32_t left = rows;
WHOLE_WORDS:
  while (left > 0 && status == STATUS_OK) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    if (lane.words.waiting == 0) lane.words.drain(values, memory);
    const bool direct = lane.words.full == 0;
    bool apart = false;
  WORDS_ON_CHIP:
    while (left > 0) {
#pragma HLS PIPELINE II = 4
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
      if (run.packed) largest = take_packed_word(payload, bits, width, indexes);
      left -= ROWS;
      apart = largest >= on_chip || !direct || bits.overrun;
      if (apart) break;
      look_up_whole(lane.dictionary, plan, indexes, word);
      values.write(word);
    }
    if (bits.overrun) {
      status = STATUS_CORRUPT;
    } else if (apart) {
      status = look_up_apart(lane, plan, largest, indexes);
      lane.words.filling().valid = 0xff;
      lane.words.filling().count = ROWS;
      lane.words.put(values, memory);
    }
  }
  lane.bits = bits;
  return status;
}

}  // namespace nearscan
