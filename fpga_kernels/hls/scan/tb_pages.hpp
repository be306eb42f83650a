// SPDX-License-Identifier: Apache-2.0
// Writes column chunks: page headers in Thrift's compact protocol, levels, values, dictionaries.
#pragma once

#include <algorithm>
#include <map>

#include "tb_snappy.hpp"

namespace nearscan_tb {

/// Writes structs of the compact protocol.
struct thrift_writer {
  bytes_t out;
  std::vector<int> last_ids;
  /// Field numbers as numbers of their own, even where a difference would do.
  bool long_headers;

  explicit thrift_writer(bool long_form) : last_ids(1, 0), long_headers(long_form) {}

  void field(int id, uint8_t type) {
    const int difference = id - last_ids.back();
    if (difference > 0 && difference < 16 && !long_headers) {
      out.push_back(static_cast<uint8_t>(difference << 4 | type));
    } else {
      out.push_back(type);
      number(id);
    }
    last_ids.back() = id;
  }
  void number(int64_t value) {
    put_varint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void i32(int id, int64_t value) {
    field(id, 5);
    number(value);
  }
  void i64(int id, int64_t value) {
    field(id, 6);
    number(value);
  }
  void boolean(int id, bool value) { field(id, value ? 1 : 2); }
  void binary(int id, const std::string& value) {
    field(id, 8);
    put_varint(out, value.size());
    out.insert(out.end(), value.begin(), value.end());
  }
  void begin(int id) {
    field(id, 12);
    last_ids.push_back(0);
  }
  void end() {
    out.push_back(0);
    last_ids.pop_back();
  }
};

struct page_facts {
  int type;
  uint64_t uncompressed_bytes;
  uint64_t compressed_bytes;
  uint64_t value_count;
  uint8_t encoding;
};

inline bytes_t page_header(const page_facts& page, bool rich) {
  thrift_writer writer(rich);
  writer.i32(1, page.type);
  writer.i32(2, static_cast<int64_t>(page.uncompressed_bytes));
  writer.i32(3, static_cast<int64_t>(page.compressed_bytes));
  if (rich) writer.i32(4, -123456789);
  if (page.type == PAGE_DATA) {
    writer.begin(5);
    writer.i32(1, static_cast<int64_t>(page.value_count));
    writer.i32(2, page.encoding);
    writer.i32(3, ENCODING_RLE);
    writer.i32(4, ENCODING_RLE);
    if (rich) {
      writer.begin(5);
      writer.binary(1, "the largest value");
      writer.i64(3, 77);
      writer.binary(6, std::string(90, 'm'));
      writer.boolean(7, true);
      writer.boolean(8, false);
      writer.end();
    }
    writer.end();
  } else if (page.type == PAGE_DICTIONARY) {
    writer.begin(7);
    writer.i32(1, static_cast<int64_t>(page.value_count));
    writer.i32(2, page.encoding);
    if (rich) writer.boolean(3, true);
    writer.end();
  } else {
    writer.begin(6);
    writer.end();
  }
  writer.out.push_back(0);
  return writer.out;
}

/// Runs and bit-packed groups as common writers make them: a run for eight equal values or more,
/// otherwise groups, up to 63 under one header.
inline uint64_t common_groups(const std::vector<uint32_t>& values, uint64_t at) {
  uint64_t groups = 0;
  while (groups < 63 && at + groups * 8 < values.size()) {
    const uint64_t begin = at + groups * 8;
    uint64_t run = 1;
    while (run < 8 && begin + run < values.size() && values[begin + run] == values[begin]) run++;
    if (run == 8) break;
    groups++;
  }
  return groups;
}

/// Runs and bit-packed groups; unless `common`, which of them is left to chance where both would
/// do.
inline void put_hybrid(bytes_t& out, const std::vector<uint32_t>& values, uint32_t width,
                       bool common, random_source& random) {
  uint64_t at = 0;
  while (at < values.size()) {
    uint64_t run = 1;
    while (at + run < values.size() && values[at + run] == values[at]) run++;
    const bool ends_here = at + run == values.size();
    const bool by_chance =
        !common && random.once_in(3) && (run % 8 == 0 || ends_here || random.once_in(4));
    if (run >= 8 || by_chance) {
      if (!common && random.once_in(3)) run = 1 + random.below(run);
      put_varint(out, run << 1);
      put_little_endian(out, values[at], static_cast<int>((width + 7) / 8));
      at += run;
      continue;
    }
    const uint64_t groups_max = std::min<uint64_t>(20, (values.size() - at + 7) / 8);
    const uint64_t groups = common ? common_groups(values, at) : 1 + random.below(groups_max);
    put_varint(out, groups << 1 | 1);
    uint64_t bits = 0;
    uint32_t held = 0;
    for (uint64_t i = 0; i < groups * 8; i++) {
      // What pads the last group is anything, here ones.
      const uint64_t value = at + i < values.size() ? values[at + i] : 0xffffffffu;
      bits |= (width == 0 ? 0 : value << (64 - width) >> (64 - width)) << held;
      held += width;
      while (held >= 8) {
        out.push_back(static_cast<uint8_t>(bits));
        bits >>= 8;
        held -= 8;
      }
    }
    at = std::min<uint64_t>(at + groups * 8, values.size());
  }
}

inline void put_plain(bytes_t& out, const column_model& column, const cell& value) {
  if (column.physical_type == PHYSICAL_BYTE_ARRAY) {
    put_little_endian(out, value.text.size(), 4);
    out.insert(out.end(), value.text.begin(), value.text.end());
  } else {
    put_little_endian(out, static_cast<uint64_t>(value.number),
                      column.physical_type == PHYSICAL_INT32 ? 4 : 8);
  }
}

/// Writes one column chunk.
struct chunk_writer {
  const column_model& column;
  random_source random;
  written_chunk chunk;
  std::vector<cell> entries;
  std::map<std::pair<int64_t, std::string>, uint32_t> index_of;

