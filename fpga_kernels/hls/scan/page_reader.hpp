// SPDX-License-Identifier: Apache-2.0
// Finds the pages of a column chunk: parses each page header and passes the page's bytes on.
//
// A page header is a Thrift struct in the compact protocol. The parser is a loop over fields with
// an explicit stack for the structs that it skips (statistics); a header nests three deep at most,
// eight are allowed. Every loop consumes at least one byte, so its length is bounded by the
// chunk's.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Where the bytes of a lane's lines stand.
struct line_reader {
  line_token line;
  uint64_t position;
  uint8_t at;
  bool ended;

  line_reader() : line(), position(0), at(0), ended(false) {}

  /// Makes sure that the current line has a byte; false at the end of the chunk.
  bool refill(line_stream& in) {
  REFILL:
    while (!ended && at == line.end) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      line = in.read();
      at = line.first;
      ended = line.last;
    }
    return !ended;
  }

  bool next_byte(line_stream& in, uint8_t* byte) {
    if (!refill(in)) return false;
    *byte = static_cast<uint8_t>(line_word(line.data, at >> 3) >> (8 * (at & 7)));
    at++;
    position++;
    return true;
  }

  /// Up to `wanted` (<= 8) bytes of the current line; gives how many.
  uint8_t next_bytes(line_stream& in, uint8_t wanted, uint64_t* bytes) {
    if (!refill(in)) return 0;
    const uint8_t in_line = static_cast<uint8_t>(line.end - at);
    const uint8_t count = wanted < in_line ? wanted : in_line;
    const int word = at >> 3;
    const int shift = 8 * (at & 7);
    uint64_t value = line_word(line.data, word) >> shift;
    if (shift != 0 && word < 7) value |= line_word(line.data, word + 1) << (64 - shift);
    *bytes = low_bits(value, 8u * count);
    at = static_cast<uint8_t>(at + count);
    position += count;
    return count;
  }

  void drain(line_stream& in) {
  DRAIN:
    while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      line = in.read();
      ended = line.last;
    }
  }
};

/// An unsigned number of at most 64 bits in 7-bit groups.
inline bool read_varint(line_stream& in, line_reader& bytes, uint64_t* value) {
  *value = 0;
VARINT:
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (!bytes.next_byte(in, &byte)) return false;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline bool skip_bytes(line_stream& in, line_reader& bytes, uint64_t count) {
SKIP:
  for (uint64_t left = count; left > 0;) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2048
    uint64_t ignored;
    const uint8_t got = bytes.next_bytes(in, left < 8 ? static_cast<uint8_t>(left) : 8, &ignored);
    if (got == 0) return false;
    left -= got;
  }
  return true;
}

// Types of the compact protocol.
static constexpr uint8_t THRIFT_STOP = 0;
static constexpr uint8_t THRIFT_TRUE = 1;
static constexpr uint8_t THRIFT_FALSE = 2;
static constexpr uint8_t THRIFT_BYTE = 3;
static constexpr uint8_t THRIFT_I16 = 4;
static constexpr uint8_t THRIFT_I32 = 5;
static constexpr uint8_t THRIFT_I64 = 6;
static constexpr uint8_t THRIFT_DOUBLE = 7;
static constexpr uint8_t THRIFT_BINARY = 8;
static constexpr uint8_t THRIFT_STRUCT = 12;

static constexpr int THRIFT_DEPTH_MAX = 8;

// Structs of a page header that hold fields we want.
static constexpr uint8_t IN_HEADER = 0;
static constexpr uint8_t IN_DATA_PAGE = 1;
static constexpr uint8_t IN_DICTIONARY_PAGE = 2;
static constexpr uint8_t IN_OTHER = 3;

/// What of a page header was read; -1 where a field did not occur.
struct header_fields {
  int64_t type;
  int64_t uncompressed_bytes;
  int64_t compressed_bytes;
  int64_t value_count;
  int64_t encoding;
  int64_t level_encoding;
};

