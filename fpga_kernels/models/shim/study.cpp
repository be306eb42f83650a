// SPDX-License-Identifier: Apache-2.0
// The functions of the kernels of the SmartSSD study that Rust calls: one unit, with the variant as
// arguments that the hardware is built with.
#include "study/array_merge.hpp"
#include "study/average.hpp"
#include "study/count.hpp"
#include "study/join.hpp"
#include "study/vector_addition.hpp"

using namespace nearscan::study;

/// Which of the kernels' variants is meant. `local` has `buffer_bytes`; 0 goes without it.
struct study_variant {
  int32_t* local;
  uint32_t buffer_bytes;
  uint32_t pipelined;
};

extern "C" void ns_model_study_count(const int32_t* a, uint64_t* records, slice part, int32_t value,
                                     uint32_t unit, study_variant variant) {
  const buffer_size size = {variant.buffer_bytes, variant.buffer_bytes};
  if (variant.pipelined != 0) {
    count_unit<true>(a, records, part, value, unit, variant.local, size);
  } else {
    count_unit<false>(a, records, part, value, unit, variant.local, size);
  }
}

extern "C" void ns_model_study_average(const int32_t* a, uint64_t* records, slice part,
                                       uint32_t unit, study_variant variant) {
  const buffer_size size = {variant.buffer_bytes, variant.buffer_bytes};
  if (variant.pipelined != 0) {
    average_unit<true>(a, records, part, unit, variant.local, size);
  } else {
    average_unit<false>(a, records, part, unit, variant.local, size);
  }
}

extern "C" void ns_model_study_addition(const int32_t* a, const int32_t* b, int32_t* c,
                                        uint64_t* records, slice part, uint32_t unit,
                                        study_variant variant) {
  const buffer_size size = {variant.buffer_bytes, variant.buffer_bytes};
  if (variant.pipelined != 0) {
    addition_unit<true>(a, b, c, records, part, unit, variant.local, size);
  } else {
    addition_unit<false>(a, b, c, records, part, unit, variant.local, size);
  }
}

extern "C" void ns_model_study_merge(const int32_t* a, const int32_t* b, int32_t* c,
                                     uint64_t* records, merge_share share, study_variant variant) {
  const buffer_size size = {variant.buffer_bytes, variant.buffer_bytes};
  if (variant.pipelined != 0) {
    merge_unit<true>(a, b, c, records, share, variant.local, size);
  } else {
    merge_unit<false>(a, b, c, records, share, variant.local, size);
  }
}

extern "C" void ns_model_study_join(const int32_t* pieces, int32_t* joined, uint64_t* records,
                                    uint32_t units, uint64_t room, study_variant variant) {
  if (variant.pipelined != 0) {
    join_unit<true>(pieces, joined, records, units, room);
  } else {
    join_unit<false>(pieces, joined, records, units, room);
  }
}

/// The limits that Rust states too, in the order of its test; 0 behind the last.
extern "C" uint64_t ns_model_study_limit(uint32_t index) {
  static const uint64_t limits[] = {UNITS_MAX, ELEMENTS_MAX, BUFFER_BYTES_MIN, BUFFER_BYTES_MAX,
                                    RECORD_WORDS};
  return index < sizeof(limits) / sizeof(limits[0]) ? limits[index] : 0;
}
