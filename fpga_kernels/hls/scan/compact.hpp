// SPDX-License-Identifier: Apache-2.0
// Packs the columns of a compact block: differences of numbers and of lengths of strings from the
// least of the block, and codes of strings that came out of a small dictionary.
//
// What has to be known of a column before its first word is gathered while rows are put into the
// block. Codes are numbered before the block is written, a row per iteration.
#pragma once

#include "facts.hpp"
#include "write_numbers.hpp"

namespace nearscan {

/// Words of a table that may be on their way to it: more than its memory takes cycles to be read.
static constexpr uint32_t TABLE_DELAY = 4;
/// Entries of a word of a table, of 16 bits each.
static constexpr uint32_t TABLE_ENTRIES = 4;
static constexpr uint32_t TABLE_WORDS = CODED_STRINGS_MAX / TABLE_ENTRIES;

/// The codes of the strings that have been sent: of each entry of a dictionary one more than its
/// code, 0 of one that was not sent. And of a block, the rows with strings that are new.
struct code_tables {
  uint64_t word[CODED_COLUMNS_MAX][TABLE_WORDS];
  uint16_t new_row[CODED_COLUMNS_MAX][BLOCK_ROWS_MAX];
  uint32_t known[CODED_COLUMNS_MAX];
  uint32_t new_strings[CODED_COLUMNS_MAX];
  /// The greatest length of a new string, and the bytes of all.
  uint64_t new_greatest[CODED_COLUMNS_MAX];
  uint64_t new_bytes[CODED_COLUMNS_MAX];
};

/// Forgets all codes; gives the iterations.
inline uint64_t clear_tables(uint32_t tables, code_tables& codes) {
CLEAR_TABLES:
  for (uint32_t at = 0; at < tables * TABLE_WORDS; at++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 8192
    codes.word[at / TABLE_WORDS][at % TABLE_WORDS] = 0;
  }
CLEAR_KNOWN:
  for (uint32_t table = 0; table < CODED_COLUMNS_MAX; table++) {
#pragma HLS UNROLL
    codes.known[table] = 0;
  }
  return static_cast<uint64_t>(tables) * TABLE_WORDS;
}

/// A word of a table, as the last iterations have left it.
struct recent_words {
  uint32_t at[TABLE_DELAY];
  uint64_t word[TABLE_DELAY];

  recent_words() : at(), word() {
  NO_WORDS:
    for (uint32_t i = 0; i < TABLE_DELAY; i++) {
#pragma HLS UNROLL
      at[i] = TABLE_WORDS;
    }
  }

  /// The latest word of place `wanted`; `stored` is what the memory has there.
  uint64_t find(uint32_t wanted, uint64_t stored) const {
    uint64_t found = stored;
  FIND_RECENT:
    for (uint32_t i = TABLE_DELAY; i > 0; i--) {
#pragma HLS UNROLL
      if (at[i - 1] == wanted) found = word[i - 1];
    }
    return found;
  }

  void put(uint32_t place, uint64_t latest) {
  SHIFT_RECENT:
    for (uint32_t i = TABLE_DELAY - 1; i > 0; i--) {
#pragma HLS UNROLL
      at[i] = at[i - 1];
      word[i] = word[i - 1];
    }
    at[0] = place;
    word[0] = latest;
  }
};

/// Numbers the strings of a column in the order of their first use: puts the code of each row into
/// the higher half of its number. A row per iteration.
inline void number_strings(block_buffer& block, uint32_t column, uint32_t table,
                           code_tables& codes) {
  recent_words recent;
#pragma HLS ARRAY_PARTITION variable = recent.at complete
#pragma HLS ARRAY_PARTITION variable = recent.word complete
  uint32_t known = codes.known[table];
  uint32_t new_strings = 0;
  uint64_t new_greatest = 0;
  uint64_t new_bytes = 0;
NUMBER_STRINGS:
  for (uint32_t row = 0; row < block.rows; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = codes.word type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    const uint64_t reference = block.number(column, row);
    const uint32_t entry = coded_entry(reference);
    const uint32_t at = entry / TABLE_ENTRIES;
    const uint32_t shift = entry % TABLE_ENTRIES * (64 / TABLE_ENTRIES);
    uint64_t word = recent.find(at, codes.word[table][at]);
    const bool valid = ((block.valid_word(column, row / 64) >> (row % 64)) & 1) != 0;
    const uint64_t sent = low_bits(word >> shift, 64 / TABLE_ENTRIES);
    const bool is_new = valid && sent == 0;
    if (is_new) {
      word |= static_cast<uint64_t>(known + 1) << shift;
      codes.word[table][at] = word;
      codes.new_row[table][new_strings] = static_cast<uint16_t>(row);
      new_greatest = max_u64(new_greatest, reference_length(reference));
      new_bytes += reference_length(reference);
      new_strings++;
      known++;
    }
    recent.put(at, word);
    const uint64_t code = is_new ? known - 1 : sent - 1;
    block.high[block_buffer::memory(column, row)][block_buffer::place(column, row / ROWS)] =
        valid ? code : 0;
  }
  codes.known[table] = known;
  codes.new_strings[table] = new_strings;
  codes.new_greatest[table] = new_greatest;
  codes.new_bytes[table] = new_bytes;
}

/// The new strings of a column of a block.
struct new_strings {
  const block_buffer& block;
  const code_tables& codes;
  uint32_t column;
  uint32_t table;

  new_strings(const block_buffer& of, const code_tables& by, uint32_t index, uint32_t its_table)
      : block(of), codes(by), column(index), table(its_table) {}

