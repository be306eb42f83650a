// SPDX-License-Identifier: Apache-2.0
// Finds the pages of a column chunk: reads each page header and passes the page's bytes on.
#pragma once

#include "page_header.hpp"

namespace nearscan {

/// Passes `count` bytes of the chunk on as the bytes of a page, in whole words. False when the
/// chunk ends before.
///
/// An iteration takes what one word of a line holds of the page, and passes a word on once it has
/// eight bytes: a page that begins within a word takes one iteration more than it has words.
inline bool pass_page(line_stream& in, line_reader& bytes, uint32_t count, byte_stream& out,
                      uint64_t& iterations) {
  uint32_t left = count;
  uint64_t hold = 0;
  uint32_t held = 0;
  bool ended = false;
PAYLOAD:
  while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    iterations++;
    uint64_t fresh = 0;
    const uint32_t some = left == 0 ? 0 : bytes.next_bytes(in, left < 8 ? left : 8, &fresh);
    left -= some;
    const uint32_t shift = 8 * held;
    const uint64_t word = hold | fresh << shift;
    held += some;
    ended = held <= 8 && (left == 0 || some == 0);
    const bool whole = held >= 8;
    if (whole || ended) {
      out.write(byte_token{word, static_cast<uint8_t>(whole ? 8 : held), ended});
    }
    // In two shifts, for one by 64 is none.
    hold = whole ? fresh >> 1 >> (63 - shift) : word;
    if (whole) held -= 8;
  }
  return left == 0;
}

/// Stage: lines of a chunk in, page headers and page bytes out.
inline void read_pages(const page_plan& plan, line_stream& lines, report_stream& reports_in,
                       page_stream& pages, byte_stream& payload, report_stream& reports_out) {
  if (!plan.active) return;
  line_reader bytes;
  uint32_t status = STATUS_OK;
  uint32_t page_count = 0;
  uint64_t data_iterations = 0;
  uint64_t dictionary_iterations = 0;
PAGES:
  while (status == STATUS_OK && bytes.refill(lines)) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    header_fields fields;
    page_token page;
    const uint64_t header_begin = bytes.position;
    status = read_page_header(lines, bytes, fields);
    uint64_t iterations = bytes.position - header_begin;
    if (status == STATUS_OK && is_index_page(fields)) {
      const uint64_t index_bytes = static_cast<uint64_t>(fields.compressed_bytes);
      if (!skip_bytes(lines, bytes, index_bytes)) status = STATUS_CORRUPT;
      data_iterations += iterations + (index_bytes + 7) / 8;
      page_count++;
      continue;
    }
    if (status == STATUS_OK) status = classify_page(fields, plan, page);
    if (status == STATUS_OK) {
      pages.write(page);
      const bool whole = pass_page(lines, bytes, page.compressed_bytes, payload, iterations);
      if (!whole) status = STATUS_CORRUPT;
    }
    if (status == STATUS_OK && page.kind == PAGE_DICTIONARY) {
      dictionary_iterations += iterations;
    } else {
      data_iterations += iterations;
    }
    if (status == STATUS_OK) page_count++;
  }
  bytes.drain(lines);
  page_token end = page_token();
  end.last = true;
  pages.write(end);
  report own = reports_in.read();
  own.pages = page_count;
  own.page_iterations = data_iterations;
  own.dictionary_iterations = dictionary_iterations;
  fail_lane(own, status, plan.column, plan.pages_before + page_count,
            plan.bytes_before + bytes.position);
  reports_out.write(own);
}

}  // namespace nearscan
