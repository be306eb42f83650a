// SPDX-License-Identifier: Apache-2.0
// Batches: some words of all columns on their way through the processes of filter and projection.
//
// One process gathers a batch, one evaluates it, one passes it on (and in the filter one looks keys
// up), and each works on a batch of its own, so that the busiest is what a batch costs. The words
// travel in blocks, which the one that evaluates reads once for each step; what is known of a batch
// goes beside them.
#pragma once

#include "steps.hpp"

namespace nearscan {

/// Words of a batch: with two per iteration, a step takes more iterations than a sum or a
/// comparison is deep, and a lane's batches fit the small memories of 32 places that LUTs make.
static constexpr uint32_t BATCH_WORDS = 16;
/// Words that the arithmetic unit of the filter takes per iteration, and that of the projection:
/// predicates have more steps.
static constexpr uint32_t FILTER_WORDS = 2;
static constexpr uint32_t PROJECT_WORDS = 1;
/// Iterations until the next step may read the first result of one: operands read 2, computed 3,
/// written 1; a product of 64 by 64 bits is computed in 9. Assumed.
static constexpr uint32_t STEP_DEPTH = 6;
static constexpr uint32_t MULTIPLY_DEPTH = 12;

/// The words of all columns.
typedef value_token column_block[BATCH_WORDS][LANES];
/// The results of the steps of a program for each word.
typedef step_values step_block[BATCH_WORDS];

/// How many words a batch has, and the rows of each that are looked at. The last one has none.
struct batch_token {
  hls::vector<uint8_t, BATCH_WORDS> rows;
  uint8_t words;
  bool last;
};

/// Which rows of each word of a batch pass, and how many words it has; whether it may be passed on.
/// What is behind the last batch says nothing else.
struct verdict_token {
  hls::vector<uint8_t, BATCH_WORDS> rows;
  uint8_t words;
  bool failed;
  bool last;
};

/// A word of a key column: what of it is looked up in key filters.
struct key_token {
  number_token value;
  hls::vector<small_uint<CODE_BITS>, ROWS> code;
  uint8_t far;
  uint8_t valid;
};

/// Blocks: one that is filled and one that is evaluated, and one more for whoever passes it on.
typedef hls::stream_of_blocks<column_block, 2> evaluated_blocks;
typedef hls::stream_of_blocks<column_block, 3> passed_blocks;
typedef hls::stream_of_blocks<step_block, 2> step_blocks;
typedef hls::stream<batch_token, 2> batch_stream;
typedef hls::stream<verdict_token, 2> verdict_stream;
typedef hls::stream<key_token, VALUE_DEPTH> key_word_stream;
static_assert(VALUE_DEPTH >= static_cast<int>(BATCH_WORDS), "a batch waits for the set before");

/// A batch that ends the stream of them.
inline batch_token last_batch() {
  batch_token end = batch_token();
  end.last = true;
  return end;
}

}  // namespace nearscan

// A batch is looked up in one set after the other.
NS_NEEDED_DEPTH(nearscan::key_token, nearscan::BATCH_WORDS)
