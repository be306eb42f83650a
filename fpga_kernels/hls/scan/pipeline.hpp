// SPDX-License-Identifier: Apache-2.0
// The scan pipeline as a dataflow region: the stages and the streams between them.
//
//     fetch -+-> read_pages -> decompress -> decode -+-> filter -> project -> aggregate -> write_result
//            +-> ... one lane a column ...          -+
#pragma once

#include "aggregate.hpp"
#include "decode.hpp"
#include "decompress.hpp"
#include "fetch.hpp"
#include "filter.hpp"
#include "load.hpp"
#include "page_reader.hpp"
#include "project.hpp"
#include "write.hpp"

namespace nearscan {

/// Runs the pipeline. False when its stages wait for each other, which would be a mistake in here.
///
/// `input` [lines], `output` and `scratch` [8-byte words] are device memory. Input ranges, output size
/// and scratch size are those of the command.
inline bool run_pipeline(const scan_plan& plan, const line_t* input, uint64_t* output,
                         uint64_t* scratch, const volatile uint32_t* cancel) {
#pragma HLS DATAFLOW
  line_stream lines[LANES];
  page_stream pages[LANES];
  byte_stream page_bytes[LANES];
  page_stream plain_pages[LANES];
  byte_stream plain_bytes[LANES];
  value_stream values[LANES];
  size_stream sizes[LANES];
  value_stream forwarded[LANES];
  report_stream fetched[LANES];
  report_stream parsed[LANES];
  report_stream decompressed[LANES];
  report_stream decoded[LANES];
  keep_stream filtered;
  report_stream filter_report;
  keep_stream projected;
  number_stream operands[SLOTS];
  report_stream project_report;
  keep_stream results;
  number_stream columns[SLOTS];
  report_stream aggregate_report;

  NS_REGION(flow);
  NS_STAGE(flow, fetch(input, plan.fetch, cancel, lines, fetched));
LANE_STAGES:
  for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
    if (NS_SKIP_LANE(plan.lanes[lane].active)) continue;
    const lane_plan& own = plan.lanes[lane];
    line_stream& lane_lines = lines[lane];
    report_stream& lane_fetched = fetched[lane];
    page_stream& lane_pages = pages[lane];
    byte_stream& lane_bytes = page_bytes[lane];
    report_stream& lane_parsed = parsed[lane];
    page_stream& lane_plain_pages = plain_pages[lane];
    byte_stream& lane_plain_bytes = plain_bytes[lane];
    report_stream& lane_decompressed = decompressed[lane];
    value_stream& lane_values = values[lane];
    size_stream& lane_sizes = sizes[lane];
    report_stream& lane_decoded = decoded[lane];
    NS_STAGE(flow, read_pages(own, lane_lines, lane_fetched, lane_pages, lane_bytes, lane_parsed));
    NS_STAGE(flow, decompress(own, lane_pages, lane_bytes, lane_parsed, lane_plain_pages,
                              lane_plain_bytes, lane_decompressed));
    NS_STAGE(flow, decode(own, lane_plain_pages, lane_plain_bytes, lane_decompressed, scratch,
                          lane_values, lane_sizes, lane_decoded));
  }
  NS_STAGE(flow, filter(plan.filter, values, decoded, forwarded, filtered, filter_report));
  NS_STAGE(flow, project(plan.project, filtered, forwarded, filter_report, projected, operands,
                         project_report));
  NS_STAGE(flow, aggregate(plan.aggregate, sizes, projected, operands, project_report, scratch,
                           results, columns, aggregate_report));
  NS_STAGE(flow, write_result(plan.write, results, columns, aggregate_report, scratch, output));
  return NS_RUN(flow);
}

/// Loads the command and runs it; the result's first words hold the status, whatever happened.
inline bool run_scan(const uint64_t* command, const line_t* input, uint64_t* output,
                     uint64_t* scratch, const volatile uint32_t* cancel) {
  uint64_t words[COMMAND_BYTES_MAX / 8];
#pragma HLS BIND_STORAGE variable = words type = ram_2p impl = bram
  scan_plan plan;
  // The size stands in the second word; a wrong one is refused below.
  const uint32_t total_bytes = static_cast<uint32_t>(command[1]);
  const uint32_t bytes = total_bytes < COMMAND_HEADER_BYTES ? COMMAND_HEADER_BYTES
                         : total_bytes > COMMAND_BYTES_MAX  ? COMMAND_BYTES_MAX
                                                            : total_bytes;
COPY_COMMAND:
  for (uint32_t word = 0; word < bytes / 8; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 32 max = 8192
    words[word] = command[word];
  }
  const uint32_t status = load_command(words, plan);
  if (status != STATUS_OK) {
    report own = empty_report();
    own.status = status;
    write_header(make_header(plan.write, own), output);
    return true;
  }
  return run_pipeline(plan, input, output, scratch, cancel);
}

}  // namespace nearscan
