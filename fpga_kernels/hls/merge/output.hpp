// SPDX-License-Identifier: Apache-2.0
// Writes blocks as the lines of the result, the header last. Blocks are never joined into one
// array: they are the segments of the result.
#pragma once

#include "../common/block_bytes.hpp"
#include "../common/result_lines.hpp"
#include "allocation.hpp"

namespace nearscan {
namespace merging {

/// The position in the result: words one after the other into the lines of the output, with their
/// checksum. A word is put per iteration.
struct result_writer {
  line_t line;
  /// The next word of the output.
  uint64_t at;
  /// Iterations of all loops of the process that writes, which follow each other.
  uint64_t iterations;
  uint32_t checksum;
  uint64_t rows_out;
  uint64_t blocks;

  result_writer()
      : line(),
        at(RESULT_RECORD_BYTES / 8),
        iterations(0),
        checksum(CRC32C_START),
        rows_out(0),
        blocks(0) {}

  void put(result_lines& out, uint64_t word) {
    set_line_word(line, at % LINE_WORDS, word);
    at++;
    checksum = crc32c_word(checksum, word);
    if (at % LINE_WORDS == 0) out.write(result_line{line, LINE_WORDS, at / LINE_WORDS - 1, false});
    iterations++;
  }

  /// Sends the words of the last line, if it is not whole.
  void flush(result_lines& out) {
    const uint32_t words = static_cast<uint32_t>(at % LINE_WORDS);
    if (words != 0) {
      out.write(result_line{line, static_cast<uint8_t>(words), at / LINE_WORDS, false});
    }
  }
};

/// The end of the last string of a column.
inline uint32_t last_end(const value_block& words, uint32_t first, uint32_t rows) {
  const uint32_t last = rows - 1;
  return static_cast<uint32_t>(words[first + last / 2] >> (32 * (last % 2)));
}

/// Bytes of a block.
inline uint64_t block_bytes(const output_plan& plan, const value_block& words, uint32_t rows) {
  uint64_t total = BLOCK_HEADER_BYTES;
  uint32_t first = 0;
COLUMN_BYTES:
  for (uint32_t column = 0; column < plan.columns.count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const uint8_t width = plan.columns.width[column];
    const uint32_t strings = width == WIDTH_BYTES ? last_end(words, first, rows) : 0;
    total += column_bytes(rows, width, strings);
    first += plan.block_rows * value_bytes(width) / 8;
  }
  return total;
}

/// Writes the strings of a column; takes them without a word if there is no room.
inline void write_strings(bool has_room, uint32_t bytes, packed_stream& strings,
                          result_writer& writer, result_lines& out) {
  uint32_t left = (bytes + 7) / 8;
  bool more = true;
STRING_WORDS:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const packed_token token = strings.read();
    // What ends a column holds its last bytes, if any.
    if (has_room && left != 0) {
      writer.put(out, token.word);
      left--;
    }
    more = !token.ends_column;
  }
  writer.iterations++;
}

/// Writes one column of a block.
inline void write_column(const output_plan& plan, uint32_t column, uint32_t first, uint32_t rows,
                         const value_block& words, const validity_block& validity, bool has_room,
                         packed_stream& strings, result_writer& writer, result_lines& out) {
  const uint8_t width = plan.columns.width[column];
  const uint32_t valid_words = has_room ? (rows + 63) / 64 : 0;
  const uint32_t value_words = has_room ? (rows * value_bytes(width) + 7) / 8 : 0;
COLUMN_WORDS:
  for (uint32_t word = 0; word < valid_words + value_words; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2064
    writer.put(out, word < valid_words ? validity[column * VALID_WORDS + word]
                                       : words[first + word - valid_words]);
  }
  if (width == WIDTH_BYTES) {
    const uint32_t bytes = rows == 0 ? 0 : last_end(words, first, rows);
    write_strings(has_room, bytes, strings, writer, out);
  }
}

/// Writes a block; false when there is no room.
inline bool write_block(const output_plan& plan, const block_token& block, const value_block& words,
                        const validity_block& validity, bool has_room, packed_stream& strings,
                        result_writer& writer, result_lines& out) {
  const uint64_t bytes = block.rows == 0 ? 0 : block_bytes(plan, words, block.rows);
  // A block's size and its ends of strings are 32 bits wide.
  const bool fits = has_room && !block.too_large && bytes <= 0xffffffffu &&
                    bytes <= plan.bytes_max - writer.at * 8;
  const bool is_written = fits && block.rows != 0;
  if (is_written) {
    const block_header header = {block.rows, static_cast<uint32_t>(bytes), 0};
    uint64_t header_words[BLOCK_HEADER_BYTES / 8];
    store_block_header(header, header_words);
  BLOCK_HEADER_WORDS:
    for (uint32_t word = 0; word < BLOCK_HEADER_BYTES / 8; word++) {
#pragma HLS PIPELINE II = 1
      writer.put(out, header_words[word]);
    }
    writer.blocks++;
    writer.rows_out += block.rows;
  }
  uint32_t first = 0;
WRITE_COLUMNS:
  for (uint32_t column = 0; column < plan.columns.count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    write_column(plan, column, first, block.rows, words, validity, is_written, strings, writer,
                 out);
    first += plan.block_rows * value_bytes(plan.columns.width[column]) / 8;
  }
  return fits;
}

/// What the processes did, in the order of their tokens in the header.
struct process_reports {
  process_report fetched;
  process_report asked;
  process_report read;
  process_report keyed;
  process_report chosen;
  process_report strings_asked;
  process_report strings_packed;
};

inline uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// Adds what the processes did to a header. Of several failures the one that ended the merge is
/// told, then those that were found on the way.
inline void add_reports(const process_reports& all, const result_writer& writer, bool has_room,
                        result_record& record) {
  record.status = all.chosen.status != STATUS_OK          ? all.chosen.status
                  : all.read.status != STATUS_OK          ? all.read.status
                  : all.strings_asked.status != STATUS_OK ? all.strings_asked.status
                  : !has_room                             ? STATUS_OUTPUT_FULL
                                                          : STATUS_OK;
  record.lines_read += all.fetched.lines_read;
  record.pages = in_32_bits(record.pages + all.fetched.bursts);
  record.dictionary_reads += all.asked.waits + all.chosen.waits;
  record.values_decoded += all.read.values;
  record.decode_steps_lane_max = all.chosen.choices;
  record.filter_iterations = in_32_bits(all.chosen.iterations);
  record.project_iterations = in_32_bits(all.fetched.iterations);
  record.decode_iterations_lane_max = in_32_bits(larger(all.read.iterations, all.keyed.iterations));
  record.write_iterations = in_32_bits(larger(writer.iterations, all.strings_packed.iterations));
  record.string_words += all.chosen.string_words + all.strings_packed.string_words;
}

/// Process: blocks and strings in, lines of the result out.
inline void write_blocks(const output_plan& plan, const result_record& header,
                         value_blocks& words_in, validity_blocks& validity_in, block_stream& blocks,
                         packed_stream& strings, report_stream& fetched, report_stream& asked,
                         report_stream& read, report_stream& keyed, report_stream& chosen,
                         report_stream& strings_asked, report_stream& strings_packed,
                         result_lines& out) {
  result_writer writer;
  bool has_room = true;
BLOCKS_TO_WRITE:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    const block_token block = blocks.read();
    if (block.last) break;
    hls::read_lock<value_block> words(words_in);
    hls::read_lock<validity_block> validity(validity_in);
    has_room = write_block(plan, block, words, validity, has_room, strings, writer, out);
  }
  writer.flush(out);
  process_reports all;
  all.fetched = fetched.read();
  all.asked = asked.read();
  all.read = read.read();
  all.keyed = keyed.read();
  all.chosen = chosen.read();
  all.strings_asked = strings_asked.read();
  all.strings_packed = strings_packed.read();
  result_record record = header;
  add_reports(all, writer, has_room, record);
  record.payload_words = writer.at - RESULT_RECORD_BYTES / 8;
  record.blocks = in_32_bits(writer.blocks);
  if (record.status == STATUS_OK) {
    record.rows_out = writer.rows_out;
    record.payload_bytes = writer.at * 8 - RESULT_RECORD_BYTES;
    record.payload_checksum = crc32c_end(writer.checksum);
    record.continuation_row = record.rows_in;
  }
  send_header(record, out);
}

}  // namespace merging
}  // namespace nearscan
