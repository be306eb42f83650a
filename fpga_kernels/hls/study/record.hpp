// SPDX-License-Identifier: Apache-2.0
// The answer of a kernel of the SmartSSD study: its result, and what it did to get it.
//
// The counters are what a time model charges. They say how the source reaches memory: an element at
// a time, or a block at a time. Whether the synthesis tool makes bursts of single accesses, or cuts
// a block into several bursts, is the model's to assume. What a unit reads and writes of records is
// not counted: it is the same for arrays of any length.
#pragma once

#include "../common/platform.hpp"

namespace nearscan {
namespace study {

/// Units of a kernel, at most: the bank has fifteen ports, and a unit takes one.
static constexpr uint32_t UNITS_MAX = 15;
/// Elements of an array, at most: as many as fill the 4 GiB of the bank.
static constexpr uint64_t ELEMENTS_MAX = 1ull << 30;
static constexpr uint32_t ELEMENT_BYTES = 4;
/// A buffer holds at least one element of each array of a merge.
static constexpr uint32_t BUFFER_BYTES_MIN = 3 * ELEMENT_BYTES;
static constexpr uint32_t BUFFER_BYTES_MAX = 1u << 20;

enum study_status : uint64_t {
  STUDY_OK = 0,
  /// The buffer is larger than the one that is there, or smaller than BUFFER_BYTES_MIN.
  STUDY_BUFFER = 1,
  /// There is no such unit, no such job, or an array is too long.
  STUDY_ARGUMENTS = 2,
  /// The inputs of a merge are not sorted. Found only where the cuts cross.
  STUDY_NOT_SORTED = 3,
  /// The pieces to be joined do not lie within their array.
  STUDY_PIECES = 4,
};

/// The accesses to one array. `a` and `b` are only read, `c` is only written.
struct access_counts {
  /// Elements one by one.
  uint64_t singles;
  /// Copies of a block, and the elements that they moved.
  uint64_t bursts;
  uint64_t beats;
};

/// The work of one unit.
struct study_steps {
  access_counts a;
  access_counts b;
  access_counts c;
  /// Iterations of the loop that computes; those of copies are the beats.
  uint64_t iterations;
  /// Comparisons of elements.
  uint64_t comparisons;
  /// Times that the buffer was filled.
  uint64_t blocks;
  /// Elements moved by the join pass.
  uint64_t joined;
};

/// The answer of one unit, in 8-byte words.
struct study_record {
  uint64_t status;
  /// Count: elements that are equal. Average, addition: elements seen. Merge, join: elements put
  /// out.
  uint64_t elements;
  /// Average: the sum. It cannot overflow: 2^30 elements of 31 bits and a sign.
  int64_t sum;
  /// Merge: where in `c` the piece begins.
  uint64_t first;
  study_steps steps;
};

static constexpr uint32_t RECORD_WORDS = 17;
static_assert(sizeof(study_record) == RECORD_WORDS * 8, "words and nothing between them");

/// The part of the arrays that is one unit's.
struct slice {
  uint64_t first;
  uint64_t count;
};

inline bool is_slice(const slice& part) {
  return part.first <= ELEMENTS_MAX && part.count <= ELEMENTS_MAX - part.first;
}

/// The bytes of the kernel's own memory that a run uses, and how much there is. 0 goes without it,
/// so one bitstream serves for every size up to its own.
struct buffer_size {
  uint32_t bytes;
  uint32_t bytes_max;
};

inline study_status check_buffer(const buffer_size& size) {
  if (size.bytes == 0) return STUDY_OK;
  return size.bytes >= BUFFER_BYTES_MIN && size.bytes <= size.bytes_max ? STUDY_OK : STUDY_BUFFER;
}

/// Writes a record where that of `unit` belongs.
inline void write_record(const study_record& record, uint64_t* records, uint32_t unit) {
  const study_steps& steps = record.steps;
  const access_counts& a = steps.a;
  const access_counts& b = steps.b;
  const access_counts& c = steps.c;
  const uint64_t words[RECORD_WORDS] = {
      record.status, record.elements,  static_cast<uint64_t>(record.sum),
      record.first,  a.singles,        a.bursts,
      a.beats,       b.singles,        b.bursts,
      b.beats,       c.singles,        c.bursts,
      c.beats,       steps.iterations, steps.comparisons,
      steps.blocks,  steps.joined,
  };
WRITE_RECORD:
  for (uint32_t word = 0; word < RECORD_WORDS; word++) {
#pragma HLS PIPELINE off
    records[unit * RECORD_WORDS + word] = words[word];
  }
}

}  // namespace study
}  // namespace nearscan
