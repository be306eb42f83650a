// SPDX-License-Identifier: Apache-2.0
// What the black box `dictionary_lookup_blackbox` does: an independent definition, which the bench
// compares with the HLS stage too.
#include "dictionary_lookup_ports.hpp"

using namespace dictionary_lookup_ports;

static constexpr uint32_t PLACES = 4096;

void dictionary_lookup_blackbox(rtl::token<25> entries, rtl::stream<load::BITS>& load_in,
                                rtl::stream<words::BITS>& words_in,
                                rtl::stream<rows::BITS>& rows_out) {
  // The entries stay from run to run.
  static uint64_t value[PLACES];
  static uint16_t tests[PLACES];
  const uint64_t entry_count = rtl::get(entries, {0, 25});
  bool loading = true;
ENTRIES:
  for (uint32_t place = 0; loading;) {
    const rtl::token<load::BITS> token = load_in.read();
    loading = rtl::get(token, load::last()) == 0;
    if (rtl::get(token, load::is_entry()) == 0 || place == PLACES) continue;
    value[place] = rtl::get(token, load::value());
    tests[place] = static_cast<uint16_t>(rtl::get(token, load::tests()));
    place++;
  }
  bool looking = true;
WORDS:
  while (looking) {
    const rtl::token<words::BITS> token = words_in.read();
    looking = rtl::get(token, words::last()) == 0;
    rtl::token<rows::BITS> answer = rtl::token<rows::BITS>();
    const int count = static_cast<int>(rtl::get(token, words::count()));
    bool is_corrupt = rtl::get(token, words::corrupt()) != 0;
  ROWS:
    for (int row = 0; row < count; row++) {
      const uint64_t index = rtl::get(token, words::index().at(row, 32));
      if (index >= entry_count) {
        is_corrupt = true;
      } else if (index >= PLACES) {
        rtl::set(answer, rows::value().at(row, 64), index);
        rtl::set(answer, rows::far().at(row, 1), 1);
      } else {
        rtl::set(answer, rows::value().at(row, 64), value[index]);
        rtl::set(answer, rows::tests().at(row, 16), tests[index]);
      }
    }
    rtl::set(answer, rows::count(), static_cast<uint64_t>(count));
    rtl::set(answer, rows::corrupt(), is_corrupt ? 1 : 0);
    rtl::set(answer, rows::last(), looking ? 0 : 1);
    rows_out.write(answer);
  }
}
