// SPDX-License-Identifier: Apache-2.0
// What the black box `snappy_decoder_blackbox` does: the model that the kernel is simulated with.
#include "scan/snappy_model.hpp"
#include "snappy_decoder_ports.hpp"

using namespace snappy_decoder_ports;

namespace {

constexpr bool is_same(rtl::field one, rtl::field other) {
  return one.first == other.first && one.bits == other.bits;
}

// The kernel knows the tokens without the description.
static_assert(nearscan::snappy_page::BITS == pages::BITS, "a page");
static_assert(is_same(nearscan::snappy_page::stored(), pages::stored()), "stored");
static_assert(is_same(nearscan::snappy_page::whole(), pages::whole()), "whole");
static_assert(is_same(nearscan::snappy_page::last(), pages::last()), "the last page");
static_assert(nearscan::snappy_bytes::BITS == in::BITS, "bytes of a page");
static_assert(is_same(nearscan::snappy_bytes::data(), in::data()), "data of a page");
static_assert(is_same(nearscan::snappy_bytes::count(), in::count()), "bytes of a token");
static_assert(is_same(nearscan::snappy_bytes::ends(), in::ends()), "the end of a page");
static_assert(nearscan::snappy_answer::BITS == out::BITS, "an answer");
static_assert(is_same(nearscan::snappy_answer::data(), out::data()), "data");
static_assert(is_same(nearscan::snappy_answer::count(), out::count()), "count");
static_assert(is_same(nearscan::snappy_answer::ends(), out::ends()), "ends");
static_assert(is_same(nearscan::snappy_answer::is_corrupt(), out::is_corrupt()), "is_corrupt");
static_assert(is_same(nearscan::snappy_answer::is_too_far(), out::is_too_far()), "is_too_far");
static_assert(is_same(nearscan::snappy_answer::last(), out::last()), "last");

}  // namespace

void snappy_decoder_blackbox(rtl::stream<pages::BITS>& pages_in, rtl::stream<in::BITS>& bytes_in,
                             rtl::stream<out::BITS>& bytes_out) {
  nearscan::run_snappy_model(pages_in, bytes_in, bytes_out);
}
