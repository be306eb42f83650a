// SPDX-License-Identifier: Apache-2.0
// Takes a command apart and refuses what contradicts the format or asks for what this kernel lacks.
//
// Nothing behind this stage checks an index again: every column, step, literal, test and range that
// a plan names exists. That holds for any bytes, whoever wrote them.
#pragma once

#include "../common/crc32c.hpp"
#include "plan.hpp"

namespace nearscan {

/// Where a section lies; count 0 when it is not there.
struct section_range {
  uint32_t offset;
  uint32_t bytes;
  uint32_t count;
};

static constexpr uint32_t SECTION_KINDS = SECTION_NAMES + 1;

struct section_table {
  section_range of[SECTION_KINDS];
};

/// Bytes of a section's record; 0 for plain bytes.
inline uint32_t section_record_bytes(uint32_t kind) {
  switch (kind) {
    case SECTION_INPUTS:
      return INPUT_RECORD_BYTES;
    case SECTION_EXTENTS:
      return EXTENT_RECORD_BYTES;
    case SECTION_COLUMNS:
      return COLUMN_RECORD_BYTES;
    case SECTION_PREDICATE:
    case SECTION_PROJECTION:
      return STEP_RECORD_BYTES;
    case SECTION_LITERALS:
      return LITERAL_RECORD_BYTES;
    case SECTION_TESTS:
      return TEST_RECORD_BYTES;
    case SECTION_STRINGS:
      return STRING_RECORD_BYTES;
    case SECTION_AGGREGATES:
      return AGGREGATE_RECORD_BYTES;
    case SECTION_KEYS:
      return KEY_RECORD_BYTES;
    case SECTION_OUTPUT:
      return OUTPUT_RECORD_BYTES;
    case SECTION_OUTPUT_COLUMNS:
      return OUTPUT_COLUMN_RECORD_BYTES;
    default:
      return 0;
  }
}

/// Records that a section may hold.
inline uint32_t section_count_max(uint32_t kind) {
  switch (kind) {
    case SECTION_INPUTS:
    case SECTION_COLUMNS:
      return COLUMNS_MAX;
    case SECTION_PREDICATE:
    case SECTION_PROJECTION:
      return STEPS_MAX;
    case SECTION_LITERALS:
      return LITERALS_MAX;
    case SECTION_TESTS:
      return TESTS_MAX;
    case SECTION_STRINGS:
      return STRINGS_MAX;
    case SECTION_AGGREGATES:
      return AGGREGATES_MAX;
    case SECTION_KEYS:
      return KEYS_MAX;
    case SECTION_OUTPUT:
      return 1;
    case SECTION_OUTPUT_COLUMNS:
      return OUTPUT_COLUMNS_MAX;
    default:
      return 0xffffffffu;
  }
}

/// Reads the directory.
inline uint32_t load_sections(const uint64_t* words, const command_header& header,
                              section_table& sections) {
CLEAR:
  for (uint32_t kind = 0; kind < SECTION_KINDS; kind++) sections.of[kind] = section_range();
  if (header.section_count > SECTIONS_MAX) return STATUS_MALFORMED;
  if (COMMAND_HEADER_BYTES + header.section_count * SECTION_ENTRY_BYTES > header.total_bytes) {
    return STATUS_MALFORMED;
  }
ENTRIES:
  for (uint32_t index = 0; index < header.section_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 3 max = 32
    const section_entry entry =
        load_section_entry(words, COMMAND_HEADER_BYTES + index * SECTION_ENTRY_BYTES);
    const uint64_t end = static_cast<uint64_t>(entry.offset) + entry.bytes;
    if (end > header.total_bytes || entry.offset % SECTION_ALIGN != 0) return STATUS_MALFORMED;
    if (entry.kind == 0 || entry.kind >= SECTION_KINDS) {
      if ((entry.flags & SECTION_CRITICAL) != 0) return STATUS_UNSUPPORTED;
      continue;
    }
    const uint64_t record = section_record_bytes(entry.kind);
    if (entry.count > section_count_max(entry.kind)) return STATUS_MALFORMED;
    if (record != 0 && record * entry.count != entry.bytes) return STATUS_MALFORMED;
    section_range& range = sections.of[entry.kind];
    if (range.bytes != 0) return STATUS_MALFORMED;
    range.offset = entry.offset;
    range.bytes = entry.bytes;
    range.count = entry.count;
  }
  return STATUS_OK;
}

/// What programs may refer to.
struct program_scope {
  uint32_t column_count;
  uint8_t column_kind[LANES];
  uint32_t literal_count;
  uint32_t test_count;
};

// Kinds of an operand's value.
static constexpr uint8_t IS_NUMBER = 1;
static constexpr uint8_t IS_TRUTH = 2;
static constexpr uint8_t IS_BYTES = 4;
static constexpr uint8_t IS_TEST = 8;
static constexpr uint8_t IS_ANY = 7;

/// Kind of an operand; 0 when it does not exist. NULL is of every kind.
inline uint8_t operand_kind(const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                            uint32_t step_count, uint16_t operand) {
  if (operand == NONE) return 0;
  const uint32_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      if (index >= scope.column_count) return 0;
      return scope.column_kind[index] == KIND_BYTES ? IS_BYTES : IS_NUMBER;
    case OPERAND_STEP:
      return index < step_count ? step_kind[index] : 0;
    case OPERAND_LITERAL:
      return index < scope.literal_count ? IS_NUMBER : 0;
    case OPERAND_TEST:
      return index < scope.test_count ? IS_TEST : 0;
    case OPERAND_NULL:
      return index == 0 ? IS_ANY : 0;
    default:
      return 0;
  }
}

