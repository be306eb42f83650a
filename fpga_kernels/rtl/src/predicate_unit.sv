// SPDX-License-Identifier: Apache-2.0
// Evaluates a predicate over words of columns: a step of ROWS rows a cycle.
//
// A run loads a program, then takes words of eight rows of all columns and says of each ROWS rows
// which are kept: those for which the last step is true. Words are gathered into batches of 16
// places of ROWS rows; a step goes over all places of a batch before the next one begins, so that
// its result is there when the next step asks for it. While one batch is evaluated the next is
// gathered.
//
// Steps: sums, differences, products; comparisons, BETWEEN, IS [NOT] DISTINCT FROM; IS [NOT] NULL,
// string tests, AND, OR, NOT with SQL's three values. Operands: a column, the result of an earlier
// step, a literal, the outcome of a string test, NULL. Numbers have 64 bits with a sign. Division,
// dates, IN and CASE are not its business. A result that leaves 64 bits or the width of its step,
// in a row that is there and not NULL, is an overflow. That is told with the last token, of all
// steps whether they matter to the verdict or not; then what was kept is worth nothing.
//
// Throughput: a step of ROWS rows a cycle in a batch that is full. A step takes as many cycles as
// the batch has places, at least 6; a product 9 more, at least 15. Latency: a batch, and some 10
// cycles. Reset: forgets the run.
//
// Cycles of a run: models/predicate_unit_cycles.hpp.
//
// Parameters: ROWS, 8 or 16; LANES, columns, at most 8. The bench runs 16 and 6.
//
// Invariants: there is an answer for each ROWS rows, in their order. A step only reads results of
// steps before it. The program has a step. No word is taken before the program's last step, and no
// step of the next program before the last answer left.
module predicate_unit #(
  parameter int unsigned ROWS = 16,
  parameter int unsigned LANES = 6
) (
  input  logic clk_i,
  input  logic rst_ni,
  // The program. Of an operand: its kind, its column or step (of a test the column, and its bit
  // above), its literal.
  input  logic        steps_valid_i,
  output logic        steps_ready_o,
  input  logic [5:0]  steps_op_i,
  input  logic [1:0]  steps_width_i,
  input  logic [8:0]  steps_kind_i,
  input  logic [20:0] steps_index_i,
  input  logic [191:0] steps_literal_i,
  input  logic        steps_last_i,
  // Words of eight rows.
  input  logic                           words_valid_i,
  output logic                           words_ready_o,
  input  logic [LANES-1:0][7:0][63:0]    words_value_i,
  input  logic [LANES-1:0][7:0][15:0]    words_tests_i,
  input  logic [LANES-1:0][7:0]          words_present_i,
  input  logic [7:0]                     words_rows_i,
  input  logic                           words_last_i,
  // Which rows are kept.
  output logic            kept_valid_o,
  input  logic            kept_ready_i,
  output logic [ROWS-1:0] kept_rows_o,
  output logic            kept_overflow_o,
  output logic            kept_last_o
);
  localparam int unsigned STEPS = 32;
  localparam int unsigned STEP_BITS = 5;
  localparam int unsigned PAIRS = 16;
  localparam int unsigned PAIR_BITS = 4;
  localparam int unsigned HALVES = ROWS / 8;
  localparam int unsigned HALF_BITS = HALVES > 1 ? $clog2(HALVES) : 1;
  localparam int unsigned PLACE_BITS = PAIR_BITS + 1;
  localparam int unsigned RESULT_BITS = STEP_BITS + PAIR_BITS;
  localparam int unsigned LANE_BITS = 3;
  // Cycles from a place of a step to the same place of a step that reads its result.
  localparam int unsigned STEP_DEPTH = 6;
  localparam int unsigned PRODUCT_DEPTH = 15;
  localparam int unsigned PRODUCT_EXTRA = PRODUCT_DEPTH - STEP_DEPTH;

  // As in the command format.
  localparam logic [5:0] OP_ADD = 6'd1;
  localparam logic [5:0] OP_SUBTRACT = 6'd2;
  localparam logic [5:0] OP_MULTIPLY = 6'd3;
  localparam logic [5:0] OP_EQUAL = 6'd16;
  localparam logic [5:0] OP_NOT_EQUAL = 6'd17;
  localparam logic [5:0] OP_LESS = 6'd18;
  localparam logic [5:0] OP_LESS_OR_EQUAL = 6'd19;
  localparam logic [5:0] OP_GREATER = 6'd20;
  localparam logic [5:0] OP_BETWEEN = 6'd22;
  localparam logic [5:0] OP_IS_NULL = 6'd24;
  localparam logic [5:0] OP_IS_NOT_NULL = 6'd25;
  localparam logic [5:0] OP_TEST = 6'd26;
  localparam logic [5:0] OP_IS_DISTINCT = 6'd27;
  localparam logic [5:0] OP_IS_NOT_DISTINCT = 6'd28;
  localparam logic [5:0] OP_AND = 6'd32;
  localparam logic [5:0] OP_OR = 6'd33;
  localparam logic [5:0] OP_NOT = 6'd34;
  localparam logic [2:0] KIND_COLUMN = 3'd0;
  localparam logic [2:0] KIND_STEP = 3'd1;
  localparam logic [2:0] KIND_LITERAL = 3'd2;
  localparam logic [2:0] KIND_TEST = 3'd3;

  // What a step is, from the program on.
  typedef struct packed {
    logic [5:0] op;
    logic [1:0] width;
    logic [2:0][2:0] kind;
    logic [2:0][6:0] index;
    logic [2:0][63:0] literal;
  } step_t;
  localparam int unsigned WORD_BITS = 6 + 2 + 9 + 21 + 192;

  // The program, and the step that comes next.
  typedef enum logic [1:0] {LOADING, RUNNING, DRAINING} state_e;
  state_e state_q;
  logic steps_ready_q, load, all_left;
  logic [STEP_BITS-1:0] load_step_q, last_step_q, next_step_q, next_step_d;
  (* ram_style = "distributed" *) logic [WORD_BITS-1:0] program_memory [0:STEPS-1];
  step_t next_q, step_q;
  assign load = steps_valid_i && steps_ready_q;
  assign steps_ready_o = steps_ready_q;
  always_ff @(posedge clk_i) begin
    if (load) begin
      program_memory[load_step_q] <= {steps_op_i, steps_width_i, steps_kind_i,
                                      steps_index_i, steps_literal_i};
      last_step_q <= load_step_q;
    end
    next_q <= program_memory[next_step_q];
    if (!rst_ni) begin
      state_q <= LOADING;
      steps_ready_q <= 1'b0;
      load_step_q <= '0;
    end else begin
      steps_ready_q <= state_q == LOADING && !(load && steps_last_i);
      unique case (state_q)
        LOADING: begin
          if (load) load_step_q <= load_step_q + STEP_BITS'(1);
          if (load && steps_last_i) state_q <= RUNNING;
        end
        RUNNING: if (take && words_last_i) state_q <= DRAINING;
        default: begin
          load_step_q <= '0;
          if (all_left) state_q <= LOADING;
        end
      endcase
    end
  end

  // Gathering: which words of which batch are there.
  logic take, words_ready_q, gather_q, fills;
  logic [PAIR_BITS+HALF_BITS-1:0] word_q;
  logic [1:0] full_q, full_d, ends_q;
  logic [1:0][PAIR_BITS:0] places_q;
  // With one half there is nothing to ask.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [1:0][HALF_BITS-1:0] last_half_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [HALF_BITS-1:0] half;
  logic [PAIR_BITS-1:0] gather_pair;
  logic release_batch, batch_q;
  assign take = words_valid_i && words_ready_q;
  assign words_ready_o = words_ready_q;
  assign half = HALVES > 1 ? word_q[HALF_BITS-1:0] : '0;
  assign gather_pair = word_q[HALF_BITS +: PAIR_BITS];
  assign fills = take && (words_last_i || (gather_pair == '1 && half == HALF_BITS'(HALVES - 1)));
  always_comb begin
    full_d = full_q;
    if (fills) full_d[gather_q] = 1'b1;
    if (release_batch) full_d[batch_q] = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (fills) begin
      places_q[gather_q] <= {1'b0, gather_pair} + (PAIR_BITS + 1)'(1);
      last_half_q[gather_q] <= half;
      ends_q[gather_q] <= words_last_i;
    end
    if (!rst_ni || state_q == LOADING) begin
      words_ready_q <= 1'b0;
      gather_q <= 1'b0;
      word_q <= '0;
      full_q <= '0;
    end else begin
      full_q <= full_d;
      words_ready_q <= state_q == RUNNING && !(take && words_last_i) &&
                       !full_d[gather_q ^ fills];
      if (fills) begin
        gather_q <= !gather_q;
        word_q <= '0;
      end else if (take) begin
        word_q <= word_q + (HALVES > 1 ? (PAIR_BITS + HALF_BITS)'(1)
                                       : (PAIR_BITS + HALF_BITS)'(2));
      end
    end
  end

  // Issuing: a place of the batch a cycle, then the next step as soon as its operands are there.
  logic busy_q, issues, step_ends, is_last_step, starts, room_q, more_q;
  logic [PAIR_BITS:0] pair_q, places;
  logic [5:0] age_q, wait_q;
  logic [STEP_BITS-1:0] at_step_q;
  logic [5:0] step_wait, product_wait;
  assign places = places_q[batch_q];
  assign step_wait = places > (PAIR_BITS + 1)'(STEP_DEPTH) ? {1'b0, places} : 6'(STEP_DEPTH);
  assign product_wait = 6'(PRODUCT_EXTRA) + step_wait;
  assign issues = busy_q && more_q;
  assign step_ends = busy_q && age_q == wait_q;
  assign is_last_step = at_step_q == last_step_q;
  assign release_batch = step_ends && is_last_step;
  assign starts = full_q[batch_q] && room_q && !busy_q;
  assign next_step_d = starts || (step_ends && !is_last_step)
                         ? (next_step_q == last_step_q ? '0 : next_step_q + STEP_BITS'(1))
                         : next_step_q;
  always_ff @(posedge clk_i) begin
    if (starts || step_ends) begin
      step_q <= next_q;
      at_step_q <= next_step_q;
      pair_q <= '0;
      age_q <= 6'd1;
      // A batch that starts has been full for a cycle.
      wait_q <= next_q.op == OP_MULTIPLY ? product_wait : step_wait;
    end else begin
      if (more_q) pair_q <= pair_q + (PAIR_BITS + 1)'(1);
      age_q <= age_q + 6'd1;
    end
    if (!rst_ni || state_q == LOADING) begin
      busy_q <= 1'b0;
      more_q <= 1'b0;
      batch_q <= 1'b0;
      next_step_q <= '0;
    end else begin
      next_step_q <= next_step_d;
      busy_q <= starts || (busy_q && !release_batch);
      if (starts || (step_ends && !is_last_step)) more_q <= 1'b1;
      else if (pair_q + (PAIR_BITS + 1)'(1) == places) more_q <= 1'b0;
      if (release_batch) batch_q <= !batch_q;
    end
  end

  // What goes along with a place, from stage to stage.
  typedef struct packed {
    logic [5:0] op;
    logic [1:0] width;
    logic [RESULT_BITS-1:0] place;
    logic is_verdict;
    logic is_last;
  } control_t;
  localparam int unsigned CONTROL_BITS = 6 + 2 + RESULT_BITS + 2;
  logic [PAIR_BITS-1:0] pair;
  logic is_end;
  control_t issued, one_q, two_q, three_q, four_q;
  logic one_valid_q, two_valid_q, three_valid_q, four_valid_q;
  assign pair = pair_q[PAIR_BITS-1:0];
  assign is_end = pair_q + (PAIR_BITS + 1)'(1) == places;
  assign issued = {step_q.op, step_q.width, at_step_q, pair, is_last_step,
                   is_last_step && is_end && ends_q[batch_q]};

  // Stage 1: columns, results and what is known of their rows.
  logic [HALVES-1:0] store;
  logic [PLACE_BITS-1:0] store_place, place;
  logic [2:0][LANE_BITS-1:0] lane;
  logic [2:0][RESULT_BITS-1:0] result_place;
  assign store_place = {gather_q, gather_pair};
  assign place = {batch_q, pair};
  for (genvar operand = 0; operand < 3; operand++) begin : gen_operand
    assign lane[operand] = step_q.index[operand][LANE_BITS-1:0];
    assign result_place[operand] = {step_q.index[operand][STEP_BITS-1:0], pair};
  end

  logic keep_q;
  logic [RESULT_BITS-1:0] keep_place_q;
  logic [ROWS-1:0] truth_q, valid_q, rows_1q;
  logic [2:0][ROWS-1:0] present_1q, earlier_truth, earlier_valid;
  for (genvar h = 0; h < HALVES; h++) begin : gen_half
    // Which rows are there, and which of each column are not NULL.
    (* ram_style = "distributed" *) logic [8*LANES+7:0] flags [0:2*PAIRS-1];
    logic [8*LANES+7:0] here;
    // The last place of a batch may lack the second half.
    logic is_missing;
    assign store[h] = take && (HALVES == 1 || half == HALF_BITS'(h));
    assign here = flags[place];
    if (h == 0) begin : gen_first
      assign is_missing = 1'b0;
    end else begin : gen_other
      assign is_missing = is_end && last_half_q[batch_q] < HALF_BITS'(h);
    end
    always_ff @(posedge clk_i) begin
      if (store[h]) flags[store_place] <= {words_present_i, words_rows_i};
      rows_1q[8*h +: 8] <= is_missing ? '0 : here[7:0];
      for (int operand = 0; operand < 3; operand++) begin
        present_1q[operand][8*h +: 8] <= '0;
        for (int i = 0; i < LANES; i++) begin
          if (lane[operand] == LANE_BITS'(i)) begin
            present_1q[operand][8*h +: 8] <= here[8+8*i +: 8];
          end
        end
      end
    end
  end
  for (genvar operand = 0; operand < 3; operand++) begin : gen_outcomes
    (* ram_style = "block" *) logic [2*ROWS-1:0] outcomes [0:STEPS*PAIRS-1];
    logic [2*ROWS-1:0] read_q;
    always_ff @(posedge clk_i) begin
      if (keep_q) outcomes[keep_place_q] <= {truth_q, valid_q};
      read_q <= outcomes[result_place[operand]];
    end
    assign {earlier_truth[operand], earlier_valid[operand]} = read_q;
  end

  // Stage 2: which operands are NULL. Stage 3: which are true.
  logic [2:0][2:0] kind_1q;
  logic [2:0][63:0] literal_1q;
  logic [1:0][3:0] test_1q;
  logic [2:0] is_column, is_result;
  logic [2:0][ROWS-1:0] present_2q, present_3q, present_4q;
  logic [1:0][ROWS-1:0] true_2q, true_3q, true_4q, tests;
  logic [1:0] is_test_2q;
  logic [ROWS-1:0] rows_2q, rows_3q, rows_4q;
  for (genvar operand = 0; operand < 3; operand++) begin : gen_kind
    assign is_column[operand] = kind_1q[operand] == KIND_COLUMN;
    assign is_result[operand] = kind_1q[operand] == KIND_STEP;
  end
  always_ff @(posedge clk_i) begin
    one_q <= issued;
    two_q <= one_q;
    three_q <= two_q;
    four_q <= three_q;
    kind_1q <= step_q.kind;
    literal_1q <= step_q.literal;
    test_1q <= {step_q.index[1][6:3], step_q.index[0][6:3]};
    for (int operand = 0; operand < 3; operand++) begin
      unique case (kind_1q[operand])
        KIND_COLUMN, KIND_TEST: present_2q[operand] <= present_1q[operand];
        KIND_STEP: present_2q[operand] <= earlier_valid[operand];
        KIND_LITERAL: present_2q[operand] <= '1;
        default: present_2q[operand] <= '0;
      endcase
    end
    for (int operand = 0; operand < 2; operand++) begin
      true_2q[operand] <= is_result[operand] ? earlier_truth[operand] : '0;
      is_test_2q[operand] <= kind_1q[operand] == KIND_TEST;
      true_3q[operand] <= is_test_2q[operand] ? tests[operand] : true_2q[operand];
    end
    rows_2q <= rows_1q;
    present_3q <= present_2q;
    rows_3q <= rows_2q;
    present_4q <= present_3q;
    true_4q <= true_3q;
    rows_4q <= rows_3q;
    if (!rst_ni) begin
      one_valid_q <= 1'b0;
      two_valid_q <= 1'b0;
      three_valid_q <= 1'b0;
      four_valid_q <= 1'b0;
    end else begin
      one_valid_q <= issues;
      two_valid_q <= one_valid_q;
      three_valid_q <= two_valid_q;
      four_valid_q <= three_valid_q;
    end
  end
  logic unused_truth;
  assign unused_truth = ^{earlier_truth[2], step_q.index[2][6:5]};

  // A product is late; nothing else comes out at the same time.
  logic is_product, product_valid;
  logic [PRODUCT_EXTRA-1:0] product_valid_q;
  // What is behind stage 4 has no use for the operation of a product.
  /* verilator lint_off UNUSEDSIGNAL */
  control_t product_control, control;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [ROWS-1:0] product_present, product_rows, rows;
  assign is_product = four_valid_q && four_q.op == OP_MULTIPLY;
  assign product_valid = product_valid_q[PRODUCT_EXTRA-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) product_valid_q <= '0;
    else product_valid_q <= {product_valid_q[PRODUCT_EXTRA-2:0], is_product};
  end
  delay #(.WIDTH(CONTROL_BITS + 2 * ROWS), .CYCLES(PRODUCT_EXTRA)) i_product (
    .clk_i,
    .data_i({four_q, present_4q[0] & present_4q[1], rows_4q}),
    .data_o({product_control, product_present, product_rows})
  );
  assign control = product_valid ? product_control : four_q;
  assign rows = product_valid ? product_rows : rows_4q;

  // Stage 5: the outcome of each row.
  logic [ROWS-1:0] below, equal, above, misfits;
  logic [ROWS-1:0] truth, valid, a, b, a_valid, b_valid, c_valid, both, at_least, at_most, same;
  assign a = true_4q[0];
  assign b = true_4q[1];
  assign a_valid = present_4q[0];
  assign b_valid = present_4q[1];
  assign c_valid = present_4q[2];
  assign both = a_valid & b_valid;
  assign at_least = ~below;
  assign at_most = ~above;
  assign same = (equal & both) | (~a_valid & ~b_valid);
  always_comb begin
    valid = both;
    unique case (four_q.op)
      OP_EQUAL: truth = equal & both;
      OP_NOT_EQUAL: truth = ~equal & both;
      OP_LESS: truth = below & both;
      OP_LESS_OR_EQUAL: truth = (below | equal) & both;
      OP_GREATER: truth = ~(below | equal) & both;
      OP_BETWEEN: begin
        // FALSE on either side wins over NULL on the other.
        truth = at_least & at_most & both & c_valid;
        valid = (both & c_valid) | (both & ~at_least) | (a_valid & c_valid & ~at_most);
      end
      OP_IS_DISTINCT, OP_IS_NOT_DISTINCT: begin
        truth = four_q.op == OP_IS_DISTINCT ? ~same : same;
        valid = '1;
      end
      OP_IS_NULL, OP_IS_NOT_NULL: begin
        truth = four_q.op == OP_IS_NULL ? ~a_valid : a_valid;
        valid = '1;
      end
      OP_AND: begin
        truth = a & b & both;
        valid = both | (a_valid & ~a) | (b_valid & ~b);
      end
      OP_OR: begin
        truth = (a & a_valid) | (b & b_valid);
        valid = both | truth;
      end
      OP_NOT: begin
        truth = ~a & a_valid;
        valid = a_valid;
      end
      OP_TEST: begin
        truth = a & a_valid;
        valid = a_valid;
      end
      OP_ADD, OP_SUBTRACT, OP_MULTIPLY: truth = '0;
      default: truth = at_least & both;
    endcase
    if (product_valid) begin
      truth = '0;
      valid = product_present;
    end
  end

  logic is_verdict_q, is_last_q, computes_q, overflow_q;
  logic answer_valid_q, answer_last_q;
  logic [ROWS-1:0] checked_q, kept_q, answer_q;
  always_ff @(posedge clk_i) begin
    truth_q <= truth;
    valid_q <= valid;
    keep_place_q <= control.place;
    is_last_q <= control.is_last;
    kept_q <= truth & valid & rows;
    checked_q <= valid & rows;
    answer_q <= kept_q;
    answer_last_q <= is_last_q;
    if (!rst_ni || state_q == LOADING) begin
      keep_q <= 1'b0;
      is_verdict_q <= 1'b0;
      computes_q <= 1'b0;
      answer_valid_q <= 1'b0;
      overflow_q <= 1'b0;
    end else begin
      keep_q <= product_valid || (four_valid_q && !is_product);
      is_verdict_q <= (product_valid || (four_valid_q && !is_product)) && control.is_verdict;
      computes_q <= product_valid || (four_valid_q && (four_q.op == OP_ADD ||
                                                       four_q.op == OP_SUBTRACT));
      answer_valid_q <= is_verdict_q;
      overflow_q <= overflow_q || (computes_q && |(misfits & checked_q));
    end
  end

  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    logic [LANES*64-1:0] value;
    logic [LANES*16-1:0] outcomes;
    logic [1:0] test;
    for (genvar i = 0; i < LANES; i++) begin : gen_lane
      assign value[64*i +: 64] = words_value_i[i][r % 8];
      assign outcomes[16*i +: 16] = words_tests_i[i][r % 8];
    end
    predicate_row #(.LANES(LANES), .PLACES(2 * PAIRS), .RESULTS(STEPS * PAIRS)) i_row (
      .clk_i,
      .store_i(store[r / 8]),
      .store_place_i(store_place),
      .store_value_i(value),
      .store_tests_i(outcomes),
      .place_i(place),
      .lane_i(lane),
      .result_i(result_place),
      .is_column_i(is_column),
      .is_result_i(is_result),
      .literal_i(literal_1q),
      .test_i(test_1q),
      .is_difference_i(two_q.op == OP_SUBTRACT),
      .is_product_i(product_valid),
      .width_i(control.width),
      .test_o(test),
      .below_o(below[r]),
      .equal_o(equal[r]),
      .above_o(above[r]),
      .misfit_o(misfits[r]),
      .keep_i(keep_q),
      .keep_place_i(keep_place_q)
    );
    assign tests[0][r] = test[0];
    assign tests[1][r] = test[1];
  end

  // Answers: a batch starts only if there is room for its answers.
  localparam int unsigned ROOM = 64;
  logic answer_ready, kept_valid, answer_taken;
  logic [$clog2(ROOM):0] answers_q;
  fifo #(.WIDTH(ROWS + 2), .DEPTH(ROOM)) i_answers (
    .clk_i,
    .rst_ni,
    .valid_i(answer_valid_q),
    .ready_o(answer_ready),
    .data_i({answer_last_q, overflow_q && answer_last_q, answer_q}),
    .valid_o(kept_valid),
    .ready_i(kept_ready_i),
    .data_o({kept_last_o, kept_overflow_o, kept_rows_o})
  );
  assign kept_valid_o = kept_valid;
  assign answer_taken = kept_valid && kept_ready_i;
  assign all_left = answer_taken && kept_last_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      answers_q <= '0;
      room_q <= 1'b0;
    end else begin
      answers_q <= answers_q + (starts ? ($clog2(ROOM) + 1)'(places) : '0)
                   - ($clog2(ROOM) + 1)'(answer_taken);
      room_q <= answers_q <= ($clog2(ROOM) + 1)'(ROOM - 2 * PAIRS);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!answer_valid_q || answer_ready) else $error("an answer without room");
      assert (!(product_valid && four_valid_q && !is_product)) else $error("two results at once");
      assert (!(store != '0 && full_q[gather_q])) else $error("a word over a full batch");
    end
  end
`else
  logic unused_ready;
  assign unused_ready = answer_ready;
`endif
endmodule
