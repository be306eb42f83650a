// SPDX-License-Identifier: Apache-2.0
// Tests how loaders decompress: that they keep in step behind pages that fail, and what the pages
// cost.
#pragma once

#include "tb_iterations.hpp"
#include "unpack_dictionaries.hpp"

namespace nearscan_tb {

/// A page of a dictionary as a loader finds it.
struct found_page {
  bytes_t stored;
  uint32_t whole_bytes;
  uint32_t level_bytes;
};

/// A dictionary of some pages, and what becomes of it.
struct found_dictionary {
  std::vector<found_page> pages;
  bool is_snappy;
  uint32_t status;
  uint32_t failed_page;
  /// If it does not fail.
  bytes_t whole;
};

/// Stage: sends what a loader finds.
inline void send_found(const std::vector<found_dictionary>& all, page_stream& pages,
                       byte_stream& payload, report_stream& reports) {
  for (const found_dictionary& dictionary : all) {
    page_token token = page_token();
    for (const found_page& page : dictionary.pages) {
      token.compressed_bytes = static_cast<uint32_t>(page.stored.size());
      token.uncompressed_bytes = page.whole_bytes;
      token.level_bytes = page.level_bytes;
      token.kind = page.level_bytes == 0 ? PAGE_DICTIONARY : PAGE_DATA;
      token.compressed = true;
      pages.write(token);
      for (size_t at = 0, more = 1; more != 0;) {
        const size_t count = std::min<size_t>(page.stored.size() - at, 8);
        uint64_t data = 0;
        std::memcpy(&data, page.stored.data() + at, count);
        at += count;
        more = at < page.stored.size() ? 1 : 0;
        payload.write(byte_token{data, static_cast<uint8_t>(count), more == 0});
      }
    }
    token = page_token();
    token.last = true;
    pages.write(token);
    reports.write(empty_report());
  }
}

/// Stage: takes what comes of it.
inline void take_found(size_t count, page_stream& pages, byte_stream& payload,
                       report_stream& reports, std::vector<bytes_t>& whole,
                       std::vector<report>& told) {
  for (size_t at = 0; at < count; at++) {
    whole.emplace_back();
    while (!pages.read().last) {
      for (bool more = true; more;) {
        const byte_token token = payload.read();
        more = !token.last;
        for (int i = 0; i < token.count; i++) {
          whole.back().push_back(static_cast<uint8_t>(token.data >> (8 * i)));
        }
      }
    }
    told.push_back(reports.read());
  }
}

inline void check_dictionaries(tally& all, const std::vector<found_dictionary>& found) {
  loader_codec_plan codecs = loader_codec_plan();
  loader_run_plan runs = loader_run_plan();
  loader_take_plan takes = loader_take_plan();
  codecs.count = runs.count = takes.count = static_cast<uint32_t>(found.size());
  for (size_t at = 0; at < found.size(); at++) {
    codecs.is_snappy[at] = found[at].is_snappy;
    takes.decompress[at].column = 5;
  }
  for (depth_mode mode : ALL_DEPTHS) {
    nearscan_portable::set_depth_mode(mode);
    page_stream pages, sent, plain;
    byte_stream payload, beside, plain_bytes;
    report_stream parsed, decompressed;
    snappy_page_stream packed_pages;
    snappy_byte_stream packed;
    snappy_answer_stream answers;
    std::vector<bytes_t> whole;
    std::vector<report> told;
    NS_REGION(flow);
    NS_STAGE(flow, send_found(found, pages, payload, parsed));
    NS_STAGE(flow, send_dictionaries(codecs, pages, payload, sent, beside, packed_pages, packed));
    NS_STAGE(flow, unpack_dictionaries(runs, packed_pages, packed, answers));
    NS_STAGE(flow, take_dictionaries(takes, sent, beside, answers, parsed, plain, plain_bytes,
                                     decompressed));
    NS_STAGE(flow, take_found(found.size(), plain, plain_bytes, decompressed, whole, told));
    NS_RUN(flow);
    all.runs++;
    const std::string name = std::string("dictionaries of a loader (") + name_of(mode) + ")";
    const std::string stuck = nearscan_portable::last_stuck();
    if (!stuck.empty()) all.fail(name, stuck);
    for (size_t at = 0; at < found.size() && stuck.empty(); at++) {
      const std::string which = std::to_string(at) + ": ";
      const bool is_whole = found[at].status == STATUS_OK;
      if (told[at].status != found[at].status) {
        all.fail(name, which + "status " + std::to_string(told[at].status));
      } else if (!is_whole && told[at].detail_page != found[at].failed_page) {
        all.fail(name, which + "page " + std::to_string(told[at].detail_page));
      } else if (is_whole && whole[at] != found[at].whole) {
        all.fail(name, which + "other bytes");
      }
    }
  }
}

/// Behind a page that fails its dictionary ends, and the next one is as it should be.
inline void dictionaries_behind_failed_ones(tally& all) {
  random_source random(1);
  bytes_t bytes;
  for (uint64_t i = 0; i < 3000; i++) bytes.push_back(static_cast<uint8_t>(i * i / 7));
  const uint32_t whole_bytes = static_cast<uint32_t>(bytes.size());
  const found_page good = {compress(bytes, packing::wild, random), whole_bytes, 0};
  found_page cut = good;
  cut.stored.resize(cut.stored.size() / 2);
  found_page longer = good;
  longer.stored.insert(longer.stored.end(), 100, 0);
  found_page larger = good;
  larger.whole_bytes++;
  found_page early = {{}, whole_bytes, 0};
  put_varint(early.stored, whole_bytes);
  put_literal(early.stored, bytes.data(), 5, 0);
  put_copy(early.stored, 6, 20, 2);
  early.stored.insert(early.stored.end(), 1000, 0xfe);
  const bytes_t long_literal(SNAPPY_DISTANCE_MAX + 1, 7);
  found_page far = {{}, SNAPPY_DISTANCE_MAX + 100, 0};
  put_varint(far.stored, far.whole_bytes);
  put_literal(far.stored, long_literal.data(), long_literal.size(), 0);
  put_copy(far.stored, long_literal.size(), 20, 3);
  far.stored.insert(far.stored.end(), 1000, 0xfe);
  const found_page plain = {bytes, whole_bytes, 0};
  const found_page with_levels = {bytes, whole_bytes, 2};
  const found_page other_levels = {bytes, whole_bytes + 1, 2};
  check_dictionaries(all, {{{good}, true, STATUS_OK, 0, bytes},
                           {{cut}, true, STATUS_CORRUPT, 0, {}},
                           {{good}, true, STATUS_OK, 0, bytes},
                           {{longer, good}, true, STATUS_CORRUPT, 0, {}},
                           {{}, true, STATUS_OK, 0, {}},
                           {{good, larger, far}, true, STATUS_CORRUPT, 1, {}},
                           {{good}, true, STATUS_OK, 0, bytes}});
  check_dictionaries(all, {{{early, plain, good}, true, STATUS_CORRUPT, 0, {}},
                           {{far, early}, true, STATUS_SNAPPY_DISTANCE, 0, {}},
                           {{plain}, false, STATUS_OK, 0, bytes},
                           {{larger, good}, false, STATUS_CORRUPT, 0, {}},
                           {{with_levels}, true, STATUS_OK, 0, bytes},
                           {{other_levels, good}, true, STATUS_CORRUPT, 0, {}},
                           {{good}, true, STATUS_OK, 0, bytes}});
}

/// Entries that differ in their lowest three bytes are a literal of these and a copy of the five
/// behind them, each pair a cycle; the codec of a lane takes an iteration for either. Beside the
/// pairs the size in front and the end take a cycle each, and a run has some of its own.
inline void iterations_of_unpacking(tally& all) {
  constexpr uint64_t ENTRIES = 4000;
  scan_model model = make_iteration_model(ENTRIES);
  model.columns = {make_iteration_column(ENTRIES, ENTRIES, layout::dictionary)};
  model.columns[0].style.codec = CODEC_SNAPPY;
  for (uint64_t row = 0; row < ENTRIES; row++) {
    model.columns[0].cells[row].number =
        static_cast<int64_t>((row + 1) * 0x9e3779u % 0x7fffff | 0x010101);
  }
  check_iterations(all, "pairs of a literal and a copy", model, loader_iterations,
                   ENTRIES + 2 + snappy_cycles::FILL);
  // A word a cycle, and one for the length, which is behind the tag.
  model.columns[0].style.snappy = packing::literals;
  check_iterations(all, "a literal", model, loader_iterations, ENTRIES + 3 + snappy_cycles::FILL);
  // What is not packed passes the module by: its words, and what the page header takes.
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  const uint64_t header_bytes = write_chunk(model.columns[0]).dictionary_bytes - 8 * ENTRIES;
  model.columns[0].style.seed = 16 - (11 + header_bytes) % 8;
  check_iterations(all, "no codec", model, loader_iterations, header_bytes + ENTRIES);
}

inline void loaders(tally& all) {
  dictionaries_behind_failed_ones(all);
  iterations_of_unpacking(all);
}

}  // namespace nearscan_tb
