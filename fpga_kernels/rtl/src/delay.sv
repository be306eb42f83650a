// SPDX-License-Identifier: Apache-2.0
// A word that waits for a number of cycles.
//
// Throughput: a word a cycle. Latency: CYCLES, which may be 0. Reset: none; LUTs that are used as
// shift registers have none.
//
// Parameters: WIDTH, bits of a word; CYCLES.
module delay #(
  parameter int unsigned WIDTH = 1,
  parameter int unsigned CYCLES = 1
) (
  input  logic             clk_i,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o
);
  if (CYCLES == 0) begin : gen_wire
    assign data_o = data_i;
    // A wire has no clock.
    logic unused_clk;
    assign unused_clk = clk_i;
  end else begin : gen_stages
    // The newest word is lowest.
    logic [CYCLES*WIDTH-1:0] data_q;
    if (CYCLES == 1) begin : gen_one
      always_ff @(posedge clk_i) data_q <= data_i;
    end else begin : gen_more
      always_ff @(posedge clk_i) data_q <= {data_q[(CYCLES-1)*WIDTH-1:0], data_i};
    end
    assign data_o = data_q[CYCLES*WIDTH-1 -: WIDTH];
  end
endmodule
