// SPDX-License-Identifier: Apache-2.0
// Pages of values: plain, runs of truth values, differences, or split into streams of bytes.
#pragma once

#include "indexes.hpp"

namespace nearscan {

/// A data page that is read.
struct open_page {
  uint8_t encoding;
  /// Bits of an index.
  uint32_t width;
  hybrid_run level_run;
  /// The run of indexes, or of truth values.
  hybrid_run run;
  /// Values of the lane before this page.
  uint64_t values_before;
};

/// Whether values of a type can be encoded so.
template <typename Plan>
inline bool encoding_fits(const Plan& plan, uint8_t encoding) {
  switch (encoding) {
    case ENCODING_RLE:
      return plan.reading.physical_type == PHYSICAL_BOOLEAN;
    case ENCODING_DELTA_BINARY_PACKED:
      return plan.reading.physical_type == PHYSICAL_INT32 ||
             plan.reading.physical_type == PHYSICAL_INT64;
    case ENCODING_BYTE_STREAM_SPLIT:
      return plan.reading.stored_bits >= 8;
    default:
      return true;
  }
}

/// The next truth value of a page of runs and groups.
inline uint32_t next_truth(byte_stream& payload, bit_reader& bits, hybrid_run& run,
                           uint64_t& value) {
  if (run.left == 0) next_index_run(payload, bits, run, 1);
  value = run.packed ? bits.take(payload, 1) : run.value;
  run.left--;
  return bits.overrun || value > 1 ? STATUS_CORRUPT : STATUS_OK;
}

/// One value of a page without indexes that goes by itself: all but those of `next_numbers`.
template <typename Plan>
inline uint32_t read_value(byte_stream& payload, memory_lane& memory, lane_state& lane,
                           const Plan& plan, open_page& open, tested_value& read) {
  stored_value stored = {0, 0};
  uint32_t status = STATUS_OK;
  switch (open.encoding) {
    case ENCODING_RLE:
      status = next_truth(payload, lane.bits, open.run, stored.first);
      break;
    case ENCODING_BYTE_STREAM_SPLIT:
      if (lane.split.at == lane.split.values) return STATUS_CORRUPT;
      lane.split.next(memory, stored, lane.iterations);
      break;
    default:
      return read_plain(payload, memory, lane, plan, read);
  }
  lane.iterations++;
  read.outcomes = 0;
  return status != STATUS_OK ? status : to_number(plan.reading, stored, read.value);
}

/// Whether a page holds numbers of 4 or 8 bytes, plain or as differences.
template <typename Plan>
inline bool has_numbers(const Plan& plan, uint8_t encoding) {
  if (encoding == ENCODING_DELTA_BINARY_PACKED) return true;
  const bool in_words = plan.reading.stored_bits == 32 || plan.reading.stored_bits == 64;
  return in_words && encoding == ENCODING_PLAIN;
}

/// The next `count` numbers of such a page, and the iterations that they take: 8 bytes of plain
/// ones per iteration.
template <typename Plan>
inline uint32_t next_numbers(byte_stream& payload, lane_state& lane, const Plan& plan,
                             const open_page& open, uint32_t count, uint64_t numbers[2 * ROWS],
                             uint32_t& iterations) {
  if (open.encoding == ENCODING_DELTA_BINARY_PACKED) {
    return lane.delta.next(payload, lane.bits, plan.reading.stored_bits, count, numbers,
                           iterations);
  }
  if (plan.reading.stored_bits == 32) {
    lane.bits.take_numbers<2>(payload, 32, count, numbers);
    iterations = (count + 1) / 2;
  } else {
    lane.bits.take_numbers<1>(payload, 64, count, numbers);
    iterations = count;
  }
  return lane.bits.overrun ? STATUS_CORRUPT : STATUS_OK;
}

/// Reads the numbers of a part of a word: two rows per iteration, unless the page gives fewer.
template <typename Plan>
NS_APART uint32_t decode_numbers(byte_stream& payload, lane_state& lane, const Plan& plan,
                                 const open_page& open, const word_part& part) {
  value_token& word = lane.words.filling();
  uint64_t numbers[2 * ROWS];
  uint32_t iterations = 0;
  uint32_t status =
      next_numbers(payload, lane, plan, open, count_bits(part.valid), numbers, iterations);
  lane.iterations += max_u64(iterations, put_iterations(part.count));
  uint32_t next = 0;
PUT:
  for (uint32_t i = 0; i < part.count && status == STATUS_OK; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    if (((part.valid >> i) & 1) == 0) continue;
    const stored_value stored = {low_bits(numbers[next], plan.reading.stored_bits), 0};
    status = to_number(plan.reading, stored, word.value.row[part.first + i]);
    word.tests[part.first + i] = 0;
    next++;
  }
  return status;
}

/// Reads the values of a part of a word, which are no indexes.
template <typename Plan>
NS_APART uint32_t decode_values(byte_stream& payload, memory_lane& memory, lane_state& lane,
                                const Plan& plan, open_page& open, const word_part& part) {
  if (has_numbers(plan, open.encoding)) return decode_numbers(payload, lane, plan, open, part);
  value_token& word = lane.words.filling();
VALUES:
  for (uint32_t i = 0; i < ROWS; i++) {
    if (((part.valid >> i) & 1) == 0) continue;
    tested_value read;
    const uint32_t status = read_value(payload, memory, lane, plan, open, read);
    if (status != STATUS_OK) return status;
    word.value.row[part.first + i] = read.value;
    word.tests[part.first + i] = read.outcomes;
  }
  return STATUS_OK;
}

}  // namespace nearscan
