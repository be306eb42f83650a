// SPDX-License-Identifier: Apache-2.0
// Decompresses pages of raw Snappy: up to eight bytes a cycle in, and eight out.
//
// In a cycle it takes a literal of up to eight bytes and the copy behind it, of which it writes
// eight bytes in that cycle; the rest of a longer copy and the rest of a longer literal take a
// cycle for each eight bytes. A page that is one literal passes at eight bytes a cycle. It does
// not read page headers, and passes no levels on: those stand before what it is given.
//
// A page ends with a token marked so, which has what is left of a word and says how the page went:
// well; corrupt, if its size is not the one it was said to have, if an element ends behind the
// page, or a copy comes from before it; or too far, if a copy comes from more than 64 KiB back.
// Of a page that failed, some words may have been passed on; the rest is read and dropped.
//
// Throughput: see above. Latency: some 35 cycles from a token to its bytes; the pages behind each
// other overlap. Reset: forgets everything but the history, which no page reads before it wrote it.
//
// Parameters: WORDS, words in the FIFO in front; PIECES, pieces in the FIFO between the stages that
// read the input and those that write the output, which each have cycles that the other has not.
//
// Invariants: all tokens but the one that ends a page have eight bytes, and there is one that ends
// each page that came.
module snappy_decoder #(
  parameter int unsigned WORDS = 16,
  parameter int unsigned PIECES = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Pages: the bytes that each is stored in, and that it becomes. One marked `last` is no page, but
  // ends the chunk.
  input  logic        pages_valid_i,
  output logic        pages_ready_o,
  input  logic [31:0] pages_stored_i,
  input  logic [31:0] pages_whole_i,
  input  logic        pages_last_i,
  // Tokens of up to eight bytes; one marked `ends` ends a page.
  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  input  logic [3:0]  in_count_i,
  input  logic        in_ends_i,
  // The same, decompressed. With the token that ends a page, whether the page is corrupt or reaches
  // back too far. The one marked `last` is empty, and ends the chunk; its data is the cycles from
  // the chunk's first page on, 0 without a page.
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o,
  output logic [3:0]  out_count_o,
  output logic        out_ends_o,
  output logic        out_is_corrupt_o,
  output logic        out_is_too_far_o,
  output logic        out_last_o
);
  // The pages that are to come.
  logic page_valid, page_ready, page_is_empty, page_is_last;
  logic [31:0] page_whole;
  fifo #(.WIDTH(34), .DEPTH(2)) i_pages (
    .clk_i,
    .rst_ni,
    .valid_i(pages_valid_i),
    .ready_o(pages_ready_o),
    .data_i({pages_last_i, pages_stored_i == 32'd0 && pages_whole_i == 32'd0, pages_whole_i}),
    .valid_o(page_valid),
    .ready_i(page_ready),
    .data_o({page_is_last, page_is_empty, page_whole})
  );

  logic word_valid, word_ready, word_last;
  logic [63:0] word_data;
  logic [3:0] word_count;
  snappy_words #(.DEPTH(WORDS)) i_words (
    .clk_i,
    .rst_ni,
    .valid_i(in_valid_i),
    .ready_o(in_ready_o),
    .data_i(in_data_i),
    .count_i(in_count_i),
    .last_i(in_ends_i),
    .valid_o(word_valid),
    .ready_i(word_ready),
    .data_o(word_data),
    .count_o(word_count),
    .last_o(word_last)
  );

  logic step, step_begins, step_ends, step_is_whole, step_is_rest, step_pairs, step_is_cut;
  logic step_is_empty;
  logic [167:0] window;
  logic [2:0] step_at;
  logic [4:0] step_end, step_held;
  logic [3:0] step_rest_end;
  logic [31:0] step_whole;
  logic piece_taken;
  snappy_parser #(.ROOM(PIECES)) i_parser (
    .clk_i,
    .rst_ni,
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .word_data_i(word_data),
    .word_count_i(word_count),
    .word_last_i(word_last),
    .page_valid_i(page_valid),
    .page_ready_o(page_ready),
    .page_whole_i(page_whole),
    .page_is_empty_i(page_is_empty),
    .page_is_last_i(page_is_last),
    .done_i(piece_taken),
    .step_o(step),
    .window_o(window),
    .at_o(step_at),
    .end_o(step_end),
    .begins_o(step_begins),
    .ends_o(step_ends),
    .is_whole_o(step_is_whole),
    .is_rest_o(step_is_rest),
    .rest_end_o(step_rest_end),
    .pairs_o(step_pairs),
    .held_o(step_held),
    .is_cut_o(step_is_cut),
    .whole_o(step_whole),
    .is_empty_o(step_is_empty)
  );

  typedef struct packed {
    logic begins;
    logic ends;
    logic is_bad;
    logic [63:0] literal;
    logic [3:0] literal_bytes;
    logic copies;
    logic [5:0] copy_rest;
    logic [31:0] distance;
  } piece_t;
  localparam int unsigned PIECE_BITS = 110;
  piece_t piece_in, piece;
  logic piece_in_valid, piece_in_ready, piece_valid, piece_ready;
  snappy_headers i_headers (
    .clk_i,
    .rst_ni,
    .step_i(step),
    .window_i(window),
    .at_i(step_at),
    .end_i(step_end),
    .begins_i(step_begins),
    .ends_i(step_ends),
    .is_whole_i(step_is_whole),
    .is_rest_i(step_is_rest),
    .rest_end_i(step_rest_end),
    .pairs_i(step_pairs),
    .held_i(step_held),
    .is_cut_i(step_is_cut),
    .whole_i(step_whole),
    .is_empty_i(step_is_empty),
    .piece_o(piece_in_valid),
    .begins_o(piece_in.begins),
    .ends_o(piece_in.ends),
    .is_bad_o(piece_in.is_bad),
    .literal_o(piece_in.literal),
    .literal_bytes_o(piece_in.literal_bytes),
    .copies_o(piece_in.copies),
    .copy_rest_o(piece_in.copy_rest),
    .distance_o(piece_in.distance)
  );
  // The parser lets no more steps go than this has room for.
  fifo #(.WIDTH(PIECE_BITS), .DEPTH(PIECES)) i_pieces (
    .clk_i,
    .rst_ni,
    .valid_i(piece_in_valid),
    .ready_o(piece_in_ready),
    .data_i(piece_in),
    .valid_o(piece_valid),
    .ready_i(piece_ready),
    .data_o(piece)
  );
  assign piece_taken = piece_valid && piece_ready;

  logic room, part, part_ends, part_closes, part_repeats, part_is_far;
  logic part_is_corrupt, part_is_too_far;
  logic [15:0] part_at, part_from;
  logic [63:0] part_literal;
  logic [3:0] part_literal_bytes;
  logic [4:0] part_bytes, part_back;
  logic [2:0] part_period;
  snappy_sequencer i_sequencer (
    .clk_i,
    .rst_ni,
    .room_i(room),
    .piece_valid_i(piece_valid),
    .piece_ready_o(piece_ready),
    .begins_i(piece.begins),
    .ends_i(piece.ends),
    .is_bad_i(piece.is_bad),
    .literal_i(piece.literal),
    .literal_bytes_i(piece.literal_bytes),
    .copies_i(piece.copies),
    .copy_rest_i(piece.copy_rest),
    .distance_i(piece.distance),
    .part_o(part),
    .ends_o(part_ends),
    .closes_o(part_closes),
    .at_o(part_at),
    .literal_o(part_literal),
    .literal_bytes_o(part_literal_bytes),
    .bytes_o(part_bytes),
    .from_o(part_from),
    .back_o(part_back),
    .period_o(part_period),
    .repeats_o(part_repeats),
    .is_far_o(part_is_far),
    .is_corrupt_o(part_is_corrupt),
    .is_too_far_o(part_is_too_far)
  );

  logic [1:0] words;
  logic [63:0] first, second;
  logic ends, closes, is_corrupt, is_too_far;
  logic [2:0] rest;
  snappy_history i_history (
    .clk_i,
    .rst_ni,
    .part_i(part),
    .ends_i(part_ends),
    .closes_i(part_closes),
    .at_i(part_at),
    .literal_i(part_literal),
    .literal_bytes_i(part_literal_bytes),
    .bytes_i(part_bytes),
    .from_i(part_from),
    .back_i(part_back),
    .period_i(part_period),
    .repeats_i(part_repeats),
    .is_far_i(part_is_far),
    .is_corrupt_i(part_is_corrupt),
    .is_too_far_i(part_is_too_far),
    .words_o(words),
    .first_o(first),
    .second_o(second),
    .ends_o(ends),
    .closes_o(closes),
    .rest_o(rest),
    .is_corrupt_o(is_corrupt),
    .is_too_far_o(is_too_far)
  );

  snappy_output i_output (
    .clk_i,
    .rst_ni,
    .room_o(room),
    .page_i(pages_valid_i && pages_ready_o && !pages_last_i),
    .words_i(words),
    .first_i(first),
    .second_i(second),
    .ends_i(ends),
    .closes_i(closes),
    .rest_i(rest),
    .is_corrupt_i(is_corrupt),
    .is_too_far_i(is_too_far),
    .valid_o(out_valid_o),
    .ready_i(out_ready_i),
    .data_o(out_data_o),
    .count_o(out_count_o),
    .ends_o(out_ends_o),
    .is_corrupt_o(out_is_corrupt_o),
    .is_too_far_o(out_is_too_far_o),
    .last_o(out_last_o)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (!piece_in_valid || piece_in_ready) else $error("a piece without room");
  end
`else
  logic unused_ready;
  assign unused_ready = piece_in_ready;
`endif
endmodule
