// SPDX-License-Identifier: Apache-2.0
// Makes numbers of the tokens of the parser: up to eight of a run a cycle, or a share of a group.
//
// It counts the numbers of the page, leaves out what is behind them, and says whether they were
// all there. A run of any length is one token, so the parser is ahead while it is expanded.
//
// Throughput: a word a cycle. Latency: 5 cycles. Reset: forgets the page.
//
// Invariants: words leave in the order of the tokens; all but the last have a number. Exactly one
// word of a page is marked `last`; `done_o` follows it, and then tokens are ignored. A word waits
// unchanged until it is taken.
module rle_expander (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  // Of the page, from `start_i` on: bits of a number as a number and as a mask, the numbers of a
  // share, in pairs of bits where a share begins in its first byte, where each number begins, and
  // how many numbers are wanted.
  input  logic            start_i,
  input  logic [5:0]      width_i,
  input  logic [31:0]     mask_i,
  input  logic [3:0]      share_numbers_i,
  input  logic [3:0][1:0] share_offset_i,
  input  logic [7:0][5:0] number_first_i,
  input  logic [31:0]     values_i,
  input  logic        token_valid_i,
  output logic        token_ready_o,
  input  logic [1:0]  token_kind_i,
  input  logic [71:0] token_data_i,
  input  logic [1:0]  token_share_i,
  input  logic [3:0]  token_bytes_i,
  output logic             word_valid_o,
  input  logic             word_ready_i,
  output logic [7:0][31:0] word_index_o,
  output logic [3:0]       word_count_o,
  output logic             word_last_o,
  output logic             word_corrupt_o,
  output logic             done_o
);
  localparam logic [1:0] TOKEN_SHARE = 2'd0;
  localparam logic [1:0] TOKEN_RUN = 2'd1;
  localparam logic [1:0] TOKEN_END = 2'd2;

  logic move, word_valid_q, done_q;
  assign move = !word_valid_q || word_ready_i;

  // The token at hand. Of a run, how many eights are left, and what is left behind them.
  logic hand_valid_q, hand_last;
  logic [1:0] hand_kind_q, hand_share_q;
  logic [3:0] hand_bytes_q, hand_numbers;
  logic [71:0] hand_data_q;
  logic [27:0] eights_q;
  logic [2:0] rest_q;
  // What `eights_q` says, known a cycle before.
  logic is_run, no_eight_q, one_eight_q;
  assign is_run = hand_kind_q == TOKEN_RUN;
  assign hand_last = !is_run || no_eight_q || (one_eight_q && rest_q == '0);
  assign hand_numbers = !is_run ? share_numbers_i : no_eight_q ? {1'b0, rest_q} : 4'd8;
  assign token_ready_o = move && (!hand_valid_q || hand_last);
  always_ff @(posedge clk_i) begin
    if (token_ready_o) begin
      hand_kind_q <= token_kind_i;
      hand_share_q <= token_share_i;
      hand_bytes_q <= token_bytes_i;
      hand_data_q <= token_data_i;
      eights_q <= token_data_i[62:35];
      rest_q <= token_data_i[34:32];
      no_eight_q <= token_data_i[62:35] == 28'd0;
      one_eight_q <= token_data_i[62:35] == 28'd1;
    end else if (move) begin
      eights_q <= eights_q - 28'd1;
      no_eight_q <= one_eight_q;
      one_eight_q <= eights_q == 28'd2;
    end
    if (start_i) begin
      // A page may want no numbers: an empty run goes first.
      hand_kind_q <= TOKEN_RUN;
      no_eight_q <= 1'b1;
      rest_q <= '0;
    end
    if (!rst_ni || clear_i) hand_valid_q <= 1'b0;
    else hand_valid_q <= start_i || (token_ready_o ? token_valid_i : hand_valid_q);
  end

  // First stage: how many of the numbers are wanted; a share without the bits before it.
  logic one_valid_q, one_reached_q;
  logic [1:0] one_kind_q, one_offset_q;
  logic [3:0] one_numbers_q, one_bytes_q;
  logic [63:0] one_view_q;
  logic [31:0] left_q;
  logic is_reached;
  assign is_reached = left_q[31:4] == '0 && left_q[3:0] <= hand_numbers;
  always_ff @(posedge clk_i) begin
    if (move) begin
      one_kind_q <= hand_kind_q;
      one_bytes_q <= hand_bytes_q;
      one_offset_q <= share_offset_i[hand_share_q];
      one_view_q <= hand_data_q[{4'b0, share_offset_i[hand_share_q], 1'b0} +: 64];
      if (is_run) one_view_q <= hand_data_q[63:0];
      one_numbers_q <= is_reached ? left_q[3:0] : hand_numbers;
      one_reached_q <= is_reached;
      if (hand_valid_q) left_q <= left_q - 32'(hand_numbers);
    end
    if (start_i) left_q <= values_i;
    if (!rst_ni || clear_i) one_valid_q <= 1'b0;
    else if (move) one_valid_q <= hand_valid_q;
  end

  // Second stage: the bits that the numbers take; each number nearly where it begins.
  logic two_valid_q, two_reached_q;
  logic [1:0] two_kind_q, two_offset_q;
  logic [3:0] two_numbers_q, two_bytes_q;
  logic [8:0] two_bits_q;
  logic [7:0][34:0] two_near_q;
  always_ff @(posedge clk_i) begin
    if (move) begin
      two_kind_q <= one_kind_q;
      two_reached_q <= one_reached_q;
      two_numbers_q <= one_numbers_q;
      two_bytes_q <= one_bytes_q;
      two_offset_q <= one_offset_q;
      two_bits_q <= one_numbers_q[3] ? {width_i, 3'b0} : bits_of(one_numbers_q[2:0], width_i);
      for (int i = 0; i < 8; i++) begin
        two_near_q[i] <= 35'(one_view_q >> {number_first_i[i][5:2], 2'b0});
        if (one_kind_q != TOKEN_SHARE) two_near_q[i] <= {3'b0, one_view_q[31:0]};
      end
    end
    if (!rst_ni || clear_i) two_valid_q <= 1'b0;
    else if (move) two_valid_q <= one_valid_q;
  end

  // Third stage: whether the numbers are all there; each number where it begins, without others.
  logic three_valid_q, three_reached_q, three_short_q;
  logic [1:0] three_kind_q;
  logic [3:0] three_numbers_q;
  logic [9:0] needed;
  logic [7:0][31:0] three_index_q;
  assign needed = {1'b0, two_bits_q} + {7'b0, two_offset_q, 1'b0};
  always_ff @(posedge clk_i) begin
    if (move) begin
      three_kind_q <= two_kind_q;
      three_reached_q <= two_reached_q;
      three_numbers_q <= two_numbers_q;
      three_short_q <= two_kind_q == TOKEN_SHARE && needed > {3'b0, two_bytes_q, 3'b0};
      for (int i = 0; i < 8; i++) begin
        three_index_q[i] <= 32'(two_near_q[i] >> number_first_i[i][1:0]) & mask_i;
        if (two_kind_q != TOKEN_SHARE) three_index_q[i] <= two_near_q[i][31:0];
      end
    end
    if (!rst_ni || clear_i) three_valid_q <= 1'b0;
    else if (move) three_valid_q <= two_valid_q;
  end

  // The word. Behind the last one nothing follows.
  logic is_last, is_corrupt, has_numbers;
  logic [7:0][31:0] word_index_q;
  logic [3:0] word_count_q;
  logic word_last_q, word_corrupt_q;
  assign is_corrupt = three_short_q || three_kind_q == TOKEN_END;
  assign is_last = three_reached_q || is_corrupt;
  assign has_numbers = three_numbers_q != '0;
  always_ff @(posedge clk_i) begin
    if (move) begin
      word_index_q <= three_index_q;
      word_count_q <= is_corrupt ? '0 : three_numbers_q;
      word_last_q <= is_last;
      word_corrupt_q <= is_corrupt;
    end
    if (!rst_ni || clear_i) begin
      word_valid_q <= 1'b0;
      done_q <= 1'b0;
    end else if (move) begin
      word_valid_q <= three_valid_q && !done_q && (is_last || has_numbers);
      done_q <= done_q || (three_valid_q && is_last);
    end
  end
  assign word_valid_o = word_valid_q;
  assign word_index_o = word_index_q;
  assign word_count_o = word_count_q;
  assign word_last_o = word_last_q;
  assign word_corrupt_o = word_corrupt_q;
  assign done_o = done_q;

  // A product of three bits, which is not worth a DSP.
  function automatic logic [8:0] bits_of(input logic [2:0] numbers, input logic [5:0] bits);
    bits_of = (numbers[0] ? {3'b0, bits} : '0) + (numbers[1] ? {2'b0, bits, 1'b0} : '0) +
              (numbers[2] ? {1'b0, bits, 2'b0} : '0);
  endfunction

`ifndef SYNTHESIS
  logic was_waiting_q;
  logic [7:0][31:0] was_index_q;
  always_ff @(posedge clk_i) begin
    was_waiting_q <= rst_ni && !clear_i && word_valid_q && !word_ready_i;
    was_index_q <= word_index_q;
    if (rst_ni && was_waiting_q) begin
      assert (word_valid_q) else $error("a word was withdrawn");
      assert (word_index_q == was_index_q) else $error("a word changed while it waited");
    end
  end
`endif
endmodule
