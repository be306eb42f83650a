// SPDX-License-Identifier: Apache-2.0
// What the black box `snappy_decoder_blackbox` does, in terms of the HLS stage.
//
// Of a page that fails the stage passes on what it had before it found out, and nothing of that
// counts: the black box may pass on more or less of it, but the token that ends it is empty.
#include "scan/decompress.hpp"
#include "snappy_decoder_ports.hpp"

using namespace snappy_decoder_ports;

namespace {

void send_page(rtl::token<pages::BITS> page, rtl::stream<in::BITS>& bytes_in,
               nearscan::page_stream& pages, nearscan::byte_stream& bytes,
               nearscan::report_stream& reports) {
  nearscan::page_token token = nearscan::page_token();
  token.compressed_bytes = static_cast<uint32_t>(rtl::get(page, pages::stored()));
  token.uncompressed_bytes = static_cast<uint32_t>(rtl::get(page, pages::whole()));
  token.kind = nearscan::PAGE_DATA;
  token.compressed = true;
  pages.write(token);
  token.last = true;
  pages.write(token);
  reports.write(nearscan::empty_report());
  // The stage gets whole words, the black box any number of bytes at a time.
  nearscan::bit_window held;
  bool more = true;
BYTES:
  while (more) {
    const rtl::token<in::BITS> piece = bytes_in.read();
    more = rtl::get(piece, in::ends()) == 0;
    held.push(rtl::get(piece, in::data()), 8 * static_cast<uint32_t>(rtl::get(piece, in::count())));
    if (held.held >= 64 && (more || held.held > 64)) {
      bytes.write(nearscan::byte_token{held.take(64), 8, false});
    }
  }
  const uint8_t rest = static_cast<uint8_t>(held.held / 8);
  bytes.write(nearscan::byte_token{held.take(held.held), rest, true});
}

/// Takes a page; its end waits for what the report says.
void take_page(nearscan::page_stream& pages, nearscan::byte_stream& bytes,
               nearscan::report_stream& reports, rtl::stream<out::BITS>& bytes_out) {
  nearscan::byte_token piece;
PIECES:
  for (bool more = true; more;) {
    piece = bytes.read();
    more = !piece.last;
    if (!more) break;
    rtl::token<out::BITS> token = rtl::token<out::BITS>();
    rtl::set(token, out::data(), piece.data);
    rtl::set(token, out::count(), piece.count);
    bytes_out.write(token);
  }
  pages.read();
  pages.read();
  const uint32_t status = reports.read().status;
  rtl::token<out::BITS> token = rtl::token<out::BITS>();
  rtl::set(token, out::data(), status == nearscan::STATUS_OK ? piece.data : 0);
  rtl::set(token, out::count(), status == nearscan::STATUS_OK ? piece.count : 0);
  rtl::set(token, out::ends(), 1);
  rtl::set(token, out::is_corrupt(), status == nearscan::STATUS_CORRUPT ? 1 : 0);
  rtl::set(token, out::is_too_far(), status == nearscan::STATUS_SNAPPY_DISTANCE ? 1 : 0);
  bytes_out.write(token);
}

void do_page(rtl::token<pages::BITS> page, rtl::stream<in::BITS>& bytes_in,
             rtl::stream<out::BITS>& bytes_out) {
  nearscan::decompress_plan plan = nearscan::decompress_plan();
  plan.active = true;
  plan.codec = nearscan::CODEC_SNAPPY;
  nearscan::page_stream pages_in, pages_out;
  nearscan::byte_stream payload_in, payload_out;
  nearscan::report_stream reports_in, reports_out;
  NS_REGION(flow);
  NS_STAGE(flow, send_page(page, bytes_in, pages_in, payload_in, reports_in));
  NS_STAGE(flow, nearscan::decompress(plan, pages_in, payload_in, reports_in, pages_out,
                                      payload_out, reports_out));
  NS_STAGE(flow, take_page(pages_out, payload_out, reports_out, bytes_out));
  NS_RUN(flow);
}

}  // namespace

void snappy_decoder_blackbox(rtl::stream<pages::BITS>& pages_in, rtl::stream<in::BITS>& bytes_in,
                             rtl::stream<out::BITS>& bytes_out) {
PAGES:
  while (true) {
    const rtl::token<pages::BITS> page = pages_in.read();
    if (rtl::get(page, pages::last()) != 0) break;
    do_page(page, bytes_in, bytes_out);
  }
  rtl::token<out::BITS> token = rtl::token<out::BITS>();
  rtl::set(token, out::last(), 1);
  bytes_out.write(token);
}
