// SPDX-License-Identifier: Apache-2.0
// Damaged commands and damaged chunks: the kernel must end with a status and touch nothing else.
#pragma once

#include "tb_cases.hpp"
#include "tb_random.hpp"

namespace nearscan_tb {

/// Changes some bytes of `bytes[begin .. end]`, or cuts and shifts them.
inline void damage(uint8_t* bytes, uint64_t begin, uint64_t end, random_source& random) {
  const uint64_t times = 1 + random.below(3);
  for (uint64_t i = 0; i < times; i++) {
    const uint64_t at = begin + random.below(end - begin);
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << random.below(8));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random.next());
        break;
      case 2:
        bytes[at] = random.once_in(2) ? 0xff : 0;
        break;
      case 3: {
        // A small number becomes a slightly different one.
        bytes[at] = static_cast<uint8_t>(bytes[at] + random.between(-2, 2));
        break;
      }
      default: {
        const uint64_t from = begin + random.below(end - begin);
        const uint64_t length = std::min(end - std::max(at, from), 1 + random.below(16));
        std::memmove(bytes + at, bytes + from, length);
        break;
      }
    }
  }
}

/// Runs what `memories` hold, unless the command leaves them: a runtime would not start it then.
inline void run_damaged(tally& all, const std::string& name, test_memories memories,
                        const scan_model& model, depth_mode mode, uint64_t statuses[]) {
  static scan_plan plan;
  const uint32_t loaded = load_command(memories.command.data(), plan);
  if (loaded == STATUS_OK && !within_memories(plan, memories.input.size() * 64, model.bytes_max,
                                              (memories.scratch.size() - 1) * 8)) {
    return;
  }
  std::vector<uint8_t> widths;
  if (loaded == STATUS_OK) {
    widths.assign(plan.write.width, plan.write.width + plan.write.column_count);
  }
  call_kernel(memories, mode);
  all.runs++;
  const parsed_result result =
      check_frame(memories, widths, loaded == STATUS_OK && plan.write.compact);
  if (!result.error.empty()) {
    all.fail(name, result.error);
    return;
  }
  if (loaded != STATUS_OK && result.header.status != loaded) {
    all.fail(name, "a refused command was run");
  }
  statuses[result.header.status]++;
}

/// A model whose rows are few, so that many damaged runs take little time.
inline scan_model small_model(uint64_t seed) {
  random_maker maker(seed);
  do {
    maker.model = scan_model();
    maker.make();
  } while (maker.model.rows > 700 || maker.model.columns.empty());
  maker.model.compact = !maker.model.states && seed % 2 == 0;
  maker.model.bytes_max = 1 << 16;
  // Damage can make every page repeat itself; that must end too.
  maker.model.steps_max = 100000;
  return maker.model;
}

/// First byte of a section.
inline uint32_t find_section(const test_memories& memories, uint16_t kind) {
  const command_header header = load_command_header(memories.command.data(), 0);
  for (uint32_t i = 0; i < header.section_count; i++) {
    const section_entry entry =
        load_section_entry(memories.command.data(), COMMAND_HEADER_BYTES + i * SECTION_ENTRY_BYTES);
    if (entry.kind == kind) return entry.offset;
  }
  return 0;
}

