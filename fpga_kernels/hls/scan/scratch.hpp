// SPDX-License-Identifier: Apache-2.0
// The one stage that touches scratch, the output and the cancel word.
//
// A port of device memory belongs to one stage: others ask it through streams. Lanes write strings
// and large dictionaries and look entries up; the last stage reads strings back and hands over the
// lines of the result.
//
// This stage waits for nobody. It serves whoever has asked and has room for the answer, so it is in
// no circle of stages that wait for each other. What a lane has written is there when the last
// stage asks for it: a request of the last stage is served only after every lane's requests that
// were there before it, and a lane asks before it passes the row on that the last stage asks about.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Words that a lane has not sent yet. They lie behind each other.
struct scratch_buffer {
  scratch_token token;

  scratch_buffer() : token() { token.kind = SCRATCH_WRITE; }

  /// Adds the word at 8-byte address `at`.
  void put(scratch_stream& requests, uint64_t at, uint64_t word) {
    if (token.count == LINE_WORDS || at != token.at + token.count) flush(requests);
    if (token.count == 0) token.at = at;
    token.word[token.count] = word;
    token.count++;
  }

  void flush(scratch_stream& requests) {
    if (token.count != 0) requests.write(token);
    token.count = 0;
  }
};

/// Stores the words of a request.
inline void write_words(const scratch_token& token, uint64_t* memory) {
STORE:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i < token.count) memory[token.at + i] = token.word[i];
  }
}

/// Reads the dictionary slots that a request names: for a row of the word each, or none.
inline found_token look_up_slots(const scratch_token& token, const uint64_t* memory) {
  found_token found = found_token();
SLOTS_OF_WORD:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 2
    if (((token.rows >> row) & 1) == 0) continue;
    found.value[row] = static_cast<int64_t>(memory[token.word[row]]);
    found.tests[row] = static_cast<uint16_t>(memory[token.word[row] + 1]);
  }
  return found;
}

/// Serves one lane until it has asked for nothing more, or has no room for an answer. True when it
/// did anything.
inline bool serve_lane(scratch_stream& requests, found_stream& found, bool& waiting,
                       scratch_token& token, bool& open, uint64_t* scratch) {
  bool moved = false;
REQUESTS:
  while (open) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    if (!waiting) {
      if (requests.empty()) break;
      token = requests.read();
      waiting = true;
    }
    if (token.kind == SCRATCH_LOOK_UP) {
      if (found.full()) break;
      found.write(look_up_slots(token, scratch));
    } else if (token.kind == SCRATCH_WRITE) {
      write_words(token, scratch);
    } else {
      open = false;
    }
    waiting = false;
    moved = true;
  }
  return moved;
}

/// Rounds between two looks at the cancel word.
static constexpr uint32_t CANCEL_ROUNDS = 256;

/// Stage: requests in, answers out. Tells `stop` once: when the command is cancelled, or at the
/// end.
inline void serve_memory(const memory_plan& plan, scratch_stream requests[LANES],
                         found_stream found[LANES], scratch_stream& string_requests,
                         string_stream& strings, scratch_stream& result, stop_stream& stop,
                         uint64_t* scratch, uint64_t* output, const volatile uint32_t* cancel) {
  scratch_token token[LANES];
  bool waiting[LANES];
  bool open[LANES];
  scratch_token line;
  scratch_token string_token;
  bool string_waiting = false;
  bool stopped = false;
  bool writing = true;
  uint32_t open_count = plan.lane_count;
  uint32_t round = 0;
INIT:
  for (uint32_t lane = 0; lane < LANES; lane++) {
    waiting[lane] = false;
    open[lane] = lane < plan.lane_count;
  }
ROUNDS:
  while (writing || open_count > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    bool moved = false;
    if (!stopped && round % CANCEL_ROUNDS == 0 && *cancel != 0) {
      stop.write(true);
      stopped = true;
    }
    round++;
    // Looked at before the lanes: see above.
    if (!string_waiting && !string_requests.empty()) {
      string_token = string_requests.read();
      string_waiting = true;
    }
    open_count = 0;
  LANE_TURNS:
    for (uint32_t lane = 0; lane < LANES; lane++) {
      moved = serve_lane(requests[lane], found[lane], waiting[lane], token[lane], open[lane],
                         scratch) ||
              moved;
      open_count += open[lane] ? 1 : 0;
    }
    if (string_waiting && !strings.full()) {
      words_token answer;
    READ:
      for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
        answer.word[i] = i < string_token.count ? scratch[string_token.at + i] : 0;
      }
      strings.write(answer);
      string_waiting = false;
      moved = true;
    }
  RESULT_LINES:
    while (writing && !result.empty()) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
      line = result.read();
      if (line.kind == SCRATCH_WRITE) write_words(line, output);
      writing = line.kind == SCRATCH_WRITE;
      moved = true;
    }
    if (!moved) NS_IDLE();
  }
  if (!stopped) stop.write(false);
}

}  // namespace nearscan
