// SPDX-License-Identifier: Apache-2.0
// Reads device memory for all processes of the merge: words out of bursts of lines.
//
// The one process that reads the port. Up to 16 bursts are in flight, and are taken in the order in
// which they were asked for. A line is passed on word by word: whoever reads takes a word per
// iteration, so lines would have to wait in any case.
//
// A reader that has no room holds up those behind it. So each of them takes what it has asked for
// without waiting for another reader: the process of the rows has a place for every word, that of
// the keys too, the one that compares waits for nothing else, and strings leave for the output.
#pragma once

#include "tokens.hpp"

namespace nearscan {
namespace merging {

/// The processes that ask.
static constexpr uint32_t ASKERS = 4;

/// The bursts in flight, the oldest first.
struct bursts_in_flight {
  hls::vector<uint8_t, IN_FLIGHT_MAX> to;
  hls::vector<uint8_t, IN_FLIGHT_MAX> first;
  hls::vector<uint8_t, IN_FLIGHT_MAX> count;
  uint32_t oldest;
  uint32_t held;

  bursts_in_flight() : oldest(0), held(0) {}

  void push(const request_token& request) {
    const uint32_t place = (oldest + held) % IN_FLIGHT_MAX;
    to[place] = request.to;
    first[place] = static_cast<uint8_t>(request.first % 8);
    count[place] = request.count;
    held++;
  }

  void pop() {
    oldest = (oldest + 1) % IN_FLIGHT_MAX;
    held--;
  }
};

inline bool has_room(uint8_t to, word_stream& heads, word_stream& rows, word_stream& keys,
                     word_stream& ties, word_stream& strings) {
  switch (to) {
    case TO_HEADS:
      return !heads.full();
    case TO_ROWS:
      return !rows.full();
    case TO_KEYS:
      return !keys.full();
    case TO_TIES:
      return !ties.full();
    default:
      return !strings.full();
  }
}

inline void pass_on(uint8_t to, uint64_t word, word_stream& heads, word_stream& rows,
                    word_stream& keys, word_stream& ties, word_stream& strings) {
  switch (to) {
    case TO_HEADS:
      heads.write(word);
      break;
    case TO_ROWS:
      rows.write(word);
      break;
    case TO_KEYS:
      keys.write(word);
      break;
    case TO_TIES:
      ties.write(word);
      break;
    default:
      strings.write(word);
  }
}

/// Process: requests in, words out. An iteration passes a word on, and may send a request.
inline void fetch(line_port& input, request_stream requests[ASKERS], word_stream& heads,
                  word_stream& rows, word_stream& keys, word_stream& ties, word_stream& strings,
                  report_stream& reports) {
  bool open[ASKERS];
#pragma HLS ARRAY_PARTITION variable = open complete
OPEN_ALL:
  for (uint32_t asker = 0; asker < ASKERS; asker++) {
#pragma HLS UNROLL
    open[asker] = true;
  }
  process_report own = empty_report();
  bursts_in_flight bursts;
  line_t line = line_t();
  uint32_t open_count = ASKERS;
  uint32_t asker = 0;
  // Of the oldest burst: words that went on, and the place of the next one in its line.
  uint32_t passed = 0;
  uint32_t at = 0;
  bool has_moved = false;
WORDS:
  while (open_count > 0 || bursts.held > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    bool moved = false;
    if (bursts.held > 0) {
      const uint8_t to = bursts.to[bursts.oldest];
      if (has_room(to, heads, rows, keys, ties, strings)) {
        if (passed == 0) at = bursts.first[bursts.oldest];
        if (passed == 0 || at == 0) line = input.read();
        pass_on(to, line_word(line, static_cast<int>(at)), heads, rows, keys, ties, strings);
        at = (at + 1) % 8;
        passed++;
        own.iterations++;
        if (passed == bursts.count[bursts.oldest]) {
          bursts.pop();
          passed = 0;
        }
        moved = true;
      }
    }
    // The next one that asks, beginning behind the one that was served.
    bool is_asked = false;
  NEXT_ASKER:
    for (uint32_t tried = 0; tried < ASKERS; tried++) {
#pragma HLS UNROLL
      if (is_asked) break;
      asker = (asker + 1) % ASKERS;
      is_asked = open[asker] && !requests[asker].empty();
    }
    if (is_asked && bursts.held < IN_FLIGHT_MAX) {
      const request_token request = requests[asker].read();
      if (request.last) {
        open[asker] = false;
        open_count--;
      } else {
        const uint64_t first = request.first / 8;
        const uint64_t count = (request.first + request.count - 1) / 8 - first + 1;
        input.read_request(first, count);
        bursts.push(request);
        own.lines_read += count;
        own.bursts++;
      }
      moved = true;
    }
    has_moved = has_moved || moved;
    if (!moved) {
      NS_IDLE_AFTER(has_moved);
      has_moved = false;
    }
  }
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
