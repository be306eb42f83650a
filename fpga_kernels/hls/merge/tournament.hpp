// SPDX-License-Identifier: Apache-2.0
// Which input has the next row: a tournament that remembers its losers.
//
//                 1                     A node holds the input that lost there; the winner of all
//              /     \                  is held apart. When the winner's input has moved on, only
//            2         3                the matches on its way up are played again: one a level.
//          /   \     /   \              An input without a row loses to every other one, and of
//         0     1   2     3             equal rows that of the lower input wins: it is stable.
#pragma once

#include "input.hpp"

namespace nearscan {
namespace merging {

static constexpr uint32_t LEAVES_MAX = MERGE_INPUTS_MAX;

/// Rows that wait, two places for each input: the next row is read beside the current one, which it
/// is held against.
struct waiting_rows {
  row_state row[MERGE_INPUTS_MAX][2];
  uint8_t current[MERGE_INPUTS_MAX];
  bool ended[MERGE_INPUTS_MAX];
};

struct tournament {
  /// A power of two, as small as there is room for all inputs.
  uint32_t leaves;
  uint32_t loser[LEAVES_MAX];
  uint32_t winner;
};

/// Whether the row of input `a` goes before that of `b`.
inline bool goes_first(const merge_plan& plan, const waiting_rows& rows, uint32_t a, uint32_t b,
                       line_port& input, line_store& store, const volatile uint32_t* cancel,
                       progress& done) {
  const bool ended_a = a >= plan.input_count || rows.ended[a];
  const bool ended_b = b >= plan.input_count || rows.ended[b];
  if (ended_a || ended_b) return ended_a == ended_b ? a < b : ended_b;
  const int order = compare_rows(plan, rows.row[a][rows.current[a]], rows.row[b][rows.current[b]],
                                 input, store, cancel, done);
  return order != 0 ? order < 0 : a < b;
}

/// Plays all matches.
inline void begin(const merge_plan& plan, const waiting_rows& rows, tournament& matches,
                  line_port& input, line_store& store, const volatile uint32_t* cancel,
                  progress& done) {
  uint32_t winner[2 * LEAVES_MAX];
  matches.leaves = plan.input_count <= 1   ? 1
                   : plan.input_count <= 2 ? 2
                   : plan.input_count <= 4 ? 4
                   : plan.input_count <= 8 ? 8
                                           : LEAVES_MAX;
LEAVES:
  for (uint32_t leaf = 0; leaf < matches.leaves; leaf++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    winner[matches.leaves + leaf] = leaf;
  }
FIRST_MATCHES:
  for (uint32_t node = matches.leaves - 1; node > 0; node--) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 15
    const uint32_t a = winner[2 * node];
    const uint32_t b = winner[2 * node + 1];
    const bool first = goes_first(plan, rows, a, b, input, store, cancel, done);
    winner[node] = first ? a : b;
    matches.loser[node] = first ? b : a;
  }
  matches.winner = winner[1];
}

/// Plays the matches of the winner's input again.
inline void play_again(const merge_plan& plan, const waiting_rows& rows, tournament& matches,
                       line_port& input, line_store& store, const volatile uint32_t* cancel,
                       progress& done) {
  uint32_t best = matches.winner;
  uint32_t node = (matches.leaves + best) / 2;
MATCHES:
  while (node > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const uint32_t other = matches.loser[node];
    if (goes_first(plan, rows, other, best, input, store, cancel, done)) {
      matches.loser[node] = best;
      best = other;
    }
    node /= 2;
  }
  matches.winner = best;
}

}  // namespace merging
}  // namespace nearscan
