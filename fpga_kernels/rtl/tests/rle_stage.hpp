// SPDX-License-Identifier: Apache-2.0
// A page of indexes and its dictionary through the HLS stage `decode`: what models are held to.
#pragma once

#include <vector>

#include "rle_pages.hpp"
#include "scan/decode.hpp"
#include "scan/loaders.hpp"

namespace rtl {

struct stage_answer {
  std::vector<int64_t> values;
  bool is_corrupt = false;
  /// What it counts for the dictionary, and for the page.
  uint64_t dictionary_iterations = 0;
  uint64_t iterations = 0;
};

namespace stage {

inline void send_bytes(const std::vector<uint8_t>& bytes, nearscan::byte_stream& out) {
  for (size_t at = 0; at < bytes.size() || at == 0; at += 8) {
    nearscan::byte_token token = {0, 0, false};
    for (size_t i = at; i < bytes.size() && i < at + 8; i++) {
      token.data |= static_cast<uint64_t>(bytes[i]) << (8 * (i - at));
      token.count++;
    }
    token.last = at + 8 >= bytes.size();
    out.write(token);
  }
}

/// The dictionary, its page, and the end.
inline void feed(const page& what, const std::vector<int64_t>& dictionary,
                 nearscan::page_stream& pages, nearscan::byte_stream& payload,
                 nearscan::report_stream& reports) {
  nearscan::page_token token = nearscan::page_token();
  token.kind = nearscan::PAGE_DICTIONARY;
  token.encoding = nearscan::ENCODING_PLAIN;
  token.value_count = static_cast<uint32_t>(dictionary.size());
  std::vector<uint8_t> bytes(8 * dictionary.size());
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(dictionary[i / 8]) >> (8 * (i % 8)));
  }
  token.uncompressed_bytes = static_cast<uint32_t>(bytes.size());
  pages.write(token);
  send_bytes(bytes, payload);
  token.kind = nearscan::PAGE_DATA;
  token.encoding = nearscan::ENCODING_RLE_DICTIONARY;
  token.value_count = what.values;
  bytes.assign(1, static_cast<uint8_t>(what.width));
  bytes.insert(bytes.end(), what.bytes.begin(), what.bytes.end());
  token.uncompressed_bytes = static_cast<uint32_t>(bytes.size());
  pages.write(token);
  send_bytes(bytes, payload);
  token = nearscan::page_token();
  token.last = true;
  pages.write(token);
  reports.write(nearscan::empty_report());
}

/// Takes the words of the stage, and looks up in the memory what is not on chip.
inline void collect(nearscan::value_stream& values, nearscan::report_stream& reports,
                    const std::vector<uint64_t>& memory, stage_answer& answer) {
  while (true) {
    const nearscan::value_token token = values.read();
    if (token.last) break;
    for (uint32_t row = 0; row < token.count; row++) {
      const int64_t value = token.value.row[row];
      const bool is_far = ((token.far >> row) & 1) != 0;
      answer.values.push_back(is_far ? static_cast<int64_t>(memory[nearscan::referenced(value)])
                                     : value);
    }
  }
  const nearscan::report report = reports.read();
  answer.is_corrupt = report.status != nearscan::STATUS_OK;
  answer.dictionary_iterations = report.dictionary_iterations;
  answer.iterations = report.decode_iterations;
}

/// The memory behind the lanes, as far as a dictionary needs it.
inline void serve_writes(nearscan::pair_stream& pairs, nearscan::burst_stream& bursts,
                         nearscan::written_stream& written, std::vector<uint64_t>& memory) {
  while (true) {
    const nearscan::burst_token burst = bursts.read();
    if (burst.last) break;
    for (uint32_t i = 0; i < burst.count; i++) {
      const nearscan::pair_token pair = pairs.read();
      memory[2 * (burst.at + i)] = pair.word[0];
      memory[2 * (burst.at + i) + 1] = pair.word[1];
    }
    written.write(1);
  }
}

