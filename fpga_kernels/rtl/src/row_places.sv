// SPDX-License-Identifier: Apache-2.0
// Says for each of eight places which of eight rows comes there when only kept rows stay: how many
// rows behind the place it is.
//
// Throughput: a word of rows a cycle; it never waits. Latency: 2 cycles. Reset: none.
//
// Invariants: kept rows stay in order. A place behind the last of them has any row.
module row_places (
  input  logic        clk_i,
  input  logic [7:0]  keep_i,
  output logic [23:0] behind_o,
  // How many are kept.
  output logic [3:0]  count_o
);
  // Sums and counts of few bits as plain logic, which is less deep than a chain of carries.
  function automatic logic [2:0] add(input logic [2:0] a, input logic [2:0] b);
    logic carry_0, carry_1;
    carry_0 = a[0] & b[0];
    carry_1 = (a[1] & b[1]) | (a[1] & carry_0) | (b[1] & carry_0);
    add = {a[2] ^ b[2] ^ carry_1, a[1] ^ b[1] ^ carry_0, a[0] ^ b[0]};
  endfunction
  function automatic logic [2:0] count(input logic [3:0] bits);
    logic [1:0] low, high;
    low = {bits[0] & bits[1], bits[0] ^ bits[1]};
    high = {bits[2] & bits[3], bits[2] ^ bits[3]};
    count = add(3'({1'b0, low}), 3'({1'b0, high}));
  endfunction

  // Kept rows before each row.
  logic [7:0] keep_1q;
  logic [23:0] before_1q;
  logic [2:0] low, high;
  assign low = count(keep_i[3:0]);
  assign high = count(keep_i[7:4]);
  logic [3:0] count_1q, count_2q;
  always_ff @(posedge clk_i) begin
    keep_1q <= keep_i;
    for (int row = 0; row < 4; row++) begin
      before_1q[3*row +: 3] <= count(keep_i[3:0] & ((4'd1 << row) - 4'd1));
      before_1q[3*(row+4) +: 3] <= add(low, count(keep_i[7:4] & ((4'd1 << row) - 4'd1)));
    end
    // Eight only if both halves are full.
    count_1q <= {low[2] & high[2], add(low, high)};
    count_2q <= count_1q;
  end
  assign count_o = count_2q;

  logic [23:0] behind, behind_q;
  for (genvar place = 0; place < 8; place++) begin : gen_place
    always_comb begin
      behind[3*place +: 3] = 3'd0;
      for (int row = place; row < 8; row++) begin
        if (keep_1q[row] && before_1q[3*row +: 3] == 3'(place)) begin
          behind[3*place +: 3] = behind[3*place +: 3] | 3'(row - place);
        end
      end
    end
  end
  always_ff @(posedge clk_i) behind_q <= behind;
  assign behind_o = behind_q;
endmodule
