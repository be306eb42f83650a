// SPDX-License-Identifier: Apache-2.0
// What the black box `row_writer_blackbox` does, number by number.
//
// The HLS stage writes whole blocks, so this is no call of it; the bench compares runs with the
// stage as a whole. Here the bits of a word leave before its numbers. The black box may let bits
// leave later, but the lines of each kind leave in this order.
#include "common/frame.hpp"
#include "row_writer_ports.hpp"

using namespace row_writer_ports;

namespace {

constexpr int COLUMNS = 32;
constexpr int ROWS = 8;
constexpr int WORD_BITS = 64;
constexpr int BYTE_BITS = 8;
constexpr int LINE_BYTES = 64;

/// What of a column has not left yet: a line of numbers or of bits.
struct open_line {
  uint8_t bytes[LINE_BYTES];
  /// Bits that there are.
  int held;
  uint32_t number;
};

struct column_lines {
  open_line numbers;
  open_line bits;
};

void send(open_line& line, int column, bool has_bits, rtl::stream<lines::BITS>& out) {
  rtl::token<lines::BITS> token = rtl::token<lines::BITS>();
LINE:
  for (int i = 0; i < LINE_BYTES; i++) {
    rtl::set(token, lines::data().at(i, BYTE_BITS), line.bytes[i]);
  }
  rtl::set(token, lines::count(), static_cast<uint64_t>((line.held + BYTE_BITS - 1) / BYTE_BITS));
  rtl::set(token, lines::column(), static_cast<uint64_t>(column));
  rtl::set(token, lines::number(), line.number);
  rtl::set(token, lines::has_bits(), has_bits ? 1 : 0);
  out.write(token);
  const uint32_t next = line.number + 1;
  line = open_line();
  line.number = next;
}

/// Appends the low bits of a value.
void put(open_line& line, uint64_t value, int bits, int column, bool has_bits,
         rtl::stream<lines::BITS>& out) {
BITS:
  for (int bit = 0; bit < bits; bit++) {
    const uint8_t one = static_cast<uint8_t>((value >> bit) & 1);
    line.bytes[line.held / BYTE_BITS] |= static_cast<uint8_t>(one << (line.held % BYTE_BITS));
    line.held++;
    if (line.held == LINE_BYTES * BYTE_BITS) send(line, column, has_bits, out);
  }
}

bool is_set(const rtl::token<words::BITS>& word, rtl::field mask, int row) {
  return rtl::get(word, mask.at(row, 1)) != 0;
}

void put_word(const rtl::token<words::BITS>& low, const rtl::token<words::BITS>& high,
              bool has_high, uint8_t width, int column, column_lines& to,
              rtl::stream<lines::BITS>& out) {
BITS_OF_ROWS:
  for (int row = 0; row < ROWS; row++) {
    if (!is_set(low, words::keep(), row)) continue;
    put(to.bits, is_set(low, words::present(), row) ? 1 : 0, 1, column, true, out);
  }
NUMBERS_OF_ROWS:
  for (int row = 0; row < ROWS; row++) {
    if (!is_set(low, words::keep(), row)) continue;
    const bool is_there = is_set(low, words::present(), row);
    const rtl::field place = words::number().at(row, WORD_BITS);
    const uint64_t number = is_there ? rtl::get(low, place) : 0;
    const int bytes = static_cast<int>(nearscan::value_bytes(width));
    put(to.numbers, number, bytes < 8 ? BYTE_BITS * bytes : WORD_BITS, column, false, out);
    if (bytes <= 8) continue;
    const uint64_t sign = 0 - (number >> (WORD_BITS - 1));
    const uint64_t upper = has_high && is_there ? rtl::get(high, place) : sign;
    put(to.numbers, upper, WORD_BITS, column, false, out);
  }
}

}  // namespace

void row_writer_blackbox(rtl::token<2 * COLUMNS> widths, rtl::stream<words::BITS>& words_in,
                         rtl::stream<lines::BITS>& lines_out) {
  column_lines all[COLUMNS] = {};
WORDS:
  while (true) {
    const rtl::token<words::BITS> word = words_in.read();
    if (rtl::get(word, words::last()) != 0) break;
    const int column = static_cast<int>(rtl::get(word, words::column()));
    const uint8_t width = static_cast<uint8_t>(rtl::get(widths, {2 * column, 2}));
    rtl::token<words::BITS> high = word;
    const bool has_high = rtl::get(word, words::is_wide()) != 0;
    if (has_high) high = words_in.read();
    put_word(word, high, has_high, width, column, all[column], lines_out);
  }
ENDS:
  for (int column = 0; column < COLUMNS; column++) {
    if (all[column].bits.held != 0) send(all[column].bits, column, true, lines_out);
    if (all[column].numbers.held != 0) send(all[column].numbers, column, false, lines_out);
  }
  rtl::token<lines::BITS> token = rtl::token<lines::BITS>();
  rtl::set(token, lines::last(), 1);
  lines_out.write(token);
}
