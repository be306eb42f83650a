// SPDX-License-Identifier: Apache-2.0
// The one stage that touches scratch, the output and the cancel word.
//
// A dictionary that does not fit into its lane is looked up here, entry by entry in device memory.
// The lane with the largest one has a store on chip for that: see dictionary.hpp.
//
// A port of device memory belongs to one stage: others ask it through streams. Lanes write strings
// and large dictionaries and look entries up; the aggregates read strings to compare them; the last
// stage reads strings back and hands over the lines of the result.
//
// This stage waits for nobody. It serves whoever has asked and has room for the answer, so it is in
// no circle of stages that wait for each other. What a lane has written is there when a stage
// behind it asks for it: such a request is served only after every lane's requests that were there
// before it, and a lane asks before it passes the row on that the other stage asks about.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Words that a lane has not sent yet. They lie behind each other.
struct scratch_buffer {
  scratch_token token;

  explicit scratch_buffer(uint8_t kind = SCRATCH_WRITE) : token() { token.kind = kind; }

  /// Adds the word at 8-byte address `at`.
  void put(scratch_stream& requests, uint64_t at, uint64_t word) {
    if (token.count == LINE_WORDS || at != token.at + token.count) flush(requests);
    if (token.count == 0) token.at = at;
    token.word[token.count] = word;
    token.count++;
  }

  /// Adds two words at 8-byte address `at`. Who adds pairs only fills each request with four.
  void put_pair(scratch_stream& requests, uint64_t at, uint64_t first, uint64_t second) {
    if (token.count > LINE_WORDS - 2 || at != token.at + token.count) flush(requests);
    if (token.count == 0) token.at = at;
    token.word[token.count] = first;
    token.word[token.count + 1] = second;
    token.count = static_cast<uint8_t>(token.count + 2);
  }

  void flush(scratch_stream& requests) {
    if (token.count != 0) requests.write(token);
    token.count = 0;
  }
};

/// Puts entries into the store.
inline void store_entries(const scratch_token& token, int32_t store[STORE_ENTRIES]) {
STORE_ENTRIES_OF_REQUEST:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i < token.count) store[token.at + i] = static_cast<int32_t>(token.word[i]);
  }
}

/// Stores the words of a request.
inline void write_words(const scratch_token& token, uint64_t* memory) {
STORE:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    if (i < token.count) memory[token.at + i] = token.word[i];
  }
}

/// Reads the dictionary slots and the entries of the store that a request names: for a row of the
/// word each, or none. The store gives two per iteration.
inline found_token look_up_slots(const scratch_token& token, const int32_t store[STORE_ENTRIES],
                                 const uint64_t* memory) {
  found_token found = found_token();
STORED:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS UNROLL factor = 2
    if (((token.stored >> row) & 1) != 0) found.value.row[row] = store[token.word[row]];
  }
  if (token.stored == token.rows) return found;
SLOTS_OF_WORD:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 2
    if (((token.rows & ~token.stored) >> row & 1) == 0) continue;
    found.value.row[row] = static_cast<int64_t>(memory[token.word[row]]);
    found.tests[row] = static_cast<uint16_t>(memory[token.word[row] + 1]);
  }
  return found;
}

/// Serves one lane until it has asked for nothing more, or has no room for an answer. True when it
/// did anything.
inline bool serve_lane(scratch_stream& requests, found_stream& found, bool& waiting,
                       scratch_token& token, bool& open, int32_t store[STORE_ENTRIES],
                       uint64_t* scratch) {
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
      found.write(look_up_slots(token, store, scratch));
    } else if (token.kind == SCRATCH_WRITE) {
      write_words(token, scratch);
    } else if (token.kind == SCRATCH_STORE) {
      store_entries(token, store);
    } else {
      open = false;
    }
    waiting = false;
    moved = true;
  }
  return moved;
}

/// A stage behind the lanes that reads strings, and its request that has not been served.
struct string_reader {
  scratch_token token;
  bool waiting;
};

/// Takes a request. Looked at before the lanes: see above.
inline void take_request(scratch_stream& requests, string_reader& reader) {
  if (reader.waiting || requests.empty()) return;
  reader.token = requests.read();
  reader.waiting = true;
}

/// Serves the request that was taken, if there is room for the answer; true when it did.
inline bool serve_reader(string_reader& reader, string_stream& answers, const uint64_t* scratch) {
  if (!reader.waiting || answers.full()) return false;
  const scratch_token& token = reader.token;
  const bool apart = token.kind == SCRATCH_FIRST_WORDS;
  words_token answer;
READ:
  for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    const bool wanted = apart ? ((token.rows >> i) & 1) != 0 : i < token.count;
    answer.word[i] = wanted ? scratch[apart ? token.word[i] : token.at + i] : 0;
  }
  answers.write(answer);
  reader.waiting = false;
  return true;
}

/// Rounds between two looks at the cancel word.
static constexpr uint32_t CANCEL_ROUNDS = 256;

/// Stage: requests in, answers out. Tells `stop` once: when the command is cancelled, or at the
/// end.
inline void serve_memory(const memory_plan& plan, scratch_stream requests[LANES],
                         found_stream found[LANES], scratch_stream& state_requests,
                         string_stream& states, scratch_stream& string_requests,
                         string_stream& strings, scratch_stream& result, stop_stream& stop,
                         uint64_t* scratch, uint64_t* output, const volatile uint32_t* cancel) {
  int32_t store[STORE_ENTRIES];
#pragma HLS BIND_STORAGE variable = store type = ram_t2p impl = uram
  scratch_token token[LANES];
  bool waiting[LANES];
  bool open[LANES];
  scratch_token line;
  string_reader state_reader = string_reader();
  string_reader result_reader = string_reader();
  bool stopped = false;
  bool writing = true;
  uint32_t open_count = plan.lane_count;
  uint32_t round = 0;
INIT:
  for (uint32_t lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
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
    take_request(state_requests, state_reader);
    take_request(string_requests, result_reader);
    open_count = 0;
  LANE_TURNS:
    for (uint32_t lane = 0; lane < LANES; lane++) {
      moved = serve_lane(requests[lane], found[lane], waiting[lane], token[lane], open[lane], store,
                         scratch) ||
              moved;
      open_count += open[lane] ? 1 : 0;
    }
    moved = serve_reader(state_reader, states, scratch) || moved;
    moved = serve_reader(result_reader, strings, scratch) || moved;
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