inline bool is_numeric_width(uint8_t width) {
  return width == WIDTH_W32 || width == WIDTH_W64 || width == WIDTH_W128;
}

/// Checks one step; gives the kind of its value, 0 when it is wrong.
inline uint8_t check_step(const step& at, uint8_t a, uint8_t b, uint8_t c) {
  const bool no_b = at.b == NONE;
  const bool no_c = at.c == NONE;
  bool right = false;
  switch (at.op) {
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
      right = (a & IS_NUMBER) && (b & IS_NUMBER) && no_c && is_numeric_width(at.width);
      return right ? IS_NUMBER : 0;
    case OP_BETWEEN:
      right = (a & IS_NUMBER) && (b & IS_NUMBER) && (c & IS_NUMBER);
      break;
    case OP_IN:
      right = (a & IS_NUMBER) && b == IS_NUMBER && c == IS_NUMBER &&
              (at.b >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL &&
              (at.c >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL && at.b <= at.c;
      break;
    case OP_IS_NULL:
    case OP_IS_NOT_NULL:
      right = (a & IS_ANY) && no_b && no_c;
      break;
    case OP_TEST:
      right = a == IS_TEST && no_b && no_c;
      break;
    case OP_AND:
    case OP_OR:
      right = (a & IS_TRUTH) && (b & IS_TRUTH) && no_c;
      break;
    case OP_NOT:
      right = (a & IS_TRUTH) && no_b && no_c;
      break;
    default:
      right = at.op >= OP_EQUAL && at.op <= OP_GREATER_OR_EQUAL && (a & IS_NUMBER) &&
              (b & IS_NUMBER) && no_c;
      break;
  }
  return right && at.width == WIDTH_BOOL ? IS_TRUTH : 0;
}

/// Loads and checks a program; fills the kinds of its steps.
inline uint32_t load_program(const uint64_t* words, const section_range& range,
                             const program_scope& scope, program_plan& program,
                             uint8_t step_kind[STEPS_MAX]) {
  program.step_count = range.count;
STEPS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    const step_record record = load_step_record(words, range.offset + index * STEP_RECORD_BYTES);
    step at = {record.op, record.width, record.a, record.b, record.c};
    const uint8_t a = operand_kind(scope, step_kind, index, at.a);
    const uint8_t b = operand_kind(scope, step_kind, index, at.b);
    const uint8_t c = operand_kind(scope, step_kind, index, at.c);
    step_kind[index] = check_step(at, a, b, c);
    if (step_kind[index] == 0) return STATUS_MALFORMED;
    program.steps[index] = at;
  }
  return STATUS_OK;
}

/// Loads the literals for one program.
inline void load_literals(const uint64_t* words, const section_range& range,
                          program_plan& program) {
LITERALS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
    const literal_record record =
        load_literal_record(words, range.offset + index * LITERAL_RECORD_BYTES);
    program.literals[index] = make_i128(record.low, record.high);
  }
}

/// Byte `at` of the command.
inline uint8_t command_byte(const uint64_t* words, uint32_t at) {
  return static_cast<uint8_t>(words[at / 8] >> (8 * (at % 8)));
}

