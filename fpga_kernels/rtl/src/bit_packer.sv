// SPDX-License-Identifier: Apache-2.0
// Packs bits of kept rows into lines of 512, of each column its own: which rows are not null.
//
// A bit stays in the lane that is its place in its byte. A byte that is whole goes to its lane of
// the column's line, of which the last one completes it.
//
// Throughput: eight rows a cycle, of any columns in any order; it never waits. Latency: 6 cycles.
// Reset: none; end each column.
//
// Invariants: lines of a column leave in order, numbered from 0. Behind its end a column begins
// anew.
module bit_packer (
  input  logic         clk_i,
  // Which of eight rows are kept, and their bits.
  input  logic [7:0]   keep_i,
  input  logic [7:0]   bits_i,
  input  logic [4:0]   column_i,
  // The column ends, without rows: the line that is not whole leaves, unless it is to be forgotten.
  input  logic         ends_i,
  input  logic         forgets_i,
  output logic         line_o,
  output logic [511:0] data_o,
  output logic [4:0]   column_o,
  output logic [23:0]  number_o,
  // Bytes of the line, 64 unless the column ends with it.
  output logic [6:0]   count_o
);
  // Stages 1 to 3: the bits of kept rows.
  logic [23:0] behind;
  logic [3:0] kept_2, kept_3q;
  logic [7:0] bits_2, moved, moved_3q;
  logic [4:0] column_2, column_3q;
  logic ends_2, forgets_2, ends_3q, forgets_3q;
  row_places i_places (.clk_i, .keep_i, .behind_o(behind), .count_o(kept_2));
  delay #(.WIDTH(15), .CYCLES(2)) i_bits (
    .clk_i,
    .data_i({forgets_i, ends_i, column_i, bits_i}),
    .data_o({forgets_2, ends_2, column_2, bits_2})
  );
  for (genvar place = 0; place < 8; place++) begin : gen_place
    logic [7:0] from_here;
    assign from_here = 8'(bits_2[7:place]);
    assign moved[place] = from_here[behind[3*place +: 3]];
  end
  always_ff @(posedge clk_i) begin
    moved_3q <= moved;
    kept_3q <= kept_2;
    column_3q <= column_2;
    ends_3q <= ends_2;
    forgets_3q <= forgets_2;
  end

  // Stage 4: the rows of the column so far.
  (* ram_style = "distributed" *) logic [32:0] rows_of [0:31];
  logic [32:0] rows, rows_4q;
  logic [7:0] moved_4q;
  logic [3:0] kept_4q;
  logic [4:0] column_4q;
  logic ends_4q, leaves_4q;
  assign rows = rows_of[column_3q];
  always_ff @(posedge clk_i) begin
    rows_of[column_3q] <= ends_3q ? 33'd0 : rows + {29'd0, kept_3q};
    rows_4q <= rows;
    moved_4q <= moved_3q;
    kept_4q <= kept_3q;
    column_4q <= column_3q;
    ends_4q <= ends_3q;
    leaves_4q <= ends_3q && !forgets_3q && rows[8:0] != 9'd0;
  end

  // Stage 5: the byte that is not whole.
  (* ram_style = "distributed" *) logic [7:0] bytes_of [0:31];
  logic [7:0] waits, rotated, merged, byte_5q;
  logic is_whole;
  logic [32:0] rows_5q;
  logic [4:0] column_5q;
  logic ends_5q, is_whole_5q, leaves_5q;
  assign waits = bytes_of[column_4q];
  // Whether there are eight with what waits.
  assign is_whole = {1'b0, rows_4q[2:0]} >= 4'd8 - kept_4q;
  for (genvar lane = 0; lane < 8; lane++) begin : gen_bit
    logic [2:0] place;
    assign place = 3'(lane) - rows_4q[2:0];
    assign rotated[lane] = moved_4q[place] && !ends_4q;
    assign merged[lane] = 4'(lane) < {1'b0, rows_4q[2:0]} ? waits[lane] : rotated[lane];
  end
  always_ff @(posedge clk_i) begin
    bytes_of[column_4q] <= is_whole ? rotated : merged;
    byte_5q <= merged;
    rows_5q <= rows_4q;
    column_5q <= column_4q;
    ends_5q <= ends_4q;
    is_whole_5q <= is_whole;
    leaves_5q <= leaves_4q || (is_whole && rows_4q[8:3] == 6'd63);
  end

  // Stage 6: the line.
  logic [511:0] line, line_q;
  logic [63:0] lanes_before;
  assign lanes_before = ~(~64'd0 << rows_5q[8:3]);
  for (genvar lane = 0; lane < 64; lane++) begin : gen_line
    (* ram_style = "distributed" *) logic [7:0] memory [0:31];
    logic [7:0] held;
    logic is_own;
    assign held = memory[column_5q];
    assign is_own = rows_5q[8:3] == 6'(lane);
    always_ff @(posedge clk_i) begin
      if (is_own && is_whole_5q) memory[column_5q] <= byte_5q;
    end
    assign line[8*lane +: 8] = lanes_before[lane] ? held : byte_5q & {8{is_own}};
  end
  logic line_valid_q, ends_6q;
  logic [32:0] rows_6q;
  logic [4:0] column_6q;
  logic [6:0] count_6q;
  always_ff @(posedge clk_i) begin
    line_valid_q <= leaves_5q;
    line_q <= line;
    column_6q <= column_5q;
    rows_6q <= rows_5q;
    ends_6q <= ends_5q;
    count_6q <= {1'b0, rows_5q[8:3]} + {6'd0, rows_5q[2:0] != 3'd0};
  end
  assign line_o = line_valid_q;
  assign data_o = line_q;
  assign column_o = column_6q;
  assign number_o = rows_6q[32:9];
  assign count_o = ends_6q ? count_6q : 7'd64;
  logic unused_rows;
  assign unused_rows = ^rows_6q[8:0];
endmodule