  explicit chunk_writer(const column_model& of) : column(of), random(of.style.seed) {}

  void put_page(int type, const bytes_t& payload, uint64_t value_count, uint8_t encoding) {
    const bool snappy = column.style.codec == CODEC_SNAPPY;
    const bytes_t stored = snappy ? compress(payload, column.style.snappy, random) : payload;
    const page_facts facts = {type, payload.size(), stored.size(), value_count, encoding};
    const bytes_t header = page_header(facts, column.style.rich_headers);
    chunk.bytes.insert(chunk.bytes.end(), header.begin(), header.end());
    chunk.bytes.insert(chunk.bytes.end(), stored.begin(), stored.end());
    chunk.pages++;
    if (type != PAGE_INDEX) chunk.page_bytes += payload.size();
  }

  void collect_entries(uint64_t rows) {
    for (uint64_t row = 0; row < rows; row++) {
      const cell& value = column.cells[row];
      if (value.null) continue;
      const uint32_t fresh = static_cast<uint32_t>(entries.size());
      if (index_of.insert({{value.number, value.text}, fresh}).second) entries.push_back(value);
    }
    for (uint64_t spare = 0; spare < column.style.spare_entries; spare++) {
      entries.push_back({false, static_cast<int64_t>(spare), "spare"});
    }
  }

  void put_dictionary() {
    bytes_t payload;
    for (const cell& entry : entries) put_plain(payload, column, entry);
    put_page(PAGE_DICTIONARY, payload, entries.size(),
             column.style.old_names ? ENCODING_PLAIN_DICTIONARY : ENCODING_PLAIN);
    chunk.dictionary_entries = entries.size();
  }

  void put_levels(bytes_t& payload, uint64_t begin, uint64_t end) {
    std::vector<uint32_t> levels;
    for (uint64_t row = begin; row < end; row++) levels.push_back(column.cells[row].null ? 0 : 1);
    bytes_t packed;
    put_hybrid(packed, levels, 1, column.style.common_runs, random);
    put_little_endian(payload, packed.size(), 4);
    payload.insert(payload.end(), packed.begin(), packed.end());
  }

  void put_data(uint64_t begin, uint64_t end, bool indexes) {
    bytes_t payload;
    if (column.nullable) put_levels(payload, begin, end);
    std::vector<uint32_t> codes;
    for (uint64_t row = begin; row < end; row++) {
      const cell& value = column.cells[row];
      if (value.null) continue;
      chunk.values++;
      if (indexes) {
        codes.push_back(index_of.at({value.number, value.text}));
      } else {
        put_plain(payload, column, value);
      }
    }
    if (indexes) {
      uint32_t width = column.style.wide_bits;
      while ((static_cast<uint64_t>(1) << width) < entries.size()) width++;
      payload.push_back(static_cast<uint8_t>(width));
      put_hybrid(payload, codes, width, column.style.common_runs, random);
    }
    const uint8_t dictionary =
        column.style.old_names ? ENCODING_PLAIN_DICTIONARY : ENCODING_RLE_DICTIONARY;
    put_page(PAGE_DATA, payload, end - begin, indexes ? dictionary : ENCODING_PLAIN);
    if (!indexes && end > begin) chunk.plain_data_pages = true;
  }

  void write() {
    const chunk_style& style = column.style;
    const uint64_t rows = column.cells.size();
    const uint64_t page_rows = style.page_rows == 0 ? std::max<uint64_t>(rows, 1) : style.page_rows;
    uint64_t indexed = 0;
    if (style.values == layout::dictionary) indexed = rows;
    if (style.values == layout::dictionary_then_plain) indexed = std::min(style.plain_from, rows);
    if (style.values != layout::plain) {
      collect_entries(indexed);
      put_dictionary();
    }
    if (style.index_page) put_page(PAGE_INDEX, bytes_t(random.below(40), 0xee), 0, 0);
    uint64_t begin = 0;
    while (begin < rows) {
      uint64_t end = std::min(begin + page_rows, rows);
      if (begin < indexed) end = std::min(end, indexed);
      put_data(begin, end, begin < indexed);
      begin = end;
    }
  }
};

inline written_chunk write_chunk(const column_model& column) {
  chunk_writer writer(column);
  writer.write();
  return writer.chunk;
}

}  // namespace nearscan_tb
