// SPDX-License-Identifier: Apache-2.0
// Patterns of LIKE: random ones on values in which pieces of them begin everywhere, held against
// their definition; and the iterations of their prefilter, worked out by hand.
#pragma once

#include "tb_cases.hpp"
#include "tb_iterations.hpp"

namespace nearscan_tb {

/// Makes patterns and values of a few characters, so that most matches are partial ones.
struct pattern_maker {
  random_source random;
  std::vector<std::string> alphabet;
  std::vector<std::string> pieces;
  /// What is in no pattern, and so between candidates.
  std::string other = ".";

  explicit pattern_maker(uint64_t seed) : random(seed * 0x100000001b3u + 11) {
    // Characters of one to four bytes, bytes with the same low bits as others, and no UTF-8.
    const char* const characters[] = {
        "a",    "b",   "s", "!", "A", "B", "\"", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\x80", "\xa1"};
    const uint64_t count = 2 + random.below(3);
    while (alphabet.size() < count) {
      alphabet.push_back(random.once_in(2) ? characters[random.below(3)]
                                           : characters[random.below(12)]);
    }
  }

  const std::string& any_of(const std::vector<std::string>& list) {
    return list[random.below(list.size())];
  }

  std::string piece(bool with_ones) {
    std::string made;
    const uint64_t most = random.once_in(6) ? 14 : 5;
    for (uint64_t left = 1 + random.below(most); left > 0; left--) {
      const bool one = with_ones && random.once_in(4);
      made += one ? std::string(1, static_cast<char>(PATTERN_ONE)) : any_of(alphabet);
    }
    return made;
  }

  std::string pattern(bool with_ones) {
    const std::string any(1, static_cast<char>(PATTERN_ANY));
    std::string made = random.once_in(3) ? "" : any;
    for (uint64_t left = random.once_in(12) ? 0 : 1 + random.below(3); left > 0; left--) {
      pieces.push_back(piece(with_ones));
      // More places are refused.
      if (made.size() + pieces.back().size() > PATTERN_PLACES_MAX) break;
      made += pieces.back();
      if (left > 1 || random.once_in(2)) made += any;
    }
    return made;
  }

  /// Of random characters and parts of pieces, cut off anywhere, with gaps.
  std::string value() {
    const uint64_t length = random.once_in(8) ? 124 + random.below(10) : random.below(41);
    std::string made;
    while (made.size() < length) {
      const bool some = !pieces.empty() && random.once_in(2);
      const std::string& from = some                ? any_of(pieces)
                                : random.once_in(2) ? other
                                                    : any_of(alphabet);
      made += random.once_in(3) ? from.substr(0, random.below(from.size() + 1)) : from;
    }
    return made.substr(0, length);
  }
};

/// Runs up to eight random patterns on random values; counts how many match into `matched`.
inline void random_patterns(tally& all, uint64_t seed, uint64_t& matched, uint64_t& compared) {
  pattern_maker maker(seed);
  scan_model model;
  std::vector<step> steps;
  // A single `_` makes the column's automata take every byte.
  const bool with_ones = maker.random.once_in(4);
  for (uint64_t left = 1 + maker.random.below(PATTERNS_PER_COLUMN_MAX); left > 0; left--) {
    steps.push_back(make_step(OP_TEST, test_at(static_cast<uint32_t>(steps.size()))));
    model.tests.push_back({0, TEST_LIKE, {maker.pattern(with_ones && left == 1)}});
  }
  model.columns = {text_column(300, 0, [&maker](uint64_t) { return maker.value(); })};
  model.columns[0].style.values = layout::plain;
  model.rows = 300;
  show_steps(model, steps);
  run_form(all, "random patterns, seed " + std::to_string(seed), model, {});
  for (const test_model& test : model.tests) {
    for (const cell& value : model.columns[0].cells) {
      matched += golden_like(value.text, test.strings[0]).matches(0, 0) ? 1 : 0;
      compared++;
    }
  }
}

/// Each value of a plain column counts one for its length, and the iterations of its patterns.
inline void check_pattern(tally& all, const std::string& pattern, const std::string& text,
                          uint64_t expected) {
  scan_model model = make_iteration_model(10);
  model.columns = {text_column(10, 0, [&text](uint64_t) { return text; })};
  model.columns[0].style.values = layout::plain;
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  model.tests = {{0, TEST_LIKE, {like(pattern)}}};
  model.predicate = {make_step(OP_TEST, test_at(0))};
  check_iterations(all, "'" + text + "' LIKE '" + pattern + "'", model, decode_iterations,
                   10 * (1 + expected));
}

inline void iterations_of_patterns(tally& all) {
  // Nothing to find: a word an iteration.
  check_pattern(all, "%special%", "", 0);
  check_pattern(all, "%special%", "deposits", 1);
  check_pattern(all, "%special%", "deposit boost", 2);
  check_pattern(all, "%special%requests%", "carefully silent ideas sleep", 4);
  // The word before the candidate is skipped, so the gap in front of it takes no iteration; of the
  // seven bytes of the piece two are in the next word, whose other six are skipped.
  check_pattern(all, "%special%",
                "........"
                "...special......",
                1 + 5 + 2 + 1);
  // Of a value's first word the bytes before it are skipped.
  check_pattern(all, "%special%", "...special......", 1 + 5 + 2 + 1);
  check_pattern(all, "%special%", "special.", 7 + 1);
  check_pattern(all, "%special%", ".special", 1 + 7);
  // As many bytes are taken as the longest piece has, and that again from each candidate. One that
  // begins with the last byte but one of a word counts as one byte longer.
  check_pattern(all, "%spe%requests%", "spe.....", 8);
  check_pattern(all, "%spe%requests%", "spe............ .", 8 + 1 + 1);
  check_pattern(all, "%spe%requests%", "spe..spe........", 8 + 5 + 1);
  // A byte is taken for the first of one piece and the next for the second of another.
  check_pattern(all, "%spe%requests%", "req.sequ", 8);
  check_pattern(all, "%abc%axc%", "abc.axc.", 3 + 1 + 3 + 1);
  // The last two bytes of a word may begin a piece; if they do not, that is known in the next one.
  check_pattern(all, "%special%", "......sp........", 1 + 2 + 1);
  check_pattern(all, "%special%", ".......s........", 1 + 1 + 1);
  check_pattern(all, "%special%", ".......sp.......", 1 + 1 + 1);
  check_pattern(all, "%special%", ".......spe......", 1 + 1 + 6 + 1);
  check_pattern(all, "%special%", "......spe.......", 1 + 2 + 6 + 1);
  check_pattern(all, "%special%", "......sx........", 1 + 1);
  // Behind the value there is nothing.
  check_pattern(all, "%special%", "......sp", 1);
  check_pattern(all, "%special%", "......s", 1);
  check_pattern(all, "%special", ".special", 1 + 7);
  check_pattern(all, "%s", "....s..s", 1 + 1);
  check_pattern(all, "%st", "st.st.st", 1 + 2);
  // Pieces shorter than what is compared; a pattern without pieces has no candidates.
  check_pattern(all, "%s%", "....s...", 1 + 1 + 1);
  check_pattern(all, "%st%", "s...st..", 1 + 2 + 1);
  check_pattern(all, "%", "................", 2);
  check_pattern(all, "", "................", 2);
  // The beginning of a value is found as other pieces are.
  check_pattern(all, "special%", "special.", 7 + 1);
  check_pattern(all, "special%", "deposits", 1);
  // Longer than a word.
  check_pattern(all, "%specialrequests%", ".....speci..............", 1 + 3 + 8 + 4 + 1);
  // A character may have any number of bytes.
  check_pattern(all, "%s_ecial%", "................", 16);
  check_pattern(all, "_", "................", 16);
  // Bytes are told apart by their low five bits.
  check_pattern(all, "%special%", "SPECIAL.", 7 + 1);
  check_pattern(all, "%special%", "30%.....", 7 + 1);
}

inline void like_patterns(tally& all, uint64_t cases) {
  iterations_of_patterns(all);
  uint64_t matched = 0;
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < cases; seed++) random_patterns(all, seed, matched, compared);
  // Values that all match, or none, would hide most mistakes.
  if (10 * matched < compared || 10 * (compared - matched) < compared) {
    all.fail("random patterns", std::to_string(matched) + " of " + std::to_string(compared));
  }
}

}  // namespace nearscan_tb
