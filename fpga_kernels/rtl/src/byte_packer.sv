// SPDX-License-Identifier: Apache-2.0
// Puts tokens of up to eight bytes together to whole words of eight.
//
// Only the last word of a page has fewer bytes, or none; what it lacks is zero. What a token has
// behind its bytes is ignored.
//
// Throughput: a token a cycle. Latency: 4 cycles. Reset: forgets the bytes that it holds; for four
// cycles it takes nothing.
//
// Invariants: the bytes leave in the order in which they came. After the last token of a page no
// other is taken until `clear_i`, which comes once the last word has left.
module byte_packer (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        bytes_valid_i,
  output logic        bytes_ready_o,
  input  logic [63:0] bytes_data_i,
  input  logic [3:0]  bytes_count_i,
  input  logic        bytes_last_i,
  output logic        word_valid_o,
  input  logic        word_ready_i,
  output logic [63:0] word_data_o,
  output logic [3:0]  word_count_o,
  output logic        word_last_o
);
  // Places in the FIFO. A page's last token may become two words.
  localparam int unsigned ROOM = 16;
  localparam int unsigned COUNT_BITS = $clog2(ROOM) + 1;

  logic take, ready_q, ended_q;
  logic [2:0] held_q;
  // Words that are in the FIFO or will be, of the bytes that came so far.
  logic [COUNT_BITS-1:0] words_q, words_d;
  logic [3:0] total;
  logic word_taken;
  assign take = bytes_valid_i && ready_q;
  assign bytes_ready_o = ready_q;

  // First stage: the bytes without what is behind them, and how far they have to move.
  logic one_valid_q, one_last_q;
  logic [63:0] one_data_q;
  logic [2:0] one_shift_q;
  logic [3:0] one_count_q;
  // Second stage: moved.
  logic two_valid_q, two_last_q;
  logic [119:0] two_data_q;
  logic [3:0] two_total_q;
  // Third stage: together with what was held.
  logic three_valid_q, three_last_q, rest_valid_q;
  logic [63:0] three_data_q, held_data_q;
  logic [3:0] three_count_q, rest_count_q;
  logic [63:0] merged;
  logic whole, over;

  assign merged = held_data_q | two_data_q[63:0];
  assign whole = two_total_q[3];
  // More than a word, at the end of a page: the rest follows.
  assign over = two_last_q && whole && two_total_q[2:0] != '0;
  assign total = {1'b0, held_q} + bytes_count_i;
  assign words_d = words_q + COUNT_BITS'(take && total[3]) - COUNT_BITS'(word_taken);

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 8; i++) begin
      one_data_q[8*i +: 8] <= 4'(i) < bytes_count_i ? bytes_data_i[8*i +: 8] : '0;
    end
    one_count_q <= bytes_count_i;
    one_shift_q <= held_q;
    one_last_q <= bytes_last_i;
    two_data_q <= {56'b0, one_data_q} << {one_shift_q, 3'b0};
    two_total_q <= {1'b0, one_shift_q} + one_count_q;
    two_last_q <= one_last_q;
    three_data_q <= merged;
    three_count_q <= whole ? 4'd8 : two_total_q;
    three_last_q <= two_last_q && !over;
    rest_count_q <= {1'b0, two_total_q[2:0]};
    if (rest_valid_q) begin
      three_data_q <= held_data_q;
      three_count_q <= rest_count_q;
      three_last_q <= 1'b1;
    end
    if (two_valid_q) held_data_q <= whole ? {8'b0, two_data_q[119:64]} : merged;
    if (!rst_ni || clear_i) begin
      held_q <= '0;
      held_data_q <= '0;
      words_q <= '0;
      ready_q <= 1'b0;
      ended_q <= 1'b0;
      one_valid_q <= 1'b0;
      two_valid_q <= 1'b0;
      three_valid_q <= 1'b0;
      rest_valid_q <= 1'b0;
    end else begin
      if (take) held_q <= total[2:0];
      words_q <= words_d;
      ended_q <= ended_q || (take && bytes_last_i);
      ready_q <= words_d <= COUNT_BITS'(ROOM - 3) && !ended_q && !(take && bytes_last_i);
      one_valid_q <= take;
      two_valid_q <= one_valid_q;
      three_valid_q <= (two_valid_q && (whole || two_last_q)) || rest_valid_q;
      rest_valid_q <= two_valid_q && over;
    end
  end

  logic fifo_ready, word_valid;
  fifo #(.WIDTH(69), .DEPTH(ROOM)) i_words (
    .clk_i,
    .rst_ni(rst_ni && !clear_i),
    .valid_i(three_valid_q),
    .ready_o(fifo_ready),
    .data_i({three_last_q, three_count_q, three_data_q}),
    .valid_o(word_valid),
    .ready_i(word_ready_i),
    .data_o({word_last_o, word_count_o, word_data_o})
  );
  assign word_valid_o = word_valid;
  // The last word may have been none that was counted.
  assign word_taken = word_valid && word_ready_i && words_q != '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !clear_i) begin
      assert (!three_valid_q || fifo_ready) else $error("a word without room");
      assert (!take || bytes_count_i <= 4'd8) else $error("a token of more than eight bytes");
    end
  end
`else
  logic unused_ready;
  assign unused_ready = fifo_ready;
`endif
endmodule
