// SPDX-License-Identifier: Apache-2.0
// Folds kept rows into the states of their groups: two rows a cycle into all slots.
//
// A slot counts rows, adds numbers up, or keeps the least or the greatest. The states of GROUPS
// groups are at hand, each at a place; which group is where, and what is done with those that have
// no place, is not its business. Sums of floats, numbers of more than 64 bits and strings are not
// either.
//
// A token is two rows; or the place of a group to be shown, which then is empty; or a group's state
// to be put at a place. A run begins with empty groups and ends with a token marked `last`, which
// shows a group as well.
//
// Throughput: a token a cycle, whatever the groups of the rows; none is taken while a group is
// being shown. Latency: rows are in their states as far as later tokens can tell; a group is shown
// STAGES + 2 cycles behind its token. Reset: makes all groups empty, a cycle each, as the end of a
// run does.
//
// Cycles of a run: models/fold_unit_cycles.hpp.
//
// Parameters: SLOTS; GROUPS, a power of two of at most 32 at no cost; SUM_BITS, of sums: with 96 no
// sum of 2^32 numbers is too large.
//
// Invariants: a shown group is kept until it is taken. Functions hold still during a run.
module fold_unit #(
  parameter int unsigned SLOTS = 16,
  parameter int unsigned GROUPS = 32,
  parameter int unsigned SUM_BITS = 96,
  localparam int unsigned PLACE_BITS = $clog2(GROUPS)
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Of each slot: 0 counts rows, 1 adds up, 2 keeps the least, 3 the greatest number.
  input  logic [SLOTS-1:0][1:0] functions_i,
  // Two rows: which there are, the places of their groups, of each slot both numbers and which of
  // the rows it uses. Or, of the first place, the group is shown, or put there: of each slot the
  // state, and in the first bit of `used` whether it has met a number; and as the count its rows.
  input  logic                       rows_valid_i,
  output logic                       rows_ready_o,
  input  logic [SLOTS-1:0][1:0][63:0] rows_number_i,
  input  logic [SLOTS-1:0][1:0]      rows_used_i,
  input  logic [1:0]                 rows_keep_i,
  input  logic [1:0][PLACE_BITS-1:0] rows_place_i,
  input  logic [31:0]                rows_count_i,
  input  logic                       rows_shows_i,
  input  logic                       rows_loads_i,
  input  logic                       rows_last_i,
  // Groups that were shown.
  output logic                       groups_valid_o,
  input  logic                       groups_ready_i,
  output logic [SLOTS-1:0][127:0]    groups_state_o,
  output logic [SLOTS-1:0]           groups_seen_o,
  output logic [31:0]                groups_count_o,
  output logic                       groups_last_o
);
  localparam int unsigned STAGES = SUM_BITS / 16;
  localparam int unsigned COUNT_STAGES = 2;
  localparam logic [PLACE_BITS-1:0] LAST_PLACE = PLACE_BITS'(GROUPS - 1);

  // Groups are made empty, tokens are taken, a group is on its way, or waits to be taken.
  typedef enum logic [1:0] {EMPTYING, OPEN, SHOWING, WAITING} state_e;
  state_e state_q;
  logic ready_q, valid_q, last_q, take, shows, loads;
  logic [PLACE_BITS-1:0] place_q;
  assign rows_ready_o = ready_q;
  assign take = rows_valid_i && ready_q;
  assign shows = take && (rows_shows_i || rows_last_i);
  assign loads = take && rows_loads_i && !rows_shows_i && !rows_last_i;

  // What is done at each stage.
  logic [STAGES-1:0] shows_q, clears_q, loads_q;
  logic [STAGES-1:0][1:0][PLACE_BITS-1:0] at_q;
  logic [1:0][PLACE_BITS-1:0] at;
  always_comb begin
    at = rows_place_i;
    if (rows_shows_i || rows_loads_i || rows_last_i) at[1] = rows_place_i[0];
    if (state_q == EMPTYING) at = {2{place_q}};
  end
  always_ff @(posedge clk_i) begin
    at_q <= {at_q[STAGES-2:0], at};
    if (!rst_ni) begin
      shows_q <= '0;
      clears_q <= '0;
      loads_q <= '0;
    end else begin
      shows_q <= {shows_q[STAGES-2:0], shows};
      clears_q <= {clears_q[STAGES-2:0], shows || state_q == EMPTYING};
      loads_q <= {loads_q[STAGES-2:0], loads};
    end
  end

  always_ff @(posedge clk_i) begin
    if (shows) last_q <= rows_last_i;
    if (!rst_ni) begin
      state_q <= EMPTYING;
      place_q <= '0;
      ready_q <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      unique case (state_q)
        EMPTYING: begin
          place_q <= place_q + PLACE_BITS'(1);
          if (place_q == LAST_PLACE) begin
            state_q <= OPEN;
            ready_q <= 1'b1;
          end
        end
        OPEN: begin
          if (shows) begin
            state_q <= SHOWING;
            ready_q <= 1'b0;
          end
        end
        SHOWING: begin
          if (shows_q[STAGES-1]) begin
            state_q <= WAITING;
            valid_q <= 1'b1;
          end
        end
        default: begin
          if (groups_ready_i) begin
            state_q <= last_q ? EMPTYING : OPEN;
            ready_q <= !last_q;
            valid_q <= 1'b0;
          end
        end
      endcase
    end
  end
  assign groups_valid_o = valid_q;
  assign groups_last_o = last_q;

  logic [1:0] folds;
  assign folds = {2{take && !rows_shows_i && !rows_last_i && !rows_loads_i}} & rows_keep_i;
  for (genvar slot = 0; slot < SLOTS; slot++) begin : gen_slot
    fold_slot #(.GROUPS(GROUPS), .STAGES(STAGES)) i_slot (
      .clk_i,
      .function_i(functions_i[slot]),
      .number_i(rows_number_i[slot]),
      .adds_i((folds & rows_used_i[slot]) | {1'b0, loads && rows_used_i[slot][0]}),
      .is_state_i(rows_loads_i),
      .shows_i(shows_q),
      .clears_i(clears_q),
      .loads_i(loads_q),
      .place_i(at_q),
      .state_o(groups_state_o[slot]),
      .is_seen_o(groups_seen_o[slot])
    );
  end

  // The rows of each group.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] rows;
  logic unused_seen;
  /* verilator lint_on UNUSEDSIGNAL */
  fold_slot #(.GROUPS(GROUPS), .STAGES(COUNT_STAGES)) i_rows (
    .clk_i,
    .function_i(2'd0),
    .number_i({64'd0, 32'd0, rows_count_i}),
    .adds_i(folds),
    .is_state_i(rows_loads_i),
    .shows_i(shows_q[COUNT_STAGES-1:0]),
    .clears_i(clears_q[COUNT_STAGES-1:0]),
    .loads_i(loads_q[COUNT_STAGES-1:0]),
    .place_i(at_q[COUNT_STAGES-1:0]),
    .state_o(rows),
    .is_seen_o(unused_seen)
  );
  assign groups_count_o = rows[31:0];

`ifndef SYNTHESIS
  logic was_waiting_q;
  logic [SLOTS-1:0][127:0] was_state_q;
  always_ff @(posedge clk_i) begin
    was_waiting_q <= rst_ni && groups_valid_o && !groups_ready_i;
    was_state_q <= groups_state_o;
    if (rst_ni && was_waiting_q) begin
      assert (groups_valid_o) else $error("a group was withdrawn");
      assert (groups_state_o == was_state_q) else $error("a group changed while it waited");
    end
  end
`endif
endmodule
