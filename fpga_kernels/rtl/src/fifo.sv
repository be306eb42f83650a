// SPDX-License-Identifier: Apache-2.0
// A FIFO of few places, in LUTs that are used as memory, with a register behind it.
//
// It holds DEPTH words in the memory and one in the output register. It does not pass a word
// through: a word that comes in is seen behind no sooner than two cycles later. It is no FIFO
// between two clocks.
//
// Throughput: a word a cycle from 4 places on; 2 places pass two words in three cycles, because a
// place that becomes free is counted a cycle later. Latency: 2 cycles. Reset: empties it; the
// memory itself keeps what it has. Both handshakes are driven by flip-flops.
//
// Parameters: WIDTH, bits of a word; DEPTH, a power of two of at least 2.
//
// Invariants: words leave in the order in which they came; `valid_o` stays until `ready_i`, and
// the word with it; a word that is offered while `ready_o` is low is not taken.
module fifo #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned DEPTH = 16
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [WIDTH-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [WIDTH-1:0] data_o
);
  localparam int unsigned PLACE_BITS = $clog2(DEPTH);
  localparam logic [PLACE_BITS:0] FULL = (PLACE_BITS + 1)'(DEPTH);

  (* ram_style = "distributed" *) logic [WIDTH-1:0] memory [0:DEPTH-1];
  logic [PLACE_BITS-1:0] write_q, read_q;
  logic [PLACE_BITS:0] held_q, held_kept, held_less;
  logic ready_q, some_q, valid_q;
  logic [WIDTH-1:0] data_q;
  logic push, pop;

  assign push = valid_i && ready_q;
  // `some_q` says that the memory holds a word.
  assign pop = some_q && (!valid_q || ready_i);
  // Both outcomes are made ready, for `ready_i` may come late in a cycle.
  assign held_kept = held_q + (PLACE_BITS + 1)'(push);
  assign held_less = held_q - (PLACE_BITS + 1)'(!push);

  always_ff @(posedge clk_i) begin
    if (push) memory[write_q] <= data_i;
    if (pop) data_q <= memory[read_q];
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      held_q <= '0;
      ready_q <= 1'b0;
      some_q <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      write_q <= write_q + PLACE_BITS'(push);
      if (pop) read_q <= read_q + PLACE_BITS'(1);
      held_q <= pop ? held_less : held_kept;
      // A place that becomes free in this cycle is not counted yet.
      ready_q <= held_kept != FULL;
      some_q <= pop ? held_less != '0 : held_kept != '0;
      valid_q <= pop || (valid_q && !ready_i);
    end
  end

  assign ready_o = ready_q;
  assign valid_o = valid_q;
  assign data_o = data_q;

`ifndef SYNTHESIS
  logic was_waiting_q;
  logic [WIDTH-1:0] was_data_q;
  always_ff @(posedge clk_i) begin
    was_waiting_q <= rst_ni && valid_o && !ready_i;
    was_data_q <= data_o;
    if (rst_ni && was_waiting_q) begin
      assert (valid_o) else $error("a word was withdrawn");
      assert (data_o == was_data_q) else $error("a word changed while it waited");
    end
    if (rst_ni) assert (held_q <= FULL) else $error("more words than places");
  end
`endif
endmodule