/// Field `id` of struct `where`, a number.
inline void set_field(header_fields& fields, uint8_t where, int32_t id, int64_t value) {
  if (where == IN_HEADER) {
    if (id == 1) fields.type = value;
    if (id == 2) fields.uncompressed_bytes = value;
    if (id == 3) fields.compressed_bytes = value;
  } else if (where == IN_DATA_PAGE || where == IN_DICTIONARY_PAGE) {
    if (id == 1) fields.value_count = value;
    if (id == 2) fields.encoding = value;
    if (id == 3 && where == IN_DATA_PAGE) fields.level_encoding = value;
  }
}

/// Reads one page header. Corrupt when the bytes are not one, encoding when it is longer or of
/// other types than this kernel reads.
inline uint32_t read_page_header(line_stream& in, line_reader& bytes, header_fields& fields) {
  fields.type = fields.uncompressed_bytes = fields.compressed_bytes = -1;
  fields.value_count = fields.encoding = fields.level_encoding = -1;
  const uint64_t start = bytes.position;
  uint8_t where[THRIFT_DEPTH_MAX];
  int32_t last_id[THRIFT_DEPTH_MAX];
  int depth = 0;
  where[0] = IN_HEADER;
  last_id[0] = 0;
FIELDS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 5 max = 40
    uint8_t head;
    if (bytes.position - start > PAGE_HEADER_BYTES_MAX) return STATUS_ENCODING;
    if (!bytes.next_byte(in, &head)) return STATUS_CORRUPT;
    const uint8_t type = head & 0x0f;
    if (type == THRIFT_STOP) {
      if (depth == 0) return STATUS_OK;
      depth--;
      continue;
    }
    int32_t id = last_id[depth] + (head >> 4);
    uint64_t raw = 0;
    if ((head >> 4) == 0) {
      if (!read_varint(in, bytes, &raw)) return STATUS_CORRUPT;
      id = static_cast<int32_t>(static_cast<int16_t>(unzigzag(raw)));
    }
    last_id[depth] = id;
    switch (type) {
      case THRIFT_TRUE:
      case THRIFT_FALSE:
        break;
      case THRIFT_BYTE:
        if (!skip_bytes(in, bytes, 1)) return STATUS_CORRUPT;
        break;
      case THRIFT_I16:
      case THRIFT_I32:
      case THRIFT_I64:
        if (!read_varint(in, bytes, &raw)) return STATUS_CORRUPT;
        set_field(fields, where[depth], id, unzigzag(raw));
        break;
      case THRIFT_DOUBLE:
        if (!skip_bytes(in, bytes, 8)) return STATUS_CORRUPT;
        break;
      case THRIFT_BINARY:
        if (!read_varint(in, bytes, &raw)) return STATUS_CORRUPT;
        if (raw > PAGE_HEADER_BYTES_MAX) return STATUS_ENCODING;
        if (!skip_bytes(in, bytes, raw)) return STATUS_CORRUPT;
        break;
      case THRIFT_STRUCT:
        if (depth + 1 == THRIFT_DEPTH_MAX) return STATUS_ENCODING;
        where[depth + 1] = depth != 0 ? IN_OTHER
                           : id == 5  ? IN_DATA_PAGE
                           : id == 7  ? IN_DICTIONARY_PAGE
                                      : IN_OTHER;
        last_id[depth + 1] = 0;
        depth++;
        break;
      default:
        // Lists, sets and maps occur in no page header that we know of.
        return STATUS_ENCODING;
    }
  }
}

/// Passes `count` bytes of the chunk on as the bytes of a page. False when the chunk ends before.
///
/// A token is what one line holds of the next eight bytes: at the end of a line it is shorter.
inline bool pass_page(line_stream& in, line_reader& bytes, uint32_t count, byte_stream& out) {
  uint32_t left = count;
  bool ended = count == 0;
  if (ended) out.write(byte_token{0, 0, true});
PAYLOAD:
  while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    byte_token token;
    token.data = 0;
    token.count = bytes.next_bytes(in, left < 8 ? static_cast<uint8_t>(left) : 8, &token.data);
    left -= token.count;
    ended = left == 0 || token.count == 0;
    token.last = ended;
    out.write(token);
  }
  return left == 0;
}

