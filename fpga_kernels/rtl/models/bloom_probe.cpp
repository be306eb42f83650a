// SPDX-License-Identifier: Apache-2.0
// What the black box `bloom_probe_blackbox` does, in terms of the HLS stage.
#include "bloom_probe_ports.hpp"
#include "scan/keys.hpp"

using namespace bloom_probe_ports;

/// The bits of one word of a block.
static constexpr int WORD_BITS = 64;
static constexpr int SETS = 4;
static constexpr int PLACE_BITS = 12;

void bloom_probe_blackbox(rtl::token<4> is_bitmap, rtl::token<256> first, rtl::token<256> last,
                          rtl::token<48> block_first, rtl::token<52> blocks,
                          rtl::stream<bits::BITS>& bits_in, rtl::stream<rows::BITS>& rows_in,
                          rtl::stream<passed::BITS>& passed_out) {
  nearscan::key_set_plan sets[SETS];
SETS_OF_RUN:
  for (int set = 0; set < SETS; set++) {
    sets[set].is_bitmap = rtl::get(is_bitmap, {set, 1}) != 0;
    sets[set].first = static_cast<int64_t>(rtl::get(first, {set * WORD_BITS, WORD_BITS}));
    sets[set].last = static_cast<int64_t>(rtl::get(last, {set * WORD_BITS, WORD_BITS}));
    const rtl::field place = {set * PLACE_BITS, PLACE_BITS};
    const rtl::field count = {set * (PLACE_BITS + 1), PLACE_BITS + 1};
    sets[set].block_first = static_cast<uint32_t>(rtl::get(block_first, place));
    sets[set].blocks = static_cast<uint32_t>(rtl::get(blocks, count));
    sets[set].checksum = 0;
  }
  // The bits stay from run to run.
  static nearscan::key_memory memory;
  bool loading = true;
BLOCKS:
  for (uint32_t block = 0; loading; block++) {
    const rtl::token<bits::BITS> token = bits_in.read();
    loading = rtl::get(token, bits::last()) == 0;
    if (rtl::get(token, bits::is_block()) == 0) continue;
    for (uint32_t word = 0; word < nearscan::KEY_BLOCK_WORDS; word++) {
      const rtl::field place = bits::block().at(static_cast<int>(word), WORD_BITS);
      memory[word][block % nearscan::KEY_BLOCKS] = rtl::get(token, place);
    }
  }
  bool probing = true;
WORDS:
  while (probing) {
    const rtl::token<rows::BITS> token = rows_in.read();
    probing = rtl::get(token, rows::last()) == 0;
    const nearscan::key_set_plan& set = sets[rtl::get(token, rows::set())];
    rtl::token<passed::BITS> answer = rtl::token<passed::BITS>();
    for (int row = 0; row < nearscan::ROWS; row++) {
      const int64_t number =
          static_cast<int64_t>(rtl::get(token, rows::number().at(row, WORD_BITS)));
      const bool passes = rtl::get(token, rows::present().at(row, 1)) == 0 ||
                          nearscan::is_in_set(set, memory, number);
      rtl::set(answer, passed::rows().at(row, 1), passes ? 1 : 0);
    }
    rtl::set(answer, passed::last(), probing ? 0 : 1);
    passed_out.write(answer);
  }
}
