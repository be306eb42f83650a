// SPDX-License-Identifier: Apache-2.0
// Writes column chunks: page headers in Thrift's compact protocol, levels, indexes, dictionaries.
#pragma once

#include <map>

#include "tb_encode.hpp"

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
  uint8_t level_encoding = ENCODING_RLE;
  /// Of a page of version 2.
  uint64_t level_bytes = 0;
  uint64_t null_count = 0;
  version pages = version::one;

  page_facts(int of, uint64_t uncompressed, uint64_t compressed, uint64_t values, uint8_t encoded)
      : type(of),
        uncompressed_bytes(uncompressed),
        compressed_bytes(compressed),
        value_count(values),
        encoding(encoded) {}
};

/// Writes one of the fields that a struct may have.
inline void header_field(thrift_writer& writer, const page_facts& page, int id, bool rich) {
  const int64_t values = static_cast<int64_t>(page.value_count);
  if (page.type != PAGE_DATA_2) {
    if (id == 1) writer.i32(1, values);
    if (id == 2) writer.i32(2, page.encoding);
    if (page.type == PAGE_DICTIONARY && id == 3 && rich) writer.boolean(3, true);
    if (page.type == PAGE_DATA && id == 3) writer.i32(3, page.level_encoding);
    if (page.type == PAGE_DATA && id == 4) writer.i32(4, ENCODING_RLE);
  } else {
    if (id == 1) writer.i32(1, values);
    if (id == 2) writer.i32(2, static_cast<int64_t>(page.null_count));
    if (id == 3) writer.i32(3, values);
    if (id == 4) writer.i32(4, page.encoding);
    if (id == 5) writer.i32(5, static_cast<int64_t>(page.level_bytes));
    if (id == 6) writer.i32(6, 0);
    if (id == 7 && page.pages == version::two_compressed) writer.boolean(7, true);
    if (id == 7 && page.pages == version::two_raw) writer.boolean(7, false);
  }
  const int statistics = page.type == PAGE_DATA ? 5 : page.type == PAGE_DATA_2 ? 8 : 0;
  if (rich && id == statistics) {
    writer.begin(id);
    writer.binary(1, "the largest value");
    writer.i64(3, 77);
    writer.binary(6, std::string(90, 'm'));
    writer.boolean(7, true);
    writer.boolean(8, false);
    writer.end();
  }
}

