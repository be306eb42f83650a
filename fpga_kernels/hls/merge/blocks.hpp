// SPDX-License-Identifier: Apache-2.0
// The places of the blocks of an input, so that any of its rows can be found: a part of a merge
// needs them, and a whole merge does not.
//
// The headers of all blocks are read once, which also shows whether they tile the payload. An index
// on chip has the place of every block, or of every second, fourth and so on when there are more
// than fit; from there it is a walk of fewer than so many headers.
#pragma once

#include "order.hpp"

namespace nearscan {
namespace merging {

/// Places of an index: inputs of 131,072 rows in whole blocks are found without a walk, and those
/// of 16 inputs take 32 KiB, 8 BRAM36.
static constexpr uint32_t INDEX_PLACES = 128;

/// A block: its first row, and the word of its header.
struct block_place {
  uint64_t row;
  uint64_t word;
};

struct block_index {
  block_place places[INDEX_PLACES];
  uint32_t count;
  /// Blocks from one place to the next, a power of two.
  uint64_t stride;
  /// Rows of the input.
  uint64_t rows;
};

/// Drops every second place.
inline void thin_out(block_index& blocks) {
THIN_OUT:
  for (uint32_t place = 0; place < INDEX_PLACES / 2; place++) {
#pragma HLS PIPELINE II = 1
    blocks.places[place] = blocks.places[2 * place];
  }
  blocks.count = INDEX_PLACES / 2;
  blocks.stride *= 2;
}

/// Where the walk over the blocks of an input stands.
struct block_walk {
  uint64_t at;
  uint64_t seen;
  bool is_open;
};

/// Notes a block of an input; false if it is none.
inline bool note_block(uint64_t word, const input_cursor& cursor, block_index& blocks,
                       block_walk& walk) {
  uint64_t words[BLOCK_HEADER_BYTES / 8] = {word, 0};
  const block_header header = load_block_header(words, 0);
  if (!is_block(header, cursor.end - walk.at, cursor.rows_left - blocks.rows)) return false;
  if (walk.seen % blocks.stride == 0 && blocks.count == INDEX_PLACES) thin_out(blocks);
  if (walk.seen % blocks.stride == 0) {
    blocks.places[blocks.count] = {blocks.rows, walk.at};
    blocks.count++;
  }
  walk.seen++;
  blocks.rows += header.rows;
  walk.at += header.bytes / 8;
  walk.is_open = walk.at != cursor.end;
  return true;
}

/// Reads the headers of all blocks of inputs that have just been opened. Each says where the next
/// one is: so one of each input is asked for at a time, all inputs together.
inline void index_blocks(const merge_plan& plan, line_port& input,
                         const input_cursor cursors[MERGE_INPUTS_MAX],
                         const volatile uint32_t* cancel, block_index blocks[MERGE_INPUTS_MAX],
                         progress& done) {
  block_walk walks[MERGE_INPUTS_MAX];
BEGIN_WALKS:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    walks[index] = {cursors[index].next_block, 0, cursors[index].next_block != cursors[index].end};
    blocks[index].count = 0;
    blocks[index].stride = 1;
    blocks[index].rows = 0;
  }
  uint64_t steps = 1;
BLOCKS:
  while (steps != 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    steps = 0;
  ASK_FOR_HEADERS:
    for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      if (!walks[index].is_open) continue;
      input.read_request(walks[index].at / 8, 1);
      steps++;
    }
  TAKE_HEADERS:
    for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      if (!walks[index].is_open) continue;
      const line_t line = input.read();
      const uint64_t word = line_word(line, static_cast<int>(walks[index].at % 8));
      if (!note_block(word, cursors[index], blocks[index], walks[index])) {
        fail(done, STATUS_CORRUPT);
      }
    }
    done.lines_read += steps;
    done.waits += steps != 0 ? 1 : 0;
    if (!may_go_on(done, steps, plan.steps_max, cancel)) return;
  }
CHECK_ROWS:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    if (blocks[index].rows != cursors[index].rows_left) fail(done, STATUS_CORRUPT);
  }
}

/// The last place that is not behind a row.
inline block_place place_before(const block_index& blocks, uint64_t row) {
  uint32_t low = 0;
  uint32_t high = blocks.count;
HALVE_PLACES:
  while (high - low > 1) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 8
    const uint32_t middle = (low + high) / 2;
    if (blocks.places[middle].row <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return blocks.places[low];
}

/// Puts a cursor before the block of a row that exists.
inline bool seek_block(line_port& input, const block_index& blocks, uint64_t row,
                       input_cursor& cursor, line_store& store, progress& done) {
  line_reader reader(input, store, done);
  block_place place = place_before(blocks, row);
WALK:
  while (true) {
// A header is waited for.
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
    block_header header;
    // The index was made of the same headers, so they are in order.
    if (!read_block_header(reader, place.word, cursor.end, blocks.rows - place.row, header)) {
      return false;
    }
    if (row - place.row < header.rows) break;
    place.row += header.rows;
    place.word += header.bytes / 8;
  }
  cursor.next_block = place.word;
  cursor.next_row = place.row;
  cursor.rows_left = blocks.rows - place.row;
  return true;
}

/// Opens the block of a row that exists, unless it is open.
inline bool open_block_of(const merge_plan& plan, line_port& input, const block_index& blocks,
                          uint64_t row, input_cursor& cursor, line_store& store, progress& done) {
  if (row >= cursor.block_row && row - cursor.block_row < cursor.rows) return true;
  if (!seek_block(input, blocks, row, cursor, store, done)) return false;
  line_reader reader(input, store, done);
  return open_block(plan.columns, reader, cursor);
}

}  // namespace merging
}  // namespace nearscan