/// The smallest commands that are wrong in one way each.
inline void crafted(tally& all) {
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  scan_model model = one_column(number_column(100, 0, as_row));
  model.slots = all_slots(column_at(0));
  const std::vector<written_chunk> chunks = {write_chunk(model.columns[0])};
  // The golden model has no meaning for these.
  const auto expect = [&](const char* name, const scan_model& wrong, uint32_t status) {
    const uint64_t before = statuses[status];
    run_damaged(all, name, bind_model(wrong, chunks), wrong, depth_mode::roomy, statuses);
    if (statuses[status] == before) all.fail(name, "is not refused as it should be");
  };
  scan_model wrong = model;
  wrong.slots[0].operand = column_at(1);
  expect("a column that is not there", wrong, STATUS_MALFORMED);
  wrong = model;
  wrong.slots[0].function = 9;
  expect("an unknown function", wrong, STATUS_UNSUPPORTED);
  wrong = model;
  wrong.columns[0].physical_type = 3;
  expect("an unknown type", wrong, STATUS_UNSUPPORTED);
  // Two lanes in one range of scratch: the references of one could be made by the other.
  scan_model shared = model;
  shared.columns.push_back(model.columns[0]);
  test_memories overlapping = bind_model(shared, {chunks[0], chunks[0]});
  const uint64_t second = overlapping.command[find_section(overlapping, SECTION_COLUMNS) / 8 +
                                              (COLUMN_RECORD_BYTES + 32) / 8] -= 8;
  sign_command(overlapping.command);
  run_damaged(all, "shared scratch", overlapping, shared, depth_mode::roomy, statuses);
  if (second == 0 || statuses[STATUS_MALFORMED] != 2) all.fail("shared scratch", "is allowed");
  wrong = model;
  wrong.rows = 101;
  wrong.columns[0].cells.resize(100);
  test_memories memories = bind_model(wrong, chunks);
  run_damaged(all, "a row too few", memories, wrong, depth_mode::declared, statuses);
  wrong.rows = 99;
  memories = bind_model(wrong, chunks);
  run_damaged(all, "a row too many", memories, wrong, depth_mode::declared, statuses);
  if (statuses[STATUS_CORRUPT] != 2) all.fail("rows of a chunk", "are not counted");
  memories = bind_model(model, chunks);
  memories.command[1] ^= 1ull << 40;
  run_damaged(all, "a wrong checksum", memories, model, depth_mode::roomy, statuses);
  memories = bind_model(model, chunks);
  memories.command[1] = (memories.command[1] & ~0xffffffffull) | 65544;
  run_damaged(all, "a size too large", memories, model, depth_mode::roomy, statuses);
  if (statuses[STATUS_MALFORMED] != 4) all.fail("frames", "are not checked");
}

/// A dictionary behind the data, of a key: codes larger than the size that was told before.
inline void late_dictionary(tally& all) {
  scan_model model =
      one_column(number_column(64, 0, [](uint64_t row) { return as_row(row % 50); }));
  model.columns.assign(4, model.columns[0]);
  model.keys = {0, 1, 2, 3};
  model.slots = all_slots(column_at(0));
  std::vector<written_chunk> chunks;
  for (column_model& column : model.columns) {
    column.style.codec = CODEC_UNCOMPRESSED;
    chunks.push_back(write_chunk(column));
    const bytes_t empty_page = page_header({PAGE_DATA, 1, 1, 0, ENCODING_RLE_DICTIONARY}, false);
    bytes_t& bytes = chunks.back().bytes;
    bytes.insert(bytes.begin(), 1, 0);
    bytes.insert(bytes.begin(), empty_page.begin(), empty_page.end());
  }
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  const test_memories memories = bind_model(model, chunks);
  for (depth_mode mode : ALL_DEPTHS) {
    run_damaged(all, "a dictionary behind data", memories, model, mode, statuses);
  }
  if (statuses[STATUS_CORRUPT] != 3) all.fail("a dictionary behind data", "is believed");
}

