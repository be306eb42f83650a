// SPDX-License-Identifier: Apache-2.0
// Works out, lane by lane, where the bytes of a part of a Snappy page come from.
//
// A byte of a page stays in the lane that is its place in its word, so all that a part does to its
// bytes is to move those of a copy from lane to lane. Eight bytes that begin anywhere are in eight
// lanes, one in each. For each lane this module says which source has the copy's byte that starts
// there, from which lane a byte of the copy comes, and what becomes of the lane in the words that
// the part completes and in the one that it leaves. A copy that overlaps what it writes takes its
// bytes in turn, which is a choice of lanes like any other.
//
// Throughput: a part a cycle; it never waits. Latency: 3 cycles for what moves bytes out of the
// far history, 4 for the others. Reset: none, it has no state.
module snappy_lanes (
  input  logic        clk_i,
  // A part, as snappy_sequencer describes it.
  input  logic [3:0]  at_i,
  input  logic [3:0]  literal_bytes_i,
  input  logic [4:0]  bytes_i,
  input  logic [3:0]  from_i,
  input  logic [4:0]  back_i,
  input  logic [2:0]  period_i,
  input  logic        repeats_i,
  input  logic        is_far_i,
  // 3 cycles later: of each lane whether it is read from an odd word, and the lane that its byte
  // of the copy comes from.
  output logic [7:0]  is_odd_o,
  output logic [23:0] lane_early_o,
  // 4 cycles later: the same lanes; the source of each lane's byte as a copy's source (0 an even
  // word, 1 an odd one, 2 the word that waits, 3 the literal); what each lane is in the even word,
  // in the odd one and in the one that waits then (0 as it waited, 1 the literal, 2 the near copy,
  // 3 the far one).
  output logic [23:0] lane_o,
  output logic [15:0] source_o,
  output logic [15:0] even_o,
  output logic [15:0] odd_o,
  output logic [15:0] wait_o
);
  localparam logic [1:0] WAITED = 2'd0, LITERAL = 2'd1, NEAR = 2'd2, FAR = 2'd3;

  // The remainder of a lane's place in a copy by the copy's period.
  function automatic logic [2:0] remainder(input logic [2:0] place, input logic [2:0] period);
    unique case (period)
      3'd2: remainder = {2'd0, place[0]};
      3'd3: remainder = place < 3'd3 ? place : (place < 3'd6 ? place - 3'd3 : place - 3'd6);
      3'd4: remainder = {1'b0, place[1:0]};
      3'd5: remainder = place < 3'd5 ? place : place - 3'd5;
      3'd6: remainder = place < 3'd6 ? place : place - 3'd6;
      3'd7: remainder = place < 3'd7 ? place : 3'd0;
      default: remainder = 3'd0;
    endcase
  endfunction

  // What all lanes need.
  logic [2:0] held_1q, held_2q, held_3q, from_1q, from_2q, copy_at_1q, period_1q;
  logic [3:0] literal_bytes_1q;
  logic [4:0] back_1q;
  logic from_odd_1q, at_odd_1q, at_odd_2q, at_odd_3q, repeats_1q, is_far_1q, is_far_2q, is_far_3q;
  logic [1:0] words_1q, words_2q, words_3q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [5:0] sum;
  /* verilator lint_on UNUSEDSIGNAL */
  assign sum = {3'd0, at_i[2:0]} + {1'b0, bytes_i};
  always_ff @(posedge clk_i) begin
    held_1q <= at_i[2:0];
    at_odd_1q <= at_i[3];
    from_1q <= from_i[2:0];
    from_odd_1q <= from_i[3];
    copy_at_1q <= at_i[2:0] + literal_bytes_i[2:0];
    literal_bytes_1q <= literal_bytes_i;
    back_1q <= back_i;
    period_1q <= period_i;
    repeats_1q <= repeats_i;
    is_far_1q <= is_far_i;
    // Words that the part completes.
    words_1q <= sum[4:3];
    held_2q <= held_1q;
    held_3q <= held_2q;
    from_2q <= from_1q;
    {at_odd_3q, at_odd_2q} <= {at_odd_2q, at_odd_1q};
    {is_far_3q, is_far_2q} <= {is_far_2q, is_far_1q};
    words_2q <= words_1q;
    words_3q <= words_2q;
  end

  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    // As a source: how far behind the part's first byte the lane's byte is; 0 or less is a byte of
    // the part's own literal.
    logic [2:0] place;
    logic signed [5:0] behind;
    logic is_literal_2q, waits_2q, is_odd_2q, is_odd_3q;
    logic [1:0] source_3q;
    assign place = 3'(lane) - from_1q;
    assign behind = $signed({back_1q[4], back_1q}) - $signed({3'd0, place});
    always_ff @(posedge clk_i) begin
      is_literal_2q <= behind <= 6'sd0;
      waits_2q <= behind <= $signed({3'd0, held_1q});
      is_odd_2q <= from_odd_1q ^ (4'(lane) < {1'b0, from_1q});
      is_odd_3q <= is_odd_2q;
      if (is_literal_2q) source_3q <= 2'd3;
      else if (waits_2q) source_3q <= 2'd2;
      else source_3q <= {1'b0, is_odd_2q};
      source_o[2*lane +: 2] <= source_3q;
    end
    assign is_odd_o[lane] = is_odd_3q;

    // As a target: the lane that the copy's byte comes from.
    logic [2:0] copy_place, turn_2q, lane_3q, lane_4q;
    assign copy_place = 3'(lane) - copy_at_1q;
    always_ff @(posedge clk_i) begin
      turn_2q <= repeats_1q ? remainder(copy_place, period_1q) : copy_place;
      lane_3q <= from_2q + turn_2q;
      lane_4q <= lane_3q;
    end
    assign lane_early_o[3*lane +: 3] = lane_3q;
    assign lane_o[3*lane +: 3] = lane_4q;

    // As a target: what it is in the first word, in the second, and in the third.
    logic [2:0] literal_place;
    logic is_literal_lane_2q, is_literal_lane_3q, is_held;
    logic [1:0] copy, first, second;
    assign literal_place = 3'(lane) - held_1q;
    assign is_held = 4'(lane) < {1'b0, held_3q};
    assign copy = is_far_3q ? FAR : NEAR;
    assign first = is_held ? WAITED : (is_literal_lane_3q ? LITERAL : copy);
    assign second = is_held && is_literal_lane_3q ? LITERAL : copy;
    always_ff @(posedge clk_i) begin
      is_literal_lane_2q <= {1'b0, literal_place} < literal_bytes_1q;
      is_literal_lane_3q <= is_literal_lane_2q;
      even_o[2*lane +: 2] <= at_odd_3q ? second : first;
      odd_o[2*lane +: 2] <= at_odd_3q ? first : second;
      wait_o[2*lane +: 2] <= words_3q == 2'd0 ? first : (words_3q == 2'd1 ? second : copy);
    end
  end
endmodule
