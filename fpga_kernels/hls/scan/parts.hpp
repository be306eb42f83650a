// SPDX-License-Identifier: Apache-2.0
// Parts of a result on their way to its lines: half a line of bits at most, packed one behind the
// other.
//
// One process makes parts, another one packs them: so the shifter and the checksum are there once,
// whatever the bits are of, and take a part per iteration.
#pragma once

#include "../common/result_lines.hpp"
#include "tokens.hpp"

namespace nearscan {

/// Words of half a line, and fours of bits of a word: parts begin and end at multiples of four
/// bits, for eight numbers of any width are whole bytes, and four are half of that.
static constexpr uint32_t HALF_WORDS = LINE_WORDS / 2;
static constexpr uint32_t HALF_BYTES = 8 * HALF_WORDS;
static constexpr uint32_t WORD_FOURS = 64 / 4;
static constexpr uint32_t HALF_FOURS = HALF_WORDS * WORD_FOURS;
typedef hls::vector<uint64_t, HALF_WORDS> half_line;

/// Bits of the result, the rest of which is zero, or the end. What comes behind a part that `ends`
/// something begins with a word.
struct part_token {
  half_line bits;
  uint8_t fours;
  bool ends;
  bool last;
};
typedef hls::stream<part_token, 16> part_stream;
/// The header, complete but for checksums.
typedef hls::stream<result_record, 1> record_stream;

/// Sends parts, and knows where in the output the next one begins.
struct part_writer {
  part_stream& parts;
  /// That place, in fours of bits.
  uint64_t fours;
  /// Iterations of all loops of the process that writes, which follow each other.
  uint64_t iterations;

  explicit part_writer(part_stream& to)
      : parts(to), fours(RESULT_RECORD_BYTES / 8 * WORD_FOURS), iterations(0) {}

  /// The next word of the output, behind what ends with a word.
  uint64_t words() const { return fours / WORD_FOURS; }

  /// Sends a part, in an iteration.
  void put(const half_line& bits, uint32_t count, bool ends) {
    iterations++;
    send(bits, count, ends);
  }

  /// The same of a word, in an iteration that is counted elsewhere.
  void put_word(uint64_t word) {
    half_line bits = half_line();
    bits[0] = word;
    send(bits, WORD_FOURS, false);
  }

  /// Says that nothing more comes.
  void finish() {
    part_token end = part_token();
    end.last = true;
    parts.write(end);
  }

 private:
  void send(const half_line& bits, uint32_t count, bool ends) {
    parts.write(part_token{bits, static_cast<uint8_t>(count), ends, false});
    fours += count;
    if (ends) fours = (fours + WORD_FOURS - 1) / WORD_FOURS * WORD_FOURS;
  }
};

/// CRC-32C of up to half a line at once: for each four bits of it what they add to the checksum.
struct crc32c_fours {
  uint32_t table[HALF_FOURS][16];

  constexpr crc32c_fours() : table() {
    for (uint32_t at = HALF_FOURS; at > 0; at--) {
      for (uint32_t four = 0; four < 16; four++) {
        const uint32_t byte = (at - 1) % 2 == 0 ? four : four << 4;
        uint32_t value = CRC32C.table[0][byte];
        for (uint32_t behind = (at - 1) / 2 + 1; behind < HALF_BYTES; behind++) {
          value = (value >> 8) ^ CRC32C.table[0][value & 0xff];
        }
        table[at - 1][four] = value;
      }
    }
  }
};

static constexpr crc32c_fours CRC32C_FOURS{};

/// Folds the last `Words` words of half a line into a running checksum.
template <uint32_t Words>
inline uint32_t crc32c_half(uint32_t running, const half_line& half) {
  uint32_t folded = 0;
CRC_WORDS:
  for (uint32_t word = HALF_WORDS - Words; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
    const uint64_t mixed = word == HALF_WORDS - Words ? half[word] ^ running : half[word];
  CRC_FOURS:
    for (uint32_t four = 0; four < WORD_FOURS; four++) {
#pragma HLS UNROLL
      folded ^= CRC32C_FOURS.table[WORD_FOURS * word + four][(mixed >> (4 * four)) & 0xf];
    }
  }
  return folded;
}

/// Packs parts into lines.
struct line_packer {
  /// Bits that wait for half a line to fill, and how many fours of them; a half that is just full
  /// stays until something comes behind it.
  half_line held;
  uint32_t held_fours;
  line_t line;
  /// The half of a line of the output that is to leave next.
  uint64_t half;
  uint32_t checksum;

  line_packer()
      : held(),
        held_fours(0),
        line(),
        half(RESULT_RECORD_BYTES / HALF_BYTES),
        checksum(CRC32C_START) {}

  /// Puts a part behind what waits.
  void put(const part_token& part, result_lines& out) {
    const bool is_full = held_fours == HALF_FOURS;
    const uint32_t first = held_fours / WORD_FOURS % HALF_WORDS;
    const uint32_t shift = 4 * (held_fours % WORD_FOURS);
    half_line filled = half_line();
    half_line next = half_line();
  ROTATE:
    for (uint32_t word = 0; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
      const uint32_t from = (word + HALF_WORDS - first) % HALF_WORDS;
      const uint64_t below = part.bits[(from + HALF_WORDS - 1) % HALF_WORDS];
      const uint64_t carried = shift == 0 ? 0 : below >> (64 - shift);
      const uint64_t rotated = part.bits[from] << shift | carried;
      // What has gone round belongs to the next half.
      const uint64_t round = is_full || word < first ? rotated : word == first ? carried : 0;
      filled[word] = held[word] | (rotated ^ round);
      next[word] = round;
    }
    uint32_t fours = held_fours + part.fours;
    if (part.ends) fours = (fours + WORD_FOURS - 1) / WORD_FOURS * WORD_FOURS;
    if (fours > HALF_FOURS) {
      send(filled, out);
      held = next;
      held_fours = fours - HALF_FOURS;
    } else {
      held = filled;
      held_fours = fours;
    }
  }

  /// Sends the words that wait, as the last line.
  void finish(result_lines& out) {
    const uint32_t before = static_cast<uint32_t>(half % 2) * HALF_WORDS;
    const uint32_t words = held_fours / WORD_FOURS;
  LAST_WORDS:
    for (uint32_t word = 0; word < words; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
      half_line alone = half_line();
      alone[HALF_WORDS - 1] = held[word];
      checksum = crc32c_half<1>(checksum, alone);
      set_line_word(line, before + word, held[word]);
    }
    if (before + words != 0) {
      out.write(result_line{line, static_cast<uint8_t>(before + words), half / 2, false});
    }
  }

 private:
  void send(const half_line& whole, result_lines& out) {
  HALF:
    for (uint32_t word = 0; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
      set_line_word(line, static_cast<uint32_t>(half % 2) * HALF_WORDS + word, whole[word]);
    }
    checksum = crc32c_half<HALF_WORDS>(checksum, whole);
    half++;
    if (half % 2 == 0) out.write(result_line{line, LINE_WORDS, half / 2 - 1, false});
  }
};

/// Stage: parts in, lines of the result out, the header last.
inline void pack_parts(part_stream& parts, record_stream& records, result_lines& out) {
  line_packer packer;
PARTS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const part_token part = parts.read();
    if (part.last) break;
    packer.put(part, out);
  }
  packer.finish(out);
  result_record record = records.read();
  if (record.status == STATUS_OK) record.payload_checksum = crc32c_end(packer.checksum);
  send_header(record, out);
}

}  // namespace nearscan
