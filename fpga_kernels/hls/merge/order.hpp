// SPDX-License-Identifier: Apache-2.0
// The order of rows: their keys on chip, and which of two comes first.
#pragma once

#include "windows.hpp"

namespace nearscan {
namespace merging {

static constexpr uint32_t PREFIX_WORDS = STRING_BYTES_MAX / 8;

/// A row: its values, and the beginnings of the strings that it is ordered by.
struct row_state {
  /// Numbers; of byte strings a reference: the first byte in memory, the length, and which input
  /// it is of, so that whoever copies strings holds a line of each.
  i128 value[OUTPUT_COLUMNS_MAX];
  /// A bit for each column: not null.
  uint32_t valid;
  /// The first 128 bytes of each key that is a string, the first byte of a word highest; words
  /// behind the end of the string are left as they were.
  uint64_t prefix[MERGE_KEYS_MAX][PREFIX_WORDS];
};

inline i128 make_reference(uint64_t at, uint32_t length, uint32_t input) {
  return make_i128(at, static_cast<uint64_t>(input) << 32 | length);
}
inline uint64_t reference_at(i128 reference) { return static_cast<uint64_t>(reference); }
inline uint64_t reference_length(i128 reference) {
  return static_cast<uint32_t>(static_cast<u128>(reference) >> 64);
}
inline uint32_t reference_input(i128 reference) {
  return static_cast<uint32_t>(static_cast<u128>(reference) >> 96);
}

inline int order_of_words(uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

/// The order of two strings that are equal as far as they are on chip and longer than that.
inline int compare_behind(const merge_plan& plan, i128 a, i128 b, line_port& input,
                          line_store& store, const volatile uint32_t* cancel, progress& done) {
  const uint64_t length_a = reference_length(a);
  const uint64_t length_b = reference_length(b);
  const uint64_t common = length_a < length_b ? length_a : length_b;
  limit_window(store, WINDOW_TIE_A, plan.inputs[reference_input(a)].end);
  limit_window(store, WINDOW_TIE_B, plan.inputs[reference_input(b)].end);
BEHIND:
  for (uint64_t at = STRING_BYTES_MAX; at < common; at += 8) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    const uint64_t left = common - at;
    const uint64_t word_a =
        read_bytes(input, store, WINDOW_TIE_A, reference_at(a) + at, left, done);
    const uint64_t word_b =
        read_bytes(input, store, WINDOW_TIE_B, reference_at(b) + at, left, done);
    const int order = order_of_words(byte_swap(word_a), byte_swap(word_b));
    done.order_steps++;
    if (order != 0) return order;
    // A merge that ends here has no result, so any order will do.
    if (!may_go_on(done, 1, plan.steps_max, cancel)) return 0;
  }
  return 0;
}

/// The order of two strings, byte by byte, a prefix before the longer one.
///
/// Padding with zero puts a string before its extensions except where these go on with zero bytes;
/// the lengths decide then.
inline int compare_strings(const merge_plan& plan, uint32_t key, const row_state& a,
                           const row_state& b, line_port& input, line_store& store,
                           const volatile uint32_t* cancel, progress& done) {
  const uint32_t column = plan.keys[key].column;
  const uint64_t length_a = reference_length(a.value[column]);
  const uint64_t length_b = reference_length(b.value[column]);
  const uint64_t common = length_a < length_b ? length_a : length_b;
PREFIX:
  for (uint32_t i = 0; i < PREFIX_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i * 8 >= common) break;
    done.order_steps++;
    const int order = order_of_words(a.prefix[key][i], b.prefix[key][i]);
    if (order != 0) return order;
  }
  if (common > STRING_BYTES_MAX) {
    const int order =
        compare_behind(plan, a.value[column], b.value[column], input, store, cancel, done);
    if (order != 0) return order;
  }
  return order_of_words(length_a, length_b);
}

/// Below zero, zero or above: whether row `a` comes before `b`, is equal in all keys, or behind.
inline int compare_rows(const merge_plan& plan, const row_state& a, const row_state& b,
                        line_port& input, line_store& store, const volatile uint32_t* cancel,
                        progress& done) {
COMPARE_KEYS:
  for (uint32_t index = 0; index < plan.key_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    const sort_key& key = plan.keys[index];
    const bool valid_a = ((a.valid >> key.column) & 1) != 0;
    const bool valid_b = ((b.valid >> key.column) & 1) != 0;
    done.order_steps++;
    if (valid_a != valid_b) return valid_a == key.nulls_first ? 1 : -1;
    if (!valid_a) continue;
    int order;
    if (plan.width[key.column] == WIDTH_BYTES) {
      order = compare_strings(plan, index, a, b, input, store, cancel, done);
    } else {
      const i128 number_a = a.value[key.column];
      const i128 number_b = b.value[key.column];
      order = number_a < number_b ? -1 : number_a > number_b ? 1 : 0;
    }
    if (order != 0) return key.descending ? -order : order;
  }
  return 0;
}

}  // namespace merging
}  // namespace nearscan
