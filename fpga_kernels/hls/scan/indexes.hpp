// SPDX-License-Identifier: Apache-2.0
// Pages of dictionary indexes: a hybrid of runs and bit-packed groups, and their look-up.
//
// A dictionary's first 4096 entries are on chip, the rest in the entry store or in scratch: a row
// that needs one of those gets its place, and is far until it is looked up (look_ups.hpp).
//
// Two rows are looked up per iteration, since the dictionary's memory has two ports. As many
// indexes are unpacked per iteration as 64 bits hold, beside that, and the levels are read beside
// both: a word takes what the slower of unpacking and looking up takes, which are 4 iterations for
// eight rows.
#pragma once

#include "dictionary.hpp"

namespace nearscan {

/// Opens the next run of indexes that is not empty.
NS_APART void next_index_run(byte_stream& payload, bit_reader& bits, hybrid_run& run,
                             uint32_t width) {
INDEX_RUN:
  while (run.left == 0 && !bits.overrun) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    run = open_run(bits.take_varint(payload, 5));
    if (!run.packed) run.value = static_cast<uint32_t>(bits.take(payload, (width + 7) / 8 * 8));
  }
}

/// Room for the indexes of a word, and for what a take of bits writes behind them.
static constexpr uint32_t INDEX_ROOM = 2 * ROWS;

/// Iterations in which `count` indexes of so many bits are unpacked.
inline uint32_t unpack_iterations(uint32_t width, uint32_t count) {
  const uint32_t per_iteration = width <= 8 ? 8 : width <= 16 ? 4 : 2;
  return (count + per_iteration - 1) / per_iteration;
}

/// Rows that are looked up, or put into a word, per iteration.
static constexpr uint32_t PUT_PER_ITERATION = 2;

/// Iterations in which `count` rows are.
inline uint32_t put_iterations(uint32_t count) {
  return (count + PUT_PER_ITERATION - 1) / PUT_PER_ITERATION;
}

/// The packed indexes of a whole word, of `width` bits each; gives one that none is above.
NS_HOT uint32_t take_packed_word(byte_stream& payload, bit_reader& bits, uint32_t width,
                                 uint32_t indexes[INDEX_ROOM]) {
  static_assert(ROWS == 8, "eight indexes at once, or in two halves, or in four pairs");
  uint32_t largest = 0;
  if (width <= 8) return bits.take_side_by_side<8>(payload, width, 8, largest, indexes);
  if (width <= 16) {
  HALVES:
    for (uint32_t half = 0; half < 2; half++) {
#pragma HLS UNROLL
      largest = bits.take_side_by_side<4>(payload, width, 4, largest, indexes + 4 * half);
    }
    return largest;
  }
PAIRS:
  for (uint32_t pair = 0; pair < 4; pair++) {
#pragma HLS UNROLL
    largest = bits.take_side_by_side<2>(payload, width, 2, largest, indexes + 2 * pair);
  }
  return largest;
}

/// The next `count` (<= 8) packed indexes of `width` bits each.
NS_HOT void take_packed(byte_stream& payload, bit_reader& bits, uint32_t width, uint32_t count,
                        uint32_t* indexes) {
  if (width <= 8) {
    bits.take_numbers<8>(payload, width, count, indexes);
  } else if (width <= 16) {
    bits.take_numbers<4>(payload, width, count, indexes);
  } else {
    bits.take_numbers<2>(payload, width, count, indexes);
  }
}

/// The next `count` (<= 8) dictionary indexes of a page, of `width` bits each where they are
/// packed; gives the iterations.
NS_HOT uint32_t next_indexes(byte_stream& payload, bit_reader& bits, hybrid_run& run,
                             uint32_t width, uint32_t count, uint32_t indexes[INDEX_ROOM]) {
  uint32_t got = 0;
  uint32_t iterations = 0;
INDEXES_OF_WORD:
  while (got < count) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
    if (run.left == 0) next_index_run(payload, bits, run, width);
    if (bits.overrun) break;
    const uint32_t some = run.left < count - got ? run.left : count - got;
    if (run.packed) {
      take_packed(payload, bits, width, some, indexes + got);
      iterations += unpack_iterations(width, some);
    } else {
      iterations++;
    REPEATED:
      for (uint32_t i = got; i < got + some; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
        indexes[i] = run.value;
      }
    }
    got += some;
    run.left -= some;
  }
  return iterations;
}

