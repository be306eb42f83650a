// SPDX-License-Identifier: Apache-2.0
// Types, encodings, codecs and page versions, each at the places where it could go wrong.
#pragma once

#include "lz4.hpp"
#include "tb_cases.hpp"

namespace nearscan_tb {

/// Runs a column as it is, then as a sum, with every way to lay out pages that matters to it.
inline void run_column(tally& all, const std::string& name, const column_model& column) {
  scan_model model = one_column(column);
  chunk_style& style = model.columns[0].style;
  const direct others[] = {direct::plain, direct::runs, direct::differences, direct::streams};
  for (direct other : others) {
    style.other = other;
    // If an encoding is not for a type, plain pages would be tried once more.
    const bool plain = chunk_writer(model.columns[0]).other_encoding() == ENCODING_PLAIN;
    if (plain && other != direct::plain) continue;
    for (version pages : {version::one, version::two_silent, version::two_raw}) {
      for (layout values : {layout::plain, layout::dictionary_then_plain}) {
        style.pages = pages;
        style.values = values;
        style.plain_from = model.rows / 3;
        style.page_rows = pages == version::one ? 0 : 77;
        style.single_levels = pages == version::one && values == layout::plain;
        style.backwards = pages == version::two_raw;
        style.codec = pages == version::two_silent ? CODEC_LZ4_RAW : CODEC_SNAPPY;
        model.states = false;
        model.slots.clear();
        model.row_columns = {{column_at(0), WIDTH_W64}};
        run_model(all, name + ", rows", model);
        model.states = true;
        model.slots = all_slots(column_at(0));
        run_model(all, name + ", sums", model);
      }
    }
  }
}

inline void types(tally& all) {
  for (uint64_t null_every : {0, 3}) {
    for (uint64_t rows : {0, 1, 8, 300}) {
      const std::string name = std::to_string(rows) + "/" + std::to_string(null_every);
      column_model truths = number_column(
          rows, null_every, [](uint64_t row) { return as_row(row / 5 % 2); }, PHYSICAL_BOOLEAN);
      run_column(all, "truth values " + name, truths);
      column_model floats = number_column(
          rows, null_every,
          [](uint64_t row) {
            const uint32_t odd[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001,
                                    0xffc00001, 0x7f800001, 1,          0x80000001, 0x007fffff,
                                    0x00400000, 0x00800000, 0x3f800000, 0xbf99999a, 0x7f7fffff};
            return place_of(odd[row % 15]);
          },
          PHYSICAL_FLOAT);
      floats.read_as = READ_AS_FLOAT_ORDER;
      run_column(all, "floats " + name, floats);
      column_model doubles = number_column(
          rows, null_every, [](uint64_t row) { return as_row(row * row << 52 ^ row); },
          PHYSICAL_DOUBLE);
      doubles.read_as = READ_AS_FLOAT_ORDER;
      run_column(all, "doubles " + name, doubles);
      column_model counts = number_column(
          rows, null_every, [](uint64_t row) { return 0xffffffff - as_row(row % 9); },
          PHYSICAL_INT32);
      counts.read_as = READ_AS_UNSIGNED;
      run_column(all, "32 bits without a sign " + name, counts);
    }
  }
  for (uint32_t length = 1; length <= FIXED_BYTES_MAX; length++) {
    const uint32_t bits = length < 8 ? 8 * length : 64;
    column_model decimals = number_column(
        90, 7,
        [bits](uint64_t row) {
          const int64_t least = INT64_MIN >> (64 - bits);
          return row % 3 == 0 ? least : row % 3 == 1 ? -1 - least : as_row(row % 50) - 25;
        },
        PHYSICAL_FIXED_LEN_BYTE_ARRAY);
    decimals.read_as = READ_AS_BIG_ENDIAN;
    decimals.length = static_cast<uint8_t>(length);
    run_column(all, "decimals of " + std::to_string(length), decimals);
  }
}

/// The last value of a column that its annotation has no room for, and the one before it.
inline void annotated(tally& all) {
  const struct {
    uint8_t read_as;
    uint8_t bits;
    int64_t within;
    int64_t beyond;
  } cases[] = {
      {READ_AS_SIGNED, 1, -1, 1},
      {READ_AS_SIGNED, 8, 127, 128},
      {READ_AS_SIGNED, 8, -128, -129},
      {READ_AS_SIGNED, 33, INT64_MAX >> 31, (INT64_MAX >> 31) + 1},
      {READ_AS_SIGNED, 63, INT64_MIN >> 1, INT64_MIN},
      {READ_AS_UNSIGNED, 1, 1, 2},
      {READ_AS_UNSIGNED, 16, 65535, 65536},
      {READ_AS_UNSIGNED, 62, INT64_MAX >> 1, INT64_MAX},
      {READ_AS_UNSIGNED, 63, INT64_MAX, INT64_MIN},
  };
  for (const auto& at : cases) {
    for (layout values : {layout::plain, layout::dictionary}) {
      for (direct other : {direct::plain, direct::differences, direct::streams}) {
        scan_model model = one_column(
            number_column(20, 0, [&at](uint64_t row) { return row == 19 ? at.within : 0; }));
        model.columns[0].read_as = at.read_as;
        model.columns[0].number_bits = at.bits;
        model.columns[0].style.values = values;
        model.columns[0].style.other = other;
        model.slots = all_slots(column_at(0));
        const std::string name = " of " + std::to_string(at.bits) + " bits";
        run_model(all, "the last" + name, model);
        model.columns[0].cells[19].number = at.beyond;
        run_model(all, "beyond the last" + name, model, {STATUS_CORRUPT});
      }
    }
  }
}

/// Differences of every width, in blocks of every shape.
inline void differences(tally& all) {
  for (uint32_t width = 0; width <= 64; width++) {
    // Differences alternate between 0 and the largest number of as many bits.
    const uint64_t step = width == 0 ? 0 : ~static_cast<uint64_t>(0) >> (64 - width);
    for (bool narrow : {false, true}) {
      if (narrow && width > 32) continue;
      scan_model model = one_column(number_column(
          300, width % 2 * 5,
          [=](uint64_t row) {
            const uint64_t value = row / 2 * step;
            return narrow ? static_cast<int64_t>(static_cast<int32_t>(value))
                          : static_cast<int64_t>(value);
          },
          narrow ? PHYSICAL_INT32 : PHYSICAL_INT64));
      chunk_style& style = model.columns[0].style;
      style.values = layout::plain;
      style.other = direct::differences;
      model.states = false;
      model.row_columns = {{column_at(0), WIDTH_W64}};
      const uint32_t shapes[][2] = {{4, 32}, {1, 128}, {128, 32}, {2, 4096}};
      const uint32_t* shape = shapes[width % 4];
      style.miniblocks = shape[0];
      style.miniblock_values = shape[1];
      for (uint64_t seed : {0, 1}) {
        style.seed = seed + width;
        run_model(all, "differences of " + std::to_string(width) + " bits", model);
      }
    }
  }
  scan_model model = one_column(number_column(700, 0, as_row));
  model.slots = all_slots(column_at(0));
  chunk_style& style = model.columns[0].style;
  style.values = layout::plain;
  style.other = direct::differences;
  for (uint64_t page_rows : {1, 2, 128, 129, 130, 257}) {
    style.page_rows = page_rows;
    run_model(all, "differences, pages of " + std::to_string(page_rows), model);
  }
  style.miniblocks = DELTA_MINIBLOCKS_MAX + 128;
  run_model(all, "too many miniblocks", model, {STATUS_ENCODING});
}

/// A page of streams between pages of indexes, with a dictionary that a loader has put into
/// scratch.
inline void streams_beside_slots(tally& all) {
  for (uint64_t plain_page : {2, 3}) {
    // Numbers of more bits than the store has.
    scan_model model = one_column(number_column(
        32000, 0, [](uint64_t row) { return as_row(row * 7919 % 9001) + (as_row(1) << 40); }));
    model.columns[0].style.page_rows = 8000;
    model.columns[0].style.plain_page = plain_page;
    model.columns[0].style.other = direct::streams;
    model.states = false;
    model.row_columns = {{column_at(0), WIDTH_W64}};
    run_model(all, "streams in page " + std::to_string(plain_page), model);
  }
}

/// Streams beside dictionaries that are not on chip, and in scratch that is just large enough.
inline void streams(tally& all) {
  for (int length : {3, 8, 9, 16}) {
    scan_model model = one_column(number_column(
        9000, 4, [](uint64_t row) { return as_row(row * 7 % 5501) - 2750; },
        PHYSICAL_FIXED_LEN_BYTE_ARRAY));
    column_model& column = model.columns[0];
    column.read_as = READ_AS_BIG_ENDIAN;
    column.length = static_cast<uint8_t>(length);
    column.style.values = layout::dictionary_then_plain;
    column.style.other = direct::streams;
    column.style.plain_from = 8003;
    column.style.page_rows = 331;
    model.slots = all_slots(column_at(0));
    run_model(all, "streams of " + std::to_string(length) + " behind a dictionary", model);
    // 64 values a page.
    scan_model tight = one_column(column);
    tight.columns[0].nullable = false;
    for (cell& value : tight.columns[0].cells) value.null = false;
    tight.columns[0].style.values = layout::plain;
    tight.columns[0].style.page_rows = 64;
    tight.slots = model.slots;
    tight.scratch_bytes = static_cast<uint64_t>(64 * length);
    run_model(all, "room for streams of " + std::to_string(length), tight);
    tight.scratch_bytes -= 8;
    run_model(all, "no room for streams", tight, {STATUS_SCRATCH_FULL});
  }
}

/// Tests a codec at the edges of its lengths.
inline void lz4(tally& all) {
  for (packing style : {packing::literals, packing::greedy, packing::wild}) {
    for (uint64_t repeat : {1, 2, 3, 7, 50, 9000}) {
      scan_model model = one_column(
          number_column(9000, 0, [repeat](uint64_t row) { return as_row(row % repeat << 50); }));
      model.columns[0].style.codec = CODEC_LZ4_RAW;
      model.columns[0].style.values = layout::plain;
      model.columns[0].style.snappy = style;
      model.slots = all_slots(column_at(0));
      run_model(all, "LZ4, every " + std::to_string(repeat), model);
    }
    for (uint64_t rows = 0; rows < 70; rows++) {
      scan_model model = one_column(text_column(
          rows, 0, [](uint64_t row) { return std::string(row % 3, static_cast<char>(row)); }));
      model.columns[0].style.codec = CODEC_LZ4_RAW;
      model.columns[0].style.values = layout::plain;
      model.columns[0].style.snappy = style;
      model.states = false;
      model.row_columns = {{column_at(0), WIDTH_BYTES}};
      run_model(all, "LZ4, " + std::to_string(rows) + " strings", model);
    }
  }
}

/// Sends the bytes of a page.
inline void send_bytes(const bytes_t& bytes, byte_stream& out) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const size_t count = bytes.size() - at < 8 ? bytes.size() - at : 8;
    byte_token token = byte_token();
    std::memcpy(&token.data, &bytes[at], count);
    token.count = static_cast<uint8_t>(count);
    token.last = at + count == bytes.size();
    out.write(token);
  }
}

