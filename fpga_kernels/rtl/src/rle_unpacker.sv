// SPDX-License-Identifier: Apache-2.0
// Unpacks the indexes of a page: Parquet's hybrid of repeated runs and bit-packed groups.
//
// A run of the module is a page, behind the byte that says how wide the numbers are. It takes
// tokens of up to eight bytes and gives words of up to eight numbers, as many as the page has
// values. What the page has behind them is passed by. A page that ends before, or has a header
// longer than five bytes in front of a number that is wanted, is corrupt: its last word says so,
// and the numbers before that are what could be read in whole shares of a group.
//
// Throughput: up to 8 numbers a cycle of 8 bits or fewer and of repeated ones, 4 of up to 16, 2 of
// up to 32. Headers take no cycle of their own, but for those of groups of 8, 16 and 32 bits, which
// take one, and those of groups in more than one byte, of 64 groups and more, which take two.
// Latency: some 25 cycles. Reset: forgets the page; it takes nothing for a few cycles.
//
// Cycles of a run: models/rle_unpacker_cycles.hpp.
//
// Invariants: `width_i` and `values_i` hold still from the first token of a page to its last word.
// No token of the next page is taken before that word was.
module rle_unpacker (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Bits of a number, at most 32; more make a corrupt page. Numbers that are wanted.
  input  logic [5:0]  width_i,
  input  logic [31:0] values_i,
  input  logic        bytes_valid_i,
  output logic        bytes_ready_o,
  input  logic [63:0] bytes_data_i,
  input  logic [3:0]  bytes_count_i,
  input  logic        bytes_last_i,
  output logic             words_valid_o,
  input  logic             words_ready_i,
  output logic [7:0][31:0] words_index_o,
  output logic [3:0]       words_count_o,
  output logic             words_corrupt_o,
  output logic             words_last_o
);
  typedef enum logic [2:0] {IDLE, SETTING, STARTING, RUNNING, ENDING} state_e;
  state_e state_q;
  logic start_q, clear_q, running_q;
  logic done, drained, word_waits;

  always_ff @(posedge clk_i) begin
    start_q <= state_q == SETTING && rst_ni;
    clear_q <= !rst_ni || state_q == ENDING;
    running_q <= rst_ni && (state_q == STARTING || (state_q == RUNNING && !(done && drained)));
    if (!rst_ni) begin
      state_q <= ENDING;
    end else begin
      unique case (state_q)
        IDLE: if (bytes_valid_i && !clear_q) state_q <= SETTING;
        SETTING: state_q <= STARTING;
        STARTING: state_q <= RUNNING;
        RUNNING: if (done && drained && !word_waits) state_q <= ENDING;
        default: state_q <= IDLE;
      endcase
    end
  end

  // What follows from the width. A group of eight numbers has as many bytes as a number has bits.
  logic [5:0] width;
  logic [3:0][3:0] share_bytes_q;
  logic [3:0][1:0] share_offset_q;
  logic [1:0] last_share_q;
  logic [3:0] share_numbers_q;
  logic [2:0] value_bytes_q;
  logic [31:0] mask_q;
  logic [7:0][5:0] number_first_q;
  logic is_refused_q;
  // Where the quarters of a group begin, in pairs of bits.
  logic [7:0] quarter_1, quarter_2, quarter_3;
  assign width = width_i;
  assign quarter_1 = {2'b0, width};
  assign quarter_2 = {1'b0, width, 1'b0};
  assign quarter_3 = {2'b0, width} + {1'b0, width, 1'b0};
  always_ff @(posedge clk_i) begin
    is_refused_q <= width > 6'd32;
    value_bytes_q <= 3'((width + 6'd7) >> 3);
    for (int i = 0; i < 32; i++) mask_q[i] <= 6'(i) < width;
    for (int i = 0; i < 8; i++) number_first_q[i] <= 6'(i * 32'(width));
    share_offset_q <= '0;
    if (width <= 6'd8) begin
      last_share_q <= 2'd0;
      share_numbers_q <= 4'd8;
      share_bytes_q <= {12'b0, width[3:0]};
    end else if (width <= 6'd16) begin
      last_share_q <= 2'd1;
      share_numbers_q <= 4'd4;
      share_bytes_q <= {8'b0, 4'(width - (width >> 1)), width[4:1]};
      share_offset_q[1] <= {width[0], 1'b0};
    end else begin
      last_share_q <= 2'd3;
      share_numbers_q <= 4'd2;
      share_bytes_q <= {4'(width - quarter_3[7:2]), 4'(quarter_3[7:2] - quarter_2[7:2]),
                        4'(quarter_2[7:2] - quarter_1[7:2]), quarter_1[5:2]};
      share_offset_q <= {quarter_3[1:0], quarter_2[1:0], quarter_1[1:0], 2'b0};
    end
  end

  logic packer_ready;
  logic word_valid, word_ready, word_last;
  logic [63:0] word_data;
  logic [3:0] word_count;
  assign bytes_ready_o = running_q && packer_ready;
  byte_packer i_packer (
    .clk_i,
    .rst_ni,
    .clear_i(clear_q),
    .bytes_valid_i(bytes_valid_i && running_q),
    .bytes_ready_o(packer_ready),
    .bytes_data_i,
    .bytes_count_i,
    .bytes_last_i,
    .word_valid_o(word_valid),
    .word_ready_i(word_ready),
    .word_data_o(word_data),
    .word_count_o(word_count),
    .word_last_o(word_last)
  );

  logic token_valid, token_ready;
  logic [1:0] token_kind, token_share;
  logic [3:0] token_bytes;
  logic [71:0] token_data;
  rle_parser i_parser (
    .clk_i,
    .rst_ni,
    .clear_i(clear_q),
    .start_i(start_q),
    .share_bytes_i(share_bytes_q),
    .last_share_i(last_share_q),
    .value_bytes_i(value_bytes_q),
    .is_refused_i(is_refused_q),
    .drain_i(done),
    .drained_o(drained),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .word_data_i(word_data),
    .word_count_i(word_count),
    .word_last_i(word_last),
    .token_valid_o(token_valid),
    .token_ready_i(token_ready),
    .token_kind_o(token_kind),
    .token_data_o(token_data),
    .token_share_o(token_share),
    .token_bytes_o(token_bytes)
  );

  logic words_valid;
  rle_expander i_expander (
    .clk_i,
    .rst_ni,
    .clear_i(clear_q),
    .start_i(start_q),
    .width_i(width),
    .mask_i(mask_q),
    .share_numbers_i(share_numbers_q),
    .share_offset_i(share_offset_q),
    .number_first_i(number_first_q),
    .values_i,
    .token_valid_i(token_valid),
    .token_ready_o(token_ready),
    .token_kind_i(token_kind),
    .token_data_i(token_data),
    .token_share_i(token_share),
    .token_bytes_i(token_bytes),
    .word_valid_o(words_valid),
    .word_ready_i(words_ready_i),
    .word_index_o(words_index_o),
    .word_count_o(words_count_o),
    .word_last_o(words_last_o),
    .word_corrupt_o(words_corrupt_o),
    .done_o(done)
  );
  assign words_valid_o = words_valid;
  assign word_waits = words_valid;
endmodule