/// A key whose second page has an index far behind its dictionary: the rows of the other columns
/// that stand in the same word must not be folded under it. `first` rows have a page of their own,
/// `rest` rows the second one.
inline void wild_index(tally& all, uint8_t first, uint8_t rest, const bytes_t& indexes) {
  const uint64_t rows = static_cast<uint64_t>(first) + rest;
  scan_model model = one_column(number_column(rows, 0, as_row));
  model.columns.push_back(number_column(rows, 0, [](uint64_t) { return 7; }));
  model.columns[1].style.codec = CODEC_UNCOMPRESSED;
  model.columns[1].style.page_rows = first;
  model.columns[1].style.common_runs = true;
  model.keys = {1};
  model.slots = all_slots(column_at(0));
  std::vector<written_chunk> chunks = {write_chunk(model.columns[0])};
  chunks.push_back(write_chunk(model.columns[1]));
  // The dictionary, the first page, then one with these indexes.
  bytes_t& bytes = chunks[1].bytes;
  bytes.resize(page_header({PAGE_DICTIONARY, 8, 8, 1, ENCODING_PLAIN}, false).size() + 8 +
               page_header({PAGE_DATA, 2, 2, first, ENCODING_RLE_DICTIONARY}, false).size() + 2);
  const page_facts second = {PAGE_DATA, indexes.size(), indexes.size(), rest,
                             ENCODING_RLE_DICTIONARY};
  const bytes_t header = page_header(second, false);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), indexes.begin(), indexes.end());
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  for (depth_mode mode : ALL_DEPTHS) {
    run_damaged(all, "a wild index", bind_model(model, chunks), model, mode, statuses);
  }
  if (statuses[STATUS_CORRUPT] != 3) all.fail("a wild index", "is believed");
}

/// In the middle of a word, and in a word behind others of its run.
inline void wild_indexes(tally& all) {
  wild_index(all, 3, 13, {16, 13 << 1, 0xfe, 0x7f});
  bytes_t packed = {16, 2 << 1 | 1};
  packed.resize(packed.size() + 16, 0);
  for (int row = 0; row < ROWS; row++) packed.insert(packed.end(), {0xfe, 0x7f});
  wild_index(all, 8, 16, packed);
}

/// A run of levels that a flat column cannot have.
inline void high_level(tally& all) {
  scan_model model = one_column(number_column(1, 1, as_row));
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  model.columns[0].style.values = layout::plain;
  model.columns[0].style.common_runs = true;
  model.slots = all_slots(column_at(0));
  std::vector<written_chunk> chunks = {write_chunk(model.columns[0])};
  // The levels, behind which there is no number: a group of eight becomes a run of one with
  // value 2.
  bytes_t& bytes = chunks[0].bytes;
  bytes[bytes.size() - 2] = 1 << 1;
  bytes[bytes.size() - 1] = 2;
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  run_damaged(all, "a level of 2", bind_model(model, chunks), model, depth_mode::roomy, statuses);
  if (statuses[STATUS_CORRUPT] != 1) all.fail("a level of 2", "is believed");
}

/// Runs one page of eight rows, uncompressed and behind this header; it must end with a status.
inline void run_page(tally& all, const std::string& name, scan_model model, page_facts facts,
                     const bytes_t& payload, uint32_t status) {
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  facts.uncompressed_bytes = payload.size();
  facts.compressed_bytes = payload.size();
  written_chunk chunk;
  chunk.bytes = page_header(facts, false);
  // A header that says another type than the struct in it.
  if (facts.pages == version::one && facts.type == PAGE_DATA_2) chunk.bytes[1] = PAGE_DATA << 1;
  chunk.bytes.insert(chunk.bytes.end(), payload.begin(), payload.end());
  chunk.page_bytes = payload.size();
  chunk.encodings = static_cast<uint16_t>(1u << facts.encoding | 1u << ENCODING_RLE);
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  for (depth_mode mode : ALL_DEPTHS) {
    run_damaged(all, name, bind_model(model, {chunk}), model, mode, statuses);
  }
  if (statuses[status] != 3) all.fail(name, "does not end as it should");
}

