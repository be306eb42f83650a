// SPDX-License-Identifier: Apache-2.0
// What the black box `rle_unpacker_blackbox` does: an independent definition, which the bench
// compares with the HLS stage too.
//
// How the numbers are shared out among words is not part of the answer, nor are those that come
// before the end of a corrupt page.
#include "rle_unpacker_ports.hpp"

using namespace rle_unpacker_ports;

static constexpr int WIDTH_MAX = 32;
static constexpr int HEADER_BYTES_MAX = 5;
static constexpr uint32_t NUMBERS_OF_WORD = 8;

namespace {

/// The bits of a page, lowest first. Behind the end comes zero, and `is_over` is set.
struct page_bits {
  rtl::stream<bytes::BITS>& in;
  rtl::token<bytes::BITS> token = {};
  int bit = 0;
  int bit_end = 0;
  bool has_ended = false;
  bool is_over = false;

  explicit page_bits(rtl::stream<bytes::BITS>& from) : in(from) {}

  uint32_t take(int count) {
    uint32_t taken = 0;
  BITS:
    for (int i = 0; i < count; i++) {
    REFILL:
      while (bit == bit_end && !has_ended) refill();
      if (bit == bit_end) {
        is_over = true;
        return 0;
      }
      taken |= static_cast<uint32_t>(rtl::get(token, bytes::data().at(bit, 1))) << i;
      bit++;
    }
    return taken;
  }

  void refill() {
    token = in.read();
    has_ended = rtl::get(token, bytes::last()) != 0;
    bit = 0;
    bit_end = 8 * static_cast<int>(rtl::get(token, bytes::count()));
  }

  void drain() {
  DRAIN:
    while (!has_ended) refill();
  }
};

/// A run: so many numbers, all the same or each of its own bits.
struct run {
  uint64_t left = 0;
  bool is_packed = false;
  uint32_t number = 0;
};

run open_run(page_bits& page, int width) {
  run opened;
  uint64_t header = 0;
  bool more = true;
HEADER:
  for (int byte = 0; byte < HEADER_BYTES_MAX && more; byte++) {
    const uint32_t taken = page.take(8);
    header |= static_cast<uint64_t>(taken & 0x7f) << (7 * byte);
    more = (taken & 0x80) != 0;
  }
  if (more) page.is_over = true;
  opened.is_packed = (header & 1) != 0;
  opened.left = opened.is_packed ? (header >> 1) * 8 : header >> 1;
  if (!opened.is_packed) opened.number = page.take((width + 7) / 8 * 8);
  return opened;
}

}  // namespace

void rle_unpacker_blackbox(rtl::token<6> width, rtl::token<32> values,
                           rtl::stream<bytes::BITS>& bytes_in,
                           rtl::stream<words::BITS>& words_out) {
  const int bits = static_cast<int>(rtl::get(width, {0, 6}));
  const uint32_t wanted = static_cast<uint32_t>(rtl::get(values, {0, 32}));
  page_bits page(bytes_in);
  if (bits > WIDTH_MAX && wanted != 0) page.is_over = true;
  run at;
  uint32_t given = 0;
  bool has_ended = false;
WORDS:
  while (!has_ended) {
    rtl::token<words::BITS> word = rtl::token<words::BITS>();
    uint32_t count = 0;
  NUMBERS:
    while (count < NUMBERS_OF_WORD && given + count < wanted && !page.is_over) {
    RUN:
      while (at.left == 0 && !page.is_over) at = open_run(page, bits);
      if (page.is_over) break;
      const uint32_t number = at.is_packed ? page.take(bits) : at.number;
      if (page.is_over) break;
      rtl::set(word, words::index().at(static_cast<int>(count), 32), number);
      at.left--;
      count++;
    }
    given += count;
    has_ended = page.is_over || given == wanted;
    rtl::set(word, words::count(), count);
    rtl::set(word, words::corrupt(), page.is_over ? 1 : 0);
    rtl::set(word, words::last(), has_ended ? 1 : 0);
    words_out.write(word);
  }
  page.drain();
}
