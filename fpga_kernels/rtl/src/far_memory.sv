// SPDX-License-Identifier: Apache-2.0
// A memory of 4096 words of 64 bits in a URAM: one port reads, the other writes.
//
// A word that is read in the cycle in which it is written is what it was before.
//
// Throughput: a word is read and one written each cycle. Latency: 2 cycles, for the memory and its
// output register. Reset: none.
module far_memory (
  input  logic        clk_i,
  input  logic [11:0] read_at_i,
  output logic [63:0] data_o,
  input  logic        write_i,
  input  logic [11:0] write_at_i,
  input  logic [63:0] data_i
);
  (* ram_style = "ultra" *) logic [63:0] memory [0:4095];
  logic [63:0] read_q, data_q;
  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_at_i] <= data_i;
    read_q <= memory[read_at_i];
    data_q <= read_q;
  end
  assign data_o = data_q;
endmodule