/// A page of an index holds no rows.
inline bool is_index_page(const header_fields& fields) {
  return fields.type == PAGE_INDEX && fields.compressed_bytes >= 0 &&
         fields.compressed_bytes <= 0x7fffffff;
}

/// Checks a header against what this kernel reads; gives the status of a page that it does not.
inline uint32_t classify_page(const header_fields& fields, const page_plan& plan,
                              page_token& page) {
  if (fields.uncompressed_bytes < 0 || fields.compressed_bytes < 0 ||
      fields.uncompressed_bytes > 0x7fffffff || fields.compressed_bytes > 0x7fffffff) {
    return STATUS_CORRUPT;
  }
  if (fields.type != PAGE_DATA && fields.type != PAGE_DICTIONARY) return STATUS_ENCODING;
  if (fields.value_count < 0 || fields.value_count > 0x7fffffff) return STATUS_CORRUPT;
  if (fields.encoding < 0 || fields.encoding > 15 ||
      ((plan.encodings >> fields.encoding) & 1) == 0) {
    return STATUS_ENCODING;
  }
  // On a dictionary page PLAIN_DICTIONARY is the old name of PLAIN.
  const bool plain = fields.encoding == ENCODING_PLAIN;
  const bool indexes =
      fields.encoding == ENCODING_RLE_DICTIONARY || fields.encoding == ENCODING_PLAIN_DICTIONARY;
  if (fields.type == PAGE_DICTIONARY) {
    if (!plain && fields.encoding != ENCODING_PLAIN_DICTIONARY) return STATUS_ENCODING;
  } else {
    if (!plain && !indexes) return STATUS_ENCODING;
    if (plan.nullable && fields.level_encoding != ENCODING_RLE) return STATUS_ENCODING;
  }
  page.compressed_bytes = static_cast<uint32_t>(fields.compressed_bytes);
  page.uncompressed_bytes = static_cast<uint32_t>(fields.uncompressed_bytes);
  page.value_count = static_cast<uint32_t>(fields.value_count);
  page.kind = static_cast<uint8_t>(fields.type);
  page.encoding = plain ? ENCODING_PLAIN : ENCODING_RLE_DICTIONARY;
  page.last = false;
  return STATUS_OK;
}

/// Stage: lines of a chunk in, page headers and page bytes out.
inline void read_pages(const page_plan& plan, line_stream& lines, report_stream& reports_in,
                       page_stream& pages, byte_stream& payload, report_stream& reports_out) {
  if (!plan.active) return;
  line_reader bytes;
  uint32_t status = STATUS_OK;
  uint32_t page_count = 0;
PAGES:
  while (status == STATUS_OK && bytes.refill(lines)) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    header_fields fields;
    page_token page;
    status = read_page_header(lines, bytes, fields);
    if (status == STATUS_OK && is_index_page(fields)) {
      if (!skip_bytes(lines, bytes, static_cast<uint64_t>(fields.compressed_bytes))) {
        status = STATUS_CORRUPT;
      }
      page_count++;
      continue;
    }
    if (status == STATUS_OK) status = classify_page(fields, plan, page);
    if (status == STATUS_OK) {
      pages.write(page);
      if (!pass_page(lines, bytes, page.compressed_bytes, payload)) status = STATUS_CORRUPT;
    }
    if (status == STATUS_OK) page_count++;
  }
  bytes.drain(lines);
  page_token end = page_token();
  end.last = true;
  pages.write(end);
  report own = reports_in.read();
  own.pages = page_count;
  fail_lane(own, status, plan.column, page_count, bytes.position);
  reports_out.write(own);
}

}  // namespace nearscan
