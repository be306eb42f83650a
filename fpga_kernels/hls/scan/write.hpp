// SPDX-License-Identifier: Apache-2.0
// Packs kept rows into blocks of columns and writes them, the header last.
#pragma once

#include "compact.hpp"

namespace nearscan {

/// Bytes of all strings of a column of the block.
inline uint64_t string_bytes(const block_buffer& block, int column) {
  uint64_t total = 0;
LENGTHS:
  for (uint32_t row = 0; row < block.rows; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    total += block_buffer::string_length(block.value[column][row]);
  }
  return total;
}

inline uint64_t block_bytes(const write_plan& plan, const block_buffer& block) {
  uint64_t total = BLOCK_HEADER_BYTES;
COLUMN_BYTES_SUM:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const bool is_string = plan.width[column] == WIDTH_BYTES;
    const uint64_t strings = is_string ? string_bytes(block, column) : 0;
    total += column_bytes(block.rows, plan.width[column], strings);
  }
  return total;
}

/// Writes the header of a block.
inline void write_block_header(const block_header& header, payload_writer& writer,
                               result_lines& out) {
  uint64_t words[BLOCK_HEADER_BYTES / 8];
  store_block_header(header, words);
HEADER_WORDS:
  for (uint32_t word = 0; word < BLOCK_HEADER_BYTES / 8; word++) {
#pragma HLS PIPELINE II = 1
    writer.put(out, words[word]);
  }
  writer.iterations += BLOCK_HEADER_BYTES / 8;
}

/// Writes a plain block; false when there is no room.
inline bool write_plain_block(const write_plan& plan, const block_buffer& block,
                              scratch_stream& requests, string_stream& strings,
                              payload_writer& writer, result_lines& out, write_counters& counters) {
  const uint64_t bytes = block_bytes(plan, block);
  // A block's size and its ends of strings are 32 bits wide.
  if (bytes > 0xffffffffu || bytes > plan.bytes_max - writer.at * 8) return false;
  write_block_header({block.rows, static_cast<uint32_t>(bytes), BLOCK_PLAIN}, writer, out);
COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    writer.iterations += (block.rows + 63) / 64;
  VALID:
    for (uint32_t word = 0; word < (block.rows + 63) / 64; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      writer.put(out, block.valid[column][word]);
    }
    write_values<result_lines&>(block, column, plan.width[column], writer, out);
    // A number per iteration, and a wide one in two.
    writer.iterations += block.rows * (plan.width[column] == WIDTH_W128 ? 2u : 1u);
    if (plan.width[column] == WIDTH_BYTES) {
      // Their lengths were added up before.
      writer.iterations += block.rows;
      counters.string_words +=
          write_strings(row_strings(block, column), requests, strings, writer, out);
    }
  }
  return true;
}

/// Writes a compact block; false when there is no room, for it or for what it expands to.
inline bool write_compact_block(const write_plan& plan, block_buffer& block,
                                column_facts facts[SLOTS], code_tables& codes,
                                scratch_stream& requests, string_stream& strings,
                                payload_writer& writer, result_lines& out,
                                write_counters& counters) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  compact_shape shape;
  shape_block(plan, block, facts, codes, writer, shape);
  counters.plain_bytes += shape.plain_bytes;
  // As above; the room is also that of the expanded rows.
  if (shape.plain_bytes > 0xffffffffu || shape.bytes > 0xffffffffu ||
      counters.plain_bytes > plan.bytes_max - RESULT_RECORD_BYTES ||
      shape.bytes > plan.bytes_max - writer.at * 8) {
    return false;
  }
  write_block_header({block.rows, static_cast<uint32_t>(shape.bytes), BLOCK_COMPACT}, writer, out);
COMPACT_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    write_compact_column(plan, block, column, shape.column[column], codes, requests, strings,
                         writer, out, counters);
  }
CLEAR_FACTS:
  for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
    clear_facts(facts[column]);
  }
  return true;
}

/// Writes the block and clears it; false when there is no room.
inline bool flush_block(const write_plan& plan, block_buffer& block, column_facts facts[SLOTS],
                        code_tables& codes, scratch_stream& requests, string_stream& strings,
                        payload_writer& writer, result_lines& out, write_counters& counters) {
  if (block.rows == 0) return true;
  const bool room =
      plan.compact
          ? write_compact_block(plan, block, facts, codes, requests, strings, writer, out, counters)
          : write_plain_block(plan, block, requests, strings, writer, out, counters);
  if (!room) return false;
  counters.blocks++;
  counters.rows_out += block.rows;
  clear_block(block);
  return true;
}

/// The number of a row in a word of a column: of a group it has 128 bits, and the second row has
/// the higher ones.
inline i128 number_at(const write_plan& plan, const number_token& numbers, int row) {
  if (!plan.states) return static_cast<i128>(numbers.row[row]);
  return make_i128(static_cast<uint64_t>(numbers.row[0]), static_cast<uint64_t>(numbers.row[1]));
}

/// Puts one kept row of all columns into the block.
inline void put_row(const write_plan& plan, const row_token& rows,
                    const number_token numbers[SLOTS], int row, block_buffer& block,
                    column_facts facts[SLOTS]) {
#pragma HLS ARRAY_PARTITION variable = facts complete
PUT_COLUMNS:
  for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
    if (column < plan.column_count) {
      const uint64_t valid = (rows.valid[column] >> row) & 1u;
      block.value[column][block.rows] =
          valid != 0 ? number_at(plan, numbers[column], row) : static_cast<i128>(0);
      block.valid[column][block.rows / 64] |= valid << (block.rows % 64);
      if (plan.compact) {
        note_value(plan.width[column], valid != 0, numbers[column].row[row], facts[column]);
      }
    }
  }
  block.rows++;
}

