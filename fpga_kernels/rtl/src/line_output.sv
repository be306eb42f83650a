// SPDX-License-Identifier: Apache-2.0
// Lets lines of numbers and lines of bits leave through one port: bits first, for they are rare.
//
// It says early that it has no more room, for the parts that are on their way then still come.
//
// Throughput: a line a cycle. Latency: 3 cycles. Reset: empties it.
//
// Parameters: DEPTH, lines of each kind, a power of two; COMING, the most lines of each kind that
// may still come once there is no room.
//
// Invariants: lines of a kind leave in order; the last token leaves behind all lines; `valid_o`
// stays until `ready_i`, and the line with it.
module line_output #(
  parameter int unsigned DEPTH = 32,
  parameter int unsigned COMING = 14,
  localparam int unsigned WIDTH = 548
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  output logic             room_o,
  input  logic             number_line_i,
  input  logic [WIDTH-1:0] number_i,
  input  logic             bits_line_i,
  input  logic [WIDTH-1:0] bits_i,
  // Nothing is behind it: a token without bytes.
  input  logic             last_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [WIDTH-1:0] data_o,
  output logic             has_bits_o,
  output logic             last_o
);
  localparam int unsigned COUNT_BITS = $clog2(DEPTH) + 2;
  localparam logic [COUNT_BITS-1:0] ROOM = COUNT_BITS'(DEPTH - COMING);

  logic [WIDTH-1:0] number, bits;
  logic number_ready, bits_ready, number_valid, bits_valid, is_last, take;
  fifo #(.WIDTH(WIDTH + 1), .DEPTH(DEPTH)) i_numbers (
    .clk_i,
    .rst_ni,
    .valid_i(number_line_i || last_i),
    .ready_o(number_ready),
    .data_i({last_i, number_i}),
    .valid_o(number_valid),
    .ready_i(take && !bits_valid),
    .data_o({is_last, number})
  );
  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) i_bits (
    .clk_i,
    .rst_ni,
    .valid_i(bits_line_i),
    .ready_o(bits_ready),
    .data_i(bits_i),
    .valid_o(bits_valid),
    .ready_i(take),
    .data_o(bits)
  );

  logic valid_q, has_bits_q, last_q, room_q;
  logic [WIDTH-1:0] data_q;
  assign take = !valid_q || ready_i;
  always_ff @(posedge clk_i) begin
    if (take) begin
      if (is_last && !bits_valid) data_q <= '0;
      else data_q <= bits_valid ? bits : number;
      has_bits_q <= bits_valid;
      last_q <= is_last && !bits_valid;
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (take) valid_q <= bits_valid || number_valid;
  end
  assign valid_o = valid_q;
  assign data_o = data_q;
  assign has_bits_o = has_bits_q;
  assign last_o = last_q;

  // Lines that are here.
  logic [COUNT_BITS-1:0] numbers_q, bits_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      numbers_q <= '0;
      bits_q <= '0;
      room_q <= 1'b0;
    end else begin
      numbers_q <= numbers_q + COUNT_BITS'(number_line_i) -
                   COUNT_BITS'(take && !bits_valid && number_valid && !is_last);
      bits_q <= bits_q + COUNT_BITS'(bits_line_i) - COUNT_BITS'(take && bits_valid);
      room_q <= numbers_q < ROOM && bits_q < ROOM;
    end
  end
  assign room_o = room_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!number_line_i || number_ready) else $error("a line without room");
      assert (!bits_line_i || bits_ready) else $error("a line of bits without room");
      assert (!valid_q || !last_q || (!number_valid && !bits_valid)) else $error("lines behind");
    end
  end
`else
  logic unused_ready;
  assign unused_ready = number_ready ^ bits_ready;
`endif
endmodule
