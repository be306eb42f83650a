// SPDX-License-Identifier: Apache-2.0
// Array Merge of the SmartSSD study: two sorted arrays in, one sorted array without duplicates out.
//
// An iteration takes one element, which waits in a register, and reads the one that follows it:
// what to read next is known only when two elements have been compared. A unit with a buffer has,
// as in the study, a single one: a third is a block of `a`, a third one of `b`, a third one of `c`.
//
// A unit merges what lies between its two cuts (cut.hpp) and writes its piece to `c`, where the
// elements before its first cut leave room for it. How long a piece is, is known behind it:
// join.hpp moves the pieces together.
#pragma once

#include "cut.hpp"
#include "local_memory.hpp"

namespace nearscan {
namespace study {

/// One of the two inputs, where a loop can reach it: in global memory or in the buffer.
struct merge_input {
  /// The element that waits, and where the elements that can be reached end.
  uint64_t at;
  uint64_t end;
  /// Whether no more are behind that end.
  bool is_last;
  /// The element that waits.
  int32_t head;
};

/// A merge between two iterations.
struct merge_cursor {
  merge_input a;
  merge_input b;
  /// The place of the next element, and the end of the room.
  uint64_t out;
  uint64_t out_end;
  /// The element that was put out last, to leave out those that equal it.
  int32_t last;
  bool has_last;
};

/// Makes `count` elements from `first` on those that an input has.
inline void open_input(const int32_t* elements, uint64_t first, uint64_t count,
                       merge_input& input) {
  input.at = first;
  input.end = first + count;
  if (count > 0) input.head = elements[first];
}

/// Whether an input has an element, and whether it is known that it has none.
inline bool has_head(const merge_input& input) { return input.at < input.end; }
inline bool is_open(const merge_input& input) { return has_head(input) || input.is_last; }

/// Whether the next iteration needs nothing but what can be reached.
inline bool can_iterate(const merge_cursor& cursor) {
  return is_open(cursor.a) && is_open(cursor.b) && (has_head(cursor.a) || has_head(cursor.b)) &&
         cursor.out < cursor.out_end;
}

/// Moves an input on by an element.
inline void next_head(const int32_t* elements, merge_input& input) {
  input.at++;
  if (has_head(input)) input.head = elements[input.at];
}

/// Takes the lower of the elements that wait and puts it out, unless it is a duplicate.
inline void merge_iteration(const int32_t* a, const int32_t* b, int32_t* c, merge_cursor& cursor,
                       study_steps& steps) {
  const bool both = has_head(cursor.a) && has_head(cursor.b);
  const bool take_a = both ? cursor.a.head <= cursor.b.head : has_head(cursor.a);
  const int32_t taken = take_a ? cursor.a.head : cursor.b.head;
  steps.iterations++;
  steps.comparisons += (both ? 1 : 0) + (cursor.has_last ? 1 : 0);
  if (!cursor.has_last || taken != cursor.last) c[cursor.out++] = taken;
  cursor.last = taken;
  cursor.has_last = true;
  if (take_a) {
    next_head(a, cursor.a);
  } else {
    next_head(b, cursor.b);
  }
}

/// Merges as far as the cursor reaches. An iteration depends on the one before it, so the tool will
/// find a longer interval than is asked for.
template <bool Pipelined>
inline void merge_elements(const int32_t* a, const int32_t* b, int32_t* c, merge_cursor& cursor,
                           study_steps& steps) {
  if (Pipelined) {
  MERGE_PIPELINED:
    while (can_iterate(cursor)) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE II = 1
      merge_iteration(a, b, c, cursor, steps);
    }
  } else {
  MERGE:
    while (can_iterate(cursor)) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE off
      merge_iteration(a, b, c, cursor, steps);
    }
  }
}

/// Merges two slices of global memory, an element at a time; gives how many were put out.
template <bool Pipelined>
inline uint64_t merge_plain(const int32_t* a, const int32_t* b, int32_t* c, const slice& of_a,
                            const slice& of_b, uint64_t first, study_steps& steps) {
  merge_cursor cursor = merge_cursor();
  cursor.a.is_last = true;
  cursor.b.is_last = true;
  open_input(a, of_a.first, of_a.count, cursor.a);
  open_input(b, of_b.first, of_b.count, cursor.b);
  cursor.out = first;
  cursor.out_end = first + of_a.count + of_b.count;
  merge_elements<Pipelined>(a, b, c, cursor, steps);
  // Each element is read once: it waits in a register.
  steps.a.singles += of_a.count;
  steps.b.singles += of_b.count;
  steps.c.singles += cursor.out - first;
  return cursor.out - first;
}

