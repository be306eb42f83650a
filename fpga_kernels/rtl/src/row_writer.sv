// SPDX-License-Identifier: Apache-2.0
// Packs the kept rows of output columns into lines of 64 bytes, of each column its own.
//
// What a block of a result holds of a column is bits that say which rows are not null, and numbers
// of 1, 4, 8 or 16 bytes side by side, 0 where a row is null. Both leave as lines with the column
// and the line's number in it. A block has 1024 rows, which are whole lines of any width, so
// blocks are runs of lines; where in memory a line belongs, headers, checksums and strings are not
// its business.
//
// A token is a column of eight rows, or the high halves of one of which 64 bits are not all. The
// token marked `last` has no rows: each column's line that is not whole leaves, and a token without
// bytes that is marked so, too.
//
// Throughput: a token a cycle, at any share of kept rows; a token of a column of 128 bits without
// high halves takes two. A line leaves each cycle at most, and that is all that ever makes a token
// wait: eight kept rows of 64 bits fill a line, and their bits a 64th of one. Latency: some 14
// cycles. Reset: forgets the lines, a column a cycle.
//
// Cycles of a run: models/row_writer_cycles.hpp.
//
// Parameters: LINES of each kind that may wait for the output, a power of two of at least 32.
//
// Invariants: lines of a column leave in order, those of numbers and those of bits each; the bits
// leave before the numbers where both are there. Widths hold still during a run.
module row_writer #(
  parameter int unsigned LINES = 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // Of each column: 0 for 1 byte, 1 for 4, 2 for 8, 3 for 16.
  input  logic [31:0][1:0]  widths_i,
  input  logic              words_valid_i,
  output logic              words_ready_o,
  input  logic [7:0][63:0]  words_number_i,
  input  logic [7:0]        words_keep_i,
  input  logic [7:0]        words_present_i,
  input  logic [4:0]        words_column_i,
  input  logic              words_is_wide_i,
  input  logic              words_last_i,
  output logic              lines_valid_o,
  input  logic              lines_ready_i,
  output logic [511:0]      lines_data_o,
  // Bytes of the line, its column, its number, and whether it has bits.
  output logic [6:0]        lines_count_o,
  output logic [4:0]        lines_column_o,
  output logic [23:0]       lines_number_o,
  output logic              lines_has_bits_o,
  output logic              lines_last_o
);
  localparam logic [1:0] DOUBLE = 2'd3;
  // Cycles until what was given to the packers has left them, and more.
  localparam logic [3:0] DRAIN = 4'd15;

  // Columns are made empty, words are taken, columns end, and then what is on its way arrives.
  typedef enum logic [1:0] {EMPTYING, OPEN, ENDING, DRAINING} state_e;
  state_e state_q;
  logic [4:0] column_q;
  logic [3:0] drain_q;
  logic room, pushes_last, is_ending, last;
  assign is_ending = state_q == EMPTYING || (state_q == ENDING && room);
  assign pushes_last = state_q == DRAINING && drain_q == DRAIN;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= EMPTYING;
      column_q <= '0;
      drain_q <= '0;
    end else begin
      if (is_ending) column_q <= column_q + 5'd1;
      drain_q <= state_q == DRAINING ? drain_q + 4'd1 : 4'd0;
      unique case (state_q)
        EMPTYING: if (column_q == 5'd31) state_q <= OPEN;
        OPEN: if (last) state_q <= ENDING;
        ENDING: if (is_ending && column_q == 5'd31) state_q <= DRAINING;
        default: if (pushes_last) state_q <= OPEN;
      endcase
    end
  end

  logic part, part_is_first;
  logic [511:0] part_number;
  logic [7:0] part_keep, part_valid, rows_keep, rows_valid;
  logic [4:0] part_column;
  row_halves i_halves (
    .clk_i,
    .rst_ni,
    .room_i(room),
    .resumes_i(state_q == OPEN && !last),
    .valid_i(words_valid_i),
    .ready_o(words_ready_o),
    .number_i(words_number_i),
    .keep_i(words_keep_i),
    .valid_rows_i(words_present_i),
    .column_i(words_column_i),
    .is_double_i(widths_i[words_column_i] == DOUBLE),
    .is_wide_i(words_is_wide_i),
    .last_i(words_last_i),
    .part_o(part),
    .number_o(part_number),
    .keep_o(part_keep),
    .valid_o(part_valid),
    .column_o(part_column),
    .is_first_o(part_is_first),
    .rows_keep_o(rows_keep),
    .rows_valid_o(rows_valid),
    .last_o(last)
  );

  // A part, the end of a column, or nothing: then no row is kept.
  logic [7:0] keep_1q, valid_1q, rows_keep_1q, rows_valid_1q;
  logic [511:0] number_1q;
  logic [4:0] column_1q;
  logic [1:0] width_1q;
  logic ends_1q, forgets_1q;
  always_ff @(posedge clk_i) begin
    number_1q <= part_number;
    valid_1q <= part_valid;
    rows_valid_1q <= rows_valid;
    keep_1q <= part_keep & {8{part && rst_ni}};
    rows_keep_1q <= rows_keep & {8{part && part_is_first && rst_ni}};
    column_1q <= is_ending ? column_q : part_column;
    width_1q <= widths_i[part_column];
    ends_1q <= is_ending && rst_ni;
    forgets_1q <= state_q == EMPTYING;
  end

  logic [511:0] bytes, number_data, bits_data;
  logic [6:0] count, number_count, bits_count;
  logic [4:0] column_5, number_column, bits_column;
  logic [23:0] number_number, bits_number;
  logic ends_5, forgets_5, number_line, bits_line;
  row_compactor i_compactor (
    .clk_i,
    .number_i(number_1q),
    .keep_i(keep_1q),
    .valid_i(valid_1q),
    .width_i(width_1q),
    .bytes_o(bytes),
    .count_o(count)
  );
  delay #(.WIDTH(7), .CYCLES(4)) i_where (
    .clk_i,
    .data_i({forgets_1q, ends_1q, column_1q}),
    .data_o({forgets_5, ends_5, column_5})
  );
  line_packer i_numbers (
    .clk_i,
    .bytes_i(bytes),
    .count_i(count),
    .column_i(column_5),
    .ends_i(ends_5),
    .forgets_i(forgets_5),
    .line_o(number_line),
    .data_o(number_data),
    .column_o(number_column),
    .number_o(number_number),
    .count_o(number_count)
  );
  bit_packer i_bits (
    .clk_i,
    .keep_i(rows_keep_1q),
    .bits_i(rows_valid_1q),
    .column_i(column_1q),
    .ends_i(ends_1q),
    .forgets_i(forgets_1q),
    .line_o(bits_line),
    .data_o(bits_data),
    .column_o(bits_column),
    .number_o(bits_number),
    .count_o(bits_count)
  );

  // What comes out of stages that were not empty before a reset is dropped.
  logic drops_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) drops_q <= 1'b1;
    else if (state_q == OPEN) drops_q <= 1'b0;
  end
  line_output #(.DEPTH(LINES)) i_output (
    .clk_i,
    .rst_ni,
    .room_o(room),
    .number_line_i(number_line && !drops_q),
    .number_i({number_number, number_column, number_count, number_data}),
    .bits_line_i(bits_line && !drops_q),
    .bits_i({bits_number, bits_column, bits_count, bits_data}),
    .last_i(pushes_last),
    .valid_o(lines_valid_o),
    .ready_i(lines_ready_i),
    .data_o({lines_number_o, lines_column_o, lines_count_o, lines_data_o}),
    .has_bits_o(lines_has_bits_o),
    .last_o(lines_last_o)
  );
endmodule
