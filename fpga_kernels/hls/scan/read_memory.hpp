// SPDX-License-Identifier: Apache-2.0
// The stage that reads scratch.
//
// A port of device memory belongs to one stage: others ask it through streams. Lanes look up the
// entries of dictionaries that do not fit on chip, and read back pages that are split into streams;
// the aggregates read strings to compare them; the last stage reads strings back. What they ask for
// has been written before: see memory_lane.hpp.
//
// One flat loop: in an iteration a request goes to the port, or a word of the oldest one is taken,
// or both. Words are taken when no more requests may be in flight, or when there is none to send,
// so that the way to the memory and back is paid once and not for each.
//
// This stage waits for no other one. Whoever asks has room for the answers (WORDS_DUE,
// FOUND_DUE, ENTRIES_DUE), so it is in no circle of stages that wait for each other.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Requests in flight, as many as the port keeps.
static constexpr uint32_t READS_MAX = 16;

/// Who asks for words: the lanes, and the stages behind them.
static constexpr uint32_t READ_FOR_STATES = LANES;
static constexpr uint32_t READ_FOR_RESULT = LANES + 1;

/// A request in flight: an entry for a lane, or words for a reader.
struct read_in_flight {
  uint8_t reader;
  bool is_entry;
  /// Words that are to come, the place of the next one in the answer, and whether it is whole then.
  uint8_t left;
  uint8_t at;
  bool ends;
};

/// The requests in flight, the oldest first.
struct reads_in_flight {
  read_in_flight of[READS_MAX];
  uint32_t oldest;
  uint32_t count;

  reads_in_flight() : oldest(0), count(0) {}

  void push(const read_in_flight& request) {
    of[(oldest + count) % READS_MAX] = request;
    count++;
  }

  void pop() {
    oldest = (oldest + 1) % READS_MAX;
    count--;
  }
};

/// The request for words that is being sent: all at once, or each of them apart.
struct words_asked {
  scratch_token token;
  uint32_t reader;
  /// Rows whose word, at an address of its own, has not been asked for.
  uint32_t rows;
  /// Requests to the port that have not been sent.
  uint32_t left;
  /// Of a lane's words: from one to the next, and whether the next one comes second in its answer.
  uint32_t stride;
  bool is_second;
};

/// Takes the request of a lane.
inline void take_spread(const spread_token& spread, words_asked& asked) {
  asked.token.at = spread.at;
  asked.left = spread.count;
  asked.stride = spread.stride;
  asked.is_second = false;
}

/// Takes the request of the last stage.
inline void take_piece(const piece_token& piece, words_asked& asked) {
  asked.token.kind = SCRATCH_READ;
  asked.token.at = piece.at;
  asked.token.count = piece.count;
  asked.left = piece.last ? 0 : 1;
}

/// Takes the request of the aggregates.
inline void take_words(const scratch_token& token, words_asked& asked) {
  asked.token = token;
  asked.rows = token.rows;
  asked.left = token.kind == SCRATCH_FIRST_WORDS ? count_bits(token.rows) : 1;
  if (token.kind == SCRATCH_END) asked.left = 0;
}

/// The first of `count` streams from `turn` on that holds a token, or `count` if none does.
template <typename Stream>
inline uint32_t first_with_token(Stream streams[LANES], uint32_t count, uint32_t turn) {
  uint32_t holders = 0;
HOLDERS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    if (lane >= count) break;
    holders |= (streams[lane].empty() ? 0u : 1u) << lane;
  }
  return round_robin<LANES>(holders, turn, count);
}

/// Asks for an entry of a lane, if one wants any. True when a token was taken.
inline bool ask_for_entry(slot_stream slots[LANES], const memory_plan& plan, uint32_t turn,
                          reads_in_flight& reads, word_port& scratch, uint32_t& open_count,
                          memory_report& own) {
  const uint32_t lane = first_with_token(slots, plan.lane_count, turn);
  if (lane == plan.lane_count) return false;
  const slot_token slot = slots[lane].read();
  if (slot.last) {
    open_count--;
    return true;
  }
  const uint32_t count = is_among(plan.tested, lane) ? TESTED_SLOT_WORDS : UNTESTED_SLOT_WORDS;
  scratch.read_request(slot.at, count);
  reads.push(
      read_in_flight{static_cast<uint8_t>(lane), true, static_cast<uint8_t>(count), 0, true});
  own.requests++;
  own.entries++;
  return true;
}

/// Takes what a reader of words asks for, if one does.
inline bool take_words_asked(spread_stream requests[LANES], uint32_t lane_count, uint32_t turn,
                             scratch_stream& state_requests, piece_stream& string_requests,
                             words_asked& asked, uint32_t& open_count) {
  const uint32_t lane = first_with_token(requests, lane_count, turn);
  if (lane < lane_count) {
    take_spread(requests[lane].read(), asked);
    asked.reader = lane;
  } else if (!state_requests.empty()) {
    take_words(state_requests.read(), asked);
    asked.reader = READ_FOR_STATES;
  } else if (!string_requests.empty()) {
    take_piece(string_requests.read(), asked);
    asked.reader = READ_FOR_RESULT;
  } else {
    return false;
  }
  // A request for nothing is a reader's last one.
  if (asked.left == 0) open_count--;
  return true;
}