/// Unpacks the indexes of a page in words of eight; adds what is counted for them and for headers.
inline void unpack_words(const page& what, nearscan::byte_stream& payload,
                         std::vector<uint32_t>& indexes, uint64_t& iterations) {
  nearscan::bit_reader bits;
  nearscan::hybrid_run run = nearscan::hybrid_run();
  bits.start_page();
  for (uint32_t left = what.values; left > 0 && !bits.overrun;) {
    const uint32_t count = left < nearscan::ROWS ? left : nearscan::ROWS;
    uint32_t word[nearscan::INDEX_ROOM];
    iterations += nearscan::next_indexes(payload, bits, run, what.width, count, word);
    indexes.insert(indexes.end(), word, word + count);
    left -= count;
  }
  iterations += bits.iterations;
  bits.drain_page(payload);
  if (bits.overrun) fail("the stage finds the page corrupt");
}

}  // namespace stage

/// The indexes of a page, and the iterations of unpacking them.
struct unpacked_page {
  std::vector<uint32_t> indexes;
  uint64_t iterations = 0;
};

/// Unpacks a page that is whole as the stage does beside its look-ups.
inline unpacked_page unpack_by_stage(const page& what) {
  unpacked_page unpacked;
  nearscan::byte_stream payload;
  NS_REGION(flow);
  NS_STAGE(flow, stage::send_bytes(what.bytes, payload));
  NS_STAGE(flow, stage::unpack_words(what, payload, unpacked.indexes, unpacked.iterations));
  NS_RUN(flow);
  return unpacked;
}

/// Decodes a required column of 8-byte numbers.
inline stage_answer decode_by_stage(const page& what, const std::vector<int64_t>& dictionary) {
  static nearscan::decode_plan plan;
  plan = nearscan::decode_plan();
  std::vector<uint64_t> memory(4 * dictionary.size() + 64);
  plan.active = true;
  plan.reading.physical_type = nearscan::PHYSICAL_INT64;
  plan.reading.plainly = true;
  plan.reading.stored_bits = 64;
  plan.may_be_far = true;
  plan.rows = what.values;
  plan.scratch_end = 8 * memory.size();
  plan.steps_max = ~0ull;
  nearscan::page_stream pages;
  nearscan::byte_stream payload;
  nearscan::report_stream reports_in, reports_out;
  nearscan::pair_stream pairs[nearscan::LANE_WRITERS];
  nearscan::burst_stream bursts[nearscan::LANE_WRITERS];
  nearscan::written_stream written;
  nearscan::spread_stream requests;
  nearscan::found_stream found;
  nearscan::chip_stream chip, none_of_first, none_of_second;
  nearscan::chip_blocks chips;
  nearscan::dictionary_stream first_loaded, second_loaded;
  nearscan::entry_plan entries = nearscan::entry_plan();
  entries.active = true;
  nearscan::value_stream values;
  nearscan::key_stream keys;
  stage_answer answer;
  NS_REGION(flow);
  NS_STAGE(flow, stage::feed(what, dictionary, pages, payload, reports_in));
  NS_STAGE(flow, nearscan::decode(plan, nearscan::no_tests(), pages, payload, reports_in, pairs,
                                  bursts, written, requests, found, chip, chips, first_loaded,
                                  second_loaded, values, keys, reports_out));
  NS_STAGE(flow, nearscan::fill_chip(entries, chip, none_of_first, none_of_second, chips));
  // The slots: there are no strings.
  NS_STAGE(flow, stage::serve_writes(pairs[0], bursts[0], written, memory));
  NS_STAGE(flow, stage::collect(values, reports_out, memory, answer));
  NS_RUN(flow);
  if (nearscan_portable::last_stuck()[0] != '\0') {
    fail("the stage is stuck: %s", nearscan_portable::last_stuck());
  }
  return answer;
}

}  // namespace rtl
