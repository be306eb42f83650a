// SPDX-License-Identifier: Apache-2.0
// Takes the steps of a Snappy page apart: the bytes of a literal, and the copy behind them.
//
// It follows the places that snappy_parser found: in three stages it reads the tag, cuts out the
// literal and the copy's bytes, and reads the copy's length and distance. It compares the size that
// the page begins with, and says of a step whether it ends behind the page. Whether a copy is from
// within the page, snappy_sequencer finds out.
//
// Throughput: a step a cycle; it never waits. Latency: 3 cycles. Reset: forgets the steps.
//
// Invariants: steps leave in their order, one for each that came.
module snappy_headers (
  input  logic         clk_i,
  input  logic         rst_ni,
  // A step, as snappy_parser describes it.
  input  logic         step_i,
  input  logic [167:0] window_i,
  input  logic [2:0]   at_i,
  input  logic [4:0]   end_i,
  input  logic         begins_i,
  input  logic         ends_i,
  input  logic         is_whole_i,
  input  logic         is_rest_i,
  input  logic [3:0]   rest_end_i,
  input  logic         pairs_i,
  input  logic [4:0]   held_i,
  input  logic         is_cut_i,
  input  logic [31:0]  whole_i,
  input  logic         is_empty_i,
  // A piece: up to eight bytes, then a copy of up to 64.
  output logic         piece_o,
  output logic         begins_o,
  output logic         ends_o,
  output logic         is_bad_o,
  output logic [63:0]  literal_o,
  output logic [3:0]   literal_bytes_o,
  output logic         copies_o,
  // One less than the bytes of the copy.
  output logic [5:0]   copy_rest_o,
  // The distance; of a piece that begins a page, the bytes that the page becomes.
  output logic [31:0]  distance_o
);
  // Stage 1: the tag says where the literal and the copy are.
  logic [7:0] tag;
  logic is_copy, is_short, is_long;
  assign tag = window_i[8*at_i +: 8];
  assign is_copy = tag[1:0] != 2'd0;
  assign is_short = tag[7:5] == 3'd0;
  assign is_long = tag[7:4] == 4'hf;

  // The size has seven bits in each byte; a byte's highest bit says that there are more. Each byte
  // after the first is there if all before it say so.
  logic [4:0] more;
  logic [34:0] size;
  assign more = {&{window_i[39], window_i[31], window_i[23], window_i[15], window_i[7]},
                 &{window_i[31], window_i[23], window_i[15], window_i[7]},
                 &{window_i[23], window_i[15], window_i[7]}, window_i[15] && window_i[7],
                 window_i[7]};
  assign size = {more[3] ? window_i[38:32] : 7'd0, more[2] ? window_i[30:24] : 7'd0,
                 more[1] ? window_i[22:16] : 7'd0, more[0] ? window_i[14:8] : 7'd0,
                 window_i[6:0]};

  logic step_1q, begins_1q, ends_1q, is_bad_1q, copies_1q;
  logic [167:0] window_1q;
  logic [3:0] literal_at_1q, literal_bytes_1q;
  logic [4:0] copy_at_1q;
  logic [31:0] whole_1q;
  always_ff @(posedge clk_i) begin
    step_1q <= rst_ni && step_i;
    begins_1q <= begins_i;
    ends_1q <= ends_i;
    window_1q <= window_i;
    whole_1q <= whole_i;
    if (begins_i && ends_i) begin
      is_bad_1q <= 1'b0;
    end else if (begins_i) begin
      is_bad_1q <= !is_empty_i && (more[4] || size != {3'd0, whole_i} || end_i > held_i);
    end else if (ends_i) begin
      is_bad_1q <= is_cut_i;
    end else begin
      is_bad_1q <= end_i > held_i;
    end
    // An element.
    literal_at_1q <= {1'b0, at_i} + 4'd1;
    copies_1q <= is_copy || (is_short && pairs_i);
    copy_at_1q <= is_copy ? {2'd0, at_i} : {2'd0, at_i} + {2'd0, tag[4:2]} + 5'd2;
    if (is_copy || is_long) literal_bytes_1q <= 4'd0;
    else literal_bytes_1q <= is_short ? {1'b0, tag[4:2]} + 4'd1 : 4'd8;
    // A part of a longer literal.
    if (is_whole_i || is_rest_i) begin
      literal_at_1q <= {1'b0, at_i};
      copies_1q <= is_rest_i && pairs_i;
      copy_at_1q <= {1'b0, rest_end_i};
      literal_bytes_1q <= is_whole_i ? 4'd8 : rest_end_i - {1'b0, at_i};
    end
    if (begins_i || ends_i) begin
      copies_1q <= 1'b0;
      literal_bytes_1q <= 4'd0;
    end
  end

  // Stage 2: the bytes of both.
  logic step_2q, begins_2q, ends_2q, is_bad_2q, copies_2q;
  logic [63:0] literal_2q;
  logic [3:0] literal_bytes_2q;
  logic [39:0] header_2q;
  logic [31:0] whole_2q;
  always_ff @(posedge clk_i) begin
    step_2q <= rst_ni && step_1q;
    begins_2q <= begins_1q;
    ends_2q <= ends_1q;
    is_bad_2q <= is_bad_1q;
    copies_2q <= copies_1q;
    literal_2q <= window_1q[8*literal_at_1q +: 64];
    literal_bytes_2q <= literal_bytes_1q;
    header_2q <= window_1q[8*copy_at_1q +: 40];
    whole_2q <= whole_1q;
  end

  // Stage 3: length and distance.
  logic piece_q;
  always_ff @(posedge clk_i) begin
    piece_q <= rst_ni && step_2q;
    begins_o <= begins_2q;
    ends_o <= ends_2q;
    is_bad_o <= is_bad_2q;
    literal_o <= literal_2q;
    literal_bytes_o <= literal_bytes_2q;
    copies_o <= copies_2q;
    if (header_2q[1:0] == 2'd1) copy_rest_o <= {3'd0, header_2q[4:2]} + 6'd3;
    else copy_rest_o <= header_2q[7:2];
    unique case (header_2q[1:0])
      2'd1: distance_o <= {21'd0, header_2q[7:5], header_2q[15:8]};
      2'd2: distance_o <= {16'd0, header_2q[23:8]};
      default: distance_o <= header_2q[39:8];
    endcase
    if (begins_2q) distance_o <= whole_2q;
  end
  assign piece_o = piece_q;
endmodule