/// Sends the next request for words to the port.
inline void ask_for_words(words_asked& asked, reads_in_flight& reads, word_port& scratch,
                          memory_report& own) {
  const bool is_of_lane = asked.reader < static_cast<uint32_t>(LANES);
  const bool apart = !is_of_lane && asked.token.kind == SCRATCH_FIRST_WORDS;
  const uint32_t row = lowest_bit(asked.rows);
  asked.rows &= asked.rows - 1;
  asked.left--;
  const uint8_t count =
      static_cast<uint8_t>(is_of_lane || apart ? 1u : static_cast<uint32_t>(asked.token.count));
  const uint64_t at = apart ? asked.token.word[row] : static_cast<uint64_t>(asked.token.at);
  const uint32_t place = is_of_lane ? (asked.is_second ? 1 : 0) : apart ? row : 0;
  const bool ends = asked.left == 0 || (is_of_lane && asked.is_second);
  scratch.read_request(at, count);
  reads.push(read_in_flight{static_cast<uint8_t>(asked.reader), false, count,
                            static_cast<uint8_t>(place), ends});
  if (is_of_lane) asked.token.at = at + asked.stride;
  asked.is_second = !asked.is_second;
  own.requests++;
}

/// What has come of the oldest request.
struct read_answers {
  words_token words;
  entry_token entry;
};

/// Takes a word of the oldest request, and sends the answer on that it makes whole.
inline void take_word(reads_in_flight& reads, word_port& scratch, read_answers& answers,
                      entry_stream entries[LANES], found_stream found[LANES], string_stream& states,
                      string_stream& strings) {
  read_in_flight& oldest = reads.of[reads.oldest];
  const uint64_t word = scratch.read();
  oldest.left--;
  const bool is_whole = oldest.left == 0;
  if (oldest.is_entry) {
    // The value, then the outcomes of the tests, if there are any.
    if (oldest.at == 0) {
      answers.entry.value = static_cast<int64_t>(word);
      answers.entry.tests = 0;
    } else {
      answers.entry.tests = static_cast<uint16_t>(word);
    }
    oldest.at++;
    if (is_whole) entries[oldest.reader].write(answers.entry);
  } else {
    answers.words.word[oldest.at] = word;
    oldest.at++;
    if (is_whole && oldest.ends) {
      if (oldest.reader == READ_FOR_STATES) {
        states.write(answers.words);
      } else if (oldest.reader == READ_FOR_RESULT) {
        strings.write(answers.words);
      } else {
        found_token two = found_token();
        two.word[0] = answers.words.word[0];
        two.word[1] = answers.words.word[1];
        found[oldest.reader].write(two);
      }
      answers.words = words_token();
    }
  }
  if (is_whole) reads.pop();
}

/// Stage: requests in, answers out. Reports when all stages that ask have ended.
inline void read_memory(const memory_plan& plan, slot_stream slots[LANES],
                        entry_stream entries[LANES], spread_stream requests[LANES],
                        found_stream found[LANES], scratch_stream& state_requests,
                        string_stream& states, piece_stream& string_requests,
                        string_stream& strings, word_port& scratch, memory_report_stream& reports) {
  reads_in_flight reads;
#pragma HLS ARRAY_PARTITION variable = reads.of complete
  words_asked asked = words_asked();
  read_answers answers = read_answers();
  memory_report own = memory_report();
  // Each lane's reader of words, two stages, and who looks entries up.
  uint32_t open_count = plan.lane_count + 2 + plan.look_up_count;
  uint32_t turn = 0;
  bool more = true;
READS:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    bool moved = false;
    if (reads.count < READS_MAX) {
      if (asked.left != 0) {
        ask_for_words(asked, reads, scratch, own);
        if (asked.reader == READ_FOR_STATES && asked.left == 0) own.waits++;
        moved = true;
      } else {
        moved = ask_for_entry(slots, plan, turn, reads, scratch, open_count, own) ||
                take_words_asked(requests, plan.lane_count, turn, state_requests, string_requests,
                                 asked, open_count);
      }
    }
    turn = turn + 1 < plan.lane_count ? turn + 1 : 0;
    if (reads.count > 0 && (!moved || reads.count == READS_MAX)) {
      take_word(reads, scratch, answers, entries, found, states, strings);
      own.iterations++;
      moved = true;
    }
    if (!moved) NS_IDLE();
    more = open_count > 0 || reads.count > 0 || asked.left != 0;
  }
  reports.write(own);
}

}  // namespace nearscan
