// SPDX-License-Identifier: Apache-2.0
// Writes a result to the output in lines: what scan and merge have in common.
//
// The payload goes out line by line as it is made, and the header behind it, when its counters and
// checksum are known. One process gathers lines into bursts and owns the port.
#pragma once

#include "frame.hpp"
#include "platform.hpp"

namespace nearscan {

/// Lines of a burst of the result: 1 KiB.
static constexpr uint32_t RESULT_BURST_LINES = 16;

/// A line of the result: its first words are written.
struct result_line {
  line_t line;
  uint8_t words;
  /// Its place in the output, in lines.
  uint64_t at;
  bool last;
};

typedef hls::stream<result_line, 16> result_lines;

/// A line of eight words.
inline line_t line_of(const uint64_t words[LINE_WORDS]) {
  line_t line = line_t();
LINE_OF_WORDS:
  for (uint32_t word = 0; word < LINE_WORDS; word++) {
#pragma HLS UNROLL
    set_line_word(line, word, words[word]);
  }
  return line;
}

/// Sends a header as the first lines of the output, and that they are the last.
inline void send_header(const result_record& record, result_lines& out) {
  uint64_t words[RESULT_RECORD_BYTES / 8];
  finish_header(record, words);
HEADER_LINES:
  for (uint32_t line = 0; line < RESULT_RECORD_BYTES / LINE_BYTES; line++) {
#pragma HLS PIPELINE II = 4
    out.write(result_line{line_of(words + line * LINE_WORDS), LINE_WORDS, line, false});
  }
  result_line end = result_line();
  end.last = true;
  out.write(end);
}

/// Answers a command that is not run: the header alone.
inline void refuse(const result_record& record, line_port& output) {
  uint64_t header[RESULT_RECORD_BYTES / 8];
  finish_header(record, header);
  output.write_request(0, RESULT_RECORD_BYTES / LINE_BYTES);
REFUSE:
  for (uint32_t line = 0; line < RESULT_RECORD_BYTES / LINE_BYTES; line++) {
#pragma HLS PIPELINE II = 4
    output.write(line_of(header + line * LINE_WORDS));
  }
  output.write_response();
}

/// The bytes of the first words of a line, a bit each.
inline uint64_t bytes_of_words(uint32_t words) {
  return ~static_cast<uint64_t>(0) >> (8 * (LINE_WORDS - words));
}

/// Process: lines of the result in, one behind the other but for the header's, which come last.
inline void write_lines(result_lines& lines, line_port& output) {
  line_t buffer[RESULT_BURST_LINES];
  uint8_t words[RESULT_BURST_LINES];
  bool more = true;
  bool has_next = false;
  result_line next = result_line();
RESULT_BURSTS:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4194304
    uint64_t first = 0;
    uint32_t count = 0;
  GATHER_LINES:
    while (count < RESULT_BURST_LINES) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      if (!has_next) lines.read(next);
      has_next = true;
      if (next.last || (count != 0 && next.at != first + count)) break;
      if (count == 0) first = next.at;
      buffer[count] = next.line;
      words[count] = next.words;
      count++;
      has_next = false;
    }
    more = !(has_next && next.last);
    if (count == 0) continue;
    output.write_request(first, count);
  PUT_LINES:
    for (uint32_t line = 0; line < count; line++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      output.write(buffer[line], bytes_of_words(words[line]));
    }
    output.write_response();
  }
}

}  // namespace nearscan