/// Copies the literals of one test into a lane; false when they do not fit.
inline bool load_test_strings(const uint64_t* words, const section_table& sections,
                              const test_record& record, lane_tests& tests, uint32_t& strings,
                              uint32_t& lane_words) {
  const section_range& strings_range = sections.of[SECTION_STRINGS];
  const section_range& bytes_range = sections.of[SECTION_BYTES];
  const uint64_t end = static_cast<uint64_t>(record.string_first) + record.string_count;
  if (record.string_count == 0 || end > strings_range.count) return false;
STRINGS:
  for (uint32_t index = 0; index < record.string_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 256
    const string_record literal = load_string_record(
        words, strings_range.offset + (record.string_first + index) * STRING_RECORD_BYTES);
    const uint32_t needed = (literal.length + 7) / 8;
    if (literal.length > STRING_BYTES_MAX || strings == lane_tests::STRINGS ||
        static_cast<uint64_t>(literal.offset) + literal.length > bytes_range.bytes ||
        lane_words + needed > lane_tests::WORDS) {
      return false;
    }
    tests.length[strings] = static_cast<uint16_t>(literal.length);
    tests.word_first[strings] = static_cast<uint16_t>(lane_words);
  STRING_WORDS:
    for (uint32_t word = 0; word < needed; word++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      uint64_t value = 0;
    STRING_BYTES:
      for (uint32_t byte = 0; byte < 8; byte++) {
        const uint32_t at = word * 8 + byte;
        if (at < literal.length) {
          const uint64_t next = command_byte(words, bytes_range.offset + literal.offset + at);
          value |= next << (8 * byte);
        }
      }
      tests.words[lane_words + word] = value;
    }
    lane_words += needed;
    strings++;
  }
  return true;
}

/// Loads the string tests, which are ordered by column.
inline uint32_t load_tests(const uint64_t* words, const section_table& sections,
                           const program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_TESTS];
  uint32_t lane = 0;
  uint32_t strings = 0;
  uint32_t lane_words = 0;
CLEAR:
  for (int column = 0; column < LANES; column++) plan.decode[column].tests.test_count = 0;
TESTS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
    const test_record record = load_test_record(words, range.offset + index * TEST_RECORD_BYTES);
    if (record.column >= scope.column_count || record.column < lane) return STATUS_MALFORMED;
    if (scope.column_kind[record.column] != KIND_BYTES) return STATUS_MALFORMED;
    if (record.op < TEST_IN || record.op > TEST_GREATER_OR_EQUAL) return STATUS_UNSUPPORTED;
    if (record.op != TEST_IN && record.string_count != 1) return STATUS_MALFORMED;
    if (record.column != lane) {
      lane = record.column;
      strings = 0;
      lane_words = 0;
    }
    lane_tests& tests = plan.decode[lane].tests;
    if (tests.test_count == TESTS_PER_COLUMN_MAX) return STATUS_MALFORMED;
    if (!load_test_strings(words, sections, record, tests, strings, lane_words)) {
      return STATUS_MALFORMED;
    }
    const uint16_t bit = tests.test_count;
    tests.op[bit] = record.op;
    tests.string_end[bit] = static_cast<uint16_t>(strings);
    tests.test_count = static_cast<uint16_t>(bit + 1);
    plan.filter.program.test_column[index] = static_cast<uint8_t>(lane);
    plan.filter.program.test_bit[index] = static_cast<uint8_t>(bit);
    plan.project.program.test_column[index] = static_cast<uint8_t>(lane);
    plan.project.program.test_bit[index] = static_cast<uint8_t>(bit);
  }
  return STATUS_OK;
}

/// Loads the input of one column: where its chunk lies in device memory.
inline uint32_t load_range(const uint64_t* words, const section_table& sections,
                           const column_record& column, fetch_lane& lane) {
  const section_range& inputs = sections.of[SECTION_INPUTS];
  if (column.input >= inputs.count) return STATUS_MALFORMED;
  const input_record input =
      load_input_record(words, inputs.offset + column.input * INPUT_RECORD_BYTES);
  // 1 is a range of device memory; every other kind has been replaced by one before.
  if (input.kind != 1) return STATUS_UNSUPPORTED;
  if (column.length > CHUNK_BYTES_MAX || column.offset > input.length ||
      column.length > input.length - column.offset || (input.offset >> 62) != 0 ||
      (input.length >> 62) != 0) {
    return STATUS_MALFORMED;
  }
  lane.begin = input.offset + column.offset;
  lane.end = lane.begin + column.length;
  return STATUS_OK;
}

