// SPDX-License-Identifier: Apache-2.0
// Sixteen bits of the states of one aggregate slot: of all groups, two rows a cycle.
//
// The two rows of a cycle have states of their own, so that they never meet; a state that is shown
// is what both rows left. In a cycle a group's bits are read, changed and written, so that the next
// row may be of the same group. Sums come from below with a carry. Extremes come from above: higher
// bits have said whether the row's number replaces the state, whether it does not, or that both are
// equal so far.
//
// Throughput: two rows a cycle; it never waits. Latency: 1 cycle. Reset: none; clear each group.
//
// Parameters: GROUPS, a power of two; HAS_ORDER, whether extremes have bits here.
module fold_stage #(
  parameter int unsigned GROUPS = 32,
  parameter bit HAS_ORDER = 1'b1,
  localparam int unsigned PLACE_BITS = $clog2(GROUPS)
) (
  input  logic clk_i,
  // The slot's function: a least or greatest number, of these the greatest; if not, a sum.
  input  logic is_order_i,
  input  logic is_greatest_i,
  // What is done: rows are added where `adds_i` says so, or the first row's group is shown, both
  // groups are made empty, or both take what there is for them.
  input  logic [1:0]                 adds_i,
  input  logic                       shows_i,
  input  logic                       clears_i,
  input  logic                       loads_i,
  input  logic [1:0][PLACE_BITS-1:0] place_i,
  input  logic [1:0][15:0]           bits_i,
  // From the stage before, and to the next one.
  input  logic [1:0]                 carry_i,
  input  logic [1:0]                 replaces_i,
  input  logic [1:0]                 is_equal_i,
  output logic [1:0]                 carry_o,
  output logic [1:0]                 replaces_o,
  output logic [1:0]                 is_equal_o,
  // The bits of the group that was shown last.
  output logic [15:0]                shown_o
);
  logic [1:0][15:0] state, operand, data;
  logic [1:0][16:0] sum;
  logic [1:0] is_same, replaces, writes, carry_q, replaces_q, is_equal_q;
  logic is_order;
  assign is_order = HAS_ORDER && is_order_i;

  for (genvar row = 0; row < 2; row++) begin : gen_row
    (* ram_style = "distributed" *) logic [15:0] memory [0:GROUPS-1];
    assign state[row] = memory[place_i[row]];
    always_ff @(posedge clk_i) if (writes[row]) memory[place_i[row]] <= data[row];

    // A difference is a sum with the complement, and one more.
    logic [15:0] other;
    logic carry_in;
    assign other = state[row] ^ {16{is_order}};
    assign carry_in = is_order || carry_i[row];
    assign sum[row] = {1'b0, operand[row]} + {1'b0, other} + 17'(carry_in);
    assign is_same[row] = operand[row] == state[row];
    always_comb begin
      replaces[row] = replaces_i[row];
      // Bits that are the same may replace each other: the next stage is told that they are.
      if (is_equal_i[row]) replaces[row] = is_greatest_i == sum[row][16];
      writes[row] = clears_i || loads_i || (adds_i[row] && (!is_order || replaces[row]));
      if (clears_i) data[row] = 16'd0;
      else data[row] = is_order || loads_i ? bits_i[row] : sum[row][15:0];
    end
    always_ff @(posedge clk_i) begin
      carry_q[row] <= sum[row][16];
      replaces_q[row] <= replaces[row];
      is_equal_q[row] <= is_equal_i[row] && is_same[row];
    end
  end
  // A group is shown by adding the second row's state to the first one's.
  assign operand = {bits_i[1], shows_i ? state[1] : bits_i[0]};

  logic [15:0] shown_q;
  always_ff @(posedge clk_i) begin
    if (shows_i) begin
      if (is_order) shown_q <= replaces[0] ? state[1] : state[0];
      else shown_q <= sum[0][15:0];
    end
  end
  assign shown_o = shown_q;
  assign carry_o = carry_q;
  assign replaces_o = replaces_q;
  assign is_equal_o = is_equal_q;
endmodule
