// SPDX-License-Identifier: Apache-2.0
// Device memory as a lane sees it.
//
// A lane writes strings and large dictionaries, and reads back pages that are split into streams. A
// port of device memory belongs to one stage, so a lane asks: `write_memory` for what is to be
// written, `read_memory` for what is to be read. Both answer on streams. The store of the largest
// dictionary is a stage of its own.
//
// What a word refers to has been written before: a lane counts its requests to write and the
// answers to them. It passes a word on once the bytes that the word refers to are in memory, and no
// word before its dictionary is there. So whoever gets a reference to a string or an entry can read
// it at once.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The streams of a lane to and from device memory, and its requests to write.
struct memory_lane {
  scratch_stream& writes;
  written_stream& written;
  scratch_stream& requests;
  string_stream& found;
  /// Requests to write so far, and those of which the answer has come.
  uint64_t asked;
  uint64_t answered;
  /// Words of those requests.
  uint64_t words;

  memory_lane(scratch_stream& writes_out, written_stream& written_in, scratch_stream& requests_out,
              string_stream& found_in)
      : writes(writes_out),
        written(written_in),
        requests(requests_out),
        found(found_in),
        asked(0),
        answered(0),
        words(0) {}

  void write(const scratch_token& token) {
    writes.write(token);
    asked++;
    words += token.count;
  }

  /// Takes an answer if there is one.
  void look_for_answer() {
    if (!written.empty()) answered += written.read();
  }

  /// Waits until the first `count` requests to write have been answered.
  void wait_for(uint64_t count) {
  WAIT_FOR_WRITES:
    while (answered < count) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
      answered += written.read();
    }
  }
};

/// Words that a lane has not asked to write yet. They lie behind each other.
struct write_buffer {
  scratch_token token;

  write_buffer() : token() { token.kind = SCRATCH_WRITE; }

  /// Adds the word at 8-byte address `at`.
  void put(memory_lane& memory, uint64_t at, uint64_t word) {
    if (token.count == LINE_WORDS || at != token.at + token.count) flush(memory);
    if (token.count == 0) token.at = at;
    token.word[token.count] = word;
    token.count++;
  }

  /// Adds two words at 8-byte address `at`. Who adds pairs only fills each request with four.
  void put_pair(memory_lane& memory, uint64_t at, uint64_t first, uint64_t second) {
    if (token.count > LINE_WORDS - 2 || at != token.at + token.count) flush(memory);
    if (token.count == 0) token.at = at;
    token.word[token.count] = first;
    token.word[token.count + 1] = second;
    token.count = static_cast<uint8_t>(token.count + 2);
  }

  void flush(memory_lane& memory) {
    if (token.count != 0) memory.write(token);
    token.count = 0;
  }
};

}  // namespace nearscan