/// Copies the next block of an input to its third of the buffer, when the one before is used up.
template <bool Pipelined>
inline void refill(const int32_t* memory, slice& left, int32_t* local, uint32_t at,
                   uint32_t capacity, merge_input& input, access_counts& counts, uint64_t& blocks) {
  if (has_head(input) || left.count == 0) return;
  const uint32_t count = block_elements(left.count, capacity);
  copy_in<Pipelined>(memory, left.first, local, at, count, counts);
  left.first += count;
  left.count -= count;
  input.is_last = left.count == 0;
  open_input(local, at, count, input);
  blocks++;
}

/// Merges two slices of global memory through the buffer; gives how many were put out.
template <bool Pipelined>
inline uint64_t merge_buffered(const int32_t* a, const int32_t* b, int32_t* c, const slice& of_a,
                               const slice& of_b, uint64_t first, int32_t* local,
                               uint32_t buffer_bytes, study_steps& steps) {
  const uint32_t third = buffer_bytes / (3 * ELEMENT_BYTES);
  slice left_a = of_a;
  slice left_b = of_b;
  merge_cursor cursor = merge_cursor();
  cursor.a.is_last = left_a.count == 0;
  cursor.b.is_last = left_b.count == 0;
  cursor.out = 2 * third;
  cursor.out_end = 3 * third;
  uint64_t written = 0;
  bool ended = false;
BLOCKS:
  while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1048576
    refill<Pipelined>(a, left_a, local, 0, third, cursor.a, steps.a, steps.blocks);
    refill<Pipelined>(b, left_b, local, third, third, cursor.b, steps.b, steps.blocks);
    merge_elements<Pipelined>(local, local, local, cursor, steps);
    ended = left_a.count == 0 && left_b.count == 0 && !has_head(cursor.a) && !has_head(cursor.b);
    const uint32_t full = static_cast<uint32_t>(cursor.out - 2 * third);
    if (full == third || (ended && full > 0)) {
      copy_out<Pipelined>(local, 2 * third, c, first + written, full, steps.c);
      written += full;
      cursor.out = 2 * third;
    }
  }
  return written;
}

/// A unit's share of a merge: its number, of how many units, and the lengths of the arrays.
struct merge_share {
  uint32_t unit;
  uint32_t units;
  array_lengths lengths;
};

inline bool is_share(const merge_share& share) {
  return share.unit < share.units && share.units <= UNITS_MAX && share.lengths.a <= ELEMENTS_MAX &&
         share.lengths.b <= ELEMENTS_MAX;
}

/// Merges the share of one unit.
template <bool Pipelined>
inline study_record run_merge(const int32_t* a, const int32_t* b, int32_t* c,
                              const merge_share& share, int32_t* local, uint32_t buffer_bytes) {
  study_record record = study_record();
  const merge_cut low = find_cut(a, b, share.lengths, share.unit, share.units, record.steps);
  const merge_cut high = find_cut(a, b, share.lengths, share.unit + 1, share.units, record.steps);
  if (high.a < low.a || high.b < low.b) {
    record.status = STUDY_NOT_SORTED;
    return record;
  }
  const slice of_a = {low.a, high.a - low.a};
  const slice of_b = {low.b, high.b - low.b};
  record.first = low.a + low.b;
  if (buffer_bytes == 0) {
    record.elements = merge_plain<Pipelined>(a, b, c, of_a, of_b, record.first, record.steps);
  } else {
    record.elements = merge_buffered<Pipelined>(a, b, c, of_a, of_b, record.first, local,
                                                buffer_bytes, record.steps);
  }
  return record;
}

/// The kernel's first job: checks its arguments, runs, and leaves the record of the unit.
template <bool Pipelined>
inline void merge_unit(const int32_t* a, const int32_t* b, int32_t* c, uint64_t* records,
                       const merge_share& share, int32_t* local, const buffer_size& size) {
  if (share.unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_share(share) ? check_buffer(size) : STUDY_ARGUMENTS;
  if (record.status == STUDY_OK) {
    record = run_merge<Pipelined>(a, b, c, share, local, size.bytes);
  }
  write_record(record, records, share.unit);
}

}  // namespace study
}  // namespace nearscan
