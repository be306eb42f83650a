// SPDX-License-Identifier: Apache-2.0
// The stage that reads scratch and the cancel word.
//
// A dictionary that does not fit into its lane is looked up here, entry by entry in device memory.
// The lane with the largest one has a store on chip for that: see dictionary.hpp.
//
// A port of device memory belongs to one stage: others ask it through streams. Lanes look entries
// up; the aggregates read strings to compare them; the last stage reads strings back. What they ask
// for has been written before: see memory_lane.hpp.
//
// This stage waits for no other one. It serves whoever has asked and has room for the answer, so it
// is in no circle of stages that wait for each other.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Puts entries into the store.
inline void store_entries(const scratch_token& token, int32_t store[STORE_ENTRIES]) {
STORE_ENTRIES_OF_REQUEST:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i < token.count) store[token.at + i] = static_cast<int32_t>(token.word[i]);
  }
}

/// Words of a slot of a dictionary in device memory.
static constexpr uint32_t SLOT_WORDS = DICTIONARY_SLOT_BYTES / 8;
static_assert(SLOT_WORDS == 2, "a value and its tests");

/// Reads the dictionary slots and the entries of the store that a request names: for a row of the
/// word each, or none. The store gives two per iteration.
inline found_token look_up_slots(const scratch_token& token, const int32_t store[STORE_ENTRIES],
                                 word_port& scratch, memory_report& own) {
  found_token found = found_token();
  own.iterations += ROWS / 2;
STORED:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
    if (((token.stored >> row) & 1) != 0) found.value.row[row] = store[token.word[row]];
  }
  const uint32_t far_rows = token.rows & ~static_cast<uint32_t>(token.stored);
  if (far_rows == 0) return found;
  own.iterations += ROWS + SLOT_WORDS * ROWS;
  own.requests++;
  // All are asked for before the first is there: the way to the memory and back is paid once.
ASK_SLOTS:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    if (((far_rows >> row) & 1) != 0) scratch.read_request(token.word[row], SLOT_WORDS);
  }
TAKE_SLOTS:
  for (uint32_t row = 0; row < ROWS; row++) {
// Two beats: the value, and the outcomes of the tests.
#pragma HLS PIPELINE II = 2
    if (((far_rows >> row) & 1) == 0) continue;
    found.value.row[row] = static_cast<int64_t>(scratch.read());
    found.tests[row] = static_cast<uint16_t>(scratch.read());
  }
  return found;
}

/// Serves one lane until it has asked for nothing more, or has no room for an answer. True when it
/// did anything.
inline bool serve_lane(scratch_stream& requests, found_stream& found, bool& waiting,
                       scratch_token& token, bool& open, int32_t store[STORE_ENTRIES],
                       word_port& scratch, memory_report& own) {
  bool moved = false;
REQUESTS:
  while (open) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    if (!waiting) {
      if (requests.empty()) break;
      requests.read(token);
      waiting = true;
    }
    if (token.kind == SCRATCH_LOOK_UP) {
      if (found.full()) break;
      found.write(look_up_slots(token, store, scratch, own));
    } else if (token.kind == SCRATCH_STORE) {
      store_entries(token, store);
      own.iterations += LINE_WORDS;
    } else {
      open = false;
    }
    waiting = false;
    moved = true;
  }
  return moved;
}

/// Reads the words that a stage asks for.
inline words_token read_words_of(const scratch_token& token, word_port& scratch,
                                 memory_report& own) {
  const bool apart = token.kind == SCRATCH_FIRST_WORDS;
  const uint32_t wanted = apart ? token.rows : row_mask(token.count);
  words_token answer = words_token();
  own.iterations += 2 * LINE_WORDS;
  if (wanted != 0) own.requests++;
  if (!apart && token.count != 0) scratch.read_request(token.at, token.count);
ASK_WORDS:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (apart && ((wanted >> i) & 1) != 0) scratch.read_request(token.word[i], 1);
  }
TAKE_WORDS:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (((wanted >> i) & 1) != 0) answer.word[i] = scratch.read();
  }
  return answer;
}

/// Serves a stage behind the lanes that reads strings, if it has asked and there is room for the
/// answer; true when it did. The stage's last request ends it.
inline bool serve_reader(scratch_stream& requests, string_stream& answers, bool& open,
                         word_port& scratch, memory_report& own) {
  if (!open || requests.empty() || answers.full()) return false;
  const scratch_token token = requests.read();
  if (token.kind == SCRATCH_END) {
    open = false;
  } else {
    answers.write(read_words_of(token, scratch, own));
  }
  return true;
}

/// Rounds between two looks at the cancel word.
static constexpr uint32_t CANCEL_ROUNDS = 256;

/// Stage: requests in, answers out. Tells `stop` once: when the command is cancelled, or at the
/// end. Reports when nobody asks any more.
inline void read_memory(uint32_t lane_count, scratch_stream requests[LANES],
                        found_stream found[LANES], scratch_stream& state_requests,
                        string_stream& states, scratch_stream& string_requests,
                        string_stream& strings, stop_stream& stop, word_port& scratch,
                        const volatile uint32_t* cancel, memory_report_stream& reports) {
  int32_t store[STORE_ENTRIES];
#pragma HLS BIND_STORAGE variable = store type = ram_t2p impl = uram
  scratch_token token[LANES];
  bool waiting[LANES];
  bool open[LANES];
  bool states_open = true;
  bool strings_open = true;
  bool stopped = false;
  uint32_t open_count = lane_count;
  uint32_t round = 0;
  memory_report own = memory_report();
INIT_READS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    waiting[lane] = false;
    open[lane] = lane < lane_count;
  }
ROUNDS:
  while (open_count > 0 || states_open || strings_open) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    bool moved = false;
    if (!stopped && round % CANCEL_ROUNDS == 0 && *cancel != 0) {
      stop.write(true);
      stopped = true;
    }
    round++;
    open_count = 0;
  LANE_TURNS:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
      moved = serve_lane(requests[lane], found[lane], waiting[lane], token[lane], open[lane], store,
                         scratch, own) ||
              moved;
      open_count += open[lane] ? 1 : 0;
    }
    moved = serve_reader(state_requests, states, states_open, scratch, own) || moved;
    moved = serve_reader(string_requests, strings, strings_open, scratch, own) || moved;
    if (!moved) NS_IDLE();
  }
  if (!stopped) stop.write(false);
  reports.write(own);
}

}  // namespace nearscan
