// SPDX-License-Identifier: Apache-2.0
// Writes the parts of a Snappy page: keeps 64 KiB of what was written, and reads copies from it.
//
// Even and odd words are in memories of their own, since eight bytes that begin anywhere are in
// two neighbours, and since a part completes up to two words. A copy from 256 bytes back or
// more comes from the far history, two URAMs, which are read some cycles before the part is
// written. A nearer one comes from the near history: the last 64 words in LUTs that are used as
// memory, and the word that is not yet whole. These are read, moved and written within one cycle,
// so that a part may copy what the part before it wrote; nothing ever waits for a memory.
//
// Throughput: a part a cycle; it never waits. Latency: 5 cycles to the words. Reset: forgets the
// parts; the memories keep what they have.
//
// Invariants: a word is read from the far history no sooner than 32 words after it; the parts that
// may still be on their way to it then complete less than a third of that.
module snappy_history (
  input  logic        clk_i,
  input  logic        rst_ni,
  // A part, as snappy_sequencer describes it, and two cycles later what is wrong with it.
  input  logic        part_i,
  input  logic        ends_i,
  input  logic        closes_i,
  input  logic [15:0] at_i,
  input  logic [63:0] literal_i,
  input  logic [3:0]  literal_bytes_i,
  input  logic [4:0]  bytes_i,
  input  logic [15:0] from_i,
  input  logic [4:0]  back_i,
  input  logic [2:0]  period_i,
  input  logic        repeats_i,
  input  logic        is_far_i,
  input  logic        is_corrupt_i,
  input  logic        is_too_far_i,
  // Words that are complete, none, one or two, or what is left at the end of a page.
  output logic [1:0]  words_o,
  output logic [63:0] first_o,
  output logic [63:0] second_o,
  output logic        ends_o,
  output logic        closes_o,
  output logic [2:0]  rest_o,
  // At the end of a page.
  output logic        is_corrupt_o,
  output logic        is_too_far_o
);
  // The near history has 32 places for even words, and as many for odd ones.
  localparam int unsigned NEAR_BITS = 5;

  logic [23:0] lane_early, lane;
  logic [15:0] source, even_from, odd_from, wait_from;
  logic [7:0] is_odd;
  snappy_lanes i_lanes (
    .clk_i,
    .at_i(at_i[3:0]),
    .literal_bytes_i,
    .bytes_i,
    .from_i(from_i[3:0]),
    .back_i,
    .period_i,
    .repeats_i,
    .is_far_i,
    .is_odd_o(is_odd),
    .lane_early_o(lane_early),
    .lane_o(lane),
    .source_o(source),
    .even_o(even_from),
    .odd_o(odd_from),
    .wait_o(wait_from)
  );

  // The places to read from, and the far history: three cycles.
  logic [11:0] even_at_1q, odd_at_1q;
  always_ff @(posedge clk_i) begin
    even_at_1q <= from_i[15:4] + {11'd0, from_i[3]};
    odd_at_1q <= from_i[15:4];
  end
  logic [63:0] far_even, far_odd;
  logic [1:0] write_5q;
  logic [11:0] even_to_5q, odd_to_5q;
  logic [63:0] even_5q, odd_5q;
  far_memory i_far_even (
    .clk_i, .read_at_i(even_at_1q), .data_o(far_even), .write_i(write_5q[0]),
    .write_at_i(even_to_5q), .data_i(even_5q)
  );
  far_memory i_far_odd (
    .clk_i, .read_at_i(odd_at_1q), .data_o(far_odd), .write_i(write_5q[1]),
    .write_at_i(odd_to_5q), .data_i(odd_5q)
  );

  // Its bytes in the lanes that they go to.
  logic [63:0] far_in_lanes, far_moved, far_4q;
  for (genvar i = 0; i < 8; i++) begin : gen_far
    assign far_in_lanes[8*i +: 8] = is_odd[i] ? far_odd[8*i +: 8] : far_even[8*i +: 8];
    assign far_moved[8*i +: 8] = far_in_lanes[8*lane_early[3*i +: 3] +: 8];
  end
  always_ff @(posedge clk_i) far_4q <= far_moved;

  // The literal in its lanes, and where words are written to.
  logic [2:0] held_1q, held_4q;
  logic [63:0] literal_1q, literal_2q, literal_4q, rotated;
  logic at_odd_4q, ends_4q, closes_4q, part_4q;
  logic [1:0] words_1q, words_4q, write_4q;
  logic [11:0] even_to_1q, odd_to_1q, even_to_4q, odd_to_4q;
  logic part_1q, part_2q, part_3q, ends_1q, closes_1q, at_odd_1q;
  logic [1:0] write_1q;
  logic [NEAR_BITS-1:0] near_even_at, near_odd_at;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [5:0] sum;
  /* verilator lint_on UNUSEDSIGNAL */
  assign sum = {3'd0, at_i[2:0]} + {1'b0, bytes_i};
  for (genvar i = 0; i < 8; i++) begin : gen_literal
    logic [2:0] place;
    assign place = 3'(i) - held_1q;
    assign rotated[8*i +: 8] = literal_1q[8*place +: 8];
  end
  always_ff @(posedge clk_i) begin
    {part_4q, part_3q, part_2q, part_1q} <= {part_3q, part_2q, part_1q, part_i} & {4{rst_ni}};
    ends_1q <= ends_i;
    closes_1q <= closes_i;
    held_1q <= at_i[2:0];
    at_odd_1q <= at_i[3];
    words_1q <= sum[4:3];
    literal_1q <= literal_i;
    literal_2q <= rotated;
    even_to_1q <= at_i[15:4] + {11'd0, at_i[3]};
    odd_to_1q <= at_i[15:4];
    write_1q <= at_i[3] ? {sum[4:3] != 2'd0, sum[4]} : {sum[4], sum[4:3] != 2'd0};
    if (!part_i) write_1q <= 2'd0;
  end
  delay #(.WIDTH(34), .CYCLES(3)) i_where (
    .clk_i,
    .data_i({ends_1q, closes_1q, held_1q, at_odd_1q, words_1q, write_1q, even_to_1q, odd_to_1q}),
    .data_o({ends_4q, closes_4q, held_4q, at_odd_4q, words_4q, write_4q, even_to_4q, odd_to_4q})
  );
  delay #(.WIDTH(64), .CYCLES(2)) i_literal (.clk_i, .data_i(literal_2q), .data_o(literal_4q));
  delay #(.WIDTH(2 * NEAR_BITS), .CYCLES(3)) i_near_at (
    .clk_i,
    .data_i({even_at_1q[NEAR_BITS-1:0], odd_at_1q[NEAR_BITS-1:0]}),
    .data_o({near_even_at, near_odd_at})
  );

  // The stage that writes: the near history is read, moved and written.
  (* ram_style = "distributed" *) logic [63:0] near_even [0:2**NEAR_BITS-1];
  (* ram_style = "distributed" *) logic [63:0] near_odd [0:2**NEAR_BITS-1];
  logic [63:0] wait_q, even_read, odd_read, in_lanes, moved, even, odd, waits;
  assign even_read = near_even[near_even_at];
  assign odd_read = near_odd[near_odd_at];

  function automatic logic [7:0] choose(input logic [1:0] which, input logic [7:0] a,
                                        input logic [7:0] b, input logic [7:0] c,
                                        input logic [7:0] d);
    unique case (which)
      2'd0: choose = a;
      2'd1: choose = b;
      2'd2: choose = c;
      default: choose = d;
    endcase
  endfunction

  for (genvar i = 0; i < 8; i++) begin : gen_lane
    assign in_lanes[8*i +: 8] = choose(source[2*i +: 2], even_read[8*i +: 8], odd_read[8*i +: 8],
                                       wait_q[8*i +: 8], literal_4q[8*i +: 8]);
    assign moved[8*i +: 8] = in_lanes[8*lane[3*i +: 3] +: 8];
    assign even[8*i +: 8] = choose(even_from[2*i +: 2], wait_q[8*i +: 8], literal_4q[8*i +: 8],
                                   moved[8*i +: 8], far_4q[8*i +: 8]);
    assign odd[8*i +: 8] = choose(odd_from[2*i +: 2], wait_q[8*i +: 8], literal_4q[8*i +: 8],
                                  moved[8*i +: 8], far_4q[8*i +: 8]);
    assign waits[8*i +: 8] = choose(wait_from[2*i +: 2], wait_q[8*i +: 8], literal_4q[8*i +: 8],
                                    moved[8*i +: 8], far_4q[8*i +: 8]);
  end

  // The first thing that is wrong with a page, until it ends.
  logic corrupt_4q, too_far_4q, bad_4, failed_q, was_corrupt_q;
  delay #(.WIDTH(2), .CYCLES(2)) i_wrong (
    .clk_i, .data_i({is_corrupt_i, is_too_far_i}), .data_o({corrupt_4q, too_far_4q})
  );
  assign bad_4 = corrupt_4q || too_far_4q;

  logic [1:0] words_5q;
  logic ends_5q, closes_5q, at_odd_5q, corrupt_5q, too_far_5q;
  logic [2:0] rest_5q;
  always_ff @(posedge clk_i) begin
    if (write_4q[0]) near_even[even_to_4q[NEAR_BITS-1:0]] <= even;
    if (write_4q[1]) near_odd[odd_to_4q[NEAR_BITS-1:0]] <= odd;
    if (part_4q) wait_q <= waits;
    even_5q <= even;
    odd_5q <= odd;
    even_to_5q <= even_to_4q;
    odd_to_5q <= odd_to_4q;
    write_5q <= write_4q;
    at_odd_5q <= at_odd_4q;
    rest_5q <= held_4q;
    corrupt_5q <= failed_q ? was_corrupt_q : corrupt_4q;
    too_far_5q <= failed_q ? !was_corrupt_q : too_far_4q && !corrupt_4q;
    if (!failed_q) was_corrupt_q <= corrupt_4q;
    words_5q <= part_4q && !ends_4q && !closes_4q && !failed_q && !bad_4 ? words_4q : 2'd0;
    ends_5q <= part_4q && ends_4q && rst_ni;
    closes_5q <= part_4q && closes_4q && rst_ni;
    if (!rst_ni) begin
      words_5q <= 2'd0;
      write_5q <= 2'd0;
      failed_q <= 1'b0;
    end else if (part_4q) begin
      failed_q <= !ends_4q && (failed_q || bad_4);
    end
  end

  assign words_o = words_5q;
  assign first_o = at_odd_5q ? odd_5q : even_5q;
  assign second_o = at_odd_5q ? even_5q : odd_5q;
  assign ends_o = ends_5q;
  assign closes_o = closes_5q;
  assign rest_o = rest_5q;
  assign is_corrupt_o = corrupt_5q;
  assign is_too_far_o = too_far_5q;
endmodule