/// Loads the columns.
inline uint32_t load_columns(const uint64_t* words, const section_table& sections,
                             const command_header& header, program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_COLUMNS];
  scope.column_count = range.count;
  plan.fetch.lane_count = range.count;
  plan.memory.lane_count = range.count;
  plan.fetch.steps_max = header.steps_max;
  // A reference has 40 bits for the first word of a byte string.
  if ((header.scratch_bytes >> (64 - STRING_LENGTH_BITS + 3)) != 0) return STATUS_MALFORMED;
  uint64_t scratch_used = 0;
COLUMNS:
  for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
    decode_plan& lane = plan.decode[index];
    lane.active = index < range.count;
    lane.needs_codes = false;
    lane.needs_bytes = false;
    plan.pages[index].active = lane.active;
    plan.decompress[index].active = lane.active;
    if (!lane.active) continue;
    const column_record column =
        load_column_record(words, range.offset + index * COLUMN_RECORD_BYTES);
    const uint32_t status = load_range(words, sections, column, plan.fetch.lane[index]);
    if (status != STATUS_OK) return status;
    const bool bytes = column.physical_type == PHYSICAL_BYTE_ARRAY;
    if (!bytes && column.physical_type != PHYSICAL_INT32 &&
        column.physical_type != PHYSICAL_INT64) {
      return STATUS_UNSUPPORTED;
    }
    if (column.codec != CODEC_UNCOMPRESSED && column.codec != CODEC_SNAPPY) {
      return STATUS_UNSUPPORTED;
    }
    if (column.value_kind != (bytes ? KIND_BYTES : KIND_INTEGER)) return STATUS_MALFORMED;
    if (column.definition_level_max > 1) return STATUS_UNSUPPORTED;
    // Ranges in the order of the columns do not overlap: a lane's references stay its own.
    if (column.scratch_offset % 8 != 0 || column.scratch_offset < scratch_used ||
        column.scratch_offset > header.scratch_bytes ||
        column.scratch_bytes > header.scratch_bytes - column.scratch_offset) {
      return STATUS_MALFORMED;
    }
    scratch_used = column.scratch_offset + column.scratch_bytes;
    scope.column_kind[index] = column.value_kind;
    const bool nullable = column.definition_level_max == 1;
    plan.pages[index].column = index;
    plan.pages[index].nullable = nullable;
    plan.pages[index].encodings = column.encodings;
    plan.decompress[index].column = index;
    plan.decompress[index].codec = column.codec;
    lane.column = index;
    lane.physical_type = column.physical_type;
    lane.nullable = nullable;
    lane.rows = header.rows;
    lane.scratch_begin = column.scratch_offset;
    lane.scratch_end = column.scratch_offset + column.scratch_bytes / 8 * 8;
    lane.steps_max = header.steps_max;
  }
  return STATUS_OK;
}

/// Marks the columns that a projection operand needs behind the filter.
inline void forward_operand(uint16_t operand, scan_plan& plan) {
  if (operand == NONE) return;
  const uint32_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  const uint32_t kind = operand >> OPERAND_KIND_SHIFT;
  if (kind == OPERAND_COLUMN) plan.filter.forwarded[index] = true;
  if (kind == OPERAND_TEST) {
    plan.filter.forwarded[plan.filter.program.test_column[index]] = true;
  }
}

/// Loads the group keys as the first output columns.
inline uint32_t load_keys(const uint64_t* words, const section_table& sections,
                          const program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_KEYS];
KEYS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const key_record key = load_key_record(words, range.offset + index * KEY_RECORD_BYTES);
    if (key.column >= scope.column_count) return STATUS_MALFORMED;
    decode_plan& lane = plan.decode[key.column];
    // A key listed twice would want its dictionary's size twice.
    if (lane.needs_codes) return STATUS_MALFORMED;
    lane.needs_codes = true;
    lane.needs_bytes = lane.physical_type == PHYSICAL_BYTE_ARRAY;
    plan.filter.forwarded[key.column] = true;
    output_plan column = {NONE, NONE, WIDTH_W64, 0, static_cast<uint8_t>(key.column), true, false};
    if (lane.needs_bytes) column.width = WIDTH_BYTES;
    plan.project.columns[index] = column;
  }
  return STATUS_OK;
}

