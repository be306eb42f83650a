// SPDX-License-Identifier: Apache-2.0
// Finds the runs and the groups in a page of Parquet's hybrid of runs and bit-packed groups.
//
// It takes whole words and gives a token for each repeated run, and for each share of a group of
// eight numbers that is unpacked in a cycle: all of it up to 8 bits wide, a half up to 16, a
// quarter up to 32. It does not unpack, and does not know how many numbers the page has: behind
// them it finds what it finds, until it is told to drain.
//
// Each byte may be where a header begins, so the length of a header at each byte of a word is found
// before the word is looked at. What is left in the loop from byte to byte is a choice among eight
// lengths and a sum of four bits. A header of one byte goes together with what follows it, so it
// takes no cycle of its own, unless both are more than a word: numbers of 8, 16 and 32 bits. A
// longer header of groups, which is of 64 groups or more, takes two cycles.
//
// Throughput: a token and up to 8 bytes a cycle. Latency: 6 cycles. Reset: forgets the page.
//
// Invariants: no word is taken without being passed by; after the last word come zeros. Where the
// page ends inside of what is read, or a header is longer than five bytes, comes one token `END`.
// It has room for a token before it makes one.
module rle_parser (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       clear_i,
  // Of the page, from `start_i` on: bytes of each share of a group, how many shares there are less
  // one, and bytes of a repeated number.
  input  logic            start_i,
  input  logic [3:0][3:0] share_bytes_i,
  input  logic [1:0]      last_share_i,
  input  logic [2:0]      value_bytes_i,
  input  logic            is_refused_i,
  // Nothing more is wanted of the page: the words are passed by. `drained_o` says that all were.
  input  logic drain_i,
  output logic drained_o,
  // Whole words of the page.
  input  logic        word_valid_i,
  output logic        word_ready_o,
  input  logic [63:0] word_data_i,
  input  logic [3:0]  word_count_i,
  input  logic        word_last_i,
  // Tokens: of a run the number and how often it is there, of a share nine bytes and how many of
  // them are in the page.
  output logic        token_valid_o,
  input  logic        token_ready_i,
  output logic [1:0]  token_kind_o,
  output logic [71:0] token_data_o,
  output logic [1:0]  token_share_o,
  output logic [3:0]  token_bytes_o
);
  localparam logic [1:0] TOKEN_SHARE = 2'd0;
  localparam logic [1:0] TOKEN_RUN = 2'd1;
  localparam logic [1:0] TOKEN_END = 2'd2;

  // What stands at a byte, if a header begins there.
  localparam logic [2:0] AT_RUN = 3'd0;
  // Five bytes of header, and the number separately.
  localparam logic [2:0] AT_LONG_RUN = 3'd1;
  localparam logic [2:0] AT_NO_GROUP = 3'd2;
  localparam logic [2:0] AT_GROUP = 3'd3;
  localparam logic [2:0] AT_GROUPS = 3'd4;
  localparam logic [2:0] AT_LONG_GROUPS = 3'd5;
  localparam logic [2:0] AT_NONSENSE = 3'd6;

  // A word is looked at when the one behind it is there, or when there is none.
  localparam int unsigned ROOM = 16;
  localparam int unsigned COUNT_BITS = $clog2(ROOM) + 1;
  logic [63:0] first_data_q;
  logic [3:0] first_count_q;
  logic first_valid_q, first_last_q, space_q;
  logic move_first, word_ready, pop_marked;
  logic [COUNT_BITS-1:0] words_q;
  assign move_first = first_valid_q && space_q && (first_last_q || word_valid_i);
  assign word_ready = !first_valid_q || (move_first && !first_last_q);
  assign word_ready_o = word_ready;
  always_ff @(posedge clk_i) begin
    if (word_ready && word_valid_i) begin
      first_data_q <= word_data_i;
      first_count_q <= word_count_i;
      first_last_q <= word_last_i;
    end
    if (!rst_ni || clear_i) begin
      first_valid_q <= 1'b0;
      space_q <= 1'b0;
      words_q <= '0;
    end else begin
      first_valid_q <= word_ready ? word_valid_i : !(move_first && first_last_q);
      words_q <= pop_marked ? words_q - COUNT_BITS'(!move_first)
                            : words_q + COUNT_BITS'(move_first);
      space_q <= words_q < COUNT_BITS'(ROOM - 1);
    end
  end

  // The word with four bytes of the next, then what may begin at each of its bytes, and where it
  // would go on from there.
  logic seen_valid_q, seen_last_q, marked_valid_q, marked_last_q;
  // Of the next word only what a header needs to know where it ends.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [95:0] seen_data_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [3:0] seen_count_q, marked_count_q;
  logic [63:0] marked_data_q;
  logic [7:0][2:0] marked_kind_q;
  logic [7:0][3:0] marked_next_q;
  always_ff @(posedge clk_i) begin
    seen_data_q <= {first_last_q ? 32'b0 : word_data_i[31:0], first_data_q};
    seen_count_q <= first_count_q;
    seen_last_q <= first_last_q;
    marked_data_q <= seen_data_q[63:0];
    marked_count_q <= seen_count_q;
    marked_last_q <= seen_last_q;
    if (!rst_ni || clear_i) begin
      seen_valid_q <= 1'b0;
      marked_valid_q <= 1'b0;
    end else begin
      seen_valid_q <= move_first;
      marked_valid_q <= seen_valid_q;
    end
  end
  // Whether a header of one byte and the share behind it are at most a word.
  logic is_joined;
  assign is_joined = !share_bytes_i[0][3];
  for (genvar i = 0; i < 8; i++) begin : gen_mark
    logic [4:0] goes_on;
    logic [6:0] head;
    logic [2:0] length;
    assign goes_on = {seen_data_q[8*i+39], seen_data_q[8*i+31], seen_data_q[8*i+23],
                      seen_data_q[8*i+15], seen_data_q[8*i+7]};
    assign head = seen_data_q[8*i +: 7];
    assign length = length_of(goes_on[3:0]);
    always_ff @(posedge clk_i) begin
      marked_next_q[i] <= 4'(i) + {1'b0, length};
      if (&goes_on) begin
        marked_kind_q[i] <= AT_NONSENSE;
      end else if (!head[0]) begin
        marked_kind_q[i] <= length == 3'd5 ? AT_LONG_RUN : AT_RUN;
        if (length != 3'd5) marked_next_q[i] <= 4'(i) + {1'b0, length} + {1'b0, value_bytes_i};
      end else if (goes_on[0]) begin
        marked_kind_q[i] <= AT_LONG_GROUPS;
      end else if (head[6:1] == 6'd0) begin
        marked_kind_q[i] <= AT_NO_GROUP;
      end else begin
        marked_kind_q[i] <= head[6:1] == 6'd1 ? AT_GROUP : AT_GROUPS;
        if (is_joined) marked_next_q[i] <= 4'(i + 1) + share_bytes_i[0];
      end
    end
  end

  // Words that wait to be parsed: the first of them, and behind it the FIFO's.
  logic [63:0] word_q, behind;
  logic [3:0] word_count_q, behind_count;
  logic word_valid_q, word_last_q, behind_valid, behind_last, ended_q;
  logic [7:0][2:0] kind_q, behind_kind;
  logic [7:0][3:0] next_q, behind_next;
  logic marked_ready, advance;
  fifo #(.WIDTH(125), .DEPTH(ROOM)) i_marked (
    .clk_i,
    .rst_ni(rst_ni && !clear_i),
    .valid_i(marked_valid_q),
    .ready_o(marked_ready),
    .data_i({marked_last_q, marked_count_q, marked_data_q, marked_kind_q, marked_next_q}),
    .valid_o(behind_valid),
    .ready_i(advance),
    .data_o({behind_last, behind_count, behind, behind_kind, behind_next})
  );
  assign pop_marked = advance && behind_valid;

  // The loop: where the parser stands in the first word, and what it expects there.
  typedef enum logic [2:0] {IDLE, HEADER, SHARES, COUNTED, NUMBER, STOPPED, REFUSED} state_e;
  state_e state_q, state_d;
  logic [2:0] at_q;
  logic [3:0] at_d;
  logic [1:0] share_q, share_d;
  // Groups of the run that have not begun.
  logic [33:0] further_q, further_d;
  logic room_q, may_step, is_past, is_beyond, step, emit, is_one, is_none;
  logic [2:0] kind_here;
  logic [3:0] next_here;
  logic [38:0] header_here;
  logic [127:0] window;
  assign window = {behind, word_q};
  assign kind_here = kind_q[at_q];
  assign next_here = next_q[at_q];
  assign header_here = window[{1'b0, at_q, 3'b0} +: 39];
  assign is_one = further_q == 34'd1;
  assign is_none = further_q == 34'd0;
  // A word is parsed when the one behind it is there too, unless there is none.
  assign may_step = room_q && (ended_q || (word_valid_q && (word_last_q || behind_valid)));
  assign is_past = ended_q || (word_last_q && {1'b0, at_q} >= word_count_q);
  // Past the end, and not exactly there. Behind the last word that is so if bytes were missing in
  // it, or if more than all of it was passed by.
  logic was_short_q;
  assign is_beyond = ended_q ? was_short_q || at_q != '0
                             : word_last_q && {1'b0, at_q} > word_count_q;

  // What becomes a token; the numbers of these kinds are those of the stages behind.
  localparam logic [2:0] EMIT_SHARE = 3'd0;
  localparam logic [2:0] EMIT_SHARE_BEHIND = 3'd1;
  localparam logic [2:0] EMIT_RUN = 3'd2;
  localparam logic [2:0] EMIT_COUNT = 3'd3;
  localparam logic [2:0] EMIT_NUMBER = 3'd4;
  localparam logic [2:0] EMIT_END = 3'd5;
  logic [2:0] emit_kind;
  // Numbers of no bits take no bytes, so they may stand where the page ends, but not behind that:
  // there the header before them is cut off. `COUNTED` leaves it to the state that follows.
  logic is_wide, ends_here;
  assign is_wide = value_bytes_i != '0;
  always_comb begin
    ends_here = is_past;
    if ((state_q == SHARES || state_q == NUMBER) && !is_wide) ends_here = is_beyond;
    if (state_q == COUNTED) ends_here = 1'b0;
  end

  always_comb begin
    state_d = state_q;
    at_d = {1'b0, at_q};
    share_d = share_q;
    further_d = further_q;
    emit = 1'b0;
    emit_kind = EMIT_SHARE;
    unique case (state_q)
      HEADER: begin
        at_d = next_here;
        further_d = {28'b0, header_here[6:1] - 6'd1};
        share_d = '0;
        unique case (kind_here)
          AT_RUN: begin
            emit = 1'b1;
            emit_kind = EMIT_RUN;
          end
          AT_LONG_RUN: begin
            // The count waits for its number, and makes no token of its own.
            emit_kind = EMIT_COUNT;
            state_d = NUMBER;
          end
          AT_NO_GROUP: ;
          AT_GROUP, AT_GROUPS: begin
            emit = is_joined;
            emit_kind = EMIT_SHARE_BEHIND;
            if (!is_joined) begin
              further_d = {28'b0, header_here[6:1]};
              state_d = SHARES;
            end else if (last_share_i != '0) begin
              share_d = 2'd1;
              state_d = SHARES;
            end else if (kind_here == AT_GROUPS) begin
              state_d = SHARES;
            end
          end
          AT_LONG_GROUPS: begin
            further_d = count_of(header_here);
            state_d = COUNTED;
          end
          default: begin
            emit = 1'b1;
            emit_kind = EMIT_END;
            state_d = STOPPED;
          end
        endcase
      end
      COUNTED: state_d = is_none ? HEADER : SHARES;
      SHARES: begin
        emit = 1'b1;
        at_d = {1'b0, at_q} + share_bytes_i[share_q];
        share_d = share_q + 2'd1;
        if (share_q == '0) further_d = further_q - 34'd1;
        if (share_q == last_share_i) begin
          share_d = '0;
          // The group that ends may have begun in this cycle.
          if (last_share_i == '0 ? is_one : is_none) state_d = HEADER;
        end
      end
      NUMBER: begin
        emit = 1'b1;
        emit_kind = EMIT_NUMBER;
        at_d = {1'b0, at_q} + {1'b0, value_bytes_i};
        state_d = HEADER;
      end
      REFUSED: begin
        emit = 1'b1;
        emit_kind = EMIT_END;
        state_d = STOPPED;
      end
      default: ;
    endcase
    if (ends_here && (state_q == HEADER || state_q == SHARES || state_q == NUMBER)) begin
      emit = 1'b1;
      emit_kind = EMIT_END;
      state_d = STOPPED;
      at_d = {1'b0, at_q};
    end
  end

  assign step = may_step && state_q != IDLE && state_q != STOPPED;
  assign advance = !word_valid_q || (step && at_d[3]) || drain_i;
  assign drained_o = ended_q;

  logic [COUNT_BITS-1:0] tokens_q;
  logic token_taken, issue, pass_on;
  assign issue = step && emit;
  assign pass_on = step && (emit || emit_kind == EMIT_COUNT);
  always_ff @(posedge clk_i) begin
    if (advance) begin
      word_q <= behind;
      word_count_q <= behind_count;
      kind_q <= behind_kind;
      next_q <= behind_next;
    end
    if (advance && word_last_q) was_short_q <= !word_count_q[3];
    if (!rst_ni || clear_i) begin
      state_q <= IDLE;
      at_q <= '0;
      share_q <= '0;
      further_q <= '0;
      word_valid_q <= 1'b0;
      word_last_q <= 1'b0;
      ended_q <= 1'b0;
      tokens_q <= '0;
      room_q <= 1'b0;
    end else begin
      if (advance) begin
        word_valid_q <= behind_valid;
        word_last_q <= behind_valid && behind_last;
      end
      ended_q <= ended_q || (advance && word_last_q);
      if (step) begin
        state_q <= state_d;
        at_q <= at_d[2:0];
        share_q <= share_d;
        further_q <= further_d;
      end
      if (start_i) state_q <= is_refused_i ? REFUSED : HEADER;
      if (drain_i) state_q <= STOPPED;
      tokens_q <= issue ? tokens_q + COUNT_BITS'(!token_taken)
                        : tokens_q - COUNT_BITS'(token_taken);
      room_q <= issue ? tokens_q < COUNT_BITS'(ROOM - 1) : tokens_q < COUNT_BITS'(ROOM);
    end
  end

  // Behind the loop: the nine bytes where the parser stood, and how many of them there are.
  logic one_valid_q, one_last_q, one_behind_last_q, one_ended_q;
  logic [2:0] one_kind_q, one_at_q;
  logic [1:0] one_share_q;
  logic [127:0] one_window_q;
  logic [3:0] one_count_q, one_behind_count_q;
  logic two_valid_q;
  logic [2:0] two_kind_q;
  logic [1:0] two_share_q;
  logic [71:0] two_view_q;
  logic [3:0] two_bytes_q;
  logic [4:0] whole_bytes;
  assign whole_bytes = one_ended_q ? 5'd0 : one_last_q ? {1'b0, one_count_q} :
                       one_behind_last_q ? 5'd8 + {1'b0, one_behind_count_q} : 5'd31;
  always_ff @(posedge clk_i) begin
    one_kind_q <= emit_kind;
    one_at_q <= at_q;
    one_share_q <= state_q == HEADER ? 2'd0 : share_q;
    // Behind the last word stands nothing.
    one_window_q <= {word_last_q ? 64'b0 : behind, word_q};
    one_last_q <= word_last_q;
    one_ended_q <= ended_q;
    one_behind_last_q <= behind_last;
    one_count_q <= word_count_q;
    one_behind_count_q <= behind_count;
    two_kind_q <= one_kind_q;
    two_share_q <= one_share_q;
    two_view_q <= one_window_q[{1'b0, one_at_q, 3'b0} +: 72];
    two_bytes_q <= whole_bytes < {2'b0, one_at_q} ? 4'd0 :
                   whole_bytes - {2'b0, one_at_q} > 5'd15 ? 4'd15 :
                   4'(whole_bytes - {2'b0, one_at_q});
    one_valid_q <= rst_ni && !clear_i && pass_on;
    two_valid_q <= rst_ni && !clear_i && one_valid_q;
  end

  // A run's header and number, or a share without the header before it.
  logic three_valid_q;
  logic [2:0] three_kind_q;
  logic [1:0] three_share_q;
  logic [71:0] three_view_q;
  logic [3:0] three_bytes_q, three_needs_q;
  logic [34:0] three_header_q, header_q;
  logic [31:0] three_number_q;
  logic [2:0] two_length;
  logic [31:0] number_mask;
  assign two_length = length_of({two_view_q[31], two_view_q[23], two_view_q[15], two_view_q[7]});
  assign number_mask = {{8{value_bytes_i > 3'd3}}, {8{value_bytes_i > 3'd2}},
                        {8{value_bytes_i > 3'd1}}, {8{value_bytes_i > 3'd0}}};
  always_ff @(posedge clk_i) begin
    three_kind_q <= two_kind_q;
    three_share_q <= two_share_q;
    three_view_q <= two_kind_q == EMIT_SHARE_BEHIND ? {8'b0, two_view_q[71:8]} : two_view_q;
    three_bytes_q <= two_kind_q == EMIT_SHARE_BEHIND ? two_bytes_q - 4'd1 : two_bytes_q;
    three_header_q <= {1'b0, count_of(two_view_q[38:0])};
    three_needs_q <= {1'b0, two_length} + {1'b0, value_bytes_i};
    three_number_q <= two_view_q[{1'b0, two_length, 3'b0} +: 32] & number_mask;
    if (two_kind_q == EMIT_NUMBER) begin
      three_needs_q <= {1'b0, value_bytes_i};
      three_number_q <= two_view_q[31:0] & number_mask;
    end
    three_valid_q <= rst_ni && !clear_i && two_valid_q;
    if (three_valid_q && three_kind_q == EMIT_COUNT) header_q <= three_header_q;
  end

  logic [34:0] run_count;
  logic [30:0] clipped;
  logic four_valid_q;
  logic [1:0] four_kind_q, four_share_q;
  logic [71:0] four_data_q;
  logic [3:0] four_bytes_q;
  assign run_count = three_kind_q == EMIT_NUMBER ? header_q : three_header_q;
  assign clipped = run_count[34:31] != '0 ? '1 : run_count[30:0];
  always_ff @(posedge clk_i) begin
    four_valid_q <= rst_ni && !clear_i && three_valid_q && three_kind_q != EMIT_COUNT;
    four_share_q <= three_share_q;
    four_bytes_q <= three_bytes_q;
    four_data_q <= three_view_q;
    four_kind_q <= TOKEN_SHARE;
    if (three_kind_q == EMIT_RUN || three_kind_q == EMIT_NUMBER) begin
      four_data_q <= {9'b0, clipped, three_number_q};
      four_kind_q <= three_needs_q > three_bytes_q ? TOKEN_END : TOKEN_RUN;
    end
    if (three_kind_q == EMIT_END) four_kind_q <= TOKEN_END;
  end

  logic token_ready, token_valid;
  fifo #(.WIDTH(80), .DEPTH(ROOM)) i_tokens (
    .clk_i,
    .rst_ni(rst_ni && !clear_i),
    .valid_i(four_valid_q),
    .ready_o(token_ready),
    .data_i({four_kind_q, four_share_q, four_bytes_q, four_data_q}),
    .valid_o(token_valid),
    .ready_i(token_ready_i),
    .data_o({token_kind_o, token_share_o, token_bytes_o, token_data_o})
  );
  assign token_valid_o = token_valid;
  assign token_taken = token_valid && token_ready_i;

  // Bytes of a header: up to five, each but the last with its highest bit set.
  function automatic logic [2:0] length_of(input logic [3:0] goes_on);
    if (!goes_on[0]) length_of = 3'd1;
    else if (!goes_on[1]) length_of = 3'd2;
    else if (!goes_on[2]) length_of = 3'd3;
    else if (!goes_on[3]) length_of = 3'd4;
    else length_of = 3'd5;
  endfunction

  // What a header counts: its bits in groups of seven, the lowest first, without the lowest.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic [33:0] count_of(input logic [38:0] header);
  /* verilator lint_on UNUSEDSIGNAL */
    logic [33:0] bits;
    bits = {header[38:32], header[30:24], header[22:16], header[14:8], header[6:1]};
    if (!header[7]) bits[33:6] = '0;
    if (!header[7] || !header[15]) bits[33:13] = '0;
    if (!header[7] || !header[15] || !header[23]) bits[33:20] = '0;
    if (!header[7] || !header[15] || !header[23] || !header[31]) bits[33:27] = '0;
    count_of = bits;
  endfunction

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !clear_i) begin
      assert (!four_valid_q || token_ready) else $error("a token without room");
      assert (!marked_valid_q || marked_ready) else $error("a word without room");
      assert (!(advance && step && at_d[3] && !word_valid_q)) else $error("a word that is none");
    end
  end
`else
  logic unused_ready;
  assign unused_ready = token_ready ^ marked_ready;
`endif
endmodule
