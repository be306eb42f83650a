// SPDX-License-Identifier: Apache-2.0
// Packs tokens of up to eight bytes into whole words of eight.
//
// A page comes as tokens that may be short, since a line of memory ends where it ends. Behind this
// module all words of a page but the last are whole, so that places in a page are places in words.
// The last word of a page may be empty.
//
// The bytes of a token are rotated to their lanes, where they stay: a word is what waits in the
// lanes below, and the token in those above.
//
// Throughput: a token a cycle; a page whose last token does not fit in the word that waits takes
// one cycle more. Latency: 4 cycles, through the FIFO behind. Reset: forgets the bytes that wait.
//
// Parameters: DEPTH, words in the FIFO behind, a power of two.
//
// Invariants: the bytes of a page stay in order; a word that is not the last has eight bytes.
module snappy_words #(
  parameter int unsigned DEPTH = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Tokens: up to eight bytes, the first one lowest, and whether they end the page.
  input  logic        valid_i,
  output logic        ready_o,
  input  logic [63:0] data_i,
  input  logic [3:0]  count_i,
  input  logic        last_i,
  // Words.
  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] data_o,
  output logic [3:0]  count_o,
  output logic        last_o
);
  // The bytes that wait, in lanes 0 to `held_q`, and whether they are what is left of a page.
  logic [63:0] hold_q;
  logic [2:0] held_q;
  logic rest_q;
  logic fifo_ready, take, valid, may_take, last;
  logic [63:0] data;
  logic [3:0] count;
  skid_buffer #(.WIDTH(69)) i_next (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o,
    .data_i({last_i, count_i, data_i}),
    .valid_o(valid),
    .ready_i(may_take),
    .data_o({last, count, data})
  );
  assign may_take = fifo_ready && !rest_q;
  assign take = valid && may_take;

  logic [63:0] rotated, merged;
  logic [3:0] sum;
  assign sum = {1'b0, held_q} + count;
  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    logic [2:0] from;
    assign from = 3'(lane) - held_q;
    assign rotated[8*lane +: 8] = data[8*from +: 8];
    assign merged[8*lane +: 8] = 4'(lane) < {1'b0, held_q} ? hold_q[8*lane +: 8]
                                                            : rotated[8*lane +: 8];
  end

  // The word that leaves: one that is whole, the last one of a page, or what was left of it.
  logic word_q, word_last_q;
  logic [63:0] word_data_q;
  logic [3:0] word_count_q;
  logic fits, rest;
  assign fits = sum <= 4'd8;
  assign rest = rest_q && fifo_ready;

  always_ff @(posedge clk_i) begin
    if (take || rest) begin
      word_data_q <= rest_q ? hold_q : merged;
      word_count_q <= rest_q ? {1'b0, held_q} : (fits ? sum : 4'd8);
      word_last_q <= rest_q || (last && fits);
    end
    if (take) hold_q <= sum[3] ? rotated : merged;
    if (!rst_ni) begin
      word_q <= 1'b0;
      held_q <= '0;
      rest_q <= 1'b0;
    end else begin
      if (fifo_ready) word_q <= rest_q || (take && (sum[3] || last));
      if (take) begin
        held_q <= last && fits ? 3'd0 : sum[2:0];
        rest_q <= last && !fits;
      end else if (rest) begin
        held_q <= '0;
        rest_q <= 1'b0;
      end
    end
  end

  fifo #(.WIDTH(69), .DEPTH(DEPTH)) i_words (
    .clk_i,
    .rst_ni,
    .valid_i(word_q),
    .ready_o(fifo_ready),
    .data_i({word_last_q, word_count_q, word_data_q}),
    .valid_o,
    .ready_i,
    .data_o({last_o, count_o, data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_i) assert (count_i <= 4'd8) else $error("a token of more than 8 bytes");
    if (rst_ni && valid_o && !last_o) assert (count_o == 4'd8) else $error("a short word");
  end
`endif
endmodule
