// SPDX-License-Identifier: Apache-2.0
// Looks indexes up in a dictionary, of which the first entries are on chip: two rows a cycle.
//
// A run loads entries first, a value with the outcomes of its string tests a cycle, then takes
// words of up to eight indexes as the unpacker gives them. A row whose entry exists but is not on
// chip is marked as far, and gets its index in place of a value: whoever owns device memory looks
// it up. An index that is no entry makes its word corrupt; its row is zero, and the words behind it
// are looked up all the same.
//
// Values are in a URAM and outcomes in two block RAMs, each of two ports, so a word takes a cycle
// for each two of its rows. What is loaded stays there until another run loads over it; entries
// beyond PLACES are passed by.
//
// Throughput: 2 rows a cycle; an entry a cycle while it loads. Latency: 6 cycles. Reset: forgets
// the run, not the entries.
//
// Cycles of a run: models/dictionary_lookup_cycles.hpp.
//
// Parameters: PLACES, entries on chip, a power of two.
//
// Invariants: there is a word for each word, in their order. `entries_i` holds still during a run.
// No word is taken before the last entry, and no entry of the next run before the last word left.
module dictionary_lookup #(
  parameter int unsigned PLACES = 4096,
  localparam int unsigned PLACE_BITS = $clog2(PLACES)
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Entries of the dictionary, on chip or not.
  input  logic [24:0] entries_i,
  // Entries; the last token of them may be empty.
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  logic [63:0] load_value_i,
  input  logic [15:0] load_tests_i,
  input  logic        load_is_entry_i,
  input  logic        load_last_i,
  // Words of indexes.
  input  logic             words_valid_i,
  output logic             words_ready_o,
  input  logic [7:0][31:0] words_index_i,
  input  logic [3:0]       words_count_i,
  input  logic             words_corrupt_i,
  input  logic             words_last_i,
  // The same words of values.
  output logic             rows_valid_o,
  input  logic             rows_ready_i,
  output logic [7:0][63:0] rows_value_o,
  output logic [7:0][15:0] rows_tests_o,
  output logic [7:0]       rows_far_o,
  output logic [3:0]       rows_count_o,
  output logic             rows_corrupt_o,
  output logic             rows_last_o
);
  localparam int unsigned TURNS = 4;

  typedef enum logic [1:0] {LOADING, LOOKING, DRAINING} state_e;
  state_e state_q;
  logic load, load_ready_q, take, looking_q, fifo_ready, move, has_left;
  logic [PLACE_BITS:0] load_place_q;
  assign load = load_valid_i && load_ready_q;
  assign load_ready_o = load_ready_q;
  assign words_ready_o = fifo_ready && looking_q;
  assign take = words_valid_i && words_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= LOADING;
      load_ready_q <= 1'b0;
      looking_q <= 1'b0;
      load_place_q <= '0;
    end else begin
      load_ready_q <= state_q == LOADING && !(load && load_last_i);
      looking_q <= state_q == LOOKING && !(take && words_last_i);
      unique case (state_q)
        LOADING: begin
          if (load && load_is_entry_i && !load_place_q[PLACE_BITS]) begin
            load_place_q <= load_place_q + (PLACE_BITS + 1)'(1);
          end
          if (load && load_last_i) state_q <= LOOKING;
        end
        LOOKING: if (take && words_last_i) state_q <= DRAINING;
        default: begin
          load_place_q <= '0;
          if (has_left) state_q <= LOADING;
        end
      endcase
    end
  end

  logic word_valid, word_ready, word_corrupt, word_last;
  logic [7:0][31:0] word_index;
  logic [3:0] word_count;
  fifo #(.WIDTH(262), .DEPTH(16)) i_words (
    .clk_i,
    .rst_ni,
    .valid_i(take),
    .ready_o(fifo_ready),
    .data_i({words_last_i, words_corrupt_i, words_count_i, words_index_i}),
    .valid_o(word_valid),
    .ready_i(word_ready),
    .data_o({word_last, word_corrupt, word_count, word_index})
  );

  // The word at hand, two rows at a time; one bit says which turn it is.
  logic hand_valid_q, hand_corrupt_q, hand_last_q, is_last_turn;
  logic [7:0][31:0] hand_index_q;
  logic [7:0] hand_rows_q;
  logic [3:0] hand_count_q;
  logic [TURNS-1:0] turn_q, last_turn_q;
  assign is_last_turn = |(turn_q & last_turn_q);
  assign word_ready = !hand_valid_q || (move && is_last_turn);
  always_ff @(posedge clk_i) begin
    if (word_ready) begin
      hand_index_q <= word_index;
      for (int row = 0; row < 8; row++) hand_rows_q[row] <= 4'(row) < word_count;
      hand_count_q <= word_count;
      hand_corrupt_q <= word_corrupt;
      hand_last_q <= word_last;
      turn_q <= TURNS'(1);
      last_turn_q <= word_count <= 4'd2 ? 4'b0001 : word_count <= 4'd4 ? 4'b0010 :
                     word_count <= 4'd6 ? 4'b0100 : 4'b1000;
    end else if (move) begin
      hand_index_q <= hand_index_q >> 64;
      hand_rows_q <= hand_rows_q >> 2;
      turn_q <= turn_q << 1;
    end
    if (!rst_ni) hand_valid_q <= 1'b0;
    else if (word_ready) hand_valid_q <= word_valid;
  end

  // The memories. The first row's port also loads, one cycle late.
  logic store_q;
  logic [PLACE_BITS-1:0] store_place_q, place_0, place_1;
  logic [79:0] store_entry_q;
  (* ram_style = "ultra" *) logic [63:0] values [0:PLACES-1];
  (* ram_style = "block" *) logic [15:0] tests [0:PLACES-1];
  logic [63:0] value_0_q, value_1_q;
  logic [15:0] tests_0_q, tests_1_q;
  always_ff @(posedge clk_i) begin
    store_q <= rst_ni && load && load_is_entry_i && !load_place_q[PLACE_BITS];
    store_place_q <= load_place_q[PLACE_BITS-1:0];
    store_entry_q <= {load_tests_i, load_value_i};
  end
  assign place_0 = store_q ? store_place_q : hand_index_q[0][PLACE_BITS-1:0];
  assign place_1 = hand_index_q[1][PLACE_BITS-1:0];
  always_ff @(posedge clk_i) begin
    if (store_q) values[place_0] <= store_entry_q[63:0];
    else if (move) value_0_q <= values[place_0];
  end
  always_ff @(posedge clk_i) if (move) value_1_q <= values[place_1];
  always_ff @(posedge clk_i) begin
    if (store_q) tests[place_0] <= store_entry_q[79:64];
    else if (move) tests_0_q <= tests[place_0];
  end
  always_ff @(posedge clk_i) if (move) tests_1_q <= tests[place_1];

  // What a turn carries past the memories.
  typedef struct packed {
    logic corrupt;
    logic last;
    logic [3:0] count;
    logic [TURNS-1:0] turn;
    logic ends;
  } turn_t;
  turn_t one_q, two_q, three_q;
  logic one_valid_q, two_valid_q, three_valid_q;
  logic [1:0] one_there_q, two_there_q, two_bad_q, two_far_q, three_far_q;
  logic [1:0][31:0] one_index_q, two_index_q;
  logic [1:0][63:0] two_value_q, three_value_q;
  logic [1:0][15:0] two_tests_q, three_tests_q;
  always_ff @(posedge clk_i) begin
    if (move) begin
      one_q <= {hand_corrupt_q, hand_last_q, hand_count_q, turn_q, is_last_turn};
      one_there_q <= hand_rows_q[1:0];
      one_index_q <= hand_index_q[1:0];
      two_q <= one_q;
      two_there_q <= one_there_q;
      two_index_q <= one_index_q;
      two_value_q <= {value_1_q, value_0_q};
      two_tests_q <= {tests_1_q, tests_0_q};
      three_q <= two_q;
      three_q.corrupt <= two_q.corrupt || |(two_bad_q & two_there_q);
      three_far_q <= two_far_q & two_there_q & ~two_bad_q;
      for (int row = 0; row < 2; row++) begin
        two_bad_q[row] <= one_index_q[row] >= {7'b0, entries_i};
        two_far_q[row] <= |one_index_q[row][31:PLACE_BITS];
        three_value_q[row] <= two_far_q[row] ? {32'b0, two_index_q[row]} : two_value_q[row];
        three_tests_q[row] <= two_tests_q[row];
        if (two_bad_q[row] || !two_there_q[row]) three_value_q[row] <= '0;
        if (two_bad_q[row] || !two_there_q[row] || two_far_q[row]) three_tests_q[row] <= '0;
      end
    end
    if (!rst_ni) begin
      one_valid_q <= 1'b0;
      two_valid_q <= 1'b0;
      three_valid_q <= 1'b0;
    end else if (move) begin
      one_valid_q <= hand_valid_q;
      two_valid_q <= one_valid_q;
      three_valid_q <= two_valid_q;
    end
  end

  // The turns of a word are put together; rows behind the last turn are zero.
  logic [7:0][63:0] part_value_q, part_value;
  logic [7:0][15:0] part_tests_q, part_tests;
  logic [7:0] part_far_q, part_far;
  logic part_corrupt_q, part_corrupt;
  logic rows_valid_q, rows_corrupt_q, rows_last_q;
  logic [7:0][63:0] rows_value_q;
  logic [7:0][15:0] rows_tests_q;
  logic [7:0] rows_far_q;
  logic [3:0] rows_count_q;
  always_comb begin
    part_value = three_q.turn[0] ? '0 : part_value_q;
    part_tests = three_q.turn[0] ? '0 : part_tests_q;
    part_far = three_q.turn[0] ? '0 : part_far_q;
    part_corrupt = three_q.corrupt || (part_corrupt_q && !three_q.turn[0]);
    for (int turn = 0; turn < TURNS; turn++) begin
      if (three_q.turn[turn]) begin
        part_value[2*turn +: 2] = three_value_q;
        part_tests[2*turn +: 2] = three_tests_q;
        part_far[2*turn +: 2] = three_far_q;
      end
    end
  end
  assign move = !rows_valid_q || rows_ready_i;
  always_ff @(posedge clk_i) begin
    if (move) begin
      if (three_valid_q) begin
        part_value_q <= part_value;
        part_tests_q <= part_tests;
        part_far_q <= part_far;
        part_corrupt_q <= part_corrupt;
      end
      rows_value_q <= part_value;
      rows_tests_q <= part_tests;
      rows_far_q <= part_far;
      rows_count_q <= three_q.count;
      rows_corrupt_q <= part_corrupt;
      rows_last_q <= three_q.last;
    end
    if (!rst_ni) rows_valid_q <= 1'b0;
    else if (move) rows_valid_q <= three_valid_q && three_q.ends;
  end
  assign rows_valid_o = rows_valid_q;
  assign rows_value_o = rows_value_q;
  assign rows_tests_o = rows_tests_q;
  assign rows_far_o = rows_far_q;
  assign rows_count_o = rows_count_q;
  assign rows_corrupt_o = rows_corrupt_q;
  assign rows_last_o = rows_last_q;
  assign has_left = rows_valid_q && rows_ready_i && rows_last_q;

`ifndef SYNTHESIS
  logic was_waiting_q;
  logic [7:0][63:0] was_value_q;
  always_ff @(posedge clk_i) begin
    was_waiting_q <= rst_ni && rows_valid_q && !rows_ready_i;
    was_value_q <= rows_value_q;
    if (rst_ni && was_waiting_q) begin
      assert (rows_valid_q) else $error("a word was withdrawn");
      assert (rows_value_q == was_value_q) else $error("a word changed while it waited");
    end
    if (rst_ni) begin
      assert (!(store_q && hand_valid_q)) else $error("an entry is loaded among look-ups");
      assert (!take || words_count_i <= 4'd8) else $error("a word of more than eight");
    end
  end
`endif
endmodule
