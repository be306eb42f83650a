// SPDX-License-Identifier: Apache-2.0
// Moves the kept of eight numbers together and packs them in as many bytes as the column has.
//
// A number that is null becomes 0.
//
// Throughput: a part a cycle; it never waits. Latency: 4 cycles. Reset: none; what is no part has
// no bytes.
module row_compactor (
  input  logic         clk_i,
  input  logic [511:0] number_i,
  input  logic [7:0]   keep_i,
  input  logic [7:0]   valid_i,
  // 1, 4 or 8 bytes: 0, 1, 2.
  input  logic [1:0]   width_i,
  output logic [511:0] bytes_o,
  output logic [6:0]   count_o
);
  // Two cycles for the places.
  logic [23:0] behind;
  logic [3:0] kept_2, kept_3q;
  logic [1:0] width_2, width_3q;
  logic [511:0] present_1q, number_2q, moved_3q;
  row_places i_places (.clk_i, .keep_i, .behind_o(behind), .count_o(kept_2));
  delay #(.WIDTH(2), .CYCLES(2)) i_width (.clk_i, .data_i(width_i), .data_o(width_2));
  always_ff @(posedge clk_i) begin
    for (int row = 0; row < 8; row++) begin
      if (valid_i[row]) present_1q[64*row +: 64] <= number_i[64*row +: 64];
      else present_1q[64*row +: 64] <= 64'd0;
    end
    number_2q <= present_1q;
  end

  // One to move, one to pack.
  logic [511:0] moved;
  for (genvar place = 0; place < 8; place++) begin : gen_place
    logic [511:0] from_here;
    assign from_here = 512'(number_2q[511:64*place]);
    assign moved[64*place +: 64] = from_here[64*behind[3*place +: 3] +: 64];
  end
  logic [511:0] bytes_q;
  logic [6:0] count_q;
  always_ff @(posedge clk_i) begin
    moved_3q <= moved;
    kept_3q <= kept_2;
    width_3q <= width_2;
    bytes_q <= moved_3q;
    if (width_3q == 2'd0) begin
      for (int i = 0; i < 8; i++) bytes_q[8*i +: 8] <= moved_3q[64*i +: 8];
    end else if (width_3q == 2'd1) begin
      for (int i = 0; i < 8; i++) bytes_q[32*i +: 32] <= moved_3q[64*i +: 32];
    end
    unique case (width_3q)
      2'd0: count_q <= {3'd0, kept_3q};
      2'd1: count_q <= {1'b0, kept_3q, 2'd0};
      default: count_q <= {kept_3q, 3'd0};
    endcase
  end
  assign bytes_o = bytes_q;
  assign count_o = count_q;
endmodule
