// SPDX-License-Identifier: Apache-2.0
// Finds the elements of a Snappy page: one step a cycle.
//
// A step is an element and, where that is a literal of up to eight bytes, the copy behind it; or
// eight bytes of a longer literal; or what is left of one, and the copy behind it. This module says
// where a step is in the words of the page. What its bytes mean, snappy_headers finds out; whether
// they are right, the stages behind that.
//
// Words move through six places. On the way there is worked out for each byte where the step ends
// that would begin there: what kind of byte stands behind a literal that began there (from place 2
// to 3), then the end (from place 3 to 4). So the loop from step to step only looks up the end of
// its own step, which is where the next one begins.
//
// Throughput: a step a cycle, and a word a cycle; a word without the beginning of a step takes a
// cycle too, and so do the size in front of a page and its end. Latency: 8 cycles from a word to
// its first step. Reset: forgets all words.
//
// Parameters: ROOM, steps that may be on their way behind this module.
//
// Invariants: words move together, so that those of a page stay neighbours; an empty place only
// ever follows the last word of a page. There is one `begins` and one `ends` for each page.
module snappy_parser #(
  parameter int unsigned ROOM = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // The words of pages: all have eight bytes but the last of each.
  input  logic         word_valid_i,
  output logic         word_ready_o,
  input  logic [63:0]  word_data_i,
  input  logic [3:0]   word_count_i,
  input  logic         word_last_i,
  // For each page the bytes it becomes, and whether it is stored in none and becomes none.
  input  logic         page_valid_i,
  output logic         page_ready_o,
  input  logic [31:0]  page_whole_i,
  input  logic         page_is_empty_i,
  // That no page is to come in the chunk.
  input  logic         page_is_last_i,
  // A step has left the stages behind.
  input  logic         done_i,
  // A step: the words from where it begins; its first byte; bytes to its end.
  output logic         step_o,
  output logic [167:0] window_o,
  output logic [2:0]   at_o,
  output logic [4:0]   end_o,
  // What it is: the size of a page, the end of a page, both of these for the end of the chunk;
  // eight bytes of a literal, the rest of one up to `rest_end_o`; if none of these, an element.
  output logic         begins_o,
  output logic         ends_o,
  output logic         is_whole_o,
  output logic         is_rest_o,
  output logic [3:0]   rest_end_o,
  // Whether there is a copy behind its literal.
  output logic         pairs_o,
  // Bytes of the page from the beginning of the window on, 31 for all that there could be.
  output logic [4:0]   held_o,
  // At the end of a page: whether it came in the middle of an element.
  output logic         is_cut_o,
  output logic [31:0]  whole_o,
  output logic         is_empty_o
);
  localparam int unsigned ROOM_BITS = $clog2(ROOM) + 1;

  // The places of words, the newest in place 0. Places 4 and 5 have the tables of their bytes.
  logic [5:0] valid_q, last_q;
  logic [5:0][63:0] data_q;
  logic [5:0][3:0] count_q;
  // Which bytes there are, and the kind of each: 1 to 3 for a copy, 0 for a literal or nothing.
  logic [5:0][7:0] there_q;
  logic [5:1][15:0] kind_q;
  // The kind behind a short literal that begins at a byte.
  logic [5:3][15:0] pair_q;
  // The end of a step that begins at a byte; whether a literal goes on behind it; whether the size
  // of that stands in bytes of its own; where in a word that literal ends.
  logic [5:4][4:0][7:0] end_q;
  logic [5:3][7:0] goes_on_q, is_long_q;
  logic [5:4][31:0] rest_q;
  logic [5:4][7:0] is_beyond_q;

  // Bytes of a copy's tag and distance.
  function automatic logic [2:0] header_bytes(input logic [1:0] kind);
    unique case (kind)
      2'd0: header_bytes = 3'd0;
      2'd1: header_bytes = 3'd2;
      2'd2: header_bytes = 3'd3;
      default: header_bytes = 3'd5;
    endcase
  endfunction

  // A sum of small numbers as plain logic, which is less deep than a chain of carries.
  function automatic logic [4:0] sum_of(input logic [4:0] a, input logic [4:0] b,
                                        input logic [4:0] c);
    logic [4:0] partial, carries;
    logic carry;
    partial = a ^ b ^ c;
    carries = {(a[3:0] & b[3:0]) | (a[3:0] & c[3:0]) | (b[3:0] & c[3:0]), 1'b0};
    carry = 1'b0;
    for (int i = 0; i < 5; i++) begin
      sum_of[i] = partial[i] ^ carries[i] ^ carry;
      carry = (partial[i] & carries[i]) | (partial[i] & carry) | (carries[i] & carry);
    end
  endfunction

  // The word that comes next.
  logic shift, can_shift, word_valid, word_last;
  logic [63:0] word_data;
  logic [3:0] word_count;
  skid_buffer #(.WIDTH(69)) i_next (
    .clk_i,
    .rst_ni,
    .valid_i(word_valid_i),
    .ready_o(word_ready_o),
    .data_i({word_last_i, word_count_i, word_data_i}),
    .valid_o(word_valid),
    .ready_i(shift),
    .data_o({word_last, word_count, word_data})
  );
  assign can_shift = word_valid || !valid_q[0] || last_q[0];

  // The bytes from place 3 on, of which the first are no part of a literal's length.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [95:0] ahead_3;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [15:0] length_bytes_q;
  assign ahead_3 = {data_q[2][31:0], data_q[3]};

  // Place 1 to 2: kinds. Place 2 to 3: the kind behind a literal, which begins up to nine bytes on.
  logic [7:0] there_in;
  logic [15:0] kind_0, pair_2;
  logic there_1, there_0;
  logic [7:0] is_long_2, goes_on_2;
  logic [31:0] bytes_2, bytes_q, rest_3;
  logic [15:0] length_bytes_2;
  logic [23:0] begin_2, begin_q, over_2, over_q;
  logic [4:0][7:0] end_3;
  logic [7:0] is_beyond_3;
  assign there_1 = !last_q[2];
  assign there_0 = !last_q[2] && !last_q[1];
  for (genvar i = 0; i < 8; i++) begin : gen_byte
    assign there_in[i] = 4'(i) < word_count;
    assign kind_0[2*i +: 2] = there_q[0][i] ? data_q[0][8*i +: 2] : 2'd0;

    // The kinds of the bytes from the second behind this one on.
    logic [15:0] behind;
    for (genvar j = 0; j < 8; j++) begin : gen_behind
      localparam int unsigned AT = i + 2 + j;
      if (AT < 8) begin : gen_own
        assign behind[2*j +: 2] = kind_q[2][2*AT +: 2];
      end else if (AT < 16) begin : gen_next
        assign behind[2*j +: 2] = there_1 ? kind_q[1][2*(AT-8) +: 2] : 2'd0;
      end else begin : gen_second
        assign behind[2*j +: 2] = there_0 ? kind_0[2*(AT-16) +: 2] : 2'd0;
      end
    end
    assign pair_2[2*i +: 2] = data_q[2][8*i+5 +: 3] == 3'd0 && data_q[2][8*i +: 2] == 2'd0
                                ? behind[2*data_q[2][8*i+2 +: 3] +: 2] : 2'd0;

    // What the byte as a tag says by itself: bytes to the end of the step; whether its literal goes
    // on behind that; where the rest of that begins, and how much is left over of eight bytes.
    logic [7:0] tag;
    logic [1:0] kind;
    logic [2:0] extra, low_of_next;
    assign tag = data_q[2][8*i +: 8];
    assign kind = tag[1:0];
    if (i < 7) begin : gen_next_byte
      assign low_of_next = data_q[2][8*(i+1) +: 3];
    end else begin : gen_byte_of_next
      assign low_of_next = data_q[1][2:0];
    end
    // Bytes of a long literal's length, one less.
    assign is_long_2[i] = kind == 2'd0 && tag[7:4] == 4'hf;
    assign goes_on_2[i] = kind == 2'd0 && tag[7:5] != 3'd0;
    assign extra = is_long_2[i] ? {1'b0, tag[3:2]} + 3'd1 : 3'd0;
    always_comb begin
      if (kind != 2'd0) bytes_2[4*i +: 4] = {1'b0, header_bytes(kind)};
      else if (is_long_2[i]) bytes_2[4*i +: 4] = {1'b0, extra} + 4'd1;
      else if (goes_on_2[i]) bytes_2[4*i +: 4] = 4'd9;
      else bytes_2[4*i +: 4] = {1'b0, tag[4:2]} + 4'd2;
    end
    assign length_bytes_2[2*i +: 2] = tag[3:2];
    assign begin_2[3*i +: 3] = 3'(i + 1) + extra;
    assign over_2[3*i +: 3] = is_long_2[i] ? low_of_next : tag[4:2];

    // Place 3 to 4: ends.
    logic [4:0] sum;
    assign sum = sum_of(5'(i), {1'b0, bytes_q[4*i +: 4]},
                        {2'd0, header_bytes(pair_q[3][2*i +: 2])});
    for (genvar j = 0; j < 5; j++) begin : gen_bit
      assign end_3[j][i] = sum[j];
    end
    // Whether a length that stands in bytes of its own is 2048 or more.
    assign is_beyond_3[i] = (length_bytes_q[2*i +: 2] != 2'd0 && ahead_3[8*(i+2)+3 +: 5] != 5'd0) ||
                            (length_bytes_q[2*i+1] && ahead_3[8*(i+3) +: 8] != 8'd0) ||
                            (length_bytes_q[2*i +: 2] == 2'd3 && ahead_3[8*(i+4) +: 8] != 8'd0);
    assign rest_3[4*i +: 4] = 4'(sum_of({2'd0, begin_q[3*i +: 3]}, {2'd0, over_q[3*i +: 3]}, 5'd1));
  end

  always_ff @(posedge clk_i) begin
    if (shift) begin
      data_q <= {data_q[4:0], word_data};
      count_q <= {count_q[4:0], word_count};
      last_q <= {last_q[4:0], word_last};
      there_q <= {there_q[4:0], there_in};
      kind_q <= {kind_q[4:1], kind_0};
      pair_q <= {pair_q[4:3], pair_2};
      end_q <= {end_q[4], end_3};
      goes_on_q <= {goes_on_q[4:3], goes_on_2};
      is_long_q <= {is_long_q[4:3], is_long_2};
      bytes_q <= bytes_2;
      begin_q <= begin_2;
      over_q <= over_2;
      length_bytes_q <= length_bytes_2;
      is_beyond_q <= {is_beyond_q[4], is_beyond_3};
      rest_q <= {rest_q[4], rest_3};
    end
    if (!rst_ni) valid_q <= '0;
    else if (shift) valid_q <= {valid_q[4:0], word_valid};
  end

  // The loop. The words of a long literal that are still to come are counted in two parts: the
  // upper one follows a cycle behind, and is not needed before 256 words have passed.
  typedef enum logic [1:0] {SIZE, ELEMENTS, LITERAL, SKIPPING} state_e;
  state_e state_q;
  logic [3:0] at_q, at_d;
  logic [3:0] rest_end_q;
  logic [7:0] words_low_q;
  logic [20:0] words_high_q;
  logic words_beyond_q, borrow_q;
  // Whether there are any.
  logic is_more_q;

  logic can_step, at_end, jumps, in_element, in_literal, is_whole, is_rest, is_last;
  logic room_q;
  logic [2:0] at;
  assign at = at_q[2:0];
  assign is_last = last_q[5];
  assign can_step = valid_q[5] && can_shift && room_q;
  assign at_end = is_last && (at_q[3] || !there_q[5][at]);
  assign jumps = at_q[3];
  assign in_element = state_q == ELEMENTS;
  assign in_literal = state_q == LITERAL;
  assign is_whole = in_literal && is_more_q;
  assign is_rest = in_literal && !is_more_q;

  // The ends of the steps that there may be.
  logic [31:0] kinds;
  logic [1:0] kind_behind;
  logic [4:0] end_of_element, end_of_rest, step_end;
  assign kinds = {is_last ? 16'd0 : kind_q[4], kind_q[5]};
  assign kind_behind = kinds[2*rest_end_q +: 2];
  assign end_of_element = {end_q[5][4][at], end_q[5][3][at], end_q[5][2][at], end_q[5][1][at],
                           end_q[5][0][at]};
  assign end_of_rest = sum_of({1'b0, rest_end_q}, {2'd0, header_bytes(kind_behind)}, 5'd0);
  always_comb begin
    if (in_element) step_end = end_of_element;
    else if (is_whole) step_end = {2'b01, at};
    else step_end = end_of_rest;
  end

  // The size in front of a page has up to five bytes.
  logic [2:0] size_bytes;
  always_comb begin
    if (!data_q[5][7]) size_bytes = 3'd1;
    else if (!data_q[5][15]) size_bytes = 3'd2;
    else if (!data_q[5][23]) size_bytes = 3'd3;
    else if (!data_q[5][31]) size_bytes = 3'd4;
    else size_bytes = 3'd5;
  end

  logic begins, ends, closes, steps, moves_on;
  assign begins = can_step && state_q == SIZE && page_valid_i && !page_is_last_i;
  assign closes = room_q && state_q == SIZE && page_valid_i && page_is_last_i;
  assign ends = can_step && ((state_q == SKIPPING && is_last) ||
                             ((in_element || in_literal) && at_end));
  assign steps = can_step && (in_element || in_literal) && !at_end && !jumps;
  // Whether the step goes beyond its word, as all whole words of a literal do.
  logic crosses;
  always_comb begin
    if (in_element) crosses = end_q[5][4][at] || end_q[5][3][at];
    else crosses = is_more_q || end_of_rest[4] || end_of_rest[3];
  end
  assign moves_on = can_step && (state_q == SKIPPING ||
                                 (state_q != SIZE && (is_last ? at_end : jumps || crosses)));
  assign shift = can_shift && (!valid_q[5] || moves_on);
  assign page_ready_o = begins || closes;

  always_comb begin
    if (state_q == SIZE) at_d = {1'b0, size_bytes};
    else if (jumps) at_d = {1'b0, at};
    else if (!is_last) at_d = {step_end[4], step_end[2:0]};
    else at_d = {step_end[4] || step_end[3], step_end[2:0] | {3{step_end[4]}}};
  end

  // The length of a literal, of one in bytes of its own the number there.
  logic [95:0] ahead;
  // What is left over of eight bytes is looked up with the step's end.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [31:0] number, masked;
  logic [7:0] tag_here;
  /* verilator lint_on UNUSEDSIGNAL */
  assign ahead = {data_q[4][31:0], data_q[5]};
  assign number = ahead[8*(at + 4'd1) +: 32];
  assign tag_here = data_q[5][8*at +: 8];
  assign masked = {tag_here[3:2] == 2'd3 ? number[31:24] : 8'd0,
                   tag_here[3] ? number[23:16] : 8'd0,
                   tag_here[3:2] != 2'd0 ? number[15:8] : 8'd0, number[7:0]};

  // Steps behind this module.
  logic [ROOM_BITS-1:0] behind_q, behind_d;
  logic step_q;
  assign behind_d = behind_q + ROOM_BITS'(step_q) - ROOM_BITS'(done_i);

  always_ff @(posedge clk_i) begin
    if (steps && in_element) begin
      rest_end_q <= rest_q[5][4*at +: 4];
      words_low_q <= is_long_q[5][at] ? masked[10:3] : {5'd0, tag_here[7:5] - 3'd1};
      words_high_q <= masked[31:11];
      words_beyond_q <= is_long_q[5][at] && is_beyond_q[5][at];
      is_more_q <= is_long_q[5][at] ? masked[10:3] != 8'd0 || is_beyond_q[5][at]
                                    : tag_here[7:5] != 3'd1;
      borrow_q <= 1'b0;
    end else begin
      borrow_q <= steps && is_whole && words_low_q == 8'd0;
      if (steps && is_whole) begin
        words_low_q <= words_low_q - 8'd1;
        is_more_q <= words_low_q != 8'd1 || words_beyond_q;
      end
      if (borrow_q) words_high_q <= words_high_q - 21'd1;
      // Until then it says what it said when the words were counted down to none.
      if (words_low_q == 8'd128) words_beyond_q <= words_high_q != '0;
    end
    if (begins || steps || (can_step && jumps)) at_q <= at_d;
    if (!rst_ni) begin
      state_q <= SIZE;
      behind_q <= '0;
      room_q <= 1'b0;
    end else begin
      behind_q <= behind_d;
      // One more may be in this cycle's registers.
      room_q <= behind_d < ROOM_BITS'(ROOM - 1);
      if (begins) state_q <= page_is_empty_i ? SKIPPING : ELEMENTS;
      else if (ends) state_q <= SIZE;
      else if (steps && in_element && goes_on_q[5][at]) state_q <= LITERAL;
      else if (steps && is_rest) state_q <= ELEMENTS;
    end
  end

  // The step, in registers.
  always_ff @(posedge clk_i) begin
    step_q <= rst_ni && (begins || ends || closes || steps);
    window_o <= {data_q[3][39:0], data_q[4], data_q[5]};
    at_o <= at;
    end_o <= begins ? {2'd0, size_bytes} : step_end;
    begins_o <= begins || closes;
    ends_o <= ends || closes;
    is_whole_o <= is_whole;
    is_rest_o <= is_rest;
    rest_end_o <= rest_end_q;
    pairs_o <= is_rest ? kind_behind != 2'd0 : pair_q[5][2*at +: 2] != 2'd0;
    if (is_last) held_o <= {1'b0, count_q[5]};
    else if (last_q[4]) held_o <= 5'd8 + {1'b0, count_q[4]};
    else if (last_q[3]) held_o <= 5'd16 + {1'b0, count_q[3]};
    else held_o <= 5'd31;
    is_cut_o <= state_q != SKIPPING && (in_literal || at_q != count_q[5]);
    whole_o <= page_whole_i;
    is_empty_o <= page_is_empty_i;
  end
  assign step_o = step_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int place = 1; place < 6; place++) begin
        assert (!valid_q[place] || last_q[place] || valid_q[place-1])
          else $error("the words of a page are no neighbours");
      end
      assert (behind_q <= ROOM_BITS'(ROOM)) else $error("too many steps");
    end
  end
`endif
endmodule