/// Headers and counts that only one check can find out. What is true is taken.
inline void lies(tally& all) {
  scan_model model = one_column(number_column(8, 0, as_row));
  model.slots = all_slots(column_at(0));
  scan_model required = model;
  model.columns[0].nullable = true;
  bytes_t plain = {8 << 1, 1};
  for (uint64_t row = 0; row < 8; row++) put_little_endian(plain, row, 8);
  page_facts second(PAGE_DATA_2, 0, 0, 8, ENCODING_PLAIN);
  second.pages = version::two_silent;
  second.level_bytes = 2;
  run_page(all, "version 2", model, second, plain, STATUS_OK);
  page_facts lie = second;
  lie.null_count = 1;
  run_page(all, "a null too many", model, lie, plain, STATUS_CORRUPT);
  lie = second;
  lie.level_bytes = 3;
  bytes_t longer = plain;
  longer.insert(longer.begin() + 2, 0);
  run_page(all, "levels too long", model, lie, longer, STATUS_CORRUPT);
  lie = second;
  lie.pages = version::one;
  run_page(all, "the type of another struct", model, lie, plain, STATUS_CORRUPT);
  run_page(all, "levels of a required column", required, second, plain, STATUS_CORRUPT);

  page_facts first(PAGE_DATA, 0, 0, 8, ENCODING_DELTA_BINARY_PACKED);
  bytes_t differences = {0x80, 1, 4, 8, 0, 2, 0, 0, 0, 0};
  run_page(all, "differences", required, first, differences, STATUS_OK);
  differences[3] = 9;
  run_page(all, "a difference too many", required, first, differences, STATUS_CORRUPT);
  differences[3] = 7;
  run_page(all, "a difference too few", required, first, differences, STATUS_CORRUPT);

  bytes_t wide = {0x80, 1, 4, 8, 0, 2, 65, 0, 0, 0};
  wide.resize(600);
  run_page(all, "differences of 65 bits", required, first, wide, STATUS_CORRUPT);

  first.encoding = ENCODING_BYTE_STREAM_SPLIT;
  bytes_t streams(64, 0);
  run_page(all, "streams", required, first, streams, STATUS_OK);
  streams.resize(72);
  run_page(all, "a value too many", required, first, streams, STATUS_CORRUPT);
  streams.resize(56);
  run_page(all, "a value too few", required, first, streams, STATUS_CORRUPT);
  streams.resize(63);
  run_page(all, "a byte too few", required, first, streams, STATUS_CORRUPT);

  first.encoding = ENCODING_RLE;
  required.columns[0].physical_type = PHYSICAL_BOOLEAN;
  bytes_t runs = {2, 0, 0, 0, 8 << 1, 1};
  run_page(all, "truth values", required, first, runs, STATUS_OK);
  runs[0] = 1;
  run_page(all, "a length too small", required, first, runs, STATUS_CORRUPT);
  runs[0] = 2;
  runs[5] = 2;
  run_page(all, "a truth value of 2", required, first, runs, STATUS_CORRUPT);
  first.encoding = ENCODING_DELTA_BINARY_PACKED;
  run_page(all, "differences of truth values", required, first, differences, STATUS_ENCODING);
}

inline void malformed(tally& all, uint64_t cases) {
  lies(all);
  high_level(all);
  crafted(all);
  late_dictionary(all);
  wild_indexes(all);
  uint64_t statuses[STATUS_NOT_SORTED + 1] = {0};
  const uint64_t per_model = 40;
  for (uint64_t seed = 0; seed < cases / per_model; seed++) {
    const scan_model model = small_model(seed + 100000);
    std::vector<written_chunk> chunks;
    for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
    const test_memories fresh = bind_model(model, chunks);
    const uint64_t command_bytes = static_cast<uint32_t>(fresh.command[1]);
    random_source random(seed);
    for (uint64_t i = 0; i < per_model; i++) {
      test_memories memories = fresh;
      const std::string name = "damage " + std::to_string(seed) + "." + std::to_string(i);
      if (i % 2 == 0) {
        damage(reinterpret_cast<uint8_t*>(memories.command.data()), 0, command_bytes, random);
        sign_command(memories.command);
      } else {
        damage(reinterpret_cast<uint8_t*>(memories.input.data()), 0, memories.input.size() * 64,
               random);
      }
      run_damaged(all, name, memories, model, ALL_DEPTHS[i % 3], statuses);
    }
  }
  // Damage that is never noticed, or always, tests nothing.
  for (uint32_t status :
       {STATUS_OK, STATUS_MALFORMED, STATUS_UNSUPPORTED, STATUS_CORRUPT, STATUS_ENCODING}) {
    if (statuses[status] == 0) all.fail("damage", "never ends in " + std::to_string(status));
  }
}

}  // namespace nearscan_tb