/// Loads the aggregate slots as the output columns behind the keys.
inline uint32_t load_slots(const uint64_t* words, const section_table& sections,
                           const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                           scan_plan& plan) {
  const section_range& range = sections.of[SECTION_AGGREGATES];
  const uint32_t first = sections.of[SECTION_KEYS].count;
  const uint32_t steps = plan.project.program.step_count;
SLOTS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const aggregate_record slot =
        load_aggregate_record(words, range.offset + index * AGGREGATE_RECORD_BYTES);
    const uint8_t kind = operand_kind(scope, step_kind, steps, slot.operand);
    bool right = false;
    switch (slot.function) {
      case FUNCTION_COUNT_ROWS:
        right = slot.operand == NONE;
        break;
      case FUNCTION_COUNT:
        right = (kind & IS_ANY) != 0;
        break;
      case FUNCTION_SUM:
      case FUNCTION_MIN:
      case FUNCTION_MAX:
        right = (kind & IS_NUMBER) != 0;
        break;
      default:
        return STATUS_UNSUPPORTED;
    }
    const uint8_t filter = operand_kind(scope, step_kind, steps, slot.filter);
    if (!right || !is_numeric_width(slot.width)) return STATUS_MALFORMED;
    if (slot.filter != NONE && (filter & IS_TRUTH) == 0) return STATUS_MALFORMED;
    forward_operand(slot.operand, plan);
    forward_operand(slot.filter, plan);
    const bool counts = slot.function == FUNCTION_COUNT || slot.function == FUNCTION_COUNT_ROWS;
    output_plan column = {slot.operand, slot.filter, slot.width, slot.function, 0, false, counts};
    plan.project.columns[first + index] = column;
  }
  return STATUS_OK;
}

/// Loads the output columns of rows mode.
inline uint32_t load_row_columns(const uint64_t* words, const section_table& sections,
                                 const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                                 scan_plan& plan) {
  const section_range& range = sections.of[SECTION_OUTPUT_COLUMNS];
  const uint32_t steps = plan.project.program.step_count;
ROW_COLUMNS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_column_record record =
        load_output_column_record(words, range.offset + index * OUTPUT_COLUMN_RECORD_BYTES);
    const uint8_t kind = operand_kind(scope, step_kind, steps, record.operand);
    const uint8_t wanted = record.width == WIDTH_BYTES  ? IS_BYTES
                           : record.width == WIDTH_BOOL ? IS_TRUTH
                           : record.width < WIDTH_BYTES ? IS_NUMBER
                                                        : 0;
    if ((kind & wanted) == 0) return STATUS_MALFORMED;
    if (wanted == IS_BYTES && (record.operand >> OPERAND_KIND_SHIFT) == OPERAND_COLUMN) {
      plan.decode[record.operand & ((1u << OPERAND_KIND_SHIFT) - 1)].needs_bytes = true;
    }
    forward_operand(record.operand, plan);
    output_plan column = {record.operand, NONE, static_cast<uint8_t>(record.width), 0, 0,
                          false,          false};
    plan.project.columns[index] = column;
  }
  return STATUS_OK;
}

/// Loads what comes back.
inline uint32_t load_output(const uint64_t* words, const section_table& sections,
                            const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                            scan_plan& plan) {
  if (sections.of[SECTION_OUTPUT].count != 1) return STATUS_MALFORMED;
  const output_record output = load_output_record(words, sections.of[SECTION_OUTPUT].offset);
  if (output.bytes_max < RESULT_RECORD_BYTES || (output.bytes_max >> 62) != 0) {
    return STATUS_MALFORMED;
  }
  uint32_t status;
  if (output.mode == OUTPUT_STATES) {
    plan.aggregate.key_count = sections.of[SECTION_KEYS].count;
    plan.project.column_count = plan.aggregate.key_count + sections.of[SECTION_AGGREGATES].count;
    status = load_keys(words, sections, scope, plan);
    if (status == STATUS_OK) status = load_slots(words, sections, scope, step_kind, plan);
  } else if (output.mode == OUTPUT_ROWS) {
    plan.aggregate.key_count = 0;
    plan.project.column_count = sections.of[SECTION_OUTPUT_COLUMNS].count;
    status = load_row_columns(words, sections, scope, step_kind, plan);
  } else {
    return STATUS_UNSUPPORTED;
  }
  plan.aggregate.states = output.mode == OUTPUT_STATES;
  plan.aggregate.column_count = plan.project.column_count;
  plan.write.column_count = plan.project.column_count;
  plan.write.bytes_max = output.bytes_max;
  plan.write.rows_max = output.rows_max;
COPY_COLUMNS:
  for (uint32_t index = 0; index < plan.project.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_plan& column = plan.project.columns[index];
    plan.aggregate.columns[index] = column;
    plan.write.width[index] = column.function != 0 ? WIDTH_W128 : column.width;
  }
  return status;
}

