// SPDX-License-Identifier: Apache-2.0
// Two registers between a sender and a receiver, so that no signal passes between them in a cycle.
//
// A word goes to the register in front; where that waits, to the one behind it.
//
// Throughput: a word a cycle. Latency: 1 cycle. Reset: empties it. Both handshakes are driven by
// flip-flops.
//
// Parameters: WIDTH, bits of a word.
//
// Invariants: words leave in the order in which they came; `valid_o` stays until `ready_i`, and
// the word with it.
module skid_buffer #(
  parameter int unsigned WIDTH = 8
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
  logic front_q, back_q, ready_q, back_d, take;
  logic [WIDTH-1:0] front_data_q, back_data_q;

  assign take = valid_i && ready_q;
  assign back_d = front_q && !ready_i && (back_q || take);

  always_ff @(posedge clk_i) begin
    if (ready_q) back_data_q <= data_i;
    if (ready_i || !front_q) front_data_q <= back_q ? back_data_q : data_i;
    if (!rst_ni) begin
      front_q <= 1'b0;
      back_q <= 1'b0;
      ready_q <= 1'b0;
    end else begin
      front_q <= (front_q && !ready_i) || back_q || take;
      back_q <= back_d;
      ready_q <= !back_d;
    end
  end

  assign ready_o = ready_q;
  assign valid_o = front_q;
  assign data_o = front_data_q;

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
  end
`endif
endmodule