/// Rows of a page that go into one word: where in the word, how many, and which have a value.
struct word_part {
  uint32_t first;
  uint32_t count;
  uint8_t valid;
};

/// Puts the codes of a group key into the word: 0 for NULL.
inline void put_codes(const word_part& part, const uint32_t indexes[INDEX_ROOM],
                      value_token& word) {
  uint32_t next = 0;
CODES:
  for (uint32_t i = 0; i < part.count; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    const uint32_t valid = (part.valid >> i) & 1u;
    word.code[part.first + i] = valid != 0 ? code_of(indexes[next]) : static_cast<uint16_t>(0);
    next += valid;
  }
}

/// Looks up eight rows whose entries are all on chip.
template <typename Plan>
NS_HOT void look_up_whole(const chip_entries& chip, const Plan& plan,
                          const uint32_t indexes[INDEX_ROOM], value_token& word) {
VALUES:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    word.value.row[row] = chip[indexes[row]].value;
  }
  if (plan.tests.test_count != 0) {
  TESTS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      word.tests[row] = chip[indexes[row]].tests;
    }
  }
  if (plan.needs_codes || plan.by_entry) {
  CODES:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      word.code[row] = code_of(indexes[row]);
    }
  }
}

/// Looks up one row, on chip or as far. False when there is no such entry, which is not far then:
/// a word may go on with rows in front of it.
template <typename Plan>
inline bool look_up_row(const dictionary_places& dictionary, const chip_entries& chip,
                        const Plan& plan, uint32_t index, uint32_t row, value_token& word) {
  const bool is_near = index < dictionary.on_chip();
  const bool is_far = !is_near && index < dictionary.entries;
  const uint32_t near = is_near ? index : 0;
  word.value.row[row] = is_far ? dictionary.reference(index) : chip[near].value;
  if (plan.tests.test_count != 0) word.tests[row] = chip[near].tests;
  if (plan.by_entry) word.code[row] = code_of(near);
  if (is_far) word.far = static_cast<uint8_t>(word.far | 1u << row);
  return index < dictionary.entries;
}

/// Looks up eight rows, some of which are far. False when one has no entry. A key by codes, whose
/// entries are all on chip, does not come here.
template <typename Plan>
NS_APART bool look_up_far(const dictionary_places& dictionary, const chip_entries& chip,
                          const Plan& plan, const uint32_t indexes[INDEX_ROOM], value_token& word) {
  bool known = true;
  word.far = 0;
FAR_ROWS:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    known = look_up_row(dictionary, chip, plan, indexes[row], row, word) && known;
  }
  return known;
}

/// Looks up the indexes of a part of a word.
template <typename Plan>
inline uint32_t look_up(lane_state& lane, const chip_entries& chip, const Plan& plan,
                        const word_part& part, uint32_t count, uint32_t indexes[INDEX_ROOM]) {
  // For the null rows behind the last value.
  indexes[count] = 0;
  uint32_t next = 0;
  bool known = true;
LOOK_UP:
  for (uint32_t i = 0; i < part.count; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    const uint32_t valid = (part.valid >> i) & 1u;
    // A null row has any value.
    if (valid == 0) continue;
    known = look_up_row(lane.dictionary, chip, plan, indexes[next], part.first + i,
                        lane.words.filling()) &&
            known;
    next++;
  }
  if (!known) return STATUS_CORRUPT;
  if (plan.needs_codes) put_codes(part, indexes, lane.words.filling());
  return STATUS_OK;
}

/// Decodes the indexes of a part of a word and looks them up.
template <typename Plan>
inline uint32_t decode_indexes(byte_stream& payload, lane_state& lane, const chip_entries& chip,
                               const Plan& plan, const word_part& part, hybrid_run& run,
                               uint32_t width) {
  uint32_t indexes[INDEX_ROOM];
  const uint32_t count = count_bits(part.valid);
  const uint32_t iterations = next_indexes(payload, lane.bits, run, width, count, indexes);
  lane.iterations += max_u64(iterations, put_iterations(part.count));
  if (lane.bits.overrun) return STATUS_CORRUPT;
  return look_up(lane, chip, plan, part, count, indexes);
}

}  // namespace nearscan
