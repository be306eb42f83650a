// SPDX-License-Identifier: Apache-2.0
// Page headers: Thrift structs in the compact protocol.
//
// The parser is a loop over fields, in whatever order they come, with an explicit stack for the
// structs that it skips (statistics); a header nests three deep at most, eight are allowed. Every
// loop consumes at least one byte, so its length is bounded by the chunk's.
#pragma once

#include "line_reader.hpp"

namespace nearscan {

/// An unsigned number of at most 64 bits in 7-bit groups.
inline bool read_varint(line_stream& in, line_reader& bytes, uint64_t* value) {
  *value = 0;
VARINT:
  for (int shift = 0; shift < 64; shift += 7) {
#pragma HLS PIPELINE II = 1
    uint8_t byte;
    if (!bytes.next_byte(in, &byte)) return false;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

inline bool skip_bytes(line_stream& in, line_reader& bytes, uint64_t count) {
SKIP:
  for (uint64_t left = count; left > 0;) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2048
    uint64_t ignored;
    const uint32_t got = bytes.next_bytes(in, left < 8 ? static_cast<uint32_t>(left) : 8, &ignored);
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
static constexpr uint8_t IN_DATA_PAGE_2 = 3;
static constexpr uint8_t IN_OTHER = 4;

/// The fields of a page header that were read; -1 where a field did not occur.
struct header_fields {
  int64_t type;
  int64_t uncompressed_bytes;
  int64_t compressed_bytes;
  /// The struct that says what the page holds; of several the last one, and all below is of it.
  uint8_t described;
  int64_t value_count;
  int64_t encoding;
  int64_t level_encoding;
  int64_t null_count;
  int64_t row_count;
  int64_t level_bytes;
  int64_t repetition_bytes;
  bool compressed;
};

/// Forgets what a struct has said of the page: another one begins.
inline void describe_anew(header_fields& fields, uint8_t where) {
  fields.described = where;
  fields.value_count = fields.encoding = fields.level_encoding = -1;
  fields.null_count = fields.row_count = fields.level_bytes = fields.repetition_bytes = -1;
  // The default of a page of version 2.
  fields.compressed = true;
}

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
  } else if (where == IN_DATA_PAGE_2) {
    if (id == 1) fields.value_count = value;
    if (id == 2) fields.null_count = value;
    if (id == 3) fields.row_count = value;
    if (id == 4) fields.encoding = value;
    if (id == 5) fields.level_bytes = value;
    if (id == 6) fields.repetition_bytes = value;
  }
}

/// The struct in field `id` of the header.
inline uint8_t header_struct(int32_t id) {
  switch (id) {
    case 5:
      return IN_DATA_PAGE;
    case 7:
      return IN_DICTIONARY_PAGE;
    case 8:
      return IN_DATA_PAGE_2;
    default:
      return IN_OTHER;
  }
}

/// Reads one page header. Corrupt when the bytes are not one, encoding when it is longer or of
/// other types than this kernel reads.
inline uint32_t read_page_header(line_stream& in, line_reader& bytes, header_fields& fields) {
  fields.type = fields.uncompressed_bytes = fields.compressed_bytes = -1;
  describe_anew(fields, IN_OTHER);
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
        if (where[depth] == IN_DATA_PAGE_2 && id == 7) fields.compressed = type == THRIFT_TRUE;
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
        where[depth + 1] = depth == 0 ? header_struct(id) : IN_OTHER;
        if (where[depth + 1] != IN_OTHER) describe_anew(fields, where[depth + 1]);
        last_id[depth + 1] = 0;
        depth++;
        break;
      default:
        // Lists, sets and maps occur in no page header that we know of.
        return STATUS_ENCODING;
    }
  }
}

/// A page of an index holds no rows.
inline bool is_index_page(const header_fields& fields) {
  return fields.type == PAGE_INDEX && fields.compressed_bytes >= 0 &&
         fields.compressed_bytes <= 0x7fffffff;
}

/// Whether the header has the struct that goes with its type.
inline bool is_described(const header_fields& fields) {
  switch (fields.type) {
    case PAGE_DATA:
      return fields.described == IN_DATA_PAGE;
    case PAGE_DICTIONARY:
      return fields.described == IN_DICTIONARY_PAGE;
    default:
      return fields.described == IN_DATA_PAGE_2;
  }
}