  uint32_t count() const { return codes.new_strings[table]; }
  uint64_t reference(uint32_t at) const { return block.number(column, codes.new_row[table][at]); }
};

/// Bits that a number takes.
inline uint8_t bits_of(uint64_t number) {
  uint32_t bits = 0;
HIGHEST_BIT:
  for (uint32_t bit = 0; bit < 64; bit++) {
#pragma HLS UNROLL
    bits = ((number >> bit) & 1) != 0 ? bit + 1 : bits;
  }
  return static_cast<uint8_t>(bits);
}

/// The record of a column, once its strings are numbered.
inline compact_column_record describe(uint8_t width, uint8_t table, const column_facts& facts,
                                      const code_tables& codes) {
  compact_column_record record = compact_column_record();
  record.flags = facts.has_null ? COMPACT_NULLS : 0;
  if (table != NO_TABLE && facts.coded) {
    record.packing = PACKING_CODES;
    record.bits = bits_of(codes.known[table] != 0 ? codes.known[table] - 1 : 0);
    record.length_bits = bits_of(codes.new_greatest[table]);
    record.strings = codes.new_strings[table];
    return record;
  }
  const bool is_null = facts.least > facts.greatest;
  record.packing = width == WIDTH_BYTES ? PACKING_LENGTHS : PACKING_DIFFERENCES;
  record.base = is_null ? 0 : static_cast<uint64_t>(facts.least);
  record.bits = bits_of(is_null ? 0 : static_cast<uint64_t>(facts.greatest) - record.base);
  return record;
}

/// Bytes of `count` numbers of so many bits, padded.
inline uint64_t packed_bytes(uint32_t count, uint8_t bits) {
  return (static_cast<uint64_t>(count) * bits + 63) / 64 * 8;
}

/// Bytes of a compact column.
inline uint64_t compact_bytes(const block_buffer& block, const compact_column_record& record,
                              uint64_t string_bytes) {
  const uint64_t validity = record.flags != 0 ? (block.rows + 63) / 64 * 8 : 0;
  return COMPACT_COLUMN_RECORD_BYTES + validity + packed_bytes(block.rows, record.bits) +
         packed_bytes(record.strings, record.length_bits) + (string_bytes + 7) / 8 * 8;
}

/// Bits that wait for their word to fill.
struct bit_packer {
  u128 hold;
  uint32_t held;

  bit_packer() : hold(0), held(0) {}

  /// Puts `count` bits, 64 at most, behind those that wait. The rest of `bits` is zero.
  void put(uint64_t bits, uint32_t count, part_writer& writer) {
    hold |= static_cast<u128>(bits) << held;
    held += count;
    if (held >= 64) {
      writer.put_word(static_cast<uint64_t>(hold));
      hold >>= 64;
      held -= 64;
    }
  }

  void finish(part_writer& writer) {
    if (held != 0) writer.put_word(static_cast<uint64_t>(hold));
  }
};

/// As the rows of a compact column are packed.
inline row_packing compact_packing(const compact_column_record& record) {
  const packed_kind kind = record.packing == PACKING_CODES     ? PACKED_CODES
                           : record.packing == PACKING_LENGTHS ? PACKED_LENGTHS
                                                               : PACKED_NUMBERS;
  return row_packing{kind, record.bits, record.base};
}

/// Packs the lengths of the new strings: one per iteration, and one for the last word.
inline void write_new_lengths(const new_strings& strings, uint8_t bits, part_writer& writer) {
  bit_packer packer;
NEW_LENGTHS:
  for (uint32_t at = 0; at < strings.count(); at++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
    packer.put(reference_length(strings.reference(at)), bits, writer);
  }
  packer.finish(writer);
  writer.iterations += strings.count() + 1;
}

/// The records of the columns of a block, and its bytes, compact and as it would be plain.
struct compact_shape {
  compact_column_record column[SLOTS];
  uint64_t bytes;
  uint64_t plain_bytes;
};

/// Numbers the strings of a block that have codes, and finds its shape.
inline void shape_block(const write_plan& plan, block_buffer& block,
                        const column_facts facts[SLOTS], code_tables& codes, part_writer& writer,
                        compact_shape& shape) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  shape.bytes = BLOCK_HEADER_BYTES;
  shape.plain_bytes = BLOCK_HEADER_BYTES;
SHAPE_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const uint8_t width = plan.width[column];
    const uint8_t table = plan.table[column];
    writer.iterations++;
    uint64_t strings = string_bytes_of(width, facts[column]);
    shape.plain_bytes += plain_column_bytes(block.rows, width, facts[column]);
    if (table != NO_TABLE && facts[column].coded) {
      number_strings(block, column, table, codes);
      writer.iterations += block.rows;
      strings = codes.new_bytes[table];
    }
    shape.column[column] = describe(width, table, facts[column], codes);
    shape.bytes += compact_bytes(block, shape.column[column], strings);
  }
}

/// Writes a compact column.
inline void write_compact_column(const write_plan& plan, const block_buffer& block, uint32_t column,
                                 const compact_column_record& record, const code_tables& codes,
                                 piece_stream& requests, string_stream& strings,
                                 part_writer& writer, write_counters& counters) {
  uint64_t words[COMPACT_COLUMN_RECORD_BYTES / 8];
  store_compact_column_record(record, words);
  write_pair(words, writer);
  if (record.flags != 0) write_valid(block, column, writer);
  write_rows(plan, block, column, compact_packing(record), writer);
  if (record.packing == PACKING_CODES) {
    const new_strings fresh(block, codes, column, plan.table[column]);
    write_new_lengths(fresh, record.length_bits, writer);
    counters.string_words += write_strings(fresh, requests, strings, writer);
  } else if (record.packing == PACKING_LENGTHS) {
    counters.string_words += write_strings(row_strings(block, column), requests, strings, writer);
  }
}

}  // namespace nearscan
