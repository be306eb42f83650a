// SPDX-License-Identifier: Apache-2.0
// Puts the words of pages into a row: up to two a cycle come in, one goes out.
//
// Words go to two FIFOs in turn, so that two may come at once. It says early that it has no more
// room, for the parts that are on their way then still come.
//
// The one that ends the chunk leaves with the cycles that have passed since the chunk's first page
// came, with those in which input was not there or the output waited: 0 if there was no page.
//
// Throughput: a word a cycle. Latency: 4 cycles. Reset: empties it.
//
// Parameters: DEPTH, words in each of the FIFOs; COMING, the most words that may still come once
// there is no room.
//
// Invariants: words leave in the order in which they came; `valid_o` stays until `ready_i`, and
// the word with it.
module snappy_output #(
  parameter int unsigned DEPTH = 32,
  parameter int unsigned COMING = 28
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        room_o,
  // A page comes in.
  input  logic        page_i,
  // One or two words of eight bytes, or what is left at the end of a page, or the chunk's end.
  input  logic [1:0]  words_i,
  input  logic [63:0] first_i,
  input  logic [63:0] second_i,
  input  logic        ends_i,
  input  logic        closes_i,
  input  logic [2:0]  rest_i,
  input  logic        is_corrupt_i,
  input  logic        is_too_far_i,
  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] data_o,
  output logic [3:0]  count_o,
  output logic        ends_o,
  output logic        is_corrupt_o,
  output logic        is_too_far_o,
  output logic        last_o
);
  localparam int unsigned WIDTH = 71;
  localparam int unsigned COUNT_BITS = $clog2(2 * DEPTH) + 1;
  localparam logic [COUNT_BITS-1:0] ROOM = COUNT_BITS'(2 * DEPTH - COMING);

  // The words in the order of the FIFOs. `to_q` is the one whose turn it is.
  logic to_q;
  logic [1:0] push_q, ready, valid, pop;
  logic [63:0] data_0q, data_1q;
  logic ends_q, closes_q, corrupt_q, too_far_q;
  logic [2:0] rest_q;
  logic [WIDTH-1:0] read_0, read_1;
  logic one, two;
  logic [2:0] rest;
  assign rest = closes_i || is_corrupt_i || is_too_far_i ? 3'd0 : rest_i;
  assign one = ends_i || closes_i || words_i != 2'd0;
  assign two = words_i[1];
  always_ff @(posedge clk_i) begin
    data_0q <= to_q ? second_i : first_i;
    data_1q <= to_q ? first_i : second_i;
    // A word that is not whole has zeros behind; nothing is left of a page that failed.
    if (ends_i || closes_i) begin
      for (int i = 0; i < 8; i++) begin
        if (3'(i) >= rest) begin
          data_0q[8*i +: 8] <= 8'd0;
          data_1q[8*i +: 8] <= 8'd0;
        end
      end
    end
    ends_q <= ends_i;
    closes_q <= closes_i;
    rest_q <= rest;
    corrupt_q <= ends_i && is_corrupt_i;
    too_far_q <= ends_i && is_too_far_i;
    if (!rst_ni) begin
      push_q <= 2'd0;
      to_q <= 1'b0;
    end else begin
      push_q <= to_q ? {one, two} : {two, one};
      to_q <= to_q ^ (one && !two);
    end
  end

  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) i_even (
    .clk_i,
    .rst_ni,
    .valid_i(push_q[0]),
    .ready_o(ready[0]),
    .data_i({closes_q, too_far_q, corrupt_q, ends_q, rest_q, data_0q}),
    .valid_o(valid[0]),
    .ready_i(pop[0]),
    .data_o(read_0)
  );
  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) i_odd (
    .clk_i,
    .rst_ni,
    .valid_i(push_q[1]),
    .ready_o(ready[1]),
    .data_i({closes_q, too_far_q, corrupt_q, ends_q, rest_q, data_1q}),
    .valid_o(valid[1]),
    .ready_i(pop[1]),
    .data_o(read_1)
  );

  // Cycles of the chunk. A clock of 300 MHz needs an hour for all of them.
  localparam int unsigned CYCLE_BITS = 40;
  logic counts_q, left;
  logic [CYCLE_BITS-1:0] cycles_q;
  assign left = valid_o && ready_i && last_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || left) begin
      counts_q <= 1'b0;
      cycles_q <= '0;
    end else begin
      counts_q <= counts_q || page_i;
      cycles_q <= cycles_q + CYCLE_BITS'(counts_q);
    end
  end

  // One out of the FIFO whose turn it is, into a register.
  logic from_q, valid_q, take;
  logic [WIDTH-1:0] word, word_q;
  assign word = from_q ? read_1 : read_0;
  assign take = !valid_q || ready_i;
  assign pop = {take && from_q, take && !from_q};
  always_ff @(posedge clk_i) begin
    if (take) begin
      word_q <= word;
      // The end of the chunk has no bytes.
      if (word[70]) word_q[CYCLE_BITS-1:0] <= cycles_q;
    end
    if (!rst_ni) begin
      valid_q <= 1'b0;
      from_q <= 1'b0;
    end else if (take) begin
      valid_q <= valid[from_q];
      from_q <= from_q ^ valid[from_q];
    end
  end
  assign valid_o = valid_q;
  assign data_o = word_q[63:0];
  assign count_o = ends_o || last_o ? {1'b0, word_q[66:64]} : 4'd8;
  assign ends_o = word_q[67];
  assign is_corrupt_o = word_q[68];
  assign is_too_far_o = word_q[69];
  assign last_o = word_q[70];

  // Words that are in the FIFOs, without those on their way.
  logic [COUNT_BITS-1:0] held_q;
  logic room_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q <= '0;
      room_q <= 1'b0;
    end else begin
      held_q <= held_q + COUNT_BITS'(one) + COUNT_BITS'(two) -
                COUNT_BITS'(take && valid[from_q]);
      room_q <= held_q < ROOM;
    end
  end
  assign room_o = room_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert ((push_q & ~ready) == 2'd0) else $error("a word without room");
  end
`else
  logic unused_ready;
  assign unused_ready = ^ready;
`endif
endmodule
