// SPDX-License-Identifier: Apache-2.0
// What the black box `fold_unit_blackbox` does, row by row.
//
// The HLS stage keeps its states to itself, so this is no call of it; the bench compares runs with
// the stage as a whole.
#include "common/arithmetic.hpp"
#include "fold_unit_ports.hpp"

using namespace fold_unit_ports;

namespace {

constexpr int SLOTS = 16;
constexpr int GROUPS = 32;
constexpr int PLACE_BITS = 5;
constexpr int WORD_BITS = 64;

enum function_kind { COUNT = 0, SUM = 1, LEAST = 2, GREATEST = 3 };

struct group {
  nearscan::i128 state[SLOTS];
  bool seen[SLOTS];
  uint32_t rows;
};

uint64_t number_of(const rtl::token<rows::BITS>& token, int slot, int row) {
  return rtl::get(token, rows::number().at(2 * slot + row, WORD_BITS));
}

bool is_used(const rtl::token<rows::BITS>& token, int slot, int row) {
  return rtl::get(token, rows::used().at(2 * slot + row, 1)) != 0;
}

int place_of(const rtl::token<rows::BITS>& token, int row) {
  return static_cast<int>(rtl::get(token, rows::place().at(row, PLACE_BITS)));
}

void add_row(int function, int64_t number, group& to, int slot) {
  nearscan::i128& state = to.state[slot];
  const nearscan::i128 value = number;
  if (function == COUNT) state += 1;
  if (function == SUM) state += value;
  if (function == LEAST && (!to.seen[slot] || value < state)) state = value;
  if (function == GREATEST && (!to.seen[slot] || value > state)) state = value;
  to.seen[slot] = true;
}

void load(const rtl::token<rows::BITS>& token, group& to) {
  to.rows = static_cast<uint32_t>(rtl::get(token, rows::count()));
LOAD_SLOTS:
  for (int slot = 0; slot < SLOTS; slot++) {
    to.state[slot] = nearscan::make_i128(number_of(token, slot, 0), number_of(token, slot, 1));
    to.seen[slot] = is_used(token, slot, 0);
  }
}

rtl::token<groups::BITS> show(const group& from, bool is_last) {
  rtl::token<groups::BITS> token = rtl::token<groups::BITS>();
SHOW_SLOTS:
  for (int slot = 0; slot < SLOTS; slot++) {
    const nearscan::i128 state = from.state[slot];
    const rtl::field low = groups::state().at(2 * slot, WORD_BITS);
    const rtl::field high = groups::state().at(2 * slot + 1, WORD_BITS);
    rtl::set(token, low, static_cast<uint64_t>(state));
    rtl::set(token, high, static_cast<uint64_t>(static_cast<nearscan::u128>(state) >> WORD_BITS));
    rtl::set(token, groups::seen().at(slot, 1), from.seen[slot] ? 1 : 0);
  }
  rtl::set(token, groups::count(), from.rows);
  rtl::set(token, groups::last(), is_last ? 1 : 0);
  return token;
}

}  // namespace

void fold_unit_blackbox(rtl::token<32> functions, rtl::stream<rows::BITS>& rows_in,
                        rtl::stream<groups::BITS>& groups_out) {
  group all[GROUPS] = {};
  bool more = true;
TOKENS:
  while (more) {
    const rtl::token<rows::BITS> token = rows_in.read();
    more = rtl::get(token, rows::last()) == 0;
    group& first = all[place_of(token, 0)];
    if (!more || rtl::get(token, rows::shows()) != 0) {
      groups_out.write(show(first, !more));
      first = group();
      continue;
    }
    if (rtl::get(token, rows::loads()) != 0) {
      load(token, first);
      continue;
    }
  ROWS:
    for (int row = 0; row < 2; row++) {
      if (rtl::get(token, rows::keep().at(row, 1)) == 0) continue;
      group& to = all[place_of(token, row)];
      to.rows++;
    ROW_SLOTS:
      for (int slot = 0; slot < SLOTS; slot++) {
        if (!is_used(token, slot, row)) continue;
        const int kind = static_cast<int>(rtl::get(functions, {2 * slot, 2}));
        add_row(kind, static_cast<int64_t>(number_of(token, slot, row)), to, slot);
      }
    }
  }
}