/// Decompresses a block of 10 bytes behind 8 bytes of levels of the same page.
inline uint32_t unpack_behind_levels(uint32_t stored_bytes, byte_stream& in, byte_stream& out) {
  static page_history history;
  codec_state state = codec_state();
  state.end.append(history, 0, 8, out);
  return unpack_lz4(in, packed_sizes{stored_bytes, 10}, state, history, out);
}

/// A copy comes out of its block, not out of levels in front of it.
inline void lz4_distances(tally& all) {
  nearscan_portable::set_depth_mode(depth_mode::roomy);
  for (uint32_t distance : {1, 2}) {
    bytes_t block;
    const bytes_t literals = {1, 2, 3, 4, 5};
    put_sequence(block, literals.data(), 1, distance, 4);
    put_sequence(block, literals.data(), 5, 0, 0);
    byte_stream in, out;
    uint32_t status = STATUS_MALFORMED;
    NS_REGION(flow);
    NS_STAGE(flow, send_bytes(block, in));
    NS_STAGE(flow, status = unpack_behind_levels(static_cast<uint32_t>(block.size()), in, out));
    NS_RUN(flow);
    all.runs++;
    if (status == (distance == 1 ? STATUS_OK : STATUS_CORRUPT)) continue;
    all.fail("LZ4, a distance of " + std::to_string(distance), "status " + std::to_string(status));
  }
}

inline void stored_otherwise(tally& all) {
  types(all);
  annotated(all);
  differences(all);
  streams(all);
  streams_beside_slots(all);
  lz4(all);
  lz4_distances(all);
}

}  // namespace nearscan_tb