/// The header of a result, complete but for its own checksum.
inline result_record make_header(const write_plan& plan, const report& own) {
  result_record record = answer_to(plan.header, own.status);
  record.detail_column = own.detail_column;
  record.detail_page = own.detail_page;
  record.detail_offset = own.detail_offset;
  record.rows_in = own.rows_in;
  record.rows_kept = own.rows_kept;
  record.lines_read = own.lines_read;
  record.pages = in_32_bits(own.pages);
  record.page_iterations_lane_max = in_32_bits(own.page_iterations);
  record.bytes_decompressed = own.bytes_decompressed;
  record.snappy_tokens = in_32_bits(own.snappy_tokens);
  record.snappy_tokens_lane_max = in_32_bits(own.decompress_iterations);
  record.values_decoded = own.values_decoded;
  record.decode_steps_lane_max = own.decode_steps_lane_max;
  record.dictionary_entries = in_32_bits(own.dictionary_entries);
  record.rows_filtered = in_32_bits(own.rows_in);
  record.rows_projected = in_32_bits(own.rows_projected);
  record.rows_aggregated = in_32_bits(own.rows_aggregated);
  record.dictionary_words = in_32_bits(own.dictionary_words);
  record.loader_iterations_max = in_32_bits(own.loader_iterations);
  record.loader_words = in_32_bits(own.loader_words);
  record.decode_iterations_lane_max = in_32_bits(own.decode_iterations);
  record.dictionary_iterations_lane_max = in_32_bits(own.dictionary_iterations);
  record.key_words = in_32_bits(plan.key_words);
  record.filter_iterations = in_32_bits(own.filter_iterations);
  record.project_iterations = in_32_bits(own.project_iterations);
  record.aggregate_iterations = in_32_bits(own.aggregate_iterations);
  return record;
}

/// Stage: output columns in, the lines of the result out. Strings are asked for.
inline void write_result(const write_plan& plan, row_stream& rows_in, number_stream numbers[SLOTS],
                         report_stream& reports_in, scratch_stream& requests,
                         string_stream& strings, memory_report_stream& memory_read,
                         memory_report_stream& memory_written, memory_report_stream& slots_report,
                         memory_report_stream& store_report, result_lines& out) {
  block_buffer block;
#pragma HLS BIND_STORAGE variable = block.value type = ram_2p impl = bram
  column_facts facts[SLOTS];
#pragma HLS ARRAY_PARTITION variable = facts complete
  code_tables codes;
#pragma HLS BIND_STORAGE variable = codes.word type = ram_2p impl = bram
#pragma HLS BIND_STORAGE variable = codes.new_row type = ram_2p impl = bram
#pragma HLS ARRAY_PARTITION variable = codes.known complete
#pragma HLS ARRAY_PARTITION variable = codes.new_strings complete
#pragma HLS ARRAY_PARTITION variable = codes.new_greatest complete
#pragma HLS ARRAY_PARTITION variable = codes.new_bytes complete
  number_token row_words[SLOTS];
  payload_writer writer;
  write_counters counters = write_counters();
  bool room = true;
  clear_block(block);
  if (plan.compact) {
    writer.iterations += clear_tables(plan.tables, codes);
  FIRST_FACTS:
    for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
      clear_facts(facts[column]);
      facts[column].coded = true;
    }
  }
WORDS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const row_token rows = rows_in.read();
    if (rows.last) break;
  READ_COLUMNS:
    for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
      if (column < plan.column_count) numbers[column].read(row_words[column]);
    }
    writer.iterations += ROWS;
  ROWS_OF_WORD:
    for (int row = 0; row < ROWS; row++) {
      const bool wanted = counters.rows_out + block.rows < plan.rows_max;
      if (((rows.keep >> row) & 1) == 0 || !room || !wanted) continue;
      put_row(plan, rows, row_words, row, block, facts);
      if (block.rows == block_buffer::ROWS_MAX) {
        room = flush_block(plan, block, facts, codes, requests, strings, writer, out, counters);
      }
    }
  }
  report own = reports_in.read();
  if (plan.refused != STATUS_OK) {
    own = empty_report();
    own.status = plan.refused;
  }
  if (own.status == STATUS_OK && room) {
    room = flush_block(plan, block, facts, codes, requests, strings, writer, out, counters);
  }
  writer.flush(out);
  if (!room) fail(own, STATUS_OUTPUT_FULL);
  result_record record = make_header(plan, own);
  if (own.status == STATUS_OK) {
    record.rows_out = counters.rows_out;
    record.payload_bytes = writer.at * 8 - RESULT_RECORD_BYTES;
    record.payload_checksum = crc32c_end(writer.checksum);
    record.continuation_row = own.rows_in;
  }
  record.string_words = own.string_words + counters.string_words;
  record.payload_words = writer.at - RESULT_RECORD_BYTES / 8;
  record.blocks = in_32_bits(counters.blocks);
  record.write_iterations = in_32_bits(writer.iterations);
  // The stages of scratch report when all stages that ask them have ended.
  scratch_token nothing = scratch_token();
  nothing.kind = SCRATCH_END;
  requests.write(nothing);
  const memory_report read = memory_read.read();
  const memory_report wrote = memory_written.read();
  const memory_report slots = slots_report.read();
  const memory_report stored = plan.has_store ? store_report.read() : memory_report();
  record.dictionary_reads = read.entries;
  record.memory_read_iterations = in_32_bits(max_u64(read.iterations, stored.iterations));
  record.memory_reads = in_32_bits(read.requests);
  record.memory_waits = in_32_bits(read.waits);
  record.memory_write_iterations = in_32_bits(wrote.iterations + slots.iterations);
  record.memory_writes = in_32_bits(wrote.requests + slots.requests);
  send_header(record, out);
}

}  // namespace nearscan
