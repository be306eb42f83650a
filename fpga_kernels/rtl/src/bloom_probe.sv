// SPDX-License-Identifier: Apache-2.0
// Looks numbers up in sets of keys, whose bits are on chip: two rows a cycle of those that are
// present.
//
// A run loads the bits first, a block of 256 a cycle, then takes words of eight rows and says of
// each which of its rows pass. A set is a Bloom filter or a bitmap over a range. Numbers have 64
// bits with a sign; a row that is not present passes: NULL, or one that was dropped before.
// Checksums are not its business, nor is which rows a word has.
//
// The memory has 128 KiB, four URAMs side by side, and two ports: a port reads the block that holds
// all bits of a row. So a word takes a cycle for each two rows that are present, the lowest first,
// and one if none is.
//
// A number is hashed by two products of 64 bits, multiplied by eight salts, and compared with the
// range of its set, in some forty stages that never wait: a word is let in only if there is room
// for its answer in the FIFO behind.
//
// Throughput: 2 rows or a word a cycle; a block a cycle while it loads. Latency: some 45 cycles
// from a word to its answer. Reset: forgets the run, not the bits; for 63 cycles it takes nothing,
// until the stages, which have no reset, are empty.
//
// Parameters: SETS, a power of two; BLOCKS, places of 256 bits, a power of two.
//
// Invariants: there is an answer for each word, in their order. No word is taken before the last
// block of the run, and no block of the next run before the answer to the last word is out of the
// stages. The configuration holds still during a run.
module bloom_probe #(
  parameter int unsigned SETS = 4,
  parameter int unsigned BLOCKS = 4096,
  localparam int unsigned PLACE_BITS = $clog2(BLOCKS),
  localparam int unsigned SET_BITS = $clog2(SETS)
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Of each set: whether it is a bitmap, the least and the greatest number of its range, its first
  // block, and how many it has.
  input  logic [SETS-1:0]                 is_bitmap_i,
  input  logic [SETS-1:0][63:0]           first_i,
  input  logic [SETS-1:0][63:0]           last_i,
  input  logic [SETS-1:0][PLACE_BITS-1:0] block_first_i,
  input  logic [SETS-1:0][PLACE_BITS:0]   blocks_i,
  // Blocks of bits; the last token of them may be empty.
  input  logic         bits_valid_i,
  output logic         bits_ready_o,
  input  logic [255:0] bits_block_i,
  input  logic         bits_is_block_i,
  input  logic         bits_last_i,
  // Words of eight rows.
  input  logic                rows_valid_i,
  output logic                rows_ready_o,
  input  logic [7:0][63:0]    rows_number_i,
  input  logic [7:0]          rows_present_i,
  input  logic [SET_BITS-1:0] rows_set_i,
  input  logic                rows_last_i,
  // Which of them pass.
  output logic       passed_valid_o,
  input  logic       passed_ready_i,
  output logic [7:0] passed_rows_o,
  output logic       passed_last_o
);
  // Words that may be in the stages and in the FIFO behind them: the stages hold 45.
  localparam int unsigned ROOM = 64;

  typedef enum logic [1:0] {LOADING, PROBING, DRAINING} state_e;
  state_e state_q;
  // Cycles until no stage holds a row from before a reset.
  localparam int unsigned FLUSH_BITS = 6;
  logic [FLUSH_BITS-1:0] flush_q;
  logic flushing_q;

  // Loading.
  logic load, bits_ready_q;
  logic [PLACE_BITS-1:0] load_place_q;
  assign load = bits_valid_i && bits_ready_q;
  assign bits_ready_o = bits_ready_q;

  // Words taken apart into turns of the lowest two rows that are left.
  logic take, taken_q, rows_ready_q, word_last_q;
  logic [7:0][63:0] word_number_q;
  logic [7:0] left_q, left_d;
  logic [SET_BITS-1:0] word_set_q;
  logic [1:0][2:0] turn_row;
  logic [7:0] left_less_1, left_less_2, left_less_3, left_less_4;
  logic [7:0] next_less_1, next_less_2;
  logic turn_ends, next_ends;
  logic [$clog2(ROOM):0] words_q, words_d;
  logic passed_taken;
  assign take = rows_valid_i && rows_ready_q;
  assign rows_ready_o = rows_ready_q;
  // What is left without the lowest, and so on.
  assign left_less_1 = left_q & (left_q - 8'd1);
  assign left_less_2 = left_less_1 & (left_less_1 - 8'd1);
  assign left_less_3 = left_less_2 & (left_less_2 - 8'd1);
  assign left_less_4 = left_less_3 & (left_less_3 - 8'd1);
  assign next_less_1 = rows_present_i & (rows_present_i - 8'd1);
  assign next_less_2 = next_less_1 & (next_less_1 - 8'd1);
  assign left_d = take ? rows_present_i : left_less_2;
  assign turn_ends = left_less_2 == '0;
  // Whether the turn of the next cycle ends a word, if there is one.
  assign next_ends = take ? next_less_2 == '0 : left_less_4 == '0;
  always_comb begin
    turn_row = '0;
    for (int row = 7; row >= 0; row--) begin
      if (left_q[row]) turn_row[0] = 3'(row);
      if (left_less_1[row]) turn_row[1] = 3'(row);
    end
  end
  assign words_d = words_q + ($clog2(ROOM) + 1)'(take) - ($clog2(ROOM) + 1)'(passed_taken);

  always_ff @(posedge clk_i) begin
    if (take) begin
      word_number_q <= rows_number_i;
      word_set_q <= rows_set_i;
      word_last_q <= rows_last_i;
    end
    if (!rst_ni) begin
      state_q <= LOADING;
      bits_ready_q <= 1'b0;
      rows_ready_q <= 1'b0;
      load_place_q <= '0;
      taken_q <= 1'b0;
      left_q <= '0;
      words_q <= '0;
      flush_q <= '1;
      flushing_q <= 1'b1;
    end else begin
      flushing_q <= flush_q != '0;
      if (flush_q != '0) flush_q <= flush_q - FLUSH_BITS'(1);
      taken_q <= take || (taken_q && !turn_ends);
      left_q <= left_d;
      words_q <= words_d;
      rows_ready_q <= 1'b0;
      bits_ready_q <= 1'b0;
      unique case (state_q)
        LOADING: begin
          bits_ready_q <= !(load && bits_last_i) && !flushing_q;
          if (load) load_place_q <= load_place_q + PLACE_BITS'(1);
          if (load && bits_last_i) state_q <= PROBING;
        end
        PROBING: begin
          // The word before is in its last turn when the next one may come.
          rows_ready_q <= !(take && rows_last_i) && next_ends &&
                          words_d != ($clog2(ROOM) + 1)'(ROOM);
          if (take && rows_last_i) state_q <= DRAINING;
        end
        default: begin
          load_place_q <= '0;
          if (words_q == '0) state_q <= LOADING;
        end
      endcase
    end
  end

  // The memory: the first row's port also loads.
  logic [1:0][PLACE_BITS-1:0] place;
  logic [1:0][255:0] block;
  (* ram_style = "ultra" *) logic [255:0] memory [0:BLOCKS-1];
  logic [255:0] read_0_q, read_1_q, block_0_q, block_1_q;
  logic loading;
  logic [PLACE_BITS-1:0] place_0;
  logic load_q;
  logic [255:0] load_block_q;
  logic [PLACE_BITS-1:0] load_at_q;
  always_ff @(posedge clk_i) begin
    load_q <= load && bits_is_block_i && rst_ni;
    load_block_q <= bits_block_i;
    load_at_q <= load_place_q;
  end
  assign loading = load_q;
  assign place_0 = loading ? load_at_q : place[0];
  always_ff @(posedge clk_i) begin
    if (loading) memory[place_0] <= load_block_q;
    else read_0_q <= memory[place_0];
    block_0_q <= read_0_q;
  end
  always_ff @(posedge clk_i) begin
    read_1_q <= memory[place[1]];
    block_1_q <= read_1_q;
  end
  assign block = {block_1_q, block_0_q};

  // Two rows side by side.
  logic [1:0] row_passed, row_out, row_ends, row_last;
  logic [1:0][2:0] row_number;
  logic [1:0] turn_present;
  assign turn_present = {left_less_1 != '0, left_q != '0};
  for (genvar row = 0; row < 2; row++) begin : gen_row
    bloom_row #(.SETS(SETS), .BLOCKS(BLOCKS)) i_row (
      .clk_i,
      .rst_ni,
      .is_bitmap_i,
      .first_i,
      .last_i,
      .block_first_i,
      .blocks_i,
      .valid_i(taken_q),
      .number_i(word_number_q[turn_row[row]]),
      .present_i(turn_present[row]),
      .row_i(turn_row[row]),
      .set_i(word_set_q),
      .ends_i(turn_ends),
      .is_last_i(word_last_q),
      .place_o(place[row]),
      .block_i(block[row]),
      .valid_o(row_out[row]),
      .passed_o(row_passed[row]),
      .row_o(row_number[row]),
      .ends_o(row_ends[row]),
      .last_o(row_last[row])
    );
  end

  // The turns of a word are put together again.
  logic [7:0] passed_q, passed_before, dropped_0, dropped_1;
  logic whole_q, whole_last_q, fifo_ready, begins_q;
  assign dropped_0 = 8'(!row_passed[0]) << row_number[0];
  assign dropped_1 = 8'(!row_passed[1]) << row_number[1];
  assign passed_before = begins_q ? '1 : passed_q;
  always_ff @(posedge clk_i) begin
    if (row_out[0]) passed_q <= passed_before & ~dropped_0 & ~dropped_1;
    if (flushing_q) begins_q <= 1'b1;
    else if (row_out[0]) begins_q <= row_ends[0];
    whole_q <= !flushing_q && row_out[0] && row_ends[0];
    whole_last_q <= row_last[0];
  end
  logic unused_marks;
  assign unused_marks = ^{row_out[1], row_ends[1], row_last[1]};

  logic passed_valid;
  fifo #(.WIDTH(9), .DEPTH(ROOM)) i_passed (
    .clk_i,
    .rst_ni,
    .valid_i(whole_q),
    .ready_o(fifo_ready),
    .data_i({whole_last_q, passed_q}),
    .valid_o(passed_valid),
    .ready_i(passed_ready_i),
    .data_o({passed_last_o, passed_rows_o})
  );
  assign passed_valid_o = passed_valid;
  assign passed_taken = passed_valid && passed_ready_i;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!whole_q || fifo_ready) else $error("an answer without room");
      assert (words_q <= ($clog2(ROOM) + 1)'(ROOM)) else $error("too many words");
      assert (!(loading && taken_q)) else $error("bits are loaded while rows are looked up");
    end
  end
`endif
endmodule
