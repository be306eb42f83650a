// SPDX-License-Identifier: Apache-2.0
// Device memory as a lane sees it.
//
// A lane writes strings and large dictionaries, and reads back pages that are split into streams. A
// port of device memory belongs to one stage, so a lane asks: `write_memory` for what is to be
// written, `read_memory` for what is to be read. Both answer on streams. The store of the largest
// dictionary is a stage of its own.
//
// What a word refers to has been written before: a lane counts its bursts and the answers to them.
// It passes a word on once the bytes that the word refers to are in memory, and no word before its
// dictionary is there. So whoever gets a reference to a string or an entry can read it at once.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Coalesces contiguous words into bursts of pairs, and tells `write_memory` of a burst once all
/// its pairs have been sent: when it is full, when the next word is not contiguous, and when the
/// lane says so. So `write_memory` never waits for a pair.
struct burst_writer {
  pair_stream& pairs;
  burst_stream& bursts;
  /// The pair that fills, and whether it has a word that has not gone: it goes when a word of
  /// another one comes. If it has gone half full, it goes again with its other half.
  pair_token filling;
  bool is_open;
  uint64_t at;
  /// Pairs of the open burst that have gone.
  uint32_t gone;
  /// Bursts so far, and their pairs.
  uint64_t asked;
  uint64_t asked_pairs;

  burst_writer(pair_stream& pairs_out, burst_stream& bursts_out)
      : pairs(pairs_out),
        bursts(bursts_out),
        filling(),
        is_open(false),
        at(0),
        gone(0),
        asked(0),
        asked_pairs(0) {}

  /// Adds the word at 8-byte address `where`.
  void put(uint64_t where, uint64_t word) {
    make_room(where / 2);
    filling.word[where % 2] = word;
  }

  /// Adds two words at 8-byte address `where`, which is even.
  void put_pair(uint64_t where, uint64_t first, uint64_t second) {
    make_room(where / 2);
    filling.word[0] = first;
    filling.word[1] = second;
  }

  /// Ends the burst.
  void flush() {
    if (is_open) send(true);
  }

  /// Ends the bursts: no word comes any more.
  void close() {
    flush();
    burst_token end = burst_token();
    end.last = true;
    bursts.write(end);
  }

 private:
  void make_room(uint64_t pair) {
    if (is_open && pair != at) send(pair != at + 1 || gone + 1 == BURST_PAIRS);
    at = pair;
    is_open = true;
  }

  void send(bool ends) {
    pairs.write(filling);
    is_open = false;
    gone++;
    if (!ends) return;
    bursts.write(burst_token{at + 1 - gone, static_cast<uint8_t>(gone), false});
    asked++;
    asked_pairs += gone;
    gone = 0;
  }
};

/// The streams of a lane to and from device memory, and its bursts.
struct memory_lane {
  /// Large dictionaries, and pages that are split into streams.
  burst_writer slots;
  burst_writer strings;
  written_stream& written;
  spread_stream& requests;
  found_stream& found;
  /// Bursts of which the answer has come.
  uint64_t answered;

  memory_lane(pair_stream pairs_out[LANE_WRITERS], burst_stream bursts_out[LANE_WRITERS],
              written_stream& written_in, spread_stream& requests_out, found_stream& found_in)
      : slots(pairs_out[0], bursts_out[0]),
        strings(pairs_out[1], bursts_out[1]),
        written(written_in),
        requests(requests_out),
        found(found_in),
        answered(0) {}

  /// The bursts that have to be answered until all words so far are in memory.
  uint64_t asked() const {
    return slots.asked + strings.asked + (slots.is_open ? 1 : 0) + (strings.is_open ? 1 : 0);
  }

  /// Takes an answer if there is one.
  void look_for_answer() {
    if (!written.empty()) answered += written.read();
  }

  /// Ends all bursts.
  void flush() {
    slots.flush();
    strings.flush();
  }

  /// Ends all bursts, and waits until they are in memory.
  void settle() {
    flush();
  WAIT_FOR_WRITES:
    while (answered < asked()) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
      answered += written.read();
    }
  }
};

}  // namespace nearscan
