// SPDX-License-Identifier: Apache-2.0
// Which rows can be among the first by some number.
//
// A sorted chain keeps the places of the best rows so far, as many as are wanted. A row is left out
// when the chain is full and the row comes behind its end: then as many rows as are wanted come
// before it. Ties stay.
#pragma once

#include "program.hpp"

namespace nearscan {

/// The place of a row in the order: the lower place comes first. Nulls are before or behind all
/// numbers by `behind` alone.
struct top_place {
  bool behind;
  int64_t number;
};

inline bool comes_before(const top_place& a, const top_place& b) {
  return a.behind != b.behind ? b.behind : a.number < b.number;
}

/// The places of the best rows, in their order, in a small memory. A row takes an iteration to be
/// compared with the last of them, and one more for each that it comes before: few rows come before
/// any once the chain is full.
struct top_chain {
  top_place place[TOP_MAX];
  uint32_t size;

  top_chain() : size(0) {}

  /// Whether the row at `fresh` can be among the first `count`; then it takes its place.
  bool admit(const top_place& fresh, uint32_t count, uint64_t& iterations) {
    iterations++;
    if (size == count && !comes_before(fresh, place[count - 1])) {
      return !comes_before(place[count - 1], fresh);
    }
    if (size < count) size++;
    uint32_t at = size - 1;
  SHIFT:
    for (uint32_t moved = 0; moved < TOP_MAX; moved++) {
#pragma HLS PIPELINE II = 1
      if (at == 0 || !comes_before(fresh, place[at - 1])) break;
      place[at] = place[at - 1];
      iterations++;
      at--;
    }
    place[at] = fresh;
    return true;
  }
};

/// Which of the rows `keep` can be among the first.
NS_RARE uint8_t admit_rows(const columns_plan& plan, uint8_t keep, const value_token columns[LANES],
                           const step_values& steps, top_chain& chain, uint64_t& iterations) {
  const number_token number = fetch_numbers(plan.tables, plan.top.operand, READ_A, columns, steps);
  const uint8_t valid = fetch_valid(plan.tables, plan.top.operand, READ_A, columns, steps);
  uint32_t admitted = 0;
ADMIT_ROWS:
  for (int row = 0; row < ROWS; row++) {
    if (((keep >> row) & 1) == 0) continue;
    const bool is_null = ((valid >> row) & 1) == 0;
    const int64_t value = number.row[row];
    top_place place = {is_null != plan.top.nulls_first, 0};
    // The complement turns the order round, and there is one of every number.
    if (!is_null) place.number = plan.top.descending ? ~value : value;
    admitted |= static_cast<uint32_t>(chain.admit(place, plan.top.count, iterations)) << row;
  }
  return static_cast<uint8_t>(admitted);
}

}  // namespace nearscan
