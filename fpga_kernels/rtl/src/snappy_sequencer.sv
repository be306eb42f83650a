// SPDX-License-Identifier: Apache-2.0
// Gives the pieces of a Snappy page their places, and cuts copies into parts of eight bytes.
//
// A part is up to eight bytes of a literal and up to eight bytes of a copy behind them. It counts
// the bytes of the page as they become, and from that derives where a copy comes from and whether
// it may: not from before the page, not from further back than the history reaches, and not beyond
// the page's end. Numbers of 32 bits are added in two halves, a stage each.
//
// Throughput: a part a cycle. Latency: 5 cycles; what is wrong is known 2 cycles later. Reset:
// forgets the parts.
//
// Invariants: parts leave in order. While `room_i` is low none is begun; up to six that were begun
// before still come.
module snappy_sequencer (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        room_i,
  // A piece, as snappy_headers describes it. One that begins and ends closes the chunk.
  input  logic        piece_valid_i,
  output logic        piece_ready_o,
  input  logic        begins_i,
  input  logic        ends_i,
  input  logic        is_bad_i,
  input  logic [63:0] literal_i,
  input  logic [3:0]  literal_bytes_i,
  input  logic        copies_i,
  input  logic [5:0]  copy_rest_i,
  input  logic [31:0] distance_i,
  // A part: what it is, its first byte in the page, its bytes.
  output logic        part_o,
  output logic        ends_o,
  output logic        closes_o,
  output logic [15:0] at_o,
  output logic [63:0] literal_o,
  output logic [3:0]  literal_bytes_o,
  output logic [4:0]  bytes_o,
  // Where the copy comes from, and how far that is behind the part's first byte, within -8 and 15.
  output logic [15:0] from_o,
  output logic [4:0]  back_o,
  // The distance, if it is less than eight, and whether it is; whether it is 256 or more.
  output logic [2:0]  period_o,
  output logic        repeats_o,
  output logic        is_far_o,
  // Two cycles later: what is wrong with the part.
  output logic        is_corrupt_o,
  output logic        is_too_far_o
);
  // Stage 0: the next part of the copy that goes on, or the next piece.
  logic busy_q, next, take;
  logic [2:0] left_q, tail_q;
  logic [31:0] distance_q;
  assign next = room_i && (busy_q || piece_valid_i);
  assign piece_ready_o = room_i && !busy_q;
  assign take = piece_valid_i && piece_ready_o;

  logic part_1q, begins_1q, ends_1q, is_bad_1q, copies_1q;
  logic [63:0] literal_1q;
  logic [3:0] literal_bytes_1q, copy_bytes_1q;
  // Bytes of the whole copy, of its first part only.
  logic [6:0] copy_whole_1q;
  logic [31:0] distance_1q;
  always_ff @(posedge clk_i) begin
    begins_1q <= !busy_q && begins_i;
    ends_1q <= !busy_q && ends_i;
    is_bad_1q <= !busy_q && is_bad_i;
    copies_1q <= busy_q || copies_i;
    literal_1q <= literal_i;
    literal_bytes_1q <= busy_q ? 4'd0 : literal_bytes_i;
    copy_whole_1q <= !busy_q && copies_i ? {1'b0, copy_rest_i} + 7'd1 : 7'd0;
    if (busy_q) copy_bytes_1q <= left_q == 3'd1 ? {1'b0, tail_q} + 4'd1 : 4'd8;
    else if (!copies_i) copy_bytes_1q <= 4'd0;
    else copy_bytes_1q <= copy_rest_i[5:3] == 3'd0 ? {1'b0, copy_rest_i[2:0]} + 4'd1 : 4'd8;
    distance_1q <= busy_q ? distance_q : distance_i;
    if (take) begin
      left_q <= copy_rest_i[5:3];
      tail_q <= copy_rest_i[2:0];
      distance_q <= distance_i;
    end else if (next) begin
      left_q <= left_q - 3'd1;
    end
    if (!rst_ni) begin
      part_1q <= 1'b0;
      busy_q <= 1'b0;
    end else begin
      part_1q <= next;
      if (take) busy_q <= copies_i && copy_rest_i[5:3] != 3'd0;
      else if (next) busy_q <= left_q != 3'd1;
    end
  end

  // Stage 1: how far the copy's first byte is behind the part's first byte, in its lower half.
  typedef struct packed {
    logic part;
    logic begins;
    logic ends;
    logic is_bad;
    logic copies;
    logic [3:0] literal_bytes;
    logic [63:0] literal;
    logic [31:0] distance;
  } part_t;
  part_t part_1, part_2q, part_3q, part_4q;
  logic [4:0] bytes_2q, bytes_3q, bytes_4q;
  logic [6:0] whole_2q, whole_3q;
  logic [16:0] step_low_2q;
  logic [15:0] step_low_3q;
  assign part_1 = {part_1q, begins_1q, ends_1q, is_bad_1q, copies_1q, literal_bytes_1q,
                   literal_1q, distance_1q};
  always_ff @(posedge clk_i) begin
    part_2q <= part_1;
    if (!rst_ni) part_2q.part <= 1'b0;
    bytes_2q <= {1'b0, literal_bytes_1q} + {1'b0, copy_bytes_1q};
    whole_2q <= copy_whole_1q + {3'd0, literal_bytes_1q};
    // A step back is a number with a sign; this half has its borrow on top.
    step_low_2q <= {13'd0, literal_bytes_1q} - {1'b0, distance_1q[15:0]};
  end

  // Stage 2: the upper half, and what the distance is like.
  logic [16:0] step_high_3q, step_high_4q;
  logic [8:0] back_2;
  logic is_zero_3q, is_beyond_3q, is_far_3q, is_far_4q, repeats_3q, repeats_4q;
  logic [4:0] back_3q, back_4q;
  assign back_2 = {1'b0, part_2q.distance[7:0]} - {5'd0, part_2q.literal_bytes};
  always_ff @(posedge clk_i) begin
    part_3q <= part_2q;
    if (!rst_ni) part_3q.part <= 1'b0;
    bytes_3q <= bytes_2q;
    whole_3q <= whole_2q;
    step_low_3q <= step_low_2q[15:0];
    step_high_3q <= 17'd0 - {1'b0, part_2q.distance[31:16]} - {16'd0, step_low_2q[16]};
    is_zero_3q <= part_2q.copies && part_2q.distance == 32'd0;
    is_beyond_3q <= part_2q.distance[31:17] != 15'd0 ||
                    (part_2q.distance[16] && part_2q.distance[15:0] != 16'd0);
    is_far_3q <= part_2q.distance[31:8] != 24'd0;
    repeats_3q <= part_2q.distance[31:3] == 29'd0;
    back_3q <= !back_2[8] && back_2[7:4] != 4'd0 ? 5'd15 : back_2[4:0];
  end

  // Stage 3: the lower half of the place.
  logic [15:0] low_q, low_4q;
  logic carry_4q;
  logic [16:0] low_next, end_low_4q;
  logic [15:0] step_low_4q;
  logic is_zero_4q, is_beyond_4q;
  assign low_next = {1'b0, low_q} + {12'd0, bytes_3q};
  always_ff @(posedge clk_i) begin
    if (part_3q.part) low_q <= part_3q.begins ? 16'd0 : low_next[15:0];
    part_4q <= part_3q;
    if (!rst_ni) part_4q.part <= 1'b0;
    bytes_4q <= bytes_3q;
    low_4q <= low_q;
    carry_4q <= low_next[16];
    step_low_4q <= step_low_3q;
    step_high_4q <= step_high_3q;
    end_low_4q <= {1'b0, low_q} + {10'd0, whole_3q};
    is_zero_4q <= is_zero_3q;
    is_beyond_4q <= is_beyond_3q;
    is_far_4q <= is_far_3q;
    repeats_4q <= repeats_3q;
    back_4q <= back_3q;
  end

  // Stage 4: the upper half of it, and the place that the copy comes from.
  logic [15:0] high_q, end_high_5q, high_5q;
  logic [16:0] from_low, step_high_5q;
  logic [31:0] page_q;
  logic from_carry_5q, is_bad_5q, is_beyond_5q, begins_5q, ends_5q, copies_5q;
  logic [16:0] spare_low_5q;
  assign from_low = {1'b0, low_4q} + {1'b0, step_low_4q};
  always_ff @(posedge clk_i) begin
    if (part_4q.part) begin
      high_q <= part_4q.begins ? 16'd0 : high_q + {15'd0, carry_4q};
      if (part_4q.begins) page_q <= part_4q.distance;
    end
    part_o <= rst_ni && part_4q.part;
    ends_o <= part_4q.ends && !part_4q.begins;
    closes_o <= part_4q.ends && part_4q.begins;
    begins_5q <= part_4q.begins;
    ends_5q <= part_4q.ends;
    copies_5q <= part_4q.copies;
    at_o <= low_4q;
    literal_o <= part_4q.literal;
    literal_bytes_o <= part_4q.literal_bytes;
    bytes_o <= bytes_4q;
    from_o <= from_low[15:0];
    back_o <= back_4q;
    period_o <= part_4q.distance[2:0];
    repeats_o <= repeats_4q;
    is_far_o <= is_far_4q;
    from_carry_5q <= from_low[16];
    high_5q <= high_q;
    step_high_5q <= step_high_4q;
    end_high_5q <= high_q + {15'd0, end_low_4q[16]};
    // What the page has left behind the part; this half has its borrow on top.
    spare_low_5q <= {1'b0, page_q[15:0]} - {1'b0, end_low_4q[15:0]};
    is_bad_5q <= part_4q.is_bad || is_zero_4q;
    is_beyond_5q <= is_beyond_4q;
  end

  // Stages 5 and 6: the signs.
  // Only the sign of the place that a copy comes from matters.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [16:0] from_high_6q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [16:0] spare_high_6q;
  logic spare_low_6q, is_bad_6q, is_beyond_6q, begins_6q, ends_6q, copies_6q;
  always_ff @(posedge clk_i) begin
    from_high_6q <= {1'b0, high_5q} + step_high_5q + {16'd0, from_carry_5q};
    spare_high_6q <= {1'b0, page_q[31:16]} - {1'b0, end_high_5q} - {16'd0, spare_low_5q[16]};
    spare_low_6q <= spare_low_5q[15:0] != 16'd0;
    is_bad_6q <= is_bad_5q;
    is_beyond_6q <= is_beyond_5q;
    begins_6q <= begins_5q;
    ends_6q <= ends_5q;
    copies_6q <= copies_5q;
    // Where a page begins the counters are still those of the page before.
    is_corrupt_o <= is_bad_6q ||
                    (!begins_6q && (spare_high_6q[16] || (copies_6q && from_high_6q[16]) ||
                     (ends_6q && (spare_low_6q || spare_high_6q[15:0] != 16'd0))));
    is_too_far_o <= copies_6q && is_beyond_6q;
  end
endmodule
