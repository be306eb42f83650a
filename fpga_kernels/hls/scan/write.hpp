// SPDX-License-Identifier: Apache-2.0
// Packs kept rows into blocks of columns and writes them, the header last.
#pragma once

#include "compact.hpp"
#include "fill.hpp"

namespace nearscan {

/// Bytes of the block if it is plain.
inline uint64_t plain_block_bytes(const write_plan& plan, const block_buffer& block,
                                  const column_facts facts[SLOTS]) {
  uint64_t total = BLOCK_HEADER_BYTES;
COLUMN_BYTES_SUM:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    total += plain_column_bytes(block.rows, plan.width[column], facts[column]);
  }
  return total;
}

/// Writes the header of a block.
inline void write_block_header(const block_header& header, part_writer& writer) {
  uint64_t words[BLOCK_HEADER_BYTES / 8];
  store_block_header(header, words);
  write_pair(words, writer);
}

/// Writes a plain block; false when there is no room.
inline bool write_plain_block(const write_plan& plan, const block_buffer& block,
                              const column_facts facts[SLOTS], piece_stream& requests,
                              string_stream& strings, part_writer& writer,
                              write_counters& counters) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  const uint64_t bytes = plain_block_bytes(plan, block, facts);
  writer.iterations += plan.column_count;
  // A block's size and its ends of strings are 32 bits wide.
  if (bytes > 0xffffffffu || bytes > plan.bytes_max - writer.words() * 8) return false;
  write_block_header({block.rows, static_cast<uint32_t>(bytes), BLOCK_PLAIN}, writer);
COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    write_valid(block, column, writer);
    write_rows(plan, block, column, plain_packing(plan.width[column]), writer);
    if (plan.width[column] == WIDTH_BYTES) {
      counters.string_words += write_strings(row_strings(block, column), requests, strings, writer);
    }
  }
  return true;
}

/// Writes a compact block; false when there is no room, for it or for what it expands to.
inline bool write_compact_block(const write_plan& plan, block_buffer& block,
                                const column_facts facts[SLOTS], code_tables& codes,
                                piece_stream& requests, string_stream& strings, part_writer& writer,
                                write_counters& counters) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  compact_shape shape;
  shape_block(plan, block, facts, codes, writer, shape);
  counters.plain_bytes += shape.plain_bytes;
  // As above; the room is also that of the expanded rows.
  if (shape.plain_bytes > 0xffffffffu || shape.bytes > 0xffffffffu ||
      counters.plain_bytes > plan.bytes_max - RESULT_RECORD_BYTES ||
      shape.bytes > plan.bytes_max - writer.words() * 8) {
    return false;
  }
  write_block_header({block.rows, static_cast<uint32_t>(shape.bytes), BLOCK_COMPACT}, writer);
COMPACT_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    write_compact_column(plan, block, column, shape.column[column], codes, requests, strings,
                         writer, counters);
  }
  return true;
}

/// Writes the block; false when there is no room.
inline bool flush_block(const write_plan& plan, block_buffer& block, column_facts facts[SLOTS],
                        code_tables& codes, piece_stream& requests, string_stream& strings,
                        part_writer& writer, write_counters& counters) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  if (block.rows == 0) return true;
  const bool room =
      plan.compact
          ? write_compact_block(plan, block, facts, codes, requests, strings, writer, counters)
          : write_plain_block(plan, block, facts, requests, strings, writer, counters);
  if (!room) return false;
  counters.blocks++;
  counters.rows_out += block.rows;
  forget_facts(facts);
  return true;
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
  record.dictionary_pairs = in_32_bits(own.dictionary_pairs);
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

/// Stage: output columns in, the parts of the result and its header out. Strings are asked for.
inline void write_result(const write_plan& plan, row_stream& rows_in, number_stream numbers[SIDES],
                         report_stream& reports_in, piece_stream& requests, string_stream& strings,
                         memory_report_stream& memory_read, memory_report_stream& memory_written,
                         memory_report_stream& slots_report, memory_report_stream& store_report,
                         part_stream& parts, record_stream& records) {
  block_buffer block;
#pragma HLS ARRAY_PARTITION variable = block.low dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = block.high dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = block.valid dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = block.open complete
#pragma HLS BIND_STORAGE variable = block.low type = ram_2p impl = bram
#pragma HLS BIND_STORAGE variable = block.high type = ram_2p impl = bram
  column_facts facts[SLOTS];
#pragma HLS ARRAY_PARTITION variable = facts complete
  code_tables codes;
#pragma HLS BIND_STORAGE variable = codes.word type = ram_2p impl = bram
#pragma HLS BIND_STORAGE variable = codes.new_row type = ram_2p impl = bram
#pragma HLS ARRAY_PARTITION variable = codes.known complete
#pragma HLS ARRAY_PARTITION variable = codes.new_strings complete
#pragma HLS ARRAY_PARTITION variable = codes.new_greatest complete
#pragma HLS ARRAY_PARTITION variable = codes.new_bytes complete
  part_writer writer(parts);
  write_counters counters = write_counters();
  block.clear();
  if (plan.compact) writer.iterations += clear_tables(plan.tables, codes);
  begin_facts(facts);
  report own = empty_report();
  bool room = true;
  bool more = true;
BLOCKS:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    const uint64_t wanted = room ? plan.rows_max - counters.rows_out : 0;
    more = fill_block(plan, rows_in, numbers, wanted, block, facts, writer.iterations);
    if (!more) own = reports_in.read();
    if (!more && plan.refused != STATUS_OK) {
      own = empty_report();
      own.status = plan.refused;
    }
    block.end();
    if (own.status == STATUS_OK && room) {
      room = flush_block(plan, block, facts, codes, requests, strings, writer, counters);
    }
    block.rows = 0;
    if (!room) block.spilled = 0;
  }
  writer.finish();
  if (!room) fail(own, STATUS_OUTPUT_FULL);
  result_record record = make_header(plan, own);
  if (own.status == STATUS_OK) {
    record.rows_out = counters.rows_out;
    record.payload_bytes = writer.words() * 8 - RESULT_RECORD_BYTES;
    record.continuation_row = own.rows_in;
  }
  record.string_words = own.string_words + counters.string_words;
  record.payload_words = writer.words() - RESULT_RECORD_BYTES / 8;
  record.blocks = in_32_bits(counters.blocks);
  record.write_iterations = in_32_bits(writer.iterations);
  // The stages of scratch report when all stages that ask them have ended.
  requests.write(piece_token{0, 0, true});
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
  records.write(record);
}

}  // namespace nearscan
