// SPDX-License-Identifier: Apache-2.0
// Brings the numbers of wide columns together: low halves and high halves into numbers.
//
// A column of 128 bits comes as a token of the low halves of eight rows and, where these are not
// all there is, a token of the high ones. It leaves as two parts: rows 0 to 3, both halves of each
// side by side, and rows 4 to 7. Other columns leave as one part, and high halves are dropped.
//
// Throughput: a part a cycle; the low halves of a wide column are taken while the second part of
// the one before leaves. Latency: 2 cycles. Reset: forgets everything.
//
// Invariants: parts leave in the order of the tokens. None leaves while `room_i` is low, but for
// the one that is in the register behind.
module row_halves (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         room_i,
  // Behind the last token none is taken until then.
  input  logic         resumes_i,
  input  logic         valid_i,
  output logic         ready_o,
  input  logic [511:0] number_i,
  input  logic [7:0]   keep_i,
  input  logic [7:0]   valid_rows_i,
  input  logic [4:0]   column_i,
  // Whether the column has 128 bits, and whether the high halves follow, which say the same of the
  // rows.
  input  logic         is_double_i,
  input  logic         is_wide_i,
  input  logic         last_i,
  // A part: eight numbers or both halves of four; which are kept, and which are not null.
  output logic         part_o,
  output logic [511:0] number_o,
  output logic [7:0]   keep_o,
  output logic [7:0]   valid_o,
  output logic [4:0]   column_o,
  // Of the first part of a column, the rows of the word.
  output logic         is_first_o,
  output logic [7:0]   rows_keep_o,
  output logic [7:0]   rows_valid_o,
  // The token that was marked so, without rows.
  output logic         last_o
);
  logic valid, take, is_double, is_wide, last;
  logic [511:0] number;
  logic [7:0] keep, valid_rows;
  logic [4:0] column;
  skid_buffer #(.WIDTH(536)) i_next (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o,
    .data_i({last_i, is_wide_i, is_double_i, column_i, valid_rows_i, keep_i, number_i}),
    .valid_o(valid),
    .ready_i(take),
    .data_o({last, is_wide, is_double, column, valid_rows, keep, number})
  );

  // The low halves that wait for the high ones; the second part that is to leave.
  logic has_low_q, has_second_q, drops_q, stops_q;
  logic [511:0] low_q;
  logic [255:0] second_low_q, second_high_q;
  logic [3:0] second_keep_q, second_valid_q;
  logic [4:0] second_column_q;
  // The token gives a first part; it is only kept; or it has high halves that are not needed.
  logic gives, takes_low, drops, may_take;
  assign may_take = valid && room_i && !stops_q;
  assign drops = may_take && drops_q;
  assign takes_low = may_take && is_double && is_wide && !has_low_q && !drops_q && !last;
  assign gives = may_take && !(is_double && is_wide && !has_low_q && !last) && !drops_q &&
                 !has_second_q;
  assign take = takes_low || gives || drops;

  // Rows 0 to 3 or 4 to 7 of both halves.
  logic [511:0] low, high;
  always_comb begin
    low = has_low_q ? low_q : number;
    for (int row = 0; row < 8; row++) begin
      high[64*row +: 64] = has_low_q ? number[64*row +: 64] : {64{number[64*row+63]}};
    end
  end

  function automatic logic [7:0] twice(input logic [3:0] bits);
    twice = {{2{bits[3]}}, {2{bits[2]}}, {2{bits[1]}}, {2{bits[0]}}};
  endfunction
  function automatic logic [511:0] joined(input logic [255:0] a, input logic [255:0] b);
    joined = {b[255:192], a[255:192], b[191:128], a[191:128], b[127:64], a[127:64], b[63:0],
              a[63:0]};
  endfunction

  logic part_q, last_q;
  always_ff @(posedge clk_i) begin
    if (takes_low) low_q <= number;
    if (gives) begin
      second_low_q <= low[511:256];
      second_high_q <= high[511:256];
      second_keep_q <= keep[7:4];
      second_valid_q <= valid_rows[7:4];
      second_column_q <= column;
    end
    is_first_o <= !has_second_q;
    rows_keep_o <= keep;
    rows_valid_o <= valid_rows;
    column_o <= has_second_q ? second_column_q : column;
    if (has_second_q) begin
      number_o <= joined(second_low_q, second_high_q);
      keep_o <= twice(second_keep_q);
      valid_o <= twice(second_valid_q);
    end else if (is_double) begin
      number_o <= joined(low[255:0], high[255:0]);
      keep_o <= twice(keep[3:0]);
      valid_o <= twice(valid_rows[3:0]);
    end else begin
      number_o <= number;
      keep_o <= keep;
      valid_o <= valid_rows;
    end
    if (!rst_ni) begin
      has_low_q <= 1'b0;
      has_second_q <= 1'b0;
      part_q <= 1'b0;
      last_q <= 1'b0;
      stops_q <= 1'b1;
      drops_q <= 1'b0;
    end else begin
      stops_q <= (gives && last) || (stops_q && !resumes_i);
      if (take) has_low_q <= takes_low;
      if (gives) drops_q <= is_wide && !is_double && !last;
      else if (drops) drops_q <= 1'b0;
      if (gives) has_second_q <= is_double && !last;
      else if (room_i) has_second_q <= 1'b0;
      part_q <= (gives && !last) || (has_second_q && room_i);
      last_q <= gives && last;
    end
  end
  assign part_o = part_q;
  assign last_o = last_q;
endmodule
