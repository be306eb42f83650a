// SPDX-License-Identifier: Apache-2.0
// The numbers of one row of a word in the predicate unit: its columns, the results of its steps,
// and what is computed of them.
//
// It follows the unit's controls stage by stage and never waits. Columns are in LUTs that are used
// as memory, and all of them are read at the same place, so three operands are three choices among
// what was read. Results of steps are in three block RAMs that hold the same, one for each operand.
// Numbers have 64 bits with a sign.
//
// Stages: 1 columns are read; 2 operands; 3 low halves compared and added; 4 high halves; 5 the
// result, and whether it fits. A product takes nine stages more between 2 and 5.
//
// Throughput: a step a cycle. Reset: none, it holds nothing but data.
//
// Parameters: LANES, columns; PLACES, words that the columns hold; RESULTS, results of steps.
module predicate_row #(
  parameter int unsigned LANES = 6,
  parameter int unsigned PLACES = 32,
  parameter int unsigned RESULTS = 512,
  localparam int unsigned LANE_BITS = 3,
  localparam int unsigned PLACE_BITS = $clog2(PLACES),
  localparam int unsigned RESULT_BITS = $clog2(RESULTS)
) (
  input  logic clk_i,
  // Columns come in.
  input  logic                   store_i,
  input  logic [PLACE_BITS-1:0]  store_place_i,
  input  logic [LANES-1:0][63:0] store_value_i,
  input  logic [LANES-1:0][15:0] store_tests_i,
  // Stage 1: where the columns and the results stand, of each operand.
  input  logic [PLACE_BITS-1:0]       place_i,
  input  logic [2:0][LANE_BITS-1:0]   lane_i,
  input  logic [2:0][RESULT_BITS-1:0] result_i,
  // Stage 2: what the operands are, and which tests are asked for.
  input  logic [2:0]       is_column_i,
  input  logic [2:0]       is_result_i,
  input  logic [2:0][63:0] literal_i,
  input  logic [1:0][3:0]  test_i,
  // Stage 3: whether the second number is subtracted. Stage 5: which result it is, and the bits it
  // may have: truth values, 32, or 64.
  input  logic       is_difference_i,
  input  logic       is_product_i,
  input  logic [1:0] width_i,
  // Behind stage 2: outcomes of tests. Behind stage 4: whether a is below b, is b, is above c.
  output logic [1:0] test_o,
  output logic       below_o,
  output logic       equal_o,
  output logic       above_o,
  // Behind stage 5: whether the result leaves its width.
  output logic       misfit_o,
  // Behind stage 5: whether the result is kept, and where.
  input  logic                   keep_i,
  input  logic [RESULT_BITS-1:0] keep_place_i
);
  localparam logic [1:0] WIDTH_BOOL = 2'd0;
  localparam logic [1:0] WIDTH_W32 = 2'd1;

  // Stage 1.
  (* ram_style = "distributed" *) logic [LANES*80-1:0] columns [0:PLACES-1];
  logic [LANES*80-1:0] row;
  logic [2:0][63:0] column_q;
  logic [1:0][15:0] tests_q;
  assign row = columns[place_i];
  always_ff @(posedge clk_i) begin
    if (store_i) columns[store_place_i] <= {store_tests_i, store_value_i};
    for (int operand = 0; operand < 3; operand++) begin
      column_q[operand] <= '0;
      for (int lane = 0; lane < LANES; lane++) begin
        if (lane_i[operand] == LANE_BITS'(lane)) column_q[operand] <= row[64*lane +: 64];
      end
    end
    for (int operand = 0; operand < 2; operand++) begin
      tests_q[operand] <= '0;
      for (int lane = 0; lane < LANES; lane++) begin
        if (lane_i[operand] == LANE_BITS'(lane)) begin
          tests_q[operand] <= row[64*LANES+16*lane +: 16];
        end
      end
    end
  end
  logic [63:0] number_q;
  logic [2:0][63:0] earlier;
  for (genvar operand = 0; operand < 3; operand++) begin : gen_results
    (* ram_style = "block" *) logic [63:0] results [0:RESULTS-1];
    logic [63:0] read_q;
    always_ff @(posedge clk_i) begin
      if (keep_i) results[keep_place_i] <= number_q;
      read_q <= results[result_i[operand]];
    end
    assign earlier[operand] = read_q;
  end

  // Stage 2.
  logic [2:0][63:0] operand_q;
  logic [1:0] test_q;
  always_ff @(posedge clk_i) begin
    for (int operand = 0; operand < 3; operand++) begin
      operand_q[operand] <= is_column_i[operand] ? column_q[operand] :
                            is_result_i[operand] ? earlier[operand] : literal_i[operand];
    end
    for (int operand = 0; operand < 2; operand++) begin
      test_q[operand] <= tests_q[operand][test_i[operand]];
    end
  end
  assign test_o = test_q;

  // Stage 3.
  logic [63:0] a, b, c, added;
  logic low_below_q, low_equal_q, low_above_q;
  logic high_below_q, high_equal_q, high_above_q, high_same_q;
  logic [32:0] low_sum_q;
  logic [31:0] high_a_q, high_added_q;
  assign a = operand_q[0];
  assign b = operand_q[1];
  assign c = operand_q[2];
  assign added = is_difference_i ? ~b : b;
  always_ff @(posedge clk_i) begin
    low_below_q <= a[31:0] < b[31:0];
    low_equal_q <= a[31:0] == b[31:0];
    low_above_q <= a[31:0] > c[31:0];
    high_below_q <= $signed(a[63:32]) < $signed(b[63:32]);
    high_equal_q <= a[63:32] == b[63:32];
    high_above_q <= $signed(a[63:32]) > $signed(c[63:32]);
    high_same_q <= a[63:32] == c[63:32];
    low_sum_q <= {1'b0, a[31:0]} + {1'b0, added[31:0]} + 33'(is_difference_i);
    high_a_q <= a[63:32];
    high_added_q <= added[63:32];
  end

  // Stage 4.
  logic below_q, equal_q, above_q;
  logic [64:0] sum_q;
  always_ff @(posedge clk_i) begin
    below_q <= high_below_q || (high_equal_q && low_below_q);
    equal_q <= high_equal_q && low_equal_q;
    above_q <= high_above_q || (high_same_q && low_above_q);
    sum_q[31:0] <= low_sum_q[31:0];
    sum_q[64:32] <= {high_a_q[31], high_a_q} + {high_added_q[31], high_added_q} +
                    33'(low_sum_q[32]);
  end
  assign below_o = below_q;
  assign equal_o = equal_q;
  assign above_o = above_q;

  // The product.
  logic [127:0] product;
  logic unused_tag;
  mul_pipe #(.A_WIDTH(64), .B_WIDTH(64), .P_WIDTH(128), .IS_SIGNED(1'b1)) i_product (
    .clk_i,
    .a_i(a),
    .b_i(b),
    .tag_i(1'b0),
    .product_o(product),
    .tag_o(unused_tag)
  );

  // Stage 5.
  logic [63:0] result;
  logic sum_fits, product_fits, fits_64, fits_32, fits_bool, misfit_q;
  assign result = is_product_i ? product[63:0] : sum_q[63:0];
  assign sum_fits = sum_q[64] == sum_q[63];
  assign product_fits = &product[127:63] || ~|product[127:63];
  assign fits_64 = is_product_i ? product_fits : sum_fits;
  // Of a result that fits 64 bits.
  assign fits_32 = &result[63:31] || ~|result[63:31];
  assign fits_bool = ~|result[63:1];
  always_ff @(posedge clk_i) begin
    number_q <= result;
    misfit_q <= !fits_64 || (width_i == WIDTH_W32 && !fits_32) ||
                (width_i == WIDTH_BOOL && !fits_bool);
  end
  assign misfit_o = misfit_q;
endmodule
