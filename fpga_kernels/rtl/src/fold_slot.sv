// SPDX-License-Identifier: Apache-2.0
// One slot of the aggregates: a count, a sum, a least or a greatest number for each group.
//
// A number goes through stages of sixteen bits, each a cycle behind the one before: of a sum the
// lowest bits first, of an extreme the highest. Each stage is done with its bits of a row within a
// cycle, which is all that the next row needs; so no row waits, whatever its group is.
//
// Numbers have 64 bits with a sign, and sums as many as there are stages: 2^32 numbers need 96.
// Extremes are kept with their sign turned over, so that they compare from above like those
// without.
//
// Throughput: two rows a cycle; it never waits. Latency: a cycle for each stage and one more.
// Reset: none; clear each group.
//
// Parameters: GROUPS, a power of two; STAGES, of sums, at most 8.
//
// Invariants: a state that was shown is there STAGES + 1 cycles later and stays until the next one.
module fold_slot #(
  parameter int unsigned GROUPS = 32,
  parameter int unsigned STAGES = 6,
  localparam int unsigned PLACE_BITS = $clog2(GROUPS)
) (
  input  logic clk_i,
  // 0 counts rows, 1 adds up, 2 keeps the least, 3 the greatest number.
  input  logic [1:0]                             function_i,
  // Of this cycle: the numbers of two rows, or the halves of a state; which rows add theirs, or
  // whether the state has met a number; whether it is a state.
  input  logic [1:0][63:0]                       number_i,
  input  logic [1:0]                             adds_i,
  input  logic                                   is_state_i,
  // Of each stage, from the next cycle on: what is done, and to which groups.
  input  logic [STAGES-1:0]                      shows_i,
  input  logic [STAGES-1:0]                      clears_i,
  input  logic [STAGES-1:0]                      loads_i,
  input  logic [STAGES-1:0][1:0][PLACE_BITS-1:0] place_i,
  output logic [127:0]                           state_o,
  output logic                                   is_seen_o
);
  localparam int unsigned NUMBER_STAGES = STAGES < 4 ? STAGES : 4;
  logic is_order, is_greatest;
  assign is_order = function_i[1];
  assign is_greatest = function_i[1] && function_i[0];

  // What each row brings; a state has its upper half where the second row has its number.
  logic [1:0][63:0] bits;
  logic [1:0] sign;
  always_comb begin
    bits = number_i;
    if (is_state_i) bits[1] = '0;
    if (function_i == 2'd0 && !is_state_i) bits = {64'd1, 64'd1};
    sign = {bits[1][63], bits[0][63]};
    if (is_order) bits = {~sign[1], bits[1][62:0], ~sign[0], bits[0][62:0]};
  end

  logic [STAGES-1:0][1:0] adds, carry, replaces, is_equal;
  logic [STAGES-1:0][15:0] shown;
  logic [1:0] adds_q;
  always_ff @(posedge clk_i) adds_q <= adds_i;

  // Which groups have met a number: before the first stage, which writes a first number as it is.
  (* ram_style = "distributed" *) logic seen_0 [0:GROUPS-1];
  (* ram_style = "distributed" *) logic seen_1 [0:GROUPS-1];
  logic [1:0] seen, replaces_first, is_equal_first;
  logic is_seen_q;
  assign seen = {seen_1[place_i[0][1]], seen_0[place_i[0][0]]};
  assign replaces_first = {!seen[1], shows_i[0] ? seen[1] && !seen[0] : !seen[0]};
  assign is_equal_first = {seen[1], seen[0] && (seen[1] || !shows_i[0])};
  always_ff @(posedge clk_i) begin
    if (clears_i[0] || loads_i[0] || adds_q[0]) begin
      seen_0[place_i[0][0]] <= !clears_i[0] && adds_q[0];
    end
    if (clears_i[0] || loads_i[0] || adds_q[1]) begin
      seen_1[place_i[0][1]] <= !clears_i[0] && !loads_i[0];
    end
    if (shows_i[0]) is_seen_q <= seen != 2'd0;
  end

  for (genvar k = 0; k < STAGES; k++) begin : gen_stage
    // The stage's bits.
    logic [31:0] own, own_q, delayed;
    if (k < NUMBER_STAGES) begin : gen_low
      for (genvar row = 0; row < 2; row++) begin : gen_row
        assign own[16*row +: 16] = is_order && STAGES > 3 ? bits[row][16*(3-k) +: 16]
                                                          : bits[row][16*k +: 16];
      end
    end else begin : gen_high
      assign own[15:0] = is_state_i ? number_i[1][16*(k-4) +: 16] : {16{sign[0]}};
      assign own[31:16] = {16{sign[1] && !is_state_i}};
    end
    always_ff @(posedge clk_i) own_q <= own;
    delay #(.WIDTH(32), .CYCLES(k)) i_bits (.clk_i, .data_i(own_q), .data_o(delayed));
    delay #(.WIDTH(2), .CYCLES(k)) i_adds (.clk_i, .data_i(adds_q), .data_o(adds[k]));

    logic [1:0] carry_in, replaces_in, is_equal_in;
    if (k == 0) begin : gen_first
      assign carry_in = 2'd0;
      assign replaces_in = replaces_first;
      assign is_equal_in = is_equal_first;
    end else begin : gen_next
      assign carry_in = carry[k-1];
      assign replaces_in = replaces[k-1];
      assign is_equal_in = is_equal[k-1];
    end
    fold_stage #(.GROUPS(GROUPS), .HAS_ORDER(k < 4 && STAGES > 3)) i_stage (
      .clk_i,
      .is_order_i(is_order),
      .is_greatest_i(is_greatest),
      .adds_i(adds[k]),
      .shows_i(shows_i[k]),
      .clears_i(clears_i[k]),
      .loads_i(loads_i[k]),
      .place_i(place_i[k]),
      .bits_i(delayed),
      .carry_i(carry_in),
      .replaces_i(replaces_in),
      .is_equal_i(is_equal_in),
      .carry_o(carry[k]),
      .replaces_o(replaces[k]),
      .is_equal_o(is_equal[k]),
      .shown_o(shown[k])
    );
  end
  logic unused_last;
  assign unused_last = ^{carry[STAGES-1], replaces[STAGES-1], is_equal[STAGES-1]};

  // The state in the order of its bits.
  if (STAGES > 3) begin : gen_state
    always_comb begin
      // A group that has met no number has none.
      if (is_order && !is_seen_q) state_o = '0;
      else if (is_order) begin
        state_o = {{65{~shown[0][15]}}, shown[0][14:0], shown[1], shown[2], shown[3]};
      end
      else state_o = 128'($signed(shown));
    end
  end else begin : gen_count
    assign state_o = 128'(shown);
  end
  assign is_seen_o = is_seen_q;
endmodule