/// Checks the frame of a command: magic, version, size, checksum.
inline uint32_t load_header(const uint64_t* words, command_header& header) {
  header = load_command_header(words, 0);
  if (header.magic != COMMAND_MAGIC || header.format_major != FORMAT_MAJOR) {
    return STATUS_MALFORMED;
  }
  if (header.total_bytes > COMMAND_BYTES_MAX || header.total_bytes < COMMAND_HEADER_BYTES ||
      header.total_bytes % 8 != 0 || header.rows > UNIT_ROWS_MAX) {
    return STATUS_MALFORMED;
  }
  uint32_t checksum = CRC32C_START;
CHECKSUM:
  for (uint32_t word = 0; word < header.total_bytes / 8; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 32 max = 8192
    // The checksum itself is the upper half of the second word.
    const uint64_t mask = word == 1 ? 0xffffffffu : ~static_cast<uint64_t>(0);
    checksum = crc32c_word(checksum, words[word] & mask);
  }
  if (crc32c_end(checksum) != header.checksum) return STATUS_MALFORMED;
  if (header.opcode != OPCODE_SCAN || header.kernel_kind != 0) return STATUS_UNSUPPORTED;
  return STATUS_OK;
}

/// Takes the command in `words` apart. The header of `plan.write` is set whatever the status.
inline uint32_t load_command(const uint64_t* words, scan_plan& plan) {
  section_table sections;
  program_scope scope;
  uint8_t predicate_kind[STEPS_MAX];
  uint8_t projection_kind[STEPS_MAX];
  command_header& header = plan.write.header;
  uint32_t status = load_header(words, header);
  if (status != STATUS_OK) return status;
  status = load_sections(words, header, sections);
  if (status != STATUS_OK) return status;
  scope.literal_count = sections.of[SECTION_LITERALS].count;
  scope.test_count = sections.of[SECTION_TESTS].count;
  status = load_columns(words, sections, header, scope, plan);
  if (status != STATUS_OK) return status;
  status = load_tests(words, sections, scope, plan);
  if (status != STATUS_OK) return status;
  load_literals(words, sections.of[SECTION_LITERALS], plan.filter.program);
  load_literals(words, sections.of[SECTION_LITERALS], plan.project.program);
  status = load_program(words, sections.of[SECTION_PREDICATE], scope, plan.filter.program,
                        predicate_kind);
  if (status != STATUS_OK) return status;
  const uint32_t predicate_steps = plan.filter.program.step_count;
  if (predicate_steps > 0 && (predicate_kind[predicate_steps - 1] & IS_TRUTH) == 0) {
    return STATUS_MALFORMED;
  }
  status = load_program(words, sections.of[SECTION_PROJECTION], scope, plan.project.program,
                        projection_kind);
  if (status != STATUS_OK) return status;
  plan.filter.lane_count = scope.column_count;
  plan.filter.rows = header.rows;
  plan.filter.steps_max = header.steps_max;
FORWARD_NONE:
  for (int lane = 0; lane < LANES; lane++) plan.filter.forwarded[lane] = false;
FORWARD_STEPS:
  for (uint32_t index = 0; index < plan.project.program.step_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    forward_operand(plan.project.program.steps[index].a, plan);
    forward_operand(plan.project.program.steps[index].b, plan);
    forward_operand(plan.project.program.steps[index].c, plan);
  }
  status = load_output(words, sections, scope, projection_kind, plan);
  if (status != STATUS_OK) return status;
FORWARD_COPY:
  for (int lane = 0; lane < LANES; lane++) {
    plan.project.forwarded[lane] = plan.filter.forwarded[lane];
  }
  return STATUS_OK;
}

}  // namespace nearscan
