// SPDX-License-Identifier: Apache-2.0
// Packs bytes into lines of 64, of each column its own.
//
// A byte stays in the lane that is its place in its line: up to 64 bytes are rotated to where the
// column's line goes on. They either complete that line, which leaves with them, or wait in the
// memory of lines; those that go beyond it wait there in any case, for they begin the next line.
//
// Throughput: up to 64 bytes a cycle, of any columns in any order; it never waits. Latency: 4
// cycles. Reset: none; end each column.
//
// Invariants: lines of a column leave in order, numbered from 0. Behind its end a column begins
// anew.
module line_packer (
  input  logic         clk_i,
  input  logic [511:0] bytes_i,
  input  logic [6:0]   count_i,
  input  logic [4:0]   column_i,
  // The column ends: the line that is not whole leaves, unless it is to be forgotten.
  input  logic         ends_i,
  input  logic         forgets_i,
  output logic         line_o,
  output logic [511:0] data_o,
  output logic [4:0]   column_o,
  output logic [23:0]  number_o,
  // Bytes of the line, 64 unless the column ends with it.
  output logic [6:0]   count_o
);
  // Stage 1: where the column's line goes on, and its number.
  (* ram_style = "distributed" *) logic [5:0] offsets [0:31];
  (* ram_style = "distributed" *) logic [23:0] numbers [0:31];
  logic [5:0] offset;
  logic [6:0] sum;
  logic [23:0] number;
  assign offset = offsets[column_i];
  assign number = numbers[column_i];
  assign sum = {1'b0, offset} + count_i;
  always_ff @(posedge clk_i) begin
    offsets[column_i] <= ends_i ? 6'd0 : sum[5:0];
    numbers[column_i] <= ends_i ? 24'd0 : number + {23'd0, sum[6]};
  end

  typedef struct packed {
    logic [4:0] column;
    logic [23:0] number;
    logic [5:0] offset;
    logic [5:0] ends_at;
    logic is_whole;
    logic ends;
    logic leaves;
  } place_t;
  place_t place_1q, place_2q, place_3q;
  logic [511:0] bytes_1q, bytes_2q, bytes_3q;
  logic [511:0] rotated_0, rotated_1, rotated_2;
  always_ff @(posedge clk_i) begin
    place_1q.column <= column_i;
    place_1q.number <= number;
    place_1q.offset <= offset;
    place_1q.ends_at <= sum[5:0];
    place_1q.is_whole <= sum[6];
    place_1q.ends <= ends_i;
    place_1q.leaves <= (ends_i && offset != 6'd0 && !forgets_i) || sum[6];
    bytes_1q <= bytes_i;
    place_2q <= place_1q;
    place_3q <= place_2q;
    bytes_2q <= rotated_1;
    bytes_3q <= rotated_2;
  end

  // Stages 2 and 3: the bytes rotate, by up to 3, by fours, and by sixteens. Lanes are compared
  // with where the bytes begin and end.
  logic [63:0] behind_2q, before_2q, own_3q, held_3q;
  always_ff @(posedge clk_i) begin
    behind_2q <= ~64'd0 << place_1q.offset;
    before_2q <= ~(~64'd0 << place_1q.ends_at);
  end
  for (genvar lane = 0; lane < 64; lane++) begin : gen_lane
    // The four lanes that a lane's byte may come from.
    logic [31:0] by_one, by_four, by_sixteen;
    for (genvar i = 0; i < 4; i++) begin : gen_from
      assign by_one[8*i +: 8] = bytes_1q[8*((lane+64-i)%64) +: 8];
      assign by_four[8*i +: 8] = rotated_0[8*((lane+64-4*i)%64) +: 8];
      assign by_sixteen[8*i +: 8] = bytes_2q[8*((lane+64-16*i)%64) +: 8];
    end
    assign rotated_0[8*lane +: 8] = by_one[8*place_1q.offset[1:0] +: 8];
    assign rotated_1[8*lane +: 8] = by_four[8*place_1q.offset[3:2] +: 8];
    assign rotated_2[8*lane +: 8] = by_sixteen[8*place_2q.offset[5:4] +: 8];
    always_ff @(posedge clk_i) begin
      // Lanes that the bytes go to, and lanes of the line that waited.
      own_3q[lane] <= place_2q.is_whole ? behind_2q[lane] || before_2q[lane]
                                         : behind_2q[lane] && before_2q[lane];
      held_3q[lane] <= !behind_2q[lane];
    end
  end

  // Stage 4: the line.
  logic [511:0] line, line_q;
  for (genvar lane = 0; lane < 64; lane++) begin : gen_line
    (* ram_style = "distributed" *) logic [7:0] memory [0:31];
    logic [7:0] waits;
    assign waits = memory[place_3q.column];
    always_ff @(posedge clk_i) begin
      if (own_3q[lane]) memory[place_3q.column] <= bytes_3q[8*lane +: 8];
    end
    // Behind the end of a column there is nothing.
    assign line[8*lane +: 8] = held_3q[lane] ? waits
                                             : bytes_3q[8*lane +: 8] & {8{!place_3q.ends}};
  end
  logic line_valid_q;
  place_t place_4q;
  always_ff @(posedge clk_i) begin
    line_valid_q <= place_3q.leaves;
    line_q <= line;
    place_4q <= place_3q;
  end
  assign line_o = line_valid_q;
  assign data_o = line_q;
  assign column_o = place_4q.column;
  assign number_o = place_4q.number;
  assign count_o = place_4q.ends ? {1'b0, place_4q.offset} : 7'd64;
  logic unused_place;
  assign unused_place = ^{place_4q.ends_at, place_4q.is_whole, place_4q.leaves};
endmodule