inline bytes_t page_header(const page_facts& page, bool rich, bool backwards = false) {
  thrift_writer writer(rich);
  const auto in_order = [backwards](int count, int at) { return backwards ? count - at : at + 1; };
  for (int at = 0; at < 5; at++) {
    const int id = in_order(5, at);
    if (id == 1) writer.i32(1, page.type);
    if (id == 2) writer.i32(2, static_cast<int64_t>(page.uncompressed_bytes));
    if (id == 3) writer.i32(3, static_cast<int64_t>(page.compressed_bytes));
    if (id == 4 && rich) writer.i32(4, -123456789);
    if (id != 5) continue;
    writer.begin(page.type == PAGE_DATA         ? 5
                 : page.type == PAGE_DICTIONARY ? 7
                 : page.type == PAGE_DATA_2     ? 8
                                                : 6);
    if (page.type != PAGE_INDEX) {
      for (int field = 0; field < 8; field++) header_field(writer, page, in_order(8, field), rich);
    }
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
      // The bits that pad the last group are anything, here ones.
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

/// Writes one column chunk.
struct chunk_writer {
  const column_model& column;
  random_source random;
  written_chunk chunk;
  std::vector<cell> entries;
  std::map<std::pair<int64_t, std::string>, uint32_t> index_of;

  explicit chunk_writer(const column_model& of) : column(of), random(of.style.seed) {
    // A footer states these encodings for most chunks, whatever is in them.
    chunk.encodings = 1u << ENCODING_PLAIN | 1u << ENCODING_PLAIN_DICTIONARY | 1u << ENCODING_RLE |
                      1u << ENCODING_RLE_DICTIONARY;
  }

  void append(const bytes_t& bytes) {
    chunk.bytes.insert(chunk.bytes.end(), bytes.begin(), bytes.end());
  }

  /// Compresses the payload behind its `levels`, which are only those of version 2, and writes it
  /// behind its header.
  void put_page(page_facts facts, const bytes_t& levels, const bytes_t& payload) {
    const chunk_style& style = column.style;
    bytes_t stored_payload = payload;
    if (style.codec != CODEC_UNCOMPRESSED && facts.pages != version::two_raw) {
      stored_payload = style.codec == CODEC_SNAPPY ? compress(payload, style.snappy, random)
                                                   : compress_lz4(payload, style.snappy, random);
    }
    facts.uncompressed_bytes = levels.size() + payload.size();
    facts.compressed_bytes = levels.size() + stored_payload.size();
    const bytes_t header = page_header(facts, style.rich_headers, style.backwards);
    append(header);
    append(levels);
    append(stored_payload);
    chunk.pages++;
    if (facts.type != PAGE_INDEX) {
      chunk.page_bytes += facts.uncompressed_bytes;
      chunk.encodings = static_cast<uint16_t>(chunk.encodings | 1u << facts.encoding |
                                              1u << facts.level_encoding);
    }
  }

  void collect_entries(uint64_t rows) {
    for (uint64_t row = 0; row < rows; row++) {
      const cell& value = column.cells[row];
      if (value.null) continue;
      const uint32_t fresh = static_cast<uint32_t>(entries.size());
      if (index_of.insert({{value.number, value.text}, fresh}).second) entries.push_back(value);
    }
    for (uint64_t spare = 0; spare < column.style.spare_entries; spare++) {
      entries.push_back({false, 0, "spare"});
    }
  }

  void put_dictionary() {
    bytes_t payload;
    put_plain(payload, column, entries);
    put_page({PAGE_DICTIONARY, 0, 0, entries.size(),
              column.style.old_names ? ENCODING_PLAIN_DICTIONARY : ENCODING_PLAIN},
             bytes_t(), payload);
    chunk.dictionary_entries = entries.size();
    chunk.dictionary_bytes = chunk.bytes.size();
  }

  /// The levels of some rows, with a length in front where the page has it there.
  bytes_t make_levels(uint64_t begin, uint64_t end) {
    std::vector<uint32_t> levels;
    for (uint64_t row = begin; row < end; row++) levels.push_back(column.cells[row].null ? 0 : 1);
    bytes_t packed;
    if (column.style.pages == version::one && column.style.single_levels) {
      packed.assign((levels.size() + 7) / 8, 0);
      for (uint64_t row = 0; row < levels.size(); row++) {
        packed[row / 8] = static_cast<uint8_t>(packed[row / 8] | levels[row] << (7 - row % 8));
      }
      return packed;
    }
    put_hybrid(packed, levels, 1, column.style.common_runs, random);
    if (column.style.pages != version::one) return packed;
    bytes_t behind_length;
    put_little_endian(behind_length, packed.size(), 4);
    behind_length.insert(behind_length.end(), packed.begin(), packed.end());
    return behind_length;
  }

  /// The encoding of the values of pages without indexes.
  uint8_t other_encoding() const {
    const uint8_t type = column.physical_type;
    switch (column.style.other) {
      case direct::runs:
        return type == PHYSICAL_BOOLEAN ? ENCODING_RLE : ENCODING_PLAIN;
      case direct::differences:
        return type == PHYSICAL_INT32 || type == PHYSICAL_INT64 ? ENCODING_DELTA_BINARY_PACKED
                                                                : ENCODING_PLAIN;
      case direct::streams:
        return stored_bytes(column) != 0 ? ENCODING_BYTE_STREAM_SPLIT : ENCODING_PLAIN;
      default:
        return ENCODING_PLAIN;
    }
  }

  void put_values(bytes_t& payload, const std::vector<cell>& cells, uint8_t encoding) {
    switch (encoding) {
      case ENCODING_RLE: {
        std::vector<uint32_t> bits;
        for (const cell& value : cells) bits.push_back(static_cast<uint32_t>(value.number));
        bytes_t runs;
        put_hybrid(runs, bits, 1, column.style.common_runs, random);
        put_little_endian(payload, runs.size(), 4);
        payload.insert(payload.end(), runs.begin(), runs.end());
        break;
      }
      case ENCODING_DELTA_BINARY_PACKED:
        put_differences(payload, column, cells, random);
        break;
      case ENCODING_BYTE_STREAM_SPLIT:
        put_streams(payload, column, cells);
        break;
      default:
        put_plain(payload, column, cells);
        break;
    }
  }

  void put_indexes(bytes_t& payload, const std::vector<cell>& cells) {
    std::vector<uint32_t> codes;
    for (const cell& value : cells) codes.push_back(index_of.at({value.number, value.text}));
    uint32_t width = column.style.wide_bits;
    while ((static_cast<uint64_t>(1) << width) < entries.size()) width++;
    payload.push_back(static_cast<uint8_t>(width));
    put_hybrid(payload, codes, width, column.style.common_runs, random);
  }

  void put_data(uint64_t begin, uint64_t end, bool indexes) {
    const bool second = column.style.pages != version::one;
    bytes_t levels;
    if (column.nullable) levels = make_levels(begin, end);
    std::vector<cell> cells;
    for (uint64_t row = begin; row < end; row++) {
      if (!column.cells[row].null) cells.push_back(column.cells[row]);
    }
    chunk.values += cells.size();
    const uint8_t encoding = !indexes                 ? other_encoding()
                             : column.style.old_names ? ENCODING_PLAIN_DICTIONARY
                                                      : ENCODING_RLE_DICTIONARY;
    page_facts facts(second ? PAGE_DATA_2 : PAGE_DATA, 0, 0, end - begin, encoding);
    facts.pages = column.style.pages;
    facts.null_count = end - begin - cells.size();
    if (second) facts.level_bytes = levels.size();
    if (!second && column.nullable && column.style.single_levels) {
      facts.level_encoding = ENCODING_BIT_PACKED;
    }
    bytes_t payload;
    if (!second) payload.swap(levels);
    if (indexes) {
      put_indexes(payload, cells);
    } else {
      put_values(payload, cells, encoding);
    }
    put_page(facts, levels, payload);
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
    if (style.index_page) {
      put_page({PAGE_INDEX, 0, 0, 0, 0}, bytes_t(), bytes_t(random.below(40), 0xee));
    }
    uint64_t begin = 0;
    uint64_t page = 1;
    while (begin < rows) {
      uint64_t end = std::min(begin + page_rows, rows);
      if (begin < indexed) end = std::min(end, indexed);
      put_data(begin, end, begin < indexed && page != style.plain_page);
      begin = end;
      page++;
    }
  }
};

inline written_chunk write_chunk(const column_model& column) {
  chunk_writer writer(column);
  writer.write();
  return writer.chunk;
}

}  // namespace nearscan_tb
