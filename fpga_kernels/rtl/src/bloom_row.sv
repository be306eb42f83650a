// SPDX-License-Identifier: Apache-2.0
// Looks one row a cycle up in a set of keys: where its block is, then whether it passes.
//
// It has no memory of its own: it says which block it wants, and is given that block three cycles
// later. It never waits.
//
// Throughput: a row a cycle. Latency: some 40 cycles. Reset: forgets which stages hold a row.
//
// Parameters: SETS and BLOCKS, as in bloom_probe.
//
// Invariants: rows leave in the order in which they came.
module bloom_row #(
  parameter int unsigned SETS = 4,
  parameter int unsigned BLOCKS = 4096,
  localparam int unsigned PLACE_BITS = $clog2(BLOCKS),
  localparam int unsigned SET_BITS = $clog2(SETS)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [SETS-1:0]                 is_bitmap_i,
  input  logic [SETS-1:0][63:0]           first_i,
  input  logic [SETS-1:0][63:0]           last_i,
  input  logic [SETS-1:0][PLACE_BITS-1:0] block_first_i,
  input  logic [SETS-1:0][PLACE_BITS:0]   blocks_i,
  // A row, and which one of its word; `ends_i` marks the last of a word, `is_last_i` a row of the
  // last word. One that is not present passes.
  input  logic                  valid_i,
  input  logic [63:0]           number_i,
  input  logic                  present_i,
  input  logic [2:0]            row_i,
  input  logic [SET_BITS-1:0]   set_i,
  input  logic                  ends_i,
  input  logic                  is_last_i,
  output logic [PLACE_BITS-1:0] place_o,
  input  logic [255:0]          block_i,
  output logic                  valid_o,
  output logic                  passed_o,
  output logic [2:0]            row_o,
  output logic                  ends_o,
  output logic                  last_o
);
  localparam logic [63:0] FACTOR_0 = 64'hff51_afd7_ed55_8ccd;
  localparam logic [63:0] FACTOR_1 = 64'hc4ce_b9fe_1a85_ec53;
  localparam logic [255:0] SALTS = {
    32'h5c6b_fb31, 32'h9efc_4947, 32'h2df1_424b, 32'h7054_95c7,
    32'ha2b7_289d, 32'h8824_ad5b, 32'h4497_4d91, 32'h47b6_137b
  };
  // A block is 8 lanes of 32 bits; a bitmap has a bit of the block for each number.
  localparam int unsigned SPAN_BITS = PLACE_BITS + 8;

  // The configuration of the row's set, and the comparison with its range in two halves.
  logic [63:0] number_q, first_q, last_q;
  logic present_q, is_bitmap_q;
  logic low_above_q, low_below_q, high_above_q, high_below_q, high_first_q, high_last_q;
  logic is_null_q, is_bitmap_2q, in_range_q, is_null_2q, is_bitmap_3q;
  logic [SPAN_BITS-1:0] span_q, span_2q;
  logic [PLACE_BITS-1:0] block_first;
  logic [PLACE_BITS:0] blocks;
  always_ff @(posedge clk_i) begin
    number_q <= number_i;
    first_q <= first_i[set_i];
    last_q <= last_i[set_i];
    present_q <= present_i;
    is_bitmap_q <= is_bitmap_i[set_i];
    // Above the first means not below it.
    low_above_q <= number_q[31:0] >= first_q[31:0];
    low_below_q <= number_q[31:0] <= last_q[31:0];
    high_above_q <= $signed(number_q[63:32]) > $signed(first_q[63:32]);
    high_below_q <= $signed(number_q[63:32]) < $signed(last_q[63:32]);
    high_first_q <= number_q[63:32] == first_q[63:32];
    high_last_q <= number_q[63:32] == last_q[63:32];
    is_null_q <= !present_q;
    is_bitmap_2q <= is_bitmap_q;
    // In a range that is as long as its blocks say, the low bits are the whole difference.
    span_q <= number_q[SPAN_BITS-1:0] - first_q[SPAN_BITS-1:0];
    in_range_q <= (high_above_q || (high_first_q && low_above_q)) &&
                (high_below_q || (high_last_q && low_below_q));
    is_null_2q <= is_null_q;
    is_bitmap_3q <= is_bitmap_2q;
    span_2q <= span_q;
  end

  // What a row carries through the products, from the third stage on.
  typedef struct packed {
    logic valid;
    logic ends;
    logic last;
    logic [2:0] row;
    logic [SET_BITS-1:0] key_set;
    logic is_bitmap;
    logic in_range;
    logic is_null;
    logic [SPAN_BITS-1:0] span;
  } row_t;
  localparam int unsigned ROW_BITS = 6 + SET_BITS + 3 + SPAN_BITS;
  row_t row_0, row_1, row_2, row_3;
  logic valid_3, ends_3, last_3;
  logic [2:0] number_of_3;
  logic [SET_BITS-1:0] set_3;
  delay #(.WIDTH(6 + SET_BITS), .CYCLES(3)) i_marks (
    .clk_i,
    .data_i({valid_i && rst_ni, ends_i, is_last_i, row_i, set_i}),
    .data_o({valid_3, ends_3, last_3, number_of_3, set_3})
  );
  assign row_0 = {
    valid_3, ends_3, last_3, number_of_3, set_3, is_bitmap_3q, in_range_q, is_null_2q, span_2q
  };

  // Two rounds of mixing.
  logic [63:0] number_3, mixed_0_q, product_0, mixed_1_q, product_1;
  row_t row_1q;
  delay #(.WIDTH(64), .CYCLES(3)) i_number (.clk_i, .data_i(number_i), .data_o(number_3));
  always_ff @(posedge clk_i) mixed_0_q <= number_3 ^ (number_3 >> 33);
  row_t row_0q;
  always_ff @(posedge clk_i) row_0q <= row_0;
  mul_pipe #(.TAG_WIDTH(ROW_BITS)) i_mix_0 (
    .clk_i, .a_i(mixed_0_q), .b_i(FACTOR_0), .tag_i(row_0q), .product_o(product_0), .tag_o(row_1)
  );
  always_ff @(posedge clk_i) begin
    mixed_1_q <= product_0 ^ (product_0 >> 33);
    row_1q <= row_1;
  end
  mul_pipe #(.TAG_WIDTH(ROW_BITS)) i_mix_1 (
    .clk_i, .a_i(mixed_1_q), .b_i(FACTOR_1), .tag_i(row_1q), .product_o(product_1), .tag_o(row_2)
  );

  // The block, and a bit of each lane.
  logic [63:0] hash_q;
  row_t row_2q;
  always_ff @(posedge clk_i) begin
    hash_q <= product_1 ^ (product_1 >> 33);
    row_2q <= row_2;
  end
  assign blocks = blocks_i[row_2q.key_set];
  logic [PLACE_BITS:0] blocks_q;
  logic [63:0] hash_2q;
  row_t row_3q;
  always_ff @(posedge clk_i) begin
    blocks_q <= blocks;
    hash_2q <= hash_q;
    row_3q <= row_2q;
  end
  // The number of a block is the high part of a product.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [32+PLACE_BITS:0] scaled;
  /* verilator lint_on UNUSEDSIGNAL */
  mul_pipe #(
    .A_WIDTH(32), .B_WIDTH(PLACE_BITS + 1), .P_WIDTH(33 + PLACE_BITS), .TAG_WIDTH(ROW_BITS)
  ) i_scale (
    .clk_i, .a_i(hash_2q[63:32]), .b_i(blocks_q), .tag_i(row_3q), .product_o(scaled),
    .tag_o(row_3)
  );
  logic [7:0][4:0] bit_of_lane;
  logic [7:0] salt_valid;
  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    // The bit is the high part of a product.
    /* verilator lint_off UNUSEDSIGNAL */
    logic [31:0] salted;
    /* verilator lint_on UNUSEDSIGNAL */
    mul_pipe #(.A_WIDTH(32), .B_WIDTH(32), .P_WIDTH(32)) i_salt (
      .clk_i, .a_i(hash_2q[31:0]), .b_i(SALTS[32*lane +: 32]), .tag_i(row_3q.valid),
      .product_o(salted), .tag_o(salt_valid[lane])
    );
    assign bit_of_lane[lane] = salted[31:27];
  end

  // The place of the block; the bits are needed when the block is there.
  logic [PLACE_BITS-1:0] offset_q, first_block_q, place_q;
  row_t row_4q, row_5q, row_6;
  logic [7:0][4:0] bits_4q, bits_5q, bits_6;
  assign block_first = block_first_i[row_3.key_set];
  always_ff @(posedge clk_i) begin
    offset_q <= row_3.is_bitmap ? row_3.span[SPAN_BITS-1:8] : scaled[32 +: PLACE_BITS];
    first_block_q <= block_first;
    row_4q <= row_3;
    bits_4q <= bit_of_lane;
    if (row_3.is_bitmap) bits_4q <= {8{row_3.span[4:0]}};
    place_q <= first_block_q + offset_q;
    row_5q <= row_4q;
    bits_5q <= bits_4q;
  end
  assign place_o = place_q;
  delay #(.WIDTH(ROW_BITS + 40), .CYCLES(2)) i_read (
    .clk_i, .data_i({row_5q, bits_5q}), .data_o({row_6, bits_6})
  );
  logic [7:0] found_q;
  // Its set is not asked for any more.
  /* verilator lint_off UNUSEDSIGNAL */
  row_t row_7q;
  /* verilator lint_on UNUSEDSIGNAL */
  always_ff @(posedge clk_i) begin
    for (int lane = 0; lane < 8; lane++) begin
      found_q[lane] <= block_i[32 * lane + 32'(bits_6[lane])];
    end
    row_7q <= row_6;
  end

  logic passed_q, valid_q, ends_q, is_last_q;
  logic [2:0] number_of_q;
  always_ff @(posedge clk_i) begin
    passed_q <= row_7q.is_null ||
                (row_7q.is_bitmap ? !row_7q.in_range || found_q[row_7q.span[7:5]]
                                  : row_7q.in_range && (&found_q));
    valid_q <= row_7q.valid;
    ends_q <= row_7q.ends;
    is_last_q <= row_7q.last;
    number_of_q <= row_7q.row;
  end
  assign passed_o = passed_q;
  assign valid_o = valid_q;
  assign ends_o = ends_q;
  assign last_o = is_last_q;
  assign row_o = number_of_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    assert (salt_valid == {8{row_3.valid}}) else $error("the salts are not as late as the block");
  end
`else
  logic unused_salts;
  assign unused_salts = ^salt_valid;
`endif
endmodule
