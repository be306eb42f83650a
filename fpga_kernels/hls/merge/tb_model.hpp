// SPDX-License-Identifier: Apache-2.0
// The model of a test of the merge, and the answer that the merge must give.
//
// Written from docs/command-format.md and not from the kernel: it shares nothing with it but the
// numbers of the format. The rows are sorted by the standard library, all at once.
#pragma once

#include <algorithm>

#include "../common/tb_frame.hpp"

namespace nearscan_tb {

struct key_model {
  uint16_t column;
  bool descending;
  bool nulls_first;
};

typedef std::vector<out_row> rows_t;

/// A merge: columns, their order, and the rows of each input.
struct merge_model {
  std::vector<uint8_t> widths;
  std::vector<key_model> keys;
  bool distinct = false;
  std::vector<rows_t> inputs;
  /// Rows of a block of the inputs.
  uint32_t block_rows = BLOCK_ROWS_MAX;
  uint64_t bytes_max = 1u << 20;
  uint64_t steps_max = 1u << 30;
  bool cancelled = false;
  /// Which part of it a kernel does, of how many.
  uint16_t part = 0;
  uint16_t parts = 1;
};

inline out_cell null_cell() { return out_cell(); }

inline out_cell number_cell(i128 number) {
  out_cell cell;
  cell.null = false;
  cell.number = number;
  return cell;
}

inline out_cell text_cell(const std::string& text) {
  out_cell cell;
  cell.null = false;
  cell.text = text;
  return cell;
}

/// Below zero, zero or above: the order of two rows.
inline int golden_order(const merge_model& model, const out_row& a, const out_row& b) {
  for (const key_model& key : model.keys) {
    const out_cell& x = a[key.column];
    const out_cell& y = b[key.column];
    if (x.null && y.null) continue;
    if (x.null) return key.nulls_first ? -1 : 1;
    if (y.null) return key.nulls_first ? 1 : -1;
    int order = x.number < y.number ? -1 : y.number < x.number ? 1 : 0;
    if (model.widths[key.column] == WIDTH_BYTES) order = x.text.compare(y.text);
    if (order != 0) return key.descending ? -order : order;
  }
  return 0;
}

/// Sorts rows as an input or an output has to be.
inline void golden_sort(const merge_model& model, rows_t& rows) {
  std::stable_sort(rows.begin(), rows.end(), [&](const out_row& a, const out_row& b) {
    return golden_order(model, a, b) < 0;
  });
}

inline uint64_t rows_of_inputs(const merge_model& model) {
  uint64_t rows = 0;
  for (const rows_t& input : model.inputs) rows += input.size();
  return rows;
}

/// The rows that must come out: all of them, those of lower inputs first where they tie.
inline rows_t golden_merge(const merge_model& model) {
  rows_t all;
  for (const rows_t& input : model.inputs) all.insert(all.end(), input.begin(), input.end());
  golden_sort(model, all);
  if (!model.distinct) return all;
  rows_t kept;
  for (const out_row& row : all) {
    if (kept.empty() || golden_order(model, kept.back(), row) != 0) kept.push_back(row);
  }
  return kept;
}

inline void append_number(bytes_t& out, u128 number, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) out.push_back(static_cast<uint8_t>(number >> (8 * i)));
}

inline void pad_to(bytes_t& out, size_t align) {
  out.resize((out.size() + align - 1) / align * align);
}

/// Writes one column of a block.
inline void write_column(bytes_t& out, const rows_t& rows, size_t first, size_t end, size_t column,
                         uint8_t width) {
  bytes_t validity((end - first + 63) / 64 * 8);
  bytes_t strings;
  bytes_t values;
  for (size_t row = first; row < end; row++) {
    const out_cell& cell = rows[row][column];
    const size_t index = row - first;
    if (!cell.null) {
      validity[index / 8] = static_cast<uint8_t>(validity[index / 8] | 1u << (index % 8));
    }
    strings.insert(strings.end(), cell.text.begin(), cell.text.end());
    const uint32_t bytes = width == WIDTH_BOOL   ? 1
                           : width == WIDTH_W64  ? 8
                           : width == WIDTH_W128 ? 16
                                                 : 4;
    append_number(values, width == WIDTH_BYTES ? strings.size() : static_cast<u128>(cell.number),
                  bytes);
  }
  pad_to(values, 8);
  pad_to(strings, 8);
  out.insert(out.end(), validity.begin(), validity.end());
  out.insert(out.end(), values.begin(), values.end());
  out.insert(out.end(), strings.begin(), strings.end());
}

/// Writes the result of a scan. `rows_in` is what its unit had.
inline bytes_t write_result(const merge_model& model, const rows_t& rows, uint64_t rows_in) {
  bytes_t out(RESULT_RECORD_BYTES);
  uint64_t blocks = 0;
  for (size_t first = 0; first < rows.size(); first += model.block_rows) {
    const size_t end = std::min<size_t>(rows.size(), first + model.block_rows);
    const size_t start = out.size();
    out.resize(start + BLOCK_HEADER_BYTES);
    for (size_t column = 0; column < model.widths.size(); column++) {
      write_column(out, rows, first, end, column, model.widths[column]);
    }
    const block_header header = {static_cast<uint32_t>(end - first),
                                 static_cast<uint32_t>(out.size() - start), 0};
    std::memcpy(&out[start], &header, sizeof(header));
    blocks++;
  }
  result_record header = answer_to(command_header(), STATUS_OK);
  header.rows_in = rows_in;
  header.rows_kept = rows.size();
  header.rows_out = rows.size();
  header.continuation_row = rows_in;
  header.payload_bytes = out.size() - RESULT_RECORD_BYTES;
  header.blocks = static_cast<uint32_t>(blocks);
  uint64_t words[RESULT_RECORD_BYTES / 8];
  finish_header(header, words);
  std::memcpy(&out[0], words, sizeof(words));
  return out;
}

}  // namespace nearscan_tb