/// Checks the levels and rows of a header of version 2: for a column without repetition there is
/// one value a row.
inline uint32_t classify_second(const header_fields& fields, const page_plan& plan,
                                page_token& page) {
  if (fields.repetition_bytes != 0 || fields.row_count != fields.value_count ||
      fields.null_count < 0 || fields.null_count > fields.value_count || fields.level_bytes < 0 ||
      fields.level_bytes > fields.compressed_bytes ||
      fields.level_bytes > fields.uncompressed_bytes) {
    return STATUS_CORRUPT;
  }
  if (!plan.nullable && fields.level_bytes != 0) return STATUS_CORRUPT;
  page.kind = PAGE_DATA;
  page.levels = LEVELS_APART;
  page.level_bytes = static_cast<uint32_t>(fields.level_bytes);
  page.null_count = static_cast<uint32_t>(fields.null_count);
  page.compressed = fields.compressed;
  return STATUS_OK;
}

/// Checks the levels of a header of version 1.
inline uint32_t classify_first(const header_fields& fields, const page_plan& plan,
                               page_token& page) {
  if (!plan.nullable) {
    page.levels = LEVELS_NONE;
  } else if (fields.level_encoding == ENCODING_RLE) {
    page.levels = LEVELS_PREFIXED;
  } else if (fields.level_encoding == ENCODING_BIT_PACKED &&
             ((plan.encodings >> ENCODING_BIT_PACKED) & 1) != 0) {
    page.levels = LEVELS_BIT_PACKED;
  } else {
    return STATUS_ENCODING;
  }
  return STATUS_OK;
}

/// The one name of an encoding under which its pages travel on. The command says which ones data
/// pages may have.
inline uint32_t classify_encoding(const header_fields& fields, const page_plan& plan,
                                  page_token& page) {
  if (fields.encoding < 0 || fields.encoding > 15) return STATUS_ENCODING;
  page.encoding = static_cast<uint8_t>(fields.encoding);
  if (fields.type == PAGE_DICTIONARY) {
    // On a dictionary page PLAIN_DICTIONARY is the old name of PLAIN.
    const bool plain =
        page.encoding == ENCODING_PLAIN || page.encoding == ENCODING_PLAIN_DICTIONARY;
    page.encoding = ENCODING_PLAIN;
    return plain ? STATUS_OK : STATUS_ENCODING;
  }
  if (((plan.encodings >> fields.encoding) & 1) == 0) return STATUS_ENCODING;
  if (page.encoding == ENCODING_PLAIN_DICTIONARY) page.encoding = ENCODING_RLE_DICTIONARY;
  switch (page.encoding) {
    case ENCODING_PLAIN:
    case ENCODING_RLE:
    case ENCODING_DELTA_BINARY_PACKED:
    case ENCODING_RLE_DICTIONARY:
    case ENCODING_BYTE_STREAM_SPLIT:
      return STATUS_OK;
    default:
      return STATUS_ENCODING;
  }
}

/// Checks a header against what this kernel reads; gives the status of a page that it does not.
inline uint32_t classify_page(const header_fields& fields, const page_plan& plan,
                              page_token& page) {
  if (fields.uncompressed_bytes < 0 || fields.compressed_bytes < 0 ||
      fields.uncompressed_bytes > 0x7fffffff || fields.compressed_bytes > 0x7fffffff) {
    return STATUS_CORRUPT;
  }
  if (fields.type != PAGE_DATA && fields.type != PAGE_DICTIONARY && fields.type != PAGE_DATA_2) {
    return STATUS_ENCODING;
  }
  if (!is_described(fields) || fields.value_count < 0 || fields.value_count > 0x7fffffff) {
    return STATUS_CORRUPT;
  }
  page.compressed_bytes = static_cast<uint32_t>(fields.compressed_bytes);
  page.uncompressed_bytes = static_cast<uint32_t>(fields.uncompressed_bytes);
  page.value_count = static_cast<uint32_t>(fields.value_count);
  page.level_bytes = 0;
  page.null_count = 0;
  page.kind = static_cast<uint8_t>(fields.type);
  page.levels = LEVELS_NONE;
  page.compressed = true;
  page.last = false;
  const uint32_t status = classify_encoding(fields, plan, page);
  if (status != STATUS_OK || fields.type == PAGE_DICTIONARY) return status;
  return fields.type == PAGE_DATA ? classify_first(fields, plan, page)
                                  : classify_second(fields, plan, page);
}

}  // namespace nearscan
