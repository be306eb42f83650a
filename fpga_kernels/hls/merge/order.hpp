// SPDX-License-Identifier: Apache-2.0
// The order of rows that a search looks at: their keys on chip, and which of two comes first.
//
// The merge itself compares words that stand for keys (keys.hpp, choose.hpp). A search looks at few
// rows, so it does with one number at a time.
#pragma once

#include "input.hpp"

namespace nearscan {
namespace merging {

static constexpr uint32_t PREFIX_WORDS = STRING_BYTES_MAX / 8;

/// The keys of a row, and the beginnings of those that are strings.
struct row_state {
  /// Numbers; of byte strings a reference: the first byte in memory, and the length.
  i128 value[MERGE_KEYS_MAX];
  /// A bit for each key: not null.
  uint32_t valid;
  /// The first 128 bytes of each key that is a string, the first byte of a word highest; words
  /// behind the end of the string are left as they were.
  uint64_t prefix[MERGE_KEYS_MAX][PREFIX_WORDS];
};

inline uint64_t reference_at(i128 reference) { return static_cast<uint64_t>(reference); }
inline uint64_t reference_length(i128 reference) {
  return static_cast<uint64_t>(static_cast<u128>(reference) >> 64);
}

inline int order_of_words(uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

/// The order of two strings that are equal as far as they are on chip and longer than that.
inline int compare_behind(const merge_plan& plan, i128 a, i128 b, line_port& input,
                          line_store& store, const volatile uint32_t* cancel, progress& done) {
  const uint64_t length_a = reference_length(a);
  const uint64_t length_b = reference_length(b);
  const uint64_t common = length_a < length_b ? length_a : length_b;
BEHIND:
  for (uint64_t at = STRING_BYTES_MAX; at < common; at += 8) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    const uint64_t left = common - at;
    const uint64_t word_a = read_bytes(input, store, USE_TIE_A, reference_at(a) + at, left, done);
    const uint64_t word_b = read_bytes(input, store, USE_TIE_B, reference_at(b) + at, left, done);
    const int order = order_of_words(byte_swap(word_a), byte_swap(word_b));
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
  const uint64_t length_a = reference_length(a.value[key]);
  const uint64_t length_b = reference_length(b.value[key]);
  const uint64_t common = length_a < length_b ? length_a : length_b;
PREFIX:
  for (uint32_t i = 0; i < PREFIX_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i * 8 >= common) break;
    const int order = order_of_words(a.prefix[key][i], b.prefix[key][i]);
    if (order != 0) return order;
  }
  if (common > STRING_BYTES_MAX) {
    const int order = compare_behind(plan, a.value[key], b.value[key], input, store, cancel, done);
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
    const bool valid_a = ((a.valid >> index) & 1) != 0;
    const bool valid_b = ((b.valid >> index) & 1) != 0;
    if (valid_a != valid_b) return valid_a == key.nulls_first ? 1 : -1;
    if (!valid_a) continue;
    int order;
    if (plan.columns.width[key.column] == WIDTH_BYTES) {
      order = compare_strings(plan, index, a, b, input, store, cancel, done);
    } else {
      const i128 number_a = a.value[index];
      const i128 number_b = b.value[index];
      order = number_a < number_b ? -1 : number_a > number_b ? 1 : 0;
    }
    if (order != 0) return key.descending ? -order : order;
  }
  return 0;
}

}  // namespace merging
}  // namespace nearscan
